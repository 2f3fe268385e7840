/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Detects a change point: the run from which on the same submission needs another amount of memory.
 * Pure. */
#ifndef FT_ONLINE_CHANGE_POINT_H
#define FT_ONLINE_CHANGE_POINT_H

#include <stddef.h>

#include "predictor/record/record.h"

/*
 * Returns the number of oldest runs in MODEL's history before its change point; 0: no change point.
 * LOG_RESIDUALS holds log(bytes / point prediction) for each run of the history. In-sample
 * residuals serve too, since the prediction only removes what the features explain.
 *
 * A run is an outlier if it lies outside the range of the 20 earlier runs nearest in the primary
 * feature (in time without one), by more than half of that range. A change point needs 5 of the
 * last 6 runs as outliers, at least one of them upwards. If memory only fell, it needs 34 of the
 * last 40, because a failure costs more than wasted memory. The first outlier is the change point.
 * Takes some 20 microseconds without a change.
 */
size_t ft_change_point_find(const ft_model *model, const double *log_residuals);

#endif
