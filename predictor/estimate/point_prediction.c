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
#include "predictor/learn/regression/additive.h"

enum { COLUMNS = sizeof((ft_model *)NULL)->columns / sizeof(ft_column) };

/* Maximum of the logarithm of a prediction: 1 PiB, as in ft_equation_log. */
#define MAX_LOG (50 * M_LN2)
/* Standard deviation of an extrapolated term, as a fraction of its change outside the range of the
 * runs. Chosen by judgement. */
#define BEYOND 0.25
/* Prior standard deviation of the exponent in bytes ~ feature^exponent, for a feature that had one
 * value in all runs. Chosen by judgement. */
#define UNTRIED_POWER 0.5
/* Standard deviation due to two terms of which either may have the effect, as a fraction of the
 * difference between their contributions: the predictions are equally likely. */
#define EITHER_TERM 0.5
/* Maximum of the added variance of the logarithm: a standard deviation of a factor e^3. Chosen by
 * judgement. */
#define MAX_VARIANCE 9

void ft_column_category(const ft_feature *feature, char out[40])
{
  enum { PREFIX = 22 }; /* bytes of a long category, before "~" and 16 digits of its hash */

  if (feature->has_number && !feature->category[0])
    (void)snprintf(out, 40, "%.9g", feature->number);
  else if (!ft_string_copy(feature->category, out, 40))
    (void)snprintf(out + PREFIX, 40 - PREFIX, "~%016" PRIx64,
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

/* Contribution of a term to the prediction, in the target's units. */
struct contribution {
  double value, deviation; /* deviation: standard deviation of `value` */
  bool extrapolated;
};

/* Returns the contribution of T at X; NaN: missing. */
static struct contribution evaluate_numeric_term(const ft_term *t, double x)
{
  struct contribution part = { 0 };
  double beyond = 0, step;

  if (isnan(x)) {
    part.deviation = fabs(t->coefficient);
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
  part.deviation = BEYOND * fabs(beyond * step);
  part.extrapolated = t->coefficient != 0 && beyond > 0.01 * t->scale;
  return part;
}

/* Returns the contribution of T at X, the index of a category; FT_X_UNSEEN; or NaN: missing. */
static struct contribution evaluate_category_term(const ft_term *t, double x)
{
  struct contribution part = { 0 };

  if (x >= 0 && x < (double)t->levels_count) {
    part.value = t->levels[(size_t)x];
  } else {
    part.deviation = t->scale;
    part.extrapolated = !isnan(x) && t->scale > 0;
  }
  return part;
}

/* Returns the standard deviation that the term T adds to the logarithm of the prediction, if T's
 * feature had one value in all runs and X is another value; otherwise 0. */
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

static struct contribution evaluate_term(const ft_term *t, double x)
{
  return t->levels_count ? evaluate_category_term(t, x) : evaluate_numeric_term(t, x);
}

double ft_term_contribution(const ft_term *t, double x)
{
  return evaluate_term(t, x).value;
}

/* Returns the standard deviation of the prediction, in the target's units, because the aliased term
 * T may have the effect in place of the term of T's aliased column. */
static double alias_deviation(const ft_evaluator *e, const ft_term *t, const float *x, size_t count)
{
  for (size_t i = 0; i < e->terms_count; i++) {
    const ft_term *other = &e->terms[i];

    if (other->column == t->aliased_with && other->column < count && t->column < count &&
        !isnan(x[other->column]) && !isnan(x[t->column]))
      return EITHER_TERM * fabs(ft_term_contribution(t, (double)x[t->column]) -
                                ft_term_contribution(other, (double)x[other->column]));
  }
  return 0;
}

/*
 * Copies X to CLAMPED, with numbers clamped to the range of the runs, and to TRUSTED, where only
 * numbers that no term uses are clamped: these matter by the equation alone, which the runs support
 * only in their range. Returns whether the equation reads a trusted value that was outside.
 */
static bool clamp_to_range(const ft_evaluator *e, const float *x, size_t count, float *clamped,
                           float *trusted)
{
  bool beyond = false;

  memcpy(clamped, x, count * sizeof *x);
  memcpy(trusted, x, count * sizeof *x);
  for (size_t i = 0; i < e->terms_count; i++) {
    const ft_term *t = &e->terms[i];

    if (t->levels_count || t->column >= count || isnan(x[t->column]))
      continue;
    clamped[t->column] = (float)fmin(fmax((double)x[t->column], t->low), t->high);
    if (t->coefficient == 0 && !t->has_aliased_with)
      trusted[t->column] = clamped[t->column];
    for (size_t v = 0; v < e->equation.columns_count; v++)
      beyond |= e->equation.columns[v] == t->column && clamped[t->column] != trusted[t->column];
  }
  return beyond;
}

/* Replaces the prediction in OUT by the equation's, if the equation is defined at X. Returns the
 * added variance of the equation; 0 if it is undefined or X is in the range of the runs. */
static double predict_with_equation(const ft_evaluator *e, const float *x, size_t count,
                                    struct ft_point_prediction *out)
{
  float clamped[COLUMNS], trusted[COLUMNS];
  struct ft_expression code;
  double value, inside;
  bool beyond;

  if (count > COLUMNS || !ft_equation_open(&e->equation, &code))
    return 0;
  beyond = clamp_to_range(e, x, count, clamped, trusted);
  value = ft_equation_log(&e->equation, &code, trusted, count);
  if (isnan(value))
    return 0;
  out->log = value + e->equation_shift;
  if (!beyond)
    return 0;
  out->extrapolated = true;
  inside = ft_equation_log(&e->equation, &code, clamped, count);
  return isnan(inside) ? MAX_VARIANCE : BEYOND * BEYOND * (value - inside) * (value - inside);
}

void ft_predict_point(const ft_evaluator *e, const float *x, size_t count,
                      struct ft_point_prediction *out)
{
  double sum = e->intercept, variance = 0, power = 0, centre;

  *out = (struct ft_point_prediction){ 0 };
  for (size_t i = 0; i < e->terms_count; i++) {
    const ft_term *t = &e->terms[i];
    double at = t->column < count ? (double)x[t->column] : NAN, jump = constant_feature_step(t, at);
    struct contribution part = { 0 };

    if (t->has_aliased_with) {
      part.deviation = alias_deviation(e, t, x, count);
      part.extrapolated = part.deviation > 0.01 * (e->log_target ? 1 : e->intercept);
    } else {
      part = evaluate_term(t, at);
    }
    sum += part.value;
    variance += part.deviation * part.deviation;
    power += jump * jump;
    out->extrapolated |= part.extrapolated || jump > 0.01;
  }
  if (e->log_target) {
    out->log = sum;
  } else {
    centre = fmax(fmax(sum, e->intercept * FT_ADDITIVE_FLOOR), 1);
    out->log = log(centre);
    variance /= centre * centre;
  }
  if (e->by_equation)
    variance = fmax(variance, predict_with_equation(e, x, count, out));
  out->log = isnan(out->log) ? 0 : fmin(fmax(out->log, 0), MAX_LOG);
  out->added_variance =
      isnan(variance + power) ? MAX_VARIANCE : fmin(variance + power, MAX_VARIANCE);
}

bool ft_term_has_effect(const ft_term *t)
{
  bool effect = t->coefficient != 0;

  for (size_t l = 0; l < t->levels_count; l++)
    effect |= t->levels[l] != 0;
  return effect && !t->has_aliased_with;
}

bool ft_point_prediction_uses(const ft_evaluator *e, size_t column)
{
  for (size_t i = 0; i < e->terms_count; i++)
    if (e->terms[i].column == column && ft_term_has_effect(&e->terms[i]))
      return true;
  for (size_t v = 0; e->by_equation && v < e->equation.columns_count; v++)
    if (e->equation.columns[v] == column)
      return true;
  return false;
}
