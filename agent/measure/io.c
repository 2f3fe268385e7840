/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Totals of a run: processor time, page faults, bytes read from and written to storage; and the
 * maximum of open files and threads. They are part of a member's detailed read: 1 s after its
 * start, then less and less often, and at the end.
 *
 * The kernel adds a waited-for child's totals to its parent's, also in /proc/PID/io (kernel/exit.c:
 * wait_task_zombie). So the totals of living members count nothing twice, and those of ended
 * members are added only if no living member's totals include them.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/measure/internal.h"

struct io {
  bool any; /* an io file could be read */
};

static bool io_probe(struct ft_measure *measure, struct ft_measure_report *report)
{
  char text[512];

  if (ft_proc_read(measure->proc_fd, "self/io", text, sizeof text) < 0 && errno == ENOENT &&
      measure->own_proc)
    snprintf(report->why, sizeof report->why,
             "/proc/PID/stat; no bytes: needs a kernel with CONFIG_TASK_IO_ACCOUNTING");
  else if (!ft_proc_may_open(measure))
    snprintf(report->why, sizeof report->why,
             "/proc/PID/stat, io and fd; bytes and files of this user's processes only: others' "
             "need CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH");
  else
    snprintf(report->why, sizeof report->why, "/proc/PID/stat, io and fd");
  return true;
}

/* Returns the number of PID's open files, or -1. The directory's size is that number since
 * Linux 6.2. */
