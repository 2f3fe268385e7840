/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the action of a decision: compares the limit without foretell with the recommended
 * amount. */
#include "config.h"

#include <math.h>

#include "predictor/core/units.h"
#include "predictor/decide/sizing.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/quantity.h"
#include "predictor/learn/distribution.h"

/* A limit is too low if the probability of exceeding it is over this multiple of oom_probability
 * and over FT_SIZING_LOW_MIN. Chosen by judgement. */
#define LOW_FACTOR 2
/* With thin evidence a limit is too low if the probability of exceeding it is over this: more
 * likely than not. Half and twice were compared. */
#define LOW_THIN 0.5
/* Probabilities are within [MIN_PROBABILITY, 1 - MIN_PROBABILITY]: no evidence is certain. */
#define MIN_PROBABILITY 1e-6
/* A default is not lowered by less than this fraction: peaks so close to it may follow it. Chosen
 * by judgement. */
#define WORTH_LOWERING 0.95
/* Maximum number of runs of one cohort that count towards trim_runs. Chosen by tests/bench/weeks.
 */
#define COHORT_RUNS 5
/* A request is lowered to a quantile that is exceeded with 1 / LOWER_TIMES of the probability for
 * raising, because a failure would then be caused by foretell. Half and twice were compared. */
#define LOWER_TIMES 10
/* The common factor of array tasks is integrated from minus to plus this number of standard
 * deviations: 6e-7 of a normal distribution lies outside. */
#define SHARED_FACTOR_MAX 5.0
/* Integration step, in standard deviations. */
#define SHARED_FACTOR_STEP 0.25

/* ---- probabilities ---- */

static double clamp_probability(double p)
{
  return fmin(fmax(p, MIN_PROBABILITY), 1 - MIN_PROBABILITY);
}

/* Returns the probability that the job needs more than BYTES; for a job array, the maximum over the
 * tasks. */
static double worst_task_exceeds(const struct ft_decision_input *q, uint64_t bytes)
{
  double worst = ft_estimate_exceeds(q->estimate, (double)bytes);

  for (size_t i = 0; q->tasks && i < q->tasks->count; i++)
    worst = fmax(worst, ft_estimate_exceeds(&q->tasks->each[i], (double)bytes));
  return worst;
}

/* Returns the probability that the job, or any task of a job array, needs more than BYTES. */
static double job_exceeds(const struct ft_decision_input *q, uint64_t bytes)
{
  return q->request->array_tasks > 1 ? ft_sizing_p_any_task(q, bytes)
                                     : worst_task_exceeds(q, bytes);
}

static void set_action(struct ft_sizing *sizing, ft_action action, const char *reason)
{
  sizing->action = action;
  sizing->reason = reason;
}

/* Returns the probability of running out of memory under BYTES; -1: unknown, or no limit is
 * enforced. */
static double p_oom_under(const struct ft_decision_input *q, const struct ft_sizing *sizing,
                          uint64_t bytes)
{
  if (!sizing->enforced || !sizing->has_estimate || !bytes)
    return -1;
  return clamp_probability(worst_task_exceeds(q, bytes));
}

size_t ft_decide_largest(const struct ft_array_estimates *tasks, const ft_policy *policy)
{
  size_t largest = 0;

  for (size_t i = 1; i < tasks->count; i++)
    if (ft_sizing_need(&tasks->each[i], policy) > ft_sizing_need(&tasks->each[largest], policy))
      largest = i;
  return largest;
}

/* Returns whether the evidence is thin and the job's features are smaller than those of every
 * recorded run, so that there is no evidence that the job needs more than the default. */
static bool is_smaller_than_runs(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  return sizing->thin && q->facts && q->facts->less && !q->network;
}

bool ft_sizing_is_too_low(const struct ft_sizing *sizing, const ft_policy *policy, bool less,
                          double limit, double p)
{
  double max_p =
      sizing->thin ? LOW_THIN : fmax(FT_SIZING_LOW_MIN, LOW_FACTOR * policy->oom_probability);

  return limit < (double)sizing->min_need ||
         (sizing->rule != FT_DECIDED_BY_LEAK && !less && p > max_p);
}

/* Returns whether the limit is too low; false if there is none, or Slurm neither allocates nor
 * limits memory. */
static bool is_too_low(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  if (!sizing->limit || !(sizing->enforced || q->memory_is_consumable))
    return false;
  return ft_sizing_is_too_low(sizing, q->policy, is_smaller_than_runs(q, sizing),
                              (double)sizing->limit,
                              sizing->has_estimate ? job_exceeds(q, sizing->limit) : -1);
}

