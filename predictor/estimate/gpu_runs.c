/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/order.h"
#include "predictor/core/text.h"
#include "predictor/estimate/gpu_runs.h"
#include "predictor/learn/spread.h"

/* The residual that is imagined beside those seen, and the least standard deviation, of a
 * logarithm: runs that were alike may still differ by so much. */
#define PRIOR 0.2
#define LEAST 0.02

enum { RUNS = sizeof((ft_model *)0)->history / sizeof *((ft_model *)0)->history };

bool ft_gpu_runs_estimate(const ft_model *model, struct ft_estimate *estimate)
{
  double logs[RUNS], spread[FT_ESTIMATE_LEVELS], middle;
  size_t count = 0;

  *estimate = (struct ft_estimate){ .runs = 0 };
  for (pb_size_t i = 0; i < model->history_count; i++) {
    const ft_run *run = &model->history[i];

    if (run->censored || run->gpu_bytes <= 0)
      continue;
    logs[count++] = log((double)run->gpu_bytes);
    estimate->max_bytes = fmax(estimate->max_bytes, (double)run->gpu_bytes);
  }
  if (!count)
    return false;
  qsort(logs, count, sizeof *logs, ft_order_rising);
  middle = ft_spread_between(logs, count, 0.5);
  for (size_t i = 0; i < count; i++)
    logs[i] -= middle;
  ft_spread_quantiles(logs, count, (unsigned)count, PRIOR, LEAST, ft_estimate_levels,
                      FT_ESTIMATE_LEVELS, spread);
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    estimate->quantile[i] = exp(middle + spread[i]);
  estimate->runs = (unsigned)count;
  (void)ft_string_copy("quantiles", estimate->method, sizeof estimate->method);
  return true;
}
