/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a tree uses performance counters itself. A processor has few of them, which the kernel
 * multiplexes: with ours beside them a user's counts would be estimates, and likwid, which programs
 * the processor without the kernel, would be wrong.
 */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/measure/internal.h"
#include "predictor/core/io.h"

/* Limits per sample and process; by judgement. */
enum { CHECKS_LIMIT = 16, DESCRIPTORS_LIMIT = 256 };

/* What perf_event_open(2) returns, the registers that likwid writes, VTune's driver. */
static const char *const devices[] = { "anon_inode:[perf_event]", "/dev/cpu/", "/dev/sep" };

/* In memory maps: PAPI, likwid, libpfm, VTune's collectors. */
static const char *const libraries[] = { "/libpapi.so", "/liblikwid", "/libpfm.so",
                                         "/libtpsstool.so", "/libittnotify_collector.so" };

static bool has_open_counters(const struct ft_measure *measure, pid_t pid)
{
  char name[32], link[64];
  struct dirent *entry;
  bool found = false;
  DIR *dir;

  (void)snprintf(name, sizeof name, "%d/fd", (int)pid);
  dir = ft_io_open_directory(measure->proc_fd, name);
  for (int n = 0; dir && !found && n < DESCRIPTORS_LIMIT && (entry = readdir(dir)); n++) {
    ssize_t length = readlinkat(dirfd(dir), entry->d_name, link, sizeof link - 1);

    link[length < 0 ? 0 : length] = '\0';
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
      found |= strncmp(link, devices[i], strlen(devices[i])) == 0;
  }
  if (dir)
    closedir(dir);
  return found;
}

static bool has_library(const struct ft_measure *measure, pid_t pid)
{
  const char *maps;
  bool found = false;

#ifdef __SANITIZE_ADDRESS__
  return false; /* PAPI stays loaded (papi.c), and a test's processes are copies of this one */
#endif
  if (ft_reader_read(measure, pid, "maps", &maps, NULL) <= 0)
    return false;
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
    found |= strstr(maps, libraries[i]) != NULL;
  return found;
}

void ft_own_counters_check(struct ft_tree *tree)
{
  size_t checks = 0;

  for (size_t i = 0; i < tree->count && !tree->uses_counters && checks < CHECKS_LIMIT; i++) {
    const struct ft_member *member = &tree->members[i];
    const struct ft_member *parent = ft_tree_find(tree, member->parent);
    struct ft_stat stat;

    if (!ft_member_lives(member) || !(member->fresh || member->read_details))
      continue;
    checks++;
    /* before exec it has the descriptors of slurmstepd, or of foretell profile */
    if (ft_stat_read(tree->measure, member->pid, &stat) < 0 ||
        (stat.forked && (member->root || (parent && parent->skipped))))
      continue;
    tree->uses_counters =
        has_open_counters(tree->measure, member->pid) || has_library(tree->measure, member->pid);
  }
  tree->counted = !tree->uses_counters;
}
