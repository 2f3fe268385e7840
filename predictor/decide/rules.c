/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rules by which a job's amount of memory follows from the estimate and from facts. In order of
 * precedence: the partition's maximum, leak, floor, ceiling, estimate. What a user typed, and what
 * a job would have had without foretell, are respected by who uses the amount (sizing.c).
 */
#include "config.h"

#include <math.h>

#include "predictor/core/units.h"
#include "predictor/decide/sizing.h"

/* Over the largest peak of comparable completed runs. Chosen by tests/bench/weeks. */
#define FLOOR_MARGIN 1.1
/* A job that was killed is given this many times the limit that killed it, as much as a ceiling of
 * twice its bound allows: after k submissions at least 2^k times. */
#define KILLED_GROWTH 2.4
/* Over what a job like it lately died at, by the estimate's own bound. */
#define BOUND_MARGIN 1.2
/* No evidence is certainty. */
#define SURE 1e-6
/* What min_runs comparable runs have needed is passed by at most this, whatever the estimate says;
 * tests/bench/weeks: a sixth fewer amounts above three times the need, no more deaths. */
#define RICH_CEILING 1.3
/* A job is raised to at most this many times what is exceeded with 5 %: beyond that tails are guesses,
 * and a death, with more after it, costs less. Chosen by tests/bench/weeks. */
#define TAIL_FACTOR 1.5
/* A job is lowered only to what is exceeded this many times more rarely than what it is raised to:
 * a death where it would have lived is foretell's. */
#define LOWER_TIMES 10

static const struct ft_facts no_facts;

static const struct ft_facts *facts_of(const struct ft_decision_input *q)
{
  return q->facts && !q->network ? q->facts : &no_facts;
}

static bool is_borrowed(const struct ft_decision_input *q)
{
  return q->similar || q->imported_from || facts_of(q)->borrowed;
}

void ft_sizing_weigh_evidence(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  const struct ft_estimate *e = q->estimate;
  const struct ft_facts *f = facts_of(q);
  bool enough = e && e->runs >= q->policy->min_runs && e->runs > 0;

  sizing->has_estimate =
      e && !q->at_large && (enough || q->network || q->similar) && !f->unexplained;
  sizing->thin =
      !sizing->has_estimate || is_borrowed(q) || (!enough && !q->network) || e->extrapolated;
  sizing->has_evidence = sizing->has_estimate || f->peak_bytes > 0 || f->bound_bytes > 0;
}

static double target(const ft_policy *policy)
{
  double p = policy->oom_probability;

  /* what is proposed must not be rejected */
  if (policy->reject_probability > 0)
    p = fmin(p, policy->reject_probability);
  return fmin(fmax(p, SURE), 0.5);
}

/* What E says is exceeded with PROBABILITY, or is expected to waste least if that is more. */
static double need_of(const struct ft_estimate *e, double probability)
{
  double need = fmax(ft_estimate_quantile(e, 1 - probability), e->allocation_bytes);

  return fmax(need, e->bound_bytes * BOUND_MARGIN);
}

double ft_sizing_need(const struct ft_estimate *e, const ft_policy *policy)
{
  return need_of(e, target(policy));
}

/* The largest bound of comparable runs. One that is a peak has no margin yet. */
static double bound_with_margin(const struct ft_facts *f)
{
  bool killed = f->like_bound_bytes < 1.001 * FT_FACTS_KILLED_FACTOR * f->like_killed_bytes;

  return killed ? f->like_bound_bytes : FLOOR_MARGIN * f->like_bound_bytes;
}

/* What comparable runs, or where there are none and few at all any runs, have shown to be needed. */
static double floor_of(const struct ft_decision_input *q)
{
  const struct ft_facts *f = facts_of(q);
  double floor;

  if (f->less)
    return 0;
  if (!f->like_runs)
    return f->completed < q->policy->min_runs ? FLOOR_MARGIN * f->peak_bytes : 0;
  floor = fmax(FLOOR_MARGIN * f->like_peak_bytes, bound_with_margin(f));
  /* killed above all that any is known to have needed */
  if (f->lately_killed_bytes > f->like_peak_bytes)
    floor = fmax(floor, KILLED_GROWTH * f->lately_killed_bytes);
  return floor;
}

/* What comparable runs used or needed at the least, without a margin. */
static double shown_by(const struct ft_facts *f)
{
  return fmax(f->like_peak_bytes, f->like_bound_bytes);
}

static double ceiling_factor_of(const struct ft_decision_input *q)
{
  bool rich = facts_of(q)->least_completed >= q->policy->min_runs;

  return rich ? fmin(RICH_CEILING, q->policy->ceiling_factor) : q->policy->ceiling_factor;
}

/* The most that thin evidence sets; infinite where there is none to be thin. What similar apps have
 * needed counts until a run of its own has completed. */
