/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How wide an app's 90 % interval is told: learnt from what it has covered. Pure. */
#ifndef FT_ONLINE_INTERVAL_CALIBRATION_H
#define FT_ONLINE_INTERVAL_CALIBRATION_H

#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

/*
 * A run that completed needed BYTES; ESTIMATE is what MODEL, which has not learnt it, tells of it
 * now. What was told when it was submitted stands in OBSERVATION's decision.
 */
void ft_interval_calibration_update(ft_model *model, const ft_observation *observation,
                                    const struct ft_estimate *estimate, double bytes);

/*
 * Before MODEL learns a run that completed: whether it begins a round. Runs submitted while others
 * were still going are of one round, of one input or one morning, and more alike than those to
 * come; a round begins with a run submitted after the first of the last round had ended. What was
 * narrowed because few rounds widen the interval is given back as they do so less.
 */
void ft_interval_calibration_count_cohort(ft_model *model, const ft_observation *observation);

/*
 * After runs have left MODEL's history: its rounds are those of the runs that completed and are
 * still there, as far as their beginnings and ends tell, and no more than there were.
 */
void ft_interval_calibration_recount_cohorts(ft_model *model);

#endif
