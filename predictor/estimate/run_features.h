/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Run features: inputs of the cross-platform model, computed from the measurements of a run.
 * Source: Table I of Nichols, Yeom and Bhatele, "Predicting Cross-Platform Relative Performance"
 * (2022), without quantities that the agent does not measure.
 */
#ifndef FT_ESTIMATE_RUN_FEATURES_H
#define FT_ESTIMATE_RUN_FEATURES_H

#include "predictor/record/record.h"

/* Number of features; at most max_count of ft_timed_run.run_features. */
enum { FT_RUN_FEATURES = 26 };

/* Names of the features, by index. */
extern const char *const ft_run_features_names[FT_RUN_FEATURES];

/* Fills OUT with the features of OBSERVATION; NAN: not measured. */
void ft_run_features_fill(const ft_observation *observation, float out[FT_RUN_FEATURES]);

#endif