static double ceiling_of(const struct ft_decision_input *q)
{
  const struct ft_facts *f = facts_of(q);
  double shown = shown_by(f);

  if (!f->least_runs)
    shown = fmax(shown, fmax(f->peak_bytes, f->bound_bytes));
  if (is_borrowed(q) && q->estimate && !f->like_completed)
    shown = fmax(shown, q->estimate->max_bytes);
  return shown > 0 ? ceiling_factor_of(q) * shown : INFINITY;
}

/* Whether the app may leak: it was killed at ever growing limits, and its user does not ask for as
 * much as was tried, to be raised from there. */
static bool may_leak(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  const struct ft_facts *f = facts_of(q);
  bool asked = sizing->explicit_mode && q->request->mem_unit != FT_MEM_NONE &&
               (sizing->mode == FT_MODE_RAISE || sizing->mode == FT_MODE_TRIM) &&
               (double)sizing->limit >= f->like_killed_bytes;

  return q->policy->leak_runs && f->growing_kills >= q->policy->leak_runs && !asked;
}

/* What an app that may leak is given at most: what those of its runs needed that completed, or where
 * none has what was tried. */
static double leak_amount(const struct ft_facts *f)
{
  return f->like_peak_bytes > 0 ? FLOOR_MARGIN * f->like_peak_bytes : f->like_killed_bytes;
}

static uint64_t rounded_up(double bytes, uint64_t to)
{
  if (!to)
    to = FT_MIB;
  if (!(bytes < 0x1p60))
    return UINT64_C(1) << 60;
  return ft_multiply_saturating((uint64_t)ceil(bytes / (double)to), to);
}

/* The outer quantiles of few runs are what priors say: of those what wastes least counts. */
static double estimated_need(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  const struct ft_estimate *e = q->estimate;

  /* of what has less than all before it nothing says that it needs more than it has */
  if (sizing->thin && facts_of(q)->less)
    return 0;
  if (sizing->thin && !e->extrapolated && e->allocation_bytes > 0)
    return need_of(e, 0.5);
  return fmin(need_of(e, target(q->policy)),
              fmax(TAIL_FACTOR * ft_estimate_quantile(e, 0.95), need_of(e, 0.05)));
}

/* The amount before it is rounded, and the rule that made it. */
static double amount_by_rules(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  double need = 0, floor = floor_of(q), ceiling = ceiling_of(q);

  sizing->rule = FT_DECIDED_BY_ESTIMATE;
  sizing->ceiling_factor = ceiling_factor_of(q);
  if (q->estimate && !q->at_large)
    need = estimated_need(q, sizing);
  if (sizing->thin || facts_of(q)->like_runs) {
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
  sizing->shown = (uint64_t)fmin(fmin(floor, shown_by(facts_of(q))), 0x1p60);
  if (may_leak(q, sizing) && need > leak_amount(facts_of(q))) {
    need = leak_amount(facts_of(q));
    sizing->shown = (uint64_t)fmin((double)sizing->shown, need / FLOOR_MARGIN);
    sizing->rule = FT_DECIDED_BY_LEAK;
  }
  return fmax(need, (double)q->policy->floor_bytes);
}

/* NEED, rounded up, or where it may leak down to whole MiB, into AMOUNT bytes a node and
 * UNIT_AMOUNT; whether that had to be less than it. */
static bool fit_amount(const struct ft_decision_input *q, const struct ft_sizing *sizing,
                       double need, uint64_t *amount, uint64_t *unit_amount)
{
  bool capped = false;

  *amount = rounded_up(need, q->policy->round_bytes);
  /* or it would grow by as much with every submission */
  if (sizing->rule == FT_DECIDED_BY_LEAK && need >= (double)FT_MIB)
    *amount = (uint64_t)(need / (double)FT_MIB) * FT_MIB;
  if (sizing->max && *amount > sizing->max) {
    capped = (double)sizing->max < need;
    *amount = sizing->max / FT_MIB * FT_MIB;
  }
  *unit_amount = *amount;
  if (sizing->per_node > 1) {
    *unit_amount = rounded_up((double)*amount / (double)sizing->per_node, FT_MIB);
    if (sizing->max && *unit_amount > sizing->max / sizing->per_node)
      *unit_amount = sizing->max / sizing->per_node / FT_MIB * FT_MIB;
    *amount = ft_multiply_saturating(*unit_amount, sizing->per_node);
  }
  return capped;
}

void ft_sizing_find_amount(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  double need = amount_by_rules(q, sizing), lowest = need;

  if (q->estimate && !q->at_large)
    lowest = fmax(fmax(need_of(q->estimate, target(q->policy) / LOWER_TIMES), floor_of(q)),
                  (double)q->policy->floor_bytes);
  (void)fit_amount(q, sizing, lowest, &sizing->min_amount, &sizing->unit_min_amount);
  sizing->capped = fit_amount(q, sizing, need, &sizing->amount, &sizing->unit_amount);
  if (sizing->capped)
    sizing->rule = FT_DECIDED_BY_MAXIMUM;
  sizing->no_node_fits = sizing->has_estimate && !sizing->thin && sizing->largest_node &&
                         ft_estimate_exceeds(q->estimate, (double)sizing->largest_node) > 0.5;
}
