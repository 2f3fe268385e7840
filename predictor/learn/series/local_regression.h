/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Local linear regression: weighted least squares around a query. */
#ifndef FT_LEARN_SERIES_LOCAL_REGRESSION_H
#define FT_LEARN_SERIES_LOCAL_REGRESSION_H

#include <stdbool.h>
#include <stddef.h>

/* Prediction at the query. */
struct ft_local_regression {
  double total;     /* sum of the weights */
  double mean;      /* of Y */
  double deviation; /* standard deviation of a new Y */
  double runs;      /* effective sample size less 1 for the slope */
};

/*
 * Fits a line to COUNT points (X, Y) with WEIGHT, 0 or more, by weighted least squares, and fills
 * OUT with the prediction at X = 0, the query. The slope has a normal prior with mean 0 and
 * standard deviation 1 (Cleveland 1979, with a ridge instead of robustness weights). Returns false,
 * with OUT unchanged, if the effective sample size is below 2.5.
 */
bool ft_local_regression_fit(const double *x, const double *y, const double *weight, size_t count,
                             struct ft_local_regression *out);

#endif
