/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/estimate/point_prediction.h"
#include "predictor/estimate/quantity.h"
#include "predictor/learn/series/fit.h"
#include "predictor/online/failure_cost.h"
#include "predictor/online/need.h"
#include "predictor/online/refit.h"
#include "predictor/online/series_record.h"

struct ft_refit {
  struct ft_series series;
  double work[]; /* of the fit */
};

struct ft_refit *ft_refit_new(void)
{
  return malloc(sizeof(struct ft_refit) + ft_series_work_size());
}

static struct ft_series_work *work_of(struct ft_refit *r)
{
  return (struct ft_series_work *)r->work;
}

static void read_run(const ft_run *run, size_t quantity, struct ft_series_run *to)
{
  struct ft_need need = ft_need_of(run, quantity);

  to->time = run->time;
  to->seconds = run->runtime_seconds;
  to->value = need.value;
  to->censored = need.censored;
  to->exceeded = need.killed_by == FT_KILLED_BY_LIMIT;
  to->stopped = need.censored && !to->exceeded && !need.sampled && !run->out_of_memory;
  to->sampled = need.sampled;
  to->equation_log = run->equation_log;
  to->residual = run->residual;
  ft_series_run_read_x(run->x, run->x_count, to);
}

/* Makes the tasks of a node the units of the runs of S. */
static void read_tasks(const ft_model *model, struct ft_series *s)
{
  s->by_unit = true;
  s->unit_column = s->fit.point.unit_column = ft_tasks_column(model->columns, model->columns_count);
  for (size_t i = 0; i < s->runs && s->unit_column < s->columns; i++)
    s->run[i].units = fmax((double)s->run[i].x[s->unit_column], 1);
}

void ft_refit_read_series(const ft_model *model, const struct ft_history *history,
                          struct ft_series *s)
{
  ft_series_read_columns(model->columns, model->columns_count, s);
  ft_series_read_evaluator(&model->evaluator, s);
  s->completed = model->completed;
  s->runs = history->count;
  for (size_t i = 0; i < s->runs; i++)
    read_run(&history->run[i], model->quantity, &s->run[i]);
  if (model->quantity == FT_QUANTITY_MEMORY)
    read_tasks(model, s);
}

/* Sets MODEL's fit to that of S, which has the runs of HISTORY. */
static void write_series(const struct ft_series *s, ft_model *model, struct ft_history *history)
{
  ft_series_write_evaluator(s, &model->evaluator);
  model->has_evaluator = true;
  for (size_t i = 0; i < s->runs; i++)
    history->run[i].residual = s->run[i].residual;
}

void ft_refit_model(ft_model *model, struct ft_history *history, struct ft_refit *r)
{
  ft_refit_read_series(model, history, &r->series);
  ft_series_fit(&r->series, work_of(r));
  write_series(&r->series, model, history);
}

bool ft_refit_incremental(ft_model *model, struct ft_history *history, size_t left,
                          struct ft_refit *r)
{
  ft_refit_read_series(model, history, &r->series);
  if (!ft_series_add_newest(&r->series, left, work_of(r)))
    return false;
  write_series(&r->series, model, history);
  return true;
}

/* Removes the COUNT oldest runs from HISTORY, counts the others again and clears MODEL's evaluator.
 */
static void drop_oldest_runs(ft_model *model, struct ft_history *history, size_t count)
{
  ft_evaluator *e = &model->evaluator;

  history->count -= count;
  memmove(history->run, history->run + count, history->count * sizeof *history->run);
  model->runs = (uint32_t)history->count;
  model->completed = 0;
  for (size_t i = 0; i < history->count; i++) {
    model->completed += !history->run[i].censored;
    history->run[i].equation_log = 0;
  }
  model->censored = model->runs - model->completed;
  *e = (ft_evaluator){ .failure_price = e->failure_price, .failure_time = e->failure_time };
}

/* Fits R's series, which has HISTORY's runs, after those before a change point have left both. */
static void fit_since_change(ft_model *model, struct ft_history *history, struct ft_refit *r)
{
  size_t before = ft_series_fit_since_change(&r->series, work_of(r));

  if (before)
    drop_oldest_runs(model, history, before);
  write_series(&r->series, model, history);
  ft_failure_cost_estimate_time(&r->series, &model->evaluator);
}

void ft_refit_since_change(ft_model *model, struct ft_history *history, struct ft_refit *r)
{
  ft_refit_read_series(model, history, &r->series);
  fit_since_change(model, history, r);
}

void ft_refit_history(ft_model *model, struct ft_history *history, struct ft_refit *r)
{
  ft_refit_read_series(model, history, &r->series);
  ft_series_drop_oldest(&r->series, 0);
  drop_oldest_runs(model, history, 0);
  fit_since_change(model, history, r);
}
