/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fills an evaluator's baselines: simple predictors of the peak with the residuals of completed
 * runs, on which allocations are based. */
#ifndef FT_ONLINE_BASELINES_H
#define FT_ONLINE_BASELINES_H

#include "predictor/record/record.h"

/*
 * Fills the needs (log residuals) and baselines of MODEL's evaluator from the completed runs of its
 * history. LOG_RESIDUALS holds log(bytes / point prediction) of each run in the history, out of
 * sample if possible.
 *
 * The primary feature is the numeric feature in which neighbouring runs have the most similar
 * peaks, if any. A line is fitted to bytes over this feature, a power law to the logarithms of
 * both. Residuals are leave-one-out, computed from the leverage.
 */
void ft_baselines_fill(ft_model *model, const double *log_residuals);

/*
 * Adds the newest run of MODEL's history, if it completed, to needs and baselines. LOG_RESIDUAL is
 * its log(bytes / point prediction). The other needs are increased by SHIFT log units, because the
 * point prediction was shifted by -SHIFT. Primary feature and fits stay; a run that left the
 * history is removed. Returns false and changes nothing if the needs belong to other runs.
 */
bool ft_baselines_add(ft_model *model, double log_residual, double shift);

#endif
