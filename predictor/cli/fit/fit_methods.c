/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Splits, scores and fits a table by each method. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/fit/equation.h"
#include "predictor/cli/fit/fit.h"
#include "predictor/core/io.h"
#include "predictor/core/random.h"
#include "predictor/learn/feature_screening.h"
#include "predictor/learn/regression/linear.h"

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

typedef double predictor(const void *model, const double *x, size_t columns);

static double mape_of_model(predictor *f, const void *model, const double *x, const double *y,
                            size_t rows, size_t columns)
{
  double total = 0;

  for (size_t r = 0; r < rows; r++)
    total += fabs(f(model, x + r * columns, columns) / y[r] - 1);
  return rows ? 100 * total / (double)rows : NAN;
}

/* R squared on the test part; on the training part if there is no test part. */
static double r_squared(predictor *f, const void *model, const struct ft_split *s, size_t columns)
{
  const double *x = s->test ? s->test_x : s->train_x, *y = s->test ? s->test_y : s->train_y;
  size_t rows = s->test ? s->test : s->train;
  double mean = 0, left = 0, all = 0;

  for (size_t r = 0; r < rows; r++)
    mean += y[r] / (double)rows;
  for (size_t r = 0; r < rows; r++) {
    double e = y[r] - f(model, x + r * columns, columns);

    left += e * e;
    all += (y[r] - mean) * (y[r] - mean);
  }
  return all > 0 ? 1 - left / all : NAN;
}

static void score_method(predictor *f, const void *model, const struct ft_split *s, size_t columns,
                         struct ft_outcome *out)
{
  out->train_mape = mape_of_model(f, model, s->train_x, s->train_y, s->train, columns);
  out->test_mape = mape_of_model(f, model, s->test_x, s->test_y, s->test, columns);
  out->r2 = r_squared(f, model, s, columns);
}

/* ---- the methods ---- */

struct linear {
  bool log;
  double *c; /* the intercept, then one per feature */
};

static double linear_at(const void *model, const double *x, size_t columns)
{
  const struct linear *l = model;
  double v = l->c[0];

  for (size_t i = 0; i < columns; i++)
    v += l->c[i + 1] * (l->log ? log(x[i]) : x[i]);
  return l->log ? exp(v) : v;
}

/* Geometric scale of COUNT values, STRIDE apart. */
static double geometric_scale(const double *value, size_t count, size_t stride)
{
  double sum = 0;

  for (size_t i = 0; i < count; i++)
    sum += fabs(value[i * stride]);
  return sum / (double)count;
}

static int show_linear(const struct linear *l, const struct ft_table *t, const struct ft_split *s,
                       const struct ft_fit_settings *o, struct ft_outcome *out,
                       struct ft_error *err)
{
  const char *names[FT_EXPRESSION_VARIABLES];
  double sizes[FT_EXPRESSION_VARIABLES], size = geometric_scale(s->train_y, s->train, 1);
  struct ft_linear_equation q = { l->c, l->log, names, sizes, t->columns };

  for (size_t i = 0; i < t->columns; i++) {
    names[i] = t->column[i].name;
    sizes[i] = geometric_scale(s->train_x + i, s->train, t->columns);
  }
  if (ft_show_linear(&q, o->unit, size, false, o->digits, &out->equation) < 0 ||
      ft_show_linear(&q, o->unit, size, true, o->digits, &out->latex) < 0)
    return ft_error_set(err, "fit: the equation is too long to print");
  return 0;
}

/* Fits by relative least squares on the features, or by least squares on logarithms. */
static int fit_linear_method(bool logarithms, const struct ft_table *t, const struct ft_split *s,
                             const struct ft_fit_settings *o, struct ft_outcome *out,
                             struct ft_error *err)
{
  struct linear l = { .log = logarithms, .c = calloc(t->columns + 1, sizeof *l.c) };
  size_t n = s->train;
  double *x = malloc(n * t->columns * sizeof *x), *y = malloc(n * sizeof *y);
  double *w = malloc(n * sizeof *w);
  int status = -1;

  if (!x || !y || !w || !l.c) {
    ft_error_errno(err, "fit");
    goto out;
  }
  for (size_t r = 0; r < n; r++) {
    if (logarithms && s->train_y[r] < 0) {
      ft_error_set(err, "loglinear: a target below 0 has no logarithm");
      goto out;
    }
    y[r] = logarithms ? log(s->train_y[r]) : s->train_y[r];
    w[r] = logarithms ? 1 : 1 / (s->train_y[r] * s->train_y[r]);
  }
  for (size_t i = 0; i < n * t->columns; i++) {
    if (logarithms && s->train_x[i] <= 0) {
      ft_error_set(err, "loglinear: a feature that is not above 0 has no logarithm");
      goto out;
    }
    x[i] = logarithms ? log(s->train_x[i]) : s->train_x[i];
  }
  if (ft_linear_fit(x, y, w, n, t->columns, l.c, err) < 0)
    goto out;
  score_method(linear_at, &l, s, t->columns, out);
  status = show_linear(&l, t, s, o, out, err);
out:
  free(w);
  free(y);
  free(x);
  free(l.c);
  return status;
}

static double symbolic_at(const void *model, const double *x, size_t columns)
{
  (void)columns;
  return ft_expression_evaluate(model, x);
}

static bool report_generation(void *data, unsigned generation, double best)
{
  const struct ft_fit_settings *o = data;

  (void)best;
  ft_progress_step(o->progress, o->before + generation);
  return o->go_on();
}

