/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Partitions and the kinds of nodes in them, as scontrol prints them. */
#include "config.h"

#include <string.h>

#include "agent/scontrol.h"
#include "predictor/core/units.h"

#define KINDS (sizeof((ft_partition *)0)->nodes / sizeof *((ft_partition *)0)->nodes)

static uint64_t number_of(struct ft_text value, uint64_t max)
{
  uint64_t number;

  return ft_text_u64(&value, max, &number) && !ft_text_left(&value) ? number : 0;
}

static uint64_t mib_of(struct ft_text value)
{
  return number_of(value, UINT64_MAX / FT_MIB) * FT_MIB;
}

static void take_partition(struct ft_text line, const struct ft_slurm_config *config,
                           ft_partition *out)
{
  struct ft_text word, key;

  while (ft_text_word(&line, &word)) {
    if (!ft_text_until(&word, '=', &key))
      continue;
    if (ft_text_equals(key, "Default")) {
      out->is_default = ft_text_equals(word, "YES");
    } else if (ft_text_equals(key, "OverSubscribe")) {
      out->exclusive = ft_text_equals(word, "EXCLUSIVE");
    } else if (ft_text_equals(key, "DefMemPerNode") || ft_text_equals(key, "DefMemPerCPU")) {
      out->def_mem_bytes = mib_of(word);
      out->def_per_cpu = ft_text_equals(key, "DefMemPerCPU");
    } else if (ft_text_equals(key, "MaxMemPerNode") || ft_text_equals(key, "MaxMemPerCPU")) {
      out->max_mem_bytes = mib_of(word);
      out->max_per_cpu = ft_text_equals(key, "MaxMemPerCPU");
    }
  }
  /* what a partition does not say holds from slurm.conf's global values */
  if (!out->def_mem_bytes) {
    out->def_mem_bytes = config->def_mem_bytes;
    out->def_per_cpu = config->def_per_cpu;
  }
  if (!out->max_mem_bytes) {
    out->max_mem_bytes = config->max_mem_bytes;
    out->max_per_cpu = config->max_per_cpu;
  }
}

static int take_partitions(struct ft_text text, const struct ft_slurm_config *config,
                           ft_partition *out, size_t limit, size_t *count, struct ft_error *err)
{
  struct ft_text line, word;

  *count = 0;
  while (ft_text_line(&text, &line)) {
    ft_partition *partition;

    if (!ft_text_word(&line, &word) || !ft_text_skip(&word, "PartitionName="))
      continue;
    if (*count == limit)
      return ft_error_set(err, "scontrol show partition: more than %zu partitions", limit);
    partition = &out[*count];
    *partition = (ft_partition){ .schema = FT_SCHEMA };
    if (!ft_text_copy(word, partition->name, sizeof partition->name))
      continue;
    take_partition(line, config, partition);
    (*count)++;
  }
  if (!*count)
    return ft_error_set(err,
                        "scontrol show partition: expected a line that begins with PartitionName=");
  return 0;
}

/* Typed gres without the sockets they sit on: "gpu:a100:4(S:0-1)" is "gpu:a100:4". */
static void take_gres(struct ft_text value, char *out, size_t size)
{
  struct ft_text piece, name;
  size_t used = 0;

  out[0] = '\0';
  if (ft_text_equals(value, "(null)"))
    return;
  while (ft_text_until(&value, ',', &piece)) {
    size_t length;

    /* the rest of a list of sockets: "...(S:0,2)" */
    if (!memchr(piece.at, '(', ft_text_left(&piece)) && ft_text_left(&piece) &&
        piece.end[-1] == ')')
      continue;
    if (!ft_text_until(&piece, '(', &name))
      continue;
    length = ft_text_left(&name);
    if (!length || used + length + 2 > size)
      continue;
    if (used)
      out[used++] = ',';
    memcpy(out + used, name.at, length);
    used += length;
    out[used] = '\0';
  }
}

struct node {
  ft_node_kind kind;
  struct ft_text partitions;
  bool is_host;
};

static void take_node(struct ft_text line, const struct ft_scontrol_host *host, struct node *out)
{
  struct ft_text word, key;
  uint64_t reserved = 0;

  *out = (struct node){ .kind.count = 1 };
  while (ft_text_word(&line, &word)) {
    if (!ft_text_until(&word, '=', &key))
      continue;
    if (ft_text_equals(key, "CPUTot"))
      out->kind.cpus = (uint32_t)number_of(word, UINT32_MAX);
    else if (ft_text_equals(key, "RealMemory"))
      out->kind.mem_bytes = mib_of(word);
    else if (ft_text_equals(key, "MemSpecLimit"))
      reserved = mib_of(word);
    else if (ft_text_equals(key, "ThreadsPerCore"))
      out->kind.threads_per_core = (uint32_t)number_of(word, UINT32_MAX);
    else if (ft_text_equals(key, "Gres"))
      take_gres(word, out->kind.gres, sizeof out->kind.gres);
    else if (ft_text_equals(key, "NodeHostName"))
      out->is_host = ft_text_equals(word, host->name);
    else if (ft_text_equals(key, "Partitions"))
      out->partitions = word;
  }
  out->kind.mem_bytes -= reserved < out->kind.mem_bytes ? reserved : out->kind.mem_bytes;
}

static bool same_kind(const ft_node_kind *a, const ft_node_kind *b)
{
  return a->cpus == b->cpus && a->mem_bytes == b->mem_bytes &&
         a->threads_per_core == b->threads_per_core && strcmp(a->gres, b->gres) == 0;
}

/* Put KIND among the partition's, which are in order of memory. */
static void add_kind(ft_partition *partition, const ft_node_kind *kind, const char *platform)
{
  ft_node_kind kinds[KINDS + 1];
  size_t count = partition->nodes_count, at = count;

  for (size_t i = 0; i < count; i++)
    if (same_kind(&partition->nodes[i], kind)) {
      partition->nodes[i].count++;
      if (platform)
        (void)ft_string_copy(platform, partition->nodes[i].platform,
                             sizeof partition->nodes[i].platform);
      return;
    }
  memcpy(kinds, partition->nodes, count * sizeof *kinds);
  while (at > 0 && kinds[at - 1].mem_bytes > kind->mem_bytes) {
    kinds[at] = kinds[at - 1];
    at--;
  }
  kinds[at] = *kind;
  if (platform)
    (void)ft_string_copy(platform, kinds[at].platform, sizeof kinds[at].platform);
  count++;
  if (count > KINDS) {
    /* the least decide what fits everywhere, the greatest what fits at all */
    kinds[KINDS - 1] = kinds[KINDS];
    count = KINDS;
  }
  memcpy(partition->nodes, kinds, count * sizeof *kinds);
  partition->nodes_count = (pb_size_t)count;
}

int ft_scontrol_partitions(struct ft_text partitions, struct ft_text nodes,
                           const struct ft_slurm_config *config,
                           const struct ft_scontrol_host *host, ft_partition *out, size_t limit,
                           size_t *count, struct ft_error *err)
{
  struct ft_text line, word, name;
  struct node node;

  if (take_partitions(partitions, config, out, limit, count, err) < 0)
    return -1;
  while (ft_text_line(&nodes, &line)) {
    if (!ft_text_word(&line, &word) || !ft_text_starts(word, "NodeName="))
      continue;
    take_node(line, host, &node);
    while (ft_text_until(&node.partitions, ',', &name))
      for (size_t i = 0; i < *count; i++)
        if (ft_text_equals(name, out[i].name))
          add_kind(&out[i], &node.kind, node.is_host && host->platform[0] ? host->platform : NULL);
  }
  return 0;
}
