/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Run features for the cross-platform model: Table I of Nichols, Yeom and Bhatele, "Predicting
 * Cross-Platform Relative Performance" (2022), as far as the agent measures it.
 */
#ifndef FT_ESTIMATE_RUN_FEATURES_H
#define FT_ESTIMATE_RUN_FEATURES_H

#include "predictor/record/record.h"

/* Number of features; at most max_count of ft_timed_run.run_features. */
enum { FT_RUN_FEATURES = 26 };

/* Names of the features, as columns of a table. */
extern const char *const ft_run_features_names[FT_RUN_FEATURES];

/* Fills OUT with the features of OBSERVATION; NAN: not measured. */
void ft_run_features_fill(const ft_observation *observation, float out[FT_RUN_FEATURES]);

#endif
