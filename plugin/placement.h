/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --predict-perf and --predict-partition: prints the partitions, and sets the job's. */
#ifndef FT_PLUGIN_PLACEMENT_H
#define FT_PLUGIN_PLACEMENT_H

#include "plugin/options.h"
#include "plugin/slurm_options.h"
#include "predictor/core/error.h"
#include "predictor/estimate/estimate.h"

/*
 * Prints what OPTIONS request about user UID's SUBMISSION and sets its partition if one is chosen,
 * in BRIDGE and in SUBMISSION. MEMORY (NULL: not known) is the estimate per node, NETWORK (NULL:
 * none) holds the GPU option that will be set. STATE_FD: the state directory. Returns 0; -1 and
 * fills ERR without evidence.
 */
int ft_placement_set_partition(const struct ft_slurm_options *bridge,
                               const struct ft_options *options, int state_fd, const ft_site *site,
                               uint32_t uid, const struct ft_estimate *memory,
                               const ft_network *network, ft_submission *submission,
                               struct ft_error *err);

#endif
