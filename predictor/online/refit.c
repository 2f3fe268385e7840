/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/online/baselines.h"
#include "predictor/online/refit_work.h"

enum {
  EQUATION_RUNS = 10 /* least number of runs to prefer an equation on */
};

/* An equation has to be better by this than the additive centre, on the same runs, both honest. */
#define EQUATION_GAIN 0.9
/* What a category never seen may do in an app that has had only one, in log units. */
#define UNTRIED_LEVEL 0.3

struct ft_refit *ft_refit_new(void)
{
  return malloc(sizeof(struct ft_refit) + ft_additive_work_size());
}

static float x_of(const ft_run *run, size_t column)
{
  return column < run->x_count ? run->x[column] : NAN;
}

static void add_row(const ft_model *model, struct ft_refit *r, size_t run, double bytes)
{
  size_t row = r->data.runs++;

  r->row[row] = run;
  r->data.y[row] = fmax(bytes, 1);
  for (size_t j = 0; j < model->columns_count; j++)
    r->data.x[j][row] = x_of(&model->history[run], j);
}

size_t ft_refit_count_exact(const ft_model *model)
{
  size_t exact = 0;

  for (size_t i = 0; i < model->history_count; i++)
    exact += !model->history[i].censored && !model->history[i].sampled;
  return exact;
}

static double joining_bytes(const ft_run *run)
{
  if (run->killed_by == FT_KILLED_BY_LIMIT)
    return run->bytes * exp(FT_KILLED_MARGIN + FT_KILLED_MEAN * M_LN2);
  return run->censored ? run->bytes * exp(FT_STOPPED_MARGIN + FT_STOPPED_MEAN * M_LN2) : run->bytes;
}

static void gather(const ft_model *model, struct ft_refit *r)
{
  size_t exact = ft_refit_count_exact(model);

  r->data.runs = 0;
  r->data.columns = model->columns_count;
  for (size_t j = 0; j < model->columns_count; j++)
    r->data.levels[j] =
        model->columns[j].categorical ? (unsigned)model->columns[j].categories_count : 0;
  for (size_t i = 0; i < model->history_count; i++)
    if (ft_refit_observed(&model->history[i], exact))
      add_row(model, r, i, model->history[i].bytes);
  r->rows = r->data.runs;
  for (size_t i = 0; i < model->history_count && !r->rows; i++)
    if (model->history[i].killed_by == FT_KILLED_BY_LIMIT)
      add_row(model, r, i, joining_bytes(&model->history[i]));
}

/* ---- the evaluator's centre ---- */

/* The range of a column in the evidence and what an unseen value may do; false when it has none. */
static bool describe(const ft_model *model, const struct ft_refit *r, size_t column, ft_term *t)
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
    t->scale = distinct == 1 ? UNTRIED_LEVEL * (r->fit.log_target ? 1 : r->fit.intercept) : 0;
    return t->levels_count > 0;
  }
  return true;
}

static void make_centre(const ft_model *model, const struct ft_refit *r, ft_evaluator *e)
{
  e->log_target = r->fit.log_target;
  e->intercept = r->fit.intercept;
  e->terms_count = 0;
  (void)ft_string_copy(r->fit.terms ? "regression" : "quantiles", e->method, sizeof e->method);
  for (size_t j = 0; j < model->columns_count; j++) {
    ft_term *t = &e->terms[e->terms_count];

    if (!describe(model, r, j, t))
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

static void measure_above(const ft_model *model, struct ft_refit *r)
{
  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *run = &model->history[i];
    struct ft_point_prediction centre;

    ft_predict_point(&model->evaluator, run->x, run->x_count, &centre);
    r->above[i] = log(fmax(run->bytes, 1)) - centre.log;
  }
}

/* Whether the equation has been better on the runs that both have told without knowing them. */
static bool equation_is_better(const ft_model *model, const struct ft_refit *r)
{
  double equation = 0, additive = 0;
  size_t count = 0;

  for (size_t i = 0; i < r->rows && model->evaluator.has_equation; i++) {
    double says = (double)model->history[r->row[i]].equation_log;

    if (says == 0)
      continue;
    equation += ft_refit_cap_residual(log(r->data.y[i]) - says);
    additive += ft_refit_cap_residual(r->fit.residual[i]);
    count++;
  }
  return count >= EQUATION_RUNS && 2 * count >= r->rows && equation < EQUATION_GAIN * additive;
}

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

static void fit(ft_model *model, struct ft_refit *r)
{
  ft_additive_fit(&r->data, (struct ft_additive_work *)r->work, &r->fit);
  make_centre(model, r, &model->evaluator);
  prefer_equation(model, r);
  measure_above(model, r);
}

/* Bounds above the centre join; whether any did. */
static bool join_bounds(const ft_model *model, struct ft_refit *r)
{
  size_t exact = ft_refit_count_exact(model), before = r->data.runs;

  for (size_t i = 0; i < model->history_count && r->rows; i++)
    if (!ft_refit_observed(&model->history[i], exact) && r->above[i] > 0)
      add_row(model, r, i, joining_bytes(&model->history[i]));
  return r->data.runs > before;
}

/* What is found apart from the fit stays: the equation, and what the ensemble's members wasted. */
static void forget_fit(ft_evaluator *e)
{
  ft_evaluator kept = { .has_equation = e->has_equation,
                        .equation = e->equation,
                        .losses_count = e->losses_count,
                        .loss_updates = e->loss_updates,
                        .failure_price = e->failure_price,
                        .failure_time = e->failure_time,
                        .log_interval_scale = e->log_interval_scale,
                        .log_cap_correction = e->log_cap_correction,
                        .rounds = e->rounds,
                        .round_ended = e->round_ended };

  memcpy(kept.losses, e->losses, sizeof kept.losses);
  *e = kept;
}

/* What the runs that completed needed beside the centre: honest where it was fitted to them. */
static void note_needs(ft_model *model, const struct ft_refit *r, double by)
{
  double above[FT_REFIT_RUNS];

  memcpy(above, r->above, model->history_count * sizeof *above);
  for (size_t i = 0; i < r->rows; i++)
    above[r->row[i]] = r->honest[i] - by;
  for (size_t i = 0; i < model->history_count; i++)
    model->history[i].residual = (float)(above[i] + by);
  ft_baselines_fill(model, above);
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
  return r->above;
}

void ft_refit_model(ft_model *model, struct ft_refit *r)
{
  double by;

  forget_fit(&model->evaluator);
  /* without a run that says what is needed the evaluator holds facts alone */
  model->has_evaluator = true;
  gather(model, r);
  if (!r->data.runs)
    return;
  fit(model, r);
  if (join_bounds(model, r))
    fit(model, r);
  memcpy(r->honest, r->fit.residual, r->rows * sizeof *r->honest);
  by = ft_refit_drift(r);
  r->residuals = 0;
  ft_refit_collect_residuals(model, r, by);
  if (by != 0)
    measure_above(model, r);
  note_needs(model, r, by);
  ft_refit_add_censored(model, r);
  model->evaluator.fitted = model->completed;
  ft_refit_store_residuals(model, r);
}
