/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Autocorrelated residuals: a prediction that follows the mean of the latest ones. Pure. */
#ifndef FT_LEARN_SERIES_DRIFT_H
#define FT_LEARN_SERIES_DRIFT_H

#include <math.h>
#include <stddef.h>

/* Returns |RESIDUAL| limited to 1 (a factor of e), which limits the effect of outliers. */
static inline double ft_drift_cap_residual(double residual)
{
  double size = fabs(residual);

  return size < 1 ? size : 1;
}

/* Returns the mean of the latest of COUNT out-of-sample RESIDUALs, oldest first, by which the point
 * prediction is to be shifted, in log units; 0 if such shifts would not have reduced the past
 * error. */
double ft_drift_shift(const double *residual, size_t count);

/* Writes to OUT the COUNT RESIDUALs that such shifts would have left, without the first ones, and
 * returns their number. */
size_t ft_drift_residuals(const double *residual, size_t count, double *out);

#endif
