/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table of numbers from a CSV file: some columns as features, one as the target. */
#ifndef FT_CLI_FIT_TABLE_H
#define FT_CLI_FIT_TABLE_H

#include "predictor/core/error.h"
#include "predictor/learn/symbolic/expression.h"

enum { FT_TABLE_FEATURES = 10000 };

struct ft_table_column {
  char name[64];
  size_t field; /* of a record */
};

struct ft_table {
  size_t rows, room, columns;
  size_t fields;                  /* of a line */
  struct ft_table_column *column; /* the features, then the target */
  double *x, *y;                  /* x[row * columns + column] */
  bool holds;                     /* a column says which rows are held out */
  size_t held_field;
  bool *held;     /* by row; NULL where none says it */
  bool skips;     /* rows that lack a number are left out */
  size_t skipped; /* so many */
  char decimal;   /* sign: '.' or ',', once a number had one */
};

/*
 * Read PATH ("-": standard input) into TABLE, one zeroed but for SKIPS: TARGET's column, and those
 * of the comma-separated FEATURES (NULL: all others that have a name). Its separator is guessed;
 * where it is no comma, the decimal sign may be one. HELD, or NULL, is the column that is not 0
 * where a row is held out; at least two rows are not. Returns 0; -1 with ERR naming file, line
 * and column. Either way the caller releases it with ft_table_free.
 */
int ft_table_read(const char *path, const char *target, const char *features, const char *held,
                  struct ft_table *table, struct ft_error *err);
void ft_table_free(struct ft_table *table);

#endif
