/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nodes of a row of a placement, and the reasons why a job cannot run on them. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/decide/constraint.h"
#include "predictor/decide/placement_nodes.h"
#include "predictor/decide/sizing.h"

/* Maximum number of node types in a partition's record; a full list may be incomplete. */
enum { MAX_NODE_TYPES = sizeof((ft_partition *)NULL)->nodes / sizeof(ft_node_type) };

/* ---- the job ---- */

const char *ft_placement_pinning_option(const struct ft_placement_requested *requested)
{
  return requested->nodelist      ? "--nodelist"
         : requested->nodefile    ? "--nodefile"
         : requested->reservation ? "--reservation"
                                  : NULL;
}

/* Parses LIST up to ']', as in "1-3,7]", and returns the number of hosts in it, here 4. An item
 * that is not a range counts as one. */
static uint64_t count_bracket_hosts(struct ft_text *list)
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

  if (list && strchr(list, '/')) /* the name of a file with hosts */
    return UINT32_MAX;
  while (ft_text_left(&rest)) {
    char c = *rest.at++;

    if (c == ',') {
      total += one;
      one = 1;
    } else if (c == '[') {
      uint64_t many = count_bracket_hosts(&rest);

      many += !many;
      /* above any cluster */
      one = one > UINT32_MAX / many ? UINT32_MAX : one * many;
    }
  }
  return list && *list ? total + one : 0;
}

void ft_placement_apply(const ft_network *network, struct ft_placement_requested *requested)
{
  enum ft_gpu_option option = network ? ft_gpu_option_from_name(network->option) : FT_GPU_OPTIONS;

  if (option < FT_GPU_OPTIONS && !network->error[0])
    requested->gpus.value[option] = network->value;
}

/* Returns the minimum number of tasks of the request. */
static double min_tasks(const ft_request *r)
{
  double nodes = r->nodes ? r->nodes : 1;

  if (r->tasks)
    return r->tasks;
  return r->tasks_per_node ? nodes * r->tasks_per_node : nodes;
}

