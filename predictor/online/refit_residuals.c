/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Autocorrelated residuals: the point prediction follows the recent ones. */
#include "config.h"

#include <math.h>

#include "predictor/core/sort.h"
#include "predictor/learn/residual_quantiles.h"
#include "predictor/online/refit_work.h"

/* All constants here were chosen by judgement. */
/* Recent residuals whose mean is followed. */
enum { WINDOW = 5 };
/* Residuals before the first that is compared. */
enum { FIRST_COMPARED = 2 };
/* Newest runs that the upper quantiles cover after a shift down. */
enum { COVERED_RUNS = 40 };
/* Fewest runs to detect drift. */
enum { MIN_RUNS = 10 };
/* Largest ratio of the error with to that without following, to follow. */
#define DRIFT_GAIN 0.95

/* Returns the mean of up to WINDOW residuals before ROW, which is at least 1. */
static double level_before(const double *residual, size_t row)
{
  size_t count = row < WINDOW ? row : WINDOW;
  double sum = 0;

  for (size_t k = row - count; k < row; k++)
    sum += residual[k];
  return sum / (double)count;
}

double ft_refit_drift(const struct ft_refit *r)
{
  const double *residual = r->out_of_sample;
  double still = 0, moving = 0;

  if (r->rows < MIN_RUNS)
    return 0;
  for (size_t i = FIRST_COMPARED; i < r->rows; i++) {
    still += ft_refit_cap_residual(residual[i]);
    moving += ft_refit_cap_residual(residual[i] - level_before(residual, i));
  }
  return moving < DRIFT_GAIN * still ? level_before(residual, r->rows) : 0;
}

/* Shifts the point prediction by BY log units. */
static void shift_point_prediction(ft_evaluator *e, double by)
{
  double factor = exp(by);

  e->equation_shift += e->by_equation ? by : 0;
  if (e->log_target) {
    e->intercept += by;
    return;
  }
  e->intercept *= factor;
  for (size_t i = 0; i < e->terms_count; i++) {
    ft_term *t = &e->terms[i];

    t->coefficient *= factor;
    for (size_t l = 0; l < t->levels_count; l++)
      t->levels[l] *= factor;
    if (t->levels_count)
      t->scale *= factor;
  }
}

/*
 * Raises the upper half of the residuals to the quantiles of the last COVERED_RUNS runs, so that a
 * point prediction that followed smaller runs still covers the larger ones.
 */
static void cover_recent_runs(struct ft_refit *r, double by)
{
  size_t count = r->rows < COVERED_RUNS ? r->rows : COVERED_RUNS;

  for (size_t i = 0; i < count; i++)
    r->sorted[i] = r->out_of_sample[r->rows - count + i] - by;
  ft_sort_doubles(r->sorted, count);
  for (size_t i = r->residuals / 2; i < r->residuals; i++)
    r->residual[i] =
        fmax(r->residual[i],
             ft_residual_interpolate(r->sorted, count, (double)i / (double)(r->residuals - 1)));
}

void ft_refit_collect_residuals(ft_model *model, struct ft_refit *r, double by)
{
  ft_evaluator *e = &model->evaluator;
  bool known = by == 0 && r->residuals == r->rows && r->rows;

  if (!known)
    r->residuals = 0;
  for (size_t i = by != 0 ? FIRST_COMPARED : 0; i < r->rows && !known; i++)
    r->residual[r->residuals++] =
        r->out_of_sample[i] - (by != 0 ? level_before(r->out_of_sample, i) : 0);
  if (!known)
    ft_sort_doubles(r->residual, r->residuals);
  if (by != e->followed)
    shift_point_prediction(e, by - e->followed);
  e->followed = by;
  if (by < 0)
    cover_recent_runs(r, by);
}
