/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of the columns of a table, as foretell.h declares them. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/error.h"
#include "predictor/core/text.h"
#include "predictor/learn/feature_screening.h"
#include "predictor/learn/regression/linear.h"
#include "predictor/learn/symbolic/symbolic.h"
#include "predictor/learn/table/show.h"

_Static_assert((int)FT_FIT_FEATURES == (int)FT_EXPRESSION_VARIABLES,
               "as many features as variables");

struct ft_fit {
  enum ft_fit_method method;
  size_t features;
  char (*name)[64];                  /* of the features; owned */
  const char **names;                /* the same; owned */
  bool target_bytes;                 /* the target's name is one of bytes */
  double size;                       /* of the target */
  double *sizes;                     /* of the features; owned */
  double *coefficients;              /* linear: the intercept, then one per feature; owned */
  struct ft_symbolic_result *search; /* symbolic; owned */
};

static const char *const primitive_names[FT_SYMBOLS] = {
  [FT_SYMBOL_ADD] = "add",    [FT_SYMBOL_MULTIPLY] = "multiply", [FT_SYMBOL_SQUARE] = "square",
  [FT_SYMBOL_CUBE] = "cube",  [FT_SYMBOL_SUBTRACT] = "subtract", [FT_SYMBOL_DIVIDE] = "divide",
  [FT_SYMBOL_ROOT] = "root",  [FT_SYMBOL_LOG] = "log",           [FT_SYMBOL_SINE] = "sin",
  [FT_SYMBOL_COSINE] = "cos", [FT_SYMBOL_EXPONENTIAL] = "exp",   [FT_SYMBOL_MINIMUM] = "min"
};

void ft_fit_defaults(struct ft_fit_settings *settings)
{
  struct ft_symbolic_settings s;

  ft_symbolic_defaults(&s);
  *settings = (struct ft_fit_settings){ .population = s.population,
                                        .generations = s.generations,
                                        .tournament = s.fitness_size,
                                        .parsimony = s.parsimony_size,
                                        .crossover = s.crossover,
                                        .mutation = s.mutation,
                                        .seed = s.seed };
}

static bool is_fraction(double value)
{
  return value >= 0 && value <= 1;
}

/* Sets BITS to the primitives that LIST names. */
static int parse_primitives(const char *text, unsigned *bits, struct ft_error *err)
{
  struct ft_text list = ft_text_from(text), piece;
  bool known = ft_text_left(&list) > 0;

  *bits = 0;
  while (known && ft_text_until(&list, ',', &piece)) {
    unsigned bit = 0;

    for (unsigned s = 0; s < FT_SYMBOLS; s++)
      if (primitive_names[s] && ft_text_equals(ft_text_trim(piece), primitive_names[s]))
        bit = 1u << s;
    known = bit != 0;
    *bits |= bit;
  }
  return known ? 0
               : ft_error_set(err,
                              "--primitives=%s: expected names of add, multiply, square, cube, "
                              "subtract, divide, root, log, sin, cos, exp, min",
                              text);
}

int ft_fit_check(const struct ft_fit_settings *s, struct ft_error *err)
{
  unsigned bits;

  if (s->population < 2 || s->population > FT_SYMBOLIC_POPULATION || s->generations > 100000)
    return ft_error_set(err, "expected a population of 2 to 100000 and at most 100000 generations");
  if (s->tournament < 1 || s->tournament > 1000 || !(s->parsimony >= 1) || !(s->parsimony <= 2) ||
      !is_fraction(s->crossover) || !is_fraction(s->mutation))
    return ft_error_set(err, "expected a tournament of 1 to 1000, a parsimony of 1 to 2 and "
                             "probabilities of 0 to 1");
  return s->primitives ? parse_primitives(s->primitives, &bits, err) : 0;
}

int ft_fit_choose(const struct ft_fit_rows *r, size_t count, size_t *chosen, struct ft_error *err)
{
  return ft_feature_screening(r->x, r->y, r->rows, r->features, count, chosen) < 0
             ? ft_error_errno(err, "fit")
             : 0;
}

