/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which cgroup is a tree's. Paths are as in /proc/PID/cgroup, folders below the root
 * descriptor, without a leading '/'; arrays for them have PATH_MAX bytes.
 *
 * Which level counts:
 * - A tree that is a job (its roots are Slurm's or the job's own processes): the job's own, where
 *   Slurm limits and charges all of a job's steps (ft_cgroup_job_of).
 * - Else, and for a command that this process itself began, the topmost cgroup above a
 *   member that holds no process outside the tree. There is none in a login
 *   session: its charge is not the command's.
 */
#ifndef FT_MEASURE_CGROUP_H
#define FT_MEASURE_CGROUP_H

#include "agent/measure/internal.h"
#include "predictor/core/cgroup.h"

/* Find where the memory controller is mounted, as ft_cgroup_parse_mounts. */
bool ft_cgroup_find_mount(struct ft_measure *measure, struct ft_cgroup_mounts *mounts);

/* PID's path in the memory controller's hierarchy. False when it cannot be told. */
bool ft_cgroup_path_of(const struct ft_measure *measure, bool v1, pid_t pid, char *path,
                       size_t size);

/* The name of the file with the charge. */
const char *ft_cgroup_usage_name(const struct ft_cgroup_mounts *mounts);

/* The number alone in FOLDER's file NAME. */
bool ft_cgroup_read_number(const struct ft_measure *measure, const char *folder, const char *name,
                           double *value);

/*
 * Put the path of the job's own cgroup that TREE's processes are in into PATH, of SIZE bytes, by what
 * its roots' slurmstepd and its processes are in. False, and PATH as it is, where Slurm made none.
 */
bool ft_cgroup_find_job(const struct ft_tree *tree, char *path, size_t size);

/* Cut PATH at the topmost level that is TREE's alone and is charged. False when none is. */
bool ft_cgroup_cut_at_own(const struct ft_tree *tree, char *path, size_t size);

/*
 * Whether the charge at FOLDER holds that of the cgroups below it: always in v2, and
 * in v1 unless use_hierarchy is off (possible up to Linux 5.10).
 */
bool ft_cgroup_is_hierarchical(const struct ft_measure *measure, const char *folder);

#endif
