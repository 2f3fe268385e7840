/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell fit: an equation for a column of any table. Rows are split at random
 * into training and test part, or as a column says; the test part chooses nothing. With several
 * seeds the medians over the splits are told, and every test error with --json.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/equation.h"
#include "predictor/cli/fit_table.h"
#include "predictor/core/io.h"
#include "predictor/core/order.h"
#include "predictor/core/random.h"
#include "predictor/core/text.h"
#include "predictor/learn/linear.h"
#include "predictor/learn/symbolic.h"

enum { SEEDS = 1000 };

/* One split: which rows train and which test. */
struct split {
  double *train_x, *train_y, *test_x, *test_y;
  size_t train, test;
};

/* What one method made of one split. */
struct outcome {
  double train_mape, test_mape, r2, seconds;
  struct ft_buf equation, latex;
};

struct options {
  const char *target, *features, *held, *method, *unit, *primitives;
  double test;
  unsigned long seed, seeds, population, generations, tournament;
  struct ft_symbolic_settings symbolic; /* what follows from these */
  bool drawn_constants, json;
};

/* ---- splitting and scoring ---- */

static int split_open(const struct ft_table *t, struct split *s)
{
  s->train_x = malloc(t->rows * t->columns * sizeof(double));
  s->train_y = malloc(t->rows * sizeof(double));
  s->test_x = malloc(t->rows * t->columns * sizeof(double));
  s->test_y = malloc(t->rows * sizeof(double));
  return s->train_x && s->train_y && s->test_x && s->test_y ? 0 : -1;
}

static void split_free(struct split *s)
{
  free(s->train_x);
  free(s->train_y);
  free(s->test_x);
  free(s->test_y);
}

static void split_draw(const struct ft_table *t, double part, uint64_t seed, size_t *order,
                       struct split *s)
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

static double mape(predictor *f, const void *model, const double *x, const double *y, size_t rows,
                   size_t columns)
{
  double total = 0;

  for (size_t r = 0; r < rows; r++)
    total += fabs(f(model, x + r * columns, columns) / y[r] - 1);
  return rows ? 100 * total / (double)rows : NAN;
}

/* R squared on the test part (on the training part where there is none). */
static double r_squared(predictor *f, const void *model, const struct split *s, size_t columns)
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

static void score(predictor *f, const void *model, const struct split *s, size_t columns,
                  struct outcome *out)
{
  out->train_mape = mape(f, model, s->train_x, s->train_y, s->train, columns);
  out->test_mape = mape(f, model, s->test_x, s->test_y, s->test, columns);
  out->r2 = r_squared(f, model, s, columns);
}

/* ---- the methods ---- */

struct linear {
  bool log;
  double c[FT_EXPRESSION_VARIABLES + 1];
};

static double linear_at(const void *model, const double *x, size_t columns)
{
  const struct linear *l = model;
  double v = l->c[0];

  for (size_t i = 0; i < columns; i++)
    v += l->c[i + 1] * (l->log ? log(x[i]) : x[i]);
  return l->log ? exp(v) : v;
}

static void print_linear(const struct linear *l, const struct ft_table *t, const char *unit,
                         struct ft_buf *out)
{
  (void)ft_buf_printf(out, "%.4g", l->log ? exp(l->c[0]) : l->c[0]);
  for (size_t i = 0; i < t->columns; i++)
    if (l->log)
      (void)ft_buf_printf(out, "*%s^%.3g", t->names[i], l->c[i + 1]);
    else
      (void)ft_buf_printf(out, " %c %.4g*%s", l->c[i + 1] < 0 ? '-' : '+', fabs(l->c[i + 1]),
                          t->names[i]);
  if (unit && unit[0])
    (void)ft_buf_printf(out, " [%s]", unit);
}

