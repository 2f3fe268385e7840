/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ridge regression with several outputs (Hoerl and Kennard 1970). The intercept is not shrunk. */
#ifndef FT_LEARN_RIDGE_H
#define FT_LEARN_RIDGE_H

#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/learn/samples.h"

struct ft_number_stream;

/* A fitted model, all 0 is an empty one: out[o] = weight[o] + sum over k of x[column[k]] *
 * weight[(k + 1) * outputs + o].
 */
struct ft_ridge {
  size_t used, outputs;
  uint32_t *column;
  double *weight;
};

/*
 * Fits RIDGE to the USED columns COLUMN (0: the mean only). LAMBDA, above 0, is added to each
 * column's sum of squares: its unit is rows if columns have a standard deviation of 1. The caller
 * frees RIDGE in either case. Returns 0; -1 on error and fills ERR.
 */
int ft_ridge_fit(const struct ft_samples *samples, const uint32_t *column, size_t used,
                 double lambda, struct ft_ridge *ridge, struct ft_error *err);

/* Adds the prediction of RIDGE for row X to OUT. */
void ft_ridge_add(const struct ft_ridge *ridge, const double *x, double *out);

/*
 * Writes RIDGE, of OUTPUTS outputs on COLUMNS columns, to STREAM, or reads it into a zeroed one
 * that the caller frees in either case. Returns 0; -1 on error and fills ERR.
 */
int ft_ridge_serialise(struct ft_number_stream *stream, size_t columns, size_t outputs,
                       struct ft_ridge *ridge, struct ft_error *err);
void ft_ridge_free(struct ft_ridge *ridge);

#endif
