/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is done about the memory of a job: its limit against what it should have. */
#include "config.h"

#include <math.h>

#include "predictor/core/units.h"
#include "predictor/decide/sizing.h"
#include "predictor/learn/distribution.h"

/* A limit is too low where the chance to run out is over twice the one aimed at, and over 5 %. */
#define LOW_TIMES 2
#define LOW_LEAST 0.05
/* By thin evidence. */
#define LOW_THIN 0.5
/* No evidence is certainty. */
#define SURE 1e-6
/* The factor that the tasks of an array share is integrated over in these standard deviations. */
#define FACTOR_MOST 5.0
#define FACTOR_STEP 0.25

/* ---- what it should have ---- */

static double sure(double p)
{
  return fmin(fmax(p, SURE), 1 - SURE);
}

/* The chance that a run needs more than BYTES: of a job array's elements the worst one's. */
static double exceeds(const struct ft_decision_input *q, uint64_t bytes)
{
  double worst = ft_estimate_exceeds(q->estimate, (double)bytes);

  for (size_t i = 0; q->elements && i < q->elements->count; i++)
    worst = fmax(worst, ft_estimate_exceeds(&q->elements->each[i], (double)bytes));
  return worst;
}

static void act(struct ft_sizing *sizing, ft_action action, const char *reason)
{
  sizing->action = action;
  sizing->reason = reason;
}

static double chance(const struct ft_decision_input *q, const struct ft_sizing *sizing,
                     uint64_t bytes)
{
  if (!sizing->enforced || !sizing->has_estimate || !bytes)
    return -1;
  return sure(exceeds(q, bytes));
}

size_t ft_decide_largest(const struct ft_array_estimates *elements, const ft_policy *policy)
{
  size_t largest = 0;

  for (size_t i = 1; i < elements->count; i++)
    if (ft_sizing_need(&elements->each[i], policy) >
        ft_sizing_need(&elements->each[largest], policy))
      largest = i;
  return largest;
}

/* Whether nothing says that the job, which has less of all that matters than any run, needs more than
 * it has. */
static bool has_less(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  return sizing->thin && q->facts && q->facts->less && !q->network;
}

bool ft_sizing_is_too_low(const struct ft_sizing *sizing, const ft_policy *policy, bool less,
                          double limit, double p)
{
  double most = sizing->thin ? LOW_THIN : fmax(LOW_LEAST, LOW_TIMES * policy->oom_probability);

  return limit < (double)sizing->shown || (sizing->rule != FT_DECIDED_BY_LEAK && !less && p > most);
}

static bool is_too_low(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  if (!sizing->limit || !(sizing->enforced || q->memory_is_consumable))
    return false;
  return ft_sizing_is_too_low(sizing, q->policy, has_less(q, sizing), (double)sizing->limit,
                              sizing->has_estimate ? exceeds(q, sizing->limit) : -1);
}

static void judge_limit(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  double factor = fmax(q->policy->trim_factor, 1);

  sizing->p_limit = chance(q, sizing, sizing->limit);
  sizing->p_amount = chance(q, sizing, sizing->amount);
  sizing->too_low = is_too_low(q, sizing);
  sizing->too_high = sizing->has_estimate && !sizing->thin && sizing->limit &&
                     q->memory_is_consumable && !ft_sizing_exclusive(q) &&
                     (double)sizing->limit > factor * (double)sizing->min_amount;
}

/* The job is given less than it would have had: what is enough all but surely. */
static void lower(const struct ft_decision_input *q, struct ft_sizing *sizing, ft_action action,
                  const char *reason)
{
  sizing->amount = sizing->min_amount;
  sizing->unit_amount = sizing->unit_min_amount;
  sizing->p_amount = chance(q, sizing, sizing->amount);
  sizing->rule = sizing->amount <= sizing->shown ? FT_DECIDED_BY_FLOOR : FT_DECIDED_BY_ESTIMATE;
  act(sizing, action, reason);
}

/* ---- what is done ---- */

/* What the job has anyway stands, by RULE. */
static void stay_with(struct ft_sizing *sizing, ft_decision_rule rule, const char *reason)
{
  act(sizing, FT_ACTION_LEAVE, reason);
  sizing->rule = rule;
}

/* Whether enough of its own runs stand behind the estimate. */
static bool may_lower(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  return sizing->has_estimate && !sizing->thin && !q->network && !q->pooled &&
         q->estimate->runs >= q->policy->trim_runs;
}

/*
 * Some of the job's partitions would give it too little, others more than so few runs may take
 * from it: what the most generous one gives is right in all.
 */
static bool set_as_most_give(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  uint64_t bytes = sizing->limit / FT_MIB * FT_MIB;

  if (!bytes || !q->merged.min_default_bytes || sizing->amount <= q->merged.min_default_bytes ||
      (sizing->max && bytes > sizing->max))
    return false;
  sizing->amount = sizing->unit_amount = bytes;
  sizing->p_amount = chance(q, sizing, bytes);
  act(sizing, FT_ACTION_SET, "not all of its partitions would have given it enough");
  return true;
}

