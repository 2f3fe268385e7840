/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/learn/series/baselines.h"
#include "predictor/learn/series/change_point.h"
#include "predictor/learn/series/drift.h"
#include "predictor/learn/series/fit_work.h"

/* Fewest runs of a law with which others are compared. Half and twice were compared. */
enum { MIN_STOPPED = 3 };
/* Log units by which a run may lie outside the residuals of a law and agree with it: due to
 * allocators, page sizes and sampling, equal runs differ by 4 % (MEMORY_PRIOR of
 * estimate/quantity.c). */
#define AGREEMENT 0.04
/* Minimum number of runs with both predictions to prefer an equation. Chosen by judgement. */
enum { MIN_EQUATION_RUNS = 10 };

/* Largest ratio of out-of-sample errors on the same runs for the smaller to count: of the equation
 * and the additive model, of values of units and whole values. Chosen by judgement. */
#define CLEAR_GAIN 0.9
/* Largest ratio of the error of products of columns to that of the additive model to prefer the
 * products. 0.7 and 0.9 were compared. */
#define PRODUCTS_GAIN 0.5
/* Error in log units that counts as none: products are not tried below it, and the errors of values
 * of units and of whole values differ by more. */
#define NEGLIGIBLE_ERROR 0.002
/* Standard deviation of the effect of an unseen category, in log units, if all runs have the same
 * category. Half and twice were compared. */
#define UNSEEN_LEVEL_SCALE 0.3

size_t ft_series_work_size(void)
{
  size_t additive = ft_additive_work_size(), products = ft_posynomial_work_size();

  return sizeof(struct ft_series_work) + (additive > products ? additive : products);
}

/* Adds the run with index RUN, with VALUE, to the data of the fit. */
static void append_fit_run(const struct ft_series *s, struct ft_series_work *r, size_t run,
                           double value)
{
  size_t row = r->data.runs++;

  r->row[row] = run;
  r->value[row] = fmax(value, 1);
  for (size_t j = 0; j < s->columns; j++)
    r->data.x[j][row] = s->run[run].x[j];
}

/* Returns the value with which RUN enters the fit: for a censored run the median of what its number
 * may be (fit_work.h), but one that stopped may well have been at its largest. */
static double fitted_value(const struct ft_series_run *run)
{
  if (run->exceeded)
    return run->value * exp(FT_KILLED_MARGIN + FT_KILLED_MEAN * M_LN2);
  return run->censored && !run->stopped
             ? run->value * exp(FT_STOPPED_MARGIN + FT_STOPPED_MEAN * M_LN2)
             : run->value;
}

/* Fills R's data with the observed runs; if there are none with those that exceeded their limit. */
static void collect_fit_rows(const struct ft_series *s, struct ft_series_work *r)
{
  r->data.runs = 0;
  r->data.has_bounds = false;
  r->data.has_many = s->by_many;
  r->data.columns = s->columns;
  for (size_t j = 0; j < s->columns; j++)
    r->data.levels[j] = s->levels[j];
  for (size_t i = 0; i < s->runs; i++)
    if (r->observed[i])
      append_fit_run(s, r, i, s->run[i].value);
  r->rows = r->data.runs;
  r->data.has_bounds = !r->rows;
  for (size_t i = 0; i < s->runs && !r->rows; i++)
    if (s->run[i].exceeded)
      append_fit_run(s, r, i, fitted_value(&s->run[i]));
}

/* ---- the point prediction ---- */

/* Sets T to the range of COLUMN in the data and, for a category, the standard deviation of the
 * effect of unseen values. Returns false for a column without values. */
static bool describe_column(const struct ft_series *s, const struct ft_series_work *r,
                            size_t column, struct ft_point_term *t)
{
  bool seen[FT_ADDITIVE_LEVELS] = { false };
  size_t present = 0, distinct = 0;

  *t = (struct ft_point_term){ .column = (uint32_t)column, .low = INFINITY, .high = -INFINITY };
  for (size_t i = 0; i < r->data.runs; i++) {
    double x = (double)r->data.x[column][i];

    if (isnan(x))
      continue;
    present++;
    t->low = x < t->low ? x : t->low;
    t->high = x > t->high ? x : t->high;
    if (s->levels[column] && x >= 0 && !seen[(size_t)x]) {
      seen[(size_t)x] = true;
      distinct++;
    }
  }
  if (!present)
    return false;
  if (s->levels[column]) {
    distinct += present < r->data.runs; /* to lack the feature is known, too */
    t->levels_count = s->levels[column];
    t->scale = distinct == 1 ? UNSEEN_LEVEL_SCALE * (r->fit.log_target ? 1 : r->fit.intercept) : 0;
  }
  return true;
}

