/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory that a job has on a node without foretell, and its maximum there, as Slurm computes
 * them: the number of the job's CPUs or GPUs on the node where it has the fewest, times the memory
 * per CPU or GPU of the request or the partition.
 */
#include "config.h"

#include "predictor/decide/constraint.h"
#include "predictor/decide/sizing.h"
#include "predictor/record/request_memory.h"

/* ---- the nodes of the job ---- */

uint64_t ft_multiply_saturating(uint64_t a, uint64_t b)
{
  return a && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

uint64_t ft_sizing_cpus_of_gpus(const ft_request *r, const ft_partition *partition)
{
  uint64_t each = r->cpus_per_gpu;

  if (!each && !r->cpus_per_task && partition)
    each = partition->def_cpus_per_gpu;
  return each * r->gpus_per_node;
}

static uint64_t round_up_to_multiple(uint64_t count, uint64_t unit)
{
  return unit > 1 && count % unit && count <= UINT64_MAX - unit ? count + unit - count % unit
                                                                : count;
}

/*
 * Returns the number of CPUs of the job on the node where it has the fewest. Slurm distributes
 * tasks over the requested nodes; without --nodes it uses the smallest number of nodes, of
 * NODE_CPUS CPUs each. The CPUs of a task are a multiple of PER_TASK.
 */
static uint64_t cpus_on_node(const ft_request *r, const ft_partition *partition, uint64_t node_cpus,
                             uint64_t per_task)
{
  uint64_t cpus = round_up_to_multiple(r->cpus_per_task ? r->cpus_per_task : 1, per_task);
  uint64_t nodes = r->nodes ? r->nodes : 1, tasks = r->tasks, fit = node_cpus / cpus;
  uint64_t of_gpus = ft_sizing_cpus_of_gpus(r, partition);

  if (!tasks)
    tasks = r->tasks_per_node ? r->tasks_per_node * nodes : nodes;
  if (r->tasks_per_node && nodes < (tasks + r->tasks_per_node - 1) / r->tasks_per_node)
    nodes = (tasks + r->tasks_per_node - 1) / r->tasks_per_node;
  if (fit && nodes < (tasks + fit - 1) / fit)
    nodes = (tasks + fit - 1) / fit;
  cpus *= tasks > nodes ? tasks / nodes : 1;
  return cpus > of_gpus ? cpus : of_gpus;
}

bool ft_sizing_exclusive(const struct ft_decision_input *q)
{
  return q->request->exclusive || (q->partition && q->partition->exclusive);
}

/* ---- whole cores ---- */

/* Returns the number of threads per core of node type KIND that the job uses. */
static uint64_t threads_used_per_core(const ft_request *r, const ft_node_type *kind)
{
  uint64_t threads = kind->threads_per_core ? kind->threads_per_core : 1;

  return r->threads_per_core && r->threads_per_core < threads ? r->threads_per_core : threads;
}

/* Returns the number of CPUs of a whole node of type KIND, without threads that the job leaves
 * idle, which Slurm does not count. */
static uint64_t node_cpus_used(const ft_request *r, const ft_node_type *kind)
{
  return kind->cpus / (kind->threads_per_core ? kind->threads_per_core : 1) *
         threads_used_per_core(r, kind);
}

/* Returns the maximum number of CPUs that the job may have on one node. */
static uint64_t max_cpus_per_node(const ft_request *r, const ft_partition *partition)
{
  uint64_t max = 0;

  for (size_t i = 0; partition && i < partition->nodes_count; i++) {
    uint64_t cpus = node_cpus_used(r, &partition->nodes[i]);

    max = cpus > max ? cpus : max;
  }
  if (partition && partition->max_cpus && partition->max_cpus < max)
    max = partition->max_cpus;
  return max;
}

/* Returns the number of CPUs that count for the job's memory on a node of type KIND. NODE_CPUS is
 * the number of the largest node. */
static uint64_t cpus_counted_on(const struct ft_decision_input *q, const ft_node_type *kind,
                                uint64_t node_cpus)
{
  const ft_partition *p = q->partition;
  uint64_t whole = node_cpus_used(q->request, kind),
           threads = threads_used_per_core(q->request, kind);
  uint64_t cpus = cpus_on_node(q->request, p, node_cpus, p->one_task_per_core ? threads : 1);

  if (ft_sizing_exclusive(q))
    return whole > cpus ? whole : cpus;
  if (p->cpu_unit == FT_CPU_UNIT_CORE)
    return round_up_to_multiple(cpus, threads);
  if (p->cpu_unit == FT_CPU_UNIT_SOCKET && kind->sockets)
    return round_up_to_multiple(cpus, whole / kind->sockets);
  return cpus;
}

struct ft_nodes ft_sizing_nodes(const struct ft_decision_input *q)
{
  uint64_t node_cpus = max_cpus_per_node(q->request, q->partition), counted = 0;
  struct ft_nodes n = { .cpus = cpus_on_node(q->request, q->partition, node_cpus, 1) };

  for (int pass = 0; pass < 2 && q->partition && !n.largest_bytes; pass++)
    for (size_t i = 0; i < q->partition->nodes_count; i++) {
      const ft_node_type *kind = &q->partition->nodes[i];
      uint64_t cpus = cpus_counted_on(q, kind, node_cpus);

      /* if no node has enough CPUs and satisfies --constraint, the second pass uses all nodes:
       * Slurm itself rejects such a job */
      if (!kind->mem_bytes ||
          (pass == 0 && ((kind->cpus && node_cpus_used(q->request, kind) < n.cpus) ||
                         !ft_constraint_allows(q->request->constraint, kind))))
        continue;
      if (!n.smallest_bytes || kind->mem_bytes < n.smallest_bytes)
        n.smallest_bytes = kind->mem_bytes;
      if (kind->mem_bytes > n.largest_bytes)
        n.largest_bytes = kind->mem_bytes;
      if (kind->cpus && (!counted || cpus < counted))
        counted = cpus;
    }
  if (counted > n.cpus)
    n.cpus = counted;
  return n;
}

/* ---- the limit and the maximum ---- */

/* Sets the limit to the memory of the smallest node. */
static void set_whole_node_limit(struct ft_sizing *sizing, const struct ft_nodes *n)
{
  sizing->limit = n->smallest_bytes;
  sizing->limit_kind = n->smallest_bytes ? FT_LIMIT_WHOLE_NODE : FT_LIMIT_UNKNOWN;
}

/* Sets the limit of a job without a memory request: the default of the partition. */
static void set_default_limit(const struct ft_decision_input *q, struct ft_sizing *sizing,
                              const struct ft_nodes *n)
{
  const ft_partition *p = q->partition;

  if (!p)
    return;
  if (p->def_mem_per_gpu_bytes && q->request->gpus_per_node && q->memory_is_consumable) {
    /* DefMemPerGPU has precedence over other defaults (gres_select_util_job_mem_set); a job with
     * exclusive nodes gets all GPUs */
    if (ft_sizing_exclusive(q)) {
      set_whole_node_limit(sizing, n);
      return;
    }
    sizing->limit = ft_multiply_saturating(p->def_mem_per_gpu_bytes, q->request->gpus_per_node);
    sizing->limit_kind = FT_LIMIT_DEFAULT;
    sizing->default_request = (struct ft_default_request){ FT_MEM_GPU, p->def_mem_per_gpu_bytes };
  } else if (p->def_mem_bytes) {
    sizing->limit = ft_multiply_saturating(p->def_mem_bytes, p->def_per_cpu ? n->cpus : 1);
    sizing->limit_kind = FT_LIMIT_DEFAULT;
    sizing->default_request.unit = p->def_per_cpu ? FT_MEM_CPU : FT_MEM_NODE;
    sizing->default_request.bytes = p->def_mem_bytes;
  } else if (q->memory_is_consumable) {
    set_whole_node_limit(sizing, n);
  } else {
    sizing->limit_kind = FT_LIMIT_NONE;
  }
}

/* Returns a sizing with the default of PARTITION. */
static struct ft_sizing size_default(const ft_request *request, const ft_partition *partition,
                                     bool memory_is_consumable)
{
  struct ft_decision_input q = { .request = request,
                                 .partition = partition,
                                 .memory_is_consumable = memory_is_consumable };
  struct ft_nodes n = ft_sizing_nodes(&q);
  struct ft_sizing sizing = { 0 };

  set_default_limit(&q, &sizing, &n);
  return sizing;
}

uint64_t ft_sizing_default(const ft_request *request, const ft_partition *partition,
                           bool memory_is_consumable)
{
  return size_default(request, partition, memory_is_consumable).limit;
}

struct ft_default_request ft_sizing_default_request(const ft_request *request,
                                                    const ft_partition *partition,
                                                    bool memory_is_consumable)
{
  return size_default(request, partition, memory_is_consumable).default_request;
}

uint64_t ft_sizing_partition_max(const ft_request *request, const ft_partition *partition)
{
  struct ft_decision_input q = { .request = request, .partition = partition };
  struct ft_nodes n = ft_sizing_nodes(&q);

  return ft_multiply_saturating(partition->max_mem_bytes, partition->max_per_cpu ? n.cpus : 1);
}

void ft_sizing_find_limit(const struct ft_decision_input *q, struct ft_sizing *sizing,
                          const struct ft_nodes *n)
{
  const ft_request *r = q->request;

  sizing->unit = FT_MEM_NODE;
  sizing->per_node = 1;
  if (r->mem_unit == FT_MEM_NONE) {
    set_default_limit(q, sizing, n);
    if (q->merged.count > 1)
      sizing->default_request = q->merged.default_request;
    return;
  }
  if (r->mem_unit == FT_MEM_ALL || !r->mem_bytes) {
    set_whole_node_limit(sizing, n);
    return;
  }
  sizing->unit = r->mem_unit;
  sizing->per_node = ft_request_units_per_node(r, n->cpus);
  sizing->limit = ft_request_node_bytes(r, n->cpus);
  sizing->limit_kind = FT_LIMIT_REQUESTED;
}

void ft_sizing_find_max(const struct ft_decision_input *q, struct ft_sizing *sizing,
                        const struct ft_nodes *n)
{
  const ft_partition *p = q->partition;
  uint64_t max;

  sizing->largest_node = sizing->max = n->largest_bytes;
  if (!p || !p->max_mem_bytes)
    return;
  max = ft_multiply_saturating(p->max_mem_bytes, p->max_per_cpu ? n->cpus : 1);
  if (!sizing->max || max < sizing->max)
    sizing->max = max;
}
