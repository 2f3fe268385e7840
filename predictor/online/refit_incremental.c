/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds one run to a fitted evaluator: updates all but the fit by the run's residual. */
#include "config.h"

#include <math.h>

#include "predictor/estimate/point_prediction.h"
#include "predictor/learn/series/drift.h"
#include "predictor/online/baselines.h"
#include "predictor/online/refit_work.h"

/*
 * All constants here were chosen by replay: on four workflow traces (docs/accuracy.md) waste,
 * failures and coverage stay within 4 % of a fit after every run.
 */

/* A fit is repeated when 1/8 of its runs are new. */
enum { REFIT_FRACTION = 8 };
/* Minimum number of new runs to detect drift. */
enum { MIN_DRIFT_RUNS = 3 };
/* A run with a residual outside the range of all earlier ones, and above this factor or below its
 * inverse, needs a fit, whose robust weights limit its effect. */
#define OUTLIER_FACTOR 4
/* Drift: the mean error of the new runs exceeds DRIFT_FACTOR times the older runs' mean error plus
 * DRIFT_MARGIN, in log units. */
#define DRIFT_FACTOR 1.5
#define DRIFT_MARGIN 0.01

/* Returns whether all feature values of RUN lie in the ranges of the last fit. */
static bool is_in_fitted_range(const ft_model *model, const ft_run *run)
{
  const ft_evaluator *e = &model->evaluator;
  bool described[sizeof model->columns / sizeof *model->columns] = { false };

  for (size_t i = 0; i < e->terms_count; i++) {
    const ft_term *t = &e->terms[i];
    double x = t->column < run->x_count ? (double)run->x[t->column] : NAN;

    described[t->column] = true;
    if (isnan(x))
      continue;
    if (t->levels_count ? !(x >= 0 && x < t->levels_count) : x < t->low || x > t->high)
      return false;
  }
  for (size_t j = 0; j < run->x_count; j++)
    if (!isnan(run->x[j]) && !described[j])
      return false;
  return true;
}

/* Sets R's rows and their out-of-sample residuals from the history. */
static void restore_rows(const ft_model *model, size_t exact, struct ft_refit *r)
{
  r->rows = 0;
  for (size_t i = 0; i < model->history_count; i++)
    if (ft_refit_observed(&model->history[i], exact)) {
      r->out_of_sample[r->rows] = (double)model->history[i].residual;
      r->row[r->rows++] = i;
    }
}

/* Returns whether the SINCE newest rows have a larger error than the older ones. */
static bool has_drifted(const struct ft_refit *r, size_t since)
{
  double before = 0, after = 0;

  if (since < MIN_DRIFT_RUNS || since >= r->rows)
    return false;
  for (size_t i = 0; i < r->rows; i++)
    *(i + since < r->rows ? &before : &after) += ft_drift_cap_residual(r->out_of_sample[i]);
  before /= (double)(r->rows - since);
  after /= (double)since;
  return after > DRIFT_FACTOR * before + DRIFT_MARGIN;
}

/* Copies E's needs, which are the sorted residuals, to R if SHIFT is 0 and all runs are observed;
 * else leaves R without residuals. */
static void reuse_sorted_needs(const ft_evaluator *e, double shift, struct ft_refit *r)
{
  r->residuals = 0;
  for (size_t i = 0; shift == 0 && e->needs_count == r->rows && i < r->rows; i++)
    r->residual[r->residuals++] = (double)e->needs[i];
}

bool ft_refit_incremental(ft_model *model, struct ft_refit *r)
{
  ft_evaluator *e = &model->evaluator;
  ft_run *run = &model->history[model->history_count - 1];
  size_t since = model->completed - e->fitted, exact = ft_refit_count_exact(model);
  struct ft_point_prediction point;
  double before = e->followed, shift, log_residual;

  if (!e->fitted || !model->has_evaluator || e->has_bound_log || run->sampled ||
      exact == FT_REFIT_EXACT || !is_in_fitted_range(model, run))
    return false;
  ft_predict_point(e, run->x, run->x_count, &point);
  if (point.extrapolated)
    return false;
  log_residual = log(fmax(run->bytes, 1)) - point.log;
  run->residual = (float)(log_residual + before);
  /* a lower bound below all residuals has no effect; any other needs a fit */
  if (run->censored && !(e->residuals_count && log_residual <= e->residuals[0]))
    return false;
  if (!run->censored && e->residuals_count && fabs(log_residual) > log(OUTLIER_FACTOR) &&
      (log_residual < e->residuals[0] || log_residual > e->residuals[e->residuals_count - 1]))
    return false;
  restore_rows(model, exact, r);
  if ((since && since >= r->rows / REFIT_FRACTION) || has_drifted(r, since))
    return false;
  shift = ft_drift_shift(r->out_of_sample, r->rows);
  if (!ft_baselines_add(model, (double)run->residual - shift, before - shift))
    return false;
  reuse_sorted_needs(e, shift, r);
  ft_refit_collect_residuals(model, r, shift);
  e->bound_bytes = 0;
  if (r->rows < model->history_count) {
    for (size_t i = 0; i < model->history_count; i++)
      r->log_residual[i] = (double)model->history[i].residual - shift;
    ft_refit_add_censored(model, r);
  }
  ft_refit_store_residuals(model, r);
  return true;
}
