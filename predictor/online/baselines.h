/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the allocation is reckoned from: a model's completed runs, seen around several centres. */
#ifndef FT_ONLINE_BASELINES_H
#define FT_ONLINE_BASELINES_H

#include "predictor/record/record.h"

/*
 * Fill the needs of MODEL's evaluator, and its views, from the completed runs of
 * its history. ABOVE: of each run in the history, log(bytes / the evaluator's
 * centre), honest where it can be.
 *
 * The place is the number in which runs that are near to one another are most
 * alike, if any is. A line is fitted through bytes over it, a power through their logarithms; what
 * each run needed beside them is as if it had been left out (its leverage is taken from it).
 */
void ft_baselines_fill(ft_model *model, const double *above);

/*
 * Add the newest run of the history, where it completed, ABOVE being its log(bytes / centre); the
 * evaluator's centre has been moved by -SHIFT, to its logarithm, since the others were put there.
 * Place column and fits stay. What has left the history leaves. False, and nothing changes, where
 * the needs are of other runs.
 */
bool ft_baselines_add(ft_model *model, double above, double shift);

#endif
