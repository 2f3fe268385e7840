/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/decide/constraint.h"
#include "predictor/decide/placement_nodes.h"
#include "predictor/decide/sizing.h"

/* As many kinds of nodes a partition's file has room for; of one with so many some may be left out.
 */
enum { KINDS = sizeof((ft_partition *)NULL)->nodes / sizeof(ft_node_type) };

/* ---- what the job is ---- */

const char *ft_placement_pinning_option(const struct ft_placement_requested *asked)
{
  return asked->nodelist      ? "--nodelist"
         : asked->nodefile    ? "--nodefile"
         : asked->reservation ? "--reservation"
                              : NULL;
}

/* Of "1-3,7]": 4, and step over it; a piece that is no range counts for one. */
static uint64_t hosts_in_brackets(struct ft_text *list)
{
  struct ft_text inside, piece;
  uint64_t count = 0;

  (void)ft_text_until(list, ']', &inside);
  while (ft_text_until(&inside, ',', &piece)) {
    uint64_t low, high;

    count += ft_text_u64(&piece, UINT32_MAX, &low) && ft_text_skip(&piece, "-") &&
                     ft_text_u64(&piece, UINT32_MAX, &high) && high >= low
                 ? high - low + 1
                 : 1;
  }
  return count;
}

uint64_t ft_placement_hosts(const char *list)
{
  struct ft_text rest = ft_text_from(list);
  uint64_t total = 0, one = 1;

  if (list && strchr(list, '/')) /* the name of a file with more of them */
    return UINT32_MAX;
  while (ft_text_left(&rest)) {
    char c = *rest.at++;

    if (c == ',') {
      total += one;
      one = 1;
    } else if (c == '[') {
      uint64_t many = hosts_in_brackets(&rest);

      many += !many;
      /* no cluster has as many */
      one = one > UINT32_MAX / many ? UINT32_MAX : one * many;
    }
  }
  return list && *list ? total + one : 0;
}

void ft_placement_apply(const ft_network *network, struct ft_placement_requested *asked)
{
  enum ft_gpu_option option = network ? ft_gpu_option_from_name(network->option) : FT_GPU_OPTIONS;

  if (option < FT_GPU_OPTIONS && !network->error[0])
    asked->gpus.value[option] = network->value;
}

/* At least. */
static double tasks_of_job(const ft_request *r)
{
  double nodes = r->nodes ? r->nodes : 1;

  if (r->tasks)
    return r->tasks;
  return r->tasks_per_node ? nodes * r->tasks_per_node : nodes;
}

double ft_placement_cpu_count(const ft_request *r, const ft_partition *p)
{
  return fmax(tasks_of_job(r) * (r->cpus_per_task ? r->cpus_per_task : 1),
              (double)(r->nodes ? r->nodes : 1) * (double)ft_sizing_cpus_of_gpus(r, p));
}

double ft_placement_cpus_per_node(const ft_request *r, const ft_partition *p)
{
  return fmax((double)(r->cpus_per_task ? r->cpus_per_task : 1) *
                  (r->tasks_per_node ? r->tasks_per_node : 1),
              (double)ft_sizing_cpus_of_gpus(r, p));
}

double ft_placement_node_count(const ft_request *r, double cpus)
{
  double nodes = r->nodes ? r->nodes : 1, per_task = r->cpus_per_task ? r->cpus_per_task : 1;
  double fit = floor(cpus / per_task);

  if (r->tasks_per_node)
    nodes = fmax(nodes, ceil(tasks_of_job(r) / r->tasks_per_node));
  if (fit >= 1)
    nodes = fmax(nodes, ceil(tasks_of_job(r) / fit));
  return nodes;
}

/* ---- the nodes of a row ---- */

/* Whether all nodes of KIND were down or drained when that was seen. */
static bool all_down(const ft_node_type *kind)
{
  return kind->has_down_nodes && kind->down_nodes >= kind->count;
}

/* Whether a node of KIND has what --gres and the options about GPUs ask for. */
static bool able(const struct ft_placement_question *q, const ft_node_type *kind)
{
  const ft_request *r = &q->submission->request;

  return ft_gres_allows(q->asked.gpus.value[FT_GPU_OPTION_GRES], kind) &&
         ft_gpu_request_fits_node(&q->asked.gpus, r->tasks_per_node ? r->tasks_per_node : 1, kind);
}

/* CPUs of a node that the partition lets jobs have. */
static uint32_t cpus_of_node(const ft_partition *p, const ft_node_type *kind)
{
  return p->max_cpus && p->max_cpus < kind->cpus ? p->max_cpus : kind->cpus;
}

/* How near a node of KIND comes to one that could run the job. */
static int nearness(const struct ft_placement_question *q, const ft_node_type *kind)
{
  return 2 * able(q, kind) + !all_down(kind);
}

static void add_kind(const ft_partition *p, const ft_node_type *kind, uint32_t needed,
                     struct ft_row_nodes *n)
{
  uint32_t cpus = cpus_of_node(p, kind);

