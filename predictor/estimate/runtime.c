/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/core/text.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/estimate/runtime.h"

/* Standard normal quantile at 0.95. */
#define SCORE95 1.644853626951

/* Fills CENTRE with the point prediction of the run time on the first platform, in microseconds,
 * and QUANTILE with the quantiles of its logarithm relative to CENTRE. */
static void predict_log_microseconds(const ft_performance *p, const ft_feature *features,
                                     size_t count, double quantile[FT_ESTIMATE_LEVELS],
                                     struct ft_point_prediction *centre)
{
  const ft_evaluator *e = &p->runtime_model;
  float x[sizeof p->columns / sizeof *p->columns];

  ft_columns_fill(p->columns, p->columns_count, features, count, x);
  ft_predict_point(e, x, p->columns_count, centre);
  (void)ft_evaluator_interval(e, &ft_quantities[FT_QUANTITY_RUNTIME], p->runs, centre, false,
                              quantile);
}

/* Fills OUT, except for name and runs, for PLATFORM, whose log_ratio is set. */
static void fill_platform_runtime(const ft_performance *p, const ft_platform_runs *platform,
                                  const double quantile[FT_ESTIMATE_LEVELS],
                                  const struct ft_point_prediction *centre,
                                  struct ft_platform_runtime *out)
{
  double widened[FT_ESTIMATE_LEVELS];

  out->speed = exp(-platform->log_ratio);
  out->speed_p05 = exp(-platform->log_ratio - SCORE95 * platform->deviation);
  out->speed_p95 = exp(-platform->log_ratio + SCORE95 * platform->deviation);
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    widened[i] = quantile[i];
  ft_interval_widen(widened, platform->deviation * platform->deviation);
  out->known = true;
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++) {
    double at = centre->log + platform->log_ratio + widened[i];

    /* 2^-60 to 2^60 microseconds, as in memory.c; decreasing quantiles are invalid */
    out->seconds.quantile[i] =
        exp(fmin(fmax(at, -60 * M_LN2), 60 * M_LN2)) / FT_RUNTIME_MICROSECONDS;
    out->known &= !i || out->seconds.quantile[i] >= out->seconds.quantile[i - 1];
  }
  out->seconds.runs = p->runs;
  out->seconds.extrapolated = centre->extrapolated;
  (void)ft_string_copy(p->runtime_model.method, out->seconds.method, sizeof out->seconds.method);
}

size_t ft_runtime_estimate(const ft_performance *performance, const ft_feature *features,
                           size_t count, struct ft_platform_runtime out[FT_RUNTIME_PLATFORMS])
{
  double quantile[FT_ESTIMATE_LEVELS];
  struct ft_point_prediction centre;

  if (!performance->runs || !performance->has_runtime_model || !performance->platforms_count)
    return 0;
  predict_log_microseconds(performance, features, count, quantile, &centre);
  for (size_t i = 0; i < performance->platforms_count; i++) {
    ft_platform_runs platform = performance->platforms[i];

    if (i == 0) {
      platform.has_log_ratio = true;
      platform.log_ratio = platform.deviation = 0;
    }
    platform.log_ratio =
        fmin(fmax(platform.log_ratio, -FT_RUNTIME_MAX_LOG_RATIO), FT_RUNTIME_MAX_LOG_RATIO);
    platform.deviation = fmin(platform.deviation, FT_RUNTIME_MAX_LOG_RATIO);
    out[i] = (struct ft_platform_runtime){ .platform = performance->platforms[i].platform,
                                           .runs = platform.runs };
    if (platform.has_log_ratio)
      fill_platform_runtime(performance, &platform, quantile, &centre, &out[i]);
  }
  return performance->platforms_count;
}