/* Relative least squares on the features, or least squares of logarithms. */
static int fit_linear(bool logarithms, const struct ft_table *t, const struct split *s,
                      const struct options *o, struct outcome *out, struct ft_error *err)
{
  struct linear l = { .log = logarithms };
  size_t n = s->train;
  double *x = malloc(n * t->columns * sizeof *x), *y = malloc(n * sizeof *y);
  double *w = malloc(n * sizeof *w);
  int status = -1;

  if (!x || !y || !w) {
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
  score(linear_at, &l, s, t->columns, out);
  print_linear(&l, t, o->unit, &out->equation);
  status = 0;
out:
  free(w);
  free(y);
  free(x);
  return status;
}

static double symbolic_at(const void *model, const double *x, size_t columns)
{
  (void)columns;
  return ft_expression_evaluate(model, x);
}

static bool tick(void *data, unsigned generation, double best)
{
  (void)best;
  ft_progress_step(data, generation);
  return true;
}

/* What the target is of the order of. */
static double typical(const struct split *s)
{
  double sum = 0;

  for (size_t r = 0; r < s->train; r++)
    sum += fabs(s->train_y[r]);
  return sum / (double)s->train;
}

static int fit_symbolic(const struct ft_table *t, const struct split *s, const struct options *o,
                        uint64_t seed, struct outcome *out, struct ft_error *err)
{
  struct ft_symbolic_result *result = malloc(sizeof *result);
  const char *names[FT_EXPRESSION_VARIABLES];
  struct ft_symbolic_settings settings;
  const struct ft_expression *e;
  struct ft_progress progress;
  int status = -1;

  if (!result)
    return ft_error_errno(err, "fit");
  settings = o->symbolic;
  settings.seed = seed;
  settings.progress = tick;
  settings.data = &progress;
  ft_progress_start(&progress, "symbolic", (double)o->generations);
  status = ft_symbolic_fit(s->train_x, s->train_y, s->train, t->columns, &settings, result, err);
  ft_progress_end(&progress);
  if (status == 0) {
    for (size_t i = 0; i < t->columns; i++)
      names[i] = t->names[i];
    e = &result->front[result->chosen].expression;
    score(symbolic_at, e, s, t->columns, out);
    if (ft_show_expression(e, names, t->columns, o->unit, typical(s), false, &out->equation) < 0 ||
        ft_show_expression(e, names, t->columns, o->unit, typical(s), true, &out->latex) < 0)
      status = ft_error_set(err, "fit: the equation is too long to print");
  }
  free(result);
  return status;
}

enum { SYMBOLIC, LINEAR, LOGLINEAR, METHODS };

static const char *const method_names[METHODS] = { "symbolic", "linear", "loglinear" };

static int fit_once(int method, const struct ft_table *t, const struct split *s,
                    const struct options *o, uint64_t seed, struct outcome *out,
                    struct ft_error *err)
{
  double began = ft_io_monotonic();
  int status;

  ft_buf_init(&out->equation, FT_LIMIT_LINE);
  ft_buf_init(&out->latex, FT_LIMIT_LINE);
  status = method == SYMBOLIC ? fit_symbolic(t, s, o, seed, out, err)
                              : fit_linear(method == LOGLINEAR, t, s, o, out, err);
  out->seconds = ft_io_monotonic() - began;
  return status;
}

/* ---- telling ---- */

static double median(const struct outcome *out, size_t count, size_t offset)
{
  double value[SEEDS];

  for (size_t i = 0; i < count; i++)
    memcpy(&value[i], (const char *)&out[i] + offset, sizeof *value);
  return ft_order_median(value, count);
}

static json_t *method_json(const struct outcome *out, size_t count)
{
  json_t *spread = json_array();

  for (size_t i = 0; i < count; i++)
    json_array_append_new(spread, ft_json_number(true, out[i].test_mape));
  return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "equation",
                   ft_buf_text(&out[0].equation), "latex",
                   out[0].latex.length ? json_string(out[0].latex.data) : json_null(),
                   "train_mape",
                   ft_json_number(true, median(out, count, offsetof(struct outcome, train_mape))),
                   "test_mape",
                   ft_json_number(true, median(out, count, offsetof(struct outcome, test_mape))),
                   "r2", ft_json_number(true, median(out, count, offsetof(struct outcome, r2))),
                   "seconds",
                   ft_json_number(true, median(out, count, offsetof(struct outcome, seconds))),
                   "test_mapes", spread);
}

static void method_print(const char *name, const struct outcome *out, size_t count)
{
  printf("%-10s %8.2f %% %8.2f %% %8.4f %8.3f s  %s\n", name,
         median(out, count, offsetof(struct outcome, train_mape)),
         median(out, count, offsetof(struct outcome, test_mape)),
         median(out, count, offsetof(struct outcome, r2)),
         median(out, count, offsetof(struct outcome, seconds)), ft_buf_text(&out[0].equation));
}

