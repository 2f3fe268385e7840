/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What /proc says about cgroups of the memory controller: where they are mounted and
 * where a process is. Text in, paths out; the reading is its callers'. Folders are
 * without the leading '/', as they are looked up below a root descriptor.
 */
#ifndef FT_CORE_CGROUP_H
#define FT_CORE_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/text.h"

struct ft_cgroup_mounts {
  bool v1;              /* the memory controller's own hierarchy; else the unified one */
  char point[PATH_MAX]; /* where it is mounted, without the leading '/' */
  char root[PATH_MAX];  /* which of its cgroups is mounted there */
};

/*
 * Find where the memory controller is mounted in the text of /proc/self/mountinfo (proc(5));
 * where both kinds are, it is in the one that names it. False when there is none.
 */
bool ft_cgroup_parse_mounts(struct ft_text mountinfo, struct ft_cgroup_mounts *mounts);

/*
 * A process's path in that hierarchy, from the text of its /proc/PID/cgroup. False when
 * there is none, or it is outside of what our cgroup namespace shows.
 */
bool ft_cgroup_parse_path(struct ft_text text, bool v1, char *path, size_t size);

/*
 * Find a job's own cgroup by two paths of one of its steps: STEPD, its slurmstepd's, and TASK, that
 * of a process of one of its tasks. It is the parent of the deepest cgroup that holds both, the
 * step's, whatever Slurm calls either: "job_17" up to 25.11, "s7JDM817Z5HE00" from 26.05 on. In
 * cgroup v1 slurmstepd is in the step's own cgroup, in v2 in one next to that of all the tasks'.
 * Returns false and leaves JOB, of SIZE bytes, where the two are placed otherwise: then neither has
 * a cgroup that Slurm made for the job.
 */
bool ft_cgroup_job_of(const char *stepd, const char *task, bool v1, char *job, size_t size);

/* The folder of the cgroup PATH. False where the mount does not show it. */
bool ft_cgroup_folder_of(const struct ft_cgroup_mounts *mounts, const char *path, char *folder,
                         size_t size);

#endif
