/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/core/units.h"
#include "predictor/decide/constraint.h"
#include "predictor/decide/plan.h"

/* Above what a job died at: at least this much, before rounding; half as much again while nothing
 * else is known. */
#define BOUND_MARGIN 1.2
#define BOUND_GROWTH 1.5
/* A limit is too low where the chance to run out is over twice the one aimed at, and over 5 %. */
#define LOW_TIMES 2
#define LOW_LEAST 0.05
/* By what similar apps need. */
#define LOW_SIMILAR 0.5
/* No evidence is certainty. */
#define SURE 1e-6

/* ---- the nodes of the job ---- */

struct nodes {
  uint64_t cpus;                    /* allocated on the least favourable node */
  uint64_t least_bytes, most_bytes; /* of those that have as many CPUs; 0: not known */
};

static uint64_t times(uint64_t a, uint64_t b)
{
  return a && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

static uint64_t largest_cpus(const ft_partition *partition)
{
  uint64_t most = 0;

  for (size_t i = 0; partition && i < partition->nodes_count; i++)
    if (partition->nodes[i].cpus > most)
      most = partition->nodes[i].cpus;
  return most;
}

uint64_t ft_plan_cpus_of_gpus(const ft_request *r, const ft_partition *partition)
{
  uint64_t each = r->cpus_per_gpu;

  if (!each && !r->cpus_per_task && partition)
    each = partition->def_cpus_per_gpu;
  return each * r->gpus_per_node;
}

/*
 * Tasks are spread over the nodes asked for; where none are, Slurm fills as
 * few nodes as it can. The least favourable one has the fewest.
 */
uint64_t ft_plan_cpus_on_node(const ft_request *r, const ft_partition *partition,
                              uint64_t node_cpus)
{
  uint64_t cpus = r->cpus_per_task ? r->cpus_per_task : 1, nodes = r->nodes ? r->nodes : 1;
  uint64_t tasks = r->tasks, fit = node_cpus / cpus;
  uint64_t of_gpus = ft_plan_cpus_of_gpus(r, partition);

  if (!tasks)
    tasks = r->tasks_per_node ? r->tasks_per_node * nodes : nodes;
  if (r->tasks_per_node && nodes < (tasks + r->tasks_per_node - 1) / r->tasks_per_node)
    nodes = (tasks + r->tasks_per_node - 1) / r->tasks_per_node;
  if (fit && nodes < (tasks + fit - 1) / fit)
    nodes = (tasks + fit - 1) / fit;
  cpus *= tasks > nodes ? tasks / nodes : 1;
  return cpus > of_gpus ? cpus : of_gpus;
}

static bool exclusive(const struct ft_question *q)
{
  return q->request->exclusive || (q->partition && q->partition->exclusive);
}

static struct nodes nodes_of(const struct ft_question *q)
{
  struct nodes n = { .cpus = ft_plan_cpus_on_node(q->request, q->partition,
                                                  largest_cpus(q->partition)) };
  uint64_t whole = 0;

  for (int pass = 0; pass < 2 && q->partition && !n.most_bytes; pass++)
    for (size_t i = 0; i < q->partition->nodes_count; i++) {
      const ft_node_kind *kind = &q->partition->nodes[i];

      /* where no node has as many CPUs, and what --constraint asks for, all count: Slurm says so */
      if (!kind->mem_bytes || (pass == 0 && ((kind->cpus && kind->cpus < n.cpus) ||
                                             !ft_constraint_allows(q->request->constraint, kind))))
        continue;
      if (!n.least_bytes || kind->mem_bytes < n.least_bytes)
        n.least_bytes = kind->mem_bytes;
      if (kind->mem_bytes > n.most_bytes)
        n.most_bytes = kind->mem_bytes;
      if (kind->cpus && (!whole || kind->cpus < whole))
        whole = kind->cpus;
    }
  if (exclusive(q) && whole > n.cpus)
    n.cpus = whole;
  return n;
}

/* ---- what it has without foretell ---- */

static void whole_node(struct ft_plan *plan, const struct nodes *n)
{
  plan->limit = n->least_bytes;
  plan->limit_kind = n->least_bytes ? FT_LIMIT_WHOLE_NODE : FT_LIMIT_UNKNOWN;
}

static void default_limit(const struct ft_question *q, struct ft_plan *plan, const struct nodes *n)
{
  const ft_partition *p = q->partition;

  if (!p)
    return;
  if (p->def_mem_per_gpu_bytes && q->request->gpus_per_node && q->memory_is_consumable) {
    /* before any other default (gres_select_util_job_mem_set); all GPUs of a node of its own */
    if (exclusive(q)) {
      whole_node(plan, n);
      return;
    }
    plan->limit = times(p->def_mem_per_gpu_bytes, q->request->gpus_per_node);
    plan->limit_kind = FT_LIMIT_DEFAULT;
  } else if (p->def_mem_bytes) {
    plan->limit = times(p->def_mem_bytes, p->def_per_cpu ? n->cpus : 1);
    plan->limit_kind = FT_LIMIT_DEFAULT;
  } else if (q->memory_is_consumable) {
    whole_node(plan, n);
  } else {
    plan->limit_kind = FT_LIMIT_NONE;
  }
}

uint64_t ft_plan_default(const ft_request *request, const ft_partition *partition,
                         bool memory_is_consumable)
{
  struct ft_question q = { .request = request,
                           .partition = partition,
                           .memory_is_consumable = memory_is_consumable };
  struct nodes n = nodes_of(&q);
  struct ft_plan plan = { 0 };

  default_limit(&q, &plan, &n);
  return plan.limit;
}

uint64_t ft_plan_most(const ft_request *request, const ft_partition *partition)
{
  struct ft_question q = { .request = request, .partition = partition };
  struct nodes n = nodes_of(&q);

  return times(partition->max_mem_bytes, partition->max_per_cpu ? n.cpus : 1);
}

static void find_limit(const struct ft_question *q, struct ft_plan *plan, const struct nodes *n)
{
  const ft_request *r = q->request;

  plan->unit = FT_MEM_NODE;
  plan->per_node = 1;
  if (r->mem_unit == FT_MEM_NONE) {
    default_limit(q, plan, n);
    return;
  }
  if (r->mem_unit == FT_MEM_ALL || !r->mem_bytes) {
    whole_node(plan, n);
    return;
  }
  plan->unit = r->mem_unit;
  if (r->mem_unit == FT_MEM_CPU)
    plan->per_node = n->cpus;
  else if (r->mem_unit == FT_MEM_GPU)
    plan->per_node = r->gpus_per_node ? r->gpus_per_node : 1;
  plan->limit = times(r->mem_bytes, plan->per_node);
  plan->limit_kind = FT_LIMIT_ASKED;
}

static void find_most(const struct ft_question *q, struct ft_plan *plan, const struct nodes *n)
{
  const ft_partition *p = q->partition;
  uint64_t most;

  plan->node_most = plan->most = n->most_bytes;
  if (!p || !p->max_mem_bytes)
    return;
  most = times(p->max_mem_bytes, p->max_per_cpu ? n->cpus : 1);
  if (!plan->most || most < plan->most)
    plan->most = most;
}

/* ---- what it should have ---- */

static double sure(double p)
{
  return fmin(fmax(p, SURE), 1 - SURE);
}

/* The chance that a run needs more than BYTES: of a job array's elements the worst one's. */
static double exceeds(const struct ft_question *q, uint64_t bytes)
{
  double worst = ft_estimate_exceeds(q->estimate, (double)bytes);

  for (size_t i = 0; q->elements && i < q->elements->count; i++)
    worst = fmax(worst, ft_estimate_exceeds(&q->elements->each[i], (double)bytes));
  return worst;
}

static double chance(const struct ft_question *q, const struct ft_plan *plan, uint64_t bytes)
{
  if (!plan->kills || plan->by_bound || !bytes)
    return -1;
  return sure(exceeds(q, bytes));
}

static double target(const ft_policy *policy)
{
  double p = policy->oom_probability;

  /* what is proposed must not be refused */
  if (policy->reject_probability > 0)
    p = fmin(p, policy->reject_probability);
  return fmin(fmax(p, SURE), 0.5);
}

static uint64_t rounded_up(double bytes, uint64_t to)
{
  if (!to)
    to = FT_MIB;
  if (!(bytes < 0x1p60))
    return UINT64_C(1) << 60;
  return times((uint64_t)ceil(bytes / (double)to), to);
}

static bool by_bound(const struct ft_estimate *e, const ft_policy *policy)
{
  return e->runs < policy->min_runs && e->bound_bytes > 0;
}

static double need_of(const struct ft_estimate *e, const ft_policy *policy)
{
  double need = by_bound(e, policy)
                    ? e->bound_bytes * BOUND_GROWTH
                    : fmax(ft_estimate_quantile(e, 1 - target(policy)), e->allocation_bytes);

  return fmax(need, e->bound_bytes * BOUND_MARGIN);
}

size_t ft_decide_largest(const struct ft_element_estimates *elements, const ft_policy *policy)
{
  size_t largest = 0;

  for (size_t i = 1; i < elements->count; i++)
    if (need_of(&elements->each[i], policy) > need_of(&elements->each[largest], policy))
      largest = i;
  return largest;
}

static void find_amount(const struct ft_question *q, struct ft_plan *plan)
{
  const struct ft_estimate *e = q->estimate;
  double need = need_of(e, q->policy);

  need = fmax(need, (double)q->policy->floor_bytes);
  plan->amount = rounded_up(need, q->policy->round_bytes);
  if (plan->most && plan->amount > plan->most) {
    plan->capped = (double)plan->most < need;
    plan->amount = plan->most / FT_MIB * FT_MIB;
  }
  plan->unit_amount = plan->amount;
  if (plan->per_node > 1) {
    plan->unit_amount = rounded_up((double)plan->amount / (double)plan->per_node, FT_MIB);
    if (plan->most && plan->unit_amount > plan->most / plan->per_node)
      plan->unit_amount = plan->most / plan->per_node / FT_MIB * FT_MIB;
    plan->amount = times(plan->unit_amount, plan->per_node);
  }
  plan->no_node =
      !plan->by_bound && plan->node_most && ft_estimate_exceeds(e, (double)plan->node_most) > 0.5;
}

static void judge_limit(const struct ft_question *q, struct ft_plan *plan)
{
  const ft_policy *policy = q->policy;
  double factor = fmax(policy->trim_factor, 1);

  plan->p_limit = chance(q, plan, plan->limit);
  plan->p_amount = chance(q, plan, plan->amount);
  if (!plan->limit || !(plan->kills || q->memory_is_consumable))
    plan->too_low = false;
  else if (plan->by_bound)
    plan->too_low = (double)plan->limit < q->estimate->bound_bytes * BOUND_MARGIN;
  else
    plan->too_low =
        exceeds(q, plan->limit) >
        (q->similar ? LOW_SIMILAR : fmax(LOW_LEAST, LOW_TIMES * policy->oom_probability));
  plan->too_high = !plan->by_bound && !q->similar && plan->limit && q->memory_is_consumable &&
                   !exclusive(q) && (double)plan->limit > factor * (double)plan->amount;
}

/* ---- what is done ---- */

static void act(struct ft_plan *plan, ft_action action, const char *reason)
{
  plan->action = action;
  plan->reason = reason;
}

/* Whether enough of its own runs stand behind the estimate. */
static bool may_lower(const struct ft_question *q)
{
  return !q->imported_from && !q->network && !q->similar &&
         q->estimate->runs >= q->policy->trim_runs;
}

/*
 * Some of the job's partitions would give it too little, others more than so few runs may take
 * from it: what the most generous one gives is right in all.
 */
static bool set_as_most_give(const struct ft_question *q, struct ft_plan *plan)
{
  uint64_t bytes = plan->limit / FT_MIB * FT_MIB;

  if (!bytes || !q->joined.least_default_bytes || plan->amount <= q->joined.least_default_bytes ||
      (plan->most && bytes > plan->most))
    return false;
  plan->amount = plan->unit_amount = bytes;
  plan->p_amount = chance(q, plan, bytes);
  act(plan, FT_ACTION_SET, "not all of its partitions would have given it enough");
  return true;
}

/* Nothing was asked for and the mode may set. */
static void set_memory(const struct ft_question *q, struct ft_plan *plan)
{
  if (!plan->kills && !q->memory_is_consumable)
    act(plan, FT_ACTION_LEAVE, "memory is neither allocated nor enforced here");
  else if (plan->limit && plan->amount > plan->limit)
    act(plan, FT_ACTION_SET, "no memory was asked for and it would have got too little");
  else if ((plan->by_bound || !may_lower(q) || !q->memory_is_consumable || exclusive(q) ||
            plan->amount == plan->limit) &&
           set_as_most_give(q, plan))
    return;
  else if (plan->limit && plan->amount == plan->limit)
    act(plan, FT_ACTION_LEAVE, "what it gets without asking is right");
  else if (plan->by_bound || !may_lower(q))
    act(plan, FT_ACTION_LEAVE, "too few runs to give it less than it would have got");
  else if (!q->memory_is_consumable || exclusive(q))
    act(plan, FT_ACTION_LEAVE, "asking for less would free nothing");
  else
    act(plan, FT_ACTION_SET, "no memory was asked for");
}

static void keep_request(struct ft_plan *plan)
{
  if (plan->too_low)
    act(plan, FT_ACTION_WARN, "it has less memory than it is likely to need");
  else if (plan->too_high && plan->limit_kind != FT_LIMIT_DEFAULT)
    act(plan, FT_ACTION_WARN, "it has far more memory than it needs");
  else
    act(plan, FT_ACTION_LEAVE, "it has enough memory");
}

static void choose(const struct ft_question *q, struct ft_plan *plan)
{
  bool asked = q->request->mem_unit != FT_MEM_NONE;
  bool may_raise = (plan->mode == FT_MODE_RAISE || plan->mode == FT_MODE_TRIM) && !q->similar;

  if (plan->mode == FT_MODE_CHECK)
    keep_request(plan);
  else if (!asked)
    set_memory(q, plan);
  else if (plan->too_low && may_raise && plan->amount > plan->limit)
    act(plan, FT_ACTION_RAISE, "what was asked for is too little");
  else if (plan->too_high && plan->mode == FT_MODE_TRIM && may_lower(q))
    act(plan, FT_ACTION_TRIM, "far more was asked for than it needs");
  else
    keep_request(plan);
  if (plan->action == FT_ACTION_LEAVE && plan->no_node)
    act(plan, FT_ACTION_WARN, "no node of the partition is large enough");
  else if (plan->action == FT_ACTION_LEAVE && plan->too_low)
    act(plan, FT_ACTION_WARN, "it has less memory than it is likely to need");
}

static bool changes(ft_action action)
{
  return action == FT_ACTION_SET || action == FT_ACTION_RAISE || action == FT_ACTION_TRIM;
}

/* Without a figure of its own the job has what the partition gives where it starts: at the least
 * this. */
static bool take_least(const struct ft_question *q, struct ft_plan *plan)
{
  if (!q->joined.least_default_bytes || q->request->mem_unit != FT_MEM_NONE)
    return false;
  plan->limit = q->joined.least_default_bytes;
  plan->limit_kind = FT_LIMIT_DEFAULT;
  plan->limit_of = q->joined.least;
  return true;
}

static void judge(const struct ft_question *q, struct ft_plan *plan)
{
  if (plan->mode == FT_MODE_CHECK)
    (void)take_least(q, plan);
  judge_limit(q, plan);
  choose(q, plan);
  if (changes(plan->action) || plan->limit_of || !take_least(q, plan))
    return;
  judge_limit(q, plan);
  if (plan->too_low)
    act(plan, FT_ACTION_WARN, "not all of its partitions would give it enough");
}

static void perhaps_reject(const struct ft_question *q, struct ft_plan *plan)
{
  plan->p_oom = changes(plan->action) ? plan->p_amount : plan->p_limit;
  plan->oom_bytes = changes(plan->action) ? plan->amount : plan->limit;
  if (!(q->policy->reject_probability > 0) || plan->mode == FT_MODE_FORCE || q->imported_from ||
      q->network || q->similar || !(plan->p_oom > q->policy->reject_probability))
    return;
  if (plan->mode == FT_MODE_CHECK && plan->typed)
    plan->would_reject = true;
  else
    act(plan, FT_ACTION_REJECT, "it would run out of memory");
}

void ft_plan_make(const struct ft_question *q, struct ft_plan *plan)
{
  const struct ft_estimate *e = q->estimate;
  struct nodes n = nodes_of(q);

  *plan = (struct ft_plan){
    .mode = q->mode, .typed = true, .p_limit = -1, .p_amount = -1, .p_oom = -1
  };
  if (plan->mode == FT_MODE_UNSET) {
    plan->mode = q->policy->mode;
    plan->typed = false;
  }
  if (plan->mode == FT_MODE_UNSET)
    plan->mode = FT_MODE_OFF;
  plan->kills = q->rule != FT_RULE_NONE;
  find_limit(q, plan, &n);
  find_most(q, plan, &n);
  if (plan->mode == FT_MODE_OFF) {
    act(plan, FT_ACTION_LEAVE, "off");
    return;
  }
  plan->by_bound = e && by_bound(e, q->policy);
  plan->claimed = e && ((e->runs >= q->policy->min_runs && e->runs > 0) || plan->by_bound ||
                        q->network || q->similar);
  if (!plan->claimed) {
    act(plan, FT_ACTION_LEAVE, e ? "too few runs are known" : "nothing is known of this app");
    return;
  }
  find_amount(q, plan);
  judge(q, plan);
  perhaps_reject(q, plan);
}

double ft_plan_any(const struct ft_question *q, uint64_t bytes)
{
  double count = q->request->array_tasks > 1 ? q->request->array_tasks : 1, none = 0;

  if (!q->elements)
    return -expm1(count * log1p(-sure(ft_estimate_exceeds(q->estimate, (double)bytes))));
  for (size_t i = 0; i < q->elements->count; i++)
    none += log1p(-sure(ft_estimate_exceeds(&q->elements->each[i], (double)bytes)));
  return -expm1(none * count / (double)q->elements->count);
}
