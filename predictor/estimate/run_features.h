/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What of a run tells how fast it would be elsewhere: Table I of Nichols, Yeom and Bhatele,
 * "Predicting Cross-Platform Relative Performance" (2022), as far as the agent measures it.
 */
#ifndef FT_ESTIMATE_RUN_FEATURES_H
#define FT_ESTIMATE_RUN_FEATURES_H

#include "predictor/record/record.h"

/* ft_timed_run.run_features: never more than it has room for. */
enum { FT_RUN_FEATURES = 26 };

/* Their names, as columns of a table. */
extern const char *const ft_run_features_names[FT_RUN_FEATURES];

/* What OBSERVATION has of them, into OUT; NAN where it was not measured, never 0 for that. */
void ft_run_features_fill(const ft_observation *observation, float out[FT_RUN_FEATURES]);

#endif
