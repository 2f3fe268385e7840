/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibrates the width of an app's 90 % interval by its past coverage. Pure. */
#ifndef FT_ONLINE_INTERVAL_CALIBRATION_H
#define FT_ONLINE_INTERVAL_CALIBRATION_H

#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

/*
 * Updates the width after a completed run that needed BYTES. ESTIMATE is MODEL's current estimate
 * of the run, which MODEL has not learnt; the interval shown at submission is in OBSERVATION's
 * decision.
 */
void ft_interval_calibration_update(ft_model *model, const ft_observation *observation,
                                    const struct ft_estimate *estimate, double bytes);

/*
 * Counts a cohort if OBSERVATION, completed and not yet learnt by MODEL, starts one. Runs submitted
 * while others still run belong to one cohort: they share an input or a morning and resemble each
 * other more than later runs. A run submitted after the first run of the last cohort has ended
 * starts a new one. Narrowing that compensated for few cohorts is undone as their widening shrinks.
 */
void ft_interval_calibration_count_cohort(ft_model *model, const ft_observation *observation);

/*
 * Counts the cohorts again after runs have left MODEL's history: from starts and ends of the
 * remaining completed runs, at most the former number.
 */
void ft_interval_calibration_recount_cohorts(ft_model *model);

#endif
