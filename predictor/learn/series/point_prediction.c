/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/learn/regression/additive.h"
#include "predictor/learn/series/point_prediction.h"

/* Maximum of the logarithm of a prediction: that of FT_LAW_MAX. */
#define MAX_LOG (50 * M_LN2)
/* Standard deviation of an extrapolated term, as a fraction of its change outside the range of the
 * runs. Half and twice were compared. */
#define BEYOND 0.25
/* The same of the logarithm of a sum of products. Chosen by judgement: on six runs of the form that
 * it extrapolates by a factor of 60 the 90 % interval holds 94 %. */
#define PRODUCTS_BEYOND 0.05
/* Prior standard deviation of the exponent in number ~ feature^exponent, for a feature that had one
 * value in all runs. Half and twice were compared. */
#define UNTRIED_POWER 0.5
/* Standard deviation due to two terms of which either may have the effect, as a fraction of the
 * difference between their contributions: the predictions are equally likely. */
#define EITHER_TERM 0.5
/* Maximum of the added variance of the logarithm: a standard deviation of a factor e^3. */
#define MAX_VARIANCE 9

/* Contribution of a term to the prediction, in the target's units. */
struct contribution {
  double value, deviation; /* deviation: standard deviation of `value` */
  double beyond;           /* part of `value` from outside the range of the runs */
  bool extrapolated;
};

/* Returns the contribution of T at X; NaN: missing. */
static struct contribution evaluate_numeric_term(const struct ft_point_term *t, double x)
{
  struct contribution part = { 0 };
  double form = ft_term_form_of(t->form, x), beyond, step;

  if (isnan(form)) {
    part.deviation = fabs(t->coefficient);
    return part;
  }
  beyond = form - ft_term_form_of(t->form, fmin(fmax(x, t->low), t->high));
  step = t->scale > 0 ? t->coefficient / t->scale : 0;
  part.value = (form - t->mean) * step;
  part.beyond = beyond * step;
  part.deviation = BEYOND * fabs(part.beyond);
  part.extrapolated = t->coefficient != 0 && fabs(beyond) > 0.01 * t->scale;
  return part;
}

/* Returns the contribution of T at X, the index of a category; FT_X_UNSEEN; or NaN: missing. */
static struct contribution evaluate_category_term(const struct ft_point_term *t, double x)
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
static double constant_feature_step(const struct ft_point_term *t, double x)
{
  double step;

  if (t->levels_count || t->coefficient != 0 || t->low != t->high || x == t->low || isnan(x))
    return 0;
  step = fabs(log1p(fabs(x)) - log1p(fabs(t->low)));
  if (x * t->low < 0)
    step = log1p(fabs(x)) + log1p(fabs(t->low));
  return UNTRIED_POWER * fmin(step, 2);
}

static struct contribution evaluate_term(const struct ft_point_term *t, double x)
{
  return t->levels_count ? evaluate_category_term(t, x) : evaluate_numeric_term(t, x);
}

double ft_point_contribution(const struct ft_point_term *t, double x)
{
  return evaluate_term(t, x).value;
}

/* Returns the standard deviation of the prediction, in the target's units, because the aliased term
 * T may have the effect in place of the term of T's aliased column. */
static double alias_deviation(const struct ft_point_model *m, const struct ft_point_term *t,
                              const float *x, size_t count)
{
  for (size_t i = 0; i < m->terms_count; i++) {
    const struct ft_point_term *other = &m->terms[i];

    if (other->column == t->aliased_with && other->column < count && t->column < count &&
        !isnan(x[other->column]) && !isnan(x[t->column]))
      return EITHER_TERM * fabs(ft_point_contribution(t, (double)x[t->column]) -
                                ft_point_contribution(other, (double)x[other->column]));
  }
  return 0;
}

/*
 * Copies X to CLAMPED, with numbers clamped to the range of the runs, and to TRUSTED, where only
 * numbers that no term uses are clamped: these matter by the law alone, which the runs support
 * only in their range. Returns whether the law reads a trusted value that was outside.
 */
static bool clamp_to_range(const struct ft_point_model *m, const float *x, size_t count,
                           float *clamped, float *trusted)
{
  bool beyond = false;

  memcpy(clamped, x, count * sizeof *x);
  memcpy(trusted, x, count * sizeof *x);
  for (size_t i = 0; i < m->terms_count; i++) {
    const struct ft_point_term *t = &m->terms[i];

    if (t->levels_count || t->column >= count || isnan(x[t->column]))
      continue;
    clamped[t->column] = (float)fmin(fmax((double)x[t->column], t->low), t->high);
    if (t->coefficient == 0 && !t->aliased)
      trusted[t->column] = clamped[t->column];
    for (size_t v = 0; v < m->law.variables; v++)
      beyond |= m->law.variable[v].column == t->column && clamped[t->column] != trusted[t->column];
  }
  return beyond;
}

/* Replaces the prediction in OUT by the law's, if the law is defined at X. Returns the added
 * variance of the law; 0 if it is undefined or X is in the range of the runs. */
