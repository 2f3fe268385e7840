/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdbool.h>

#include "predictor/learn/series/change_point.h"

/*
 * All constants here were chosen on seven simulated changes at failure costs of 1, 10 and 100
 * (tests/unit/test_change_point.c). The eight workflow traces of docs/accuracy.md give no change
 * point.
 */

/* Number of earlier runs with which a run is compared. */
enum { NEAREST = 20 };
/* Newest runs examined for a change that includes a rise. */
enum { RISE_WINDOW = 6 };
/* Fewest earlier runs for a change that includes a rise. */
enum { MIN_BEFORE = 10 };
/* Newest runs examined for a change that is only a fall. */
enum { FALL_WINDOW = 40 };
/* Newest runs examined for a shift, and fewest earlier runs: a change of a run time is taken up
 * within three runs (the AMG2023 jobs of docs/accuracy.md). */
enum { SHIFT_WINDOW = 3 };
enum { SHIFT_BEFORE = 5 };
/* Of this number of examined runs one may be an inlier. */
enum { INLIER_FRACTION = 6 };
/* Smallest width of the earlier runs' range, in log units. */
#define MIN_WIDTH 0.05
/* Distance of an outlier from the range, as a fraction of its width. */
#define OUTLIER_MARGIN 0.5

/* The runs, in order of time. */
struct runs {
  size_t count;
  const double *log_residual;
  const float *covariate;
};

/* Fills NEAR with the NEAREST of the first COUNT runs by distance from COVARIATE, of equally near
 * ones the latest. Returns their number. */
static size_t find_nearest(const struct runs *r, size_t count, float covariate,
                           size_t near[NEAREST])
{
  float distance[NEAREST];
  size_t found = 0;

  for (size_t i = count; i-- > 0;) {
    float d = fabsf(r->covariate[i] - covariate);
    size_t k = found < NEAREST ? found++ : NEAREST;

    if (k == NEAREST && d >= distance[NEAREST - 1])
      continue;
    for (k -= k == NEAREST; k > 0 && distance[k - 1] > d; k--) {
      distance[k] = distance[k - 1];
      near[k] = near[k - 1];
    }
    distance[k] = d;
    near[k] = i;
  }
  return found;
}

/* Compares run I with the first COUNT runs. Returns 1 for an outlier upwards, -1 for one downwards,
 * else 0. */
static int outlier_sign(const struct runs *r, size_t count, size_t i)
{
  double low = INFINITY, high = -INFINITY, own = r->log_residual[i], outside;
  size_t near[NEAREST], found = find_nearest(r, count, r->covariate[i], near);

  for (size_t k = 0; k < found; k++) {
    low = fmin(low, r->log_residual[near[k]]);
    high = fmax(high, r->log_residual[near[k]]);
  }
  outside = OUTLIER_MARGIN * fmax(high - low, MIN_WIDTH);
  return (own > high + outside) - (own < low - outside);
}

/* Returns the first outlier among the newest LAST runs, if at most LAST / INLIER_FRACTION of them
 * are inliers and, with UPWARDS, an outlier is upwards; else 0. */
static size_t find_first_outlier(const struct runs *r, size_t last, bool upwards)
{
  size_t before = r->count - last, inliers = 0, first = 0;

  for (size_t i = r->count; i-- > before;) {
    int sign = outlier_sign(r, before, i);

    upwards = upwards && sign <= 0;
    if (sign)
      first = i;
    else if (++inliers > last / INLIER_FRACTION)
      return 0;
  }
  return upwards ? 0 : first;
}

/* Returns the first of the newest SHIFT_WINDOW runs, if all are outliers to one side; else 0. */
static size_t find_shift(const struct runs *r)
{
  size_t before = r->count - SHIFT_WINDOW;
  int sum = 0;

  for (size_t i = before; i < r->count; i++)
    sum += outlier_sign(r, before, i);
  return sum == SHIFT_WINDOW || sum == -SHIFT_WINDOW ? before : 0;
}

size_t ft_change_point_find(const double *log_residual, const float *covariate, size_t count,
                            bool shifts)
{
  const struct runs r = { count, log_residual, covariate };
  size_t first = 0;

  if (shifts && count >= SHIFT_WINDOW + SHIFT_BEFORE)
    first = find_shift(&r);
  if (!first && count >= RISE_WINDOW + MIN_BEFORE)
    first = find_first_outlier(&r, RISE_WINDOW, true);
  if (!first && count >= FALL_WINDOW + NEAREST)
    first = find_first_outlier(&r, FALL_WINDOW, false);
  return first;
}
