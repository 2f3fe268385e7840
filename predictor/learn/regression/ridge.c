/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "predictor/learn/dense.h"
#include "predictor/learn/number_stream.h"
#include "predictor/learn/regression/ridge.h"

/* Returns element I of the design's row: 1, then the used columns. */
static double design_value(const double *row, const uint32_t *column, size_t i)
{
  return i ? row[column[i - 1]] : 1;
}

int ft_ridge_fit(const struct ft_samples *s, const uint32_t *column, size_t used, double lambda,
                 struct ft_ridge *ridge, struct ft_error *err)
{
  size_t n = used + 1;
  double *a = calloc(n * n, sizeof *a);
  int status = -1;

  *ridge = (struct ft_ridge){ .used = used, .outputs = s->outputs };
  ridge->weight = calloc(n * s->outputs, sizeof *ridge->weight);
  ridge->column = calloc(n, sizeof *ridge->column);
  if (!a || !ridge->weight || !ridge->column || !s->rows) {
    ft_error_set(err, "ridge regression: no rows, or out of memory");
    goto out;
  }
  for (size_t k = 0; k < used; k++)
    ridge->column[k] = column[k];
  for (size_t r = 0; r < s->rows; r++) {
    const double *row = s->x + r * s->columns, *y = s->y + r * s->outputs;

    for (size_t i = 0; i < n; i++) {
      double v = design_value(row, column, i);

      for (size_t j = 0; j <= i; j++)
        a[i * n + j] += v * design_value(row, column, j);
      for (size_t o = 0; o < s->outputs; o++)
        ridge->weight[i * s->outputs + o] += v * y[o];
    }
  }
  for (size_t i = 0; i < n; i++) {
    a[i * n + i] += i ? lambda : 0;
    for (size_t j = 0; j < i; j++)
      a[j * n + i] = a[i * n + j];
  }
  status = ft_dense_solve(a, n, ridge->weight, s->outputs, NULL, err);
out:
  free(a);
  return status;
}

void ft_ridge_add(const struct ft_ridge *ridge, const double *x, double *out)
{
  for (size_t i = 0; i <= ridge->used; i++) {
    const double *weight = ridge->weight + i * ridge->outputs;
    double v = design_value(x, ridge->column, i);

    for (size_t o = 0; o < ridge->outputs; o++)
      out[o] += v * weight[o];
  }
}

int ft_ridge_serialise(struct ft_number_stream *s, size_t columns, size_t outputs,
                       struct ft_ridge *ridge, struct ft_error *err)
{
  ridge->outputs = outputs;
  ft_number_stream_count(s, &ridge->used, 0, columns);
  ridge->column = ft_number_stream_array(s, ridge->column, ridge->used, sizeof *ridge->column, 1);
  for (size_t k = 0; !s->failed && k < ridge->used; k++)
    ft_number_stream_index(s, &ridge->column[k], 0, columns - 1);
  ft_number_stream_vector(s, &ridge->weight, (ridge->used + 1) * outputs);
  return s->failed ? ft_error_set(err, "ridge regression: cut short or out of range") : 0;
}

void ft_ridge_free(struct ft_ridge *ridge)
{
  if (!ridge)
    return;
  free(ridge->column);
  free(ridge->weight);
  *ridge = (struct ft_ridge){ 0 };
}
