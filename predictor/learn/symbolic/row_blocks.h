/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table as symbolic regression reads it: column by column, in whole blocks of rows. */
#ifndef FT_LEARN_ROW_BLOCKS_H
#define FT_LEARN_ROW_BLOCKS_H

#include <stddef.h>

/* Rows at once: a tree's values stay in the first-level cache. */
enum { FT_ROW_BLOCKS_BLOCK = 32 };

/* A table, scaled to be of the order of 1, its rows filled up to whole blocks. */
struct ft_row_blocks {
  const double *x; /* x[column * room + row] */
  const double *y;
  const double *weight; /* 1 / |y|; 0 where a copy of a row only fills a block */
  size_t rows, room, columns;
};

/* ROWS filled up to whole blocks. */
static inline size_t ft_row_blocks_room(size_t rows)
{
  return (rows + FT_ROW_BLOCKS_BLOCK - 1) / FT_ROW_BLOCKS_BLOCK * FT_ROW_BLOCKS_BLOCK;
}

/* Fill the last block of ROWS, whose numbers X, Y and WEIGHT are, with copies that weigh nothing.
 */
void ft_row_blocks_fill(double *x, double *y, double *weight, const struct ft_row_blocks *rows);

/*
 * The rows of ALL but FOLD, FOLD + FOLDS and so on, as PART; its numbers are put into COPY, which
 * has as much room as those of ALL.
 */
void ft_row_blocks_leave_out(const struct ft_row_blocks *all, size_t fold, size_t folds,
                             double *copy, struct ft_row_blocks *part);

#endif
