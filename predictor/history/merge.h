/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merges two records of the same run. Pure. */
#ifndef FT_HISTORY_MERGE_H
#define FT_HISTORY_MERGE_H

#include "predictor/record/record.h"

/*
 * Completes OLD by NEWER, which has the same key:
 * - A field present in only one record is kept.
 * - A field present in both is copied from NEWER, unless NEWER has the weaker source; then OLD's
 *   submission and measurements stay. Sources from strongest to weakest: agent, trace, sacct with
 *   totals (TRESUsageInTot), sacct.
 * - Start, end and run time are copied from NEWER, whatever its source.
 * - An unknown outcome replaces nothing. Failed or cancelled does not replace out_of_memory: Slurm
 *   reports them for a job that its OverMemoryKill ended.
 * - A run with a known outcome is censored unless it completed.
 * The fields `source` and peak_is_bound describe the record that the peak comes from.
 */
void ft_observation_merge(ft_observation *old, const ft_observation *newer);

#endif
