/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The members of a tree: reads their statm at each sample, and determines which have ended and
 * which are due for a detailed read. Members remain when they are re-parented.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/measure/gpu_driver.h"
#include "agent/measure/internal.h"
#include "predictor/core/hash.h"

/* Maximum number of processes of one tree: a quarter of PID_MAX_LIMIT. */
#define MEMBERS_LIMIT (1 << 20)
/* Interval of the checks whether a tree is stopped, as a fraction of the time since a process last
 * changed its memory. At least STOP_MIN_SECONDS, as Slurm's times are whole seconds; at most
 * STOP_MAX_SECONDS, so that no longer suspension is missed. */
#define STOP_FRACTION 0.25
#define STOP_MIN_SECONDS 1.0
#define STOP_MAX_SECONDS 10.0

/*
 * Time until a process's first detailed read (read of the expensive files), and maximum time
 * between later ones: while its size or RSS changes (a new thread has a stack), and while both are
 * constant.
 */
#define DETAILS_FIRST_SECONDS 1.0
#define DETAILS_LONGEST_SECONDS 8.0
#define DETAILS_IDLE_SECONDS 32.0
/* Of a process that has not run, /proc/PID/stat alone is read, after this fraction of the time
 * since it last ran, which bounds the processor time that is missed if it runs and ends unnoticed;
 * and after at most SLEEP_LONGEST_SECONDS. */
#define SLEEP_FRACTION 0.25
#define SLEEP_LONGEST_SECONDS 120.0

/*
 * After IDLE_READS equal readings of statm a process is read only at one sample in IDLE_PERIOD,
 * after REST_READS at one in REST_PERIOD (at 10 Hz every 2 s, after 20 s more every 10 s). As soon
 * as it differs, its high water mark is read, which covers the time between. If one has grown by
 * GROWTH_FRACTION all are read, because the ranks of one program grow together, and their sum
 * follows from no high water mark. So in a tree of many, one read in REST_SPACING samples is enough
 * (at 10 Hz one a second), until each is read at one sample in REST_PERIOD_LONGEST.
 */
#define IDLE_READS 10
#define IDLE_PERIOD 20
#define IDLE_PERIOD_SECONDS 2.0 /* maximum time between two reads of an idle process */
#define REST_READS 20
#define REST_PERIOD 100
#define REST_SPACING 10
#define REST_PERIOD_LONGEST 300
#define GROWTH_FRACTION (1.0 / 64)

/* Returns the entry of PID if it is a member that has not ended; else NULL. */
static const struct ft_index_entry *find_entry(const struct ft_measure *measure, pid_t pid)
{
  const struct ft_index_entry *entry = ft_tree_index_find(&measure->pids, (uint64_t)pid);

  return entry && !entry->tree->members[entry->value].gone ? entry : NULL;
}

struct ft_member *ft_tree_find(const struct ft_tree *tree, pid_t pid)
{
  const struct ft_index_entry *entry = find_entry(tree->measure, pid);

  return entry && entry->tree == tree ? &tree->members[entry->value] : NULL;
}

struct ft_tree *ft_tree_of(const struct ft_measure *measure, pid_t pid)
{
  const struct ft_index_entry *entry = find_entry(measure, pid);

  return entry ? entry->tree : NULL;
}

/* Enters the member of PID and SESSION that TREE is about to get. Returns 0; -1 out of memory. */
static int index_member(struct ft_tree *tree, pid_t pid, pid_t session)
{
  struct ft_measure *measure = tree->measure;
  struct ft_index_entry *entry;

  if (ft_tree_index_count(&measure->sessions, (uint64_t)session) < 0)
    return -1;
  entry = ft_tree_index_add(&measure->pids, (uint64_t)pid);
  if (!entry) {
    ft_tree_index_discount(&measure->sessions, (uint64_t)session);
    return -1;
  }
  /* an ended member may have had the same pid */
  entry->tree = tree;
  entry->value = tree->count;
  return 0;
}

/* Returns the entry of TREE's member INDEX; NULL if its pid belongs to a later process. */
static struct ft_index_entry *entry_of(const struct ft_tree *tree, size_t index)
{
  struct ft_index_entry *entry =
      ft_tree_index_find(&tree->measure->pids, (uint64_t)tree->polls[index].pid);

  return entry && entry->tree == tree && entry->value == index ? entry : NULL;
}

