/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/core/text.h"
#include "predictor/estimate/equation.h"
#include "predictor/estimate/point_prediction.h"

enum { COLUMNS = sizeof((ft_model *)NULL)->columns / sizeof(ft_column) };

/* A linear centre is never taken below this part of its intercept, none above 2^50 bytes. */
#define LEAST_PART (1.0 / 64)
#define MOST_LOG (50 * M_LN2)
/* Of what a term adds beyond the evidence, this part is doubtful. */
#define BEYOND 0.25
/* What a number that never varied may do: bytes grow like its power of 0 give or take this. */
#define UNTRIED_POWER 0.5

void ft_column_category(const ft_feature *feature, char out[40])
{
  enum { KEPT = 22 };

  if (feature->has_number && !feature->category[0])
    (void)snprintf(out, 40, "%.9g", feature->number);
  else if (!ft_string_copy(feature->category, out, 40))
    (void)snprintf(out + KEPT, 40 - KEPT, "~%016" PRIx64,
                   ft_hash64(FT_HASH_SEED, feature->category, strlen(feature->category)));
}

int ft_column_level(const ft_column *column, const char *category)
{
  for (size_t l = 0; l < column->categories_count; l++)
    if (strcmp(column->categories[l], category) == 0)
      return (int)l;
  return -1;
}

void ft_columns_fill(const ft_column *columns, size_t column_count, const ft_feature *features,
                     size_t count, float *x)
{
  char category[40];

  for (size_t j = 0; j < column_count; j++) {
    const ft_feature *f = ft_feature_find(features, count, columns[j].name);

    x[j] = NAN;
    if (!f)
      continue;
    if (columns[j].categorical) {
      ft_column_category(f, category);
      x[j] = (float)ft_column_level(&columns[j], category);
    } else if (f->has_number && isfinite(f->number)) {
      x[j] = (float)fmin(fmax(f->number, -1e30), 1e30);
    }
  }
}

/* What one term adds to the centre, and the standard deviation of that, in the target's units. */
struct part {
  double value, doubt;
  bool extrapolated;
};

static struct part numeric_term_part(const ft_term *t, double x)
{
  struct part part = { 0 };
  double beyond = 0, step;

  if (isnan(x)) {
    part.doubt = fabs(t->coefficient);
    return part;
  }
  if (x > t->high)
    beyond = x - t->high;
  else if (x < t->low)
    beyond = t->low - x;
  if (t->log) {
    beyond = fabs(log1p(fabs(x)) - log1p(fabs(x > t->high ? t->high : t->low)));
    if (x >= t->low && x <= t->high)
      beyond = 0;
    x = log1p(fabs(x));
  }
  step = t->scale > 0 ? t->coefficient / t->scale : 0;
  part.value = (x - t->mean) * step;
  part.doubt = BEYOND * fabs(beyond * step);
  part.extrapolated = t->coefficient != 0 && beyond > 0.01 * t->scale;
  return part;
}

static struct part categorical_term_part(const ft_term *t, double x)
{
  struct part part = { 0 };

  if (x >= 0 && x < (double)t->levels_count) {
    part.value = t->levels[(size_t)x];
  } else {
    part.doubt = t->scale;
    part.extrapolated = !isnan(x) && t->scale > 0;
  }
  return part;
}

/* A number that never varied and now does: nothing is known of what it does. */
static double constant_feature_step(const ft_term *t, double x)
{
  double step;

  if (t->levels_count || t->coefficient != 0 || t->low != t->high || x == t->low || isnan(x))
    return 0;
  step = fabs(log1p(fabs(x)) - log1p(fabs(t->low)));
  if (x * t->low < 0)
    step = log1p(fabs(x)) + log1p(fabs(t->low));
  return UNTRIED_POWER * fmin(step, 2);
}

/* X held within the evidence, by column; whether it was beyond it in what EQUATION reads. */
static bool clamp_to_range(const ft_evaluator *e, const float *x, size_t count, float *held)
{
  bool beyond = false;

  memcpy(held, x, count * sizeof *x);
  for (size_t i = 0; i < e->terms_count; i++) {
    const ft_term *t = &e->terms[i];

    if (t->levels_count || t->column >= count || isnan(x[t->column]))
      continue;
    held[t->column] = (float)fmin(fmax((double)x[t->column], t->low), t->high);
    for (size_t v = 0; v < e->equation.columns_count; v++)
      beyond |= e->equation.columns[v] == t->column && held[t->column] != x[t->column];
  }
  return beyond;
}

/* The equation's centre in place of the additive one, where it says anything; its variance. */
static double predict_with_equation(const ft_evaluator *e, const float *x, size_t count,
                                    struct ft_point_prediction *out)
{
  float held[COLUMNS];
  struct ft_expression code;
  double at, within;

  if (count > COLUMNS || !ft_equation_open(&e->equation, &code))
    return 0;
  at = ft_equation_log(&e->equation, &code, x, count);
  if (isnan(at))
    return 0;
  out->log = at + e->equation_shift;
  if (!clamp_to_range(e, x, count, held))
    return 0;
  out->extrapolated = true;
  within = ft_equation_log(&e->equation, &code, held, count);
  return isnan(within) ? 9 : BEYOND * BEYOND * (at - within) * (at - within);
}

void ft_predict_point(const ft_evaluator *e, const float *x, size_t count,
                      struct ft_point_prediction *out)
{
  double sum = e->intercept, variance = 0, power = 0, centre;

  *out = (struct ft_point_prediction){ 0 };
  for (size_t i = 0; i < e->terms_count; i++) {
    const ft_term *t = &e->terms[i];
    double at = t->column < count ? (double)x[t->column] : NAN, jump = constant_feature_step(t, at);
    struct part part = t->levels_count ? categorical_term_part(t, at) : numeric_term_part(t, at);

    sum += part.value;
    variance += part.doubt * part.doubt;
    power += jump * jump;
    out->extrapolated |= part.extrapolated || jump > 0.01;
  }
  if (e->log_target) {
    out->log = sum;
  } else {
    centre = fmax(fmax(sum, e->intercept * LEAST_PART), 1);
    out->log = log(centre);
    variance /= centre * centre;
  }
  if (e->by_equation)
    variance = fmax(variance, predict_with_equation(e, x, count, out));
  out->log = isnan(out->log) ? 0 : fmin(fmax(out->log, 0), MOST_LOG);
  /* nobody needs to be told of more than a factor of e^3 either way */
  out->added_variance = isnan(variance + power) ? 9 : fmin(variance + power, 9);
}

bool ft_point_prediction_uses(const ft_evaluator *e, size_t column)
{
  for (size_t i = 0; i < e->terms_count; i++) {
    const ft_term *t = &e->terms[i];

    if (t->column != column)
      continue;
    if (t->coefficient != 0)
      return true;
    for (size_t l = 0; l < t->levels_count; l++)
      if (t->levels[l] != 0)
        return true;
  }
  for (size_t v = 0; e->by_equation && v < e->equation.columns_count; v++)
    if (e->equation.columns[v] == column)
      return true;
  return false;
}