double ft_placement_cpu_count(const ft_request *r, const ft_partition *p)
{
  return fmax(min_tasks(r) * (r->cpus_per_task ? r->cpus_per_task : 1),
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
    nodes = fmax(nodes, ceil(min_tasks(r) / r->tasks_per_node));
  if (fit >= 1)
    nodes = fmax(nodes, ceil(min_tasks(r) / fit));
  return nodes;
}

/* ---- the nodes of a row ---- */

/* Returns whether all nodes of type KIND were down or drained when the partition was polled. */
static bool are_all_nodes_down(const ft_node_type *kind)
{
  return kind->has_down_nodes && kind->down_nodes >= kind->count;
}

/* Returns whether a node of type KIND has the resources of --gres and of the options for GPUs. */
static bool has_requested_gres(const struct ft_placement_query *q, const ft_node_type *kind)
{
  const ft_request *r = &q->submission->request;

  return ft_gres_allows(q->requested.gpus.value[FT_GPU_OPTION_GRES], kind) &&
         ft_gpu_request_fits_node(&q->requested.gpus, r->tasks_per_node ? r->tasks_per_node : 1,
                                  kind);
}

/* Returns the number of CPUs of a node of type KIND that the partition allows to jobs. */
static uint32_t usable_node_cpus(const ft_partition *p, const ft_node_type *kind)
{
  return p->max_cpus && p->max_cpus < kind->cpus ? p->max_cpus : kind->cpus;
}

/* Returns a score of 0 to 3: 2 if the nodes have the requested resources, plus 1 if not all are
 * down. */
static int match_score(const struct ft_placement_query *q, const ft_node_type *kind)
{
  return 2 * has_requested_gres(q, kind) + !are_all_nodes_down(kind);
}

/* Adds the nodes of type KIND to N. NEEDED: CPUs of a task. */
static void add_node_type(const ft_partition *p, const ft_node_type *kind, uint32_t needed,
                          struct ft_row_nodes *n)
{
  uint32_t cpus = usable_node_cpus(p, kind);
  uint64_t gpus = 0;

  (void)ft_gpu_request_count(FT_GPU_OPTION_GRES, kind->gres, &gpus);
  if (gpus > n->max_gpus)
    n->max_gpus = gpus;
  if (cpus > n->max_cpus)
    n->max_cpus = cpus;
  if (kind->mem_bytes > n->memory_bytes && (cpus >= needed || !kind->cpus))
    n->memory_bytes = kind->mem_bytes;
  n->idle_known |= kind->has_idle_nodes && kind->has_idle_cpus;
  n->idle_nodes += kind->idle_nodes;
  n->idle_cpus += kind->idle_cpus;
  if (!kind->has_max_idle_cpus)
    n->max_idle_cpus = UINT32_MAX;
  else if (kind->max_idle_cpus > n->max_idle_cpus)
    n->max_idle_cpus = kind->max_idle_cpus;
}

struct ft_row_nodes ft_placement_nodes(const struct ft_placement_query *q, const ft_partition *p,
                                       const char *platform)
{
  const ft_request *r = &q->submission->request;
  uint32_t needed = r->cpus_per_task ? r->cpus_per_task : 1;
  struct ft_row_nodes n = { 0 };
  int score[MAX_NODE_TYPES], best = 0;

  for (size_t i = 0; i < p->nodes_count; i++) {
    const ft_node_type *kind = &p->nodes[i];

    score[i] = -1;
    if (strcmp(kind->platform, platform) != 0 || !ft_constraint_allows(r->constraint, kind))
      continue;
    score[i] = match_score(q, kind);
    if (score[i] > best)
      best = score[i];
    n.gpus |=
        kind->gres_truncated || strncmp(kind->gres, "gpu", 3) == 0 || strstr(kind->gres, ",gpu");
  }
  n.has_gres = best >= 2;
  n.up = best & 1;
  for (size_t i = 0; i < p->nodes_count; i++)
    if (score[i] == best)
      add_node_type(p, &p->nodes[i], needed, &n);
  return n;
}

/* ---- reasons against a partition ---- */

/* Returns whether a node of type KIND, of any platform, satisfies --constraint and has the
 * requested resources. */
static bool satisfies_request(const struct ft_placement_query *q, const ft_node_type *kind)
{
  return ft_constraint_allows(q->submission->request.constraint, kind) &&
         has_requested_gres(q, kind);
}

/* Returns what the nodes of all platforms of P together lack, a static string; NULL: nothing. */
static const char *missing_in_total(const struct ft_placement_query *q, const ft_partition *p)
{
  const ft_request *r = &q->submission->request;
  double cpus = 0, nodes = 0;
  bool known = true;

  for (size_t i = 0; i < p->nodes_count; i++)
    if (satisfies_request(q, &p->nodes[i])) {
      nodes += p->nodes[i].count;
      cpus += (double)p->nodes[i].count * usable_node_cpus(p, &p->nodes[i]);
      known &= p->nodes[i].cpus > 0;
    }
  if (nodes > 0 && nodes < r->nodes)
    return "too few nodes";
  return known && cpus > 0 && cpus < ft_placement_cpu_count(r, p) ? "too few CPUs" : NULL;
}

const char *ft_placement_unknown_condition(const struct ft_placement_query *q, size_t partition)
{
  const ft_partition *p = &q->evidence->partition[partition];
  const struct ft_partition_access *access = &q->evidence->access[partition];
  const ft_request *r = &q->submission->request;
  uint64_t nodes = 0, excluded = ft_placement_hosts(q->requested.exclude);

  if (access->may == FT_MAY_UNKNOWN && access->why)
    return access->why;
  for (size_t i = 0; i < p->nodes_count; i++)
    if (satisfies_request(q, &p->nodes[i]))
      nodes += p->nodes[i].count;
  return excluded && excluded + (r->nodes ? r->nodes : 1) > nodes ? "--exclude may leave no node"
                                                                  : NULL;
}

const char *ft_placement_blocking_reason(const struct ft_placement_query *q, const ft_partition *p,
                                         const struct ft_row_nodes *n)
{
  const ft_request *r = &q->submission->request;
  enum ft_gpu_option option = ft_gpu_request_find(&q->requested.gpus);
  bool complete = p->nodes_count < MAX_NODE_TYPES;
  const char *lacking = complete ? missing_in_total(q, p) : NULL;

  if (p->closed)
    return "it starts no jobs now";
  /* if --ntasks is given, --ntasks-per-node is only a maximum */
  if (n->max_cpus && (r->tasks ? r->cpus_per_task : ft_placement_cpus_per_node(r, p)) > n->max_cpus)
    return "too few CPUs";
  if (p->max_nodes && r->nodes > p->max_nodes)
    return "too few nodes";
  if (r->gpus_per_node && p->nodes_count && !n->gpus)
    return "no GPUs";
  if (n->max_cpus && !n->has_gres)
    return option < FT_GPU_OPTIONS && option != FT_GPU_OPTION_GRES
               ? "no node has the requested GPUs"
               : "no node has the resources of --gres";
  if (complete && n->max_cpus &&
      !ft_gpu_request_fits_partition(&q->requested.gpus, r->nodes ? r->nodes : 1,
                                     (uint64_t)min_tasks(r), p, r->constraint))
    return "too few GPUs";
  if (lacking)
    return lacking;
  return n->max_cpus && !n->up ? "all its nodes are down or drained" : NULL;
}
