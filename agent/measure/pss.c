/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Proportional set size (PSS), from smaps_rollup, for which the kernel walks all page tables of a
 * process with its mmap lock held. So it is read only where it could change the result, for at most
 * 0.1 % of a core: a round reads process by process, as time allows, until all are read
 * (tests/bench/pss).
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/measure/internal.h"
#include "predictor/core/units.h"

#define BUDGET 0.0008       /* fraction of a core per tree; 0.1 % with overhead */
#define FIRST_SECONDS 0.008 /* initial budget: a small job is read at once */
#define SAMPLE_SECONDS 0.02 /* limit per sample: nothing else is sampled meanwhile */
#define PROCESS_SECONDS 0.1 /* limit per process, whose page faults wait; beyond it RSS is used */
#define OPEN_SECONDS 3e-5   /* fixed time per process */
#define SECONDS_PER_BYTE                                                                           \
  (2.5e-5 / FT_MIB) /* initial value: 4 KiB pages shared by 51; huge pages: 1/100 */
#define LARGE_BYTES                                                                                \
  (16.0 * FT_MIB) /* minimum size from which a reading updates the time per byte */
#define SHARED_FRACTION                                                                            \
  0.1 /* fraction of the summed RSS counted more than once, from which PSS is read */
#define GROWTH_FRACTION                                                                            \
  0.02 /* increase of RSS since the last reading, from which PSS is read again */
#define REREAD_SECONDS                                                                             \
  10.0 /* interval if PSS is enforced: sharing may end while RSS stays constant */
#define NEAR_PEAK                                                                                  \
  0.95 /* fraction of the maximum summed RSS; below it a reading is not of the peak */

struct pss {
  double used_seconds;     /* spent on readings */
  double seconds_per_byte; /* by the last readings */
  double rss_bytes;        /* maximum summed RSS that a round covers */
  double start_rss_bytes;  /* summed RSS at the start of this round */
  double read_at;
  uint32_t round;    /* members with this number have been read; 0: no round yet */
  bool open;         /* the round is not complete */
  bool much_shared;  /* several processes share much memory, by statm */
  bool any, refused; /* in this round: a process could be read; one could not */
  bool denied;
};

static bool pss_probe(struct ft_measure *measure, struct ft_measure_report *report)
{
  char text[8];
  bool there = ft_proc_read(measure->proc_fd, "self/smaps_rollup", text, sizeof text) >= 0 ||
               errno == EACCES;

  if (!there && measure->own_proc)
    snprintf(report->why, sizeof report->why,
             "no /proc/PID/smaps_rollup: needs Linux 4.14 with CONFIG_PROC_PAGE_MONITOR");
  else if (!ft_proc_may_trace(measure))
    snprintf(report->why, sizeof report->why,
             "/proc/PID/smaps_rollup, of this user's processes only: others' need CAP_SYS_PTRACE");
  else
    snprintf(report->why, sizeof report->why, "/proc/PID/smaps_rollup, where it matters");
  return there || !measure->own_proc;
}

static int pss_open(struct ft_measure *measure, struct ft_tree *tree, void *state)
{
  struct pss *pss = state;

  (void)measure;
  (void)tree;
  pss->seconds_per_byte = SECONDS_PER_BYTE;
  return 0;
}

/*
 * Returns an upper bound of the private pages of a fork that it still shares with its parent
 * (copy-on-write), which the sum of RSS counts twice; statm's shared pages are only those of files
 * and shared memory.
 */
static double copied_of(const struct ft_tree *tree, const struct ft_member *member)
{
  bool sums = member->forked && member->counted;
  const struct ft_member *parent = sums ? ft_tree_find(tree, member->parent) : NULL;

  if (!parent || !ft_member_lives(parent))
    return 0;
  return fmax(
      fmin(member->rss_bytes - member->shared_bytes, parent->rss_bytes - parent->shared_bytes), 0);
}

/* Whether at least SHARED_FRACTION of SAMPLE's RSS is counted more than once. */
static bool much_is_shared(const struct ft_tree *tree, const struct ft_sample *sample)
{
  double shared = 0, max_shared = 0, copied = 0;

  if (sample->processes < 2)
    return false;
  for (size_t i = 0; i < tree->count; i++) {
    const struct ft_member *member = &tree->members[i];

    if (!ft_member_lives(member))
      continue;
    copied += copied_of(tree, member);
    shared += member->shared_bytes;
    ft_update_max(&max_shared, member->shared_bytes);
  }
  return shared - max_shared + copied > SHARED_FRACTION * sample->rss_bytes;
}

