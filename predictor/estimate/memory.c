/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/learn/residual_quantiles.h"

/* Prior pseudo-observation of the residuals, in log units: allocators, page sizes and sampling
 * differ by 4 % from run to run. Chosen by tests/bench/replay_constants. */
#define PRIOR 0.04
/* Smallest standard deviation, as a fraction of the prediction. Chosen by judgement. */
#define LEAST_PART 0.005
/* Smallest standard deviation in bytes, added to LEAST_PART. Chosen by judgement. */
#define LEAST_BYTES (0.5 * FT_MIB)

/* Indices in ft_estimate_levels of the ends of the 90 % interval. */
enum { LEAST_BANDED = 2, MOST_BANDED = 8 };

/* Number of cohorts at which the interval is twice as wide as the residuals show. Runs of one
 * cohort resemble each other. Chosen by tests/bench/replay_constants. */
#define FEW_COHORTS 4.0

/* Runs from which ranks alone give the 90 % interval: one of 19 residuals lies beyond each end
 * (conformal prediction, Vovk, Gammerman and Shafer 2005). Fewer runs use the prior and Student's
 * t, as do the outer levels. Confirmed by tests/bench/replay_constants. */
#define RANKED_RUNS 19

enum {
  LOWER_QUARTER = 4, /* indices in ft_estimate_levels */
  MIDDLE = 5,
  UPPER_QUARTER = 6,
  MOST_EVIDENCE = 200 /* largest effective sample size: the residuals that a model stores */
};

/* Smallest interval width in log units; avoids a division by 0. */
#define NARROWEST 1e-9

/* Standard normal quantile at 0.95. */
#define SCORE 1.644853626951

/*
 * Widens the 90 % interval and the levels inside by MORE times the tail of each side, or MORE times
 * LEAST, a standard deviation, if larger. A bimodal program has a short tail above its upper mode.
 * Nothing is moved above HIGHEST. Outer levels stay outside.
 */
static void lengthen_interval(double quantile[FT_ESTIMATE_LEVELS], double more, double least,
                              double highest)
{
  /* ratio of a normal distribution's 50-to-95 % distance to its 75-to-95 % distance */
  static const double tails = 1.695;
  double middle = quantile[MIDDLE];
  double below = fmin(middle - quantile[LEAST_BANDED],
                      tails * (quantile[LOWER_QUARTER] - quantile[LEAST_BANDED]));
  double above = fmin(quantile[MOST_BANDED] - middle,
                      tails * (quantile[MOST_BANDED] - quantile[UPPER_QUARTER]));

  for (int i = 0; i <= MOST_BANDED; i++) {
    double side = fmax(i < MIDDLE ? below : above, SCORE * least);

    quantile[i] = fmin(quantile[i] + more * ft_estimate_scores[i] / SCORE * side, highest);
  }
  for (int i = MOST_BANDED + 1; i < FT_ESTIMATE_LEVELS; i++)
    quantile[i] = fmax(quantile[i], quantile[i - 1]);
}

/*
 * Scales the interval about the median by FACTOR. The outer levels stay and bound it. LEAST is the
 * smallest standard deviation that narrowing leaves.
 */
static void scale_interval(double quantile[FT_ESTIMATE_LEVELS], double factor, double least)
{
  for (int i = LEAST_BANDED; i <= MOST_BANDED; i++) {
    double away = quantile[i] - quantile[MIDDLE];
    double narrowest = least * ft_estimate_scores[i];

    if (i == MIDDLE)
      continue;
    away = i > MIDDLE ? fmax(away * factor, fmin(narrowest, away))
                      : fmin(away * factor, fmax(narrowest, away));
    quantile[i] =
        fmin(fmax(quantile[MIDDLE] + away, quantile[LEAST_BANDED - 1]), quantile[MOST_BANDED + 1]);
  }
}

/* Sets the interval and the levels inside to ranks of the residuals. */
static void use_rank_quantiles(const ft_evaluator *e, double quantile[FT_ESTIMATE_LEVELS])
{
  double count = (double)e->residuals_count;

  for (int i = LEAST_BANDED; i <= MOST_BANDED; i++)
    quantile[i] = ft_residual_interpolate(e->residuals, e->residuals_count,
                                          (ft_estimate_levels[i] * (count + 1) - 1) / (count - 1));
  for (int i = LEAST_BANDED; i > 0; i--)
    quantile[i - 1] = fmin(quantile[i - 1], quantile[i]);
  for (int i = MOST_BANDED + 1; i < FT_ESTIMATE_LEVELS; i++)
    quantile[i] = fmax(quantile[i], quantile[i - 1]);
}

