/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Splits, scores and fits a table by each method. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/fit/fit.h"
#include "predictor/core/io.h"
#include "predictor/core/random.h"

int ft_split_open(const struct ft_table *t, struct ft_split *s)
{
  s->train_x = malloc(t->rows * t->columns * sizeof(double));
  s->train_y = malloc(t->rows * sizeof(double));
  s->test_x = malloc(t->rows * t->columns * sizeof(double));
  s->test_y = malloc(t->rows * sizeof(double));
  return s->train_x && s->train_y && s->test_x && s->test_y ? 0 : -1;
}

void ft_split_free(struct ft_split *s)
{
  free(s->train_x);
  free(s->train_y);
  free(s->test_x);
  free(s->test_y);
}

void ft_split_draw(const struct ft_table *t, double part, uint64_t seed, size_t *order,
                   struct ft_split *s)
{
  struct ft_random random;
  size_t test = (size_t)floor(part * (double)t->rows + 0.5);

  if (t->rows - test < 2)
    test = t->rows - 2;
  ft_random_seed(&random, seed);
  for (size_t i = 0; i < t->rows; i++)
    order[i] = i;
  for (size_t i = t->rows - 1; i > 0; i--) {
    size_t j = ft_random_below(&random, i + 1), kept = order[i];

    order[i] = order[j];
    order[j] = kept;
  }
  s->train = s->test = 0;
  for (size_t i = 0; i < t->rows; i++) {
    bool tests = t->held ? t->held[order[i]] : i < test;
    double *x = tests ? s->test_x + s->test * t->columns : s->train_x + s->train * t->columns;

    memcpy(x, t->x + order[i] * t->columns, t->columns * sizeof *x);
    if (tests)
      s->test_y[s->test++] = t->y[order[i]];
    else
      s->train_y[s->train++] = t->y[order[i]];
  }
}

static double mape_of_fit(const ft_fit *fit, const double *x, const double *y, size_t rows,
                          size_t columns)
{
  double total = 0;

  for (size_t r = 0; r < rows; r++)
    total += fabs(ft_fit_value(fit, x + r * columns) / y[r] - 1);
  return rows ? 100 * total / (double)rows : NAN;
}

/* R squared on the test part; on the training part if there is no test part. */
static double r_squared(const ft_fit *fit, const struct ft_split *s, size_t columns)
{
  const double *x = s->test ? s->test_x : s->train_x, *y = s->test ? s->test_y : s->train_y;
  size_t rows = s->test ? s->test : s->train;
  double mean = 0, left = 0, all = 0;

  for (size_t r = 0; r < rows; r++)
    mean += y[r] / (double)rows;
  for (size_t r = 0; r < rows; r++) {
    double e = y[r] - ft_fit_value(fit, x + r * columns);

    left += e * e;
    all += (y[r] - mean) * (y[r] - mean);
  }
  return all > 0 ? 1 - left / all : NAN;
}

static void score_method(const ft_fit *fit, const struct ft_split *s, size_t columns,
                         struct ft_outcome *out)
{
  out->train_mape = mape_of_fit(fit, s->train_x, s->train_y, s->train, columns);
  out->test_mape = mape_of_fit(fit, s->test_x, s->test_y, s->test, columns);
  out->r2 = r_squared(fit, s, columns);
}

/* ---- the methods ---- */

static bool report_generation(void *data, unsigned generation)
{
  const struct ft_method_settings *o = data;

  ft_progress_step(o->progress, o->before + generation);
  return o->go_on();
}

static json_t *pareto_front_json(const ft_fit *fit, const struct ft_fit_format *format)
{
  json_t *list = json_array();
  struct ft_fit_point p;

  for (size_t i = 0; ft_fit_front(fit, i, &p); i++) {
    char *text = ft_fit_equation(fit, i, format, NULL);

    if (text)
      json_array_append_new(list, json_pack("{s:i, s:o, s:o, s:s, s:b}", "length", (int)p.length,
                                            "train_mape", ft_json_number(true, 100 * p.train_mape),
                                            "validated_mape",
                                            ft_json_number(true, 100 * p.validated_mape),
                                            "equation", text, "chosen", (int)p.chosen));
    free(text);
  }
  return list;
}

