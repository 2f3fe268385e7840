/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/learn/distribution.h"
#include "predictor/learn/residual_quantiles.h"

/* Largest number of degrees of freedom of Student's t. Chosen by judgement. */
enum { MAX_DEGREES = 8 };
/* Clamp of a residual's distance, in half interquartile ranges: four standard deviations of a
 * normal distribution, 4 / 0.6745. Half and twice were compared. */
#define CLAMP_HALF_RANGES 5.93
/* Number of residuals beyond a level from which its quantile is the residual of its rank; also
 * beyond the level at which a tail's scale is measured. Half and twice were compared. */
#define RANKED_RESIDUALS 5
/* Numbers of residuals up to which a tail has the scale of all residuals, and from which it has
 * one of its own. Half and twice were compared. */
#define COMMON_SCALE_RESIDUALS 15
#define OWN_SCALE_RESIDUALS 60
/* Minimum scale of a tail, as a fraction of the scale of all residuals; it is above 0. */
#define MIN_TAIL_SCALE 0.25
/* Residuals; divided by their number it is the relative margin of outer_limit, as normal residuals
 * need it. Half and twice were compared. */
#define OUTER_RESIDUALS 15

double ft_residual_interpolate(const double *sorted, size_t count, double position)
{
  double at = fmin(fmax(position, 0), 1) * (double)(count - 1);
  size_t i = (size_t)at;

  if (i + 1 >= count)
    return sorted[count - 1];
  return sorted[i] + (sorted[i + 1] - sorted[i]) * (at - (double)i);
}

/* Returns the residual at rank LEVEL * (COUNT + 1), clamped to the extremes. */
static double rank_quantile(const double *sorted, size_t count, double level)
{
  if (count < 2)
    return sorted[0];
  return ft_residual_interpolate(sorted, count,
                                 (level * (double)(count + 1) - 1) / (double)(count - 1));
}

/*
 * Returns the scale of Student's t: the root mean square about CENTRE, including one
 * pseudo-observation of PRIOR. A residual's distance is clamped at CLAMP_HALF_RANGES, so that one
 * outlier does not widen the whole distribution.
 */
static double student_scale(const double *sorted, size_t count, unsigned effective_size,
                            double centre, double prior)
{
  double half = count ? (ft_residual_interpolate(sorted, count, 0.75) -
                         ft_residual_interpolate(sorted, count, 0.25)) /
                            2
                      : 0;
  double limit = CLAMP_HALF_RANGES * fmax(half, prior), sum = 0,
         degrees = effective_size > 1 ? effective_size - 1 : 0;

  for (size_t i = 0; i < count; i++) {
    double distance = fabs(sorted[i] - centre);

    distance = distance < limit ? distance : limit;
    sum += distance * distance;
  }
  if (count)
    sum *= degrees / (double)count;
  return sqrt((prior * prior + sum) / (1 + degrees));
}

/*
 * Returns the scale of one tail; SIDE is 1 for the upper, -1 for the lower one. Up to
 * COMMON_SCALE_RESIDUALS it is SCALE. From OWN_SCALE_RESIDUALS on it is the scale at which
 * Student's t has the quantile that RANKED_RESIDUALS exceed. Between them it is a weighted mean.
 */
static double tail_scale(const double *sorted, size_t count, unsigned degrees, double centre,
                         double scale, int side)
{
  double beyond = RANKED_RESIDUALS / (double)(count + 1), level = side > 0 ? 1 - beyond : beyond,
         anchored, weight;

  if (count <= COMMON_SCALE_RESIDUALS)
    return scale;
  anchored = (rank_quantile(sorted, count, level) - centre) / ft_student_quantile(level, degrees);
  weight = fmin(
      ((double)count - COMMON_SCALE_RESIDUALS) / (OWN_SCALE_RESIDUALS - COMMON_SCALE_RESIDUALS), 1);
  return fmax(weight * anchored + (1 - weight) * scale, MIN_TAIL_SCALE * scale);
}

/*
 * Returns the largest distance of a quantile beyond the extreme residual: 1 + OUTER_RESIDUALS /
 * COUNT times the width of the outer quarter, as normal residuals need. It is small if many
 * residuals are near the extreme (programs with two typical needs). T is the quantile of Student's
 * t, FAR that at 99 %.
 */
static double outer_limit(const double *sorted, size_t count, int side, double prior, double t,
                          double far)
{
  double end = sorted[side > 0 ? count - 1 : 0];
  double inner = ft_residual_interpolate(sorted, count, side > 0 ? 0.75 : 0.25);

  return (1 + OUTER_RESIDUALS / (double)count) * (fabs(end - inner) + prior) * fmax(t / far, 1);
}

void ft_residual_quantiles(const double *sorted, size_t count, unsigned effective_size,
                           double prior, double min_deviation, const double *levels,
                           size_t level_count, double *out)
{
  double centre = count ? rank_quantile(sorted, count, 0.5) : 0;
  double scale = student_scale(sorted, count, effective_size, centre, prior);
  unsigned degrees = effective_size < 1             ? 1
                     : effective_size > MAX_DEGREES ? MAX_DEGREES
                                                    : effective_size;
  double tail[2] = { scale, scale };
  double far = count ? ft_student_quantile(0.99, degrees) : 0;

  if (count) {
    tail[0] = tail_scale(sorted, count, degrees, centre, scale, -1);
    tail[1] = tail_scale(sorted, count, degrees, centre, scale, 1);
  }
  for (size_t i = 0; i < level_count; i++) {
    double level = levels[i], side = level < 0.5 ? -1 : 1;
    double beyond = fmin(level, 1 - level) * (double)(count + 1);
    double weight = fmin(fmax((beyond - 1) / (RANKED_RESIDUALS - 1), 0), 1);
    double distance = min_deviation > 0 ? side * min_deviation * ft_normal_quantile(level) : 0;

    out[i] = weight > 0 ? weight * rank_quantile(sorted, count, level) : 0;
    if (weight < 1) {
      double student = ft_student_quantile(level, degrees);
      double t = centre + tail[side > 0] * student;

      if (count)
        t = side *
            fmin(side * t, side * sorted[side > 0 ? count - 1 : 0] +
                               outer_limit(sorted, count, (int)side, prior, fabs(student), far));
      out[i] += (1 - weight) * t;
    }
    if (count && beyond <= 0.5)
      out[i] = side > 0 ? fmax(out[i], sorted[count - 1]) : fmin(out[i], sorted[0]);
    if (side * (out[i] - centre) < distance)
      out[i] = centre + side * distance;
  }
  for (size_t i = 1; i < level_count; i++)
    out[i] = fmax(out[i], out[i - 1]);
}
