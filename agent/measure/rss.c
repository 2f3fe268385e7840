/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Resident memory (RSS), summed over the members at each sample, from statm; peaks between two
 * samples, from a member's high water mark (VmHWM). Swap and huge pages are read with the latter.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/measure/internal.h"
#include "predictor/core/units.h"

/*
 * A peak that short-lived processes may have exceeded by both of these is reported as a bound. Of
 * 42 runs of compilers, pipelines and pools 17 are bounds, and no other is more than 3.4 % below
 * sampling every 2 ms; with a fifth instead of a tenth some are 20 % below, with 32 MiB 28 %. The
 * values were chosen before the last 15 runs (tests/bench/brief_children).
 */
#define BOUND_FRACTION 0.1
#define BOUND_BYTES (16.0 * FT_MIB)

/*
 * An unchanged process is not read at every sample and may have shrunk or ended. A sum that exceeds
 * the maximum of complete samples by this fraction counts only after all members have been read.
 */
#define VERIFY_FRACTION (1.0 / 64)

static bool rss_probe(struct ft_measure *measure, struct ft_measure_report *report)
{
  snprintf(report->why, sizeof report->why, "/proc/PID/statm%s",
           measure->own_proc ? "" : "; every sample lists /proc: it is not of this pid namespace");
  return true;
}

/*
 * Whether MEMBER runs in PARENT's memory after vfork, until exec or exit; on a slow file system
 * that lasts for many samples. The kernel reports the same values for both, unless other threads of
 * the parent change them; a fork begins without its parent's file pages.
 */
static bool is_lent(const struct ft_member *member, const struct ft_member *parent)
{
  return member->forked && member->size_bytes == parent->size_bytes &&
         member->shared_bytes == parent->shared_bytes &&
         fabs(member->rss_bytes - parent->rss_bytes) <= VERIFY_FRACTION * parent->rss_bytes;
}

/*
 * Returns the part of a living member's RSS that counts. A new child that has not called exec has
 * its parent's pages (vfork, or fork with copy-on-write). Counting them would double the memory of
 * a large program that starts a small one, so only the excess over the parent counts. Below a
 * skipped root (slurmstepd, foretell profile) the first sample is always such an image.
 */
static double part_of(const struct ft_tree *tree, struct ft_member *member)
{
  const struct ft_member *parent = NULL;

  if ((member->fresh || member->forked) && !member->root)
    parent = ft_tree_find(tree, member->parent);
  if (parent && !member->fresh && (parent->skipped || !is_lent(member, parent)))
    parent = NULL;
  member->counted = !parent || (!parent->skipped && !member->forked);
  if (member->counted)
    return member->rss_bytes;
  return parent->skipped ? 0 : fmax(member->rss_bytes - parent->rss_bytes, 0);
}

/*
 * Records a member's high water mark above all its samples, reached between two samples since its
 * last detailed read, plus the minimum of the others' memory over these samples.
 */
static void read_high_water_mark(struct ft_measure *measure, struct ft_tree *tree,
                                 struct ft_member *member, double total)
{
  char text[4096];
  double high, others = member->min_others_bytes;

  if (ft_proc_read_pid(measure, member->pid, "status", text, sizeof text) < 0)
    return;
  if (ft_proc_value(text, "VmHWM:", &high) && high * FT_KIB > member->max_rss_bytes) {
    member->max_rss_bytes = high * FT_KIB;
    if (others >= 0 && member->max_rss_bytes + others > tree->spike_bytes) {
      tree->spike_bytes = member->max_rss_bytes + others;
      tree->spike_time = measure->now;
    }
    ft_update_max(&tree->largest_bytes, member->max_rss_bytes);
  }
  if (ft_proc_value(text, "VmSwap:", &member->swap_bytes))
    member->swap_bytes *= FT_KIB;
  if (ft_proc_value(text, "HugetlbPages:", &member->hugetlb_bytes))
    member->hugetlb_bytes *= FT_KIB;
  member->min_others_bytes = total - member->rss_bytes;
}

static double add_up_rss(struct ft_tree *tree)
{
  double total = 0;

  for (size_t i = 0; i < tree->count; i++) {
    struct ft_member *member = &tree->members[i];

    member->counted = false;
    if (!ft_member_lives(member))
      continue;
    member->summed_bytes = part_of(tree, member);
    total += member->summed_bytes;
  }
  return total;
}

static void rss_sample(struct ft_measure *measure, struct ft_tree *tree, void *state,
                       struct ft_sample *sample)
{
  double total = add_up_rss(tree), swap = 0, hugetlb = 0;

  (void)state;
  if (total > (1 + VERIFY_FRACTION) * tree->verified_bytes) {
    ft_tree_read_rest(tree);
    total = add_up_rss(tree);
    ft_update_max(&tree->verified_bytes, total);
  }
  sample->rss_bytes = total;
  for (size_t i = 0; i < tree->count; i++) {
    struct ft_member *member = &tree->members[i];
    double others = total - member->rss_bytes;

    sample->processes += ft_member_lives(member);
    if (!member->counted)
      continue;
    ft_update_max(&member->max_rss_bytes, member->rss_bytes);
    ft_update_max(&tree->largest_bytes, member->rss_bytes);
    if (member->min_others_bytes < 0 || others < member->min_others_bytes)
      member->min_others_bytes = others > 0 ? others : 0;
    if (member->read_details)
      read_high_water_mark(measure, tree, member, total);
    swap += member->swap_bytes;
    hugetlb += member->hugetlb_bytes;
  }
  ft_update_max(&tree->max_swap_bytes, swap);
  ft_update_max(&tree->max_hugetlb_bytes, hugetlb);
}

/*
 * Writes the results. The largest process by the kernel's accounting is a lower bound of the peak,
 * also if it lived between two samples.
 */
static void rss_close(struct ft_measure *measure, struct ft_tree *tree, void *state,
                      ft_observation *out)
{
  double peak = tree->max.rss_bytes;

  (void)measure;
  (void)state;
  ft_update_max(&tree->largest_bytes, tree->end_rss_bytes);
  ft_update_max(&peak, tree->spike_bytes);
  ft_update_max(&peak, tree->end_rss_bytes);
  ft_set_measured(&out->has_rss_bytes, &out->rss_bytes, peak);
  tree->rss_is_bound =
      tree->exits_lost || tree->spike_bound_bytes - peak > fmax(BOUND_FRACTION * peak, BOUND_BYTES);
  ft_set_measured(&out->has_largest_process_bytes, &out->largest_process_bytes,
                  tree->largest_bytes);
  ft_set_measured(&out->has_swap_bytes, &out->swap_bytes, tree->max_swap_bytes);
  ft_set_measured(&out->has_hugetlb_bytes, &out->hugetlb_bytes, tree->max_hugetlb_bytes);
}

const struct ft_sampler ft_sampler_rss = {
  .name = "rss", .by_members = true, .probe = rss_probe, .sample = rss_sample, .close = rss_close
};