/* Mean absolute value of COUNT values, STRIDE apart. */
static double mean_magnitude(const double *value, size_t count, size_t stride)
{
  double sum = 0;

  for (size_t i = 0; i < count; i++)
    sum += fabs(value[i * stride]);
  return sum / (double)count;
}

/* Fits by relative least squares on the features, or by least squares on logarithms. */
static int fit_linear(struct ft_fit *fit, const struct ft_fit_rows *r, struct ft_error *err)
{
  bool logarithms = fit->method == FT_FIT_LOGLINEAR;
  size_t n = r->rows, numbers = n * r->features;
  double *x = malloc(numbers * sizeof *x), *y = malloc(n * sizeof *y), *w = malloc(n * sizeof *w);
  int status = -1;

  fit->coefficients = calloc(r->features + 1, sizeof *fit->coefficients);
  if (!x || !y || !w || !fit->coefficients) {
    ft_error_errno(err, "fit");
    goto out;
  }
  for (size_t i = 0; i < n; i++) {
    if (logarithms && r->y[i] < 0) {
      ft_error_set(err, "loglinear: a target below 0 has no logarithm");
      goto out;
    }
    y[i] = logarithms ? log(r->y[i]) : r->y[i];
    w[i] = logarithms ? 1 : 1 / (r->y[i] * r->y[i]);
  }
  for (size_t i = 0; i < numbers; i++) {
    if (logarithms && r->x[i] <= 0) {
      ft_error_set(err, "loglinear: a feature that is not above 0 has no logarithm");
      goto out;
    }
    x[i] = logarithms ? log(r->x[i]) : r->x[i];
  }
  status = ft_linear_fit(x, y, w, n, r->features, fit->coefficients, err);
out:
  free(w);
  free(y);
  free(x);
  return status;
}

static bool report_search(void *data, unsigned generation, double best)
{
  const struct ft_fit_settings *s = data;

  (void)best;
  return !s->progress || s->progress(s->data, generation);
}

static int fit_symbolic(struct ft_fit *fit, const struct ft_fit_rows *r,
                        const struct ft_fit_settings *s, struct ft_error *err)
{
  struct ft_fit_settings own = *s;
  struct ft_symbolic_settings search;

  if (ft_fit_check(s, err) < 0)
    return -1;
  ft_symbolic_defaults(&search);
  search.population = s->population;
  search.generations = s->generations;
  search.fitness_size = s->tournament;
  search.parsimony_size = s->parsimony;
  search.crossover = s->crossover;
  search.mutation = s->mutation;
  search.constants = !s->drawn_constants;
  search.seed = s->seed;
  search.progress = report_search;
  search.data = &own;
  if (s->primitives && parse_primitives(s->primitives, &search.primitives, err) < 0)
    return -1;
  fit->search = malloc(sizeof *fit->search);
  if (!fit->search)
    return ft_error_errno(err, "fit");
  /* without a choice of primitives the data decide whether minimum joins the paper's */
  return ft_symbolic_fit_more(r->x, r->y, r->rows, r->features, &search,
                              s->primitives ? 0 : 1u << FT_SYMBOL_MINIMUM, fit->search, err);
}

/* Copies names and magnitudes of R into FIT. */
static int describe_fit(struct ft_fit *fit, const struct ft_fit_rows *r, struct ft_error *err)
{
  fit->features = r->features;
  fit->name = calloc(r->features + 1, sizeof *fit->name);
  fit->names = calloc(r->features + 1, sizeof *fit->names);
  fit->sizes = calloc(r->features + 1, sizeof *fit->sizes);
  if (!fit->name || !fit->names || !fit->sizes)
    return ft_error_errno(err, "fit");
  fit->target_bytes = ft_named_bytes(r->target);
  fit->size = mean_magnitude(r->y, r->rows, 1);
  for (size_t i = 0; i < r->features; i++) {
    if (!ft_string_copy(r->names[i], fit->name[i], sizeof *fit->name))
      return ft_error_set(err, "%.64s: a name longer than %zu bytes", r->names[i],
                          sizeof *fit->name - 1);
    fit->names[i] = fit->name[i];
    fit->sizes[i] = mean_magnitude(r->x + i, r->rows, r->features);
  }
  return 0;
}

