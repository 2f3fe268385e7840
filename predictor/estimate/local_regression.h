/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weighted linear regression near a query. */
#ifndef FT_ESTIMATE_LOCAL_REGRESSION_H
#define FT_ESTIMATE_LOCAL_REGRESSION_H

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
 * Fits OUT to COUNT points by weighted least squares: X is the distance from the query. The slope
 * has a normal prior with mean 0 and standard deviation 1 (Cleveland 1979, with a ridge instead of
 * robustness weights). Returns false if the effective sample size is below 2.5.
 */
bool ft_local_regression_fit(const double *x, const double *y, const double *weight, size_t count,
                             struct ft_local_regression *out);

#endif
