/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/learn/series/drift.h"
#include "predictor/online/baselines.h"
#include "predictor/online/refit_work.h"

/* Minimum number of runs with both predictions to prefer an equation. Chosen by judgement. */
enum { MIN_EQUATION_RUNS = 10 };

/* Largest ratio of the equation's to the additive model's out-of-sample error, on the same runs, to
 * prefer the equation. Chosen by judgement. */
#define EQUATION_GAIN 0.9
/* Standard deviation of the effect of an unseen category, in log units, if all runs have the same
 * category. Chosen by judgement. */
#define UNSEEN_LEVEL_SCALE 0.3

struct ft_refit *ft_refit_new(void)
{
  return malloc(sizeof(struct ft_refit) + ft_additive_work_size());
}

/* Adds the run with index RUN in the history, with BYTES as its peak, to the data of the fit. */
static void append_refit_run(const ft_model *model, struct ft_refit *r, size_t run, double bytes)
{
  size_t row = r->data.runs++;

  r->row[row] = run;
  r->data.y[row] = fmax(bytes, 1);
  for (size_t j = 0; j < model->columns_count; j++)
    r->data.x[j][row] = ft_refit_feature(&model->history[run], j);
}

size_t ft_refit_count_exact(const ft_model *model)
{
  size_t exact = 0;

  for (size_t i = 0; i < model->history_count; i++)
    exact += !model->history[i].censored && !model->history[i].sampled;
  return exact;
}

/* Returns the bytes with which RUN enters the fit: for a censored run the median of its required
 * memory (refit_work.h). */
static double fitted_bytes(const ft_run *run)
{
  if (run->killed_by == FT_KILLED_BY_LIMIT)
    return run->bytes * exp(FT_KILLED_MARGIN + FT_KILLED_MEAN * M_LN2);
  return run->censored ? run->bytes * exp(FT_STOPPED_MARGIN + FT_STOPPED_MEAN * M_LN2) : run->bytes;
}

/* Fills R's data with the observed runs, or if there are none with the killed runs. */
static void collect_fit_rows(const ft_model *model, struct ft_refit *r)
{
  size_t exact = ft_refit_count_exact(model);

  r->data.runs = 0;
  r->data.columns = model->columns_count;
  for (size_t j = 0; j < model->columns_count; j++)
    r->data.levels[j] =
        model->columns[j].categorical ? (unsigned)model->columns[j].categories_count : 0;
  for (size_t i = 0; i < model->history_count; i++)
    if (ft_refit_observed(&model->history[i], exact))
      append_refit_run(model, r, i, model->history[i].bytes);
  r->rows = r->data.runs;
  for (size_t i = 0; i < model->history_count && !r->rows; i++)
    if (model->history[i].killed_by == FT_KILLED_BY_LIMIT)
      append_refit_run(model, r, i, fitted_bytes(&model->history[i]));
}

/* ---- the point prediction ---- */

/* Sets T to the range of COLUMN in the data and, for a category, the standard deviation of the
 * effect of unseen values. Returns false for a column without values. */
static bool describe_column(const ft_model *model, const struct ft_refit *r, size_t column,
                            ft_term *t)
{
  bool seen[FT_ADDITIVE_LEVELS] = { false };
  size_t present = 0, distinct = 0;

  *t = (ft_term){ .column = (uint32_t)column, .low = INFINITY, .high = -INFINITY };
  for (size_t i = 0; i < r->data.runs; i++) {
    double x = (double)r->data.x[column][i];

    if (isnan(x))
      continue;
    present++;
    t->low = x < t->low ? x : t->low;
    t->high = x > t->high ? x : t->high;
    if (model->columns[column].categorical && x >= 0 && !seen[(size_t)x]) {
      seen[(size_t)x] = true;
      distinct++;
    }
  }
  if (!present)
    return false;
  if (model->columns[column].categorical) {
    t->levels_count = model->columns[column].categories_count;
    t->scale = distinct == 1 ? UNSEEN_LEVEL_SCALE * (r->fit.log_target ? 1 : r->fit.intercept) : 0;
    return t->levels_count > 0;
  }
  return true;
}

/* Writes the fitted additive model into E. */
static void store_additive_model(const ft_model *model, const struct ft_refit *r, ft_evaluator *e)
{
  e->log_target = r->fit.log_target;
  e->intercept = r->fit.intercept;
  e->terms_count = 0;
  (void)ft_string_copy(r->fit.terms ? "regression" : "quantiles", e->method, sizeof e->method);
  for (size_t j = 0; j < model->columns_count; j++) {
    ft_term *t = &e->terms[e->terms_count];

    if (!describe_column(model, r, j, t))
      continue;
    e->terms_count++;
    for (size_t k = 0; k < r->fit.terms; k++) {
      const struct ft_additive_term *from = &r->fit.term[k];

      if (from->column != j)
        continue;
      t->log = from->log;
      t->mean = from->mean;
      t->scale = from->levels ? from->level_scale : from->scale;
      t->coefficient = from->coefficient;
      for (size_t l = 0; l < t->levels_count; l++)
        t->levels[l] = from->level[l];
    }
  }
}

/* Sets R->log_residual to log(bytes / point prediction) of each run by MODEL's evaluator; a
 * censored run enters with its lower bound. */