/* Removes TREE's member INDEX from the maps. */
static void unindex_member(struct ft_tree *tree, size_t index)
{
  struct ft_index_entry *entry = entry_of(tree, index);

  if (entry)
    ft_tree_index_remove(&tree->measure->pids, entry);
  ft_tree_index_discount(&tree->measure->sessions, (uint64_t)tree->members[index].session);
}

static void close_statm(struct ft_measure *measure, struct ft_poll_state *poll)
{
  if (poll->statm_fd < 0)
    return;
  close(poll->statm_fd);
  poll->statm_fd = -1;
  measure->descriptors--;
}

static int open_statm(struct ft_measure *measure, pid_t pid)
{
  char name[32];
  int fd;

  if (!ft_proc_may_keep_open(measure))
    return -1;
  snprintf(name, sizeof name, "%d/statm", (int)pid);
  fd = ft_proc_open(measure->proc_fd, name);
  if (fd >= 0)
    measure->descriptors++;
  return fd;
}

static int make_room(struct ft_tree *tree)
{
  size_t size = tree->size ? 2 * tree->size : 16;
  struct ft_member *members;
  struct ft_poll_state *polls;

  if (tree->count < tree->size)
    return 0;
  if (size > MEMBERS_LIMIT)
    return -1;
  members = realloc(tree->members, size * sizeof *members);
  if (!members)
    return -1;
  tree->members = members;
  polls = realloc(tree->polls, size * sizeof *polls);
  if (!polls)
    return -1;
  tree->polls = polls;
  tree->size = size;
  return 0;
}

struct ft_member *ft_tree_add_member(struct ft_tree *tree, pid_t pid, const struct ft_stat *stat)
{
  struct ft_measure *measure = tree->measure;
  struct ft_member *member;

  if ((measure->reader && pid == ft_reader_child(measure->reader)->pid) ||
      pid == ft_gpu_driver_child()->pid)
    return NULL;
  if (make_room(tree) < 0 || index_member(tree, pid, stat->session) < 0)
    return NULL;
  tree->changed = true;
  tree->alive++;
  tree->next_read = measure->sample_count;
  tree->polls[tree->count] = (struct ft_poll_state){ .pid = pid,
                                                     .statm_fd = open_statm(measure, pid),
                                                     .next_read = tree->next_read };
  member = &tree->members[tree->count++];
  *member = (struct ft_member){ .pid = pid,
                                .parent = stat->parent,
                                .session = stat->session,
                                .start = stat->start,
                                .fresh = true,
                                .forked = stat->forked,
                                .details_read_at = measure->now,
                                .next_details = measure->now + DETAILS_FIRST_SECONDS,
                                .details_interval = DETAILS_FIRST_SECONDS,
                                .min_others_bytes = -1,
                                .open_files = NAN,
                                .threads = stat->threads };
  for (size_t i = 0; i < FT_TOTALS; i++)
    member->totals[i] = stat->own[i] + stat->children[i];
  return member;
}

void ft_tree_move_member(struct ft_tree *tree, struct ft_member *member, const struct ft_stat *stat)
{
  struct ft_tree_index *sessions = &tree->measure->sessions;

  member->parent = stat->parent;
  if (stat->session == member->session ||
      ft_tree_index_count(sessions, (uint64_t)stat->session) < 0)
    return;
  ft_tree_index_discount(sessions, (uint64_t)member->session);
  member->session = stat->session;
}

FT_HOT void ft_tree_remove_ended(struct ft_tree *tree)
{
  bool fresh = false;
  size_t kept = 0;

  if (!tree->changed)
    return;
  for (size_t i = 0; i < tree->count; i++) {
    struct ft_member *member = &tree->members[i];

    if (member->gone) {
      unindex_member(tree, i);
      close_statm(tree->measure, &tree->polls[i]);
      /* another process may get its pid */
      ft_pids_remove(tree->measure->known_pids, member->pid);
      continue;
    }
    fresh |= member->fresh;
    member->fresh = member->read_details = false;
    if (kept < i) {
      struct ft_index_entry *entry = entry_of(tree, i);

      if (entry)
        entry->value = kept;
      tree->members[kept] = *member;
      tree->polls[kept] = tree->polls[i];
    }
    kept++;
  }
  tree->count = kept;
  tree->changed = fresh;
}

void ft_tree_free_members(struct ft_tree *tree)
{
  for (size_t i = 0; i < tree->count; i++) {
    unindex_member(tree, i);
    close_statm(tree->measure, &tree->polls[i]);
  }
  free(tree->members);
  free(tree->polls);
}

/* ---- state and memory of members ---- */

