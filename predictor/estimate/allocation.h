/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory allocation with the least expected waste, from a predictive distribution. */
#ifndef FT_ESTIMATE_ALLOCATION_H
#define FT_ESTIMATE_ALLOCATION_H

#include "predictor/core/error.h"
#include "predictor/estimate/ensemble.h"
#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

/*
 * Returns the allocation, in bytes, with the least expected waste. A successful attempt wastes the
 * memory that it did not use. A failed attempt costs FAILURE_PRICE times its allocation, and the
 * best larger allocation follows. FAILURE_PRICE is 0 or more; 1 is one full run time.
 * FAILED_BYTES is the limit at which this job ran out of memory; 0: it did not. The result then
 * exceeds FAILED_BYTES, and is at most the larger of 2 * FAILED_BYTES and estimate->max_bytes.
 * Pure; about 10 microseconds.
 */
double ft_allocation(const struct ft_estimate *estimate, double failed_bytes, double failure_price);

/*
 * Fills OUT with the ensemble's query for the COUNT FEATURES of a submission. FAILED_BYTES and
 * FAILURE_PRICE are as in ft_allocation.
 */
void ft_allocation_query_fill(const ft_model *model, const ft_feature *features, size_t count,
                              double failed_bytes, double failure_price,
                              struct ft_allocation_query *out);

/*
 * Estimates the memory of a submission with COUNT FEATURES into OUT, and its allocation into
 * *BYTES. The ensemble of MODEL sizes it. Before the ensemble has enough runs, and while the
 * largest run was killed, ft_small_sample_allocation or ft_allocation does. FAILED_BYTES and
 * FAILURE_PRICE are as in ft_allocation. Pure; under 20 microseconds. Returns 0; -1 on error and
 * fills ERR, as ft_estimate_memory.
 */
int ft_allocate_memory(const ft_model *model, const ft_feature *features, size_t count,
                       double failed_bytes, double failure_price, struct ft_estimate *out,
                       double *bytes, struct ft_error *err);

#endif