/* Whether the job's own runs say that it all but surely has enough. */
static bool is_enough(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  return sizing->has_estimate && !sizing->thin && !q->network && sizing->limit >= sizing->shown &&
         exceeds(q, sizing->limit) <= q->policy->oom_probability;
}

/* Nothing was asked for and the mode may set. */
static void set_memory(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  if (!sizing->enforced && !q->memory_is_consumable)
    act(sizing, FT_ACTION_LEAVE, "memory is neither allocated nor enforced here");
  else if (has_less(q, sizing))
    stay_with(sizing, FT_DECIDED_BY_DEFAULT, "it has less than every run of it that is known");
  else if (sizing->limit && sizing->amount > sizing->limit && is_enough(q, sizing))
    stay_with(sizing, FT_DECIDED_BY_DEFAULT, "what it gets without asking is enough");
  else if (sizing->limit && sizing->amount > sizing->limit && !sizing->explicit_mode &&
           (q->similar || (q->facts && q->facts->borrowed)))
    act(sizing, FT_ACTION_WARN, "the site's mode does not set what only others have needed");
  else if (sizing->limit && sizing->amount > sizing->limit)
    act(sizing, FT_ACTION_SET, "no memory was asked for and it would have got too little");
  else if ((!may_lower(q, sizing) || !q->memory_is_consumable || ft_sizing_exclusive(q) ||
            sizing->amount == sizing->limit) &&
           set_as_most_give(q, sizing))
    return;
  else if (sizing->limit && sizing->amount == sizing->limit)
    act(sizing, FT_ACTION_LEAVE, "what it gets without asking is right");
  else if (!may_lower(q, sizing))
    stay_with(sizing, FT_DECIDED_BY_DEFAULT, "too few runs to give it less than it would have got");
  else if (!q->memory_is_consumable || ft_sizing_exclusive(q))
    stay_with(sizing, FT_DECIDED_BY_DEFAULT, "asking for less would free nothing");
  else if (sizing->min_amount >= sizing->limit)
    stay_with(sizing, FT_DECIDED_BY_DEFAULT, "it may need what it gets without asking");
  else
    lower(q, sizing, FT_ACTION_SET, "no memory was asked for");
}

static void keep_request(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  if (sizing->too_low)
    act(sizing, FT_ACTION_WARN, "it has less memory than it is likely to need");
  else if (sizing->too_high && sizing->limit_kind != FT_LIMIT_DEFAULT)
    act(sizing, FT_ACTION_WARN, "it has far more memory than it needs");
  else if (sizing->p_limit > LOW_LEAST)
    act(sizing, FT_ACTION_LEAVE, "it may need more than it has, by too little evidence to act on");
  else
    act(sizing, FT_ACTION_LEAVE,
        sizing->has_estimate && !sizing->thin ? "it has enough memory"
                                              : "nothing known says that it has too little");
  if (q->request->mem_unit != FT_MEM_NONE && sizing->rule != FT_DECIDED_BY_LEAK)
    sizing->rule = FT_DECIDED_BY_REQUEST;
}

static void choose(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  bool asked = q->request->mem_unit != FT_MEM_NONE;
  bool may_raise = (sizing->mode == FT_MODE_RAISE || sizing->mode == FT_MODE_TRIM) && !q->similar;

  if (sizing->mode == FT_MODE_CHECK)
    keep_request(q, sizing);
  else if (q->interactive)
    stay_with(sizing, FT_DECIDED_BY_NONE, "an interactive session is not set from history");
  else if (!asked)
    set_memory(q, sizing);
  else if (sizing->too_low && may_raise && sizing->amount > sizing->limit)
    act(sizing, FT_ACTION_RAISE, "what was asked for is too little");
  else if (sizing->too_high && sizing->mode == FT_MODE_TRIM && may_lower(q, sizing))
    lower(q, sizing, FT_ACTION_TRIM, "far more was asked for than it needs");
  else
    keep_request(q, sizing);
  if (sizing->action == FT_ACTION_LEAVE && sizing->no_node_fits)
    act(sizing, FT_ACTION_WARN, "no node of the partition is large enough");
  else if (sizing->action == FT_ACTION_LEAVE && sizing->too_low && !q->interactive)
    act(sizing, FT_ACTION_WARN, "it has less memory than it is likely to need");
  else if (sizing->action == FT_ACTION_LEAVE && q->facts && q->facts->lately_step_limited)
    act(sizing, FT_ACTION_WARN, "a step of it was killed at a limit of its own");
}

static bool changes(ft_action action)
{
  return action == FT_ACTION_SET || action == FT_ACTION_RAISE || action == FT_ACTION_TRIM;
}

/* Without a figure of its own the job has what the partition gives where it starts: at the least
 * this. */
