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

/* As ft_estimate_memory, without the widening for future cohorts (ft_calibration_widening).
 * Allocations use this distribution: occasional failures cost less than larger allocations of all
 * runs. */
int ft_estimate_memory_unwidened(const ft_model *model, const ft_feature *features, size_t count,
                                 struct ft_estimate *out, struct ft_error *err);

/* Returns the number of cohorts of MODEL's completed runs. */
unsigned ft_memory_cohorts(const ft_model *model);

#endif