/* Fits R's data, with PER_UNIT the values of one unit. */
static void fit_values(const struct ft_series *s, struct ft_series_work *r, bool per_unit,
                       struct ft_additive *fit)
{
  r->data.has_divisor = per_unit && s->unit_column < s->columns;
  r->data.divisor = s->unit_column;
  for (size_t i = 0; i < r->data.runs; i++)
    r->data.y[i] = per_unit ? fmax(r->value[i] / s->run[r->row[i]].units, 1) : r->value[i];
  ft_additive_fit(&r->data, (struct ft_additive_work *)r->work, fit);
}

/* Returns whether the error of A is clearly smaller than that of B. */
static bool is_better(const struct ft_additive *a, const struct ft_additive *b)
{
  return a->error + NEGLIGIBLE_ERROR < CLEAR_GAIN * b->error;
}

/* Fits R's data as values of units, unless the runs had different units and the values as they are
 * are fitted better, or as well with fewer terms. Returns whether the fit is of units. */
static bool fit_units(const struct ft_series *s, struct ft_series_work *r)
{
  bool differ = false;

  fit_values(s, r, s->by_unit, &r->fit);
  for (size_t i = 1; i < r->data.runs; i++)
    differ |= s->run[r->row[i]].units != s->run[r->row[0]].units;
  if (!s->by_unit || !differ)
    return s->by_unit;
  fit_values(s, r, false, &r->whole);
  if (!is_better(&r->whole, &r->fit) &&
      (r->whole.terms >= r->fit.terms || is_better(&r->fit, &r->whole)))
    return true;
  r->fit = r->whole;
  return false;
}

/* Writes the fitted additive model into FIT. */
static void store_additive_model(const struct ft_series *s, const struct ft_series_work *r,
                                 struct ft_series_fit *fit)
{
  fit->point.log_target = r->fit.log_target;
  fit->point.intercept = r->fit.intercept;
  fit->point.terms_count = 0;
  (void)ft_string_copy(r->fit.terms ? "regression" : "quantiles", fit->method, sizeof fit->method);
  for (size_t j = 0; j < s->columns; j++) {
    struct ft_point_term *t = &fit->point.terms[fit->point.terms_count];

    if (!describe_column(s, r, j, t))
      continue;
    fit->point.terms_count++;
    for (size_t k = 0; k < r->fit.terms; k++) {
      const struct ft_additive_term *from = &r->fit.term[k];

      if (from->column != j)
        continue;
      t->form = from->form;
      t->mean = from->mean;
      t->scale = from->levels ? from->level_scale : from->scale;
      t->coefficient = from->coefficient;
      for (size_t l = 0; l < t->levels_count; l++)
        t->levels[l] = from->level[l];
    }
  }
}

/* Sets R->log_residual to log(value / point prediction) of each run by S's fit; a
 * censored run enters with its lower bound. */
static void measure_log_residuals(const struct ft_series *s, struct ft_series_work *r)
{
  for (size_t i = 0; i < s->runs; i++) {
    const struct ft_series_run *run = &s->run[i];
    struct ft_point_prediction point;

    ft_point_predict(&s->fit.point, run->x, s->columns, run->units, &point);
    r->log_residual[i] = log(fmax(run->value, 1)) - point.log;
  }
}

/* Returns whether the equation has the smaller out-of-sample error on the runs that it predicts. */
static bool equation_is_better(const struct ft_series *s, const struct ft_series_work *r)
{
  double equation = 0, additive = 0;
  size_t count = 0;

  for (size_t i = 0; i < r->rows && s->fit.point.law.code.length; i++) {
    double predicted = (double)s->run[r->row[i]].equation_log;

    if (predicted == 0)
      continue;
    equation += ft_drift_cap_residual(log(r->value[i]) - predicted);
    additive += ft_drift_cap_residual(r->fit.residual[i]);
    count++;
  }
  return count >= MIN_EQUATION_RUNS && 2 * count >= r->rows && equation < CLEAR_GAIN * additive;
}

/* Uses products of columns as point prediction if their error is clearly smaller than that of the
 * additive model. */
