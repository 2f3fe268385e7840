/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merges two records of the same run on the same node, and combines those of several nodes. Pure.
 */
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
 * - A run with a known outcome is censored unless it completed and all of its tasks were measured.
 * The fields `source`, peak_is_bound and `censored` of a completed run describe the record that the peak comes from.
 */
void ft_observation_merge(ft_observation *old, const ft_observation *newer);

/* Copies fields without a column in the store; only a record from the node has them. */
void ft_observation_copy_unstored(ft_submission *to, const ft_submission *from);

/*
 * Adds NODE to RUN, a run on several nodes. RUN begins as the record of the node with the largest
 * peak, and its node, limit and CPUs stay. The others are added in one order for all callers,
 * because sums of floating-point numbers depend on it.
 * - Peaks are those of the largest node, totals (CPU time, I/O, page faults, energy, counters) sums
 *   over the nodes with records of the same source as RUN's.
 * - The run time counts from the first start to the last end, without the time in which all nodes
 *   were suspended.
 * - The outcome is the worst known one, with exit code and limit of the node that had it.
 */
void ft_observation_add_node(ft_observation *run, const ft_observation *node);

#endif
