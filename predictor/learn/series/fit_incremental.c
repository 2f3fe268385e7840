/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds one run to a fitted evaluator: updates all but the fit by the run's residual. */
#include "config.h"

#include <math.h>

#include "predictor/learn/series/drift.h"
#include "predictor/learn/series/baselines.h"
#include "predictor/learn/series/fit_work.h"

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
static bool is_in_fitted_range(const struct ft_series *s, const struct ft_series_run *run)
{
  const struct ft_series_fit *fit = &s->fit;
  bool described[FT_SERIES_COLUMNS] = { false };

  for (size_t i = 0; i < fit->point.terms_count; i++) {
    const struct ft_point_term *t = &fit->point.terms[i];
    double x = (double)run->x[t->column];

    described[t->column] = true;
    if (isnan(x))
      continue;
    if (t->levels_count ? !(x >= 0 && x < t->levels_count) : x < t->low || x > t->high)
      return false;
  }
  for (size_t j = 0; j < s->columns; j++)
    if (!isnan(run->x[j]) && !described[j])
      return false;
  return true;
}

/* Sets R's rows and their out-of-sample residuals from the series. */
static void restore_rows(const struct ft_series *s, size_t exact, struct ft_series_work *r)
{
  r->rows = 0;
  for (size_t i = 0; i < s->runs; i++) {
    r->observed[i] = ft_series_observed(&s->run[i], exact);
    if (r->observed[i]) {
      r->out_of_sample[r->rows] = (double)s->run[i].residual;
      r->row[r->rows++] = i;
    }
  }
}

/* Returns whether the SINCE newest rows have a larger error than the older ones. */
static bool has_drifted(const struct ft_series_work *r, size_t since)
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

/* Returns whether the newest MIN_DRIFT_RUNS rows of S, whose level may change, err to one side, and
 * more than the older ones. */
static bool has_shifted(const struct ft_series *s, const struct ft_series_work *r)
{
  int sum = 0;

  for (size_t i = 0; i < MIN_DRIFT_RUNS && i < r->rows; i++)
    sum += r->out_of_sample[r->rows - 1 - i] > 0 ? 1 : -1;
  return s->shifts && (sum == MIN_DRIFT_RUNS || sum == -MIN_DRIFT_RUNS) &&
         has_drifted(r, MIN_DRIFT_RUNS);
}

/* Copies FIT's needs, which are the sorted residuals, to R if SHIFT is 0 and all runs are observed;
 * else leaves R without residuals. */
static void reuse_sorted_needs(const struct ft_series_fit *fit, double shift,
                               struct ft_series_work *r)
{
  r->residuals = 0;
  for (size_t i = 0; shift == 0 && fit->needs_count == r->rows && i < r->rows; i++)
    r->residual[r->residuals++] = (double)fit->needs[i];
}

bool ft_series_add_newest(struct ft_series *s, size_t left, struct ft_series_work *r)
{
  struct ft_series_fit *fit = &s->fit;
  struct ft_series_run *run = &s->run[s->runs - 1];
  size_t since = s->completed - fit->fitted, exact = ft_series_count_exact(s);
  struct ft_point_prediction point;
  double before = fit->followed, shift, log_residual;

  if (!fit->fitted || fit->stopped || fit->has_bound_log || run->sampled ||
      exact == FT_SERIES_EXACT || !is_in_fitted_range(s, run))
    return false;
  ft_point_predict(&fit->point, run->x, s->columns, run->units, &point);
  if (point.extrapolated)
    return false;
  log_residual = log(fmax(run->value, 1)) - point.log;
  run->residual = (float)(log_residual + before);
  /* a lower bound below all residuals has no effect; any other needs a fit */
  if (run->censored && !(fit->residuals_count && log_residual <= fit->residuals[0]))
    return false;
  if (!run->censored && fit->residuals_count && fabs(log_residual) > log(OUTLIER_FACTOR) &&
      (log_residual < fit->residuals[0] || log_residual > fit->residuals[fit->residuals_count - 1]))
    return false;
  restore_rows(s, exact, r);
  if ((since && since >= r->rows / REFIT_FRACTION) || has_drifted(r, since) || has_shifted(s, r))
    return false;
  shift = ft_drift_shift(r->out_of_sample, r->rows);
  if (!ft_baselines_add(s, left, (double)run->residual - shift, before - shift))
    return false;
  reuse_sorted_needs(fit, shift, r);
  ft_series_collect_residuals(s, r, shift);
  fit->bound_value = 0;
  if (r->rows < s->runs) {
    for (size_t i = 0; i < s->runs; i++)
      r->log_residual[i] = (double)s->run[i].residual - shift;
    ft_series_add_censored(s, r);
  }
  ft_series_store_residuals(s, r);
  return true;
}
