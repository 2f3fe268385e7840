/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory usage of a tree's cgroup, with and without the page cache that the kernel would reclaim
 * before it kills. Paths come from a member's /proc/PID/cgroup and from this process's mounts: v1,
 * v2 and both at once.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/measure/cgroup.h"
#include "predictor/core/io.h"

/* Fraction of a core for reading memory.stat, for which the kernel sums the counts of all CPUs: of
 * one tree, and at most of all. Unused time is saved for up to STAT_SAVED_SECONDS. */
#define STAT_BUDGET 0.001
#define STAT_NODE_BUDGET 0.01
#define STAT_SAVED_SECONDS 50.0
/* Maximum interval of reads: the cache must be known near a peak. */
#define STAT_SECONDS 1.0
/* The same while the usage is constant, once memory.stat, which may be two seconds old (read_stat),
 * accounts for all of it: at its limit a tree may still exchange cache for shared memory. */
#define STAT_LAG_SECONDS 3.0
#define STAT_IDLE_SECONDS 60.0

/* A usage that was constant for STAT_LAG_SECONDS, as were the processes' sizes, is read only so
 * often while no process of the tree changes, if the kernel keeps its maximum. */
#define IDLE_READ_SECONDS 2.0

/* First interval between searches for a tree's cgroup; doubled each time. */
#define SEARCH_FIRST_SECONDS 0.2
#define SEARCH_LONGEST_SECONDS 60.0

enum { HUGETLB_LIMIT = 4 };

/* Limits above this count as none: v1 prints PAGE_COUNTER_MAX pages. */
#define UNLIMITED_BYTES 1.15e18

struct cgroup {
  double next_search, search_interval;
  bool job; /* it belongs to a Slurm job and never has other processes */
  int usage_fd, stat_fd, peak_fd, swap_fd, kmem_fd;
  int hugetlb_fds[HUGETLB_LIMIT];
  char folder[PATH_MAX]; /* directory below the root descriptor */
  double peak_before;    /* the kernel's peak when the cgroup was found */
  double peak_bytes, limit_bytes;
  double max_cache, max_swap, max_hugetlb, max_shmem;
  double usage_bytes;        /* at the latest read */
  double changed, next_read; /* times of its last change and of the next read */
  double credit, last_read, next_stat;
};

static bool cgroup_probe(struct ft_measure *measure, struct ft_measure_report *report)
{
  char name[PATH_MAX + 32], text[512];
  struct ft_cgroup_mounts *mounts = malloc(sizeof *mounts);

  if (!mounts || !ft_cgroup_find_mount(measure, mounts)) {
    free(mounts);
    snprintf(report->why, sizeof report->why, "no cgroup file system is mounted");
    return false;
  }
  if (!mounts->v1) {
    snprintf(name, sizeof name, "%s/cgroup.controllers", mounts->point);
    if (ft_proc_read(measure->settings.root_fd, name, text, sizeof text) < 0 ||
        !strstr(text, "memory")) {
      snprintf(report->why, sizeof report->why,
               "no memory controller at /%.100s: see cgroup_disable= on the kernel's command line",
               mounts->point);
      free(mounts);
      return false;
    }
  }
  measure->mounts = mounts;
  snprintf(report->why, sizeof report->why, "version %d at /%.100s", mounts->v1 ? 1 : 2,
           mounts->point);
  return true;
}

void ft_cgroup_free_mounts(struct ft_measure *measure)
{
  free(measure->mounts);
}

/* ---- a tree's cgroup ---- */

static int open_file(const struct ft_measure *measure, const char *folder, const char *name)
{
  char path[PATH_MAX + 64];

  snprintf(path, sizeof path, "%s/%s", folder, name);
  return ft_proc_open(measure->settings.root_fd, path);
}

static void close_file(int *fd)
{
  if (*fd >= 0)
    close(*fd);
  *fd = -1;
}

static void close_cgroup(struct ft_tree *tree, struct cgroup *cgroup)
{
  close_file(&cgroup->usage_fd);
  close_file(&cgroup->stat_fd);
  close_file(&cgroup->peak_fd);
  close_file(&cgroup->swap_fd);
  close_file(&cgroup->kmem_fd);
  for (size_t i = 0; i < HUGETLB_LIMIT; i++)
    close_file(&cgroup->hugetlb_fds[i]);
  ft_cgroup_clear(tree);
  cgroup->job = false;
}

