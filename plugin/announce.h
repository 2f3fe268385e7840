/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Announcements to the node's agent, one packet each: in slurmd's prolog and epilog that a job
 * starts and ends on this node, in slurmstepd that a task starts and ends. Nothing waits for the
 * agent, and nothing is reported without one.
 */
#ifndef FT_PLUGIN_ANNOUNCE_H
#define FT_PLUGIN_ANNOUNCE_H

#include <slurm/spank.h>

/* SOCKET is the agent's socket path. */
void ft_announce_job_start(spank_t spank, const char *socket);
void ft_announce_job_end(spank_t spank, const char *socket);
void ft_announce_task_start(spank_t spank, const char *socket);
void ft_announce_task_end(spank_t spank, const char *socket);

/* Releases the cgroups of tasks that still run. */
void ft_announce_forget(void);

#endif
