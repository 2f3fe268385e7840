/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/core/sort.h"
#include "predictor/online/failure_cost.h"

enum {
  RUNS = sizeof((ft_model *)NULL)->history / sizeof(ft_run),
  LAST = 20,     /* failed runs that are looked at */
  LIKE_IT = 3,   /* least number of completed runs that needed as much */
  IMAGINED = 3   /* runs that failed at their end */
};

/* 0 in a model means 1; what is free still has to be told from that. */
#define LEAST_PRICE 1e-3

static double in_model(double price)
{
  return fmax(price, LEAST_PRICE);
}

bool ft_failure_cost_equals(const ft_model *model, double price)
{
  double own = model->evaluator.failure_price;

  return (own > 0 ? own : 1) == in_model(price);
}

void ft_failure_cost_set(ft_model *model, double price)
{
  ft_evaluator *e = &model->evaluator;

  if (!ft_failure_cost_equals(model, price)) {
    e->losses_count = 0;
    e->loss_updates = 0;
  }
  e->failure_price = in_model(price);
}

/* The median run time of completed runs that needed BYTES or more; 0: fewer than LEAST of them. */
static double median_seconds(const ft_model *model, double bytes, size_t least)
{
  double seconds[RUNS];
  size_t count = 0;

  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *run = &model->history[i];

    if (!run->censored && run->runtime_seconds > 0 && run->bytes >= bytes)
      seconds[count++] = run->runtime_seconds;
  }
  return count && count >= least ? ft_sort_select_median(seconds, count) : 0;
}

void ft_failure_cost_estimate_time(ft_model *model)
{
  double sum = IMAGINED;
  size_t failed = 0;

  for (size_t i = model->history_count; i-- > 0 && failed < LAST;) {
    const ft_run *run = &model->history[i];
    double whole;

    if (run->killed_by != FT_KILLED_BY_LIMIT || !(run->runtime_seconds > 0))
      continue;
    whole = median_seconds(model, run->bytes, LIKE_IT);
    if (!(whole > 0))
      whole = median_seconds(model, 0, 1);
    if (!(whole > 0))
      return;
    sum += fmin(run->runtime_seconds / whole, 1);
    failed++;
  }
  if (failed)
    model->evaluator.failure_time = sum / (double)(IMAGINED + failed);
}