ft_fit *ft_fit_make(enum ft_fit_method method, const struct ft_fit_rows *r,
                    const struct ft_fit_settings *settings, struct ft_error *err)
{
  struct ft_fit *fit = calloc(1, sizeof *fit);

  if (!fit) {
    ft_error_errno(err, "fit");
    return NULL;
  }
  fit->method = method;
  if (r->rows && r->features <= FT_FIT_FEATURES) {
    if (describe_fit(fit, r, err) == 0 &&
        (method == FT_FIT_SYMBOLIC ? fit_symbolic(fit, r, settings, err)
                                   : fit_linear(fit, r, err)) == 0)
      return fit;
  } else {
    ft_error_set(err, "fit: expected a row, and at most %d features", FT_FIT_FEATURES);
  }
  ft_fit_free(fit);
  return NULL;
}

void ft_fit_free(ft_fit *fit)
{
  if (!fit)
    return;
  free(fit->name);
  free(fit->names);
  free(fit->sizes);
  free(fit->coefficients);
  free(fit->search);
  free(fit);
}

double ft_fit_value(const ft_fit *fit, const double *x)
{
  bool logarithms = fit->method == FT_FIT_LOGLINEAR;
  double value;

  if (fit->search)
    return ft_expression_evaluate(&fit->search->front[fit->search->chosen].expression, x);
  value = fit->coefficients[0];
  for (size_t i = 0; i < fit->features; i++)
    value += fit->coefficients[i + 1] * (logarithms ? log(x[i]) : x[i]);
  return logarithms ? exp(value) : value;
}

bool ft_fit_cancelled(const ft_fit *fit)
{
  return fit->search && fit->search->cancelled;
}

bool ft_fit_front(const ft_fit *fit, size_t i, struct ft_fit_point *point)
{
  const struct ft_symbolic_point *p;

  if (!fit->search || i >= fit->search->count)
    return false;
  p = &fit->search->front[i];
  *point = (struct ft_fit_point){ .length = (unsigned)p->expression.length,
                                  .train_mape = p->mape,
                                  .validated_mape = p->validated,
                                  .chosen = i == fit->search->chosen };
  return true;
}

/* Appends the equation AT of the front (SIZE_MAX: the chosen one) to OUT. */
static int show_fit(const struct ft_fit *fit, size_t at, const char *unit, bool latex, int digits,
                    struct ft_buf *out)
{
  const struct ft_linear_equation linear = { fit->coefficients, fit->method == FT_FIT_LOGLINEAR,
                                             fit->names, fit->sizes, fit->features };

  if (!fit->search)
    return ft_show_linear(&linear, unit, fit->size, latex, digits, out);
  if (at >= fit->search->count)
    at = fit->search->chosen;
  return ft_show_expression(&fit->search->front[at].expression, fit->names, fit->features, unit,
                            fit->size, latex, digits, out);
}

char *ft_fit_equation(const ft_fit *fit, size_t at, const struct ft_fit_format *format,
                      struct ft_error *err)
{
  const char *unit = format->unit ? format->unit : fit->target_bytes ? NULL : "";
  struct ft_buf out;
  char *text = NULL;

  ft_buf_init(&out, FT_LIMIT_LINE);
  if (show_fit(fit, at, unit, format->latex, format->digits, &out) < 0)
    ft_error_set(err, "fit: the equation is too long to print");
  else if (!(text = strdup(ft_buf_text(&out))))
    ft_error_errno(err, "fit");
  ft_buf_free(&out);
  return text;
}
