/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables of text, read as a stream: CSV (RFC 4180, quoted fields may span
 * lines) and, without quotes, whatever has a separator. Memory is bounded by
 * the longest record, FT_LIMIT_LINE at most; every complaint names file, line
 * and column.
 */
#ifndef FT_CORE_CSV_H
#define FT_CORE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"

enum { FT_CSV_FIELDS = 512 }; /* of a record, unless MOST says otherwise */

struct ft_csv {
  const char *name; /* in complaints; not copied */
  int fd;           /* not closed here */
  char separator;
  bool quotes;   /* '"' is special, as in RFC 4180 */
  uint64_t line; /* where the current record begins, from 1 */
  uint64_t bytes_read; /* bytes read from fd */
  bool failed;         /* it cannot be read on: the error was not in a record */
  size_t max_fields;   /* of a record; may be changed before the first */
  size_t count;  /* fields of the current record */
  char **field;  /* each ends in NUL; valid until the next record */
  /* private */
  char *data;
  size_t size, start, end, capacity;
  size_t *at; /* of each field, from START */
  uint64_t lines;
  bool at_eof;   /* the end of the file was read */
  bool skipping; /* the record at START is bad: its line does not count */
};

/* Begin at FD's position. Allocates nothing. */
void ft_csv_init(struct ft_csv *csv, int fd, const char *name, char separator, bool quotes);

/*
 * Before the first record: whichever of comma, semicolon, tab and '|' the first line that is not
 * empty has most of becomes the separator. Returns 0, or -1 with ERR.
 */
int ft_csv_detect_separator(struct ft_csv *csv, struct ft_error *err);

/*
 * Read the next record; empty lines are passed over. Returns 1; 0 at the end;
 * -1 with ERR. After a bad record the next call goes on with the line after the
 * one on which it began; when the file cannot be read, broken is set.
 */
int ft_csv_next(struct ft_csv *csv, struct ft_error *err);

/*
 * Fill ERR with "NAME: line L, column C: WHAT 'value': TEXT" for FIELD of the current record; -1.
 */
int ft_csv_fail(const struct ft_csv *csv, size_t field, const char *what, struct ft_error *err,
                const char *text);

void ft_csv_free(struct ft_csv *csv);

#endif
