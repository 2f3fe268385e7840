/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --predict-perf and --predict-partition: what is told of other partitions, and the job's own set.
 */
#ifndef FT_PLUGIN_PLACEMENT_H
#define FT_PLUGIN_PLACEMENT_H

#include "plugin/options.h"
#include "plugin/slurm_options.h"
#include "predictor/core/error.h"
#include "predictor/estimate/estimate.h"

/*
 * Tell what OPTIONS asks for of user UID's SUBMISSION, whose partition is changed where one was
 * chosen; MEMORY (NULL: not known) is what it needs, NETWORK (NULL: nothing) what is going to be
 * set for its GPUs. STATE_FD: the state folder. Returns 0; -1 with ERR where there is nothing to
 * tell by.
 */
int ft_placement_set_partition(const struct ft_slurm_options *bridge,
                               const struct ft_options *options, int state_fd, const ft_site *site,
                               uint32_t uid, const struct ft_estimate *memory,
                               const ft_network *network, ft_submission *submission,
                               struct ft_error *err);

#endif
