/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Announcements to the node's agent, one packet each: start and end of a job from slurmd's prolog
 * and epilog, start and end of a task from slurmstepd. No call waits for the agent. Without an
 * agent the announcement is lost. */
#ifndef FT_PLUGIN_ANNOUNCE_H
#define FT_PLUGIN_ANNOUNCE_H

#include <slurm/spank.h>

/* Announce the event of SPANK to the agent's socket path SOCKET. */
void ft_announce_job_start(spank_t spank, const char *socket);
void ft_announce_job_end(spank_t spank, const char *socket);
void ft_announce_task_start(spank_t spank, const char *socket);
void ft_announce_task_end(spank_t spank, const char *socket);

/* Releases the kept cgroups of tasks that still run. */
void ft_announce_forget(void);

#endif
