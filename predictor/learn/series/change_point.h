/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Detects a change point: the run from which on equal runs have another value. Pure. */
#ifndef FT_LEARN_SERIES_CHANGE_POINT_H
#define FT_LEARN_SERIES_CHANGE_POINT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns the number of runs before the change point of COUNT runs, oldest first; 0: no change
 * point. LOG_RESIDUAL: log(value / point prediction) of each. In-sample residuals serve too, since
 * the prediction only removes what the features explain. COVARIATE: log1p(|primary feature|) of
 * each; -1: none.
 *
 * A run is an outlier if it lies outside the range of the 20 earlier runs nearest in the primary
 * feature (in time without one), by more than half of that range. A change point needs 5 of the
 * last 6 runs as outliers, at least one of them upwards. If values only fell, it needs 34 of the
 * last 40, because too small a prediction costs more than too large a one. With SHIFTS the last 3
 * of at least 8 runs are enough if all are outliers to one side. The first outlier is the change
 * point. Takes some 20 microseconds without a change.
 */
size_t ft_change_point_find(const double *log_residual, const float *covariate, size_t count,
                            bool shifts);

#endif
