/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds a tree's cgroup: the mount point of the memory controller, a process's path in it, and the
 * level of that path that counts.
 */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/measure/cgroup.h"
#include "predictor/core/buf.h"
#include "predictor/core/hash.h"
#include "predictor/core/io.h"

enum { DEPTH_LIMIT = 16, FOLDERS_LIMIT = 256 };

/* Number of cgroups that are remembered as shared with other processes, and for how long. */
enum { SHARED_LIMIT = 1024 };
#define SHARED_SECONDS 30.0

/* Number of tasks examined: if Slurm created no cgroup for the first ones, it created none. */
enum { ROOTS_TRIED = 4 };

/* Size limit of /proc/PID/cgroup: a dozen lines of v1 with paths of a thousand bytes. */
enum { CGROUP_BYTES = 16384 };

/* ---- where the controller is mounted ---- */

bool ft_cgroup_find_mount(struct ft_measure *measure, struct ft_cgroup_mounts *mounts)
{
  struct ft_buf buf;
  bool found;

  ft_buf_init(&buf, FT_LIMIT_MOUNTS);
  ft_io_read_file(measure->proc_fd, "self/mountinfo", &buf, NULL);
  found = ft_cgroup_parse_mounts(ft_text_of(ft_buf_text(&buf), buf.length), mounts);
  ft_buf_free(&buf);
  return found;
}

/* ---- a process's cgroup ---- */

bool ft_cgroup_path_of(const struct ft_measure *measure, bool v1, pid_t pid, char *path,
                       size_t size)
{
  char text[CGROUP_BYTES];
  ssize_t length = ft_proc_read_pid(measure, pid, "cgroup", text, sizeof text);
  const char *last;

  if (length < 0)
    return false;
  /* drop the truncated last line of a longer file, which names another cgroup */
  last = memrchr(text, '\n', (size_t)length);
  return last && ft_cgroup_parse_path(ft_text_of(text, (size_t)(last - text)), v1, path, size);
}

static uint64_t path_key(const char *path)
{
  return ft_hash64(FT_HASH_SEED, path, strlen(path));
}

void ft_cgroup_clear(struct ft_tree *tree)
{
  struct ft_tree_index *cgroups = &tree->measure->cgroups;
  struct ft_index_entry *entry =
      tree->cgroup ? ft_tree_index_find(cgroups, path_key(tree->cgroup)) : NULL;

  if (entry && entry->tree == tree)
    ft_tree_index_remove(cgroups, entry);
  free(tree->cgroup);
  tree->cgroup = NULL;
}

void ft_cgroup_set(struct ft_tree *tree, const char *path, bool v1)
{
  struct ft_index_entry *entry;

  ft_cgroup_clear(tree);
  tree->cgroup = strdup(path);
  tree->cgroup_v1 = v1;
  entry = tree->cgroup ? ft_tree_index_add(&tree->measure->cgroups, path_key(path)) : NULL;
  if (entry)
    entry->tree = tree;
}

struct ft_tree *ft_cgroup_tree_of(const struct ft_measure *measure, pid_t pid)
{
  char path[PATH_MAX], *slash;

  if (!measure->cgroups.root ||
      !ft_cgroup_path_of(measure, measure->mounts->v1, pid, path, sizeof path))
    return NULL;
  do {
    const struct ft_index_entry *entry = ft_tree_index_find(&measure->cgroups, path_key(path));

    if (entry && strcmp(entry->tree->cgroup, path) == 0)
      return entry->tree;
    slash = strrchr(path, '/');
    if (slash)
      *slash = '\0';
  } while (slash);
  return NULL;
}

const char *ft_cgroup_usage_name(const struct ft_cgroup_mounts *mounts)
{
  return mounts->v1 ? "memory.usage_in_bytes" : "memory.current";
}

bool ft_cgroup_read_number(const struct ft_measure *measure, const char *folder, const char *name,
                        double *value)
{
  char path[PATH_MAX + 64], text[64];

  snprintf(path, sizeof path, "%s/%s", folder, name);
  return ft_proc_read(measure->settings.root_fd, path, text, sizeof text) > 0 &&
         ft_proc_number(text, value);
}

/* ---- which level ---- */

/* Returns the pid of a task of ROOT's step (ROOT is its slurmstepd or a child of that); 0: none. */
static pid_t task_of(const struct ft_tree *tree, const struct ft_member *root)
{
  if (!root->skipped)
    return root->pid;
  for (size_t i = 0; i < tree->count; i++)
    if (ft_member_lives(&tree->members[i]) && tree->members[i].parent == root->pid)
      return tree->members[i].pid;
  return 0;
}

