/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/estimate/quantity.h"
#include "predictor/learn/residual_quantiles.h"

/* Minimum number of runs from which the 90 % interval is taken from ranks alone: a new residual is
 * outside each extreme of 19 with probability 5 % (conformal prediction, Vovk, Gammerman and Shafer
 * 2005). With fewer runs, and for levels outside the interval, the prior and Student's t are used.
 * Confirmed by tests/bench/replay_constants. */
#define RANKED_RUNS 19

enum {
  /* indices in ft_estimate_levels; INTERVAL_LOW and INTERVAL_HIGH are the ends of the 90 %
   * interval */
  INTERVAL_LOW = 2,
  LOWER_QUARTILE = 4,
  MIDDLE = 5,
  UPPER_QUARTILE = 6,
  INTERVAL_HIGH = 8,
  MAX_EVIDENCE = 200 /* maximum effective sample size: number of residuals that a model stores */
};

/* Minimum interval width in log units; avoids a division by 0. */
#define NARROWEST 1e-9

/* Standard normal quantile at 0.95. */
#define SCORE 1.644853626951

/*
 * Widens the 90 % interval: moves each QUANTILE up to its upper end away from the median. The ends
 * move by MORE times the length of the tail on their side, the others in proportion to their normal
 * scores. The tail's length is the distance of the end from the median, or if shorter 1.695 times
 * that from the quartile: a bimodal program has a short tail above its upper mode. It is at least
 * that of a normal distribution with standard deviation MIN_DEVIATION. No quantile is moved above
 * HIGHEST. Higher quantiles are raised to remain in order.
 */
static void lengthen_interval(double quantile[FT_ESTIMATE_LEVELS], double more,
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

    quantile[i] = fmin(quantile[i] + more * ft_estimate_scores[i] / SCORE * side, highest);
  }
  for (int i = INTERVAL_HIGH + 1; i < FT_ESTIMATE_LEVELS; i++)
    quantile[i] = fmax(quantile[i], quantile[i - 1]);
}

/*
 * Scales the 90 % interval about the median by FACTOR, within the adjacent outer levels, which do
 * not change. Narrowing stops at a normal distribution with standard deviation MIN_DEVIATION.
 */
