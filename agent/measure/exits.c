/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Short-lived processes, which begin and end between two samples. Assigns the kernel's exit records
 * (taskstats.c) to trees by their parents, and adds the memory of each to the minimum that the
 * others used at that time, by the order of the ends and the samples before and after. An upper
 * bound of what several such processes used together is kept as well, so that a peak they may have
 * raised is reported as a bound.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/measure/internal.h"
#include "agent/measure/taskstats.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"

/* Maximum interval of reads. Reads follow births; but other processes' records fill the queue,
 * too. */
#define READ_SECONDS 1.0

/* Maximum number of reads per sample. */
enum { READS_LIMIT = 8 };

/* Maximum number of member ends per interval for which held_at is computed; beyond it, one
 * bound. */
enum { PHASES_LIMIT = 64 };

struct ft_exits {
  int fd;
  size_t trees; /* open trees; without one there is no subscription */
  double next_read;
  uint32_t last_read; /* number of the sample of the last read */
  struct ft_exit records[FT_EXITS_LIMIT];
  /* tree of each record: that of the process or of an ancestor; NULL: none */
  struct ft_tree *owners[FT_EXITS_LIMIT];
};

/* State per tree. */
struct state {
  double previous_bytes; /* sum of RSS at the previous sample */
  double ended_bytes;    /* part of it that has ended since */
};

static bool exits_probe(struct ft_measure *measure, struct ft_measure_report *report)
{
  struct ft_error err = { "" };
  int fd;

  if (!measure->own_proc) {
    snprintf(report->why, sizeof report->why, "the processes are not of this system");
    return false;
  }
  fd = ft_taskstats_open(measure->settings.root_fd, &err);
  ft_taskstats_close(fd);
  snprintf(report->why, sizeof report->why, "%.110s%s", fd < 0 ? err.text : "taskstats",
           fd < 0 ? "; a child that ends between two samples may be missed" : "");
  return fd >= 0;
}

static int exits_open(struct ft_measure *measure, struct ft_tree *tree, void *data)
{
  struct ft_exits *exits = measure->exits;

  (void)tree;
  (void)data;
  if (!exits) {
    exits = measure->exits = calloc(1, sizeof *exits);
    if (!exits)
      return -1;
    exits->fd = ft_taskstats_open(measure->settings.root_fd, NULL);
  }
  exits->trees++;
  return 0;
}

void ft_exits_free(struct ft_measure *measure)
{
  if (!measure->exits)
    return;
  ft_taskstats_close(measure->exits->fd);
  free(measure->exits);
  measure->exits = NULL;
}

static void exits_close(struct ft_measure *measure, struct ft_tree *tree, void *data,
                        ft_observation *out)
{
  (void)tree;
  (void)data;
  (void)out;
  if (--measure->exits->trees == 0)
    ft_exits_free(measure);
}

/* ---- assignment to trees ---- */

/* Returns the map's entry of the member PID, also if it ended since the previous sample, or NULL.
 */
FT_HOT static const struct ft_index_entry *entry_of(const struct ft_measure *measure, pid_t pid)
{
  return ft_tree_index_find(&measure->pids, (uint64_t)pid);
}

/* Returns TREE's member PID likewise. */
static struct ft_member *member_of(const struct ft_tree *tree, pid_t pid)
{
  const struct ft_index_entry *entry = entry_of(tree->measure, pid);

  return entry && entry->tree == tree ? &tree->members[entry->value] : NULL;
}

/* Returns the index of PID's record, or -1. Searches backwards: parents usually end after
 * children. */
static ptrdiff_t end_of(const struct ft_exits *exits, size_t count, pid_t pid)
{
  for (size_t i = count; i-- > 0;)
    if (exits->records[i].pid == pid)
      return (ptrdiff_t)i;
  return -1;
}

/* Finds the tree of each record, if any. Most records are of processes that no tree has, so a
 * record costs the same however many processes the trees have. */
