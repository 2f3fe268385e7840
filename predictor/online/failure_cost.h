/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cost of a failed attempt: the site's failure cost, and the time until the failure. */
#ifndef FT_ONLINE_FAILURE_COST_H
#define FT_ONLINE_FAILURE_COST_H

#include "predictor/learn/series/series.h"
#include "predictor/record/record.h"

/* Sets the failure cost under which MODEL's ensemble members are compared. A changed cost resets
 * their losses. */
void ft_failure_cost_set(ft_model *model, double cost);

/* Returns whether MODEL uses the failure cost COST. */
bool ft_failure_cost_equals(const ft_model *model, double cost);

/*
 * Sets failure_time of EVALUATOR from the runs of SERIES: the mean fraction of the run time after
 * which a run is out of memory, over the last 20 such runs. The full time is the median of the
 * completed runs that needed at least as much memory, or of all completed runs if fewer than 3 did.
 * Three pseudo-runs that failed at the end of their run time are the prior. Without failures
 * nothing changes.
 */
void ft_failure_cost_estimate_time(const struct ft_series *series, ft_evaluator *evaluator);

#endif
