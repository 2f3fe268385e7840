/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Proportional set size, from smaps_rollup: the kernel walks all page tables of a
 * process for it with its mmap lock held. So it is read only where it could change the
 * answer, and never for more than 0.1 % of a core: process by process, as the time allows,
 * until all of a round are read (tests/bench/pss).
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "agent/measure/internal.h"
#include "predictor/core/units.h"

#define BUDGET 0.0008        /* of a core, for each tree: with what is done around it 0.1 % */
#define FIRST_SECONDS 0.008  /* a small job is read at once */
#define INSTANT_SECONDS 0.02 /* of one instant: nothing else is sampled meanwhile */
#define PROCESS_SECONDS 0.1  /* of one process, whose page faults wait: above, RSS stands for it */
#define OPEN_SECONDS 3e-5    /* of any process */
#define SECONDS_A_BYTE (2.5e-5 / FT_MIB) /* of pages of 4 KiB that 51 share; huge ones: 1/100 */
#define LARGE_BYTES (16.0 * FT_MIB)      /* from here on a reading tells what a byte takes */
#define SHARED_PART 0.1   /* of the summed RSS counted more than once: worth a look */
#define NEWS_PART 0.02    /* of RSS above that of the last reading: another reading may differ */
#define NEWS_SECONDS 10.0 /* pages cease to be shared while RSS stays: where PSS kills */
#define NEAR_PEAK 0.95    /* of the highest summed RSS; below, a reading is not of the peak */

struct pss {
  double used;            /* seconds of reading so far */
  double seconds_a_byte;  /* as the last readings took */
  double rss_bytes;       /* highest summed RSS that a round speaks for */
  double begun_rss_bytes; /* summed when this round began */
  double read_at;
  uint32_t round;    /* members with it have been read; 0: none yet */
  bool open;         /* some of the round are not */
  bool shares;       /* several processes share much, by their latest statm */
  bool any, refused; /* of the round: somebody's could be read, or not */
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
  pss->seconds_a_byte = SECONDS_A_BYTE;
  return 0;
}

/*
 * What the sum of RSS holds of a fork's private pages that may be its parent's still, copied
 * when either writes: no more than either has. statm tells only pages of files and shared
 * memory as shared.
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

/* Whether so much of SAMPLE's RSS is counted more than once that PSS says something new. */
static bool much_is_shared(const struct ft_tree *tree, const struct ft_sample *sample)
{
  double shared = 0, most_shared = 0, copied = 0;

  if (sample->processes < 2)
    return false;
  for (size_t i = 0; i < tree->count; i++) {
    const struct ft_member *member = &tree->members[i];

    if (!ft_member_lives(member))
      continue;
    copied += copied_of(tree, member);
    shared += member->shared_bytes;
    ft_most(&most_shared, member->shared_bytes);
  }
  return shared - most_shared + copied > SHARED_PART * sample->rss_bytes;
}

/*
 * PSS never exceeds RSS, so no new peak of it hides where RSS is below the one known.
 * Where RSS or nothing is enforced, it tells something new only of several processes
 * that share much; where the cgroup's charge is, the charge has counted every page once.
 */
FT_HOT static bool could_matter(const struct ft_measure *measure, const struct ft_tree *tree,
                                struct pss *pss, const struct ft_sample *sample)
{
  bool news = sample->rss_bytes > (1 + NEWS_PART) * pss->rss_bytes;

  if (sample->rss_bytes <= 0 || sample->rss_bytes <= tree->most.pss_bytes)
    return false;
  if (measure->settings.rule == FT_RULE_PSS)
    return news || measure->now - pss->read_at >= NEWS_SECONDS;
  if (!news || (measure->settings.rule == FT_RULE_CGROUP && tree->most.charge_bytes >= 0))
    return false;
  if (tree->news)
    pss->shares = much_is_shared(tree, sample);
  return pss->shares;
}

/* Of this thread: a busy node's other work is not the reading's. */
static double cpu_seconds(void)
{
  struct timespec used;

  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) < 0)
    return 0;
  return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* A process that may not be read counts with its RSS, which is never less. */
static void read_one(struct ft_measure *measure, struct pss *pss, struct ft_member *member)
{
  double begun = cpu_seconds(), took, value;
  char text[4096];

  member->pss_bytes = member->rss_bytes;
  if (ft_proc_read_pid(measure, member->pid, "smaps_rollup", text, sizeof text) >= 0 &&
      ft_proc_value(text, "Pss:", &value)) {
    member->pss_bytes = value * FT_KIB;
    pss->any = true;
  } else {
    pss->refused |= errno == EACCES || errno == EPERM;
  }
  took = cpu_seconds() - begun;
  pss->used += took;
  if (member->rss_bytes < LARGE_BYTES)
    return;
  took /= member->rss_bytes;
  pss->seconds_a_byte = took > pss->seconds_a_byte ? took : (3 * pss->seconds_a_byte + took) / 4;
}

/*
 * Read on, while the time lasts. True when the round is over, with what it found in TOTAL.
 * Processes of one round are read up to minutes apart: it speaks for the lower RSS of its ends.
 */
static bool read_on(struct ft_measure *measure, struct ft_tree *tree, struct pss *pss,
                    double *total)
{
  double allowed = fmax(FIRST_SECONDS, BUDGET * (measure->now - tree->started));
  double instant = pss->used + INSTANT_SECONDS;

  *total = 0;
  for (size_t i = 0; i < tree->count; i++) {
    struct ft_member *member = &tree->members[i];
    double expected = OPEN_SECONDS + member->rss_bytes * pss->seconds_a_byte;

    if (!ft_member_lives(member))
      continue;
    if (member->pss_round != pss->round && expected > PROCESS_SECONDS) {
      member->pss_bytes = member->rss_bytes;
    } else if (member->pss_round != pss->round) {
      if (pss->used + expected > allowed || pss->used > instant)
        return false;
      read_one(measure, pss, member);
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
    pss->begun_rss_bytes = sample->rss_bytes;
  }
  if (!read_on(measure, tree, pss, &total))
    return;
  pss->open = false;
  pss->read_at = measure->now;
  pss->denied = pss->refused && !pss->any;
  if (!pss->any)
    return;
  sample->pss_bytes = total;
  ft_most(&pss->rss_bytes, fmin(pss->begun_rss_bytes, sample->rss_bytes));
}

/* Where the budget let no reading be made near the peak, none is given: RSS stands for it. */
static void pss_close(struct ft_measure *measure, struct ft_tree *tree, void *state,
                      ft_observation *out)
{
  const struct pss *pss = state;

  (void)measure;
  if (tree->most.pss_bytes < 0 || pss->rss_bytes < NEAR_PEAK * tree->most.rss_bytes)
    return;
  ft_measure_put(&out->has_pss_bytes, &out->pss_bytes, tree->most.pss_bytes);
}

const struct ft_sampler ft_sampler_pss = { .name = "pss",
                                           .state_size = sizeof(struct pss),
                                           .probe = pss_probe,
                                           .open = pss_open,
                                           .sample = pss_sample,
                                           .close = pss_close };