static void measure_log_residuals(const ft_model *model, struct ft_refit *r)
{
  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *run = &model->history[i];
    struct ft_point_prediction point;

    ft_predict_point(&model->evaluator, run->x, run->x_count, &point);
    r->log_residual[i] = log(fmax(run->bytes, 1)) - point.log;
  }
}

/* Returns whether the equation has the smaller out-of-sample error on the runs that it predicts. */
static bool equation_is_better(const ft_model *model, const struct ft_refit *r)
{
  double equation = 0, additive = 0;
  size_t count = 0;

  for (size_t i = 0; i < r->rows && model->evaluator.has_equation; i++) {
    double predicted = (double)model->history[r->row[i]].equation_log;

    if (predicted == 0)
      continue;
    equation += ft_drift_cap_residual(log(r->data.y[i]) - predicted);
    additive += ft_drift_cap_residual(r->fit.residual[i]);
    count++;
  }
  return count >= MIN_EQUATION_RUNS && 2 * count >= r->rows && equation < EQUATION_GAIN * additive;
}

/* Uses the equation as point prediction if it is better. */
static void prefer_equation(ft_model *model, struct ft_refit *r)
{
  ft_evaluator *e = &model->evaluator;

  e->by_equation = equation_is_better(model, r);
  if (!e->by_equation)
    return;
  (void)ft_string_copy("equation", e->method, sizeof e->method);
  for (size_t i = 0; i < r->rows; i++)
    if (model->history[r->row[i]].equation_log != 0)
      r->fit.residual[i] = log(r->data.y[i]) - (double)model->history[r->row[i]].equation_log;
}

static void fit_point_prediction(ft_model *model, struct ft_refit *r)
{
  ft_additive_fit(&r->data, (struct ft_additive_work *)r->work, &r->fit);
  store_additive_model(model, r, &model->evaluator);
  ft_refit_mark_aliases(model, r);
  prefer_equation(model, r);
  measure_log_residuals(model, r);
}

/* Adds the censored runs above the point prediction to the data. Returns whether there are any. */
static bool add_censored_rows(const ft_model *model, struct ft_refit *r)
{
  size_t exact = ft_refit_count_exact(model), before = r->data.runs;

  for (size_t i = 0; i < model->history_count && r->rows; i++)
    if (!ft_refit_observed(&model->history[i], exact) && r->log_residual[i] > 0)
      append_refit_run(model, r, i, fitted_bytes(&model->history[i]));
  return r->data.runs > before;
}

/* Clears E except the equation, the ensemble's losses, the effect of the limit and the values
 * calibrated over time. The facts are filled again once E is fitted (online/facts.h). */
static void clear_fit(ft_evaluator *e)
{
  ft_evaluator kept = { .has_equation = e->has_equation,
                        .equation = e->equation,
                        .losses_count = e->losses_count,
                        .loss_updates = e->loss_updates,
                        .failure_price = e->failure_price,
                        .failure_time = e->failure_time,
                        .log_interval_scale = e->log_interval_scale,
                        .log_cap_correction = e->log_cap_correction,
                        .limit_effect = e->limit_effect,
                        .completed_limit_bytes = e->completed_limit_bytes,
                        .cohorts = e->cohorts,
                        .cohort_ended = e->cohort_ended };

  memcpy(kept.losses, e->losses, sizeof kept.losses);
  *e = kept;
}

/* Stores the log residual of each run in the history: out of sample for the fitted runs, relative
 * to the point prediction without SHIFT. Fills the baselines by residuals relative to the shifted
 * prediction. */
static void store_run_residuals(ft_model *model, const struct ft_refit *r, double shift)
{
  double log_residual[FT_REFIT_RUNS];

  memcpy(log_residual, r->log_residual, model->history_count * sizeof *log_residual);
  for (size_t i = 0; i < r->rows; i++)
    log_residual[r->row[i]] = r->out_of_sample[i] - shift;
  for (size_t i = 0; i < model->history_count; i++)
    model->history[i].residual = (float)(log_residual[i] + shift);
  ft_baselines_fill(model, log_residual);
}

void ft_refit_store_residuals(ft_model *model, const struct ft_refit *r)
{
  ft_evaluator *e = &model->evaluator;

  e->max_bytes = 0;
  for (size_t i = 0; i < model->history_count; i++)
    e->max_bytes = fmax(e->max_bytes, model->history[i].bytes);
  e->residuals_count = (pb_size_t)r->residuals;
  memcpy(e->residuals, r->residual, r->residuals * sizeof *r->residual);
  model->has_evaluator = true;
}

const double *ft_refit_log_residuals(const struct ft_refit *r)
{
  return r->log_residual;
}

void ft_refit_model(ft_model *model, struct ft_refit *r)
{
  double shift;

  clear_fit(&model->evaluator);
  /* without usable runs the evaluator has only facts */
  model->has_evaluator = true;
  collect_fit_rows(model, r);
  if (!r->data.runs)
    return;
  fit_point_prediction(model, r);
  if (add_censored_rows(model, r))
    fit_point_prediction(model, r);
  memcpy(r->out_of_sample, r->fit.residual, r->rows * sizeof *r->out_of_sample);
  shift = ft_drift_shift(r->out_of_sample, r->rows);
  r->residuals = 0;
  ft_refit_collect_residuals(model, r, shift);
  if (shift != 0)
    measure_log_residuals(model, r);
  store_run_residuals(model, r, shift);
  ft_refit_add_censored(model, r);
  model->evaluator.fitted = model->completed;
  ft_refit_store_residuals(model, r);
}
