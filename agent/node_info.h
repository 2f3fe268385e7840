/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Properties of this node that every observation contains. */
#ifndef FT_AGENT_NODE_INFO_H
#define FT_AGENT_NODE_INFO_H

#include "predictor/record/record.h"

struct ft_node_info {
  char name[64];         /* host name without domain, usually Slurm's node name */
  char kernel[64];       /* release of uname */
  char fingerprint[256]; /* of the hardware, by hwloc; "": unknown */
};

/* Reads the properties of this node; takes 0.1 s, up to 10 s if /sys hangs. */
void ft_node_info_read(struct ft_node_info *info);

/*
 * Returns the number that identifies to the learner the agent of NODE with the state directory
 * STATE_FD, whose path is STATE: of several agents on a host each has one. It is made from random
 * bits in that directory, so that another host cannot guess it and answer for this agent.
 */
uint64_t ft_node_number(int state_fd, const char *node, const char *state);

/*
 * Fills in OBSERVATION's versions and platform, and its node if it is empty. PLATFORM is the site's
 * name of this platform; "": the fingerprint.
 */
void ft_node_info_fill(const struct ft_node_info *info, const char *platform,
                       ft_observation *observation);

#endif
