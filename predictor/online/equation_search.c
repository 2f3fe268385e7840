/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/estimate/equation.h"
#include "predictor/learn/symbolic/symbolic.h"
#include "predictor/online/equation_search.h"
#include "predictor/online/refit.h"

enum {
  RUNS = sizeof((ft_model *)NULL)->history / sizeof(ft_run),
  LEAST_RUNS = 20, /* below it an equation learns the noise */
  FOLDS = 5,
  VARIABLES = 24,  /* as many as a model has columns, and some levels */
  LEAST_LEVEL = 3, /* runs of a category, and of the others, that it may be a variable */
  ASTRAY_RUNS = 8  /* runs since, of which the mean error tells that it has gone astray */
};

/* An additive centre this good leaves nothing to be found. */
#define GOOD_ENOUGH 0.01
/* Sought again after so many new runs, as a part of those it was sought in. */
#define NEW_PART 0.5
/* The recent error that is no longer its own: twice it and 2 %. */
#define ASTRAY 2.0
#define ASTRAY_LEAST 0.02

/* The runs that count and the variables that vary over them, as symbolic regression reads them. */
struct table {
  size_t rows, variables;
  size_t run[RUNS]; /* of the history */
  struct ft_variable variable[VARIABLES];
  double x[RUNS * VARIABLES], y[RUNS];
  double part_x[RUNS * VARIABLES], part_y[RUNS]; /* without one fold */
  struct ft_symbolic_result result;
  bool (*go_on)(void *data);
  void *data;
};

static bool counts(const ft_run *run)
{
  return !run->censored && !run->sampled && run->bytes > 0;
}

static double x_of(const ft_run *run, size_t column)
{
  return column < run->x_count ? (double)run->x[column] : NAN;
}

/* Whether a number is known of every run that counts, and not always the same. */
static bool varies(const ft_model *model, size_t column)
{
  double low = INFINITY, high = -INFINITY;

  for (size_t i = 0; i < model->history_count; i++) {
    double x = x_of(&model->history[i], column);

    if (!counts(&model->history[i]))
      continue;
    if (isnan(x))
      return false;
    low = fmin(low, x);
    high = fmax(high, x);
  }
  return low < high;
}

static size_t countable(const ft_model *model)
{
  size_t count = 0;

  for (size_t i = 0; i < model->history_count; i++)
    count += counts(&model->history[i]);
  return count;
}

static double mean_residual(const ft_evaluator *e)
{
  double sum = 0;

  for (size_t i = 0; i < e->residuals_count; i++)
    sum += fmin(fabs(e->residuals[i]), 1);
  return e->residuals_count ? sum / (double)e->residuals_count : 1;
}

/* The mean error of the last runs, all of them newer than the equation. */
static double recent_error(const ft_model *model)
{
  double sum = 0;
  size_t count = 0;

  for (size_t i = model->history_count; i-- > 0 && count < ASTRAY_RUNS;) {
    const ft_run *run = &model->history[i];

    if (!counts(run) || run->equation_log == 0)
      continue;
    sum += fmin(fabs(expm1((double)run->equation_log - log(run->bytes))), 1);
    count++;
  }
  return count == ASTRAY_RUNS ? sum / ASTRAY_RUNS : 0;
}

bool ft_equation_search_due(const ft_model *model)
{
  const ft_equation *q = &model->evaluator.equation;
  uint32_t since = model->runs - q->runs_ever;
  bool any = false;

  if (countable(model) < LEAST_RUNS || mean_residual(&model->evaluator) < GOOD_ENOUGH)
    return false;
  if (model->evaluator.has_equation && since < NEW_PART * q->runs &&
      (since < ASTRAY_RUNS || recent_error(model) < ASTRAY * q->error + ASTRAY_LEAST))
    return false;
  for (size_t j = 0; j < model->columns_count && !any; j++)
    any = !model->columns[j].categorical && varies(model, j);
  return any;
}

/* ---- the table ---- */

