/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An app whose meaning changed: the same submission needs something else from some run on. */
#ifndef FT_ONLINE_CHANGE_POINT_H
#define FT_ONLINE_CHANGE_POINT_H

#include <stddef.h>

#include "predictor/record/record.h"

/*
 * How many runs of MODEL's history, the oldest, the app has left behind; 0: none. ABOVE: of each
 * run in the history, log(bytes / the evaluator's centre), whether or not that knew it: one centre
 * for all takes from all needs what their features explain. A run contradicts those before it where
 * it lies outside what the 20 nearest to it (in the place column, else in time) needed beside the
 * centre, by more than half of what these differ by. Five of the last six have to, one of them
 * upwards; where the need only fell, 34 of the last 40, for what was needed is not forgotten as
 * soon. The first that does is the first that counts from then on. Pure; some 20 microseconds where
 * the newest runs are like the others.
 */
size_t ft_change_point_find(const ft_model *model, const double *above);

#endif
