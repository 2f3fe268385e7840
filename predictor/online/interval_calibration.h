/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibrates the width of an app's 90 % interval of memory by its past coverage. Pure. */
#ifndef FT_ONLINE_INTERVAL_CALIBRATION_H
#define FT_ONLINE_INTERVAL_CALIBRATION_H

#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

/*
 * Updates the width of MODEL's interval after a completed run with a peak of BYTES. ESTIMATE is
 * MODEL's estimate of this run, which MODEL has not learnt yet; OBSERVATION's decision has the
 * interval shown at submission.
 */
void ft_interval_calibration_update(ft_model *model, const ft_observation *observation,
                                    const struct ft_estimate *estimate, double bytes);

/* Counts a cohort (learn/series/calibration.h) if OBSERVATION, completed and not yet learnt by
 * MODEL, starts one. */
void ft_interval_calibration_count_cohort(ft_model *model, const ft_observation *observation);

#endif
