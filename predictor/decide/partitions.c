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
    size_t at = 0;

    while (at < into->gres_count && strcmp(into->gres[at].name, gres->name) != 0)
      at++;
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

/* Returns BYTES, a limit; UINT64_MAX if BYTES is 0, which means no limit. */
static uint64_t unlimited_if_zero(uint64_t bytes)
{
  return bytes ? bytes : UINT64_MAX;
}

/* Merges OTHER into INTO: the larger default and the larger maximum for REQUEST, and all nodes. */
static void merge_partition(const ft_site *site, const ft_request *request, ft_partition *into,
                            const ft_partition *other)
{
  bool consumable = site->memory_is_consumable;

  if (unlimited_if_zero(ft_sizing_default(request, other, consumable)) >
      unlimited_if_zero(ft_sizing_default(request, into, consumable))) {
    into->def_mem_bytes = other->def_mem_bytes;
    into->def_per_cpu = other->def_per_cpu;
    into->cpu_unit = other->cpu_unit;
  }
  if (unlimited_if_zero(ft_sizing_partition_max(request, other)) >
      unlimited_if_zero(ft_sizing_partition_max(request, into))) {
    into->max_mem_bytes = other->max_mem_bytes;
    into->max_per_cpu = other->max_per_cpu;
  }
  into->exclusive &= other->exclusive;
  merge_nodes(into, other);
}

int ft_decide_partition(int state_fd, const ft_site *site, const ft_request *request,
                        ft_partition *out, struct ft_merged_partitions *merged,
                        struct ft_error *err)
{
  struct ft_text list = ft_text_from(request->partition), name;
  bool consumable = site->memory_is_consumable;
  uint64_t smallest, largest;
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
  (void)ft_string_copy(request->partition, out->name, sizeof out->name);
  (void)ft_text_copy(name, merged->min_default_partition, sizeof merged->min_default_partition);
  smallest = largest = unlimited_if_zero(ft_sizing_default(request, out, consumable));
  while (ft_text_until(&list, ',', &name)) {
    uint64_t bytes;

    if (!ft_text_left(&name) || !ft_text_copy(name, copy, sizeof copy) ||
        ft_text_lists(ft_text_of(request->partition, (size_t)(name.at - request->partition)),
                      copy) ||
        ft_state_read_partition(state_fd, site, copy, other, NULL) < 0)
      continue;
    bytes = unlimited_if_zero(ft_sizing_default(request, other, consumable));
    if (bytes < smallest) {
      smallest = bytes;
      (void)ft_string_copy(copy, merged->min_default_partition,
                           sizeof merged->min_default_partition);
    }
    largest = bytes > largest ? bytes : largest;
    merge_partition(site, request, out, other);
    merge_gres(out, other, merged);
    merged->count++;
  }
  if (smallest < largest)
    merged->min_default_bytes = smallest;
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
