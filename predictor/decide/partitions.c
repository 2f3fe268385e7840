/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merges the partitions that a job names: Slurm chooses one of them only when the job starts. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/decide/sizing.h"
#include "predictor/record/state_files.h"

enum { MAX_NODE_TYPES = sizeof((ft_partition *)NULL)->nodes / sizeof(ft_node_type) };

/* Adds the node types of OTHER to INTO; if INTO is full, larger nodes replace smaller ones. */
static void merge_nodes(ft_partition *into, const ft_partition *other)
{
  for (size_t i = 0; i < other->nodes_count; i++) {
    const ft_node_type *kind = &other->nodes[i];
    size_t smallest = 0;

    if (into->nodes_count < MAX_NODE_TYPES) {
      into->nodes[into->nodes_count++] = *kind;
      continue;
    }
    for (size_t k = 1; k < MAX_NODE_TYPES; k++)
      if (into->nodes[k].mem_bytes < into->nodes[smallest].mem_bytes)
        smallest = k;
    if (into->nodes[smallest].mem_bytes < kind->mem_bytes)
      into->nodes[smallest] = *kind;
  }
}

/* Adds the generic resources of OTHER to INTO, with the maximum number of each, and counts in
 * MERGED the partitions that have them. */
static void merge_gres(ft_partition *into, const ft_partition *other,
                       struct ft_merged_partitions *merged)
{
  for (size_t i = 0; i < other->gres_count; i++) {
    const ft_gres *gres = &other->gres[i];
    size_t at = FT_ROWS_FIND_INLINED(into->gres, into->gres_count, gres->name);

    if (at == FT_PARTITION_GRES)
      continue;
    if (at == into->gres_count) {
      into->gres[into->gres_count++] = *gres;
      merged->gres_count[at] = 0;
    }
    if (gres->count > into->gres[at].count)
      into->gres[at].count = gres->count;
    merged->gres_count[at]++;
  }
}

/* Returns whether REQUEST needs GPUs and PARTITION has none: Slurm starts the job in another. */
static bool lacks_gpus(const ft_request *request, const ft_partition *partition)
{
  return request->gpus_per_node && partition->nodes_count && !partition->gres_count;
}

/* Default and maximum of a job's memory on a node, over several partitions. UINT64_MAX: unlimited.
 * Each partition computes them from its own CPUs, GPUs and nodes, so a merged one cannot. */
struct memory_range {
  uint64_t min_default, max_default, max;
  struct ft_default_request request; /* the default; bytes 0: they differ */
};

static uint64_t smaller_limit(uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

static uint64_t larger_limit(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

/* Returns BYTES, a limit; UINT64_MAX if BYTES is 0, which means no limit. */
static uint64_t unlimited_if_zero(uint64_t bytes)
{
  return bytes ? bytes : UINT64_MAX;
}

static struct memory_range partition_memory(const ft_site *site, const ft_request *request,
                                            const ft_partition *partition)
{
  uint64_t bytes =
      unlimited_if_zero(ft_sizing_default(request, partition, site->memory_is_consumable));

  return (struct memory_range){
    bytes, bytes, unlimited_if_zero(ft_sizing_partition_max(request, partition)),
    ft_sizing_default_request(request, partition, site->memory_is_consumable)
  };
}

/* Sets default and maximum of PARTITION. */
static void set_memory(ft_partition *partition, const struct memory_range *memory)
{
  partition->def_mem_bytes = memory->max_default < UINT64_MAX ? memory->max_default : 0;
  partition->max_mem_bytes = memory->max < UINT64_MAX ? memory->max : 0;
  partition->def_mem_per_gpu_bytes = 0;
  partition->def_per_cpu = partition->max_per_cpu = false;
}

/* Merges OTHER into INTO: all nodes, and of a job's CPUs the fewest that it has on a node. */
static void merge_partition(ft_partition *into, const ft_partition *other)
{
  into->exclusive &= other->exclusive;
  into->one_task_per_core &= other->one_task_per_core;
  if (other->max_cpus && (!into->max_cpus || other->max_cpus < into->max_cpus))
    into->max_cpus = other->max_cpus;
  if (other->def_cpus_per_gpu < into->def_cpus_per_gpu)
    into->def_cpus_per_gpu = other->def_cpus_per_gpu;
  if (other->cpu_unit < into->cpu_unit)
    into->cpu_unit = other->cpu_unit;
  merge_nodes(into, other);
}

int ft_decide_partition(int state_fd, const ft_site *site, const ft_request *request,
                        ft_partition *out, struct ft_merged_partitions *merged,
                        struct ft_error *err)
{
  struct ft_text list = ft_text_from(request->partition), name;
  struct memory_range memory, added;
  ft_partition *other;
  char copy[64];

  *merged = (struct ft_merged_partitions){ .count = 1 };
  if (ft_state_read_partition(state_fd, site, request->partition, out, err) < 0)
    return -1;
  memset(merged->gres_count, 1, sizeof merged->gres_count);
  (void)ft_text_until(&list, ',', &name);
  if (!ft_text_left(&list))
    return 0;
  other = malloc(sizeof *other);
  if (!other)
    return ft_error_set(err, "out of memory");
  (void)ft_text_copy(name, merged->min_default_partition, sizeof merged->min_default_partition);
  memory = partition_memory(site, request, out);
  while (ft_text_until(&list, ',', &name)) {
    bool first = lacks_gpus(request, out);

    if (!ft_text_left(&name) || !ft_text_copy(name, copy, sizeof copy) ||
        ft_text_lists(ft_text_of(request->partition, (size_t)(name.at - request->partition)),
                      copy) ||
        ft_state_read_partition(state_fd, site, copy, other, NULL) < 0)
      continue;
    merged->count++;
    if (lacks_gpus(request, other))
      continue;
    added = partition_memory(site, request, other);
    if (first || added.min_default < memory.min_default)
      (void)ft_string_copy(copy, merged->min_default_partition,
                           sizeof merged->min_default_partition);
    if (first) {
      *out = *other;
      memory = added;
      continue;
    }
    memory.min_default = smaller_limit(memory.min_default, added.min_default);
    memory.max_default = larger_limit(memory.max_default, added.max_default);
    memory.max = larger_limit(memory.max, added.max);
    if (added.request.unit != memory.request.unit || added.request.bytes != memory.request.bytes)
      memory.request.bytes = 0;
    merge_partition(out, other);
    merge_gres(out, other, merged);
  }
  if (memory.min_default < memory.max_default)
    merged->min_default_bytes = memory.min_default;
  merged->default_request = memory.request;
  if (merged->count > 1)
    set_memory(out, &memory);
  (void)ft_string_copy(request->partition, out->name, sizeof out->name);
  free(other);
  return 0;
}

bool ft_partition_show_name(const ft_partition *partition, char out[FT_PARTITION_SHOWN])
{
  const char *name = partition && partition->name[0] ? partition->name : "it goes to";
  bool several = strchr(name, ',');

  (void)snprintf(out, FT_PARTITION_SHOWN, "partition%s %.64s", several ? "s" : "", name);
  return several;
}
