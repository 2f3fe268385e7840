/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cap: upper limit of a first allocation, from the largest peaks of the runs. Ensemble members may
 * extrapolate further. Pure: needs libc and libm only, allocates nothing.
 */
#ifndef FT_ESTIMATE_ALLOCATION_CAP_H
#define FT_ESTIMATE_ALLOCATION_CAP_H

#include <stdbool.h>

#include "predictor/estimate/ensemble.h"

/* Returns the cap, in bytes, on a first allocation for QUERY; INFINITY if E's runs give no cap.
 * FIXED: cost of a failure, in bytes, in addition to the memory of the failed attempt. */
double ft_allocation_cap(const ft_evaluator *e, const struct ft_allocation_query *query,
                         double fixed);

/* Adapts the cap of E after a run: raises the cap if the run EXCEEDED it, else lowers it by
 * less. */
void ft_allocation_cap_update(ft_evaluator *e, bool exceeded);

#endif