/* Opens v2's files with huge page usage, one per page size: hugetlb.2MB.current. */
static void open_hugetlb(const struct ft_measure *measure, struct cgroup *cgroup)
{
  DIR *dir = ft_io_open_directory(measure->settings.root_fd, cgroup->folder);
  struct dirent *entry;
  size_t count = 0;

  if (!dir)
    return;
  while (count < HUGETLB_LIMIT && (entry = readdir(dir))) {
    struct ft_text name = ft_text_from(entry->d_name), size, rest;

    if (!ft_text_skip(&name, "hugetlb.") || !ft_text_until(&name, '.', &size))
      continue;
    rest = name;
    if (ft_text_equals(rest, "current"))
      cgroup->hugetlb_fds[count++] = open_file(measure, cgroup->folder, entry->d_name);
  }
  closedir(dir);
}

/* Returns the smallest limit of the cgroup and its ancestors; negative: none. */
static double least_limit(const struct ft_measure *measure, const char *path)
{
  const char *name = measure->mounts->v1 ? "memory.limit_in_bytes" : "memory.max";
  char at[PATH_MAX], folder[PATH_MAX];
  double least = -1, value;

  ft_string_copy(path, at, sizeof at);
  for (char *slash; (slash = strrchr(at, '/')) && at[1]; slash[slash == at] = '\0')
    if (ft_cgroup_directory_of(measure->mounts, at, folder, sizeof folder) &&
        ft_cgroup_read_number(measure, folder, name, &value) && value >= 0 &&
        value < UNLIMITED_BYTES && (least < 0 || value < least))
      least = value;
  return least;
}

static void open_cgroup(struct ft_tree *tree, struct cgroup *cgroup, const char *path)
{
  struct ft_measure *measure = tree->measure;
  bool v1 = measure->mounts->v1;
  char text[64];

  ft_cgroup_set(tree, path, v1);
  cgroup->usage_fd = open_file(measure, cgroup->folder, ft_cgroup_usage_name(measure->mounts));
  cgroup->stat_fd = open_file(measure, cgroup->folder, "memory.stat");
  /* memory.peak: since Linux 5.19 */
  cgroup->peak_fd =
      open_file(measure, cgroup->folder, v1 ? "memory.max_usage_in_bytes" : "memory.peak");
  cgroup->swap_fd = v1 ? -1 : open_file(measure, cgroup->folder, "memory.swap.current");
  cgroup->kmem_fd = v1 ? open_file(measure, cgroup->folder, "memory.kmem.usage_in_bytes") : -1;
  if (!v1)
    open_hugetlb(measure, cgroup);
  cgroup->next_read = 0;
  cgroup->peak_before = -1;
  if (cgroup->peak_fd >= 0 && ft_proc_reread(cgroup->peak_fd, text, sizeof text) > 0)
    ft_proc_number(text, &cgroup->peak_before);
  cgroup->limit_bytes = least_limit(measure, path);
  /* orphans that were skipped may be identified by the cgroup */
  ft_discovery_reexamine(tree);
}

/* Finds the tree's cgroup from its first member that counts; keeps one that was found before. */
static void find_cgroup(struct ft_tree *tree, struct cgroup *cgroup)
{
  struct ft_measure *measure = tree->measure;
  char own[PATH_MAX], path[PATH_MAX], folder[PATH_MAX];
  const struct ft_member *member = NULL;
  bool job;

  for (size_t i = 0; i < tree->count && !member; i++)
    if (!tree->members[i].skipped && !tree->members[i].gone)
      member = &tree->members[i];
  if (!member || !ft_cgroup_path_of(measure, measure->mounts->v1, member->pid, own, sizeof own))
    return;
  ft_string_copy(own, path, sizeof path);
  job = !tree->includes_self && ft_cgroup_find_job(tree, path, sizeof path);
  if ((!job && !ft_cgroup_cut_at_own(tree, path, sizeof path)) ||
      !ft_cgroup_directory_of(measure->mounts, path, folder, sizeof folder) ||
      (strcmp(own, path) && !ft_cgroup_is_hierarchical(measure, folder))) {
    close_cgroup(tree, cgroup);
    return;
  }
  if (tree->cgroup && strcmp(tree->cgroup, path) == 0)
    return;
  close_cgroup(tree, cgroup);
  cgroup->job = job;
  ft_string_copy(folder, cgroup->folder, sizeof cgroup->folder);
  open_cgroup(tree, cgroup, path);
}

/* Returns the fraction of a core that a tree may use for reading memory.stat. */
static double stat_budget(const struct ft_measure *measure)
{
  return fmin(STAT_BUDGET, STAT_NODE_BUDGET / (double)measure->tree_count);
}