FT_HOT static void find_trees(const struct ft_measure *measure, struct ft_exits *exits,
                              size_t count)
{
  bool more = false;

  for (size_t i = 0; i < count; i++) {
    const struct ft_index_entry *entry = entry_of(measure, exits->records[i].pid);

    if (!entry)
      entry = entry_of(measure, exits->records[i].parent);
    exits->owners[i] = entry ? entry->tree : NULL;
    more |= entry != NULL;
  }
  while (more) {
    more = false;
    for (size_t i = count; i-- > 0;) {
      ptrdiff_t parent = exits->owners[i] ? -1 : end_of(exits, count, exits->records[i].parent);

      if (parent >= 0 && exits->owners[parent]) {
        exits->owners[i] = exits->owners[parent];
        more = true;
      }
    }
  }
}

/* ---- their memory ---- */

/* Returns the peak RSS of EXIT's parent, an upper bound of the pages they shared. */
static double shared_of(const struct ft_tree *tree, const struct ft_exits *exits, size_t count,
                        const struct ft_exit *exit)
{
  const struct ft_member *parent = member_of(tree, exit->parent);
  ptrdiff_t ended = parent ? -1 : end_of(exits, count, exit->parent);

  if (parent)
    return fmax(parent->max_rss_bytes, parent->rss_bytes);
  return ended < 0 ? 0 : exits->records[ended].peak_rss_bytes;
}

static void record_spike(struct ft_tree *tree, double bytes)
{
  if (bytes <= tree->spike_bytes)
    return;
  tree->spike_bytes = bytes;
  tree->spike_time = tree->measure->now;
}

/*
 * Adds a process that no sample has counted; OTHERS is the memory of the others. Of a fork without
 * exec only the peak above its parent's counts. It may have copied more of its parent's pages, one
 * per fault. Returns an upper bound of its memory.
 */
static double add_short_lived(struct ft_tree *tree, const struct ft_exits *exits, size_t count,
                              const struct ft_exit *exit, double others)
{
  double own = exit->peak_rss_bytes;

  if (exit->forked)
    own = fmax(own - shared_of(tree, exits, count, exit), 0);
  record_spike(tree, others + own);
  ft_update_max(&tree->largest_bytes, own);
  return exit->forked ? fmax(own, fmin(exit->fault_bytes, exit->peak_rss_bytes)) : own;
}

/*
 * Adds a member that samples have counted and whose peak, by EXIT, grew after its last detailed
 * read. Returns the increase over its RSS in the latest sample.
 */
static double add_ended_member(struct ft_tree *tree, struct ft_member *member,
                               const struct ft_exit *exit, double others)
{
  if (exit->peak_rss_bytes <= member->max_rss_bytes)
    return 0;
  member->max_rss_bytes = exit->peak_rss_bytes;
  ft_update_max(&tree->largest_bytes, exit->peak_rss_bytes);
  record_spike(tree, exit->peak_rss_bytes +
                         fmin(fmax(others - member->summed_bytes, 0), member->min_others_bytes));
  return fmax(exit->peak_rss_bytes - member->summed_bytes, 0);
}

/* Sets the end time of each member; at most one clock tick too early, because starts are in
 * ticks. */
static void set_ends(struct ft_tree *tree, const struct ft_exits *exits, size_t count)
{
  for (size_t i = 0; i < tree->count; i++)
    tree->members[i].ended_at = INFINITY;
  for (size_t i = 0; i < count; i++) {
    struct ft_member *member =
        exits->owners[i] == tree ? member_of(tree, exits->records[i].pid) : NULL;

    if (member)
      member->ended_at =
          (double)member->start * tree->measure->tick_seconds + exits->records[i].life_seconds;
  }
}

/*
 * Returns the memory of the members that lived at TIME, in seconds after boot. Members that began
 * less than a tick before do not count; they had little memory.
 */
static double held_at(const struct ft_tree *tree, double time)
{
  double tick = tree->measure->tick_seconds, held = 0;

  for (size_t i = 0; i < tree->count; i++) {
    const struct ft_member *member = &tree->members[i];
    bool ended = member->ended_at < INFINITY;

    if (member->skipped || (!ended && !ft_member_lives(member)))
      continue;
    if (member->ended_at >= time && (double)(member->start + 1) * tick <= time)
      held += member->summed_bytes;
  }
  return held;
}