static void scale_interval(double quantile[FT_ESTIMATE_LEVELS], double factor, double min_deviation)
{
  for (int i = INTERVAL_LOW; i <= INTERVAL_HIGH; i++) {
    double distance = quantile[i] - quantile[MIDDLE];
    double narrowest = min_deviation * ft_estimate_scores[i];

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
static void use_rank_quantiles(const ft_evaluator *e, double quantile[FT_ESTIMATE_LEVELS])
{
  double count = (double)e->residuals_count;

  for (int i = INTERVAL_LOW; i <= INTERVAL_HIGH; i++)
    quantile[i] = ft_residual_interpolate(e->residuals, e->residuals_count,
                                          (ft_estimate_levels[i] * (count + 1) - 1) / (count - 1));
  for (int i = INTERVAL_LOW; i > 0; i--)
    quantile[i - 1] = fmin(quantile[i - 1], quantile[i]);
  for (int i = INTERVAL_HIGH + 1; i < FT_ESTIMATE_LEVELS; i++)
    quantile[i] = fmax(quantile[i], quantile[i - 1]);
}

/* Moves the quantiles outside the 90 % interval to at least the distances from the median of a
 * normal distribution with standard deviation MIN_DEVIATION. */
static void widen_outer_levels(double quantile[FT_ESTIMATE_LEVELS], double min_deviation)
{
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++) {
    double normal = quantile[MIDDLE] + min_deviation * ft_estimate_scores[i];

    if (i < INTERVAL_LOW)
      quantile[i] = fmin(quantile[i], normal);
    else if (i > INTERVAL_HIGH)
      quantile[i] = fmax(quantile[i], normal);
  }
}

struct ft_calibration ft_memory_calibration(const ft_model *model)
{
  const ft_evaluator *e = &model->evaluator;

  return (struct ft_calibration){ e->log_interval_scale, e->cohorts, e->cohort_ended };
}

unsigned ft_memory_cohorts(const ft_model *model)
{
  struct ft_calibration calibration = ft_memory_calibration(model);

  return ft_calibration_cohorts(&calibration, model->completed);
}

/* Multiplies the width of the 90 % interval by FACTOR. Widening (lengthen_interval): at least as
 * for the standard deviation WIDE, up to HIGHEST. Narrowing (scale_interval): not below the
 * standard deviation NARROW. */
static void calibrate_interval(double quantile[FT_ESTIMATE_LEVELS], double factor, double narrow,
                               double wide, double highest)
{
  if (factor > 1)
    lengthen_interval(quantile, factor - 1, wide, highest);
  else
    scale_interval(quantile, factor, narrow);
}

/* As ft_estimate_memory; with UNWIDENED as ft_estimate_memory_unwidened. */
static int estimate_distribution(const ft_model *model, const ft_feature *features, size_t count,
                                 bool unwidened, struct ft_estimate *out, struct ft_error *err)
{
  const ft_evaluator *e = &model->evaluator;
  float x[sizeof model->columns / sizeof *model->columns];
  unsigned evidence = model->completed < MAX_EVIDENCE ? model->completed : MAX_EVIDENCE;
  struct ft_point_prediction centre;
  double deviation, prior_sd, factor, width;
  bool ranked;

  *out = (struct ft_estimate){ .runs = model->completed };
  if (!model->has_evaluator || (!evidence && !e->has_bound_log))
    return ft_error_set(err, "%s: no completed run yet", model->app);
  ft_columns_fill(model->columns, model->columns_count, features, count, x);
  ft_predict_point(e, x, model->columns_count, &centre);
  deviation =
      ft_quantities[FT_QUANTITY_MEMORY].prior.min_fraction +
      ft_quantities[FT_QUANTITY_MEMORY].prior.min_value / exp(fmax(centre.log, log(FT_MIB)));
  prior_sd = evidence < RANKED_RUNS || centre.added_variance > 0 ? deviation : 0;
  ft_residual_quantiles(e->residuals, e->residuals_count,
                        evidence < e->residuals_count ? evidence : e->residuals_count,
                        ft_quantities[FT_QUANTITY_MEMORY].prior.deviation, prior_sd,
                        ft_estimate_levels, FT_ESTIMATE_LEVELS, out->quantile);
  ranked = !unwidened && evidence >= RANKED_RUNS && e->residuals_count >= RANKED_RUNS;
  if (ranked && !e->has_bound_log)
    use_rank_quantiles(e, out->quantile);
  widen_outer_levels(out->quantile, deviation);
  width = out->quantile[INTERVAL_HIGH] - out->quantile[INTERVAL_LOW];
  ft_estimate_widen(out->quantile, centre.added_variance);
  prior_sd *= 1 + 2 / fmax(model->completed, 1);
  factor = exp(fmin(fmax(e->log_interval_scale, -FT_CALIBRATION_MAX_LOG_SCALE),
                    FT_CALIBRATION_MAX_LOG_SCALE));
  if (!e->has_bound_log && unwidened) {
    scale_interval(out->quantile, factor, prior_sd);
  } else if (!e->has_bound_log) {
    /* The interval is widened up to the 99.5 % level, so that the higher levels, which allocations
     * use, do not change. An interval from ranks has no limit: it must be able to cover a drift. */
    double highest = out->quantile[INTERVAL_HIGH + 2];

    lengthen_interval(out->quantile, ft_calibration_widening(ft_memory_cohorts(model)) - 1, 0,
                      highest);
    calibrate_interval(out->quantile, factor, prior_sd, deviation, ranked ? INFINITY : highest);
  }
  /* the added width is due to causes that are common to runs submitted together */
  width = fmax(width, NARROWEST);
  width /= fmax(out->quantile[INTERVAL_HIGH] - out->quantile[INTERVAL_LOW], width);
  out->shared = 1 - width * width;
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++) {
    /* 2^-60 to 2^60 bytes: products and squares of quantiles stay finite */
    out->quantile[i] = exp(fmin(fmax(centre.log + out->quantile[i], -60 * M_LN2), 60 * M_LN2));
    if (i && !(out->quantile[i] >= out->quantile[i - 1]))
      return ft_error_set(err, "%s: invalid model: quantiles decrease", model->app);
  }
  (void)ft_string_copy(e->method, out->method, sizeof out->method);
  out->extrapolated = centre.extrapolated;
  out->max_bytes = e->max_bytes;
  if (e->has_bound_log)
    out->bound_bytes = exp(fmin(centre.log + e->bound_log, 50 * M_LN2));
  return 0;
}

int ft_estimate_memory(const ft_model *model, const ft_feature *features, size_t count,
                       struct ft_estimate *out, struct ft_error *err)
{
  return estimate_distribution(model, features, count, false, out, err);
}

int ft_estimate_memory_unwidened(const ft_model *model, const ft_feature *features, size_t count,
                                 struct ft_estimate *out, struct ft_error *err)
{
  return estimate_distribution(model, features, count, true, out, err);
}
