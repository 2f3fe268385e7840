/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/estimate/equation.h"
#include "predictor/learn/symbolic/symbolic.h"
#include "predictor/online/equation_search.h"
#include "predictor/online/facts.h"
#include "predictor/online/refit.h"

/* Runs in a model's history. */
enum { RUNS = FT_HISTORY_RUNS };
/* Minimum number of runs for a search; with fewer the equation fits noise. Chosen by judgement. */
enum { MIN_RUNS = 20 };
/* Folds of the cross-validation. */
enum { FOLDS = 5 };
/* Maximum number of variables: a model's columns and some category levels. */
enum { VARIABLES = 24 };
/* Minimum number of runs with and without a category level that is a variable. */
enum { MIN_LEVEL_RUNS = 3 };
/* Newest runs whose mean error detects drift. */
enum { DRIFT_RUNS = 8 };

/* Mean relative residual of the additive model below which no search is made. */
#define GOOD_ENOUGH 0.01
/* A new search is due when the new runs reach this fraction of those of the last search. */
#define NEW_FRACTION 0.5
/* Drift: the recent error exceeds DRIFT_FACTOR times the equation's own error plus DRIFT_MARGIN. */
#define DRIFT_FACTOR 2.0
#define DRIFT_MARGIN 0.02

/* The usable runs and their varying variables, as input of symbolic regression. */
struct search_table {
  size_t rows, variables;
  size_t run[RUNS]; /* index in the history, by row */
  struct ft_variable variable[VARIABLES];
  double x[RUNS * VARIABLES], y[RUNS];
  double train_x[RUNS * VARIABLES], train_y[RUNS]; /* the table without one fold */
  struct ft_symbolic_result result;
  bool (*go_on)(void *data);
  void *data;
};

/* Returns whether RUN's peak is exactly measured. */
static bool is_usable(const ft_run *run)
{
  return !run->censored && !run->sampled && run->bytes > 0;
}

/* Returns whether all usable runs have a value of COLUMN, and at least two values differ. */
static bool is_varying(const struct ft_history *history, size_t column)
{
  double low = INFINITY, high = -INFINITY;

  for (size_t i = 0; i < history->count; i++) {
    double x = (double)ft_refit_feature(&history->run[i], column);

    if (!is_usable(&history->run[i]))
      continue;
    if (isnan(x))
      return false;
    low = fmin(low, x);
    high = fmax(high, x);
  }
  return low < high;
}

static size_t count_usable_runs(const struct ft_history *history)
{
  size_t count = 0;

  for (size_t i = 0; i < history->count; i++)
    count += is_usable(&history->run[i]);
  return count;
}

/* Returns the mean absolute residual of E, with each limited to 1; 1 without residuals. */
static double mean_residual(const ft_evaluator *e)
{
  double sum = 0;

  for (size_t i = 0; i < e->residuals_count; i++)
    sum += fmin(fabs(e->residuals[i]), 1);
  return e->residuals_count ? sum / (double)e->residuals_count : 1;
}

/* Returns the equation's mean relative error, each limited to 1, over the last DRIFT_RUNS usable
 * runs that it predicted; 0 with fewer. */
static double recent_error(const struct ft_history *history)
{
  double sum = 0;
  size_t count = 0;

  for (size_t i = history->count; i-- > 0 && count < DRIFT_RUNS;) {
    const ft_run *run = &history->run[i];

    if (!is_usable(run) || run->equation_log == 0)
      continue;
    sum += fmin(fabs(expm1((double)run->equation_log - log(run->bytes))), 1);
    count++;
  }
  return count == DRIFT_RUNS ? sum / DRIFT_RUNS : 0;
}

bool ft_equation_search_due(const ft_model *model, const struct ft_history *history)
{
  const ft_equation *q = &model->evaluator.equation;
  uint32_t since = model->runs - q->runs_ever;
  bool any = false;

  if (count_usable_runs(history) < MIN_RUNS || mean_residual(&model->evaluator) < GOOD_ENOUGH)
    return false;
  if (model->evaluator.has_equation && since < NEW_FRACTION * q->runs &&
      (since < DRIFT_RUNS || recent_error(history) < DRIFT_FACTOR * q->error + DRIFT_MARGIN))
    return false;
  for (size_t j = 0; j < model->columns_count && !any; j++)
    any = !model->columns[j].categorical && is_varying(history, j);
  return any;
}

/* ---- the table ---- */

static void add_search_variable(struct search_table *t, size_t column, size_t level)
{
  if (t->variables < VARIABLES)
    t->variable[t->variables++] =
        (struct ft_variable){ .column = (uint8_t)column, .level = (uint8_t)level };
}

/* Adds each frequent level of COLUMN as a variable. */
static void add_level_variables(const ft_model *model, const struct ft_history *history,
                                struct search_table *t, size_t column)
{
  for (size_t level = 0; level < model->columns[column].categories_count; level++) {
    size_t count = 0;

    for (size_t r = 0; r < t->rows; r++)
      count += (double)ft_refit_feature(&history->run[t->run[r]], column) == (double)level;
    if (count >= MIN_LEVEL_RUNS && t->rows - count >= MIN_LEVEL_RUNS)
      add_search_variable(t, column, level + 1);
  }
}

/* Returns variable V of RUN; a level is 0 or 1. */
static double run_variable_value(const ft_run *run, const struct ft_variable *v)
{
  double x = (double)ft_refit_feature(run, v->column);

  return v->level ? x == v->level - 1 : x;
}