static void prefer_products(struct ft_series *s, struct ft_series_work *r)
{
  struct ft_series_fit *fit = &s->fit;

  fit->point.products = (struct ft_posynomial){ 0 };
  if (!(r->fit.error > NEGLIGIBLE_ERROR) ||
      !ft_posynomial_fit(&r->data, (struct ft_posynomial_work *)r->work, &r->products) ||
      !(r->products.error <
        (r->fit.terms ? PRODUCTS_GAIN : ft_additive_chance(r->data.runs, s->columns)) *
            r->fit.error))
    return;
  fit->point.products = r->products.function;
  memcpy(r->fit.residual, r->products.residual, r->data.runs * sizeof *r->fit.residual);
}

/* Uses the equation as point prediction if it is better. */
static void prefer_equation(struct ft_series *s, struct ft_series_work *r)
{
  struct ft_series_fit *fit = &s->fit;

  fit->point.by_law = equation_is_better(s, r);
  if (!fit->point.by_law)
    return;
  (void)ft_string_copy("equation", fit->method, sizeof fit->method);
  for (size_t i = 0; i < r->rows; i++)
    if (s->run[r->row[i]].equation_log != 0)
      r->fit.residual[i] = log(r->value[i]) - (double)s->run[r->row[i]].equation_log;
}

static void fit_point_prediction(struct ft_series *s, struct ft_series_work *r)
{
  s->fit.point.per_unit = fit_units(s, r);
  s->fit.point.unit_column = s->unit_column;
  store_additive_model(s, r, &s->fit);
  ft_series_mark_aliases(s, r);
  prefer_products(s, r);
  prefer_equation(s, r);
  measure_log_residuals(s, r);
}

/* ---- runs that stopped ---- */

/* Returns whether RUN, of a series with EXACT exactly measured runs, is a completed one that can be
 * fitted; with STOPPED whether it stopped. */
static bool can_be_observed(const struct ft_series_run *run, size_t exact, bool stopped)
{
  return stopped ? run->stopped : ft_series_observed(run, exact);
}

/* Observes the completed runs of S; the STOPPED ones instead. */
static void observe_runs(const struct ft_series *s, bool stopped, struct ft_series_work *r)
{
  size_t exact = ft_series_count_exact(s);

  for (size_t i = 0; i < s->runs; i++)
    r->observed[i] = can_be_observed(&s->run[i], exact, stopped);
}

/* Observes those runs of S, of the others than are fitted, that lie within the residuals of the
 * fit. Returns their number, and in *OTHERS that of all others. */
static size_t observe_agreeing(const struct ft_series *s, bool stopped, struct ft_series_work *r,
                               size_t *others)
{
  size_t exact = ft_series_count_exact(s), agreeing = 0;
  double low = INFINITY, high = -INFINITY;

  for (size_t i = 0; i < r->rows; i++) {
    low = fmin(low, r->fit.residual[i]);
    high = fmax(high, r->fit.residual[i]);
  }
  *others = 0;
  for (size_t i = 0; i < s->runs; i++) {
    if (!can_be_observed(&s->run[i], exact, stopped))
      continue;
    r->observed[i] =
        r->log_residual[i] >= low - AGREEMENT && r->log_residual[i] <= high + AGREEMENT;
    agreeing += r->observed[i];
    ++*others;
  }
  return agreeing;
}

/* Fits the completed runs of S with those that stopped and agree with them (ft_series_fit). */
static void fit_agreeing_runs(struct ft_series *s, struct ft_series_work *r)
{
  size_t stopped = 0, completed = 0, agreeing, others;
  bool by_stopped;

  for (size_t i = 0; i < s->runs; i++) {
    stopped += s->run[i].stopped;
    completed += !s->run[i].censored;
  }
  by_stopped = completed < MIN_STOPPED && stopped >= MIN_STOPPED;
  observe_runs(s, by_stopped, r);
  collect_fit_rows(s, r);
  if (!r->data.runs)
    return;
  fit_point_prediction(s, r);
  if (!r->rows || !(by_stopped ? completed : stopped))
    return;
  agreeing = observe_agreeing(s, !by_stopped, r, &others);
  if (by_stopped ? agreeing < others : 2 * agreeing < others) {
    observe_runs(s, false, r);
    if (!by_stopped)
      return;
  } else if (!agreeing) {
    return;
  }
  collect_fit_rows(s, r);
  fit_point_prediction(s, r);
}

/* Adds the censored runs above the point prediction to the data. Returns whether there are any. */
static bool add_censored_rows(const struct ft_series *s, struct ft_series_work *r)
{
  size_t before = r->data.runs;

  for (size_t i = 0; i < s->runs && r->rows; i++)
    if (!r->observed[i] && r->log_residual[i] > 0)
      append_fit_run(s, r, i, fitted_value(&s->run[i]));
  r->data.has_bounds = r->data.runs > before;
  return r->data.has_bounds;
}

