/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/estimate/equation.h"
#include "predictor/learn/series/law_search.h"
#include "predictor/online/equation_search.h"
#include "predictor/online/facts.h"
#include "predictor/online/refit.h"

/* Minimum number of runs for a search; with fewer the equation fits noise. Chosen by judgement. */
enum { MIN_RUNS = 20 };
/* Newest runs whose mean error detects drift. */
enum { DRIFT_RUNS = 8 };

/* Mean relative residual of the additive model below which no search is made. */
#define GOOD_ENOUGH 0.01
/* A new search is due when the new runs reach this fraction of those of the last search. */
#define NEW_FRACTION 0.5
/* Drift: the recent error exceeds DRIFT_FACTOR times the equation's own error plus DRIFT_MARGIN. */
#define DRIFT_FACTOR 2.0
#define DRIFT_MARGIN 0.02

/* Returns the mean absolute residual of E, with each limited to 1; 1 without residuals. */
static double mean_residual(const ft_evaluator *e)
{
  double sum = 0;

  for (size_t i = 0; i < e->residuals_count; i++)
    sum += fmin(fabs(e->residuals[i]), 1);
  return e->residuals_count ? sum / (double)e->residuals_count : 1;
}

/* Returns whether enough runs of S have come since the search for Q, SINCE runs ago, or those of
 * late contradict it. */
static bool is_outdated(const ft_equation *q, uint32_t since, const struct ft_series *s)
{
  return since >= NEW_FRACTION * q->runs ||
         (since >= DRIFT_RUNS &&
          ft_law_search_recent_error(s, DRIFT_RUNS) >= DRIFT_FACTOR * q->error + DRIFT_MARGIN);
}

bool ft_equation_search_due(const ft_model *model, const struct ft_history *history)
{
  const ft_equation *q = &model->evaluator.equation;
  uint32_t since = model->runs - q->runs_ever;
  struct ft_series *s;
  bool due;

  if (history->count < MIN_RUNS || mean_residual(&model->evaluator) < GOOD_ENOUGH ||
      (model->evaluator.has_equation && since < DRIFT_RUNS && since < NEW_FRACTION * q->runs))
    return false;
  s = malloc(sizeof *s);
  if (!s)
    return false;
  ft_refit_read_series(model, history, s);
  due = ft_law_search_runs(s) >= MIN_RUNS &&
        (!model->evaluator.has_equation || is_outdated(q, since, s)) && ft_law_search_possible(s);
  free(s);
  return due;
}

/* ---- the search ---- */

/* Initialises FOUND without an equation. */
static void init_result(const ft_model *model, ft_model *found)
{
  memset(found, 0, sizeof *found);
  found->schema = FT_SCHEMA;
  found->uid = model->uid;
  found->rule = model->rule;
  memcpy(found->app, model->app, sizeof found->app);
  memcpy(found->columns, model->columns, sizeof found->columns);
  found->columns_count = model->columns_count;
  found->has_evaluator = found->evaluator.has_equation = true;
}

/* A series, and what is found in it. */
struct law_search_work {
  struct ft_series series;
  struct ft_law_found found;
};

int ft_equation_search(const ft_model *model, const struct ft_history *history,
                       bool (*go_on)(void *data), void *data, ft_model *found,
                       struct ft_history *found_runs, struct ft_error *err)
{
  struct law_search_work *w = malloc(sizeof *w);
  uint64_t seed = ft_hash64(FT_HASH_SEED, model->app, strlen(model->app));
  ft_equation *q = &found->evaluator.equation;
  struct ft_error why;
  int status;

  if (!w)
    return ft_error_errno(err, "%s", model->app);
  ft_refit_read_series(model, history, &w->series);
  init_result(model, found);
  found_runs->count = 0;
  found_runs->categories.columns_count = 0;
  status = ft_law_search(&w->series, seed, go_on, data, &w->found, &why);
  for (size_t i = 0; status == 0 && i < history->count; i++)
    if (ft_law_search_uses(&w->series.run[i]))
      found_runs->run[found_runs->count++] =
          (ft_run){ .key = history->run[i].key, .equation_log = w->found.predicted_log[i] };
  if (status == 0) {
    if (w->found.law.code.length)
      ft_equation_pack(&w->found.law, q);
    q->error = w->found.error;
    q->runs = (uint32_t)w->found.runs;
    q->runs_ever = model->runs;
    q->fitted = model->updated;
  } else {
    (void)ft_error_set(err, "%s: %s", model->app, why.text);
  }
  free(w);
  return status;
}

/* ---- adoption ---- */

/* Returns whether the columns and levels that Q reads have the same meaning in A and B. */
static bool has_same_columns(const ft_model *a, const ft_model *b, const ft_equation *q)
{
  for (size_t v = 0; v < q->columns_count; v++) {
    const ft_column *x = &a->columns[q->columns[v]], *y = &b->columns[q->columns[v]];
    size_t level = q->levels[v];

    if (q->columns[v] >= a->columns_count || q->columns[v] >= b->columns_count ||
        strcmp(x->name, y->name) != 0 || x->categorical != y->categorical ||
        level > x->categories_count || level > y->categories_count ||
        (level && x->categories[level - 1] != y->categories[level - 1]))
      return false;
  }
  return true;
}

static const ft_run *find_run_by_key(const struct ft_history *history, uint64_t key)
{
  for (size_t i = 0; i < history->count; i++)
    if (history->run[i].key == key)
      return &history->run[i];
  return NULL;
}

bool ft_equation_search_adopt(ft_model *model, struct ft_history *history, const ft_model *found,
                              const struct ft_history *found_runs)
{
  const ft_equation *q = &found->evaluator.equation;
  struct ft_law law;
  struct ft_refit *work;
  size_t left = 0;

  for (size_t i = 0; i < history->count; i++)
    left += find_run_by_key(found_runs, history->run[i].key) != NULL;
  if (!found->evaluator.has_equation || strcmp(model->app, found->app) != 0 ||
      model->uid != found->uid || model->rule != found->rule || 2 * left < found_runs->count ||
      !left || (q->code.size && (!ft_equation_open(q, &law) || !has_same_columns(model, found, q))))
    return false;
  work = ft_refit_new();
  if (!work)
    return false;
  for (size_t i = 0; i < history->count; i++) {
    ft_run *run = &history->run[i];
    const ft_run *predicted_run = find_run_by_key(found_runs, run->key);
    /* for runs after the search the equation's prediction is out of sample too */
    double predicted = predicted_run ? (double)predicted_run->equation_log : 0;

    if (!predicted_run && q->code.size)
      predicted = ft_law_log(&law, run->x, run->x_count);
    run->equation_log = isnan(predicted) || !q->code.size ? 0 : (float)predicted;
  }
  model->evaluator.equation = *q;
  model->evaluator.has_equation = true;
  ft_refit_model(model, history, work);
  ft_facts_fill(model, history);
  free(work);
  return true;
}
