/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/learn/symbolic/row_blocks.h"

void ft_row_blocks_fill(double *x, double *y, double *weight, const struct ft_row_blocks *f)
{
  for (size_t r = f->rows; r < f->padded; r++) {
    /* functions are defined on a copy of a row, so that weight 0 removes its residual */
    for (size_t c = 0; c < f->columns; c++)
      x[c * f->padded + r] = x[c * f->padded];
    y[r] = y[0];
    weight[r] = 0;
  }
}

void ft_row_blocks_leave_out(const struct ft_row_blocks *f, size_t fold, size_t folds, double *copy,
                             struct ft_row_blocks *part)
{
  double *x = copy, *y = copy + f->padded * f->columns, *w = y + f->padded;
  size_t rows = 0;

  for (size_t r = 0; r < f->rows; r++)
    rows += r % folds != fold;
  *part =
      (struct ft_row_blocks){ .x = x, .y = y, .weight = w, .rows = rows, .columns = f->columns };
  part->padded = ft_row_blocks_padded(rows);
  for (size_t r = 0, to = 0; r < f->rows; r++) {
    if (r % folds == fold)
      continue;
    for (size_t c = 0; c < f->columns; c++)
      x[c * part->padded + to] = f->x[c * f->padded + r];
    y[to] = f->y[r];
    w[to++] = f->weight[r];
  }
  ft_row_blocks_fill(x, y, w, part);
}
