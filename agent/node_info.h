/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every observation of this node says about the node. */
#ifndef FT_AGENT_HOST_H
#define FT_AGENT_HOST_H

#include "predictor/record/record.h"

struct ft_node_info {
  char name[64]; /* without its domain, as Slurm's names of nodes usually are */
  char kernel[64];
  char fingerprint[256]; /* empty: hwloc could not tell */
};

/* Find out about this node; takes a while (hwloc), at the start only. */
void ft_node_info_read(struct ft_node_info *host);

/*
 * Put into OBSERVATION what HOST and SITE know of the node and the cluster, the name of
 * its user, and what memory its partition (a file under STATE_FD) would have given it.
 * PLATFORM is the site's name for this kind of node, "" for the fingerprint.
 */
void ft_node_info_fill(const struct ft_node_info *host, const ft_site *site, int state_fd,
                       const char *platform, ft_observation *observation);

#endif
