/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibrates the width of the 90 % interval of an app's quantity by its past coverage. Pure. */
#ifndef FT_ONLINE_INTERVAL_CALIBRATION_H
#define FT_ONLINE_INTERVAL_CALIBRATION_H

#include "predictor/estimate/estimate.h"
#include "predictor/estimate/quantity.h"
#include "predictor/record/record.h"

/*
 * Updates the width of EVALUATOR's interval after a completed run that had VALUE of QUANTITY.
 * ESTIMATE is EVALUATOR's estimate of this run, which it has not learnt yet; OBSERVATION's decision
 * has the interval shown at submission.
 */
void ft_interval_calibration_update(ft_evaluator *evaluator, const struct ft_quantity *quantity,
                                    const ft_observation *observation,
                                    const struct ft_estimate *estimate, double value);

/* Counts a cohort (learn/series/calibration.h) if OBSERVATION, completed and not yet learnt by
 * EVALUATOR after COMPLETED others, starts one. */
void ft_interval_calibration_count_cohort(ft_evaluator *evaluator, uint32_t completed,
                                          const ft_observation *observation);

#endif
