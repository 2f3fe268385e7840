/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --predict-perf and --predict-partition: prints the partitions, and sets the job's. */
#ifndef FT_PLUGIN_PLACEMENT_H
#define FT_PLUGIN_PLACEMENT_H

#include "plugin/options.h"
#include "plugin/slurm_options.h"
#include "predictor/core/error.h"
#include "predictor/estimate/runtime.h"

/*
 * Executes --predict-perf and --predict-partition of OPTIONS for SUBMISSION of user UID. Sets a
 * chosen partition in SLURM and in SUBMISSION. MEMORY (NULL: unknown) is the estimate per node, in
 * bytes. TIME has its run times. NETWORK (NULL: none) has the GPU option that will be set. STATE_FD
 * is the state directory. Returns 0; -1 and fills ERR if partition data are missing or Slurm
 * rejects the partition.
 */
int ft_placement_set_partition(const struct ft_slurm_options *slurm,
                               const struct ft_options *options, int state_fd, const ft_site *site,
                               uint32_t uid, const struct ft_estimate *memory,
                               const struct ft_time_lookup *time, const ft_network *network,
                               ft_submission *submission, struct ft_error *err);

#endif
