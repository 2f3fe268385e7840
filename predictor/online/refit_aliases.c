/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Aliased columns: two columns that varied only together, as the two arguments of an app that was
 * run with "60 2" and "80 6". The fit gives the effect to one of them, although either may have it
 * (in the design of experiments such effects are aliased). The other's term stores what its effect
 * would be instead, so that a prediction where the two disagree is known to be uncertain.
 */
#include "config.h"

#include "predictor/online/refit_work.h"

/* Two columns vary together if one implies the other's contribution with an error of at most this
 * fraction of the contribution's range. Chosen by judgement. */
#define ALIAS_TOLERANCE 0.01

/* Sets Y to the contribution of the fitted term T in each run; NaN where its value is missing.
 * Returns its range. */
static double list_contributions(const struct ft_refit *r, const struct ft_additive_term *t,
                                 double y[FT_REFIT_RUNS])
{
  double low = INFINITY, high = -INFINITY;

  for (size_t i = 0; i < r->data.runs; i++) {
    double x = (double)r->data.x[t->column][i];

    if (t->levels)
      y[i] = x >= 0 && x < (double)t->levels ? t->level[(size_t)x] : NAN;
    else
      y[i] = ((t->log ? log1p(fabs(x)) : x) - t->mean) / t->scale * t->coefficient;
    low = y[i] < low ? y[i] : low;
    high = y[i] > high ? y[i] : high;
  }
  return high - low;
}

/* Fits the coefficient of the numeric term T, by least squares, to the contributions Y of the RUNS
 * values X. Returns false if X is constant. */
static bool fit_alias_line(const double *x, const double *y, size_t runs, ft_term *t)
{
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;

  for (size_t i = 0; i < runs; i++) {
    mean_x += x[i] / (double)runs;
    mean_y += y[i] / (double)runs;
  }
  for (size_t i = 0; i < runs; i++) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  t->scale = 1;
  t->coefficient = xy / xx;
  t->mean = mean_x - mean_y / t->coefficient;
  return isfinite(t->coefficient) && isfinite(t->mean);
}

/* Sets the levels of the categorical term T to the means of the contributions Y of the RUNS
 * categories X; 0 for one without runs. Returns false if a run's category is unknown. */
static bool fit_alias_levels(const double *x, const double *y, size_t runs, ft_term *t)
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

/* Fits T, a copy of a term without effect, to the contributions Y of the term FITTED, whose range
 * is RANGE. Returns whether T's column varied only together with FITTED's. */
static bool fit_alias(const struct ft_refit *r, const struct ft_additive_term *fitted,
                      const double *y, double range, ft_term *t)
{
  double x[FT_REFIT_RUNS];
  bool found;

  t->log = !t->levels_count && fitted->log;
  for (size_t i = 0; i < r->data.runs; i++) {
    x[i] = (double)r->data.x[t->column][i];
    if (isnan(x[i]) || isnan(y[i]))
      return false;
    x[i] = t->log ? log1p(fabs(x[i])) : x[i];
  }
  found = t->levels_count ? fit_alias_levels(x, y, r->data.runs, t)
                          : fit_alias_line(x, y, r->data.runs, t);
  for (size_t i = 0; i < r->data.runs && found; i++) {
    double implied = t->levels_count ? t->levels[(size_t)x[i]] : (x[i] - t->mean) * t->coefficient;

    found = fabs(implied - y[i]) <= ALIAS_TOLERANCE * range;
  }
  return found;
}

/* Returns whether the fit has a term of COLUMN. */
static bool is_fitted(const struct ft_additive *fit, size_t column)
{
  for (size_t k = 0; k < fit->terms; k++)
    if (fit->term[k].column == column)
      return true;
  return false;
}

void ft_refit_mark_aliases(ft_model *model, const struct ft_refit *r)
{
  ft_evaluator *e = &model->evaluator;
  double y[FT_REFIT_RUNS];

  for (size_t k = 0; k < r->fit.terms; k++) {
    const struct ft_additive_term *fitted = &r->fit.term[k];
    double range = list_contributions(r, fitted, y);

    for (size_t i = 0; i < e->terms_count && range > 0; i++) {
      ft_term term = e->terms[i];

      if (term.has_aliased_with || is_fitted(&r->fit, term.column) ||
          !fit_alias(r, fitted, y, range, &term))
        continue;
      term.has_aliased_with = true;
      term.aliased_with = (uint32_t)fitted->column;
      e->terms[i] = term;
    }
  }
}