/* Returns whether the amount must not be set. */
static bool is_unsupported(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  double killed = q->facts && !q->network ? q->facts->lately_killed_value : 0;

  return (sizing->has_estimate && worst_task_exceeds(q, sizing->amount) > 0.5) ||
         (killed > 0 && FT_QUANTITY_NEAR_LIMIT * (double)sizing->amount <= killed);
}

/* Fills p_amount and unsupported. */
static void weigh_amount(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  sizing->p_amount = p_oom_under(q, sizing, sizing->amount);
  sizing->unsupported = is_unsupported(q, sizing);
}

/* Fills the probabilities under limit and amount, unsupported, too_low and too_high. */
static void compare_with_limit(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  double factor = fmax(q->policy->trim_factor, 1);

  sizing->p_limit = p_oom_under(q, sizing, sizing->limit);
  weigh_amount(q, sizing);
  sizing->too_low = is_too_low(q, sizing);
  sizing->too_high = sizing->has_estimate && !sizing->thin && sizing->limit &&
                     q->memory_is_consumable && !ft_sizing_exclusive(q) &&
                     (double)sizing->limit > factor * (double)sizing->min_amount;
}

/* Lowers the request to min_amount, which is exceeded with a smaller probability (LOWER_TIMES). */
static void lower_request(const struct ft_decision_input *q, struct ft_sizing *sizing,
                          ft_action action, const char *reason)
{
  sizing->amount = sizing->min_amount;
  sizing->unit_amount = sizing->unit_min_amount;
  weigh_amount(q, sizing);
  sizing->rule = sizing->amount <= sizing->min_need ? FT_DECIDED_BY_FLOOR : FT_DECIDED_BY_ESTIMATE;
  set_action(sizing, action, reason);
}

/* ---- the action ---- */

/* Leaves the request unchanged, by RULE. */
static void leave_by_rule(struct ft_sizing *sizing, ft_decision_rule rule, const char *reason)
{
  set_action(sizing, FT_ACTION_LEAVE, reason);
  sizing->rule = rule;
}

/* Returns the number of runs behind the estimate; of a cohort, runs submitted together such as the
 * tasks of a job array, COHORT_RUNS at most, because they are alike. */
static unsigned count_independent_runs(const struct ft_decision_input *q)
{
  unsigned cohorts = q->model ? ft_memory_cohorts(q->model) : q->estimate->runs;

  return cohorts < q->estimate->runs / COHORT_RUNS ? COHORT_RUNS * cohorts : q->estimate->runs;
}

/* Returns whether a comparable run was killed and fewer comparable runs completed since than show
 * that less memory suffices (estimate/facts.h): such a job gets no less than without foretell. */
static bool was_killed_lately(const struct ft_decision_input *q)
{
  const struct ft_facts *f = q->facts;

  return f && (f->lately_killed ||
               (f->comparable_killed &&
                f->comparable_bound_value >=
                    FT_QUANTITY_NEAR_LIMIT * FT_FACTS_KILLED_FACTOR * f->comparable_killed_value));
}

/* Returns whether the estimate is from enough of the user's own runs (trim_runs) to lower a
 * request. */
static bool may_lower(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  return sizing->has_estimate && !sizing->thin && !q->network && !q->pooled &&
         count_independent_runs(q) >= q->policy->trim_runs && !was_killed_lately(q);
}

/*
 * Requests the largest default of the merged partitions if the smallest is too small for the job;
 * used if a smaller amount than the largest default cannot be set. Returns whether it was
 * requested.
 */
static bool set_largest_default(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  uint64_t bytes = sizing->limit / FT_MIB * FT_MIB;

  if (!bytes || !q->merged.min_default_bytes || sizing->amount <= q->merged.min_default_bytes ||
      (sizing->max && bytes > sizing->max))
    return false;
  sizing->amount = sizing->unit_amount = bytes;
  weigh_amount(q, sizing);
  set_action(sizing, FT_ACTION_SET, "the default of one of its partitions is too small");
  return true;
}

/* Returns whether, with thin evidence, comparable runs completed within the limit with a margin,
 * none was killed, and no estimate gives a probability over FT_SIZING_LOW_MIN. The outer quantiles
 * of few runs are determined by priors and are no reason to exceed such a default. */