/* Moves the outer levels at least as far out as those of a normal distribution with standard
 * deviation LEAST. */
static void widen_outer_levels(double quantile[FT_ESTIMATE_LEVELS], double least)
{
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++) {
    double away = quantile[MIDDLE] + least * ft_estimate_scores[i];

    if (i < LEAST_BANDED)
      quantile[i] = fmin(quantile[i], away);
    else if (i > MOST_BANDED)
      quantile[i] = fmax(quantile[i], away);
  }
}

unsigned ft_memory_cohorts(const ft_model *model)
{
  unsigned cohorts = model->evaluator.cohorts;

  return cohorts > 0 && cohorts < model->completed ? cohorts : model->completed;
}

double ft_memory_widening(unsigned cohorts)
{
  return 1 + FEW_COHORTS / fmax(cohorts, 1);
}

/* Applies FACTOR to the interval: above 1 by lengthen_interval up to HIGHEST, below 1 by
 * scale_interval. */
static void calibrate_interval(double quantile[FT_ESTIMATE_LEVELS], double factor, double narrowest,
                               double least, double highest)
{
  if (factor > 1)
    lengthen_interval(quantile, factor - 1, least, highest);
  else
    scale_interval(quantile, factor, narrowest);
}

static int estimate_distribution(const ft_model *model, const ft_feature *features, size_t count,
                                 bool alike, struct ft_estimate *out, struct ft_error *err)
{
  const ft_evaluator *e = &model->evaluator;
  float x[sizeof model->columns / sizeof *model->columns];
  unsigned evidence = model->completed < MOST_EVIDENCE ? model->completed : MOST_EVIDENCE;
  struct ft_point_prediction centre;
  double least, within, factor, own;
  bool ranked;

  *out = (struct ft_estimate){ .runs = model->completed };
  if (!model->has_evaluator || (!evidence && !e->has_bound_log))
    return ft_error_set(err, "%s: no completed run yet", model->app);
  ft_columns_fill(model->columns, model->columns_count, features, count, x);
  ft_predict_point(e, x, model->columns_count, &centre);
  least = LEAST_PART + LEAST_BYTES / exp(fmax(centre.log, log(FT_MIB)));
  within = evidence < RANKED_RUNS || centre.added_variance > 0 ? least : 0;
  ft_residual_quantiles(e->residuals, e->residuals_count,
                        evidence < e->residuals_count ? evidence : e->residuals_count, PRIOR,
                        within, ft_estimate_levels, FT_ESTIMATE_LEVELS, out->quantile);
  ranked = !alike && evidence >= RANKED_RUNS && e->residuals_count >= RANKED_RUNS;
  if (ranked && !e->has_bound_log)
    use_rank_quantiles(e, out->quantile);
  widen_outer_levels(out->quantile, least);
  own = out->quantile[MOST_BANDED] - out->quantile[LEAST_BANDED];
  ft_estimate_widen(out->quantile, centre.added_variance);
  within *= 1 + 2 / fmax(model->completed, 1);
  factor = exp(fmin(fmax(e->log_interval_scale, -FT_MEMORY_MAX_LOG_INTERVAL_SCALE),
                    FT_MEMORY_MAX_LOG_INTERVAL_SCALE));
  if (!e->has_bound_log && alike) {
    scale_interval(out->quantile, factor, within);
  } else if (!e->has_bound_log) {
    /* The limit of two levels above the interval keeps the levels that allocations use. An interval
     * from ranks has no limit: it must be able to cover a drift. */
    double highest = out->quantile[MOST_BANDED + 2];

    lengthen_interval(out->quantile, ft_memory_widening(ft_memory_cohorts(model)) - 1, 0, highest);
    calibrate_interval(out->quantile, factor, within, least, ranked ? INFINITY : highest);
  }
  /* the added width is common to runs submitted together */
  own = fmax(own, NARROWEST);
  own /= fmax(out->quantile[MOST_BANDED] - out->quantile[LEAST_BANDED], own);
  out->shared = 1 - own * own;
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