  if (cpus > n->max_cpus)
    n->max_cpus = cpus;
  if (kind->mem_bytes > n->memory_bytes && (cpus >= needed || !kind->cpus))
    n->memory_bytes = kind->mem_bytes;
  n->idle_known |= kind->has_idle_nodes && kind->has_idle_cpus;
  n->idle_nodes += kind->idle_nodes;
  n->idle_cpus += kind->idle_cpus;
  if (!kind->has_max_idle_cpus)
    n->most_idle = UINT32_MAX;
  else if (kind->max_idle_cpus > n->most_idle)
    n->most_idle = kind->max_idle_cpus;
}

struct ft_row_nodes ft_placement_nodes(const struct ft_placement_question *q, const ft_partition *p,
                                       const char *platform)
{
  const ft_request *r = &q->submission->request;
  uint32_t needed = r->cpus_per_task ? r->cpus_per_task : 1;
  struct ft_row_nodes n = { 0 };
  int near[KINDS], nearest = 0;

  for (size_t i = 0; i < p->nodes_count; i++) {
    const ft_node_type *kind = &p->nodes[i];

    near[i] = -1;
    if (strcmp(kind->platform, platform) != 0 || !ft_constraint_allows(r->constraint, kind))
      continue;
    near[i] = nearness(q, kind);
    if (near[i] > nearest)
      nearest = near[i];
    n.gpus |=
        kind->gres_truncated || strncmp(kind->gres, "gpu", 3) == 0 || strstr(kind->gres, ",gpu");
  }
  n.able = nearest >= 2;
  n.up = nearest & 1;
  for (size_t i = 0; i < p->nodes_count; i++)
    if (near[i] == nearest)
      add_kind(p, &p->nodes[i], needed, &n);
  return n;
}

/* ---- what speaks against them ---- */

/* Whether a node of KIND has what the job names, whatever its platform. */
static bool will_do(const struct ft_placement_question *q, const ft_node_type *kind)
{
  return ft_constraint_allows(q->submission->request.constraint, kind) && able(q, kind);
}

/* What of the partition's nodes together is too little for the job, whatever their platforms. */
static const char *too_few(const struct ft_placement_question *q, const ft_partition *p)
{
  const ft_request *r = &q->submission->request;
  double cpus = 0, nodes = 0;
  bool known = true;

  for (size_t i = 0; i < p->nodes_count; i++)
    if (will_do(q, &p->nodes[i])) {
      nodes += p->nodes[i].count;
      cpus += (double)p->nodes[i].count * cpus_of_node(p, &p->nodes[i]);
      known &= p->nodes[i].cpus > 0;
    }
  if (nodes > 0 && nodes < r->nodes)
    return "too few nodes";
  return known && cpus > 0 && cpus < ft_placement_cpu_count(r, p) ? "too few CPUs" : NULL;
}

const char *ft_placement_unknown_condition(const struct ft_placement_question *q, size_t partition)
{
  const ft_partition *p = &q->evidence->partition[partition];
  const struct ft_partition_access *access = &q->evidence->access[partition];
  const ft_request *r = &q->submission->request;
  uint64_t nodes = 0, excluded = ft_placement_hosts(q->asked.exclude);

  if (access->may == FT_MAY_UNKNOWN && access->why)
    return access->why;
  for (size_t i = 0; i < p->nodes_count; i++)
    if (will_do(q, &p->nodes[i]))
      nodes += p->nodes[i].count;
  return excluded && excluded + (r->nodes ? r->nodes : 1) > nodes
             ? "perhaps without a node but those of --exclude"
             : NULL;
}

const char *ft_placement_blocking_reason(const struct ft_placement_question *q,
                                         const ft_partition *p, const struct ft_row_nodes *n)
{
  const ft_request *r = &q->submission->request;
  enum ft_gpu_option by = ft_gpu_request_find(&q->asked.gpus);
  bool whole = p->nodes_count < KINDS;
  const char *few = whole ? too_few(q, p) : NULL;

  if (p->closed)
    return "it starts no jobs now";
  /* beside --ntasks, --ntasks-per-node is only the most that a node gets */
  if (n->max_cpus && (r->tasks ? r->cpus_per_task : ft_placement_cpus_per_node(r, p)) > n->max_cpus)
    return "too few CPUs";
  if (p->max_nodes && r->nodes > p->max_nodes)
    return "too few nodes";
  if (r->gpus_per_node && p->nodes_count && !n->gpus)
    return "no GPUs";
  if (n->max_cpus && !n->able)
    return by < FT_GPU_OPTIONS && by != FT_GPU_OPTION_GRES ? "no node has the GPUs it asks for"
                                                           : "no node has what --gres asks for";
  if (whole && n->max_cpus &&
      !ft_gpu_request_fits_partition(&q->asked.gpus, r->nodes ? r->nodes : 1,
                                     (uint64_t)tasks_of_job(r), p, r->constraint))
    return "it has not the GPUs it asks for";
  if (few)
    return few;
  return n->max_cpus && !n->up ? "all its nodes are down or drained" : NULL;
}
