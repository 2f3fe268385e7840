/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the cluster is, asked of slurmctld now and then by this one process, so that no
 * submission has to: some scontrol commands, one after another, beside the loop.
 */
#ifndef FT_AGENT_CLUSTER_H
#define FT_AGENT_CLUSTER_H

#include "agent/subprocess.h"
#include "agent/scontrol.h"

struct ft_cluster_poll;

/* Called with what was found; CONFIG is NULL when Slurm did not answer: what was known holds. */
typedef void ft_cluster_poll_callback(const struct ft_slurm_config *config,
                                      const ft_partition *partitions, size_t count, void *data);

/* NULL out of memory. */
struct ft_cluster_poll *ft_cluster_poll_open(struct ft_loop *loop, struct ft_subprocesses *children,
                                             ft_cluster_poll_callback *call, void *data);
void ft_cluster_poll_close(struct ft_cluster_poll *cluster);

/* Where scontrol is ("": PATH), between two looks, and what tells platforms (its map is borrowed);
 * takes effect with the next look. */
void ft_cluster_poll_configure(struct ft_cluster_poll *cluster, const char *folder, double seconds,
                               const struct ft_scontrol_host *host);

/* The platform that foretell.conf gives NODE of Slurm's, which is on this host; NULL: none, or
 * Slurm has not been heard yet. */
const char *ft_cluster_poll_platform(const struct ft_cluster_poll *cluster, const char *node);

/* Look now, then every so many seconds; a look that is under way is enough. */
void ft_cluster_poll_now(struct ft_cluster_poll *cluster);

#endif