static void add_variable(struct table *t, size_t column, size_t level)
{
  if (t->variables < VARIABLES)
    t->variable[t->variables++] =
        (struct ft_variable){ .column = (uint8_t)column, .level = (uint8_t)level };
}

static void add_levels(const ft_model *model, struct table *t, size_t column)
{
  for (size_t level = 0; level < model->columns[column].categories_count; level++) {
    size_t count = 0;

    for (size_t r = 0; r < t->rows; r++)
      count += x_of(&model->history[t->run[r]], column) == (double)level;
    if (count >= LEAST_LEVEL && t->rows - count >= LEAST_LEVEL)
      add_variable(t, column, level + 1);
  }
}

static double value_of(const ft_run *run, const struct ft_variable *v)
{
  double x = x_of(run, v->column);

  return v->level ? x == v->level - 1 : x;
}

static void fill(const ft_model *model, struct table *t)
{
  for (size_t i = 0; i < model->history_count; i++)
    if (counts(&model->history[i]))
      t->run[t->rows++] = i;
  for (size_t j = 0; j < model->columns_count; j++)
    if (!model->columns[j].categorical && varies(model, j))
      add_variable(t, j, 0);
  for (size_t j = 0; j < model->columns_count; j++)
    if (model->columns[j].categorical)
      add_levels(model, t, j);
  for (size_t r = 0; r < t->rows; r++) {
    t->y[r] = model->history[t->run[r]].bytes;
    for (size_t v = 0; v < t->variables; v++)
      t->x[r * t->variables + v] = value_of(&model->history[t->run[r]], &t->variable[v]);
  }
}

/* ---- the search ---- */

static bool tick(void *data, unsigned generation, double best)
{
  struct table *t = data;

  (void)generation;
  (void)best;
  return !t->go_on || t->go_on(t->data);
}

/* The equation of all rows but those of FOLD (FOLDS: of all) into Q; without code when there is
 * none. */
static int seek(const ft_model *model, struct table *t, size_t fold, ft_equation *q,
                struct ft_error *err)
{
  struct ft_symbolic_settings settings;
  size_t rows = 0;

  for (size_t r = 0; r < t->rows; r++) {
    if (r % FOLDS == fold)
      continue;
    memcpy(t->part_x + rows * t->variables, t->x + r * t->variables, t->variables * sizeof *t->x);
    t->part_y[rows++] = t->y[r];
  }
  ft_symbolic_defaults(&settings);
  settings.seed = ft_hash64(FT_HASH_SEED, model->app, strlen(model->app)) + fold;
  settings.progress = tick;
  settings.data = t;
  q->code.size = 0;
  if (ft_symbolic_fit_more(t->part_x, t->part_y, rows, t->variables, &settings,
                           1u << FT_SYMBOL_MINIMUM, &t->result, NULL) < 0)
    return 0;
  if (t->result.cancelled)
    return ft_error_set(err, "%s: the search was cancelled", model->app);
  (void)ft_equation_pack(&t->result.front[t->result.chosen].expression, t->variable, q);
  return 0;
}

/* What the equation found without FOLD says of the runs in it. */
static void judge(const ft_model *model, const struct table *t, size_t fold, const ft_equation *q,
                  ft_model *found)
{
  struct ft_expression code;

  if (!ft_equation_open(q, &code))
    return;
  for (size_t r = fold; r < t->rows; r += FOLDS) {
    const ft_run *run = &model->history[t->run[r]];
    double says = ft_equation_log(q, &code, run->x, run->x_count);

    found->history[r].equation_log = isnan(says) ? 0 : (float)says;
  }
}

static double honest_error(const struct table *t, const ft_model *found)
{
  double sum = 0;

  for (size_t r = 0; r < t->rows; r++) {
    double says = (double)found->history[r].equation_log;

    sum += says > 0 ? fmin(fabs(expm1(says - log(t->y[r]))), 1) : 1;
  }
  return sum / (double)t->rows;
}

