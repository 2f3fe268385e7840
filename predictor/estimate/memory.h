/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Peak memory on one node, from an app's model and the features of a submission. */
#ifndef FT_ESTIMATE_MEMORY_H
#define FT_ESTIMATE_MEMORY_H

#include "predictor/core/error.h"
#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

/*
 * Estimates the peak memory of a submission with COUNT FEATURES from MODEL into OUT. Features
 * without a column are ignored. A column without a feature takes its mean and widens the
 * distribution. If every run of MODEL was killed, the estimate has 0 runs and lies above the
 * limits that killed them. Pure: no allocation, libc and libm only, under 20 microseconds.
 * Returns 0; -1 on error (no run, or an invalid model) and fills ERR.
 */
int ft_estimate_memory(const ft_model *model, const ft_feature *features, size_t count,
                       struct ft_estimate *out, struct ft_error *err);

/* As ft_estimate_memory, without the widening for future cohorts. Allocations use this
 * distribution: an occasional failure costs less than a wide distribution. */
int ft_estimate_memory_unwidened(const ft_model *model, const ft_feature *features, size_t count,
                                 struct ft_estimate *out, struct ft_error *err);

/* Largest absolute log_interval_scale: the 90 % interval widens or narrows by at most e^4. Chosen
 * by judgement. */
#define FT_MEMORY_MAX_LOG_INTERVAL_SCALE 4.0

/* Returns the number of cohorts of MODEL's completed runs
 * (ft_interval_calibration_count_cohort), or the number of runs if cohorts are unknown. */
unsigned ft_memory_cohorts(const ft_model *model);

/* Returns the factor, above 1, by which the interval is widened after COHORTS cohorts. Runs of one
 * cohort resemble each other more than later runs. The factor tends to 1. */
double ft_memory_widening(unsigned cohorts);

#endif
