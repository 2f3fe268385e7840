/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/learn/feature_screening.h"

/* A value and its index before sorting. */
struct item {
  double value;
  size_t index;
};

static int compare_items(const void *a, const void *b)
{
  const struct item *x = a, *y = b;

  return x->value != y->value ? (x->value > y->value) - (x->value < y->value)
                              : (x->index > y->index) - (x->index < y->index);
}

/* Fills OUT with the ranks of VALUE minus their mean; ties have their mean rank. ITEM is scratch
 * memory. */
static void rank_values(const double *value, size_t rows, struct item *item, double *out)
{
  for (size_t r = 0; r < rows; r++)
    item[r] = (struct item){ value[r], r };
  qsort(item, rows, sizeof *item, compare_items);
  for (size_t i = 0, end; i < rows; i = end) {
    for (end = i + 1; end < rows && item[end].value == item[i].value;)
      end++;
    for (size_t k = i; k < end; k++)
      out[item[k].index] = ((double)(i + end) - (double)rows) / 2;
  }
}

/* Returns the absolute correlation of A and B, each of mean 0; 0 if one is constant. */
static double correlation(const double *a, const double *b, size_t rows)
{
  double ab = 0, aa = 0, bb = 0;

  for (size_t r = 0; r < rows; r++) {
    ab += a[r] * b[r];
    aa += a[r] * a[r];
    bb += b[r] * b[r];
  }
  return aa > 0 && bb > 0 ? fabs(ab) / sqrt(aa * bb) : 0;
}

/* Returns the score of a column against Y, the centred ranks of the target. RANKS has the column's
 * values and is overwritten; ITEM and SCRATCH are scratch memory. */
static double screening_score(double *ranks, const double *y, size_t rows, struct item *item,
                              double *scratch)
{
  double plain;

  rank_values(ranks, rows, item, scratch);
  plain = correlation(scratch, y, rows);
  for (size_t r = 0; r < rows; r++)
    scratch[r] = fabs(scratch[r]);
  rank_values(scratch, rows, item, ranks);
  return fmax(plain, correlation(ranks, y, rows));
}

static int compare_column_indices(const void *a, const void *b)
{
  size_t x = *(const size_t *)a, y = *(const size_t *)b;

  return (x > y) - (x < y);
}

int ft_feature_screening(const double *x, const double *y, size_t rows, size_t columns,
                         size_t count, size_t *chosen)
{
  struct item *item = malloc(rows * sizeof *item);
  struct item *column = malloc(columns * sizeof *column);
  double *scratch = malloc(3 * rows * sizeof *scratch);
  int status = -1;

  if (!item || !column || !scratch)
    goto out;
  rank_values(y, rows, item, scratch);
  for (size_t c = 0; c < columns; c++) {
    double *values = scratch + rows;

    for (size_t r = 0; r < rows; r++)
      values[r] = x[r * columns + c];
    column[c] =
        (struct item){ -screening_score(values, scratch, rows, item, scratch + 2 * rows), c };
  }
  qsort(column, columns, sizeof *column, compare_items);
  for (size_t i = 0; i < count; i++)
    chosen[i] = column[i].index;
  qsort(chosen, count, sizeof *chosen, compare_column_indices);
  status = 0;
out:
  free(scratch);
  free(column);
  free(item);
  return status;
}
