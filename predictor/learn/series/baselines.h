/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fills a fit's baselines: simple predictors with the residuals of completed runs, on which
 * allocations are based. */
#ifndef FT_LEARN_SERIES_BASELINES_H
#define FT_LEARN_SERIES_BASELINES_H

#include "predictor/learn/series/series.h"

/*
 * Fills the needs (log residuals) and baselines of SERIES's fit from its completed runs.
 * LOG_RESIDUALS holds log(value / point prediction) of each run, out of sample if possible.
 *
 * The primary column is the numeric column in which neighbouring runs have the most similar values,
 * if any. A line is fitted to the values over this column, a power law to the logarithms of both.
 * Residuals are leave-one-out, computed from the leverage.
 */
void ft_baselines_fill(struct ft_series *series, const double *log_residuals);

/*
 * Adds the newest run of SERIES, if it completed, to needs and baselines. LOG_RESIDUAL is its
 * log(value / point prediction). The other needs are increased by SHIFT log units, because the
 * point prediction was shifted by -SHIFT. Primary column and fits stay; a run that left the series
 * is removed: LEFT is the index that it had. Returns false and changes nothing if the needs belong
 * to other runs.
 */
bool ft_baselines_add(struct ft_series *series, size_t left, double log_residual, double shift);

#endif