/*
 * Whether PSS could change the result. PSS is at most RSS, so there is no new peak while RSS is
 * below the known one. If RSS or nothing is enforced, PSS matters only for several processes that
 * share much; if the cgroup's limit is, the cgroup counts every page once.
 */
FT_HOT static bool could_matter(const struct ft_measure *measure, const struct ft_tree *tree,
                                struct pss *pss, const struct ft_sample *sample)
{
  bool grown = sample->rss_bytes > (1 + GROWTH_FRACTION) * pss->rss_bytes;

  if (sample->rss_bytes <= 0 || sample->rss_bytes <= tree->max.pss_bytes)
    return false;
  if (measure->settings.rule == FT_RULE_PSS)
    return grown || measure->now - pss->read_at >= REREAD_SECONDS;
  if (!grown || (measure->settings.rule == FT_RULE_CGROUP && tree->max.charge_bytes >= 0))
    return false;
  if (tree->changed)
    pss->much_shared = much_is_shared(tree, sample);
  return pss->much_shared;
}

/* Reads one process; one that may not be read, or is stuck, counts with its RSS, an upper bound.
 * Returns false if it cannot be read now. */
static bool read_one(struct ft_measure *measure, struct pss *pss, struct ft_member *member)
{
  double took = 0, value;
  const char *text;

  member->pss_bytes = member->rss_bytes;
  if (ft_reader_read(measure, member->pid, "smaps_rollup", &text, &took) >= 0 &&
      ft_proc_value(text, "Pss:", &value)) {
    member->pss_bytes = value * FT_KIB;
    pss->any = true;
  } else {
    pss->refused |= errno == EACCES || errno == EPERM;
    if (errno == EAGAIN)
      return false;
  }
  took += OPEN_SECONDS;
  pss->used_seconds += took;
  if (member->rss_bytes < LARGE_BYTES)
    return true;
  took /= member->rss_bytes;
  pss->seconds_per_byte =
      took > pss->seconds_per_byte ? took : (3 * pss->seconds_per_byte + took) / 4;
  return true;
}

/*
 * Continues the round within the budget. Returns true with the sum in TOTAL when it is complete.
 * The processes are read up to minutes apart, so the round covers the smaller RSS of its start and
 * end.
 */
static bool read_on(struct ft_measure *measure, struct ft_tree *tree, struct pss *pss,
                    double *total)
{
  double allowed = fmax(FIRST_SECONDS, BUDGET * (measure->now - tree->started));
  double sample_limit = pss->used_seconds + SAMPLE_SECONDS;

  *total = 0;
  for (size_t i = 0; i < tree->count; i++) {
    struct ft_member *member = &tree->members[i];
    double expected = OPEN_SECONDS + member->rss_bytes * pss->seconds_per_byte;

    if (!ft_member_lives(member))
      continue;
    if (member->pss_round != pss->round && expected > PROCESS_SECONDS) {
      member->pss_bytes = member->rss_bytes;
    } else if (member->pss_round != pss->round) {
      if (pss->used_seconds + expected > allowed || pss->used_seconds > sample_limit)
        return false;
      if (!read_one(measure, pss, member))
        return false;
    }
    member->pss_round = pss->round;
    *total += member->pss_bytes;
  }
  return true;
}

static void pss_sample(struct ft_measure *measure, struct ft_tree *tree, void *state,
                       struct ft_sample *sample)
{
  struct pss *pss = state;
  double total;

  if (pss->denied || !could_matter(measure, tree, pss, sample))
    return;
  if (!pss->open) {
    pss->open = true;
    pss->any = pss->refused = false;
    pss->round++;
    pss->start_rss_bytes = sample->rss_bytes;
  }
  if (!read_on(measure, tree, pss, &total))
    return;
  pss->open = false;
  pss->read_at = measure->now;
  pss->denied = pss->refused && !pss->any;
  if (!pss->any)
    return;
  sample->pss_bytes = total;
  ft_update_max(&pss->rss_bytes, fmin(pss->start_rss_bytes, sample->rss_bytes));
}

/* Writes the result; none if the budget allowed no reading near the peak, and RSS is used
 * instead. */
static void pss_close(struct ft_measure *measure, struct ft_tree *tree, void *state,
                      ft_observation *out)
{
  const struct pss *pss = state;

  (void)measure;
  if (tree->max.pss_bytes < 0 || pss->rss_bytes < NEAR_PEAK * tree->max.rss_bytes)
    return;
  ft_set_measured(&out->has_pss_bytes, &out->pss_bytes, tree->max.pss_bytes);
}

const struct ft_sampler ft_sampler_pss = { .name = "pss",
                                           .state_size = sizeof(struct pss),
                                           .probe = pss_probe,
                                           .open = pss_open,
                                           .sample = pss_sample,
                                           .close = pss_close };
