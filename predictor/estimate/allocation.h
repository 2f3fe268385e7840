/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a predictive distribution to the allocation that is expected to waste least. */
#ifndef FT_ESTIMATE_ALLOCATION_H
#define FT_ESTIMATE_ALLOCATION_H

#include "predictor/core/error.h"
#include "predictor/estimate/ensemble.h"
#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

/*
 * The allocation, in bytes, that minimises what is expected to be wasted: an
 * attempt that succeeds wastes what it had and did not need; one that fails
 * costs FAILURE_PRICE (0 or more; 1: as much time as a run) times all that it
 * had, and is followed by the best of the larger allocations, and so on. Above
 * FAILED_BYTES, at which this job has already run out of memory, but at most twice that, or the
 * most that a run has ever used; 0: it has not. Pure, about 10 microseconds.
 */
double ft_allocation(const struct ft_estimate *estimate, double failed_bytes, double failure_price);

/* What the ensemble of MODEL is asked for COUNT features of a submission. */
void ft_allocation_query_fill(const ft_model *model, const ft_feature *features, size_t count,
                              double failed_bytes, double failure_price,
                              struct ft_allocation_query *out);

/*
 * The same for COUNT features of a submission, from MODEL: what its ensemble agrees on. While
 * there are too few runs for that, or one was killed and none has completed
 * above it, as above. A failed attempt is reckoned to last as
 * long as the model has seen them last. OUT is the estimate. Pure, under 20 microseconds. Returns
 * as ft_estimate_memory.
 */
int ft_allocate_memory(const ft_model *model, const ft_feature *features, size_t count,
                       double failed_bytes, double failure_price, struct ft_estimate *out,
                       double *bytes, struct ft_error *err);

#endif