static bool did_comparable_runs_fit(const struct ft_decision_input *q,
                                    const struct ft_sizing *sizing)
{
  const struct ft_facts *f = q->facts;

  if (!sizing->thin || !f || q->network || !f->fewest_completed || f->comparable_killed ||
      (double)sizing->limit < sizing->floor)
    return false;
  return !sizing->has_estimate || job_exceeds(q, sizing->limit) <= FT_SIZING_LOW_MIN;
}

/* Returns whether an estimate from enough runs shows that the limit suffices. */
static bool is_limit_enough(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  return sizing->has_estimate && !sizing->thin && !q->network &&
         sizing->limit >= sizing->min_need &&
         job_exceeds(q, sizing->limit) <= q->policy->oom_probability;
}

/* Chooses the action if the user requests no memory and the mode may set it. */
static void set_unrequested(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  if (!sizing->enforced && !q->memory_is_consumable)
    set_action(sizing, FT_ACTION_LEAVE, "Slurm neither allocates nor limits memory here");
  else if (is_smaller_than_runs(q, sizing))
    leave_by_rule(sizing, FT_DECIDED_BY_DEFAULT, "the job is smaller than every recorded run");
  else if (sizing->limit && sizing->amount > sizing->limit && did_comparable_runs_fit(q, sizing))
    leave_by_rule(sizing, FT_DECIDED_BY_DEFAULT,
                  "comparable runs completed with the default memory");
  else if (sizing->limit && sizing->amount > sizing->limit && is_limit_enough(q, sizing))
    leave_by_rule(sizing, FT_DECIDED_BY_DEFAULT, "the default memory is enough");
  else if (sizing->limit && sizing->amount > sizing->limit && !sizing->explicit_mode &&
           (q->similar || (q->facts && q->facts->borrowed)))
    set_action(sizing, FT_ACTION_WARN, "the site's mode does not set memory from other apps' runs");
  else if (sizing->limit && sizing->amount > sizing->limit)
    set_action(sizing, FT_ACTION_SET, "no memory requested, and the default is too small");
  else if ((!may_lower(q, sizing) || !q->memory_is_consumable || ft_sizing_exclusive(q) ||
            sizing->amount == sizing->limit) &&
           set_largest_default(q, sizing))
    return;
  else if (sizing->limit && sizing->amount == sizing->limit)
    set_action(sizing, FT_ACTION_LEAVE, "the default memory is right");
  else if (!may_lower(q, sizing))
    leave_by_rule(sizing, FT_DECIDED_BY_DEFAULT,
                  was_killed_lately(q) ? "a comparable run was killed lately"
                                       : "too few runs to set less than the default");
  else if (!q->memory_is_consumable || ft_sizing_exclusive(q))
    leave_by_rule(sizing, FT_DECIDED_BY_DEFAULT, "a smaller request would free nothing");
  else if ((double)sizing->min_amount >= WORTH_LOWERING * (double)sizing->limit)
    leave_by_rule(sizing, FT_DECIDED_BY_DEFAULT, "it may need the default memory");
  else
    lower_request(q, sizing, FT_ACTION_SET, "no memory requested");
}

/* Leaves the request unchanged, with a warning if it is too low or too high. */
static void keep_request(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  if (sizing->too_low)
    set_action(sizing, FT_ACTION_WARN, "the limit is less than the likely need");
  else if (sizing->too_high && sizing->limit_kind != FT_LIMIT_DEFAULT)
    set_action(sizing, FT_ACTION_WARN, "the request is far above the need");
  else if (sizing->p_limit > FT_SIZING_LOW_MIN)
    set_action(sizing, FT_ACTION_LEAVE, "the limit may be too small, but the evidence is thin");
  else
    set_action(sizing, FT_ACTION_LEAVE,
               sizing->has_estimate && !sizing->thin ? "the limit is enough"
                                                     : "no evidence that the limit is too small");
  if (q->request->mem_unit != FT_MEM_NONE && sizing->rule != FT_DECIDED_BY_LEAK)
    sizing->rule = FT_DECIDED_BY_REQUEST;
}

/*
 * Keeps the default to which the job is left by the app's own runs, if memory is limited: an
 * administrator may have lowered it since the last poll of the learner.
 */
static void keep_default(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  if (sizing->action == FT_ACTION_LEAVE && sizing->enforced && !ft_sizing_is_borrowed(q))
    sizing->kept_default = sizing->default_request;
}

static bool changes_request(ft_action action)
{
  return action == FT_ACTION_SET || action == FT_ACTION_RAISE || action == FT_ACTION_TRIM;
}