/* Fit METHOD on every split. Its outcomes are added to METHODS_JSON, or printed. */
static int run_method(int method, const struct ft_table *t, const struct options *o,
                      json_t *methods, struct ft_error *err)
{
  struct outcome *out = calloc(o->seeds, sizeof *out);
  size_t *order = malloc(t->rows * sizeof *order);
  struct split split = { 0 };
  int status = -1;

  if (!out || !order || split_open(t, &split) < 0) {
    ft_error_errno(err, "fit");
    goto out;
  }
  for (size_t i = 0; i < o->seeds; i++) {
    split_draw(t, o->test, o->seed + i, order, &split);
    if (fit_once(method, t, &split, o, o->seed + i, &out[i], err) < 0)
      goto out;
  }
  if (methods)
    json_object_set_new(methods, method_names[method], method_json(out, o->seeds));
  else
    method_print(method_names[method], out, o->seeds);
  status = 0;
out:
  for (size_t i = 0; out && i < o->seeds; i++) {
    ft_buf_free(&out[i].equation);
    ft_buf_free(&out[i].latex);
  }
  split_free(&split);
  free(order);
  free(out);
  return status;
}

static int take_primitives(struct options *o)
{
  static const char *const names[FT_SYMBOLS] = {
    [FT_SYMBOL_ADD] = "add",         [FT_SYMBOL_MULTIPLY] = "multiply",
    [FT_SYMBOL_SQUARE] = "square",   [FT_SYMBOL_CUBE] = "cube",
    [FT_SYMBOL_SUBTRACT] = "subtract", [FT_SYMBOL_DIVIDE] = "divide",
    [FT_SYMBOL_ROOT] = "root",       [FT_SYMBOL_LOG] = "log"
  };
  struct ft_text list = ft_text_from(o->primitives), piece;

  if (!o->primitives)
    return 0;
  o->symbolic.primitives = 0;
  while (ft_text_until(&list, ',', &piece)) {
    unsigned bit = 0;

    for (unsigned s = 0; s < FT_SYMBOLS; s++)
      if (names[s] && ft_text_equals(ft_text_trim(piece), names[s]))
        bit = 1u << s;
    if (!bit)
      return ft_complain("fit", -1, "--primitives=%s: expected names of add, multiply, square, "
                                    "cube, subtract, divide, root, log", o->primitives);
    o->symbolic.primitives |= bit;
  }
  return 0;
}

static bool share(double value)
{
  return value >= 0 && value <= 1;
}

/* What the search is to be, once the options are known to be in range. */
static int take_symbolic(struct options *o)
{
  struct ft_symbolic_settings *s = &o->symbolic;

  if (o->population < 2 || o->population > 100000 || o->generations > 100000)
    return ft_complain("fit", -1, "expected a population of 2 to 100000 and at most 100000 "
                                  "generations");
  if (o->tournament < 1 || o->tournament > 1000 || !(s->parsimony_size >= 1) ||
      !(s->parsimony_size <= 2) || !share(s->crossover) || !share(s->mutation))
    return ft_complain("fit", -1, "expected a tournament of 1 to 1000, a parsimony of 1 to 2 and "
                                  "probabilities of 0 to 1");
  s->population = (unsigned)o->population;
  s->generations = (unsigned)o->generations;
  s->fitness_size = (unsigned)o->tournament;
  s->constants = !o->drawn_constants;
  return take_primitives(o);
}

static int check_options(const struct options *o)
{
  int known = strcmp(o->method, "all") == 0;

  for (int m = 0; m < METHODS; m++)
    known |= strcmp(o->method, method_names[m]) == 0;
  if (!o->target)
    return ft_complain("fit", -1, "which column? --target=COLUMN");
  if (!known)
    return ft_complain("fit", -1, "--method=%s: expected symbolic, linear, loglinear or all",
                       o->method);
  if (!(o->test >= 0 && o->test < 1))
    return ft_complain("fit", -1, "--test=%g: expected a part from 0 to below 1", o->test);
  if (o->seeds < 1 || o->seeds > SEEDS)
    return ft_complain("fit", -1, "--seeds=%lu: expected 1 to %d", o->seeds, SEEDS);
  return 0;
}

/* The part of the rows that a column holds out. */
static double held_part(const struct ft_table *t)
{
  size_t held = 0;

  for (size_t r = 0; r < t->rows; r++)
    held += t->held[r];
  return (double)held / (double)t->rows;
}

