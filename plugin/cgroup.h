/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory cgroup of a task, found through /proc/PID/cgroup while it lives
 * and read once more when it has ended.
 */
#ifndef FT_PLUGIN_CGROUP_H
#define FT_PLUGIN_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "predictor/record/record.h"

struct ft_cgroup {
  bool unified;      /* cgroup v2 */
  size_t job_length; /* of the part of PATH that ends with the job's own folder */
  char *path;        /* NULL: none of the job's own */
};

/*
 * Find the cgroup of task PID in its slurmstepd, which is the calling process. It counts only below
 * one that Slurm made for the job (ft_cgroup_job_of): any other is not the job's alone. PROC is
 * "/proc". Returns whether there is one; OUT is released with ft_cgroup_free either way.
 */
bool ft_cgroup_find(const char *proc, pid_t pid, struct ft_cgroup *out);

/*
 * Fill, by what is on the way up to the job's folder, charge_bytes (the peak where the kernel keeps
 * one), cgroup_limit_bytes (the least limit, of those that were hit where some were), oom_kills (of
 * the step) and limit_hits.
 */
void ft_cgroup_read(const struct ft_cgroup *cgroup, ft_task_end *out);

void ft_cgroup_free(struct ft_cgroup *cgroup);

#endif
