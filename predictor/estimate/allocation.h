/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a predictive distribution to the allocation that is expected to waste least. */
#ifndef FT_ESTIMATE_ALLOCATION_H
#define FT_ESTIMATE_ALLOCATION_H

#include "predictor/estimate/estimate.h"

/*
 * The allocation, in bytes, that minimises what is expected to be wasted: an
 * attempt that succeeds wastes what it had and did not need; one that fails
 * costs FAILURE_PRICE (0 or more; 1: as much time as a run) times all that it had,
 * and is followed by the best of the larger allocations, and so on. Above
 * FAILED_BYTES, at which this job has already run out of memory; 0: it has not.
 * Pure, about 10 microseconds.
 */
double ft_allocation(const struct ft_estimate *estimate, double failed_bytes, double failure_price);

#endif
