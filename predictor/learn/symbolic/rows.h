/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table as symbolic regression reads it: column by column, in whole blocks of rows. */
#ifndef FT_LEARN_ROWS_H
#define FT_LEARN_ROWS_H

#include <stddef.h>

/* Rows at once: a tree's values stay in the first-level cache. */
enum { FT_ROWS_BLOCK = 32 };

/* A table, scaled to be of the order of 1, its rows filled up to whole blocks. */
struct ft_rows {
  const double *x; /* x[column * room + row] */
  const double *y;
  const double *weight; /* 1 / |y|; 0 where a copy of a row only fills a block */
  size_t rows, room, columns;
};

/* ROWS filled up to whole blocks. */
static inline size_t ft_rows_room(size_t rows)
{
  return (rows + FT_ROWS_BLOCK - 1) / FT_ROWS_BLOCK * FT_ROWS_BLOCK;
}

/* Fill the last block of ROWS, whose numbers X, Y and WEIGHT are, with copies that weigh nothing.
 */
void ft_rows_fill(double *x, double *y, double *weight, const struct ft_rows *rows);

/*
 * The rows of ALL but FOLD, FOLD + FOLDS and so on, as PART; its numbers are put into COPY, which
 * has as much room as those of ALL.
 */
void ft_rows_leave_out(const struct ft_rows *all, size_t fold, size_t folds, double *copy,
                       struct ft_rows *part);

#endif
