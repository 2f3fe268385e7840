/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Aliased columns: two columns that varied only together, as the two arguments of an app that was
 * run with "60 2" and "80 6". The fit gives the effect to one of them, although either may have it
 * (in the design of experiments such effects are aliased). The other's term stores what its effect
 * would be instead, so that a prediction where the two disagree is known to be uncertain.
 */
#include "config.h"

#include "predictor/learn/regression/line.h"
#include "predictor/learn/series/fit_work.h"

/* Two columns vary together if one implies the other's contribution with an error of at most this
 * fraction of the contribution's range. Chosen by judgement. */
#define ALIAS_TOLERANCE 0.01

/* Sets Y to the contribution of T in each run; NaN where its value is missing. Returns its range.
 */
static double list_contributions(const struct ft_series_work *r, const struct ft_point_term *t,
                                 double y[FT_SERIES_RUNS])
{
  double low = INFINITY, high = -INFINITY;

  for (size_t i = 0; i < r->data.runs; i++) {
    double x = (double)r->data.x[t->column][i];

    y[i] = isnan(x) || (t->levels_count && x < 0) ? NAN : ft_point_contribution(t, x);
    low = y[i] < low ? y[i] : low;
    high = y[i] > high ? y[i] : high;
  }
  return high - low;
}

/* Fits the numeric term T to the contributions Y of the RUNS values X, which have T's
 * form. Returns false if X or Y is constant. */
static bool fit_alias_line(const double *x, const double *y, size_t runs, struct ft_point_term *t)
{
  struct ft_line line = ft_line_fit(x, y, runs);

  t->scale = 1;
  t->coefficient = line.slope;
  t->mean = -line.intercept / line.slope;
  return isfinite(t->coefficient) && isfinite(t->mean);
}

/* Sets the levels of the categorical term T to the means of the contributions Y of the RUNS
 * categories X; 0 for one without runs. Returns false if a run's category is unknown. */
static bool fit_alias_levels(const double *x, const double *y, size_t runs, struct ft_point_term *t)
{
  size_t count[FT_ADDITIVE_LEVELS] = { 0 };

  for (size_t i = 0; i < runs; i++) {
    if (!(x[i] >= 0 && x[i] < (double)t->levels_count))
      return false;
    t->levels[(size_t)x[i]] += y[i];
    count[(size_t)x[i]]++;
  }
  for (size_t l = 0; l < t->levels_count; l++)
    t->levels[l] /= (double)(count[l] ? count[l] : 1);
  return true;
}

/* Fits T, a copy of a term without effect, to the contributions Y of the term OTHER, whose range is
 * RANGE. Returns whether T's column varied only together with OTHER's. */
static bool fit_alias(const struct ft_series_work *r, const struct ft_point_term *other,
                      const double *y, double range, struct ft_point_term *t)
{
  const float *value = r->data.x[t->column];
  double x[FT_SERIES_RUNS];
  bool found;

  t->form = t->levels_count ? FT_FORM_PLAIN : other->form;
  for (size_t i = 0; i < r->data.runs; i++) {
    if (isnan(value[i]) || isnan(y[i]))
      return false;
    x[i] = ft_term_form_of(t->form, (double)value[i]);
  }
  found = t->levels_count ? fit_alias_levels(x, y, r->data.runs, t)
                          : fit_alias_line(x, y, r->data.runs, t);
  for (size_t i = 0; i < r->data.runs && found; i++)
    found = fabs(ft_point_contribution(t, (double)value[i]) - y[i]) <= ALIAS_TOLERANCE * range;
  return found;
}

void ft_series_mark_aliases(struct ft_series *s, const struct ft_series_work *r)
{
  struct ft_series_fit *fit = &s->fit;
  double y[FT_SERIES_RUNS];

  for (size_t k = 0; k < fit->point.terms_count; k++) {
    const struct ft_point_term *other = &fit->point.terms[k];
    double range = ft_point_has_effect(other) ? list_contributions(r, other, y) : 0;

    for (size_t i = 0; i < fit->point.terms_count && range > 0; i++) {
      struct ft_point_term t = fit->point.terms[i];

      if (t.aliased || ft_point_has_effect(&t) || !fit_alias(r, other, y, range, &t))
        continue;
      t.aliased = true;
      t.aliased_with = other->column;
      fit->point.terms[i] = t;
    }
  }
}
