/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/learn/residual_quantiles.h"
#include "predictor/learn/series/interval.h"

const double ft_interval_levels[FT_INTERVAL_LEVELS] = { 0.001, 0.01,  0.05,  0.1,  0.25,
                                                        0.5,   0.75,  0.9,   0.95, 0.99,
                                                        0.995, 0.999, 0.9999 };

const double ft_interval_scores[FT_INTERVAL_LEVELS] = { -3.0902323061678135,  -2.3263478740408411,
                                                        -1.6448536269514727,  -1.2815515655446005,
                                                        -0.67448975019608174, 0,
                                                        0.67448975019608174,  1.2815515655446005,
                                                        1.6448536269514727,   2.3263478740408411,
                                                        2.5758293035489008,   3.0902323061678135,
                                                        3.7190164854556806 };

enum {
  /* indices in ft_interval_levels; INTERVAL_LOW and INTERVAL_HIGH are the ends of the 90 %
   * interval */
  INTERVAL_LOW = 2,
  TENTH = 3,
  LOWER_QUARTILE = 4,
  MIDDLE = 5,
  UPPER_QUARTILE = 6,
  NINE_TENTHS = 7,
  INTERVAL_HIGH = 8,
  MAX_EVIDENCE = 200 /* maximum effective sample size: number of residuals that a fit has */
};

/* Minimum interval width in log units; avoids a division by 0. */
#define NARROWEST 1e-9

/* Standard normal quantile at 0.95. */
#define SCORE 1.644853626951

/* Returns by how much the quantile of Student's t at a normal SCORE is further out than the normal
 * one, relative to the same at SCORE (Cornish and Fisher 1937, the term in 1 / degrees). */
static double excess_of_score(double score)
{
  return (score * score * score + score) / (SCORE * SCORE * SCORE + SCORE);
}

/*
 * Widens the 90 % interval: moves each QUANTILE up to its upper end away from the median. The ends
 * move by MORE times the length of the tail on their side, the others by excess_of_score: what is
 * unknown of a distribution lengthens its tails more than its middle. The tail's length is the
 * distance of the end from the median, or if shorter 1.695 times that from the quartile: a bimodal
 * program has a short tail above its upper mode. It is at least that of a normal distribution with
 * standard deviation MIN_DEVIATION. No quantile is moved above HIGHEST. Higher quantiles are raised
 * to remain in order.
 */
static void lengthen_interval(double quantile[FT_INTERVAL_LEVELS], double more,
                              double min_deviation, double highest)
{
  /* of a normal distribution: (95 % - 50 % quantile) / (95 % - 75 % quantile) */
  static const double tails = 1.695;
  double middle = quantile[MIDDLE];
  double below = fmin(middle - quantile[INTERVAL_LOW],
                      tails * (quantile[LOWER_QUARTILE] - quantile[INTERVAL_LOW]));
  double above = fmin(quantile[INTERVAL_HIGH] - middle,
                      tails * (quantile[INTERVAL_HIGH] - quantile[UPPER_QUARTILE]));

  for (int i = 0; i <= INTERVAL_HIGH; i++) {
    double side = fmax(i < MIDDLE ? below : above, SCORE * min_deviation);

    quantile[i] = fmin(quantile[i] + more * excess_of_score(ft_interval_scores[i]) * side, highest);
  }
  for (int i = INTERVAL_HIGH + 1; i < FT_INTERVAL_LEVELS; i++)
    quantile[i] = fmax(quantile[i], quantile[i - 1]);
}

/*
 * Scales the 90 % interval about the median by FACTOR, within the adjacent outer levels, which do
 * not change. Narrowing stops at a normal distribution with standard deviation MIN_DEVIATION.
 */
static void scale_interval(double quantile[FT_INTERVAL_LEVELS], double factor, double min_deviation)
{
  for (int i = INTERVAL_LOW; i <= INTERVAL_HIGH; i++) {
    double distance = quantile[i] - quantile[MIDDLE];
    double narrowest = min_deviation * ft_interval_scores[i];

    if (i == MIDDLE)
      continue;
    distance = i > MIDDLE ? fmax(distance * factor, fmin(narrowest, distance))
                          : fmin(distance * factor, fmax(narrowest, distance));
    quantile[i] = fmin(fmax(quantile[MIDDLE] + distance, quantile[INTERVAL_LOW - 1]),
                       quantile[INTERVAL_HIGH + 1]);
  }
}

/* Sets the quantiles of the 90 % interval to order statistics of the residuals; moves outer
 * quantiles if needed to remain in order. */
static void use_rank_quantiles(const struct ft_interval_question *q,
                               double quantile[FT_INTERVAL_LEVELS])
{
  double count = (double)q->residuals;

  for (int i = INTERVAL_LOW; i <= INTERVAL_HIGH; i++)
    quantile[i] = ft_residual_interpolate(q->residual, q->residuals,
                                          (ft_interval_levels[i] * (count + 1) - 1) / (count - 1));
  for (int i = INTERVAL_LOW; i > 0; i--)
    quantile[i - 1] = fmin(quantile[i - 1], quantile[i]);
  for (int i = INTERVAL_HIGH + 1; i < FT_INTERVAL_LEVELS; i++)
    quantile[i] = fmax(quantile[i], quantile[i - 1]);
}

/* Moves the quantiles outside the 90 % interval to at least the distances from the median of a
 * normal distribution with standard deviation MIN_DEVIATION. */
