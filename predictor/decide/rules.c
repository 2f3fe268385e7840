/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rules that determine the recommended amount of memory from the estimate and the facts. In
 * order of precedence: the partition's maximum, leak, floor, ceiling, estimate. sizing.c then
 * compares the amount with the user's request and with the memory without foretell.
 */
#include "config.h"

#include <math.h>

#include "predictor/core/units.h"
#include "predictor/decide/sizing.h"
#include "predictor/estimate/variant.h"

/* Rule floor: multiple of the largest peak of comparable completed runs. Chosen by
 * tests/bench/weeks. */
#define FLOOR_MARGIN 1.1
/* Rule floor: multiple of the limit that killed the last run. The amount then at least doubles with
 * each attempt. Source: a ceiling_factor of 2 times the bound, FT_FACTS_KILLED_FACTOR (1.2) times
 * that limit, allows no larger multiple. */
#define KILLED_GROWTH 2.4
/* Minimum of the amount as a multiple of the estimate's bound_value, the limit that killed a run.
 * Half and twice were compared. */
#define BOUND_MARGIN 1.2
/* Minimum of the target probability of running out of memory: no evidence is certain. */
#define MIN_PROBABILITY 1e-6
/* Rule ceiling: multiple of the largest need of at least min_runs comparable runs. Chosen by
 * tests/bench/weeks: a sixth fewer amounts above three times the need, without more kills. */
#define RICH_CEILING 1.3
/* Rule estimate: maximum of the amount as a multiple of the 95 % quantile. Quantiles further out
 * are uncertain, and an occasional failure with a larger second attempt costs less. Chosen by
 * tests/bench/weeks. */
#define TAIL_FACTOR 1.5

/* Rule ceiling: where the median is above it, it is this multiple of the median or the 95 %
 * quantile, whichever is less, if the latter is within FT_SIZING_NARROW_RATIO times the median.
 * Chosen by tests/bench/weeks. */
#define MEDIAN_MARGIN 1.5
/* An estimate whose 95 % quantile exceeds this multiple of the largest run does not fit the runs.
 * Half and twice were compared. */
#define MISFIT_FACTOR 10

/* What a program needs beside an amount that it is given, such as a Java heap: this fraction of the
 * amount, and at least STATED_MIN bytes. Source: memoryOverhead of Apache Spark, for the memory of
 * a Java process outside its heap. */
#define STATED_MARGIN 0.1
#define STATED_MIN (384.0 * (double)FT_MIB)

static const struct ft_facts no_facts;

/* Returns the facts of the input; zero if there are none, or if the estimate is a network's. */
static const struct ft_facts *facts_or_none(const struct ft_decision_input *q)
{
  return q->facts && !q->network ? q->facts : &no_facts;
}

bool ft_sizing_is_borrowed(const struct ft_decision_input *q)
{
  return q->similar || q->imported_from || facts_or_none(q)->borrowed ||
         (!q->changed_runs && (q->changes & (FT_CHANGED_CODE | FT_CHANGED_PROGRAM)));
}

/*
 * Returns whether the estimate is not believable: its 95 % quantile is above MISFIT_FACTOR times
 * the largest run, or above every node, which no run comes near. A network's estimate is from no
 * run, and the site-wide prior from other apps. An estimate of so few runs that it does not decide
 * (DECIDES) may follow the only line through them far out: there the bound is compared with its
 * median.
 */
static bool is_misfit(const struct ft_decision_input *q, const struct ft_sizing *sizing,
                      bool decides)
{
  const struct ft_facts *f = facts_or_none(q);
  double bound = ft_estimate_quantile(q->estimate, 0.95);
  double largest = fmax(fmax(q->estimate->max_value, q->estimate->bound_value),
                        fmax(f->peak_value, f->bound_value));

  if (q->network || q->site_prior_apps || !(largest > 0))
    return false;
  if (!decides)
    return bound > MISFIT_FACTOR * fmax(largest, ft_estimate_quantile(q->estimate, 0.5));
  return bound > MISFIT_FACTOR * largest ||
         (sizing->largest_node && bound > (double)sizing->largest_node &&
          bound > FT_FACTS_FACTOR * largest);
}

/* Returns whether the estimate is of runs of another text: its median is far from what all
 * comparable runs used, which are the only ones of this text. */
static bool is_of_other_text(const struct ft_decision_input *q)
{
  const struct ft_facts *f = facts_or_none(q);
  double median = ft_estimate_quantile(q->estimate, 0.5);
  double least = f->comparable_completed == 1 ? f->comparable_peak_value : f->comparable_min_value;

  return f->other_texts && f->comparable_completed &&
         (median * FT_FACTS_FACTOR < least || median > FT_FACTS_FACTOR * f->comparable_peak_value);
}

