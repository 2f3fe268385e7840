/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Table for symbolic regression: stored by column, padded to whole blocks of rows. */
#ifndef FT_LEARN_ROW_BLOCKS_H
#define FT_LEARN_ROW_BLOCKS_H

#include <stddef.h>

/* Rows of a block: the values of FT_EXPRESSION_NODES nodes fit into the first-level cache. */
enum { FT_ROW_BLOCKS_BLOCK = 32 };

/* A table, scaled to the order of 1 and padded. Not owned. */
struct ft_row_blocks {
  const double *x; /* x[column * padded + row] */
  const double *y;
  const double *weight;       /* 1 / |y|; 0 for padding */
  size_t rows, padded, columns; /* padded: rows and padding */
};

/* Returns ROWS rounded up to whole blocks. */
static inline size_t ft_row_blocks_padded(size_t rows)
{
  return (rows + FT_ROW_BLOCKS_BLOCK - 1) / FT_ROW_BLOCKS_BLOCK * FT_ROW_BLOCKS_BLOCK;
}

/* Pads X, Y and WEIGHT, the arrays of ROWS, with copies of row 0 that have weight 0. */
void ft_row_blocks_fill(double *x, double *y, double *weight, const struct ft_row_blocks *rows);

/*
 * Sets PART to ALL without rows FOLD, FOLD + FOLDS and so on. PART refers to COPY, which has space
 * for (columns + 2) * padded numbers of ALL.
 */
void ft_row_blocks_leave_out(const struct ft_row_blocks *all, size_t fold, size_t folds,
                             double *copy, struct ft_row_blocks *part);

#endif
