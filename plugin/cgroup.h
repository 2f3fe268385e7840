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
 * Finds the memory cgroup of task PID; the caller is its slurmstepd. PROC is "/proc". Accepts only
 * cgroups below one that Slurm made for the job (ft_cgroup_job_of), which have no processes of
 * others. Returns false if the task has none. The caller releases OUT with ft_cgroup_free in both
 * cases.
 */
bool ft_cgroup_find(const char *proc, pid_t pid, struct ft_cgroup *out);

/*
 * Fills OUT from the cgroups between the task's and the job's directory, in bytes: charge_bytes
 * (the largest peak), cgroup_limit_bytes (the smallest limit, or the smallest that was hit); and
 * the counts oom_kills (of the step), limit_hits, and nested_limit_hits (v2). Values that the kernel
 * does not record stay unset.
 */
void ft_cgroup_read(const struct ft_cgroup *cgroup, ft_task_end *out);

/* Releases CGROUP's path. NULL is allowed. */
void ft_cgroup_free(struct ft_cgroup *cgroup);

#endif
