/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Peak memory on one node, from an app's model and the features of a submission. */
#ifndef FT_ESTIMATE_MEMORY_H
#define FT_ESTIMATE_MEMORY_H

#include "predictor/core/error.h"
#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

/*
 * Estimates the peak memory, in bytes, of a submission with COUNT FEATURES from MODEL into OUT.
 * Features without a column in MODEL are ignored. If a column's feature is missing, the column's
 * mean is used and the distribution widened. If every run of MODEL was killed, the estimate has
 * runs = 0 and lies above the limits that killed them. Pure: needs libc and libm only, allocates
 * nothing; under 20 microseconds. Returns 0; -1 and fills ERR without a run or if MODEL is invalid.
 */
int ft_estimate_memory(const ft_model *model, const ft_feature *features, size_t count,
                       struct ft_estimate *out, struct ft_error *err);

/* As ft_estimate_memory, without the widening for future cohorts (ft_memory_widening). Allocations
 * use this distribution: occasional failures cost less than larger allocations of all runs. */
int ft_estimate_memory_unwidened(const ft_model *model, const ft_feature *features, size_t count,
                                 struct ft_estimate *out, struct ft_error *err);

/* Maximum absolute value of log_interval_scale: the calibration changes the width of the 90 %
 * interval by a factor of at most e^4. Chosen by judgement. */
#define FT_MEMORY_MAX_LOG_INTERVAL_SCALE 4.0

/* Returns the number of cohorts of MODEL's completed runs
 * (ft_interval_calibration_count_cohort), or the number of runs if cohorts are unknown. */
unsigned ft_memory_cohorts(const ft_model *model);

/* Returns the factor, above 1, by which the 90 % interval of a model with COHORTS cohorts is
 * widened, because runs of one cohort resemble each other. The factor tends to 1 as COHORTS
 * grows. */
double ft_memory_widening(unsigned cohorts);

#endif
