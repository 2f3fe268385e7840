/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much a run is given at most before anything has failed. The ensemble's members think of runs
 * beyond all that were seen; what was seen tells better how far those go. Pure: libc and libm, no
 * allocation.
 */
#ifndef FT_ESTIMATE_ALLOCATION_CAP_H
#define FT_ESTIMATE_ALLOCATION_CAP_H

#include <stdbool.h>

#include "predictor/estimate/ensemble.h"

/* In bytes, where a failure costs FIXED bytes beside its own; infinite where E's runs tell nothing.
 */
double ft_allocation_cap(const ft_evaluator *e, const struct ft_allocation_query *question,
                         double fixed);

/* A run has needed more than its reach, or not: those after it go further, or less far. */
void ft_allocation_cap_update(ft_evaluator *e, bool exceeded);

#endif
