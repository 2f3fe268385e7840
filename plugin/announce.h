/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the node's agent is told, one packet a message: in slurmd's job scripts
 * that a job begins and ends here, in slurmstepd that a task begins and ends.
 * Nobody waits for the agent, and nothing is said where there is none.
 */
#ifndef FT_PLUGIN_ANNOUNCE_H
#define FT_PLUGIN_ANNOUNCE_H

#include <slurm/spank.h>

/* SOCKET is the agent's. */
void ft_announce_job_start(spank_t spank, const char *socket);
void ft_announce_job_end(spank_t spank, const char *socket);
void ft_announce_task_start(spank_t spank, const char *socket);
void ft_announce_task_end(spank_t spank, const char *socket);

/* Release what is remembered about tasks that still run. */
void ft_announce_forget(void);

#endif