/* Parses STATM, page counts, into member INDEX. Ignores malformed text. */
static void update_memory(struct ft_tree *tree, size_t index, struct ft_text statm)
{
  struct ft_poll_state *poll = &tree->polls[index];
  struct ft_member *member = &tree->members[index];
  double page = tree->measure->page_bytes;
  uint64_t size, resident, shared;

  if (!ft_text_u64(&statm, UINT64_MAX, &size) || !ft_text_skip(&statm, " ") ||
      !ft_text_u64(&statm, UINT64_MAX, &resident) || !ft_text_skip(&statm, " ") ||
      !ft_text_u64(&statm, UINT64_MAX, &shared))
    return;
  if ((double)resident * page != member->rss_bytes || (double)size * page != member->size_bytes) {
    member->changed = tree->changed = true;
    tree->memory_changed = tree->measure->now;
    if (poll->unchanged_reads >= IDLE_READS) {
      tree->idle_grew |= (double)resident * page > (1 + GROWTH_FRACTION) * member->rss_bytes;
      member->next_details =
          fmin(member->next_details, member->details_read_at + DETAILS_FIRST_SECONDS);
    }
    poll->unchanged_reads = 0;
  } else if (poll->unchanged_reads < REST_READS) {
    poll->unchanged_reads++;
  }
  /* a zombie has no memory, but its final totals */
  if (size == 0 && !member->zombie) {
    member->zombie = tree->changed = true;
    member->next_details = 0;
  }
  member->size_bytes = (double)size * page;
  member->rss_bytes = (double)resident * page;
  member->shared_bytes = (double)shared * page;
}

/* Whether INDEX's pid names the same process, which is certain while a descriptor is open. */
static bool is_same(const struct ft_tree *tree, size_t index)
{
  struct ft_stat stat;

  return tree->polls[index].statm_fd >= 0 ||
         ft_stat_read(tree->measure, tree->members[index].pid, &stat) < 0 ||
         stat.start == tree->members[index].start;
}

/* Returns the time of the next detailed read, earlier if the process has changed. */
static double details_due(const struct ft_member *member)
{
  return member->next_details + (member->changed ? 0 : DETAILS_IDLE_SECONDS);
}

static void schedule_details(double now, struct ft_member *member)
{
  member->read_details = true;
  member->changed = false;
  member->details_read_at = now;
  member->details_interval = fmin(2 * member->details_interval, DETAILS_LONGEST_SECONDS);
  member->next_details = now + member->details_interval;
}

static void schedule_sleeper(double now, struct ft_member *member)
{
  double rest = SLEEP_FRACTION * (now - member->details_read_at);

  member->next_details = now + fmin(fmax(rest, DETAILS_LONGEST_SECONDS), SLEEP_LONGEST_SECONDS);
}

/* Sets whether TREE is stopped by STAT, of a living member: a job is suspended as a whole. */
static void set_stopped(struct ft_tree *tree, const struct ft_stat *stat)
{
  double rest = STOP_FRACTION * (tree->measure->now - tree->memory_changed);

  tree->stopped |= stat->stopped;
  tree->stop_due = tree->measure->now + fmin(fmax(rest, STOP_MIN_SECONDS), STOP_MAX_SECONDS);
}

/* Whether the process of member INDEX has not run since its last detailed read, by its CPU time and
 * page faults. */
static bool has_slept(struct ft_tree *tree, size_t index)
{
  struct ft_member *member = &tree->members[index];
  struct ft_stat stat;

  if (ft_stat_read(tree->measure, member->pid, &stat) < 0 || stat.start != member->start)
    return false;
  ft_tree_move_member(tree, member, &stat);
  if (ft_member_lives(member))
    set_stopped(tree, &stat);
  for (size_t i = FT_TOTAL_CPU_SECONDS; i <= FT_TOTAL_MAJOR_FAULTS; i++)
    if (member->totals[i] != stat.children[i] + (member->skipped ? 0 : stat.own[i]))
      return false;
  return true;
}

/* Processes a statm that differs or could not be read (LENGTH negative), or a due detailed read. */
static void update_member(struct ft_tree *tree, size_t index, const char *text, ssize_t length)
{
  struct ft_member *member = &tree->members[index];
  bool lived = !member->gone && !member->zombie;

  member->gone = length < 0 && (errno == ESRCH || errno == ENOENT || errno == ENODEV);
  if (length >= 0)
    update_memory(tree, index, ft_text_of(text, (size_t)length));
  if (!member->gone && tree->measure->now >= details_due(member)) {
    if (tree->polls[index].unchanged_reads >= REST_READS && has_slept(tree, index))
      schedule_sleeper(tree->measure->now, member);
    else if (is_same(tree, index))
      schedule_details(tree->measure->now, member);
    else
      member->gone = true;
  }
  tree->polls[index].details_due = (float)(details_due(member) - tree->started);
  tree->changed |= member->gone || member->read_details;
  tree->alive -= lived && (member->gone || member->zombie);
}