static int run(const struct ft_table *t, const struct options *o)
{
  json_t *methods = o->json ? json_object() : NULL;
  struct ft_error err;
  bool any = false;

  if (!o->json)
    printf("%zu rows, %zu features, %g of the rows held out, %lu seed%s\n%-10s %10s %10s %8s "
           "%10s  equation\n",
           t->rows, t->columns, o->test, o->seeds, o->seeds == 1 ? "" : "s", "method", "train",
           "test", "R2", "time");
  for (int m = 0; m < METHODS; m++) {
    bool all = strcmp(o->method, "all") == 0;

    if (!all && strcmp(o->method, method_names[m]) != 0)
      continue;
    if (run_method(m, t, o, methods, &err) == 0)
      any = true;
    else if (ft_complain("fit", 0, "%s", err.text) == 0 && methods)
      json_object_set_new(methods, method_names[m], json_null());
  }
  if (o->json) {
    json_t *answer = json_pack("{s:s, s:i, s:i, s:f, s:o}", "target", o->target, "rows",
                               (int)t->rows, "seeds", (int)o->seeds, "test", o->test, "methods",
                               methods);

    if (ft_json_print(answer) != FT_EXIT_DONE)
      return FT_EXIT_SYSTEM;
  }
  return any ? FT_EXIT_DONE : FT_EXIT_USAGE;
}

int ft_command_fit(int argc, char **argv)
{
  struct options o = { .method = "symbolic", .test = 0.3, .seed = 1, .seeds = 1,
                       .population = 300, .generations = 150, .tournament = 3 };
  const struct ft_option options[] = {
    { 't', "target", "COLUMN", "the column to model", FT_OPTION_STRING, &o.target },
    { 'f', "features", "LIST", "columns to model it from, with commas; else all others",
      FT_OPTION_STRING, &o.features },
    { 'm', "method", "NAME", "symbolic (default), linear, loglinear or all", FT_OPTION_STRING,
      &o.method },
    { 0, "test", "PART", "part of the rows to hold out (0.3)", FT_OPTION_DOUBLE, &o.test },
    { 0, "held", "COLUMN", "hold out the rows in which COLUMN is not 0, instead of a part",
      FT_OPTION_STRING, &o.held },
    { 0, "seed", "N", "of the split and of the search (1)", FT_OPTION_COUNT, &o.seed },
    { 0, "seeds", "K", "do it for K seeds and tell medians (1)", FT_OPTION_COUNT, &o.seeds },
    { 0, "population", "N", "equations in a generation (300)", FT_OPTION_COUNT, &o.population },
    { 0, "generations", "N", "how many generations (150)", FT_OPTION_COUNT, &o.generations },
    { 0, "tournament", "N", "equations in a tournament of fitness (3)", FT_OPTION_COUNT,
      &o.tournament },
    { 0, "parsimony", "SIZE", "of the tournament of length, 1 to 2 (1.1)", FT_OPTION_DOUBLE,
      &o.symbolic.parsimony_size },
    { 0, "crossover", "P", "probability of crossover (1)", FT_OPTION_DOUBLE,
      &o.symbolic.crossover },
    { 0, "mutation", "P", "probability of mutation (0.5)", FT_OPTION_DOUBLE,
      &o.symbolic.mutation },
    { 0, "primitives", "LIST", "add,multiply,square,cube; also subtract,divide,root,log",
      FT_OPTION_STRING, &o.primitives },
    { 0, "drawn-constants", NULL, "keep constants as drawn, do not fit them", FT_OPTION_FLAG,
      &o.drawn_constants },
    { 'u', "unit", "UNIT", "of the target, shown with the equation", FT_OPTION_STRING, &o.unit },
    { 'j', "json", NULL, "print one JSON object", FT_OPTION_FLAG, &o.json },
    { 0 }
  };
  struct ft_table t = { 0 };
  struct ft_error err;
  int status, first;

  ft_symbolic_defaults(&o.symbolic);
  first = ft_options_parse(options, "[OPTION]... DATA.csv",
                           "Finds an equation for a column of a table.", false, argc, argv,
                           &status);
  if (first < 0)
    return status;
  if (argc - first != 1)
    return ft_complain("fit", FT_EXIT_USAGE, "expected one table; see foretell fit --help");
  if (!o.unit && o.target && !ft_named_bytes(o.target))
    o.unit = "";
  if (check_options(&o) < 0 || take_symbolic(&o) < 0)
    return FT_EXIT_USAGE;
  if (ft_table_read(argv[first], o.target, o.features, o.held, &t, &err) < 0)
    status = ft_complain("fit", FT_EXIT_USAGE, "%s", err.text);
  else {
    if (t.held)
      o.test = held_part(&t);
    status = run(&t, &o);
  }
  ft_table_free(&t);
  return status;
}
