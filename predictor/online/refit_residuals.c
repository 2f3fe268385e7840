/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shifts the point prediction by the mean of recent residuals, if residuals are autocorrelated. */
#include "config.h"

#include <math.h>

#include "predictor/core/sort.h"
#include "predictor/learn/residual_quantiles.h"
#include "predictor/online/refit_work.h"

/* All constants here were chosen by judgement. */
/* Number of recent residuals whose mean is the shift. */
enum { WINDOW = 5 };
/* Number of residuals before the first that is compared with the mean of its predecessors. */
enum { FIRST_COMPARED = 2 };
/* Number of newest runs that the upper quantiles cover after a shift down. */
enum { COVERED_RUNS = 40 };
/* Minimum number of runs to detect drift. */
enum { MIN_RUNS = 10 };
/* Maximum ratio of the error with shifts to the error without, to shift. */
#define DRIFT_GAIN 0.95

/* Returns the mean of the last WINDOW residuals before ROW, or of all if fewer; ROW is at least 1.
 */
static double recent_mean(const double *residual, size_t row)
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
  double error_without = 0, error_with = 0;

  if (r->rows < MIN_RUNS)
    return 0;
  for (size_t i = FIRST_COMPARED; i < r->rows; i++) {
    error_without += ft_refit_cap_residual(residual[i]);
    error_with += ft_refit_cap_residual(residual[i] - recent_mean(residual, i));
  }
  return error_with < DRIFT_GAIN * error_without ? recent_mean(residual, r->rows) : 0;
}

/* Shifts E's point prediction by SHIFT log units. */
static void shift_point_prediction(ft_evaluator *e, double shift)
{
  double factor = exp(shift);

  e->equation_shift += e->by_equation ? shift : 0;
  if (e->log_target) {
    e->intercept += shift;
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
 * Raises the upper half of the residuals to at least the quantiles of the last COVERED_RUNS runs,
 * so that an estimate that was shifted down by small runs still covers the larger ones before them.
 */
static void cover_recent_runs(struct ft_refit *r, double shift)
{
  size_t count = r->rows < COVERED_RUNS ? r->rows : COVERED_RUNS;

  for (size_t i = 0; i < count; i++)
    r->sorted[i] = r->out_of_sample[r->rows - count + i] - shift;
  ft_sort_doubles(r->sorted, count);
  for (size_t i = r->residuals / 2; i < r->residuals; i++)
    r->residual[i] =
        fmax(r->residual[i],
             ft_residual_interpolate(r->sorted, count, (double)i / (double)(r->residuals - 1)));
}

void ft_refit_collect_residuals(ft_model *model, struct ft_refit *r, double shift)
{
  ft_evaluator *e = &model->evaluator;
  bool known = shift == 0 && r->residuals == r->rows && r->rows;

  if (!known)
    r->residuals = 0;
  for (size_t i = shift != 0 ? FIRST_COMPARED : 0; i < r->rows && !known; i++)
    r->residual[r->residuals++] =
        r->out_of_sample[i] - (shift != 0 ? recent_mean(r->out_of_sample, i) : 0);
  if (!known)
    ft_sort_doubles(r->residual, r->residuals);
  if (shift != e->followed)
    shift_point_prediction(e, shift - e->followed);
  e->followed = shift;
  if (shift < 0)
    cover_recent_runs(r, shift);
}