/* Whether the sample NUMBER has come; the counter of samples may wrap around. */
static bool is_due(const struct ft_measure *measure, uint32_t number)
{
  return (int32_t)(measure->sample_count - number) >= 0;
}

/* Returns the number of samples between two reads of a process of TREE at rest. */
static uint32_t rest_period(const struct ft_tree *tree)
{
  size_t period = tree->count * REST_SPACING;

  if (period > REST_PERIOD_LONGEST)
    return REST_PERIOD_LONGEST;
  return period < REST_PERIOD ? REST_PERIOD : (uint32_t)period;
}

/* Sets the sample at which POLL, of TREE, is read next. Processes with the same period are read at
 * different samples: Fibonacci hashing spreads consecutive pids evenly over the period (Knuth, The
 * Art of Computer Programming, volume 3, section 6.4). */
static void schedule_read(const struct ft_tree *tree, struct ft_poll_state *poll)
{
  const struct ft_measure *measure = tree->measure;
  uint32_t period = poll->unchanged_reads < REST_READS ? IDLE_PERIOD : rest_period(tree), phase;

  if (poll->unchanged_reads < IDLE_READS ||
      measure->settings.seconds * IDLE_PERIOD > IDLE_PERIOD_SECONDS)
    period = 1;
  phase = (uint32_t)((uint64_t)((uint32_t)poll->pid * 2654435769U) * period >> 32);
  poll->next_read = measure->sample_count + period - (measure->sample_count + phase) % period;
}

FT_HOT void ft_tree_read_member(struct ft_tree *tree, size_t index)
{
  struct ft_measure *measure = tree->measure;
  struct ft_poll_state *poll = &tree->polls[index];
  char text[128];
  ssize_t length = poll->statm_fd >= 0
                       ? ft_proc_reread(poll->statm_fd, text, sizeof text)
                       : ft_proc_read_pid(measure, poll->pid, "statm", text, sizeof text);
  uint64_t hash = length < 0 ? 0 : ft_hash64(FT_HASH_SEED, text, (size_t)length);

  poll->last_read = measure->sample_count;
  if (length >= 0 && hash == poll->statm_hash && measure->now - tree->started < poll->details_due) {
    poll->unchanged_reads += poll->unchanged_reads < REST_READS;
  } else {
    poll->statm_hash = hash;
    update_member(tree, index, text, length);
  }
  schedule_read(tree, poll);
}

void ft_tree_read_rest(struct ft_tree *tree)
{
  for (size_t i = 0; i < tree->count; i++)
    if (tree->polls[i].last_read != tree->measure->sample_count)
      ft_tree_read_member(tree, i);
}

/* Checks whether the tree is stopped, by its youngest living member. */
static void check_stopped(struct ft_tree *tree)
{
  struct ft_stat stat = { 0 };
  size_t i = tree->count;

  while (i-- > 0 && !ft_member_lives(&tree->members[i]))
    ;
  if (i < tree->count)
    (void)ft_stat_read(tree->measure, tree->members[i].pid, &stat);
  set_stopped(tree, &stat);
}

bool ft_tree_was_stopped(const struct ft_tree *tree)
{
  return tree->stopped;
}

/* Reads the members that are due. */
FT_HOT static void read_due_members(struct ft_tree *tree)
{
  const struct ft_measure *measure = tree->measure;
  uint32_t wait = REST_PERIOD_LONGEST;

  for (size_t i = 0; i < tree->count; i++) {
    if (is_due(measure, tree->polls[i].next_read))
      ft_tree_read_member(tree, i);
    if (tree->polls[i].next_read - measure->sample_count < wait)
      wait = tree->polls[i].next_read - measure->sample_count;
  }
  tree->next_read = measure->sample_count + wait;
}

FT_HOT void ft_tree_read_due(struct ft_tree *tree)
{
  const struct ft_measure *measure = tree->measure;

  tree->idle_grew = false;
  if (is_due(measure, tree->next_read))
    read_due_members(tree);
  if (tree->idle_grew)
    ft_tree_read_rest(tree);
  if (!tree->stopped && measure->now >= tree->stop_due)
    check_stopped(tree);
}
