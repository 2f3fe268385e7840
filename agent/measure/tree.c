/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A tree's members. Given roots and what the discovery found below them, it reads
 * every member's statm at an instant and tells who ended and who is due for a closer
 * look. Members stay when they are re-parented.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/measure/internal.h"

/* Of one tree: as many as Linux has pids (PID_MAX_LIMIT) would be a node with nothing else. */
#define MEMBERS_LIMIT (1 << 20)

/*
 * A process's first look at the costly files, and the longest wait between two later ones:
 * while its size and RSS change (a thread brings a stack), and while neither does.
 */
#define LOOK_FIRST_SECONDS 1.0
#define LOOK_LONGEST_SECONDS 8.0
#define LOOK_IDLE_SECONDS 32.0

/*
 * A process whose statm said the same so often is read at every tenth instant only, where
 * instants are as dense as that; as soon as it differs, its high water mark is looked at,
 * which holds whatever was between.
 */
#define STILL_SAMPLES 10
#define STILL_PART 10
#define STILL_SECONDS 1.0 /* no process goes unread for longer */

struct ft_member *ft_tree_find(const struct ft_tree *tree, pid_t pid)
{
  for (size_t i = 0; i < tree->count; i++)
    if (tree->members[i].pid == pid && !tree->members[i].gone)
      return &tree->members[i];
  return NULL;
}

struct ft_tree *ft_tree_of(const struct ft_measure *measure, pid_t pid)
{
  for (struct ft_tree *tree = measure->trees; tree; tree = tree->next)
    if (ft_tree_find(tree, pid))
      return tree;
  return NULL;
}

static void member_close(struct ft_measure *measure, struct ft_member *member)
{
  if (member->statm_fd < 0)
    return;
  close(member->statm_fd);
  member->statm_fd = -1;
  measure->descriptors--;
}

static int open_statm(struct ft_measure *measure, pid_t pid)
{
  char name[32];
  int fd;

  if (measure->descriptors >= measure->descriptors_limit)
    return -1;
  snprintf(name, sizeof name, "%d/statm", (int)pid);
  fd = openat(measure->proc_fd, name, O_RDONLY | O_CLOEXEC);
  if (fd >= 0)
    measure->descriptors++;
  return fd;
}

struct ft_member *ft_tree_add_member(struct ft_tree *tree, pid_t pid, const struct ft_stat *stat)
{
  struct ft_measure *measure = tree->measure;
  struct ft_member *member;

  if (tree->count == tree->size) {
    size_t size = tree->size ? 2 * tree->size : 16;
    struct ft_member *members =
        size > MEMBERS_LIMIT ? NULL : realloc(tree->members, size * sizeof *members);

    if (!members)
      return NULL;
    tree->members = members;
    tree->size = size;
  }
  member = &tree->members[tree->count++];
  *member = (struct ft_member){ .pid = pid,
                                .parent = stat->parent,
                                .session = stat->session,
                                .start = stat->start,
                                .fresh = true,
                                .statm_fd = open_statm(measure, pid),
                                .next_look = measure->now + LOOK_FIRST_SECONDS,
                                .look_interval = LOOK_FIRST_SECONDS,
                                .others_bytes = -1,
                                .open_files = -1,
                                .threads = stat->threads };
  for (size_t i = 0; i < FT_TOTALS; i++)
    member->own[i] = stat->own[i] + stat->children[i];
  return member;
}

void ft_tree_sweep(struct ft_tree *tree)
{
  size_t kept = 0;

  for (size_t i = 0; i < tree->count; i++) {
    struct ft_member *member = &tree->members[i];

    member->fresh = false;
    if (member->gone)
      member_close(tree->measure, member);
    else
      tree->members[kept++] = *member;
  }
  tree->count = kept;
}

void ft_tree_forget(struct ft_tree *tree)
{
  for (size_t i = 0; i < tree->count; i++)
    member_close(tree->measure, &tree->members[i]);
  free(tree->members);
}