/* Clears FIT except its law. */
static void clear_fit(struct ft_series_fit *fit)
{
  struct ft_law law = fit->point.law;

  *fit = (struct ft_series_fit){ .point = { .law = law } };
}

/* Stores the log residual of each run in the history: out of sample for the fitted runs, relative
 * to the point prediction without SHIFT. Fills the baselines by residuals relative to the shifted
 * prediction. */
static void store_run_residuals(struct ft_series *s, const struct ft_series_work *r, double shift)
{
  double log_residual[FT_SERIES_RUNS];

  memcpy(log_residual, r->log_residual, s->runs * sizeof *log_residual);
  for (size_t i = 0; i < r->rows; i++)
    log_residual[r->row[i]] = r->out_of_sample[i] - shift;
  for (size_t i = 0; i < s->runs; i++)
    s->run[i].residual = (float)(log_residual[i] + shift);
  ft_baselines_fill(s, log_residual);
}

void ft_series_store_residuals(struct ft_series *s, const struct ft_series_work *r)
{
  struct ft_series_fit *fit = &s->fit;

  fit->max_value = 0;
  for (size_t i = 0; i < s->runs; i++)
    fit->max_value = fmax(fit->max_value, ft_series_unit_value(fit, &s->run[i]));
  fit->residuals_count = r->residuals;
  memcpy(fit->residuals, r->residual, r->residuals * sizeof *r->residual);
}

void ft_series_fit(struct ft_series *s, struct ft_series_work *r)
{
  double shift;

  clear_fit(&s->fit);
  fit_agreeing_runs(s, r);
  if (!r->data.runs)
    return;
  for (size_t i = 0; i < r->rows; i++)
    s->fit.stopped += s->run[r->row[i]].stopped;
  if (add_censored_rows(s, r))
    fit_point_prediction(s, r);
  memcpy(r->out_of_sample, r->fit.residual, r->rows * sizeof *r->out_of_sample);
  shift = ft_drift_shift(r->out_of_sample, r->rows);
  r->residuals = 0;
  ft_series_collect_residuals(s, r, shift);
  if (shift != 0)
    measure_log_residuals(s, r);
  store_run_residuals(s, r, shift);
  ft_series_add_censored(s, r);
  s->fit.fitted = s->completed;
  ft_series_store_residuals(s, r);
}

/* ---- runs that leave ---- */

/* Returns the number of oldest runs of S before its change point; 0: none. */
static size_t count_before_change(const struct ft_series *s, const struct ft_series_work *r)
{
  double log_residual[FT_SERIES_RUNS];
  float covariate[FT_SERIES_RUNS];
  size_t at[FT_SERIES_RUNS], count = 0, first;

  for (size_t i = 0; i < s->runs; i++) {
    if (s->run[i].censored)
      continue;
    at[count] = i;
    log_residual[count] = r->log_residual[i];
    covariate[count++] = ft_series_primary_covariate(&s->fit, &s->run[i]);
  }
  first = ft_change_point_find(log_residual, covariate, count, s->shifts);
  return first ? at[first] : 0;
}

/* Counts the cohorts of S again from starts and ends of its completed runs. The new number is at
 * most the former one, as runs with later starts may have been submitted together. */
static void recount_cohorts(struct ft_series *s)
{
  uint32_t cohorts = 0;
  double ended = 0;

  for (size_t i = 0; i < s->runs; i++) {
    const struct ft_series_run *run = &s->run[i];

    if (run->censored || (cohorts && run->time - run->seconds < ended))
      continue;
    ended = run->time;
    cohorts++;
  }
  if (!s->calibration.cohorts || s->calibration.cohorts > cohorts)
    s->calibration.cohorts = cohorts;
}

void ft_series_drop_oldest(struct ft_series *s, size_t count)
{
  s->runs -= count;
  memmove(s->run, s->run + count, s->runs * sizeof *s->run);
  s->completed = 0;
  for (size_t i = 0; i < s->runs; i++) {
    s->completed += !s->run[i].censored;
    s->run[i].equation_log = 0;
  }
  s->fit = (struct ft_series_fit){ 0 };
  s->calibration.log_scale = 0;
  recount_cohorts(s);
}

size_t ft_series_fit_since_change(struct ft_series *s, struct ft_series_work *r)
{
  size_t before;

  ft_series_fit(s, r);
  before = count_before_change(s, r);
  if (before) {
    ft_series_drop_oldest(s, before);
    ft_series_fit(s, r);
  }
  return before;
}
