/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/memory.h"
#include "predictor/learn/series/calibration.h"
#include "predictor/online/interval_calibration.h"

static bool is_within(double low, double high, double bytes)
{
  return bytes >= low && bytes <= high;
}

/* Returns whether the 90 % interval at submission is known, based on enough runs, and valid for
 * this run only (not for a job array). */
static bool has_submitted_interval(const ft_observation *o)
{
  const ft_decision *d = &o->submission.decision;

  return o->submission.has_decision && d->has_p05_bytes && d->has_p95_bytes &&
         d->runs >= FT_CALIBRATION_MIN_RUNS && !o->array_job_id;
}

void ft_interval_calibration_update(ft_model *model, const ft_observation *observation,
                                    const struct ft_estimate *estimate, double bytes)
{
  struct ft_calibration calibration = ft_memory_calibration(model);
  bool now =
      is_within(ft_estimate_quantile(estimate, 0.05), ft_estimate_quantile(estimate, 0.95), bytes);
  bool then = has_submitted_interval(observation)
                  ? is_within(observation->submission.decision.p05_bytes,
                              observation->submission.decision.p95_bytes, bytes)
                  : now;

  ft_calibration_update(&calibration, estimate->runs, then, now);
  model->evaluator.log_interval_scale = calibration.log_scale;
}

void ft_interval_calibration_count_cohort(ft_model *model, const ft_observation *observation)
{
  struct ft_calibration calibration = ft_memory_calibration(model);

  ft_calibration_count_cohort(&calibration, model->completed, ft_observation_submitted(observation),
                              observation->end_time);
  model->evaluator.log_interval_scale = calibration.log_scale;
  model->evaluator.cohorts = calibration.cohorts;
  model->evaluator.cohort_ended = calibration.cohort_ended;
}
