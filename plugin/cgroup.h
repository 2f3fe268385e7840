/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory cgroup of a task: found through /proc/PID/cgroup while the task runs, read at its end.
 */
#ifndef FT_PLUGIN_CGROUP_H
#define FT_PLUGIN_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "predictor/record/record.h"

struct ft_cgroup {
  bool unified;      /* cgroup v2 */
  size_t job_length; /* bytes of PATH up to and including the job's own directory */
  char *path;        /* owned; NULL: the task has no cgroup of its job */
};

/*
 * Finds the cgroup of task PID; the caller is its slurmstepd. Only a cgroup below one that Slurm
 * made for the job (ft_cgroup_job_of) belongs to the job alone. PROC is "/proc". Returns whether
 * there is one; OUT is released with ft_cgroup_free either way.
 */
bool ft_cgroup_find(const char *proc, pid_t pid, struct ft_cgroup *out);

/*
 * Fills from the cgroups between the task's and the job's directory: charge_bytes (the peak, if the
 * kernel records it), cgroup_limit_bytes (the smallest limit, or the smallest that was hit),
 * oom_kills (of the step) and limit_hits.
 */
void ft_cgroup_read(const struct ft_cgroup *cgroup, ft_task_end *out);

/* Releases CGROUP's path. NULL is allowed. */
void ft_cgroup_free(struct ft_cgroup *cgroup);

#endif
