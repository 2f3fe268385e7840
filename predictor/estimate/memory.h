/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Peak memory on one node, from an app's model and the features of a submission. */
#ifndef FT_ESTIMATE_MEMORY_H
#define FT_ESTIMATE_MEMORY_H

#include "predictor/core/error.h"
#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

/*
 * Evaluate MODEL for COUNT features. Pure: libc and libm only, no allocation,
 * under 20 microseconds. A feature the model does not know is ignored; one it
 * knows but is not given stands at its mean and widens the distribution.
 * A model whose every run was killed for its memory gives an estimate of 0 runs
 * above what they died at. Returns 0; -1 with ERR when the model has neither or
 * is not sound.
 */
int ft_estimate_memory(const ft_model *model, const ft_feature *features, size_t count,
                       struct ft_estimate *out, struct ft_error *err);

/* The same as if the runs to come were as alike as those that are known, few as these may be: what
 * an amount is reckoned from, for which being too small now and then costs less than being wide. */
int ft_estimate_memory_unwidened(const ft_model *model, const ft_feature *features, size_t count,
                                 struct ft_estimate *out, struct ft_error *err);

/* The logarithm of how much wider or narrower the 90 % interval is told than the runs show it, at
 * most. */
#define FT_MEMORY_MAX_LOG_INTERVAL_SCALE 4.0

/* Rounds of MODEL's completed runs (ft_interval_calibration_count_cohort), or their number where
 * rounds are not known. */
unsigned ft_memory_rounds(const ft_model *model);

/* How many times wider than ROUNDS of known runs show it the interval of those to come is told: the
 * first are more alike than those after them. 1 for ever more. */
double ft_memory_widening(unsigned rounds);

#endif
