/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/job/job_nodes.h"
#include "predictor/core/array_grow.h"
#include "predictor/core/units.h"
#include "predictor/history/json.h"

/* Maximum number of nodes of a job that are shown. */
enum { MAX_NODES = 65536 };

static bool add_job_node(struct ft_job_nodes *nodes, const ft_observation *o)
{
  struct ft_job_node *grown, *node;

  grown = ft_array_grow(nodes->node, &nodes->room, nodes->count, sizeof *grown, MAX_NODES);
  if (!grown)
    return false;
  nodes->node = grown;
  node = &grown[nodes->count++];
  *node =
      (struct ft_job_node){ .run = ft_observation_run_key(o),
                            .peak = ft_observation_peak(o, o->rule),
                            .limit = o->has_limit_bytes ? (double)o->limit_bytes : 0,
                            .cpu_seconds = o->has_cpu_seconds ? o->cpu_seconds : 0,
                            .runtime = o->runtime_seconds,
                            .killed_at = o->has_killed_at_bytes ? (double)o->killed_at_bytes : -1,
                            .cpus = o->cpus,
                            .peak_is_bound = o->peak_is_bound,
                            .outcome = o->outcome };
  memcpy(node->node, o->node, sizeof node->node);
  return true;
}

static bool collect_node(const ft_observation *o, void *data)
{
  struct ft_job_nodes *nodes = data;

  return ft_observation_run_key(o) != nodes->run || add_job_node(nodes, o);
}

static int compare_node_names(const void *a, const void *b)
{
  return strcmp(((const struct ft_job_node *)a)->node, ((const struct ft_job_node *)b)->node);
}

int ft_job_nodes_read(const char *state, const struct ft_store_filter *filter,
                      const ft_observation *run, struct ft_job_nodes *nodes, struct ft_error *err)
{
  struct ft_store_access *records = calloc(1, sizeof *records);
  struct ft_store_filter by_node = *filter;
  int status = -1;

  if (!records)
    return ft_error_set(err, "out of memory");
  nodes->run = ft_observation_run_key(run);
  by_node.by_node = true;
  if (ft_store_access_ask(records, state, &by_node, err) == 0)
    status = ft_store_access_each(records, &by_node, collect_node, nodes, err);
  ft_store_access_close(records);
  free(records);
  if (nodes->count)
    qsort(nodes->node, nodes->count, sizeof *nodes->node, compare_node_names);
  return status;
}

enum ft_job_news ft_job_nodes_add(struct ft_job_nodes *nodes, const ft_observation *o)
{
  enum ft_job_news news = FT_JOB_RUN;
  uint64_t run = ft_observation_run_key(o);

  for (size_t i = 0; i < nodes->count; i++)
    if (nodes->node[i].run == run) {
      news = FT_JOB_NODE;
      if (strcmp(nodes->node[i].node, o->node) == 0)
        return FT_JOB_NOTHING;
    }
  return add_job_node(nodes, o) ? news : FT_JOB_NOTHING;
}

void ft_job_nodes_keep(struct ft_job_nodes *nodes, const ft_observation *run)
{
  size_t kept = 0;

  nodes->run = ft_observation_run_key(run);
  for (size_t i = 0; i < nodes->count; i++)
    if (nodes->node[i].run == nodes->run)
      nodes->node[kept++] = nodes->node[i];
  nodes->count = kept;
  if (kept)
    qsort(nodes->node, kept, sizeof *nodes->node, compare_node_names);
}

void ft_job_nodes_free(struct ft_job_nodes *nodes)
{
  free(nodes->node);
  *nodes = (struct ft_job_nodes){ 0 };
}

void ft_job_nodes_print(const char *label, const struct ft_job_nodes *nodes,
                        const ft_observation *run)
{
  double low = 0, high = 0, sum = 0;
  char text[3][32];

  if (nodes->count < 2 && run->allocated_nodes < 2)
    return;
  for (size_t i = 0; i < nodes->count; i++) {
    double peak = nodes->node[i].peak;

    low = low > 0 && peak > 0 ? fmin(low, peak) : fmax(low, peak);
    high = fmax(high, peak);
    sum += peak;
  }
  printf("%s", label);
  if (nodes->count < run->allocated_nodes)
    printf("%" PRIu32 ", of which %zu %s recorded; the others have not delivered, or were lost",
           run->allocated_nodes, nodes->count, nodes->count == 1 ? "is" : "are");
  else
    printf("%zu", nodes->count);
  if (nodes->count > 1 && high > 0)
    printf("; peaks from %s to %s, in all %s",
           ft_units_show_bytes((uint64_t)low, text[0], sizeof text[0]),
           ft_units_show_bytes((uint64_t)high, text[1], sizeof text[1]),
           ft_units_show_bytes((uint64_t)fmin(sum, 0x1p63), text[2], sizeof text[2]));
  printf("\n");
}

json_t *ft_job_nodes_json(const struct ft_job_nodes *nodes)
{
  json_t *list = json_array();

  for (size_t i = 0; i < nodes->count; i++) {
    const struct ft_job_node *n = &nodes->node[i];

    (void)json_array_append_new(
        list,
        json_pack("{s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:s, s:o}", "node", ft_json_text(n->node),
                  "peak_memory_bytes", ft_json_number(n->peak > 0, n->peak), "peak_is_bound",
                  n->peak_is_bound, "limit_bytes", ft_json_number(n->limit > 0, n->limit), "cpus",
                  ft_json_number(n->cpus > 0, n->cpus), "cpu_seconds",
                  ft_json_number(n->cpu_seconds > 0, n->cpu_seconds), "runtime_seconds",
                  ft_json_number(n->runtime > 0, n->runtime), "outcome",
                  ft_outcome_name(n->outcome), "killed_at_bytes",
                  ft_json_number(n->killed_at >= 0, n->killed_at)));
  }
  return list;
}
