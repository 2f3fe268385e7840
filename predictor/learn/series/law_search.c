/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/series/law_search.h"
#include "predictor/learn/symbolic/symbolic.h"

enum { RUNS = FT_SERIES_RUNS };
/* Folds of the cross-validation. */
enum { FOLDS = 5 };
/* Maximum number of variables: a model's columns and some category levels. */
enum { VARIABLES = 24 };
/* Minimum number of runs with and without a category level that is a variable. */
enum { MIN_LEVEL_RUNS = 3 };

/* The usable runs and their varying variables, as input of symbolic regression. */
struct search_table {
  size_t rows, variables;
  size_t run[RUNS]; /* index in the series, by row */
  struct ft_variable variable[VARIABLES];
  double x[RUNS * VARIABLES], y[RUNS];
  double train_x[RUNS * VARIABLES], train_y[RUNS]; /* the table without one fold */
  struct ft_symbolic_result result;
  bool (*go_on)(void *data);
  void *data;
};

/* Returns whether all usable runs have a value of COLUMN, and at least two values differ. */
static bool is_varying(const struct ft_series *s, size_t column)
{
  double low = INFINITY, high = -INFINITY;

  for (size_t i = 0; i < s->runs; i++) {
    double x = (double)s->run[i].x[column];

    if (!ft_law_search_uses(&s->run[i]))
      continue;
    if (isnan(x))
      return false;
    low = fmin(low, x);
    high = fmax(high, x);
  }
  return low < high;
}

size_t ft_law_search_runs(const struct ft_series *s)
{
  size_t count = 0;

  for (size_t i = 0; i < s->runs; i++)
    count += ft_law_search_uses(&s->run[i]);
  return count;
}

bool ft_law_search_possible(const struct ft_series *s)
{
  size_t j = 0;

  while (j < s->columns && (s->levels[j] || !is_varying(s, j)))
    j++;
  return j < s->columns;
}

double ft_law_search_recent_error(const struct ft_series *s, size_t wanted)
{
  double sum = 0;
  size_t count = 0;

  for (size_t i = s->runs; i-- > 0 && count < wanted;) {
    const struct ft_series_run *run = &s->run[i];

    if (!ft_law_search_uses(run) || run->equation_log == 0)
      continue;
    sum += fmin(fabs(expm1((double)run->equation_log - log(run->value))), 1);
    count++;
  }
  return count == wanted ? sum / (double)wanted : 0;
}

/* ---- the table ---- */

static void add_search_variable(struct search_table *t, size_t column, size_t level)
{
  if (t->variables < VARIABLES)
    t->variable[t->variables++] =
        (struct ft_variable){ .column = (uint8_t)column, .level = (uint8_t)level };
}

/* Adds each frequent level of COLUMN as a variable. */
static void add_level_variables(const struct ft_series *s, struct search_table *t, size_t column)
{
  for (size_t level = 0; level < s->levels[column]; level++) {
    size_t count = 0;

    for (size_t r = 0; r < t->rows; r++)
      count += (double)s->run[t->run[r]].x[column] == (double)level;
    if (count >= MIN_LEVEL_RUNS && t->rows - count >= MIN_LEVEL_RUNS)
      add_search_variable(t, column, level + 1);
  }
}

/* Returns variable V of RUN; a level is 0 or 1. */
static double run_variable_value(const struct ft_series_run *run, const struct ft_variable *v)
{
  double x = (double)run->x[v->column];

  return v->level ? x == v->level - 1 : x;
}

static void fill_search_table(const struct ft_series *s, struct search_table *t)
{
  for (size_t i = 0; i < s->runs; i++)
    if (ft_law_search_uses(&s->run[i]))
      t->run[t->rows++] = i;
  for (size_t j = 0; j < s->columns; j++)
    if (!s->levels[j] && is_varying(s, j))
      add_search_variable(t, j, 0);
  for (size_t j = 0; j < s->columns; j++)
    add_level_variables(s, t, j);
  for (size_t r = 0; r < t->rows; r++) {
    t->y[r] = s->run[t->run[r]].value;
    for (size_t v = 0; v < t->variables; v++)
      t->x[r * t->variables + v] = run_variable_value(&s->run[t->run[r]], &t->variable[v]);
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

/* Searches a law in all rows except those of FOLD (FOLDS: in all rows). LAW has no code if none is
 * found. Returns 0; -1 if cancelled and fills ERR. */
static int search_without_fold(struct search_table *t, uint64_t seed, size_t fold,
                               struct ft_law *law, struct ft_error *err)
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
  settings.seed = seed + fold;
  settings.progress = forward_go_on;
  settings.data = t;
  law->code.length = 0;
  if (ft_symbolic_fit_more(t->train_x, t->train_y, rows, t->variables, &settings,
                           1u << FT_SYMBOL_MINIMUM, &t->result, NULL) < 0)
    return 0;
  if (t->result.cancelled)
    return ft_error_set(err, "the search was cancelled");
  (void)ft_law_make(&t->result.front[t->result.chosen].expression, t->variable, law);
  return 0;
}

/* Sets the predictions of FOLD's runs to those by LAW, which was found without them. */
static void predict_fold(const struct ft_series *s, const struct search_table *t, size_t fold,
                         const struct ft_law *law, struct ft_law_found *found)
{
  if (!law->code.length)
    return;
  for (size_t r = fold; r < t->rows; r += FOLDS) {
    double predicted = ft_law_log(law, s->run[t->run[r]].x, s->columns);

    found->predicted_log[t->run[r]] = isnan(predicted) ? 0 : (float)predicted;
  }
}

/* Returns the mean relative out-of-sample error, each limited to 1; a run without prediction
 * counts 1. */
static double out_of_sample_error(const struct search_table *t, const struct ft_law_found *found)
{
  double sum = 0;

  for (size_t r = 0; r < t->rows; r++) {
    double predicted = (double)found->predicted_log[t->run[r]];

    sum += predicted > 0 ? fmin(fabs(expm1(predicted - log(t->y[r]))), 1) : 1;
  }
  return sum / (double)t->rows;
}

int ft_law_search(const struct ft_series *s, uint64_t seed, bool (*go_on)(void *data), void *data,
                  struct ft_law_found *found, struct ft_error *err)
{
  struct search_table *t = calloc(1, sizeof *t);
  int status = -1;

  if (!t)
    return ft_error_errno(err, "search of an equation");
  t->go_on = go_on;
  t->data = data;
  fill_search_table(s, t);
  found->runs = t->rows;
  memset(found->predicted_log, 0, sizeof found->predicted_log);
  if (t->rows < FOLDS || !t->variables) {
    ft_error_set(err, "no runs or no numeric features to search an equation in");
    goto out;
  }
  for (size_t fold = 0; fold < FOLDS; fold++) {
    if (search_without_fold(t, seed, fold, &found->law, err) < 0)
      goto out;
    predict_fold(s, t, fold, &found->law, found);
  }
  if (search_without_fold(t, seed, FOLDS, &found->law, err) < 0)
    goto out;
  found->error = out_of_sample_error(t, found);
  status = 0;
out:
  free(t);
  return status;
}
