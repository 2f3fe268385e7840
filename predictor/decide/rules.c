/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rules that give a job's amount of memory, from the estimate and from facts. In order of
 * precedence: the partition's maximum, leak, floor, ceiling, estimate. sizing.c then applies the
 * amount, with respect to the user's request and to the memory without foretell.
 */
#include "config.h"

#include <math.h>

#include "predictor/core/units.h"
#include "predictor/decide/sizing.h"

/* Rule floor: multiple of the largest peak of comparable completed runs. Chosen by
 * tests/bench/weeks. */
#define FLOOR_MARGIN 1.1
/* Rule floor: multiple of the limit that killed the last run. It is the largest multiple that a
 * ceiling of twice the bound (1.2 times that limit) allows, and at least doubles with each attempt.
 */
#define KILLED_GROWTH 2.4
/* Multiple of the estimate's own bound, the peak of a similar run that was killed. Chosen by
 * judgement. */
#define BOUND_MARGIN 1.2
/* Smallest probability that a target may be: no evidence is certain. */
#define MIN_PROBABILITY 1e-6
/* Rule ceiling: multiple of the largest need of min_runs comparable runs. Chosen by
 * tests/bench/weeks: a sixth fewer amounts above three times the need, no more kills. */
#define RICH_CEILING 1.3
/* Rule estimate: largest multiple of the 95 % quantile. Tails beyond are uncertain, and a failure
 * with a larger second attempt costs less. Chosen by tests/bench/weeks. */
#define TAIL_FACTOR 1.5
/* A request is lowered only to the quantile that is exceeded this many times more rarely than the
 * quantile to which it is raised: foretell would be the cause of the failure. Chosen by judgement.
 */
#define LOWER_TIMES 10

static const struct ft_facts no_facts;

static const struct ft_facts *facts_or_none(const struct ft_decision_input *q)
{
  return q->facts && !q->network ? q->facts : &no_facts;
}

static bool is_evidence_borrowed(const struct ft_decision_input *q)
{
  return q->similar || q->imported_from || facts_or_none(q)->borrowed;
}

void ft_sizing_weigh_evidence(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  const struct ft_estimate *e = q->estimate;
  const struct ft_facts *f = facts_or_none(q);
  bool enough = e && e->runs >= q->policy->min_runs && e->runs > 0;

  sizing->has_estimate =
      e && !q->site_prior_apps && (enough || q->network || q->similar) && !f->unexplained;
  sizing->thin = !sizing->has_estimate || is_evidence_borrowed(q) || (!enough && !q->network) ||
                 e->extrapolated;
  sizing->has_evidence = sizing->has_estimate || f->peak_bytes > 0 || f->bound_bytes > 0;
}

static double target_probability(const ft_policy *policy)
{
  double p = policy->oom_probability;

  /* a recommended amount must not be rejected */
  if (policy->reject_probability > 0)
    p = fmin(p, policy->reject_probability);
  return fmin(fmax(p, MIN_PROBABILITY), 0.5);
}

/* The quantile of E that is exceeded with PROBABILITY, or the allocation with the least expected
 * waste if that is more. Bytes. */
static double need_of_estimate(const struct ft_estimate *e, double probability)
{
  double need = fmax(ft_estimate_quantile(e, 1 - probability), e->allocation_bytes);

  return fmax(need, e->bound_bytes * BOUND_MARGIN);
}

double ft_sizing_need(const struct ft_estimate *e, const ft_policy *policy)
{
  return need_of_estimate(e, target_probability(policy));
}

/* The largest bound of comparable runs. A bound that is a limit has a margin (estimate/facts.h);
 * one that is an observed peak gets one here. */
static double bound_with_margin(const struct ft_facts *f)
{
  bool killed = f->like_bound_bytes < 1.001 * FT_FACTS_KILLED_FACTOR * f->like_killed_bytes;

  return killed ? f->like_bound_bytes : FLOOR_MARGIN * f->like_bound_bytes;
}

/* Bytes that runs have shown to be needed, with a margin: comparable runs, or any runs if none is
 * comparable and few completed. */
static double floor_bytes(const struct ft_decision_input *q)
{
  const struct ft_facts *f = facts_or_none(q);
  double floor;

  if (f->less)
    return 0;
  if (!f->like_runs)
    return f->completed < q->policy->min_runs ? FLOOR_MARGIN * f->peak_bytes : 0;
  floor = fmax(FLOOR_MARGIN * f->like_peak_bytes, bound_with_margin(f));
  /* the last run was killed above every observed peak */
  if (f->lately_killed_bytes > f->like_peak_bytes)
    floor = fmax(floor, KILLED_GROWTH * f->lately_killed_bytes);
  return floor;
}

/* Bytes that comparable runs used or needed at least, without a margin. */
static double shown_bytes(const struct ft_facts *f)
{
  return fmax(f->like_peak_bytes, f->like_bound_bytes);
}

static double ceiling_factor_of(const struct ft_decision_input *q)
{
  bool rich = facts_or_none(q)->fewest_completed >= q->policy->min_runs;

  return rich ? fmin(RICH_CEILING, q->policy->ceiling_factor) : q->policy->ceiling_factor;
}

/* The largest peak or bound in the evidence, in bytes; 0: none. Similar apps count until one of the
 * app's own runs has completed. */
static double ceiling_basis_of(const struct ft_decision_input *q)
{
  const struct ft_facts *f = facts_or_none(q);
  double basis = shown_bytes(f);

  if (!f->fewest_runs)
    basis = fmax(basis, fmax(f->peak_bytes, f->bound_bytes));
  if (is_evidence_borrowed(q) && q->estimate && !f->like_completed)
    basis = fmax(basis, q->estimate->max_bytes);
  return basis;
}