bool ft_cgroup_find_job(const struct ft_tree *tree, char *path, size_t size)
{
  bool v1 = tree->measure->mounts->v1;
  char stepd[PATH_MAX], task[PATH_MAX];
  int tried = 0;

  for (size_t i = 0; i < tree->count && tried < ROOTS_TRIED; i++) {
    const struct ft_member *root = &tree->members[i];

    if (!root->root || root->gone)
      continue;
    tried++;
    if (ft_cgroup_path_of(tree->measure, v1, root->skipped ? root->pid : root->parent, stepd,
                          sizeof stepd) &&
        ft_cgroup_path_of(tree->measure, v1, task_of(tree, root), task, sizeof task) &&
        ft_cgroup_job_of(stepd, task, v1, path, size))
      return true;
  }
  return false;
}

/* Whether PID is a member, or began since the last scan below a member. */
static bool is_ours(const struct ft_tree *tree, pid_t pid)
{
  struct ft_stat stat;

  for (int i = 0; i < DEPTH_LIMIT && pid > 1; i++) {
    if (ft_tree_find(tree, pid))
      return true;
    if (ft_stat_read(tree->measure, pid, &stat) < 0)
      return i == 0; /* it ended after being listed */
    pid = stat.parent;
  }
  return false;
}

static bool holds_only(const struct ft_tree *tree, const char *folder, int depth, int *folders);

/* Applies holds_only to the directories in FOLDER. */
static bool holds_only_below(const struct ft_tree *tree, const char *folder, int depth,
                             int *folders)
{
  DIR *dir = ft_io_open_directory(tree->measure->settings.root_fd, folder);
  struct dirent *entry;
  bool only = true;

  if (!dir)
    return false;
  while (only && (entry = readdir(dir))) {
    char below[PATH_MAX];
    int put;

    if (entry->d_name[0] == '.' || entry->d_type != DT_DIR)
      continue;
    put = snprintf(below, sizeof below, "%s/%s", folder, entry->d_name);
    only = put > 0 && (size_t)put < sizeof below && holds_only(tree, below, depth + 1, folders);
  }
  closedir(dir);
  return only;
}

/* Whether all processes in and below FOLDER belong to TREE; false if there are too many or too
 * deep. */
static bool holds_only(const struct ft_tree *tree, const char *folder, int depth, int *folders)
{
  char *path = NULL;
  struct ft_buf procs;
  struct ft_text rest, line;
  bool only = false;

  if (depth > DEPTH_LIMIT || ++*folders > FOLDERS_LIMIT ||
      asprintf(&path, "%s/cgroup.procs", folder) < 0)
    return false;
  ft_buf_init(&procs, FT_LIMIT_PROC);
  if (ft_io_read_file(tree->measure->settings.root_fd, path, &procs, NULL) < 0)
    goto out;
  rest = ft_text_of(ft_buf_text(&procs), procs.length);
  while (ft_text_line(&rest, &line)) {
    uint64_t pid;

    if (!ft_text_u64(&line, INT32_MAX, &pid) || !is_ours(tree, (pid_t)pid))
      goto out;
  }
  only = holds_only_below(tree, folder, depth, folders);

out:
  ft_buf_free(&procs);
  free(path);
  return only;
}

/* Returns whether every process in the cgroup PATH, whose directory is FOLDER, is TREE's. A cgroup
 * that is not is not listed again for SHARED_SECONDS, by any tree: on a node without cgroups of
 * jobs, all jobs are in slurmd's. */
static bool is_own_cgroup(const struct ft_tree *tree, const char *path, const char *folder)
{
  struct ft_measure *measure = tree->measure;
  uint64_t key = path_key(path);
  struct ft_index_entry *shared = ft_tree_index_find(&measure->shared_cgroups, key);
  double now = ft_io_monotonic();
  int folders = 0;

  if (shared && now - (double)shared->value < SHARED_SECONDS)
    return false;
  if (holds_only(tree, folder, 0, &folders))
    return true;
  if (!shared && measure->shared_cgroup_count >= SHARED_LIMIT) {
    ft_tree_index_free(&measure->shared_cgroups);
    measure->shared_cgroup_count = 0;
  }
  measure->shared_cgroup_count += !shared;
  shared = ft_tree_index_add(&measure->shared_cgroups, key);
  if (shared)
    shared->value = (size_t)now;
  return false;
}

bool ft_cgroup_cut_at_own(const struct ft_tree *tree, char *path, size_t size)
{
  const struct ft_measure *measure = tree->measure;
  char at[PATH_MAX], folder[PATH_MAX];
  bool found = false;
  double usage;

  ft_string_copy(path, at, sizeof at);
  for (;;) {
    char *slash = strrchr(at, '/');

    if (!ft_cgroup_directory_of(measure->mounts, at, folder, sizeof folder))
      return found;
    if (ft_cgroup_read_number(measure, folder, ft_cgroup_usage_name(measure->mounts), &usage)) {
      if (!is_own_cgroup(tree, at, folder))
        return found;
      found = ft_string_copy(at, path, size);
    }
    if (!slash || !at[1])
      return found;
    slash[slash == at] = '\0';
  }
}

bool ft_cgroup_is_hierarchical(const struct ft_measure *measure, const char *folder)
{
  double value;

  return !measure->mounts->v1 ||
         !ft_cgroup_read_number(measure, folder, "memory.use_hierarchy", &value) || value > 0;
}