static json_t *pareto_front_json(const struct ft_symbolic_result *result, const char *const *names,
                                 size_t columns, const struct ft_fit_settings *o, double size)
{
  json_t *list = json_array();

  for (unsigned i = 0; i < result->count; i++) {
    const struct ft_symbolic_point *p = &result->front[i];
    struct ft_buf text;

    ft_buf_init(&text, FT_LIMIT_LINE);
    if (ft_show_expression(&p->expression, names, columns, o->unit, size, false, o->digits,
                           &text) == 0)
      json_array_append_new(list, json_pack("{s:i, s:o, s:o, s:s, s:b}", "length",
                                            p->expression.length, "train_mape",
                                            ft_json_number(true, 100 * p->mape), "validated_mape",
                                            ft_json_number(true, 100 * p->validated), "equation",
                                            ft_buf_text(&text), "chosen", i == result->chosen));
    ft_buf_free(&text);
  }
  return list;
}

static int fit_symbolic(const struct ft_table *t, const struct ft_split *s,
                        const struct ft_fit_settings *o, uint64_t seed, struct ft_outcome *out,
                        struct ft_error *err)
{
  struct ft_symbolic_result *result = malloc(sizeof *result);
  struct ft_symbolic_settings settings = o->symbolic;
  struct ft_fit_settings own = *o;
  const char *names[FT_EXPRESSION_VARIABLES];
  const struct ft_expression *e;
  double size = geometric_scale(s->train_y, s->train, 1);
  int status = -1;

  if (!result)
    return ft_error_errno(err, "fit");
  settings.seed = seed;
  settings.progress = report_generation;
  settings.data = &own;
  if (ft_symbolic_fit_more(s->train_x, s->train_y, s->train, t->columns, &settings, o->more, result,
                           err) < 0)
    goto out;
  for (size_t i = 0; i < t->columns; i++)
    names[i] = t->column[i].name;
  e = &result->front[result->chosen].expression;
  score_method(symbolic_at, e, s, t->columns, out);
  out->cancelled = result->cancelled;
  out->front = pareto_front_json(result, names, t->columns, o, size);
  if (ft_show_expression(e, names, t->columns, o->unit, size, false, o->digits, &out->equation) <
          0 ||
      ft_show_expression(e, names, t->columns, o->unit, size, true, o->digits, &out->latex) < 0)
    ft_error_set(err, "fit: the equation is too long to print");
  else
    status = 0;
out:
  free(result);
  return status;
}

static int fit_method(enum ft_fit_method method, const struct ft_table *t, const struct ft_split *s,
                      const struct ft_fit_settings *o, uint64_t seed, struct ft_outcome *out,
                      struct ft_error *err)
{
  return method == FT_FIT_SYMBOLIC
             ? fit_symbolic(t, s, o, seed, out, err)
             : fit_linear_method(method == FT_FIT_LOGLINEAR, t, s, o, out, err);
}

int ft_split_choose(const struct ft_table *t, const struct ft_split *s, struct ft_choice *choice,
                    struct ft_error *err)
{
  double began = ft_io_monotonic();

  if (ft_feature_screening(s->train_x, s->train_y, s->train, t->columns, FT_EXPRESSION_VARIABLES,
                           choice->column) < 0)
    return ft_error_errno(err, "fit");
  choice->seconds = ft_io_monotonic() - began;
  return 0;
}

/* Keeps the columns CHOSEN of X, which has ROWS rows, in place. */
static void select_columns(double *x, size_t rows, size_t columns, const size_t *chosen)
{
  for (size_t r = 0; r < rows; r++)
    for (size_t i = 0; i < FT_EXPRESSION_VARIABLES; i++)
      x[r * FT_EXPRESSION_VARIABLES + i] = x[r * columns + chosen[i]];
}

/* Draws the split again for each fit, because selecting columns overwrites it. */
static int fit_selected_columns(enum ft_fit_method method, const struct ft_table *t,
                                struct ft_split *s, const struct ft_choice *choice,
                                const struct ft_fit_settings *o, uint64_t seed,
                                struct ft_outcome *out, struct ft_error *err)
{
  struct ft_table_column column[FT_EXPRESSION_VARIABLES];
  struct ft_table narrow = *t;

  for (size_t i = 0; i < FT_EXPRESSION_VARIABLES; i++)
    column[i] = t->column[choice->column[i]];
  select_columns(s->train_x, s->train, t->columns, choice->column);
  select_columns(s->test_x, s->test, t->columns, choice->column);
  narrow.column = column;
  narrow.columns = FT_EXPRESSION_VARIABLES;
  return fit_method(method, &narrow, s, o, seed, out, err);
}

int ft_fit(enum ft_fit_method method, const struct ft_table *t, struct ft_split *s,
           const struct ft_choice *choice, const struct ft_fit_settings *o, uint64_t seed,
           struct ft_outcome *out, struct ft_error *err)
{
  double began = ft_io_monotonic();
  int status;

  *out = (struct ft_outcome){ 0 };
  ft_buf_init(&out->equation, FT_LIMIT_LINE);
  ft_buf_init(&out->latex, FT_LIMIT_LINE);
  status = choice ? fit_selected_columns(method, t, s, choice, o, seed, out, err)
                  : fit_method(method, t, s, o, seed, out, err);
  out->seconds = ft_io_monotonic() - began + (choice ? choice->seconds : 0);
  return status;
}

void ft_outcome_free(struct ft_outcome *out)
{
  ft_buf_free(&out->equation);
  ft_buf_free(&out->latex);
  json_decref(out->front);
}
