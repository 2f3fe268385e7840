/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibrates the width of an app's 90 % interval by its past coverage. Pure. */
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

/*
 * Counts a cohort if OBSERVATION, completed and not yet learnt by MODEL, starts one: if the run was
 * submitted after the first run of the last cohort had ended. Runs submitted together share an
 * input or a morning and resemble each other more than later runs. MODEL's interval is widened for
 * few cohorts; where calibration has narrowed it, that narrowing is reduced as the widening
 * shrinks.
 */
void ft_interval_calibration_count_cohort(ft_model *model, const ft_observation *observation);

/*
 * Counts the cohorts again after runs have left MODEL's history, from starts and ends of the
 * remaining completed runs. The new number is at most the former one.
 */
void ft_interval_calibration_recount_cohorts(ft_model *model);

#endif
