/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Periodic poll of the cluster's configuration, partitions and nodes: scontrol commands, one after
 * another, beside the event loop. Submissions read the published result instead of querying
 * slurmctld.
 */
#ifndef FT_LEARNER_CLUSTER_CLUSTER_POLL_H
#define FT_LEARNER_CLUSTER_CLUSTER_POLL_H

#include "daemon/subprocess.h"
#include "learner/cluster/scontrol.h"

struct ft_cluster_poll;

/*
 * Called after each poll with COUNT PARTITIONS, valid during the call. CONFIG is NULL if the poll
 * failed; earlier results remain valid.
 */
typedef void ft_cluster_poll_callback(const struct ft_slurm_config *config,
                                      const ft_partition *partitions, size_t count, void *data);

/* Returns NULL out of memory. */
struct ft_cluster_poll *ft_cluster_poll_open(struct ft_loop *loop, struct ft_subprocesses *children,
                                             ft_cluster_poll_callback *call, void *data);
void ft_cluster_poll_close(struct ft_cluster_poll *cluster);

/*
 * Sets the directory of scontrol ("": PATH), the interval in SECONDS and this HOST's names, from
 * the next poll on. HOST->map is borrowed, the strings are copied.
 */
void ft_cluster_poll_configure(struct ft_cluster_poll *cluster, const char *directory,
                               double seconds, const struct ft_scontrol_host *host);

/* Starts a poll, unless one is running, and restarts the interval. */
void ft_cluster_poll_now(struct ft_cluster_poll *cluster);

#endif
