/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parses /proc for cgroups of the memory controller: the mount point, the cgroup of a process and
 * the cgroup of a job. Input is text that the caller has read; output is paths. Directories have no
 * leading '/', because callers open them relative to a root descriptor.
 */
#ifndef FT_CORE_CGROUP_H
#define FT_CORE_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/text.h"

struct ft_cgroup_mounts {
  bool v1;              /* cgroup v1, with a hierarchy of the memory controller; else v2 */
  char point[PATH_MAX]; /* mount point, without the leading '/' */
  char root[PATH_MAX];  /* path of the cgroup that is mounted there */
};

/*
 * Finds the hierarchy of the memory controller in MOUNTINFO, the text of /proc/self/mountinfo
 * (proc(5)). Prefers v1 if both are mounted: then v2 has no memory controller. Returns false
 * without such a mount.
 */
bool ft_cgroup_parse_mounts(struct ft_text mountinfo, struct ft_cgroup_mounts *mounts);

/*
 * Copies the cgroup path of a process from TEXT, its /proc/PID/cgroup, to PATH of SIZE bytes. V1:
 * of the memory controller of cgroup v1; else of cgroup v2. Returns false without a path, and for a
 * path outside the cgroup namespace of the reader.
 */
bool ft_cgroup_parse_path(struct ft_text text, bool v1, char *path, size_t size);

/*
 * Finds the cgroup of a job from two paths of one of its steps: STEPD of slurmstepd and TASK of a
 * process of a task. The deepest cgroup that contains both is the step's; its parent is the job's.
 * Names are not compared: Slurm uses "job_17" up to 25.11 and "s7JDM817Z5HE00" from 26.05 on. In v1
 * slurmstepd is in the step's cgroup; in v2 in a sibling of the cgroup of the tasks. Copies the
 * path to JOB, of SIZE bytes. Returns false, with JOB unchanged, for any other layout, which means
 * that Slurm made no cgroup for the job.
 */
bool ft_cgroup_job_of(const char *stepd, const char *task, bool v1, char *job, size_t size);

/* Copies the directory of the cgroup PATH to FOLDER, of SIZE bytes. Returns false for a cgroup
 * outside the mount. */
bool ft_cgroup_directory_of(const struct ft_cgroup_mounts *mounts, const char *path,
                            char *directory, size_t size);

#endif
