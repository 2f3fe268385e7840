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
 * next attempt of the retry sequence follows. FAILURE_PRICE is 0 or more; at 1 a failure costs its
 * allocation for the full run time. FAILED_BYTES is the limit at which this job ran out of memory;
 * 0: no failure. After a failure the result is above FAILED_BYTES, and at most the larger of
 * 2 * FAILED_BYTES and estimate->max_value. Pure; about 10 microseconds.
 */
double ft_allocation(const struct ft_estimate *estimate, double failed_bytes, double failure_price);

/*
 * Fills OUT, the input of the ensemble, for a submission with COUNT FEATURES. FAILED_BYTES and
 * FAILURE_PRICE are as in struct ft_allocation_query. Amounts of the query, and of the evaluator,
 * are per task; returns the number of tasks, 1 if they are not.
 */
double ft_allocation_query_fill(const ft_model *model, const ft_feature *features, size_t count,
                                double failed_bytes, double failure_price,
                                struct ft_allocation_query *out);

/*
 * Estimates the peak memory of a submission with COUNT FEATURES into OUT, and its allocation, in
 * bytes, into *BYTES. The allocation comes from the ensemble of MODEL. If the ensemble has too few
 * runs, or the model has a bound (has_bound_log), it comes from ft_small_sample_allocation or
 * ft_allocation. FAILED_BYTES and FAILURE_PRICE are as in struct ft_allocation_query. Pure; under
 * 20 microseconds. Returns 0; -1 and fills ERR if ft_estimate_memory fails.
 */
int ft_allocate_memory(const ft_model *model, const ft_feature *features, size_t count,
                       double failed_bytes, double failure_price, struct ft_estimate *out,
                       double *bytes, struct ft_error *err);

#endif