static bool take_least(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  if (!q->merged.min_default_bytes || q->request->mem_unit != FT_MEM_NONE)
    return false;
  sizing->limit = q->merged.min_default_bytes;
  sizing->limit_kind = FT_LIMIT_DEFAULT;
  sizing->limit_partition = q->merged.min_default_partition;
  return true;
}

static void judge(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  if (sizing->mode == FT_MODE_CHECK || sizing->mode == FT_MODE_OFF)
    (void)take_least(q, sizing);
  judge_limit(q, sizing);
  if (sizing->mode == FT_MODE_OFF)
    return;
  choose(q, sizing);
  if (changes(sizing->action) || sizing->limit_partition || !take_least(q, sizing))
    return;
  judge_limit(q, sizing);
  if (sizing->too_low)
    act(sizing, FT_ACTION_WARN, "not all of its partitions would give it enough");
}

/*
 * Whether the job's own runs show that it would run out of memory: a rejection needs completed runs
 * that are comparable to it, every one of which used more than it would have.
 */
static bool is_shown_to_fail(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  return q->facts && !sizing->thin && !q->network && !q->interactive &&
         (double)sizing->oom_bytes < q->facts->like_sure_bytes;
}

/* Under every mode alike: what foretell may change is another question. */
static void perhaps_reject(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  sizing->p_oom = changes(sizing->action) ? sizing->p_amount : sizing->p_limit;
  sizing->oom_bytes = changes(sizing->action) ? sizing->amount : sizing->limit;
  if (!(q->policy->reject_probability > 0) || !(sizing->p_oom > q->policy->reject_probability) ||
      !is_shown_to_fail(q, sizing) || (q->cannot_reject && sizing->mode == FT_MODE_OFF))
    return;
  sizing->overrides = sizing->mode == FT_MODE_FORCE && q->policy->force && !q->cannot_reject;
  act(sizing, q->cannot_reject || sizing->overrides ? FT_ACTION_WARN : FT_ACTION_REJECT,
      "it would run out of memory");
}

void ft_sizing_make(const struct ft_decision_input *q, struct ft_sizing *sizing)
{
  const struct ft_estimate *e = q->estimate;
  struct ft_nodes n = ft_sizing_nodes(q);

  *sizing = (struct ft_sizing){
    .mode = q->mode, .explicit_mode = true, .p_limit = -1, .p_amount = -1, .p_oom = -1
  };
  if (sizing->mode == FT_MODE_UNSET) {
    sizing->mode = q->policy->mode;
    sizing->explicit_mode = false;
  }
  if (sizing->mode == FT_MODE_UNSET)
    sizing->mode = FT_MODE_OFF;
  sizing->enforced = q->rule != FT_RULE_NONE;
  ft_sizing_find_limit(q, sizing, &n);
  ft_sizing_find_max(q, sizing, &n);
  ft_sizing_weigh_evidence(q, sizing);
  if (sizing->mode == FT_MODE_OFF)
    act(sizing, FT_ACTION_LEAVE, "nothing is done in mode off");
  else if (!sizing->has_evidence)
    act(sizing, FT_ACTION_LEAVE, e ? "too few runs are known" : "nothing is known of this app");
  if (!sizing->has_evidence)
    return;
  ft_sizing_find_amount(q, sizing);
  judge(q, sizing);
  perhaps_reject(q, sizing);
}

/* ---- job arrays ---- */

/* The logarithm of the probability that no task exceeds its memory where the factor that all tasks
 * share, SHARED of their variance, stands at FACTOR; SCORES are the normal scores of each one's
 * probability to exceed it. */
static double log_none(const double *scores, size_t count, double shared, double factor)
{
  double own = sqrt(fmax(1 - shared, 1e-9)), none = 0;

  for (size_t i = 0; i < count; i++)
    none += log1p(-sure(ft_normal_probability((scores[i] + sqrt(shared) * factor) / own)));
  return none / (double)count;
}

double ft_sizing_p_any_task(const struct ft_decision_input *q, uint64_t bytes)
{
  const struct ft_array_estimates *e = q->elements;
  double tasks = q->request->array_tasks > 1 ? q->request->array_tasks : 1, any = 0, worst = 0;
  double scores[FT_ARRAY_ESTIMATES], shared = fmin(fmax(q->estimate->shared, 0), 1);
  size_t count = e ? e->count : 1;

  for (size_t i = 0; i < count; i++) {
    double p = sure(ft_estimate_exceeds(e ? &e->each[i] : q->estimate, (double)bytes));

    scores[i] = ft_normal_quantile(p);
    worst = fmax(worst, p);
  }
  if (!(shared > 0))
    return -expm1(tasks * log_none(scores, count, 0, 0));
  for (double z = -FACTOR_MOST; z <= FACTOR_MOST; z += FACTOR_STEP)
    any -= FACTOR_STEP * exp(-0.5 * z * z) / sqrt(2 * M_PI) *
           expm1(tasks * log_none(scores, count, shared, z));
  return fmin(fmax(any, worst), 1 - SURE);
}