static void fill_search_table(const ft_model *model, const struct ft_history *history,
                              struct search_table *t)
{
  for (size_t i = 0; i < history->count; i++)
    if (is_usable(&history->run[i]))
      t->run[t->rows++] = i;
  for (size_t j = 0; j < model->columns_count; j++)
    if (!model->columns[j].categorical && is_varying(history, j))
      add_search_variable(t, j, 0);
  for (size_t j = 0; j < model->columns_count; j++)
    if (model->columns[j].categorical)
      add_level_variables(model, history, t, j);
  for (size_t r = 0; r < t->rows; r++) {
    t->y[r] = history->run[t->run[r]].bytes;
    for (size_t v = 0; v < t->variables; v++)
      t->x[r * t->variables + v] = run_variable_value(&history->run[t->run[r]], &t->variable[v]);
  }
}

/* ---- the search ---- */

static bool forward_go_on(void *data, unsigned generation, double best)
{
  struct search_table *t = data;

  (void)generation;
  (void)best;
  return !t->go_on || t->go_on(t->data);
}

/* Searches an equation in all rows except those of FOLD (FOLDS: in all rows). Q has no code if none
 * is found. Returns 0; -1 if cancelled and fills ERR. */
static int search_without_fold(const ft_model *model, struct search_table *t, size_t fold,
                               ft_equation *q, struct ft_error *err)
{
  struct ft_symbolic_settings settings;
  size_t rows = 0;

  for (size_t r = 0; r < t->rows; r++) {
    if (r % FOLDS == fold)
      continue;
    memcpy(t->train_x + rows * t->variables, t->x + r * t->variables, t->variables * sizeof *t->x);
    t->train_y[rows++] = t->y[r];
  }
  ft_symbolic_defaults(&settings);
  settings.seed = ft_hash64(FT_HASH_SEED, model->app, strlen(model->app)) + fold;
  settings.progress = forward_go_on;
  settings.data = t;
  q->code.size = 0;
  if (ft_symbolic_fit_more(t->train_x, t->train_y, rows, t->variables, &settings,
                           1u << FT_SYMBOL_MINIMUM, &t->result, NULL) < 0)
    return 0;
  if (t->result.cancelled)
    return ft_error_set(err, "%s: the search was cancelled", model->app);
  (void)ft_equation_pack(&t->result.front[t->result.chosen].expression, t->variable, q);
  return 0;
}

/* Sets equation_log of FOLD's runs in FOUND to their prediction by Q, which was found without them.
 */
static void predict_fold(const struct ft_history *history, const struct search_table *t,
                         size_t fold, const ft_equation *q, struct ft_history *found)
{
  struct ft_law law;

  if (!ft_equation_open(q, &law))
    return;
  for (size_t r = fold; r < t->rows; r += FOLDS) {
    const ft_run *run = &history->run[t->run[r]];
    double predicted = ft_law_log(&law, run->x, run->x_count);

    found->run[r].equation_log = isnan(predicted) ? 0 : (float)predicted;
  }
}

/* Returns the mean relative out-of-sample error, each limited to 1; a run without prediction
 * counts 1.
 */
static double out_of_sample_error(const struct search_table *t, const struct ft_history *found)
{
  double sum = 0;

  for (size_t r = 0; r < t->rows; r++) {
    double predicted = (double)found->run[r].equation_log;

    sum += predicted > 0 ? fmin(fabs(expm1(predicted - log(t->y[r]))), 1) : 1;
  }
  return sum / (double)t->rows;
}

/* Initialises FOUND without an equation, and RUNS with the runs of T. */
static void init_result(const ft_model *model, const struct ft_history *history,
                        const struct search_table *t, ft_model *found, struct ft_history *runs)
{
  memset(found, 0, sizeof *found);
  found->schema = FT_SCHEMA;
  found->uid = model->uid;
  found->rule = model->rule;
  memcpy(found->app, model->app, sizeof found->app);
  memcpy(found->columns, model->columns, sizeof found->columns);
  found->columns_count = model->columns_count;
  found->has_evaluator = found->evaluator.has_equation = true;
  runs->count = t->rows;
  runs->categories.columns_count = 0;
  for (size_t r = 0; r < t->rows; r++)
    runs->run[r] = (ft_run){ .key = history->run[t->run[r]].key };
}

int ft_equation_search(const ft_model *model, const struct ft_history *history,
                       bool (*go_on)(void *data), void *data, ft_model *found,
                       struct ft_history *found_runs, struct ft_error *err)
{
  struct search_table *t = calloc(1, sizeof *t);
  ft_equation *q = &found->evaluator.equation;
  int status = -1;

  if (!t)
    return ft_error_errno(err, "%s", model->app);
  t->go_on = go_on;
  t->data = data;
  fill_search_table(model, history, t);
  init_result(model, history, t, found, found_runs);
  if (t->rows < FOLDS || !t->variables) {
    ft_error_set(err, "%s: no runs or no numeric features to search an equation in", model->app);
    goto out;
  }
  for (size_t fold = 0; fold < FOLDS; fold++) {
    if (search_without_fold(model, t, fold, q, err) < 0)
      goto out;
    predict_fold(history, t, fold, q, found_runs);
  }
  if (search_without_fold(model, t, FOLDS, q, err) < 0)
    goto out;
  q->error = out_of_sample_error(t, found_runs);
  q->runs = (uint32_t)t->rows;
  q->runs_ever = model->runs;
  q->fitted = model->updated;
  status = 0;
out:
  free(t);
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
  ft_facts_fill(model, history, ft_need_host);
  free(work);
  return true;
}
