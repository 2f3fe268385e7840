/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ridge regression of several outputs at once (Hoerl and Kennard 1970); the mean is not shrunk. */
#ifndef FT_LEARN_RIDGE_H
#define FT_LEARN_RIDGE_H

#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/learn/samples.h"

struct ft_number_stream;
struct ft_number_reader;

/* out[o] = weight[o] + sum over k of x[column[k]] * weight[(k + 1) * outputs + o] */
struct ft_ridge {
  size_t used, outputs;
  uint32_t *column;
  double *weight;
};

/*
 * Fit the USED columns that COLUMN names (0: the mean alone); LAMBDA, above 0, is added to the
 * sums of squares, so that it counts rows where columns have a deviation of 1. RIDGE is to be freed
 * in either case. Returns 0; -1 with ERR.
 */
int ft_ridge_fit(const struct ft_samples *samples, const uint32_t *column, size_t used,
                 double lambda, struct ft_ridge *ridge, struct ft_error *err);

/* Add what RIDGE says of row X to OUT. */
void ft_ridge_add(const struct ft_ridge *ridge, const double *x, double *out);

void ft_ridge_save(const struct ft_ridge *ridge, struct ft_number_stream *out);
int ft_ridge_load(struct ft_number_reader *in, size_t columns, size_t outputs,
                  struct ft_ridge *ridge, struct ft_error *err);
void ft_ridge_free(struct ft_ridge *ridge);

#endif
