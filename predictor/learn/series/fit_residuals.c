/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shifts the point prediction by the mean of recent residuals, if residuals are autocorrelated. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/sort.h"
#include "predictor/learn/residual_quantiles.h"
#include "predictor/learn/series/drift.h"
#include "predictor/learn/series/fit_work.h"

/* Number of newest runs that the upper quantiles cover after a shift down. Half and twice were
 * compared. */
enum { COVERED_RUNS = 40 };

/* Shifts FIT's point prediction by SHIFT log units. */
static void shift_point_prediction(struct ft_series_fit *fit, double shift)
{
  double factor = exp(shift);

  fit->point.law_shift += fit->point.by_law ? shift : 0;
  for (size_t i = 0; i < fit->point.products.terms; i++)
    fit->point.products.term[i].coefficient *= factor;
  if (fit->point.log_target) {
    fit->point.intercept += shift;
    return;
  }
  fit->point.intercept *= factor;
  for (size_t i = 0; i < fit->point.terms_count; i++) {
    struct ft_point_term *t = &fit->point.terms[i];

    t->coefficient *= factor;
    for (size_t l = 0; l < t->levels_count; l++)
      t->levels[l] *= factor;
    if (t->levels_count)
      t->scale *= factor;
  }
}

/*
 * Raises the upper quarter of the residuals to at least the quantiles of the last COVERED_RUNS
 * runs, so that an estimate that was shifted down by small runs still covers the larger ones before
 * them.
 */
static void cover_recent_runs(struct ft_series_work *r, double shift)
{
  size_t count = r->rows < COVERED_RUNS ? r->rows : COVERED_RUNS;

  for (size_t i = 0; i < count; i++)
    r->sorted[i] = r->out_of_sample[r->rows - count + i] - shift;
  ft_sort_doubles(r->sorted, count);
  for (size_t i = 3 * r->residuals / 4; i < r->residuals; i++)
    r->residual[i] =
        fmax(r->residual[i],
             ft_residual_interpolate(r->sorted, count, (double)i / (double)(r->residuals - 1)));
}

void ft_series_collect_residuals(struct ft_series *s, struct ft_series_work *r, double shift)
{
  struct ft_series_fit *fit = &s->fit;
  bool known = shift == 0 && r->residuals == r->rows && r->rows;

  if (!known && shift != 0) {
    r->residuals = ft_drift_residuals(r->out_of_sample, r->rows, r->residual);
  } else if (!known) {
    memcpy(r->residual, r->out_of_sample, r->rows * sizeof *r->residual);
    r->residuals = r->rows;
  }
  if (!known)
    ft_sort_doubles(r->residual, r->residuals);
  if (shift != fit->followed)
    shift_point_prediction(fit, shift - fit->followed);
  fit->followed = shift;
  if (shift < 0)
    cover_recent_runs(r, shift);
}
