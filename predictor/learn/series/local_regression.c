/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/learn/series/local_regression.h"

/* Minimum effective sample size. Chosen by tests/bench/replay_constants. */
#define LEAST_RUNS 2.5
/* Minimum of the effective sample size less 1 for the slope. Half and twice were compared. */
#define LEAST_LEFT 1.5
/* Prior standard deviation of the slope of log(value) over log(column): values rarely grow faster
 * than a column. Chosen by tests/bench/replay_constants. */
#define SLOPE_DEVIATION 1.0
/* Smaller variances are rounding errors. */
#define TINY 1e-12

/* Weighted moments of points: sums of the weights and of their squares; means; variances and
 * covariance. */
struct moments {
  double total, squares, x, y, xx, xy, yy;
};

/* Returns the moments of COUNT points; only `total` and `squares` are valid if no weight is above
 * 0. */
static struct moments point_moments(const double *x, const double *y, const double *weight,
                                    size_t count)
{
  struct moments s = { 0 };
  double origin = count ? y[count / 2] : 0;

  for (size_t i = 0; i < count; i++) {
    double w = weight[i], wx = w * x[i], v = y[i] - origin;

    s.total += w;
    s.squares += w * w;
    s.x += wx;
    s.y += w * v;
    s.xx += wx * x[i];
    s.xy += wx * v;
    s.yy += w * v * v;
  }
  if (!(s.squares > 0))
    return s;
  s.x /= s.total;
  s.y /= s.total;
  s.xx = fmax(s.xx / s.total - s.x * s.x, 0);
  s.xy = s.xy / s.total - s.x * s.y;
  s.yy = fmax(s.yy / s.total - s.y * s.y, 0);
  s.y += origin;
  return s;
}

bool ft_local_regression_fit(const double *x, const double *y, const double *weight, size_t count,
                             struct ft_local_regression *out)
{
  struct moments s = point_moments(x, y, weight, count);
  double runs, slope, residual, ridge;

  if (!(s.squares > 0))
    return false;
  runs = s.total * s.total / s.squares;
  if (runs < LEAST_RUNS)
    return false;
  residual = fmax(s.yy - (s.xx > TINY ? s.xy * s.xy / s.xx : 0), TINY);
  ridge = residual / runs / (SLOPE_DEVIATION * SLOPE_DEVIATION) + TINY;
  slope = s.xy / (s.xx + ridge);
  residual = fmax(s.yy - 2 * slope * s.xy + slope * slope * s.xx, 0);
  out->total = s.total;
  out->mean = s.y - slope * s.x;
  out->runs = fmax(runs - 1, LEAST_LEFT);
  /* residual variance plus the line's variance at the query */
  out->deviation =
      sqrt(residual * runs / fmax(runs - 2, 0.5) * (1 + s.x * s.x / (s.xx + ridge) / (runs + 1)));
  return true;
}
