/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Least squares line through points. */
#ifndef FT_LEARN_LINE_H
#define FT_LEARN_LINE_H

#include <stddef.h>

/* y = intercept + slope * x; the mean of x, and the sum of squared deviations from it. */
struct ft_line {
  double intercept, slope, mean_x, sum_squares;
  size_t count;
};

/* Fits a line to COUNT points (X, Y), 1 or more. The slope is 0 if X is constant, but for
 * rounding. */
struct ft_line ft_line_fit(const double *x, const double *y, size_t count);

#endif
