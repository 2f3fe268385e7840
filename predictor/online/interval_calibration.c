/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/point_prediction.h"
#include "predictor/online/interval_calibration.h"

static bool is_within(double low, double high, double value)
{
  return value >= low && value <= high;
}

/* Sets QUANTILE to those of QUANTITY at submission. Returns whether its 90 % interval is known,
 * based on enough runs, and valid for this run only (not for a job array). */
static bool has_submitted_interval(const struct ft_quantity *quantity, const ft_observation *o,
                                   double quantile[FT_QUANTITY_LEVELS])
{
  (void)ft_quantity_predicted(quantity, o, quantile);
  return o->submission.has_decision && isfinite(quantile[0]) && isfinite(quantile[2]) &&
         o->submission.decision.runs >= FT_CALIBRATION_MIN_RUNS && !o->array_job_id;
}

void ft_interval_calibration_update(ft_evaluator *e, const struct ft_quantity *quantity,
                                    const ft_observation *o, const struct ft_estimate *estimate,
                                    double value)
{
  struct ft_calibration calibration = ft_evaluator_calibration(e);
  double submitted[FT_QUANTITY_LEVELS] = { NAN, NAN, NAN };
  bool now =
      is_within(ft_estimate_quantile(estimate, 0.05), ft_estimate_quantile(estimate, 0.95), value);
  bool then = has_submitted_interval(quantity, o, submitted)
                  ? is_within(submitted[0], submitted[2], value)
                  : now;

  ft_calibration_update(&calibration, estimate->runs, then, now);
  e->log_interval_scale = calibration.log_scale;
}

void ft_interval_calibration_count_cohort(ft_evaluator *e, uint32_t completed,
                                          const ft_observation *o)
{
  struct ft_calibration calibration = ft_evaluator_calibration(e);

  ft_calibration_count_cohort(&calibration, completed, ft_observation_submitted(o), o->end_time);
  e->log_interval_scale = calibration.log_scale;
  e->cohorts = calibration.cohorts;
  e->cohort_ended = calibration.cohort_ended;
}