void ft_sizing_weigh_evidence(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  const struct ft_estimate *e = q->estimate;
  const struct ft_facts *f = facts_or_none(q);
  bool enough = e && e->runs >= q->policy->min_runs && e->runs > 0;
  bool decides = enough || q->network || q->similar;
  bool is_of_app = e && !q->site_prior_apps && !f->unexplained && !is_of_other_text(q);

  sizing->shows_estimate =
      is_of_app && (decides || e->runs + e->stopped > 0) && !is_misfit(q, sizing, decides);
  sizing->has_estimate = decides && sizing->shows_estimate;
  sizing->misfit = decides && is_of_app && !sizing->shows_estimate;
  sizing->thin = !sizing->has_estimate || ft_sizing_is_borrowed(q) || (!enough && !q->network) ||
                 e->extrapolated;
  sizing->has_evidence = sizing->has_estimate || f->peak_value > 0 || f->bound_value > 0;
}

/* Returns the probability of running out of memory that a recommended amount may have. */
static double target_probability(const ft_policy *policy)
{
  double p = policy->oom_probability;

  /* a recommended amount must not be rejected */
  if (policy->reject_probability > 0)
    p = fmin(p, policy->reject_probability);
  return fmin(fmax(p, MIN_PROBABILITY), 0.5);
}

/* Returns the maximum, in bytes, of the quantile of E that is exceeded with PROBABILITY, the
 * allocation with the least expected waste, and the bound with its margin. */
static double need_of_estimate(const struct ft_estimate *e, double probability)
{
  double need = fmax(ft_estimate_quantile(e, 1 - probability), e->allocation_bytes);

  return fmax(need, e->bound_value * BOUND_MARGIN);
}

double ft_sizing_need(const struct ft_estimate *e, const ft_policy *policy)
{
  return need_of_estimate(e, target_probability(policy));
}

/* Returns whether the largest bound of comparable runs is from a limit, and so has a margin
 * (estimate/facts.h); one from an observed peak has none. */
static bool is_bound_limit(const struct ft_facts *f)
{
  return f->comparable_bound_value < 1.001 * FT_FACTS_KILLED_FACTOR * f->comparable_killed_value;
}

/* Sets the floor of SIZING to BYTES, derived from BASIS_BYTES, if that is larger. */
static void raise_floor(struct ft_sizing *sizing, double bytes, enum ft_floor_basis basis,
                        double basis_bytes)
{
  if (bytes <= sizing->floor)
    return;
  sizing->floor = bytes;
  sizing->floor_basis = basis;
  sizing->floor_basis_bytes = basis_bytes;
}

/* Fills the floor of SIZING, which is 0, by rule floor: the need of comparable runs with a margin;
 * of any runs, if none is comparable and fewer than min_runs completed, or the estimate does not
 * fit them. */
static void find_floor(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  const struct ft_facts *f = facts_or_none(q);

  if (f->less)
    return;
  if (!f->comparable_runs) {
    if (f->completed < q->policy->min_runs || sizing->misfit)
      raise_floor(sizing, FLOOR_MARGIN * f->peak_value, FT_FLOOR_USED_BY_ANY, f->peak_value);
    return;
  }
  raise_floor(sizing, FLOOR_MARGIN * f->comparable_peak_value, FT_FLOOR_USED,
              f->comparable_peak_value);
  if (is_bound_limit(f))
    raise_floor(sizing, f->comparable_bound_value, FT_FLOOR_KILLED, f->comparable_killed_value);
  else
    raise_floor(sizing, FLOOR_MARGIN * f->comparable_bound_value, FT_FLOOR_NEEDED,
                f->comparable_bound_value);
  /* the last run was killed above every observed peak */
  if (f->lately_killed_value > f->comparable_peak_value)
    raise_floor(sizing, KILLED_GROWTH * f->lately_killed_value, FT_FLOOR_KILLED,
                f->lately_killed_value);
}

/* Returns the lower bound, in bytes, of the need by comparable runs, without a margin. */
static double need_of_runs(const struct ft_facts *f)
{
  return fmax(f->comparable_peak_value, f->comparable_bound_value);
}

/* Returns the multiple of ceiling_basis_of for rule ceiling. */
static double ceiling_factor_of(const struct ft_decision_input *q)
{
  bool enough = facts_or_none(q)->fewest_completed >= q->policy->min_runs;

  return enough ? fmin(RICH_CEILING, q->policy->ceiling_factor) : q->policy->ceiling_factor;
}

