/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small-sample model: memory of an app with 1 to 4 runs. */
#ifndef FT_ESTIMATE_SMALL_SAMPLE_H
#define FT_ESTIMATE_SMALL_SAMPLE_H

#include <stdbool.h>

#include "predictor/estimate/ensemble.h"
#include "predictor/record/record.h"

/* Returns whether E has at least 1 run and fewer than FT_ENSEMBLE_MIN_RUNS. */
bool ft_small_sample_applies(const ft_evaluator *e);

/*
 * Returns the allocation, in bytes, with the least expected waste for QUERY under the posterior
 * predictive distribution of the peak. log(peak) is modelled by Bayesian linear regression over the
 * covariate with a normal-inverse-gamma prior, so its posterior predictive is Student's t. E must
 * satisfy ft_small_sample_applies. Pure; about 10 microseconds.
 */
double ft_small_sample_allocation(const ft_evaluator *e, const struct ft_allocation_query *query);

#endif