static void widen_outer_levels(double quantile[FT_INTERVAL_LEVELS], double min_deviation)
{
  for (int i = 0; i < FT_INTERVAL_LEVELS; i++) {
    double normal = quantile[MIDDLE] + min_deviation * ft_interval_scores[i];

    if (i < INTERVAL_LOW)
      quantile[i] = fmin(quantile[i], normal);
    else if (i > INTERVAL_HIGH)
      quantile[i] = fmax(quantile[i], normal);
  }
}

/* Multiplies the width of the 90 % interval by FACTOR. Widening (lengthen_interval): at least as
 * for the standard deviation WIDE, up to HIGHEST. Narrowing (scale_interval): not below the
 * standard deviation NARROW. */
static void calibrate_interval(double quantile[FT_INTERVAL_LEVELS], double factor, double narrow,
                               double wide, double highest)
{
  if (factor > 1)
    lengthen_interval(quantile, factor - 1, wide, highest);
  else
    scale_interval(quantile, factor, narrow);
}

/* Moves the ends of the 90 % interval to at least the extreme residuals: with fewer than
 * FT_CALIBRATION_RANKED_RUNS runs each is expected to be exceeded more often than the end, also by
 * runs of a hidden group. */
static void include_extremes(const struct ft_interval_question *q,
                             double quantile[FT_INTERVAL_LEVELS])
{
  for (int i = 0; i <= INTERVAL_LOW; i++)
    quantile[i] = fmin(quantile[i], q->residual[0]);
  for (int i = INTERVAL_HIGH; i < FT_INTERVAL_LEVELS; i++)
    quantile[i] = fmax(quantile[i], q->residual[q->residuals - 1]);
}

/* Moves the quantiles of runs that are too few for a calibration to at most as far beyond the
 * extreme residuals as those of a single run are from it: a second run is no reason to expect
 * more. */
static void limit_few(const struct ft_interval_question *q, double quantile[FT_INTERVAL_LEVELS])
{
  const double alone = 0;
  double one[FT_INTERVAL_LEVELS];

  if (q->residuals < 2 || q->residuals >= FT_CALIBRATION_MIN_RUNS)
    return;
  ft_residual_quantiles(&alone, 1, 1, q->prior, q->min_deviation, ft_interval_levels,
                        FT_INTERVAL_LEVELS, one);
  ft_interval_widen(one, q->added_variance);
  for (int i = 0; i < MIDDLE; i++)
    quantile[i] = fmax(quantile[i], q->residual[0] + one[i]);
  for (int i = MIDDLE + 1; i < FT_INTERVAL_LEVELS; i++)
    quantile[i] = fmin(quantile[i], q->residual[q->residuals - 1] + one[i]);
}

void ft_interval_widen(double quantile[FT_INTERVAL_LEVELS], double variance)
{
  double middle = quantile[MIDDLE];

  if (!(variance > 0))
    return;
  for (int i = 0; i < FT_INTERVAL_LEVELS; i++) {
    double distance = quantile[i] - middle;

    distance = sqrt(distance * distance + variance * ft_interval_scores[i] * ft_interval_scores[i]);
    quantile[i] = i < MIDDLE ? middle - distance : middle + distance;
  }
}

double ft_interval_find(const struct ft_interval_question *q, double quantile[FT_INTERVAL_LEVELS])
{
  unsigned evidence = q->completed < MAX_EVIDENCE ? q->completed : MAX_EVIDENCE;
  double deviation = q->min_deviation,
         prior_sd = evidence < FT_CALIBRATION_RANKED_RUNS || q->added_variance > 0 ? deviation : 0,
         factor, width;
  bool ranked;

  ft_residual_quantiles(q->residual, q->residuals,
                        evidence < q->residuals ? evidence : (unsigned)q->residuals, q->prior,
                        prior_sd, ft_interval_levels, FT_INTERVAL_LEVELS, quantile);
  ranked = !q->unwidened && evidence >= FT_CALIBRATION_RANKED_RUNS &&
           q->residuals >= FT_CALIBRATION_RANKED_RUNS;
  if (ranked && !q->has_bound)
    use_rank_quantiles(q, quantile);
  widen_outer_levels(quantile, deviation);
  width = quantile[INTERVAL_HIGH] - quantile[INTERVAL_LOW];
  ft_interval_widen(quantile, q->added_variance);
  prior_sd *= 1 + 2 / fmax(q->completed, 1);
  factor = exp(fmin(fmax(q->calibration.log_scale, -FT_CALIBRATION_MAX_LOG_SCALE),
                    FT_CALIBRATION_MAX_LOG_SCALE));
  if (!q->has_bound && q->unwidened) {
    scale_interval(quantile, factor, prior_sd);
  } else if (!q->has_bound) {
    /* The interval is widened up to the 99.5 % level, so that the higher levels, which allocations
     * use, do not change. An interval from ranks has no limit: it must be able to cover a drift. */
    double highest = quantile[INTERVAL_HIGH + 2];
    unsigned cohorts = ft_calibration_cohorts(&q->calibration, q->completed);

    lengthen_interval(quantile, ft_calibration_widening(cohorts, q->completed) - 1, 0, highest);
    calibrate_interval(quantile, factor, prior_sd, deviation, ranked ? INFINITY : highest);
    if (!ranked && q->residuals)
      include_extremes(q, quantile);
    limit_few(q, quantile);
  }
  /* the added width is due to causes that are common to runs submitted together */
  width = fmax(width, NARROWEST);
  width /= fmax(quantile[INTERVAL_HIGH] - quantile[INTERVAL_LOW], width);
  return 1 - width * width;
}
