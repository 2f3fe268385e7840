/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the cgroup of a tree. PATH is as in /proc/PID/cgroup; FOLDER is a directory below the root
 * descriptor, without a leading '/'. Their arrays have PATH_MAX bytes.
 *
 * - For a job it is the job's cgroup, in which Slurm limits and charges all steps
 * (ft_cgroup_job_of).
 * - Otherwise, and for a command that the calling process started, it is the topmost cgroup above a
 *   member that contains no process outside the tree. A login session has none: its memory usage is
 * not the command's.
 */
#ifndef FT_MEASURE_CGROUP_H
#define FT_MEASURE_CGROUP_H

#include "agent/measure/internal.h"
#include "predictor/core/cgroup.h"

/* Finds the mount points of the memory controller; see ft_cgroup_parse_mounts. */
bool ft_cgroup_find_mount(struct ft_measure *measure, struct ft_cgroup_mounts *mounts);

/* Writes PID's path in the memory controller's hierarchy to PATH. Returns false if it is
 * unknown. */
bool ft_cgroup_path_of(const struct ft_measure *measure, bool v1, pid_t pid, char *path,
                       size_t size);

/* Returns the name of the file with the memory usage. */
const char *ft_cgroup_usage_name(const struct ft_cgroup_mounts *mounts);

/* Reads the single number in FOLDER's file NAME. */
bool ft_cgroup_read_number(const struct ft_measure *measure, const char *folder, const char *name,
                           double *value);

/*
 * Writes the path of the cgroup of TREE's job to PATH, of SIZE bytes, from the cgroups of its
 * processes and of the roots' slurmstepd. Returns false, and leaves PATH unchanged, if Slurm
 * created none.
 */
bool ft_cgroup_find_job(const struct ft_tree *tree, char *path, size_t size);

/* Truncates PATH to the topmost level that only TREE uses and that is charged. False if there is
 * none. */
bool ft_cgroup_cut_at_own(const struct ft_tree *tree, char *path, size_t size);

/*
 * Whether the memory usage of FOLDER includes the cgroups below it: always in v2, and in v1 unless
 * use_hierarchy is off (possible up to Linux 5.10).
 */
bool ft_cgroup_is_hierarchical(const struct ft_measure *measure, const char *folder);

#endif
