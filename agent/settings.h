/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the node must know from the learner: the memory rule, Slurm's users, and forgotten runs. */
#ifndef FT_AGENT_SETTINGS_H
#define FT_AGENT_SETTINGS_H

#include "agent/uplink.h"

struct ft_node_settings;

struct ft_node_settings_callbacks {
  void (*changed)(const ft_settings *settings, void *data);
  void (*connected)(void *data); /* the learner replies again */
  /* Passes each run whose measurements are not in the spool to VISIT. */
  void (*each_run)(void (*visit)(const ft_observation *run, void *to), void *to, void *data);
  void (*forget)(const ft_observation *run, void *data); /* its job ID and restart count */
  void (*forgotten)(void *data);                         /* a request to forget was accepted */
  /* A user queries running jobs (settings->run_query). */
  void (*asked)(const ft_settings *settings, void *data);
  void *data;
};

/* Follows the learner's settings from now on, as AGENT (ft_settings_query). Copies CALLS. Returns
 * NULL out of memory. */
struct ft_node_settings *ft_node_settings_open(struct ft_loop *loop, struct ft_uplink *uplink,
                                               uint64_t agent,
                                               const struct ft_node_settings_callbacks *calls);

/* Closed before the uplink. */
void ft_node_settings_close(struct ft_node_settings *settings);

#endif
