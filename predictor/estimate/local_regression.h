/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A straight line through what lies around one place. */
#ifndef FT_ESTIMATE_LOCAL_REGRESSION_H
#define FT_ESTIMATE_LOCAL_REGRESSION_H

#include <stdbool.h>
#include <stddef.h>

/* What is expected there: mean and deviation, from as many points as the weights amount to, one
 * less for the slope. */
struct ft_local_regression {
  double total, mean, deviation, runs;
};

/*
 * The line of least weighted squares through COUNT points (X, measured from the place that is
 * asked for, and Y), its slope drawn towards 0 as by a normal prior of deviation 1 (Cleveland 1979,
 * with a ridge in place of his robustness). False: the weights amount to fewer than 2.5 points.
 */
bool ft_local_regression_fit(const double *x, const double *y, const double *weight, size_t count,
                             struct ft_local_regression *out);

#endif