int ft_tree_add_root(struct ft_tree *tree, pid_t pid, bool skip_self, struct ft_error *err)
{
  struct ft_measure *measure = tree->measure;
  struct ft_tree *other = pid > 0 && pid < FT_PID_LIMIT ? ft_tree_of(measure, pid) : NULL;
  struct ft_member *member;
  struct ft_stat stat;

  if (pid <= 0 || pid >= FT_PID_LIMIT || ft_stat_read(measure, pid, &stat) < 0 || stat.thread)
    return ft_error_set(err, "there is no process %d", (int)pid);
  if (other && other != tree && ft_tree_find(other, pid)->start == stat.start)
    return ft_error_set(err, "process %d is being measured for another job", (int)pid);
  member = ft_tree_find(tree, pid);
  if (!member) {
    member = ft_tree_add_member(tree, pid, &stat);
    tree->alive++;
  }
  if (!member)
    return ft_error_set(err, "out of memory");
  member->root = true;
  member->skipped = skip_self;
  tree->command |= measure->own_proc && pid == getpid();
  ft_discovery_restart(measure->discovery);
  ft_tree_added(tree);
  return 0;
}

/* ---- who lives, and what it holds ---- */

/* Read a member's statm. Returns false when the process has ended and been waited for. */
static bool read_statm(struct ft_measure *measure, struct ft_member *member)
{
  char text[128];
  ssize_t length = member->statm_fd >= 0
                       ? ft_proc_reread(member->statm_fd, text, sizeof text)
                       : ft_proc_read_pid(measure, member->pid, "statm", text, sizeof text);
  struct ft_text cursor;
  uint64_t size, resident, shared;

  if (length < 0)
    return errno != ESRCH && errno != ENOENT && errno != ENODEV;
  cursor = ft_text_of(text, (size_t)length);
  if (!ft_text_u64(&cursor, UINT64_MAX, &size) || !ft_text_skip(&cursor, " ") ||
      !ft_text_u64(&cursor, UINT64_MAX, &resident) || !ft_text_skip(&cursor, " ") ||
      !ft_text_u64(&cursor, UINT64_MAX, &shared))
    return true;
  if ((double)resident * measure->page_bytes != member->rss_bytes ||
      (double)size * measure->page_bytes != member->size_bytes) {
    member->changed = true;
    if (member->still >= STILL_SAMPLES)
      member->next_look = fmin(member->next_look, member->looked + LOOK_FIRST_SECONDS);
    member->still = 0;
  } else if (member->still < STILL_SAMPLES) {
    member->still++;
  }
  /* an ended process that nobody has waited for has no memory, but its last totals */
  if (size == 0 && !member->zombie) {
    member->zombie = true;
    member->next_look = 0;
  }
  member->size_bytes = (double)size * measure->page_bytes;
  member->rss_bytes = (double)resident * measure->page_bytes;
  member->shared_bytes = (double)shared * measure->page_bytes;
  return true;
}

static bool may_wait(const struct ft_measure *measure, const struct ft_member *member)
{
  return member->still >= STILL_SAMPLES &&
         measure->settings.seconds * STILL_PART <= STILL_SECONDS &&
         (measure->instants + (uint32_t)member->pid) % STILL_PART;
}

/* A kept descriptor fails when its process has ended; a pid alone may have been given out again. */
static bool is_same(const struct ft_measure *measure, const struct ft_member *member)
{
  struct ft_stat stat;

  return member->statm_fd >= 0 || ft_stat_read(measure, member->pid, &stat) < 0 ||
         stat.start == member->start;
}

void ft_tree_look_at(struct ft_measure *measure, struct ft_member *member)
{
  member->look = false;
  if (may_wait(measure, member))
    return;
  member->gone = !read_statm(measure, member);
  member->look = !member->gone && measure->now >= member->next_look &&
                 (member->changed || measure->now >= member->next_look + LOOK_IDLE_SECONDS);
  if (member->look && !is_same(measure, member)) {
    member->gone = true;
    member->look = false;
  }
  if (!member->look)
    return;
  member->changed = false;
  member->looked = measure->now;
  member->look_interval *= 2;
  if (member->look_interval > LOOK_LONGEST_SECONDS)
    member->look_interval = LOOK_LONGEST_SECONDS;
  member->next_look = measure->now + member->look_interval;
}

void ft_tree_look(struct ft_tree *tree)
{
  tree->alive = 0;
  for (size_t i = 0; i < tree->count; i++) {
    ft_tree_look_at(tree->measure, &tree->members[i]);
    tree->alive += !tree->members[i].gone && !tree->members[i].zombie;
  }
}
