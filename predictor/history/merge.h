/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merges two records of the same run. Pure. */
#ifndef FT_HISTORY_MERGE_H
#define FT_HISTORY_MERGE_H

#include "predictor/record/record.h"

/*
 * Completes OLD by NEWER, which has the same key:
 * - A field present in only one record is kept.
 * - A field present in both is taken from NEWER, unless its source is weaker (agent, trace, sacct
 *   with totals, sacct, in this order); then submission and measurements stay OLD's.
 * - Start, end and run time are NEWER's, whatever its source.
 * - An unknown outcome replaces nothing. Failed or cancelled does not replace out_of_memory: Slurm
 *   reports them for a job that its OverMemoryKill ended.
 * - A run with a known outcome is censored unless it completed.
 * The field `source` names the source of the peak; peak_is_bound belongs to it.
 */
void ft_observation_merge(ft_observation *old, const ft_observation *newer);

#endif