static int cgroup_open(struct ft_measure *measure, struct ft_tree *tree, void *state)
{
  struct cgroup *cgroup = state;

  cgroup->usage_fd = cgroup->stat_fd = cgroup->peak_fd = cgroup->swap_fd = cgroup->kmem_fd = -1;
  for (size_t i = 0; i < HUGETLB_LIMIT; i++)
    cgroup->hugetlb_fds[i] = -1;
  cgroup->peak_bytes = cgroup->limit_bytes = cgroup->max_cache = -1;
  cgroup->max_swap = cgroup->max_hugetlb = cgroup->max_shmem = -1;
  cgroup->search_interval = SEARCH_FIRST_SECONDS;
  cgroup->credit = STAT_SAVED_SECONDS * stat_budget(measure);
  cgroup->last_read = tree->started;
  return 0;
}

static double reread_number(int fd)
{
  char text[64];
  double value;

  return fd >= 0 && ft_proc_reread(fd, text, sizeof text) > 0 && ft_proc_number(text, &value)
             ? value
             : -1;
}

/*
 * Returns the reclaimable page cache in bytes by TEXT, the content of memory.stat; -1: unknown.
 * These are the file pages on the LRU lists, without shared memory and tmpfs. Pages just read or
 * written are not on a list yet (tens of MiB with large folios), so all file pages that are neither
 * shared memory nor locked count as well. In v1 only the keys with total_ include child cgroups.
 */
static double reclaimable_bytes(const char *text, bool v1)
{
  double active, inactive, file, shmem, locked;

  if (!ft_proc_value(text, v1 ? "total_active_file" : "active_file", &active) ||
      !ft_proc_value(text, v1 ? "total_inactive_file" : "inactive_file", &inactive))
    return -1;
  if (!ft_proc_value(text, v1 ? "total_cache" : "file", &file) ||
      !ft_proc_value(text, v1 ? "total_shmem" : "shmem", &shmem) ||
      !ft_proc_value(text, v1 ? "total_unevictable" : "unevictable", &locked))
    return active + inactive;
  return fmax(active + inactive, file - shmem - locked);
}

/*
 * Returns the sum of the components of the memory usage by TEXT, the content of memory.stat, in
 * bytes; -1: unknown. memory.stat has kernel memory since Linux 5.18; v1 has a separate file for
 * it.
 */
static double accounted_bytes(const struct cgroup *cgroup, const char *text, bool v1)
{
  static const char *const v1_keys[] = { "total_rss", "total_cache", NULL };
  static const char *const v2_keys[] = {
    "kernel", "anon", "file", "sock", "zswap", "hugetlb", NULL
  };
  double sum = v1 ? reread_number(cgroup->kmem_fd) : 0, value;

  if (sum < 0 || !ft_proc_value(text, v1 ? v1_keys[0] : v2_keys[0], &value))
    return -1;
  for (const char *const *key = v1 ? v1_keys : v2_keys; *key; key++)
    if (ft_proc_value(text, *key, &value))
      sum += value;
  return sum;
}

/*
 * Sets the memory usage less cache. The usage is exact, but memory.stat may be two seconds old on a
 * busy node (FLUSH_TIME in Linux' mm/memcontrol.c). The part of the usage that memory.stat does not
 * account for yet may be cache and is subtracted; the next reading has it. The same holds for cache
 * that was dropped between the two reads.
 */
static void read_stat(struct ft_tree *tree, struct cgroup *cgroup, struct ft_sample *sample)
{
  bool v1 = tree->cgroup_v1;
  char text[16384];
  double cache, charge = sample->charge_bytes, value, hugetlb = -1;

  if (cgroup->stat_fd < 0 || ft_proc_reread(cgroup->stat_fd, text, sizeof text) <= 0)
    return;
  cache = reclaimable_bytes(text, v1);
  if (cache >= 0) {
    if ((value = accounted_bytes(cgroup, text, v1)) >= 0)
      charge = fmin(charge, value);
    ft_update_max(&cgroup->max_cache, cache);
    sample->charge_less_cache_bytes = fmax(charge - cache, 0);
  }
  if (ft_proc_value(text, v1 ? "total_shmem" : "shmem", &value))
    ft_update_max(&cgroup->max_shmem, value);
  if (v1 && ft_proc_value(text, "total_swap", &value))
    ft_update_max(&cgroup->max_swap, value);
  ft_update_max(&cgroup->max_swap, reread_number(cgroup->swap_fd));
  for (size_t i = 0; i < HUGETLB_LIMIT; i++)
    if ((value = reread_number(cgroup->hugetlb_fds[i])) >= 0)
      hugetlb = (hugetlb < 0 ? 0 : hugetlb) + value;
  ft_update_max(&cgroup->max_hugetlb, hugetlb);
}

/*
 * Reads the kernel's peak. A cgroup other than a job's may have had other processes before, so its
 * peak counts only if it has grown since the cgroup was found.
 */