static double predict_with_law(const struct ft_point_model *m, const float *x, size_t count,
                               struct ft_point_prediction *out)
{
  float clamped[FT_POINT_COLUMNS], trusted[FT_POINT_COLUMNS];
  double value, inside;
  bool beyond;

  if (count > FT_POINT_COLUMNS || !m->law.code.length)
    return 0;
  beyond = clamp_to_range(m, x, count, clamped, trusted);
  value = ft_law_log(&m->law, trusted, count);
  if (isnan(value))
    return 0;
  out->log = value + m->law_shift;
  if (!beyond)
    return 0;
  out->extrapolated = true;
  inside = ft_law_log(&m->law, clamped, count);
  return isnan(inside) ? MAX_VARIANCE : BEYOND * BEYOND * (value - inside) * (value - inside);
}

/* Replaces the prediction in OUT by that of M's products for UNITS, if they are defined at X, and
 * *VARIANCE, of which the part ALIASED remains. */
static void predict_with_products(const struct ft_point_model *m, const float *x, size_t count,
                                  double units, double aliased, double *variance,
                                  struct ft_point_prediction *out)
{
  double at[FT_POSYNOMIAL_COLUMNS], inside[FT_POSYNOMIAL_COLUMNS], value, jump;

  for (size_t c = 0; c < m->products.columns; c++) {
    at[c] = inside[c] = m->products.column[c] < count ? (double)x[m->products.column[c]] : NAN;
    for (size_t i = 0; i < m->terms_count; i++)
      if (m->terms[i].column == m->products.column[c])
        inside[c] = fmin(fmax(at[c], m->terms[i].low), m->terms[i].high);
  }
  value = log(ft_posynomial_value(&m->products, at));
  if (isnan(value))
    return;
  out->log = value + (m->per_unit ? log(units) : 0);
  jump = PRODUCTS_BEYOND * (value - log(ft_posynomial_value(&m->products, inside)));
  *variance = aliased + jump * jump;
}

/* Returns the standard deviation of the logarithm because the runs of M had other UNITS. */
static double untried_units(const struct ft_point_model *m, double units)
{
  double low = 1, high = 1;

  for (size_t i = 0; i < m->terms_count; i++)
    if (m->terms[i].column == m->unit_column) {
      low = m->terms[i].low;
      high = m->terms[i].high;
    }
  return BEYOND * fmin(fabs(log(units / fmin(fmax(units, low), high))), 2);
}

void ft_point_predict(const struct ft_point_model *m, const float *x, size_t count, double units,
                      struct ft_point_prediction *out)
{
  double sum = m->intercept, beyond = 0, variance = 0, aliased = 0, power = 0, floor;

  *out = (struct ft_point_prediction){ 0 };
  if (m->per_unit) {
    double jump = untried_units(m, units);

    power = jump * jump;
    out->extrapolated = jump > 0.01;
  }
  for (size_t i = 0; i < m->terms_count; i++) {
    const struct ft_point_term *t = &m->terms[i];
    double at = t->column < count ? (double)x[t->column] : NAN;
    double jump = m->per_unit && t->column == m->unit_column ? 0 : constant_feature_step(t, at);
    struct contribution part = { 0 };

    if (t->aliased) {
      part.deviation = alias_deviation(m, t, x, count);
      part.extrapolated = part.deviation > 0.01 * (m->log_target ? 1 : m->intercept);
    } else {
      part = evaluate_term(t, at);
    }
    sum += part.value;
    beyond += part.beyond;
    variance += part.deviation * part.deviation;
    aliased += t->aliased ? part.deviation * part.deviation : 0;
    power += jump * jump;
    out->extrapolated |= part.extrapolated || jump > 0.01;
  }
  if (m->log_target) {
    out->log = sum;
  } else {
    floor = fmax(m->intercept * FT_ADDITIVE_FLOOR, 1);
    out->log = log(fmax(sum, floor));
    /* relative to the larger of the prediction and that at the end of the range: a small input is
     * no reason to expect more than at the end */
    sum = fmax(fmax(sum, sum - beyond), floor);
    variance /= sum * sum;
    aliased /= sum * sum;
  }
  out->log += m->per_unit ? log(units) : 0;
  if (m->by_law)
    variance = fmax(variance, predict_with_law(m, x, count, out));
  else if (m->products.columns)
    predict_with_products(m, x, count, units, aliased, &variance, out);
  out->log = isnan(out->log) ? 0 : fmin(fmax(out->log, 0), MAX_LOG);
  out->added_variance =
      isnan(variance + power) ? MAX_VARIANCE : fmin(variance + power, MAX_VARIANCE);
}

bool ft_point_has_effect(const struct ft_point_term *t)
{
  bool effect = t->coefficient != 0;

  for (size_t l = 0; l < t->levels_count; l++)
    effect |= t->levels[l] != 0;
  return effect && !t->aliased;
}
