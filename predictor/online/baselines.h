/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Residuals of a model's completed runs around several predictors, the basis of allocations. */
#ifndef FT_ONLINE_BASELINES_H
#define FT_ONLINE_BASELINES_H

#include "predictor/record/record.h"

/* Smallest prediction of a baseline as a fraction of the smallest peak. Chosen by judgement. */
#define FT_BASELINE_LEAST_PART 0.5

/*
 * Fills the needs and baselines of MODEL's evaluator from the completed runs of its history. ABOVE
 * holds log(bytes / point prediction) of each run in the history, out of sample if possible.
 *
 * The primary feature is the number in which neighbouring runs have the most similar peaks, if any.
 * A line is fitted to bytes over it, a power law to the logarithms. Residuals are leave-one-out,
 * computed from the leverage.
 */
void ft_baselines_fill(ft_model *model, const double *above);

/*
 * Adds the newest run of the history if it completed; ABOVE is its log(bytes / point prediction).
 * The point prediction has been shifted by -SHIFT log units since the other needs were computed.
 * Primary feature and fits stay; runs that left the history are removed. Returns false and changes
 * nothing if the needs belong to other runs.
 */
bool ft_baselines_add(ft_model *model, double above, double shift);

#endif
