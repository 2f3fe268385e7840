/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/core/sort.h"
#include "predictor/online/failure_cost.h"

/* Maximum number of failed runs that count, the newest. Half and twice were compared. */
enum { MAX_FAILED = 20 };
/* Minimum number of completed runs of at least the same peak for a median of their run times. Half
 * and twice were compared. */
enum { MIN_COMPARABLE = 3 };
/* Weight of the prior in runs, each failed at the end of its run time. Half and twice were
 * compared. */
enum { PRIOR_RUNS = 3 };

/* Smallest stored cost; 0 in a model file stands for the default, 1. */
#define MIN_COST 1e-3

static double stored_cost(double cost)
{
  return fmax(cost, MIN_COST);
}

bool ft_failure_cost_equals(const ft_model *model, double cost)
{
  double own = model->evaluator.failure_price;

  return (own > 0 ? own : 1) == stored_cost(cost);
}

void ft_failure_cost_set(ft_model *model, double cost)
{
  ft_evaluator *e = &model->evaluator;

  if (!ft_failure_cost_equals(model, cost)) {
    e->losses_count = 0;
    e->loss_updates = 0;
  }
  e->failure_price = stored_cost(cost);
}

/* Returns the median run time, in seconds, of completed runs that needed at least VALUE; 0 with
 * fewer than MIN_COUNT such runs. */
static double median_seconds(const struct ft_series *s, double value, size_t min_count)
{
  double seconds[FT_SERIES_RUNS];
  size_t count = 0;

  for (size_t i = 0; i < s->runs; i++) {
    const struct ft_series_run *run = &s->run[i];

    if (!run->censored && run->seconds > 0 && run->value >= value)
      seconds[count++] = run->seconds;
  }
  return count && count >= min_count ? ft_sort_select_median(seconds, count) : 0;
}

void ft_failure_cost_estimate_time(const struct ft_series *s, ft_evaluator *evaluator)
{
  double sum = PRIOR_RUNS;
  size_t failed = 0;

  for (size_t i = s->runs; i-- > 0 && failed < MAX_FAILED;) {
    const struct ft_series_run *run = &s->run[i];
    double whole;

    if (!run->exceeded || !(run->seconds > 0))
      continue;
    whole = median_seconds(s, run->value, MIN_COMPARABLE);
    if (!(whole > 0))
      whole = median_seconds(s, 0, 1);
    if (!(whole > 0))
      return;
    sum += fmin(run->seconds / whole, 1);
    failed++;
  }
  if (failed)
    evaluator->failure_time = sum / (double)(PRIOR_RUNS + failed);
}
