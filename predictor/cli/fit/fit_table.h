/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table of numbers from a CSV file: columns as features, one column as the target. */
#ifndef FT_CLI_FIT_TABLE_H
#define FT_CLI_FIT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/error.h"

enum { FT_TABLE_FEATURES = 10000 };

struct ft_table_column {
  char name[64];
  size_t field; /* index of the field in a record */
};

struct ft_table {
  size_t rows, room, columns;
  size_t fields;                  /* fields per line */
  struct ft_table_column *column; /* the features, then the target */
  double *x, *y;                  /* x[row * columns + column] */
  bool holds;                     /* a column marks the held-out rows */
  size_t held_field;
  bool *held;     /* by row; NULL without such a column */
  bool skips;     /* skip rows that lack a number */
  size_t skipped; /* rows skipped */
  char decimal;   /* decimal sign, '.' or ','; 0 until a number has one */
};

/*
 * Reads PATH ("-": standard input) into TABLE, zeroed but for SKIPS: the column TARGET, and the
 * comma-separated FEATURES (NULL: all other named columns). Guesses the separator; if it is not a
 * comma, the decimal sign may be one. HELD (or NULL) is the column that is not 0 for held-out
 * rows; at least two rows must not be held out. Returns 0; -1 and fills ERR with file, line and
 * column. The caller calls ft_table_free in either case.
 */
int ft_table_read(const char *path, const char *target, const char *features, const char *held,
                  struct ft_table *table, struct ft_error *err);
void ft_table_free(struct ft_table *table);

#endif
