/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Selects the threads to which counters must be attached. A process inherits the counters of the
 * thread that forked it, so it needs its own only if it began before they were attached to that
 * thread.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/measure/attach.h"
#include "predictor/core/array_grow.h"
#include "predictor/core/io.h"

/* Limits on children listed per process and on depth; a tree that just began has few. */
#define LISTED_LIMIT 256
#define DEPTH_LIMIT 32

/* Fraction of a run's CPU time that may be missing from its counts; by judgement. */
#define MISSED_FRACTION 0.02

/* Arguments common to all levels of the recursion. */
struct walk {
  struct ft_attach *attach;
  const struct ft_measure *measure;
  ft_attach_thread *attach_thread;
  void *state;
  unsigned depth;
};

static const struct ft_attached *find_attached(const struct ft_attach *attach, pid_t tid)
{
  for (size_t i = 0; i < attach->count; i++)
    if (attach->threads[i].tid == tid)
      return &attach->threads[i];
  return NULL;
}

static int add_attached(struct ft_attach *attach, struct ft_attached thread)
{
  struct ft_attached *threads = ft_array_grow(attach->threads, &attach->size, attach->count,
                                              sizeof *threads, FT_ATTACH_LIMIT);

  if (!threads)
    return -1;
  attach->threads = threads;
  threads[attach->count++] = thread;
  return 0;
}

static void attach_one(struct walk *walk, pid_t tid, const struct ft_stat *stat, bool root,
                       bool skipped)
{
  struct ft_attach *attach = walk->attach;
  const struct ft_attached *known = find_attached(attach, tid);
  struct ft_attached thread = {
    .tid = tid, .start = stat->start, .ticks = ft_proc_ticks(walk->measure), .root = root
  };

  if (known && known->start == stat->start)
    return;
  if (attach->count >= FT_ATTACH_LIMIT) {
    attach->incomplete = true;
    return;
  }
  if (walk->attach_thread(walk->state, tid, skipped) < 0) {
    attach->incomplete = attach->incomplete || errno != ESRCH;
    return;
  }
  if (add_attached(attach, thread) < 0)
    attach->incomplete = true;
}

/* Appends the children of PID's thread TID to the COUNT PIDS. Returns the new number. */
static size_t list_children(const struct ft_measure *measure, pid_t pid, pid_t tid, pid_t *pids,
                            size_t count, size_t limit)
{
  char name[64], text[4096];
  struct ft_text list, word;
  ssize_t length;

  snprintf(name, sizeof name, "%d/task/%d/children", (int)pid, (int)tid);
  length = ft_proc_read(measure->proc_fd, name, text, sizeof text);
  list = ft_text_of(text, length > 0 ? (size_t)length : 0);
  while (count < limit && ft_text_word(&list, &word)) {
    uint64_t child;

    if (ft_text_u64(&word, INT32_MAX, &child))
      pids[count++] = (pid_t)child;
  }
  return count;
}

/*
 * Attaches to all threads of PID, then to its descendants. Children are listed first: listed ones
 * began before and are attached to, later ones inherit.
 */
static void attach_process(struct walk *walk, pid_t pid, bool root, bool skipped)
{
  struct ft_stat stat;
  pid_t *tids = malloc((FT_ATTACH_LIMIT + LISTED_LIMIT) * sizeof *tids);
  pid_t *children = tids ? tids + FT_ATTACH_LIMIT : NULL;
  size_t threads, count = 0;

  if (!tids || walk->depth >= DEPTH_LIMIT) {
    walk->attach->incomplete = true;
    free(tids);
    return;
  }
  if (ft_stat_read(walk->measure, pid, &stat) == 0) {
    threads = ft_proc_threads(walk->measure, pid, tids, FT_ATTACH_LIMIT);
    for (size_t i = 0; i < threads; i++)
      count = list_children(walk->measure, pid, tids[i], children, count, LISTED_LIMIT);
    for (size_t i = 0; i < threads; i++)
      attach_one(walk, tids[i], &stat, root && tids[i] == pid, skipped);
    if (!skipped)
      walk->attach->missed_seconds +=
          stat.own[FT_TOTAL_CPU_SECONDS] + stat.children[FT_TOTAL_CPU_SECONDS];
    if (threads == FT_ATTACH_LIMIT || count == LISTED_LIMIT)
      walk->attach->incomplete = true;
    walk->depth++;
    for (size_t i = 0; i < count; i++)
      if (!find_attached(walk->attach, children[i]))
        attach_process(walk, children[i], false, false);
    walk->depth--;
  }
  free(tids);
}

