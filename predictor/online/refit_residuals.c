/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Residuals that run together in time: the centre follows them. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/sort.h"
#include "predictor/learn/residual_quantiles.h"
#include "predictor/online/refit_work.h"

enum {
  WINDOW = 5,      /* residuals that the centre follows when they drift */
  DRIFT_FIRST = 2, /* residuals before the first that is judged so */
  REMEMBERED = 40, /* runs whose needs outlast a centre that followed others down */
  DRIFT_RUNS = 10  /* least number of runs to see a drift in */
};

/* Following the last residuals has to reduce the error to this part. */
#define DRIFT_GAIN 0.95

/* The mean of up to WINDOW residuals before ROW, which is 1 or more. */
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
  const double *residual = r->honest;
  double still = 0, moving = 0;

  if (r->rows < DRIFT_RUNS)
    return 0;
  for (size_t i = DRIFT_FIRST; i < r->rows; i++) {
    still += ft_refit_cap_residual(residual[i]);
    moving += ft_refit_cap_residual(residual[i] - level_before(residual, i));
  }
  return moving < DRIFT_GAIN * still ? level_before(residual, r->rows) : 0;
}

static void move_centre(ft_evaluator *e, double by)
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
 * A centre that followed the runs down does not forget what the last REMEMBERED
 * needed: from the middle up no residual lies below theirs of the same rank.
 */
static void remember(struct ft_refit *r, double by)
{
  size_t count = r->rows < REMEMBERED ? r->rows : REMEMBERED;

  for (size_t i = 0; i < count; i++)
    r->sorted[i] = r->honest[r->rows - count + i] - by;
  ft_sort_doubles(r->sorted, count);
  for (size_t i = r->residuals / 2; i < r->residuals; i++)
    r->residual[i] =
        fmax(r->residual[i],
             ft_residual_between(r->sorted, count, (double)i / (double)(r->residuals - 1)));
}

void ft_refit_collect_residuals(ft_model *model, struct ft_refit *r, double by)
{
  ft_evaluator *e = &model->evaluator;
  bool known = by == 0 && r->residuals == r->rows && r->rows;

  if (!known)
    r->residuals = 0;
  for (size_t i = by != 0 ? DRIFT_FIRST : 0; i < r->rows && !known; i++)
    r->residual[r->residuals++] = r->honest[i] - (by != 0 ? level_before(r->honest, i) : 0);
  if (!known)
    ft_sort_doubles(r->residual, r->residuals);
  if (by != e->followed)
    move_centre(e, by - e->followed);
  e->followed = by;
  if (by < 0)
    remember(r, by);
}
