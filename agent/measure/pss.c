/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Proportional set size, from smaps_rollup: the kernel walks all page tables of a
 * process for it (2 ms per 512 MiB mapped) with its mmap lock held. So it is read
 * only where it could change the answer, and never for more than 0.1 % of a core.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/measure/internal.h"
#include "predictor/core/io.h"
#include "predictor/core/units.h"

#define BUDGET 0.001        /* of a core, for each tree */
#define CREDIT_FIRST 0.005  /* seconds: a small job is read at once */
#define CREDIT_LIMIT 0.1    /* seconds saved up while nothing could change */
#define SHARED_PART 0.1     /* of the summed RSS counted more than once: worth a look */
#define NEWS_PART 0.02      /* of RSS above that of the last reading: another reading may differ */
#define NEWS_SECONDS 10.0   /* pages cease to be shared while RSS stays: where PSS kills */
#define NEAR_PEAK 0.95      /* of the highest summed RSS; below, a reading is not of the peak */

struct pss {
  double credit; /* seconds; below 0 it must be earned back first */
  double last;
  double rss_bytes; /* highest summed RSS at an instant with a reading */
  double read_at;
  bool shares; /* several processes share much, by their latest statm */
  bool denied;
};

static bool probe(struct ft_measure *measure, struct ft_measure_report *report)
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

static int open_(struct ft_measure *measure, struct ft_tree *tree, void *state)
{
  struct pss *pss = state;

  (void)measure;
  pss->credit = CREDIT_FIRST;
  pss->last = tree->started;
  return 0;
}

/* Whether so much of SAMPLE's RSS is counted more than once that PSS says something new. */
static bool much_is_shared(const struct ft_tree *tree, const struct ft_sample *sample)
{
  double shared = 0, most_shared = 0;

  if (sample->processes < 2)
    return false;
  for (size_t i = 0; i < tree->count; i++) {
    const struct ft_member *member = &tree->members[i];

    if (member->skipped || member->gone)
      continue;
    shared += member->shared_bytes;
    ft_most(&most_shared, member->shared_bytes);
  }
  return shared - most_shared > SHARED_PART * sample->rss_bytes;
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

/* A process that may not be read counts with its RSS, which is never less. */
static double read_all(struct ft_measure *measure, struct ft_tree *tree, struct pss *pss)
{
  double total = 0;
  bool any = false;

  for (size_t i = 0; i < tree->count; i++) {
    const struct ft_member *member = &tree->members[i];
    char text[4096];
    double value;

    if (member->skipped || member->gone || member->zombie)
      continue;
    if (ft_proc_read_pid(measure, member->pid, "smaps_rollup", text, sizeof text) >= 0 &&
        ft_proc_value(text, "Pss:", &value)) {
      total += value * FT_KIB;
      any = true;
    } else if (errno == EACCES || errno == EPERM) {
      total += member->rss_bytes;
    }
  }
  pss->denied = !any;
  return any ? total : -1;
}

FT_HOT static void sample(struct ft_measure *measure, struct ft_tree *tree, void *state,
                   struct ft_sample *sample)
{
  struct pss *pss = state;
  double start;

  pss->credit += (measure->now - pss->last) * BUDGET;
  if (pss->credit > CREDIT_LIMIT)
    pss->credit = CREDIT_LIMIT;
  pss->last = measure->now;
  if (pss->denied || pss->credit <= 0 || !could_matter(measure, tree, pss, sample))
    return;
  start = ft_io_monotonic();
  sample->pss_bytes = read_all(measure, tree, pss);
  if (sample->pss_bytes >= 0)
    ft_most(&pss->rss_bytes, sample->rss_bytes);
  pss->credit -= ft_io_monotonic() - start;
  pss->read_at = measure->now;
}

/* Where the budget let no reading be made near the peak, none is given: RSS stands for it. */
static void close_(struct ft_measure *measure, struct ft_tree *tree, void *state,
                   ft_observation *out)
{
  const struct pss *pss = state;

  (void)measure;
  if (tree->most.pss_bytes < 0 || pss->rss_bytes < NEAR_PEAK * tree->most.rss_bytes)
    return;
  out->has_pss_bytes = true;
  out->pss_bytes = (uint64_t)tree->most.pss_bytes;
}

const struct ft_sampler ft_sampler_pss = { .name = "pss",
                                           .state_size = sizeof(struct pss),
                                           .probe = probe,
                                           .open = open_,
                                           .sample = sample,
                                           .close = close_ };
