/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/learn/series/drift.h"

/* Of all constants here half and twice were compared (docs/constants.md). */
/* Number of recent residuals whose mean is the shift. */
enum { WINDOW = 5 };
/* Number of residuals before the first that is compared with the mean of its predecessors. */
enum { FIRST_COMPARED = 2 };
/* Minimum number of runs to detect drift. */
enum { MIN_RUNS = 10 };
/* Maximum ratio of the error with shifts to the error without, to shift. */
#define DRIFT_GAIN 0.95

/* Returns the mean of the last WINDOW residuals before ROW, or of all if fewer; ROW is at least 1.
 */
static double recent_mean(const double *residual, size_t row)
{
  size_t count = row < WINDOW ? row : WINDOW;
  double sum = 0;

  for (size_t k = row - count; k < row; k++)
    sum += residual[k];
  return sum / (double)count;
}

double ft_drift_shift(const double *residual, size_t count)
{
  double error_without = 0, error_with = 0;

  if (count < MIN_RUNS)
    return 0;
  for (size_t i = FIRST_COMPARED; i < count; i++) {
    error_without += ft_drift_cap_residual(residual[i]);
    error_with += ft_drift_cap_residual(residual[i] - recent_mean(residual, i));
  }
  return error_with < DRIFT_GAIN * error_without ? recent_mean(residual, count) : 0;
}

size_t ft_drift_residuals(const double *residual, size_t count, double *out)
{
  size_t left = 0;

  for (size_t i = FIRST_COMPARED; i < count; i++)
    out[left++] = residual[i] - recent_mean(residual, i);
  return left;
}
