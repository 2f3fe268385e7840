/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a failed attempt of an app costs: by the site's price, and by when it fails. */
#ifndef FT_ONLINE_FAILURE_COST_H
#define FT_ONLINE_FAILURE_COST_H

#include "predictor/record/record.h"

/* The price that MODEL's members are judged by; where it was another, what they lost is forgotten.
 */
void ft_failure_cost_set(ft_model *model, double price);

/* Whether it is PRICE. */
bool ft_failure_cost_equals(const ft_model *model, double price);

/*
 * Put into MODEL's evaluator at which part of its time a run of it runs out of memory: of the last
 * 20 that did, the run time as a part of the median one of those that completed and needed no
 * less (of all, where they are fewer than 3). Three imagined runs failed at their end, so that a
 * few failures move it but little. As it was where none failed.
 */
void ft_failure_cost_estimate_time(ft_model *model);

#endif