static void read_peak(struct cgroup *cgroup)
{
  double peak = reread_number(cgroup->peak_fd);

  if (cgroup->job || peak > cgroup->peak_before)
    ft_update_max(&cgroup->peak_bytes, peak);
}

FT_HOT static void cgroup_sample(struct ft_measure *measure, struct ft_tree *tree, void *state,
                                 struct ft_sample *sample)
{
  struct cgroup *cgroup = state;
  double start, constant, budget = stat_budget(measure);

  if (!cgroup->job && measure->now >= cgroup->next_search) {
    find_cgroup(tree, cgroup);
    cgroup->next_search = measure->now + cgroup->search_interval;
    cgroup->search_interval *= 2;
    if (cgroup->search_interval > SEARCH_LONGEST_SECONDS)
      cgroup->search_interval = SEARCH_LONGEST_SECONDS;
  }
  if (!tree->cgroup)
    return;
  if (!tree->changed && measure->now < cgroup->next_read) {
    sample->charge_bytes = cgroup->usage_bytes;
    return;
  }
  sample->charge_bytes = reread_number(cgroup->usage_fd);
  if (sample->charge_bytes < 0) {
    /* the cgroup was removed with its processes */
    close_cgroup(tree, cgroup);
    return;
  }
  read_peak(cgroup);
  if (tree->memory_changed > cgroup->last_read || sample->charge_bytes != cgroup->usage_bytes) {
    cgroup->changed = measure->now;
    cgroup->next_stat = fmin(cgroup->next_stat, measure->now + STAT_SECONDS);
  }
  cgroup->usage_bytes = sample->charge_bytes;
  constant = measure->now - cgroup->changed;
  cgroup->next_read = constant >= STAT_LAG_SECONDS && cgroup->peak_bytes >= 0
                          ? measure->now + IDLE_READ_SECONDS
                          : 0;
  cgroup->credit = fmin(cgroup->credit + (measure->now - cgroup->last_read) * budget,
                        STAT_SAVED_SECONDS * budget);
  cgroup->last_read = measure->now;
  /* usage less cache is at most the usage: below the known peak there is no new one */
  if (cgroup->credit <= 0 || ((constant >= STAT_LAG_SECONDS ||
                               sample->charge_bytes <= tree->max.charge_less_cache_bytes) &&
                              measure->now < cgroup->next_stat))
    return;
  start = ft_io_monotonic();
  read_stat(tree, cgroup, sample);
  cgroup->credit -= ft_io_monotonic() - start;
  cgroup->next_stat =
      measure->now + (constant < STAT_LAG_SECONDS ? STAT_SECONDS : STAT_IDLE_SECONDS);
}

/*
 * Writes the results. The kernel's peak of the usage covers all instants, but the cache at that
 * instant is unknown. The peak minus the largest reclaimable cache ever read is a lower bound of
 * the peak less cache; the samples give another.
 */
static void cgroup_close(struct ft_measure *measure, struct ft_tree *tree, void *state,
                         ft_observation *out)
{
  struct cgroup *cgroup = state;
  double charge = tree->max.charge_bytes, less = tree->max.charge_less_cache_bytes;

  (void)measure;
  read_peak(cgroup);
  ft_update_max(&cgroup->peak_bytes, tree->end_charge_bytes);
  tree->charge_peak_known = cgroup->peak_bytes >= 0;
  ft_update_max(&charge, cgroup->peak_bytes);
  if (cgroup->max_cache >= 0)
    ft_update_max(&less, cgroup->peak_bytes - cgroup->max_cache);
  ft_set_measured(&out->has_charge_bytes, &out->charge_bytes, charge);
  ft_set_measured(&out->has_charge_less_cache_bytes, &out->charge_less_cache_bytes, less);
  ft_set_measured(&out->has_shmem_bytes, &out->shmem_bytes, cgroup->max_shmem);
  /* of all processes, with ended ones and shared pages: better than the sums of rss.c */
  ft_set_measured(&out->has_swap_bytes, &out->swap_bytes, cgroup->max_swap);
  ft_set_measured(&out->has_hugetlb_bytes, &out->hugetlb_bytes, cgroup->max_hugetlb);
  if (!out->has_limit_bytes)
    ft_set_measured(&out->has_limit_bytes, &out->limit_bytes, cgroup->limit_bytes);
  close_cgroup(tree, cgroup);
}

const struct ft_sampler ft_sampler_cgroup = { .name = "cgroup",
                                              .state_size = sizeof(struct cgroup),
                                              .probe = cgroup_probe,
                                              .open = cgroup_open,
                                              .sample = cgroup_sample,
                                              .close = cgroup_close };
