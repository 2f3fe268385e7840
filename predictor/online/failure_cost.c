/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/core/sort.h"
#include "predictor/online/failure_cost.h"

enum { RUNS = sizeof((ft_model *)NULL)->history / sizeof(ft_run) };

/* Maximum number of failed runs that count, the newest. Chosen by judgement. */
enum { MAX_FAILED = 20 };
/* Minimum number of completed runs of at least the same peak for a median of their run times.
 * Chosen by judgement. */
enum { MIN_COMPARABLE = 3 };
/* Weight of the prior in runs, each failed at the end of its run time. Chosen by judgement. */
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

/* Returns the median run time, in seconds, of completed runs that needed at least BYTES; 0 with
 * fewer than MIN_COUNT such runs. */
static double median_seconds(const ft_model *model, double bytes, size_t min_count)
{
  double seconds[RUNS];
  size_t count = 0;

  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *run = &model->history[i];

    if (!run->censored && run->runtime_seconds > 0 && run->bytes >= bytes)
      seconds[count++] = run->runtime_seconds;
  }
  return count && count >= min_count ? ft_sort_select_median(seconds, count) : 0;
}

void ft_failure_cost_estimate_time(ft_model *model)
{
  double sum = PRIOR_RUNS;
  size_t failed = 0;

  for (size_t i = model->history_count; i-- > 0 && failed < MAX_FAILED;) {
    const ft_run *run = &model->history[i];
    double whole;

    if (run->killed_by != FT_KILLED_BY_LIMIT || !(run->runtime_seconds > 0))
      continue;
    whole = median_seconds(model, run->bytes, MIN_COMPARABLE);
    if (!(whole > 0))
      whole = median_seconds(model, 0, 1);
    if (!(whole > 0))
      return;
    sum += fmin(run->runtime_seconds / whole, 1);
    failed++;
  }
  if (failed)
    model->evaluator.failure_time = sum / (double)(PRIOR_RUNS + failed);
}
