/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory that a job has on a node without foretell, and the most that it may have there. */
#include "config.h"

#include "predictor/decide/constraint.h"
#include "predictor/decide/plan.h"

/* ---- the nodes of the job ---- */

uint64_t ft_plan_times(uint64_t a, uint64_t b)
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

bool ft_plan_exclusive(const struct ft_question *q)
{
  return q->request->exclusive || (q->partition && q->partition->exclusive);
}

struct ft_nodes ft_plan_nodes(const struct ft_question *q)
{
  struct ft_nodes n = { .cpus = ft_plan_cpus_on_node(q->request, q->partition,
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
  if (ft_plan_exclusive(q) && whole > n.cpus)
    n.cpus = whole;
  return n;
}

/* ---- what it has without foretell ---- */

static void whole_node(struct ft_plan *plan, const struct ft_nodes *n)
{
  plan->limit = n->least_bytes;
  plan->limit_kind = n->least_bytes ? FT_LIMIT_WHOLE_NODE : FT_LIMIT_UNKNOWN;
}

static void default_limit(const struct ft_question *q, struct ft_plan *plan, const struct ft_nodes *n)
{
  const ft_partition *p = q->partition;

  if (!p)
    return;
  if (p->def_mem_per_gpu_bytes && q->request->gpus_per_node && q->memory_is_consumable) {
    /* before any other default (gres_select_util_job_mem_set); all GPUs of a node of its own */
    if (ft_plan_exclusive(q)) {
      whole_node(plan, n);
      return;
    }
    plan->limit = ft_plan_times(p->def_mem_per_gpu_bytes, q->request->gpus_per_node);
    plan->limit_kind = FT_LIMIT_DEFAULT;
  } else if (p->def_mem_bytes) {
    plan->limit = ft_plan_times(p->def_mem_bytes, p->def_per_cpu ? n->cpus : 1);
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
  struct ft_nodes n = ft_plan_nodes(&q);
  struct ft_plan plan = { 0 };

  default_limit(&q, &plan, &n);
  return plan.limit;
}

uint64_t ft_plan_most(const ft_request *request, const ft_partition *partition)
{
  struct ft_question q = { .request = request, .partition = partition };
  struct ft_nodes n = ft_plan_nodes(&q);

  return ft_plan_times(partition->max_mem_bytes, partition->max_per_cpu ? n.cpus : 1);
}

void ft_plan_find_limit(const struct ft_question *q, struct ft_plan *plan, const struct ft_nodes *n)
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
  plan->limit = ft_plan_times(r->mem_bytes, plan->per_node);
  plan->limit_kind = FT_LIMIT_ASKED;
}

void ft_plan_find_most(const struct ft_question *q, struct ft_plan *plan, const struct ft_nodes *n)
{
  const ft_partition *p = q->partition;
  uint64_t most;

  plan->node_most = plan->most = n->most_bytes;
  if (!p || !p->max_mem_bytes)
    return;
  most = ft_plan_times(p->max_mem_bytes, p->max_per_cpu ? n->cpus : 1);
  if (!plan->most || most < plan->most)
    plan->most = most;
}
