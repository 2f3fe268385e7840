/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/estimate/evaluate.h"
#include "predictor/estimate/memory.h"
#include "predictor/learn/distribution.h"
#include "predictor/learn/spread.h"

/*
 * However alike the runs were: what allocators, page sizes and sampling differ
 * by from run to run. One imagined residual of 4 %, and a standard deviation of
 * never less than 0.5 % and half a MiB.
 */
#define PRIOR 0.04
#define LEAST_PART 0.005
#define LEAST_BYTES (0.5 * FT_MIB)

/* The 90 % interval, and what lies within. */
enum { LEAST_BANDED = 2, MOST_BANDED = 8 };

/* The first runs of an app are more alike than those to come: they come in waves, of one input,
 * of one user's morning. With so many the interval is twice as wide as they show, with more less by
 * this power. */
#define FEW_RUNS 6.0
#define FEW_POWER 1.5

/* From so many runs on their ranks alone give a 90 % interval: one lies beyond it on each side.
 * What any two runs may differ by is for fewer, and for the levels beyond the interval. */
#define RANKED_RUNS 20

/* e to this times wider or narrower, not more. */
#define MOST_BAND 2.0

enum { LOWER_QUARTER = 4, MIDDLE = 5, UPPER_QUARTER = 6, MOST_EVIDENCE = 200 };

/*
 * Wider or narrower about the middle by what the last runs showed. The levels
 * beyond the interval stay where they are, and bound it: the risk of running out of memory is
 * theirs. LEAST is a standard deviation below which it does not narrow.
 */
static void calibrate(double quantile[FT_ESTIMATE_LEVELS], double band, double least)
{
  double factor = exp(fmin(fmax(band, -MOST_BAND), MOST_BAND));

  for (int i = LEAST_BANDED; i <= MOST_BANDED; i++) {
    double away = quantile[i] - quantile[MIDDLE];
    double narrowest = least * ft_normal_quantile(ft_estimate_levels[i]);

    if (i == MIDDLE)
      continue;
    away = i > MIDDLE ? fmax(away * factor, fmin(narrowest, away))
                      : fmin(away * factor, fmax(narrowest, away));
    quantile[i] =
        fmin(fmax(quantile[MIDDLE] + away, quantile[LEAST_BANDED - 1]), quantile[MOST_BANDED + 1]);
  }
}

/* The levels beyond the interval are those of a normal distribution of standard deviation LEAST at
 * least. */
static void keep_beyond(double quantile[FT_ESTIMATE_LEVELS], double least)
{
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++) {
    double away = quantile[MIDDLE] + least * ft_normal_quantile(ft_estimate_levels[i]);

    if (i < LEAST_BANDED)
      quantile[i] = fmin(quantile[i], away);
    else if (i > MOST_BANDED)
      quantile[i] = fmax(quantile[i], away);
  }
}

double ft_memory_widening(unsigned runs)
{
  return 1 + pow(FEW_RUNS / fmax(runs, 1), FEW_POWER);
}

/*
 * Wider where RUNS are few: up to what was the second level above the interval, which keeps what an
 * amount is chosen by nearly where it is. By how wide a side's own tail is: of a program that does
 * one of two things, hardly beyond the larger.
 */
static void allow_for_few(double quantile[FT_ESTIMATE_LEVELS], unsigned runs)
{
  /* of a normal distribution, from the middle to 95 % as a part of from 75 % there */
  static const double tails = 1.695;
  double more = ft_memory_widening(runs) - 1, middle = quantile[MIDDLE];
  double below = fmin(middle - quantile[LEAST_BANDED],
                      tails * (quantile[LOWER_QUARTER] - quantile[LEAST_BANDED]));
  double above = fmin(quantile[MOST_BANDED] - middle,
                      tails * (quantile[MOST_BANDED] - quantile[UPPER_QUARTER]));

  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++) {
    /* the normal score of 95 % */
    double score = ft_normal_quantile(ft_estimate_levels[i]) / 1.644853626951;

    if (i <= MOST_BANDED)
      quantile[i] = fmin(quantile[i] + more * score * (i < MIDDLE ? below : above),
                         quantile[MOST_BANDED + 2]);
    else
      quantile[i] = fmax(quantile[i], quantile[i - 1]);
  }
}

static int estimate(const ft_model *model, const ft_feature *features, size_t count, bool alike,
                    struct ft_estimate *out, struct ft_error *err)
{
  const ft_evaluator *e = &model->evaluator;
  float x[sizeof model->columns / sizeof *model->columns];
  unsigned evidence = model->completed < MOST_EVIDENCE ? model->completed : MOST_EVIDENCE;
  struct ft_centre centre;
  double least, within;

  *out = (struct ft_estimate){ .runs = model->completed };
  if (!model->has_evaluator || (!evidence && !e->has_bound_log))
    return ft_error_set(err, "%s: no completed run yet", model->app);
  ft_columns_fill(model->columns, model->columns_count, features, count, x);
  ft_evaluate_centre(e, x, model->columns_count, &centre);
  least = LEAST_PART + LEAST_BYTES / exp(fmax(centre.log, log(FT_MIB)));
  within = evidence < RANKED_RUNS || centre.doubt > 0 ? least : 0;
  ft_spread_quantiles(e->residuals, e->residuals_count,
                      evidence < e->residuals_count ? evidence : e->residuals_count, PRIOR, within,
                      ft_estimate_levels, FT_ESTIMATE_LEVELS, out->quantile);
  keep_beyond(out->quantile, least);
  ft_estimate_widen(out->quantile, centre.doubt);
  if (!e->has_bound_log && !alike)
    allow_for_few(out->quantile, model->completed);
  if (!e->has_bound_log)
    calibrate(out->quantile, e->band, within * (1 + 2 / fmax(model->completed, 1)));
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++) {
    /* within 2^-60 and 2^60 bytes, so that every reader of it stays finite */
    out->quantile[i] = exp(fmin(fmax(centre.log + out->quantile[i], -60 * M_LN2), 60 * M_LN2));
    if (i && !(out->quantile[i] >= out->quantile[i - 1]))
      return ft_error_set(err, "%s: the model is not sound", model->app);
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
  return estimate(model, features, count, false, out, err);
}

int ft_estimate_alike(const ft_model *model, const ft_feature *features, size_t count,
                      struct ft_estimate *out, struct ft_error *err)
{
  return estimate(model, features, count, true, out, err);
}