/* Returns the largest peak or bound in the evidence, in bytes; 0: none. Other apps' runs are
 * included until a comparable run of the app itself completed. */
static double ceiling_basis_of(const struct ft_decision_input *q)
{
  const struct ft_facts *f = facts_or_none(q);
  double basis = need_of_runs(f);

  if (!f->fewest_runs)
    basis = fmax(basis, fmax(f->peak_value, f->bound_value));
  if ((ft_sizing_is_borrowed(q) || q->pooled) && q->estimate && !f->comparable_completed)
    basis = fmax(basis, q->estimate->max_value);
  return basis;
}

/* Returns whether rule leak applies: the app was killed at leak_runs growing limits, and the user
 * does not request at least the largest of them with a mode that raises. */
static bool is_leak_suspected(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  const struct ft_facts *f = facts_or_none(q);
  bool requested = sizing->explicit_mode && q->request->mem_unit != FT_MEM_NONE &&
                   (sizing->mode == FT_MODE_RAISE || sizing->mode == FT_MODE_TRIM) &&
                   (double)sizing->limit >= f->comparable_killed_value;

  return q->policy->leak_runs && f->growing_kills >= q->policy->leak_runs && !requested;
}

/* Returns the maximum amount, in bytes, for an app that may leak memory: the need of its completed
 * runs; without one, the largest limit that killed a run. */
static double leak_bytes(const struct ft_facts *f)
{
  return f->comparable_peak_value > 0 ? FLOOR_MARGIN * f->comparable_peak_value
                                      : f->comparable_killed_value;
}

/* Returns BYTES rounded up to a multiple of TO (0: 1 MiB), at most 2^60. */
static uint64_t round_bytes_up(double bytes, uint64_t to)
{
  if (!to)
    to = FT_MIB;
  if (!(bytes < 0x1p60))
    return UINT64_C(1) << 60;
  return ft_multiply_saturating((uint64_t)ceil(bytes / (double)to), to);
}

/* Returns the bytes of rule estimate. The outer quantiles of few runs are determined by priors, so
 * with thin evidence that is not extrapolated the median replaces the target quantile. */
static double choose_estimated_need(const struct ft_decision_input *q,
                                    const struct ft_sizing *sizing)
{
  const struct ft_estimate *e = q->estimate;

  /* no evidence that a job smaller than every recorded run needs more memory */
  if (sizing->thin && facts_or_none(q)->less)
    return 0;
  if (sizing->thin && !e->extrapolated && e->allocation_bytes > 0)
    return need_of_estimate(e, 0.5);
  return fmin(need_of_estimate(e, target_probability(q->policy)),
              fmax(TAIL_FACTOR * ft_estimate_quantile(e, 0.95), need_of_estimate(e, 0.05)));
}

/* Returns CEILING or, if the median of an estimate with a narrow interval is above it, the ceiling
 * by that estimate. In bytes. */
static double raise_ceiling(const struct ft_decision_input *q, const struct ft_sizing *sizing,
                            double ceiling)
{
  double median, high;

  if (!sizing->has_estimate)
    return ceiling;
  median = ft_estimate_quantile(q->estimate, 0.5);
  high = ft_estimate_quantile(q->estimate, 0.95);
  return median > ceiling && high <= FT_SIZING_NARROW_RATIO * median
             ? fmin(high, MEDIAN_MARGIN * median)
             : ceiling;
}

/* Returns whether an amount may rest on the estimate. */
static bool is_estimate_used(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  return q->estimate && !q->site_prior_apps && !sizing->misfit;
}

/* Returns the amount in bytes before rounding; fills SIZING's rule, ceiling, floor and min_need. */
static double amount_by_rules(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  double need = 0, floor, ceiling;

  find_floor(q, sizing);
  floor = sizing->floor;
  sizing->rule = FT_DECIDED_BY_ESTIMATE;
  sizing->ceiling_factor = ceiling_factor_of(q);
  sizing->ceiling_basis = ceiling_basis_of(q);
  ceiling = sizing->ceiling_basis > 0 ? sizing->ceiling_factor * sizing->ceiling_basis : INFINITY;
  if (is_estimate_used(q, sizing))
    need = choose_estimated_need(q, sizing);
  if (need > ceiling) {
    need = fmin(need, raise_ceiling(q, sizing, ceiling));
    if (need <= ceiling)
      sizing->rule = FT_DECIDED_BY_CEILING;
  }
  if (need < floor) {
    need = floor;
    sizing->rule = FT_DECIDED_BY_FLOOR;
  }
  sizing->min_need = (uint64_t)fmin(fmin(floor, need_of_runs(facts_or_none(q))), 0x1p60);
  if (is_leak_suspected(q, sizing) && need > leak_bytes(facts_or_none(q))) {
    need = leak_bytes(facts_or_none(q));
    sizing->min_need = (uint64_t)fmin((double)sizing->min_need, need / FLOOR_MARGIN);
    sizing->rule = FT_DECIDED_BY_LEAK;
  }
  return fmax(need, (double)q->policy->floor_bytes);
}

