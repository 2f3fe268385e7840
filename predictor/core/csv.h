/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Streaming reader of CSV (RFC 4180; quoted fields may span lines) and of unquoted tables with a
 * separator. Memory is bounded by the longest record, at most FT_LIMIT_LINE. Every error message
 * names file, line and column.
 */
#ifndef FT_CORE_CSV_H
#define FT_CORE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"

enum { FT_CSV_FIELDS = 512 }; /* default of max_fields */

struct ft_csv {
  const char *name; /* file name in error messages; borrowed */
  int fd;           /* owned by the caller */
  char separator;
  bool quotes;         /* fields may be quoted with '"' (RFC 4180) */
  uint64_t line;       /* first line of the current record, from 1 */
  uint64_t bytes_read; /* number of bytes read from fd */
  bool failed;         /* the file, not only one record, cannot be read; no record follows */
  size_t max_fields;   /* maximum of count; the caller may set it before the first record */
  size_t count;        /* fields of the current record */
  char **field;        /* NUL-terminated; valid until the next record */
  /* private; DATA has SIZE allocated bytes, and the unread input is START..END */
  char *data;
  size_t size, start, end, capacity;
  size_t *at;     /* offset of each field from START; capacity: elements of FIELD and AT */
  uint64_t lines; /* complete lines before START */
  bool at_eof;    /* read() returned 0 */
  bool skipping;  /* the record at START is malformed; its first line is skipped next */
};

/* Initialises CSV to read from the current position of FD. NAME is borrowed. Allocates nothing. */
void ft_csv_init(struct ft_csv *csv, int fd, const char *name, char separator, bool quotes);

/*
 * Sets the separator to the most frequent of comma, semicolon, tab and '|' in the first line that
 * is not empty. Call it before the first record. Returns 0; -1 on error and fills ERR.
 */
int ft_csv_detect_separator(struct ft_csv *csv, struct ft_error *err);

/*
 * Reads the next record and skips empty lines. Returns 1; 0 at the end of the file; -1 on error and
 * fills ERR. After a malformed record the next call continues on the line after the first line of
 * that record. If the file itself cannot be read, csv->failed is set.
 */
int ft_csv_next(struct ft_csv *csv, struct ft_error *err);

/* Fills ERR with "NAME: line L, column C: WHAT 'value': TEXT" for the field with index FIELD of the
 * current record. WHAT names the field, TEXT states the problem. Returns -1. */
int ft_csv_fail(const struct ft_csv *csv, size_t field, const char *what, struct ft_error *err,
                const char *text);

/* Frees the buffers of CSV. The descriptor stays open. */
void ft_csv_free(struct ft_csv *csv);

#endif