/* Returns the attached thread of MEMBER's nearest ancestor with one, or NULL. */
static const struct ft_attached *find_attached_ancestor(const struct ft_attach *attach,
                                                        const struct ft_tree *tree,
                                                        const struct ft_member *member)
{
  for (unsigned depth = 0; member && depth < DEPTH_LIMIT; depth++) {
    const struct ft_attached *known = find_attached(attach, member->parent);

    if (known)
      return known;
    member = ft_tree_find(tree, member->parent);
  }
  return NULL;
}

static const struct ft_attached *first_root(const struct ft_attach *attach)
{
  for (size_t i = 0; i < attach->count; i++)
    if (attach->threads[i].root)
      return &attach->threads[i];
  return NULL;
}

/*
 * Whether MEMBER inherits no counter: no ancestor has one, or MEMBER began before its ancestor's
 * was attached. Within one tick it counts as forked later, because earlier children were listed.
 */
static bool must_attach(const struct ft_attach *attach, const struct ft_tree *tree,
                        const struct ft_member *member)
{
  const struct ft_attached *from = find_attached_ancestor(attach, tree, member);

  if (!from && member->root)
    return true;
  if (!from)
    from = first_root(attach);
  return from && member->start + 1 < from->ticks;
}

void ft_attach_tree(struct ft_attach *attach, const struct ft_measure *measure,
                    const struct ft_tree *tree, ft_attach_thread *attach_thread, void *state)
{
  struct walk walk = {
    .attach = attach, .measure = measure, .attach_thread = attach_thread, .state = state
  };

  for (size_t i = 0; i < tree->count; i++) {
    const struct ft_member *member = &tree->members[i];
    const struct ft_attached *known = find_attached(attach, member->pid);

    if (!member->fresh || member->gone || member->zombie)
      continue;
    if (known && known->start == member->start)
      continue;
    if (must_attach(attach, tree, member))
      attach_process(&walk, member->pid, member->root, member->skipped);
  }
}

bool ft_attach_is_whole(const struct ft_attach *attach, double cpu_seconds)
{
  if (attach->incomplete || !attach->count)
    return false;
  return cpu_seconds < 0 || attach->missed_seconds <= 0 ||
         attach->missed_seconds <= MISSED_FRACTION * (attach->missed_seconds + cpu_seconds);
}

void ft_attach_free(struct ft_attach *attach)
{
  free(attach->threads);
  *attach = (struct ft_attach){ 0 };
}

unsigned ft_counter_next_groups(const struct ft_measure *measure)
{
  static unsigned trees;
  char text[16];
  double held = 0;

  if (ft_proc_read(measure->proc_fd, "sys/kernel/nmi_watchdog", text, sizeof text) < 0 ||
      !ft_proc_number(text, &held) || held <= 0)
    return FT_COUNTER_GROUPS;
  return 1u << (trees++ % 3);
}

void ft_counter_sum_add(struct ft_counter_sum *sum, uint64_t value, uint64_t enabled,
                        uint64_t running)
{
  sum->any = true;
  sum->enabled += (double)enabled;
  if (!running)
    return;
  sum->counted += (double)enabled;
  /* perf_event_open(2), read_format */
  sum->value += (double)value * ((double)enabled / (double)running);
}

double ft_counter_sum_whole(const struct ft_counter_sum *sum)
{
  if (!sum->any || sum->counted < 0.5 * sum->enabled)
    return -1;
  return sum->counted > 0 ? sum->value * (sum->enabled / sum->counted) : 0;
}

int ft_counter_add(ft_observation *out, const char *name, double value)
{
  for (pb_size_t i = 0; i < out->counters_count; i++)
    if (strcmp(out->counters[i].name, name) == 0) {
      out->counters[i].value += value;
      return 0;
    }
  if (out->counters_count >= sizeof out->counters / sizeof *out->counters)
    return -1;
  ft_string_copy(name, out->counters[out->counters_count].name, sizeof out->counters[0].name);
  out->counters[out->counters_count++].value = value;
  return 0;
}