/* Whether the app may leak memory: it was killed at increasing limits, and the user does not
 * request at least the last of them with a mode that raises. */
static bool is_leak_suspected(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  const struct ft_facts *f = facts_or_none(q);
  bool asked = sizing->explicit_mode && q->request->mem_unit != FT_MEM_NONE &&
               (sizing->mode == FT_MODE_RAISE || sizing->mode == FT_MODE_TRIM) &&
               (double)sizing->limit >= f->like_killed_bytes;

  return q->policy->leak_runs && f->growing_kills >= q->policy->leak_runs && !asked;
}

/* Upper limit, in bytes, for an app that may leak memory: the need of its completed runs, or
 * without one the largest limit tried. */
static double leak_bytes(const struct ft_facts *f)
{
  return f->like_peak_bytes > 0 ? FLOOR_MARGIN * f->like_peak_bytes : f->like_killed_bytes;
}

static uint64_t round_bytes_up(double bytes, uint64_t to)
{
  if (!to)
    to = FT_MIB;
  if (!(bytes < 0x1p60))
    return UINT64_C(1) << 60;
  return ft_multiply_saturating((uint64_t)ceil(bytes / (double)to), to);
}

/* The outer quantiles of few runs come from priors, so for thin evidence the median or the
 * allocation with the least expected waste is used. */
static double choose_estimated_need(const struct ft_decision_input *q,
                                    const struct ft_sizing *sizing)
{
  const struct ft_estimate *e = q->estimate;

  /* a job smaller than every recorded run: no evidence that it needs more than it has */
  if (sizing->thin && facts_or_none(q)->less)
    return 0;
  if (sizing->thin && !e->extrapolated && e->allocation_bytes > 0)
    return need_of_estimate(e, 0.5);
  return fmin(need_of_estimate(e, target_probability(q->policy)),
              fmax(TAIL_FACTOR * ft_estimate_quantile(e, 0.95), need_of_estimate(e, 0.05)));
}

/* Returns the amount in bytes before rounding; fills SIZING's rule, ceiling, floor and shown. */
static double amount_by_rules(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  double need = 0, floor = sizing->floor = floor_bytes(q), ceiling;

  sizing->rule = FT_DECIDED_BY_ESTIMATE;
  sizing->ceiling_factor = ceiling_factor_of(q);
  sizing->ceiling_basis = ceiling_basis_of(q);
  ceiling = sizing->ceiling_basis > 0 ? sizing->ceiling_factor * sizing->ceiling_basis : INFINITY;
  if (q->estimate && !q->site_prior_apps)
    need = choose_estimated_need(q, sizing);
  if (sizing->thin || facts_or_none(q)->like_runs) {
    floor = fmin(floor, ceiling);
    if (need > ceiling) {
      need = ceiling;
      sizing->rule = FT_DECIDED_BY_CEILING;
    }
  }
  if (need < floor) {
    need = floor;
    sizing->rule = FT_DECIDED_BY_FLOOR;
  }
  sizing->min_need = (uint64_t)fmin(fmin(floor, shown_bytes(facts_or_none(q))), 0x1p60);
  if (is_leak_suspected(q, sizing) && need > leak_bytes(facts_or_none(q))) {
    need = leak_bytes(facts_or_none(q));
    sizing->min_need = (uint64_t)fmin((double)sizing->min_need, need / FLOOR_MARGIN);
    sizing->rule = FT_DECIDED_BY_LEAK;
  }
  return fmax(need, (double)q->policy->floor_bytes);
}

/* Rounds NEED, in bytes, up to the policy's multiple; by rule leak down to MiB. Fills AMOUNT (per
 * node) and UNIT_AMOUNT (per unit). Returns whether the maximum made it less than NEED. */
static bool fit_to_unit(const struct ft_decision_input *q, const struct ft_sizing *sizing,
                        double need, uint64_t *amount, uint64_t *unit_amount)
{
  bool capped = false;

  *amount = round_bytes_up(need, q->policy->round_bytes);
  /* rounding up would let the amount grow with every submission */
  if (sizing->rule == FT_DECIDED_BY_LEAK && need >= (double)FT_MIB)
    *amount = (uint64_t)(need / (double)FT_MIB) * FT_MIB;
  if (sizing->max && *amount > sizing->max) {
    capped = (double)sizing->max < need;
    *amount = sizing->max / FT_MIB * FT_MIB;
  }
  *unit_amount = *amount;
  if (sizing->per_node > 1) {
    *unit_amount = round_bytes_up((double)*amount / (double)sizing->per_node, FT_MIB);
    if (sizing->max && *unit_amount > sizing->max / sizing->per_node)
      *unit_amount = sizing->max / sizing->per_node / FT_MIB * FT_MIB;
    *amount = ft_multiply_saturating(*unit_amount, sizing->per_node);
  }
  return capped;
}

void ft_sizing_find_amount(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  double need = amount_by_rules(q, sizing), lowest = need;

  if (q->estimate && !q->site_prior_apps)
    lowest = fmax(fmax(need_of_estimate(q->estimate, target_probability(q->policy) / LOWER_TIMES),
                       floor_bytes(q)),
                  (double)q->policy->floor_bytes);
  (void)fit_to_unit(q, sizing, lowest, &sizing->min_amount, &sizing->unit_min_amount);
  sizing->capped = fit_to_unit(q, sizing, need, &sizing->amount, &sizing->unit_amount);
  if (sizing->capped)
    sizing->rule = FT_DECIDED_BY_MAXIMUM;
  sizing->no_node_fits = sizing->has_estimate && !sizing->thin && sizing->largest_node &&
                         ft_estimate_exceeds(q->estimate, (double)sizing->largest_node) > 0.5;
}