/* Leaves the request unchanged if the chosen action would set an unsupported amount. */
static void withhold_unsupported(struct ft_sizing *sizing)
{
  if (!changes_request(sizing->action) || !sizing->unsupported)
    return;
  sizing->withheld = true;
  set_action(sizing, FT_ACTION_WARN,
             sizing->rule == FT_DECIDED_BY_LEAK ? "the app may leak memory"
             : sizing->capped                   ? "the partition allows less than the likely need"
                                                : "the runs support less than the likely need");
}

/* Chooses the action, without a rejection. */
static void choose_action(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  bool requested = q->request->mem_unit != FT_MEM_NONE;
  bool may_raise = (sizing->mode == FT_MODE_RAISE || sizing->mode == FT_MODE_TRIM) && !q->similar;

  if (sizing->mode == FT_MODE_CHECK) {
    keep_request(q, sizing);
  } else if (q->interactive) {
    leave_by_rule(sizing, FT_DECIDED_BY_NONE, "memory of interactive sessions is not set");
  } else if (!requested) {
    set_unrequested(q, sizing);
    keep_default(q, sizing);
  } else if (sizing->too_low && may_raise && sizing->amount > sizing->limit) {
    set_action(sizing, FT_ACTION_RAISE, "the request is too small");
  } else if (sizing->too_high && sizing->mode == FT_MODE_TRIM && may_lower(q, sizing)) {
    lower_request(q, sizing, FT_ACTION_TRIM, "the request is far above the need");
  } else {
    keep_request(q, sizing);
  }
  withhold_unsupported(sizing);
  if (sizing->action == FT_ACTION_LEAVE && sizing->no_node_fits)
    set_action(sizing, FT_ACTION_WARN, "no node of the partition is large enough");
  else if (sizing->action == FT_ACTION_LEAVE && sizing->too_low && !q->interactive)
    set_action(sizing, FT_ACTION_WARN, "the limit is less than the likely need");
  else if (sizing->action == FT_ACTION_LEAVE && q->facts && q->facts->lately_step_limited)
    set_action(sizing, FT_ACTION_WARN, "a step or a container was killed at its own memory limit");
}

/* Sets the limit to the smallest default of the merged partitions: without a request the job gets
 * the default of the partition in which it starts. Returns false if all defaults are equal or there
 * is a request. */
static bool use_smallest_default(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  if (!q->merged.min_default_bytes || q->request->mem_unit != FT_MEM_NONE)
    return false;
  sizing->limit = q->merged.min_default_bytes;
  sizing->limit_kind = FT_LIMIT_DEFAULT;
  sizing->limit_partition = q->merged.min_default_partition;
  return true;
}

/* Compares the limit with the amount and chooses the action. */
static void size_by_mode(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  if (sizing->mode == FT_MODE_CHECK || sizing->mode == FT_MODE_OFF)
    (void)use_smallest_default(q, sizing);
  compare_with_limit(q, sizing);
  if (sizing->mode == FT_MODE_OFF)
    return;
  choose_action(q, sizing);
  if (changes_request(sizing->action) || sizing->limit_partition ||
      !use_smallest_default(q, sizing))
    return;
  compare_with_limit(q, sizing);
  if (sizing->too_low)
    set_action(sizing, FT_ACTION_WARN, "the default of one of its partitions is too small");
}

/* Returns whether the app's own runs show that the job would run out of memory: comparable runs
 * completed, and all used more. */
static bool is_shown_to_fail(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  return q->facts && !sizing->thin && !q->network && !q->interactive &&
         (double)sizing->oom_bytes < q->facts->comparable_min_value;
}

/* Sets p_oom and oom_bytes, and rejects the job if the policy requires it. Also the modes off and
 * check reject: modes restrict changes, not rejections. */
static void apply_rejection(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  sizing->p_oom = changes_request(sizing->action) ? sizing->p_amount : sizing->p_limit;
  sizing->oom_bytes = changes_request(sizing->action) ? sizing->amount : sizing->limit;
  if (!(q->policy->reject_probability > 0) || !(sizing->p_oom > q->policy->reject_probability) ||
      !is_shown_to_fail(q, sizing) || (q->cannot_reject && sizing->mode == FT_MODE_OFF))
    return;
  sizing->overrides = sizing->mode == FT_MODE_FORCE && q->policy->force && !q->cannot_reject;
  set_action(sizing, q->cannot_reject || sizing->overrides ? FT_ACTION_WARN : FT_ACTION_REJECT,
             "it would run out of memory");
}