static void begin(const ft_model *model, const struct table *t, ft_model *found)
{
  memset(found, 0, sizeof *found);
  found->schema = FT_SCHEMA;
  found->uid = model->uid;
  found->rule = model->rule;
  memcpy(found->app, model->app, sizeof found->app);
  memcpy(found->columns, model->columns, sizeof found->columns);
  found->columns_count = model->columns_count;
  found->has_evaluator = found->evaluator.has_equation = true;
  found->history_count = (pb_size_t)t->rows;
  for (size_t r = 0; r < t->rows; r++)
    found->history[r].key = model->history[t->run[r]].key;
}

int ft_equation_search(const ft_model *model, bool (*go_on)(void *data), void *data,
                       ft_model *found, struct ft_error *err)
{
  struct table *t = calloc(1, sizeof *t);
  ft_equation *q = &found->evaluator.equation;
  int status = -1;

  if (!t)
    return ft_error_errno(err, "%s", model->app);
  t->go_on = go_on;
  t->data = data;
  fill(model, t);
  begin(model, t, found);
  if (t->rows < FOLDS || !t->variables) {
    ft_error_set(err, "%s: no runs or no numbers to seek an equation in", model->app);
    goto out;
  }
  for (size_t fold = 0; fold < FOLDS; fold++) {
    if (seek(model, t, fold, q, err) < 0)
      goto out;
    judge(model, t, fold, q, found);
  }
  if (seek(model, t, FOLDS, q, err) < 0)
    goto out;
  q->error = honest_error(t, found);
  q->runs = (uint32_t)t->rows;
  q->runs_ever = model->runs;
  q->fitted = model->updated;
  status = 0;
out:
  free(t);
  return status;
}

/* ---- taking it ---- */

/* Whether what Q reads is the same in both. */
static bool same_meaning(const ft_model *a, const ft_model *b, const ft_equation *q)
{
  for (size_t v = 0; v < q->columns_count; v++) {
    const ft_column *x = &a->columns[q->columns[v]], *y = &b->columns[q->columns[v]];
    size_t level = q->levels[v];

    if (q->columns[v] >= a->columns_count || q->columns[v] >= b->columns_count ||
        strcmp(x->name, y->name) != 0 || x->categorical != y->categorical ||
        level > x->categories_count || level > y->categories_count ||
        (level && strcmp(x->categories[level - 1], y->categories[level - 1]) != 0))
      return false;
  }
  return true;
}

static const ft_run *find_run(const ft_model *model, uint64_t key)
{
  for (size_t i = 0; i < model->history_count; i++)
    if (model->history[i].key == key)
      return &model->history[i];
  return NULL;
}

bool ft_equation_search_adopt(ft_model *model, const ft_model *found)
{
  const ft_equation *q = &found->evaluator.equation;
  struct ft_expression code;
  struct ft_refit *work;
  size_t still = 0;

  for (size_t i = 0; i < model->history_count; i++)
    still += find_run(found, model->history[i].key) != NULL;
  if (!found->evaluator.has_equation || strcmp(model->app, found->app) != 0 ||
      model->uid != found->uid || model->rule != found->rule || 2 * still < found->history_count ||
      !still || (q->code.size && (!ft_equation_open(q, &code) || !same_meaning(model, found, q))))
    return false;
  work = ft_refit_new();
  if (!work)
    return false;
  for (size_t i = 0; i < model->history_count; i++) {
    ft_run *run = &model->history[i];
    const ft_run *judged = find_run(found, run->key);
    /* what came meanwhile was not seen by it either */
    double says = judged ? (double)judged->equation_log : 0;

    if (!judged && q->code.size)
      says = ft_equation_log(q, &code, run->x, run->x_count);
    run->equation_log = isnan(says) || !q->code.size ? 0 : (float)says;
  }
  model->evaluator.equation = *q;
  model->evaluator.has_equation = true;
  ft_refit_model(model, work);
  free(work);
  return true;
}