static int fit_method(enum ft_fit_method method, const struct ft_table *t, const struct ft_split *s,
                      const struct ft_method_settings *o, uint64_t seed, struct ft_outcome *out,
                      struct ft_error *err)
{
  const char *names[FT_FIT_FEATURES];
  const struct ft_fit_rows rows = {
    s->train_x, s->train_y, s->train, t->columns, names, o->target
  };
  struct ft_fit_settings search = o->search;
  struct ft_method_settings own = *o;
  struct ft_fit_format format = { o->unit, false, o->digits };
  ft_fit *fit;

  for (size_t i = 0; i < t->columns; i++)
    names[i] = t->column[i].name;
  search.seed = seed;
  search.progress = report_generation;
  search.data = &own;
  fit = ft_fit_make(method, &rows, &search, err);
  if (!fit)
    return -1;
  score_method(fit, s, t->columns, out);
  out->cancelled = ft_fit_cancelled(fit);
  out->front = method == FT_FIT_SYMBOLIC ? pareto_front_json(fit, &format) : NULL;
  out->equation = ft_fit_equation(fit, SIZE_MAX, &format, err);
  format.latex = true;
  out->latex = ft_fit_equation(fit, SIZE_MAX, &format, err);
  ft_fit_free(fit);
  return out->equation && out->latex ? 0 : -1;
}

int ft_split_choose(const struct ft_table *t, const struct ft_split *s, struct ft_choice *choice,
                    struct ft_error *err)
{
  const struct ft_fit_rows rows = { s->train_x, s->train_y, s->train, t->columns, NULL, NULL };
  double began = ft_io_monotonic();

  if (ft_fit_choose(&rows, FT_FIT_FEATURES, choice->column, err) < 0)
    return -1;
  choice->seconds = ft_io_monotonic() - began;
  return 0;
}

/* Keeps the columns CHOSEN of X, which has ROWS rows, in place. */
static void select_columns(double *x, size_t rows, size_t columns, const size_t *chosen)
{
  for (size_t r = 0; r < rows; r++)
    for (size_t i = 0; i < FT_FIT_FEATURES; i++)
      x[r * FT_FIT_FEATURES + i] = x[r * columns + chosen[i]];
}

/* Draws the split again for each fit, because selecting columns overwrites it. */
static int fit_selected_columns(enum ft_fit_method method, const struct ft_table *t,
                                struct ft_split *s, const struct ft_choice *choice,
                                const struct ft_method_settings *o, uint64_t seed,
                                struct ft_outcome *out, struct ft_error *err)
{
  struct ft_table_column column[FT_FIT_FEATURES];
  struct ft_table narrow = *t;

  for (size_t i = 0; i < FT_FIT_FEATURES; i++)
    column[i] = t->column[choice->column[i]];
  select_columns(s->train_x, s->train, t->columns, choice->column);
  select_columns(s->test_x, s->test, t->columns, choice->column);
  narrow.column = column;
  narrow.columns = FT_FIT_FEATURES;
  return fit_method(method, &narrow, s, o, seed, out, err);
}

int ft_fit_split(enum ft_fit_method method, const struct ft_table *t, struct ft_split *s,
                 const struct ft_choice *choice, const struct ft_method_settings *o, uint64_t seed,
                 struct ft_outcome *out, struct ft_error *err)
{
  double began = ft_io_monotonic();
  int status;

  *out = (struct ft_outcome){ 0 };
  status = choice ? fit_selected_columns(method, t, s, choice, o, seed, out, err)
                  : fit_method(method, t, s, o, seed, out, err);
  out->seconds = ft_io_monotonic() - began + (choice ? choice->seconds : 0);
  return status;
}

void ft_outcome_free(struct ft_outcome *out)
{
  free(out->equation);
  free(out->latex);
  json_decref(out->front);
}