/* Leaves the limit of an app that sizes itself by it. Returns false if a comparable run was killed
 * at as much; the amount is then the limit under which the last run completed, if it is known. */
static bool keep_limit(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  double killed = q->facts ? q->facts->comparable_killed_value : 0;

  if (killed > 0 && sizing->limit && FT_QUANTITY_NEAR_LIMIT * (double)sizing->limit <= killed) {
    ft_sizing_use_completed_limit(q, sizing);
    return false;
  }
  sizing->keeps_limit = sizing->mode != FT_MODE_OFF;
  if (sizing->keeps_limit)
    leave_by_rule(
        sizing, q->request->mem_unit == FT_MEM_NONE ? FT_DECIDED_BY_DEFAULT : FT_DECIDED_BY_REQUEST,
        "the program sizes itself by the memory of the job");
  return true;
}

void ft_sizing_init(const struct ft_decision_input *q, uint64_t step, struct ft_sizing *sizing)
{
  *sizing = (struct ft_sizing){ .mode = q->mode,
                                .explicit_mode = true,
                                .step = step,
                                .lower_times = 1,
                                .p_limit = -1,
                                .p_amount = -1,
                                .p_oom = -1 };
  if (sizing->mode == FT_MODE_UNSET) {
    sizing->mode = q->policy->mode;
    sizing->explicit_mode = false;
  }
  if (sizing->mode == FT_MODE_UNSET)
    sizing->mode = FT_MODE_OFF;
}

void ft_sizing_make(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  struct ft_nodes n = ft_sizing_nodes(q);

  ft_sizing_init(q, FT_MIB, sizing);
  sizing->lower_times = LOWER_TIMES;
  sizing->enforced = q->rule != FT_RULE_NONE;
  ft_sizing_find_limit(q, sizing, &n);
  ft_sizing_find_max(q, sizing, &n);
  ft_sizing_apply_rules(q, sizing);
}

void ft_sizing_apply_rules(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  const struct ft_estimate *e = q->estimate;

  ft_sizing_weigh_evidence(q, sizing);
  if (sizing->mode == FT_MODE_OFF)
    set_action(sizing, FT_ACTION_LEAVE, "mode off");
  else if (!sizing->has_evidence)
    set_action(sizing, FT_ACTION_LEAVE,
               e ? "too few recorded runs" : "no recorded run of this app");
  if (!sizing->has_evidence)
    return;
  ft_sizing_find_amount(q, sizing);
  if (ft_sizing_follows_limit(q) && keep_limit(q, sizing))
    return;
  size_by_mode(q, sizing);
  apply_rejection(q, sizing);
}

/* ---- job arrays ---- */

/*
 * Returns the mean over COUNT tasks of log(1 - p), where p is a task's probability of exceeding its
 * memory, given the value FACTOR of the common factor. SHARED is the fraction of the variance due
 * to the common factor; SCORES are the normal scores of the tasks' unconditional probabilities.
 */
static double log_p_no_task(const double *scores, size_t count, double shared, double factor)
{
  double deviation = sqrt(fmax(1 - shared, 1e-9)), none = 0;

  for (size_t i = 0; i < count; i++)
    none += log1p(
        -clamp_probability(ft_normal_probability((scores[i] + sqrt(shared) * factor) / deviation)));
  return none / (double)count;
}

double ft_sizing_p_any_task(const struct ft_decision_input *q, uint64_t bytes)
{
  const struct ft_array_estimates *e = q->tasks;
  double tasks = q->request->array_tasks > 1 ? q->request->array_tasks : 1, any = 0, worst = 0;
  double scores[FT_ARRAY_ESTIMATES], shared = fmin(fmax(q->estimate->shared, 0), 1);
  size_t count = e ? e->count : 1;

  for (size_t i = 0; i < count; i++) {
    double p = clamp_probability(ft_estimate_exceeds(e ? &e->each[i] : q->estimate, (double)bytes));

    scores[i] = ft_normal_quantile(p);
    worst = fmax(worst, p);
  }
  if (!(shared > 0))
    return -expm1(tasks * log_p_no_task(scores, count, 0, 0));
  for (double z = -SHARED_FACTOR_MAX; z <= SHARED_FACTOR_MAX; z += SHARED_FACTOR_STEP)
    any -= SHARED_FACTOR_STEP * exp(-0.5 * z * z) / sqrt(2 * M_PI) *
           expm1(tasks * log_p_no_task(scores, count, shared, z));
  return fmin(fmax(any, worst), 1 - MIN_PROBABILITY);
}