static double count_files(const struct ft_measure *measure, pid_t pid)
{
  char name[32];
  struct stat st;
  struct dirent *entry;
  double count = 0;
  DIR *dir;
  int fd;

  snprintf(name, sizeof name, "%d/fd", (int)pid);
  fd = openat(measure->proc_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return -1;
  if (measure->own_proc && fstat(fd, &st) == 0 && st.st_size > 0) {
    close(fd);
    return (double)st.st_size;
  }
  dir = fdopendir(fd);
  if (!dir) {
    close(fd);
    return -1;
  }
  while ((entry = readdir(dir)))
    count += entry->d_name[0] != '.';
  closedir(dir);
  return count;
}

static bool is_there(const struct ft_measure *measure, const struct ft_member *member)
{
  struct ft_stat stat;

  return ft_stat_read(measure, member->pid, &stat) == 0 && stat.start == member->start;
}

/*
 * Reads a member's totals. Of a skipped root only the waited-for children's count. /proc/PID/io
 * does not separate them, so the root's I/O before it was added is subtracted.
 */
static void read_totals(struct ft_tree *tree, struct io *io, struct ft_member *member)
{
  static const char *const keys[] = { "read_bytes:", "write_bytes:" };
  const struct ft_measure *measure = tree->measure;
  char text[1024];
  struct ft_stat stat;

  if (ft_stat_read(measure, member->pid, &stat) < 0 || stat.start != member->start)
    return;
  ft_tree_move_member(tree, member, &stat);
  member->threads = stat.threads;
  member->forked = stat.forked;
  member->reaped_child |= stat.children[FT_TOTAL_MINOR_FAULTS] > member->children_faults;
  member->children_faults = stat.children[FT_TOTAL_MINOR_FAULTS];
  for (size_t i = FT_TOTAL_CPU_SECONDS; i <= FT_TOTAL_MAJOR_FAULTS; i++)
    member->totals[i] = stat.children[i] + (member->skipped ? 0 : stat.own[i]);
  if (ft_proc_read_pid(measure, member->pid, "io", text, sizeof text) < 0)
    return;
  io->any = true;
  for (size_t i = 0; i < 2; i++) {
    double value, *initial = &member->initial_totals[FT_TOTAL_READ_BYTES + i];

    if (!ft_proc_value(text, keys[i], &value))
      continue;
    if (member->skipped && member->fresh)
      *initial = value;
    member->totals[FT_TOTAL_READ_BYTES + i] = value - *initial;
  }
}

/* Returns MEMBER's nearest living ancestor (heir), whose totals may include MEMBER's, or NULL. */
static struct ft_member *heir_of(const struct ft_tree *tree, const struct ft_member *member)
{
  pid_t parent = member->parent;

  for (size_t generation = 0; generation < tree->count; generation++) {
    const struct ft_member *next = NULL;

    for (size_t i = 0; i < tree->count && !next; i++)
      if (tree->members[i].pid == parent)
        next = &tree->members[i];
    if (!next)
      return NULL;
    if (!next->gone)
      return ft_tree_find(tree, parent);
    parent = next->parent;
  }
  return NULL;
}

/*
 * Reads the heirs of ended members, which may have ended unnoticed because an unchanged process is
 * not read at each sample; then their own parents inherit.
 */
static void notice_ended_heirs(struct ft_tree *tree)
{
  for (size_t i = 0; i < tree->count; i++) {
    struct ft_member *heir;

    while (tree->members[i].gone && (heir = heir_of(tree, &tree->members[i])) &&
           !is_there(tree->measure, heir)) {
      heir->gone = tree->changed = true;
      tree->alive -= !heir->zombie;
    }
  }
}

/*
 * Settles the totals of ended members. The heir's totals should have grown by as much since they
 * were read. If not (the heir ignores SIGCHLD, or another process waited), the difference is added
 * to the tree's totals. The heir's own growth may hide a part of it.
 */
static void settle_totals(struct ft_tree *tree, struct io *io)
{
  bool any_pending = false;

  notice_ended_heirs(tree);
  for (size_t i = 0; i < tree->count; i++) {
    struct ft_member *heir;

    if (!tree->members[i].gone)
      continue;
    heir = heir_of(tree, &tree->members[i]);
    for (size_t k = 0; k < FT_TOTALS; k++)
      *(heir ? &heir->pending_totals[k] : &tree->ended_totals[k]) += tree->members[i].totals[k];
    if (heir)
      heir->has_pending = any_pending = true;
  }
  for (size_t i = 0; any_pending && i < tree->count; i++) {
    struct ft_member *member = &tree->members[i];
    double old[FT_TOTALS];

    if (!member->has_pending)
      continue;
    for (size_t k = 0; k < FT_TOTALS; k++)
      old[k] = member->totals[k];
    read_totals(tree, io, member);
    for (size_t k = 0; k < FT_TOTALS; k++) {
      double missing = member->pending_totals[k] - (member->totals[k] - old[k]);

      if (missing > 0)
        tree->ended_totals[k] += missing;
      member->pending_totals[k] = 0;
    }
    member->has_pending = false;
  }
}

/*
 * Clears the totals of a child that ended after its last read but before its parent's, whose totals
 * already include it. Every process has page faults, so an increase of the children's faults shows
 * that the parent has waited for one.
 */
static void drop_reaped_totals(const struct ft_measure *measure, struct ft_tree *tree)
{
  bool any = false;

  for (size_t i = 0; i < tree->count; i++)
    any |= tree->members[i].reaped_child;
  if (!any)
    return;
  for (size_t i = 0; i < tree->count; i++) {
    struct ft_member *member = &tree->members[i];
    const struct ft_member *parent = member->gone ? NULL : ft_tree_find(tree, member->parent);

    if (parent && parent->reaped_child && !is_there(measure, member))
      memset(member->totals, 0, sizeof member->totals);
  }
  for (size_t i = 0; i < tree->count; i++)
    tree->members[i].reaped_child = false;
}

static void add_up_io(struct ft_tree *tree)
{
  for (size_t k = 0; k < FT_TOTALS; k++) {
    double sum = tree->ended_totals[k];

    for (size_t i = 0; i < tree->count; i++)
      sum += tree->members[i].gone ? 0 : tree->members[i].totals[k];
    ft_update_max(&tree->max_sums[k], sum);
  }
}

static void io_sample(struct ft_measure *measure, struct ft_tree *tree, void *state,
                      struct ft_sample *sample)
{
  struct io *io = state;
  double files = -1;
  bool changed = false;

  settle_totals(tree, io);
  for (size_t i = 0; i < tree->count; i++) {
    struct ft_member *member = &tree->members[i];

    changed |= member->read_details || member->gone || member->fresh;
    if (!member->gone && (member->read_details || (member->skipped && member->fresh))) {
      read_totals(tree, io, member);
      member->open_files = count_files(measure, member->pid);
    } else if (!member->gone && !member->fresh && isnan(member->open_files)) {
      /* at once, because the first detailed read comes after a second */
      member->open_files = count_files(measure, member->pid);
    }
    if (!ft_member_lives(member))
      continue;
    sample->threads += member->threads;
    if (member->open_files >= 0)
      files = (files < 0 ? 0 : files) + member->open_files;
  }
  ft_update_max(&tree->max_open_files, files);
  drop_reaped_totals(measure, tree);
  if (changed)
    add_up_io(tree);
}

/* Reads the living members once more and writes the results; a task's rusage may be larger. */
static void io_close(struct ft_measure *measure, struct ft_tree *tree, void *state,
                     ft_observation *out)
{
  struct io *io = state;

  /* as at a sample: first the ended members, then the others' totals */
  for (size_t i = 0; i < tree->count; i++)
    tree->members[i].gone |= !is_there(measure, &tree->members[i]);
  settle_totals(tree, io);
  for (size_t i = 0; i < tree->count; i++)
    if (!tree->members[i].gone)
      read_totals(tree, io, &tree->members[i]);
  drop_reaped_totals(measure, tree);
  add_up_io(tree);
  for (size_t k = 0; k < FT_TOTALS; k++) {
    double reported = 0;

    for (size_t i = 0; i < tree->end_count; i++)
      reported += tree->ends[i].totals[k];
    ft_update_max(&tree->max_sums[k], reported);
  }
  out->has_cpu_seconds = out->has_system_seconds = true;
  out->cpu_seconds = tree->max_sums[FT_TOTAL_CPU_SECONDS];
  out->system_seconds = tree->max_sums[FT_TOTAL_SYSTEM_SECONDS];
  ft_set_measured(&out->has_minor_faults, &out->minor_faults,
                  tree->max_sums[FT_TOTAL_MINOR_FAULTS]);
  ft_set_measured(&out->has_major_faults, &out->major_faults,
                  tree->max_sums[FT_TOTAL_MAJOR_FAULTS]);
  if (io->any) {
    ft_set_measured(&out->has_read_bytes, &out->read_bytes, tree->max_sums[FT_TOTAL_READ_BYTES]);
    ft_set_measured(&out->has_write_bytes, &out->write_bytes, tree->max_sums[FT_TOTAL_WRITE_BYTES]);
  }
  if (tree->max_open_files >= 0) {
    out->has_open_files = true;
    out->open_files = (uint32_t)fmin(tree->max_open_files, UINT32_MAX);
  }
}

const struct ft_sampler ft_sampler_io = { .name = "io",
                                          .state_size = sizeof(struct io),
                                          .probe = io_probe,
                                          .by_members = true,
                                          .sample = io_sample,
                                          .close = io_close };
