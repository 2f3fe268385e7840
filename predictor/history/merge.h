/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two records of the same run become one. Pure. */
#ifndef FT_HISTORY_MERGE_H
#define FT_HISTORY_MERGE_H

#include "predictor/record/record.h"

/*
 * Complete OLD by NEWER, both of the same key, in place:
 * - a field that only one of them has is kept;
 * - of a field that both have, the newer is kept, unless its source is the
 *   weaker one (agent, then trace, then sacct with totals, then sacct): what was
 *   submitted and what was measured are then the old one's;
 * - start, end and runtime are the newer's, whatever its source;
 * - an outcome is never replaced by an unknown one, nor out_of_memory by failed
 *   or cancelled: Slurm says so of a job that its OverMemoryKill ended;
 * - a run whose outcome is known is censored when it did not complete.
 * `source` tells who measured the peak, and peak_is_bound goes with it.
 */
void ft_observation_merge(ft_observation *old, const ft_observation *newer);

#endif
