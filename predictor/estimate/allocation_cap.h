/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Upper limit of a first allocation, in bytes, from the largest peaks of the runs. Ensemble members
 * extrapolate beyond them. Pure: libc and libm, no allocation.
 */
#ifndef FT_ESTIMATE_ALLOCATION_CAP_H
#define FT_ESTIMATE_ALLOCATION_CAP_H

#include <stdbool.h>

#include "predictor/estimate/ensemble.h"

/* Returns the limit in bytes of a first allocation for QUESTION; infinite if E's runs give none.
 * FIXED: cost of a failure in bytes, beyond the failed attempt itself. */
double ft_allocation_cap(const ft_evaluator *e, const struct ft_allocation_query *question,
                         double fixed);

/* Raises the cap of E if a run EXCEEDED it, and lowers it slightly otherwise. */
void ft_allocation_cap_update(ft_evaluator *e, bool exceeded);

#endif