/* Returns the maximum of held_at over the ends of members, or a bound of it; 0: no member ended. */
static double most_held(const struct ft_tree *tree)
{
  double max = 0;
  int phases = 0;

  for (size_t i = 0; i < tree->count && phases <= PHASES_LIMIT; i++) {
    const struct ft_member *member = &tree->members[i];

    if (member->skipped || !(member->ended_at < INFINITY))
      continue;
    phases++;
    max = fmax(max, held_at(tree, member->ended_at));
  }
  if (phases <= PHASES_LIMIT)
    return max;
  max = 0;
  for (size_t i = 0; i < tree->count; i++)
    if (!tree->members[i].skipped &&
        (tree->members[i].ended_at < INFINITY || ft_member_lives(&tree->members[i])))
      max += tree->members[i].summed_bytes;
  return max;
}

static void add_exit_records(struct ft_tree *tree, struct state *state,
                             const struct ft_exits *exits, size_t count)
{
  double living = 0, later = 0, short_lived = 0, max;

  set_ends(tree, exits, count);
  for (size_t i = 0; i < tree->count; i++) {
    const struct ft_member *member = &tree->members[i];

    if (member->skipped)
      continue;
    if (member->ended_at < INFINITY)
      later += member->summed_bytes;
    else if (ft_member_lives(member))
      living += member->summed_bytes;
  }
  max = fmax(fmax(state->previous_bytes, living), most_held(tree));
  for (size_t i = 0; i < count; i++) {
    const struct ft_exit *exit = &exits->records[i];
    struct ft_member *member = exits->owners[i] == tree ? member_of(tree, exit->pid) : NULL;
    double others = fmin(state->previous_bytes - state->ended_bytes, living + later);

    if (exits->owners[i] != tree || (member && member->skipped))
      continue;
    if (member && member->min_others_bytes >= 0)
      short_lived += add_ended_member(tree, member, exit, others);
    else
      short_lived += add_short_lived(tree, exits, count, exit,
                                     fmax(others - (member ? member->summed_bytes : 0), 0));
    if (member) {
      later -= member->summed_bytes;
      state->ended_bytes += member->summed_bytes;
    }
  }
  ft_update_max(&tree->spike_bound_bytes, max + short_lived);
}

FT_HOT static size_t index_of(const struct ft_measure *measure)
{
  return FT_ROWS_FIND(measure->reports, measure->report_count, ft_sampler_exits.name);
}

/* Whether record I is the first one of its tree. */
static bool is_first_of_tree(const struct ft_exits *exits, size_t i)
{
  for (size_t k = 0; k < i; k++)
    if (exits->owners[k] == exits->owners[i])
      return false;
  return true;
}

/* Reads the pending exit records for all trees; the kernel delivers each once. */
FT_HOT static void read_all(struct ft_measure *measure)
{
  struct ft_exits *exits = measure->exits;
  size_t at = index_of(measure);
  bool more = exits->fd >= 0;

  for (int reads = 0; more && reads < READS_LIMIT; reads++) {
    bool lost;
    size_t count = ft_taskstats_read(exits->fd, exits->records, &more, &lost);

    for (size_t i = 0; lost && i < measure->tree_count; i++)
      measure->trees[i]->exits_lost |= measure->trees[i]->states[at] != NULL;
    find_trees(measure, exits, count);
    for (size_t i = 0; i < count; i++)
      if (exits->owners[i] && is_first_of_tree(exits, i) && exits->owners[i]->states[at])
        add_exit_records(exits->owners[i], exits->owners[i]->states[at], exits, count);
  }
  exits->next_read = measure->now + READ_SECONDS;
}

FT_HOT static void exits_sample(struct ft_measure *measure, struct ft_tree *tree, void *data,
                                struct ft_sample *sample)
{
  struct ft_exits *exits = measure->exits;
  struct state *state = data;

  if (exits->last_read != measure->sample_count &&
      (measure->new_pids || tree->changed || measure->now >= exits->next_read)) {
    exits->last_read = measure->sample_count;
    read_all(measure);
  }
  state->previous_bytes = sample->rss_bytes;
  state->ended_bytes = 0;
}

static void exits_last(struct ft_measure *measure, struct ft_tree *tree, void *data)
{
  (void)tree;
  (void)data;
  read_all(measure);
}

const struct ft_sampler ft_sampler_exits = { .name = "exits",
                                             .state_size = sizeof(struct state),
                                             .probe = exits_probe,
                                             .open = exits_open,
                                             .sample = exits_sample,
                                             .last = exits_last,
                                             .close = exits_close };
