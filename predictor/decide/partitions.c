/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The partitions that a job names: which of them it runs in nobody knows beforehand. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/decide/sizing.h"
#include "predictor/record/state_files.h"

enum { MOST_NODES = sizeof((ft_partition *)NULL)->nodes / sizeof(ft_node_type) };

/* Add the nodes of OTHER to INTO; where there is no place, the largest take that of smaller ones.
 */
static void join_nodes(ft_partition *into, const ft_partition *other)
{
  for (size_t i = 0; i < other->nodes_count; i++) {
    const ft_node_type *kind = &other->nodes[i];
    size_t least = 0;

    if (into->nodes_count < MOST_NODES) {
      into->nodes[into->nodes_count++] = *kind;
      continue;
    }
    for (size_t k = 1; k < MOST_NODES; k++)
      if (into->nodes[k].mem_bytes < into->nodes[least].mem_bytes)
        least = k;
    if (into->nodes[least].mem_bytes < kind->mem_bytes)
      into->nodes[least] = *kind;
  }
}

/* Add what OTHER has of resources to INTO, the most of each, and count who has it. */
static void join_gres(ft_partition *into, const ft_partition *other,
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

/* A limit of 0 is none. */
static uint64_t or_none(uint64_t bytes)
{
  return bytes ? bytes : UINT64_MAX;
}

/* What INTO and OTHER give a job that REQUEST describes: the more generous of both. */
static void join(const ft_site *site, const ft_request *request, ft_partition *into,
                 const ft_partition *other)
{
  bool consumable = site->memory_is_consumable;

  if (or_none(ft_sizing_default(request, other, consumable)) >
      or_none(ft_sizing_default(request, into, consumable))) {
    into->def_mem_bytes = other->def_mem_bytes;
    into->def_per_cpu = other->def_per_cpu;
    into->cpu_unit = other->cpu_unit;
  }
  if (or_none(ft_sizing_partition_max(request, other)) >
      or_none(ft_sizing_partition_max(request, into))) {
    into->max_mem_bytes = other->max_mem_bytes;
    into->max_per_cpu = other->max_per_cpu;
  }
  into->exclusive &= other->exclusive;
  join_nodes(into, other);
}

int ft_decide_partition(int state_fd, const ft_site *site, const ft_request *request,
                        ft_partition *out, struct ft_merged_partitions *merged,
                        struct ft_error *err)
{
  struct ft_text list = ft_text_from(request->partition), name;
  bool consumable = site->memory_is_consumable;
  uint64_t least, most;
  ft_partition *other;
  char typed[64];

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
  least = most = or_none(ft_sizing_default(request, out, consumable));
  while (ft_text_until(&list, ',', &name)) {
    uint64_t bytes;

    if (!ft_text_left(&name) || !ft_text_copy(name, typed, sizeof typed) ||
        ft_text_lists(ft_text_of(request->partition, (size_t)(name.at - request->partition)),
                      typed) ||
        ft_state_read_partition(state_fd, site, typed, other, NULL) < 0)
      continue;
    bytes = or_none(ft_sizing_default(request, other, consumable));
    if (bytes < least) {
      least = bytes;
      (void)ft_string_copy(typed, merged->min_default_partition,
                           sizeof merged->min_default_partition);
    }
    most = bytes > most ? bytes : most;
    join(site, request, out, other);
    join_gres(out, other, merged);
    merged->count++;
  }
  if (least < most)
    merged->min_default_bytes = least;
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