/* Rounds NEED, in bytes, up to the policy's multiple; with rule leak down to MiB. Fills AMOUNT (per
 * node) and UNIT_AMOUNT (per unit). Returns whether sizing->max reduced it below NEED. */
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
    *amount = sizing->max / sizing->step * sizing->step;
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

bool ft_sizing_follows_limit(const struct ft_decision_input *q)
{
  switch (facts_or_none(q)->limit_effect) {
  case FT_LIMIT_FOLLOWED:
    return true;
  case FT_LIMIT_WITHOUT_EFFECT:
    return false;
  case FT_LIMIT_EFFECT_UNKNOWN:
    break;
  }
  return q->reads_limit && !q->network;
}

void ft_sizing_use_completed_limit(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  double bytes = facts_or_none(q)->completed_limit_bytes;

  if (bytes <= facts_or_none(q)->comparable_killed_value)
    return;
  sizing->has_estimate = false;
  sizing->thin = true;
  sizing->rule = FT_DECIDED_BY_FLOOR;
  sizing->floor = sizing->floor_basis_bytes = bytes;
  sizing->floor_basis = FT_FLOOR_COMPLETED;
  sizing->capped = fit_to_unit(q, sizing, bytes, &sizing->amount, &sizing->unit_amount);
  sizing->min_amount = sizing->min_need = sizing->amount;
  sizing->unit_min_amount = sizing->unit_amount;
}

/* Raises NEED and LOWEST, the amount that is set and the one to which a request may be lowered, to
 * what the script states. NEED not beyond the memory under which the last run completed, if
 * comparable ones did and none was killed; and not if STATED is above the partition's maximum,
 * because the program may run without all that it is given. */
static void apply_stated_amount(const struct ft_decision_input *q, struct ft_sizing *sizing,
                                double *need, double *lowest)
{
  const struct ft_facts *f = facts_or_none(q);
  double stated = (double)q->stated_bytes, raised;

  if (!q->stated_bytes || q->network || sizing->rule == FT_DECIDED_BY_LEAK)
    return;
  stated += fmax(STATED_MARGIN * stated, STATED_MIN);
  raised = f->comparable_completed && !f->comparable_killed ? fmin(stated, f->completed_limit_bytes)
                                                            : stated;
  if (*lowest < stated)
    sizing->stated = q->stated_bytes;
  *lowest = fmax(*lowest, stated);
  if (*need < raised && (!sizing->max || stated <= (double)sizing->max)) {
    *need = raised;
    sizing->rule = FT_DECIDED_BY_FLOOR;
    sizing->floor_basis = raised < stated ? FT_FLOOR_COMPLETED : FT_FLOOR_STATED;
    sizing->floor_basis_bytes = f->completed_limit_bytes;
  }
}

/* Returns the probability with which a task may exceed the amount to which a request is lowered.
 * For a job array it is divided by the number of tasks, because any of them may. */
static double lowering_probability(const struct ft_decision_input *q,
                                   const struct ft_sizing *sizing)
{
  double p = target_probability(q->policy) / sizing->lower_times;

  return fmax(p / fmax(q->request->array_tasks, 1), MIN_PROBABILITY);
}

void ft_sizing_find_amount(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  double need = amount_by_rules(q, sizing), lowest = need;

  if (is_estimate_used(q, sizing))
    lowest =
        fmax(fmax(need_of_estimate(q->estimate, lowering_probability(q, sizing)), sizing->floor),
             (double)q->policy->floor_bytes);
  apply_stated_amount(q, sizing, &need, &lowest);
  (void)fit_to_unit(q, sizing, lowest, &sizing->min_amount, &sizing->unit_min_amount);
  sizing->capped = fit_to_unit(q, sizing, need, &sizing->amount, &sizing->unit_amount);
  if (sizing->capped)
    sizing->rule = FT_DECIDED_BY_MAXIMUM;
  sizing->no_node_fits = sizing->has_estimate && !sizing->thin && sizing->largest_node &&
                         ft_estimate_exceeds(q->estimate, (double)sizing->largest_node) > 0.5;
}
