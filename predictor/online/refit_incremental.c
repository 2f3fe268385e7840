/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run that comes after a fit: it is judged by that fit's centre, and all else follows from that.
 */
#include "config.h"

#include <math.h>

#include "predictor/estimate/point_prediction.h"
#include "predictor/online/baselines.h"
#include "predictor/online/refit_work.h"

/* A fit holds until a part of its runs are new, */
enum { FIT_PART = 8, ASTRAY_RUNS = 3 };
/* a run lies beyond all before it and so many times off, which a fit knows how to weigh, */
#define FAR_TIMES 4
/* or the new ones' mean error is so many times that of those before, and by so much more. */
#define ASTRAY_TIMES 1.5
#define ASTRAY_MORE 0.01

/* Whether the evidence of the last fit has what RUN has in it. */
static bool within(const ft_model *model, const ft_run *run)
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

/* The rows and their honest residuals, as they were found. */
static void gather(const ft_model *model, size_t exact, struct ft_refit *r)
{
  r->rows = 0;
  for (size_t i = 0; i < model->history_count; i++)
    if (ft_refit_observed(&model->history[i], exact)) {
      r->honest[r->rows] = (double)model->history[i].residual;
      r->row[r->rows++] = i;
    }
}

/* Whether the runs SINCE the fit lie further from it than those before. */
static bool astray(const struct ft_refit *r, size_t since)
{
  double before = 0, after = 0;

  if (since < ASTRAY_RUNS || since >= r->rows)
    return false;
  for (size_t i = 0; i < r->rows; i++)
    *(i + since < r->rows ? &before : &after) += ft_refit_cap_residual(r->honest[i]);
  before /= (double)(r->rows - since);
  after /= (double)since;
  return after > ASTRAY_TIMES * before + ASTRAY_MORE;
}

/* Where the centre stands still and every run counts, the needs are the residuals, sorted. */
static void take_sorted(const ft_evaluator *e, double by, struct ft_refit *r)
{
  r->residuals = 0;
  for (size_t i = 0; by == 0 && e->needs_count == r->rows && i < r->rows; i++)
    r->residual[r->residuals++] = (double)e->needs[i];
}

bool ft_refit_incremental(ft_model *model, struct ft_refit *r)
{
  ft_evaluator *e = &model->evaluator;
  ft_run *run = &model->history[model->history_count - 1];
  size_t since = model->completed - e->fitted, exact = ft_refit_count_exact(model);
  struct ft_point_prediction centre;
  double before = e->followed, by, above;

  if (!e->fitted || !model->has_evaluator || e->has_bound_log || run->sampled ||
      exact == FT_REFIT_EXACT || !within(model, run))
    return false;
  ft_predict_point(e, run->x, run->x_count, &centre);
  above = log(fmax(run->bytes, 1)) - centre.log;
  run->residual = (float)(above + before);
  /* only a bound below every residual says nothing at all */
  if (run->censored && !(e->residuals_count && above <= e->residuals[0]))
    return false;
  if (!run->censored && e->residuals_count && fabs(above) > log(FAR_TIMES) &&
      (above < e->residuals[0] || above > e->residuals[e->residuals_count - 1]))
    return false;
  gather(model, exact, r);
  if ((since && since >= r->rows / FIT_PART) || astray(r, since))
    return false;
  by = ft_refit_drift(r);
  if (!ft_baselines_add(model, (double)run->residual - by, before - by))
    return false;
  take_sorted(e, by, r);
  ft_refit_collect_residuals(model, r, by);
  e->bound_bytes = 0;
  if (r->rows < model->history_count) {
    for (size_t i = 0; i < model->history_count; i++)
      r->above[i] = (double)model->history[i].residual - by;
    ft_refit_add_censored(model, r);
  }
  ft_refit_store_residuals(model, r);
  return true;
}
