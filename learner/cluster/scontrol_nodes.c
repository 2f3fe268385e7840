/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parser of partitions and of the node types in them. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "learner/cluster/scontrol.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"

#define MAX_NODE_TYPES (sizeof((ft_partition *)0)->nodes / sizeof *((ft_partition *)0)->nodes)

static uint64_t number_or_zero(struct ft_text value, uint64_t max)
{
  uint64_t number;

  return ft_text_u64(&value, max, &number) && !ft_text_left(&value) ? number : 0;
}

static uint64_t bytes_of_mib(struct ft_text value)
{
  return number_or_zero(value, UINT64_MAX / FT_MIB) * FT_MIB;
}

/* Fields that restrict a partition's use, unless they have the value OPEN. */
static const struct {
  const char *key, *open;
  ft_restricts by;
} restriction_keys[] = { { "AllowGroups", "ALL", FT_RESTRICTS_GROUPS },
                         { "AllowAccounts", "ALL", FT_RESTRICTS_ACCOUNTS },
                         { "DenyAccounts", "", FT_RESTRICTS_ACCOUNTS_DENIED },
                         { "AllowQos", "ALL", FT_RESTRICTS_QOS },
                         { "DenyQos", "", FT_RESTRICTS_QOS_DENIED },
                         { "RootOnly", "NO", FT_RESTRICTS_ROOT },
                         { "DisableRootJobs", "NO", FT_RESTRICTS_ROOT_DENIED },
                         { "ReqResv", "NO", FT_RESTRICTS_RESERVATION },
                         { "AllocNodes", "ALL", FT_RESTRICTS_HOSTS } };

/* Adds the restriction KEY=WORD, if it is one. If the list is full its last entry becomes OTHER. */
static void parse_restriction(struct ft_text key, struct ft_text word,
                              const struct ft_slurm_config *config, ft_partition *out)
{
  enum { ROOM = sizeof out->restrictions / sizeof *out->restrictions };

  for (size_t i = 0; i < sizeof restriction_keys / sizeof *restriction_keys; i++) {
    ft_restriction *r = &out->restrictions[out->restrictions_count];

    bool accounts = restriction_keys[i].by == FT_RESTRICTS_ACCOUNTS ||
                    restriction_keys[i].by == FT_RESTRICTS_ACCOUNTS_DENIED;

    if (!ft_text_equals(key, restriction_keys[i].key) ||
        ft_text_equals(word, restriction_keys[i].open) ||
        (accounts && config->accounts_are_ignored))
      continue;
    out->restricted |= restriction_keys[i].by != FT_RESTRICTS_ROOT_DENIED;
    if (out->restrictions_count == ROOM) {
      out->restrictions[ROOM - 1] = (ft_restriction){ .by = FT_RESTRICTS_OTHER };
      continue;
    }
    *r = (ft_restriction){ .by = restriction_keys[i].by,
                           .open_ended = accounts && config->accounts_are_trees };
    if (!ft_text_copy(word, r->names, sizeof r->names))
      r->names[0] = '\0';
    out->restrictions_count++;
  }
}

static void limit_max_nodes(struct ft_text word, ft_partition *out)
{
  uint32_t nodes = (uint32_t)number_or_zero(word, UINT32_MAX); /* of UNLIMITED: 0 */

  if (nodes && (!out->max_nodes || nodes < out->max_nodes))
    out->max_nodes = nodes;
}

bool ft_scontrol_cpu_unit(struct ft_text value, ft_cpu_unit *out)
{
  static const struct {
    const char *name;
    ft_cpu_unit unit;
  } units[] = { { "CR_Core", FT_CPU_UNIT_CORE },
                { "CR_Core_Memory", FT_CPU_UNIT_CORE },
                { "CR_Socket", FT_CPU_UNIT_SOCKET },
                { "CR_Socket_Memory", FT_CPU_UNIT_SOCKET } };

  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (ft_text_lists_any_case(value, ft_text_from(units[i].name))) {
      *out = units[i].unit;
      return true;
    }
  return false;
}

void ft_scontrol_per_gpu(struct ft_text value, uint64_t *mem_bytes, uint32_t *cpus)
{
  struct ft_text one;

  while (ft_text_until(&value, ',', &one))
    if (ft_text_skip(&one, "DefMemPerGPU="))
      *mem_bytes = bytes_of_mib(one);
    else if (ft_text_skip(&one, "DefCpuPerGPU="))
      *cpus = (uint32_t)number_or_zero(one, UINT32_MAX);
}

/* UNLIMITED and NONE are 0. */
static double seconds_or_zero(struct ft_text word)
{
  double seconds;

  return ft_units_parse_seconds(word, &seconds) ? seconds : 0;
}

static void parse_partition(struct ft_text line, const struct ft_slurm_config *config,
                            ft_partition *out)
{
  struct ft_text word, key;

  while (ft_text_word(&line, &word)) {
    if (!ft_text_until(&word, '=', &key))
      continue;
    parse_restriction(key, word, config, out);
    if (ft_text_equals(key, "Default")) {
      out->is_default = ft_text_equals(word, "YES");
    } else if (ft_text_equals(key, "OverSubscribe")) {
      /* up to 25.11, with ExclusiveTopo=YES too */
      out->exclusive |= ft_text_equals(word, "EXCLUSIVE");
    } else if (ft_text_equals(key, "Exclusive")) {
      /* from 26.05 on; USER shares a node among one user's jobs */
      out->exclusive |= ft_text_equals(word, "NODE") || ft_text_equals(word, "TOPO");
    } else if (ft_text_equals(key, "DefMemPerNode") || ft_text_equals(key, "DefMemPerCPU")) {
      out->def_mem_bytes = bytes_of_mib(word);
      out->def_per_cpu = ft_text_equals(key, "DefMemPerCPU");
    } else if (ft_text_equals(key, "MaxMemPerNode") || ft_text_equals(key, "MaxMemPerCPU")) {
      out->max_mem_bytes = bytes_of_mib(word);
      out->max_per_cpu = ft_text_equals(key, "MaxMemPerCPU");
    } else if (ft_text_equals(key, "JobDefaults")) {
      ft_scontrol_per_gpu(word, &out->def_mem_per_gpu_bytes, &out->def_cpus_per_gpu);
    } else if (ft_text_equals(key, "SelectTypeParameters")) {
      (void)ft_scontrol_cpu_unit(word, &out->cpu_unit);
    } else if (ft_text_equals(key, "MaxTime")) {
      out->max_seconds = seconds_or_zero(word);
    } else if (ft_text_equals(key, "DefaultTime")) {
      out->default_seconds = seconds_or_zero(word);
    } else if (ft_text_equals(key, "MaxNodes") || ft_text_equals(key, "TotalNodes")) {
      limit_max_nodes(word, out);
    } else if (ft_text_equals(key, "MaxCPUsPerNode")) {
      out->max_cpus = (uint32_t)number_or_zero(word, UINT32_MAX); /* of UNLIMITED: 0 */
    } else if (ft_text_equals(key, "Hidden")) {
      out->hidden = ft_text_equals(word, "YES");
    } else if (ft_text_equals(key, "State")) {
      out->closed = !ft_text_equals(word, "UP");
    }
  }
  /* slurm.conf's global values apply where the partition has none */
  if (!out->def_mem_bytes) {
    out->def_mem_bytes = config->def_mem_bytes;
    out->def_per_cpu = config->def_per_cpu;
  }
  /* select/cons_tres uses a partition's value only if the cluster has one, too */
  if (!out->cpu_unit || !config->cpu_unit)
    out->cpu_unit = config->cpu_unit;
  out->one_task_per_core = config->one_task_per_core;
  if (!out->def_mem_per_gpu_bytes)
    out->def_mem_per_gpu_bytes = config->def_mem_per_gpu_bytes;
  if (!out->def_cpus_per_gpu)
    out->def_cpus_per_gpu = config->def_cpus_per_gpu;
  if (!out->max_mem_bytes) {
    out->max_mem_bytes = config->max_mem_bytes;
    out->max_per_cpu = config->max_per_cpu;
  }
}

static int parse_partitions(struct ft_text text, const struct ft_slurm_config *config,
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
    parse_partition(line, config, partition);
    (*count)++;
  }
  if (!*count)
    return ft_error_set(err,
                        "scontrol show partition: expected a line that begins with PartitionName=");
  return 0;
}

/* Splits the next generic resource off LIST, without its sockets: "gpu:a100:4(S:0-1)" gives
 * "gpu:a100:4". */
static bool next_gres(struct ft_text *list, struct ft_text *gres)
{
  struct ft_text piece;

  if (ft_text_equals(*list, "(null)"))
    return false;
  while (ft_text_until(list, ',', &piece)) {
    /* the rest of a list of sockets: "...(S:0,2)" */
    if (!memchr(piece.at, '(', ft_text_left(&piece)) && ft_text_left(&piece) &&
        piece.end[-1] == ')')
      continue;
    if (ft_text_until(&piece, '(', gres) && ft_text_left(gres))
      return true;
  }
  return false;
}

static void collect_gres(struct ft_text list, ft_node_type *out)
{
  struct ft_text gres;
  size_t used = 0;

  out->gres[0] = '\0';
  out->gres_truncated = false;
  while (next_gres(&list, &gres)) {
    size_t length = ft_text_left(&gres);

    if (used + length + 2 > sizeof out->gres) {
      out->gres_truncated = true;
      continue;
    }
    if (used)
      out->gres[used++] = ',';
    memcpy(out->gres + used, gres.at, length);
    used += length;
    out->gres[used] = '\0';
  }
}

/* Adds GRES, such as "gpu:a100:4", to the partition if it has a type; ignores it if the list is
 * full. */
static void add_partition_gres(ft_partition *partition, struct ft_text gres)
{
  ft_gres *found = partition->gres, one = { .count = 1 };
  const char *colon = memrchr(gres.at, ':', ft_text_left(&gres));
  struct ft_text count = { colon ? colon + 1 : gres.end, gres.end };
  uint64_t number;

  if (ft_text_u64(&count, UINT32_MAX, &number) && !ft_text_left(&count)) {
    one.count = (uint32_t)number;
    gres.end = colon;
  }
  if (!memchr(gres.at, ':', ft_text_left(&gres)) || !ft_text_copy(gres, one.name, sizeof one.name))
    return;
  found += FT_ROWS_FIND_INLINED(partition->gres, partition->gres_count, one.name);
  if (found == partition->gres + partition->gres_count) {
    if (partition->gres_count == sizeof partition->gres / sizeof *partition->gres)
      return;
    partition->gres_count++;
    *found = one;
  }
  if (one.count > found->count)
    found->count = one.count;
}

struct parsed_node {
  ft_node_type type;
  struct ft_text name, features, partitions, gres;
  uint64_t used_cpus, cpus;
  bool is_host, idle, accepts_jobs, down;
};

/*
 * Parses a state such as "IDLE", "MIXED+CLOUD" or "IDLE*": whether the node is idle, whether a job
 * could begin on it, and whether it is down until an administrator acts. With an unknown flag no
 * job can.
 */
static void parse_node_state(struct ft_text state, struct parsed_node *out)
{
  static const char *const harmless[] = { "CLOUD",        "DYNAMIC_NORM", "DYNAMIC_FUTURE",
                                          "POWERED_DOWN", "POWERING_UP",  NULL };
  /* without UNKNOWN: the node may register at any time */
  static const char *const lost[] = { "DOWN", "DOWN*",   "FUTURE",   "ERROR", "DRAIN",
                                      "FAIL", "DRAINED", "DRAINING", NULL };
  struct ft_text flag;
  char name[32];

  if (!ft_text_until(&state, '+', &flag))
    return;
  out->accepts_jobs = ft_text_equals(flag, "IDLE") || ft_text_equals(flag, "MIXED");
  out->idle = ft_text_equals(flag, "IDLE");
  out->down = ft_text_copy(flag, name, sizeof name) && ft_string_listed(lost, name);
  while (ft_text_until(&state, '+', &flag)) {
    bool named = ft_text_copy(flag, name, sizeof name);

    out->accepts_jobs &= named && ft_string_listed(harmless, name);
    out->down |= named && ft_string_listed(lost, name);
  }
  out->idle = out->idle && out->accepts_jobs;
}

/* Copies the features that --constraint may name; too long a list counts as unknown. */
static void parse_features(struct ft_text list, ft_node_type *out)
{
  out->has_features = true;
  if (!ft_text_equals(list, "(null)"))
    out->has_features = ft_text_copy(list, out->features, sizeof out->features);
}

/* Parses a line of "scontrol show node -o". Returns false if it is none. */
static bool parse_node(struct ft_text line, const struct ft_scontrol_host *host,
                       struct parsed_node *out)
{
  struct ft_text word, key;
  uint64_t reserved = 0, cores = 0;

  *out = (struct parsed_node){ .type.count = 1 };
  if (!ft_text_word(&line, &out->name) || !ft_text_skip(&out->name, "NodeName="))
    return false;
  while (ft_text_word(&line, &word)) {
    if (!ft_text_until(&word, '=', &key))
      continue;
    if (ft_text_equals(key, "CPUTot"))
      out->type.cpus = (uint32_t)number_or_zero(word, UINT32_MAX);
    else if (ft_text_equals(key, "CPUEfctv"))
      out->cpus = number_or_zero(word, UINT32_MAX);
    else if (ft_text_equals(key, "CPUAlloc"))
      out->used_cpus = number_or_zero(word, UINT32_MAX);
    else if (ft_text_equals(key, "State"))
      parse_node_state(word, out);
    else if (ft_text_equals(key, "AvailableFeatures"))
      parse_features(word, &out->type);
    else if (ft_text_equals(key, "ActiveFeatures"))
      out->features = word;
    else if (ft_text_equals(key, "RealMemory"))
      out->type.mem_bytes = bytes_of_mib(word);
    else if (ft_text_equals(key, "MemSpecLimit"))
      reserved = bytes_of_mib(word);
    else if (ft_text_equals(key, "ThreadsPerCore"))
      out->type.threads_per_core = (uint32_t)number_or_zero(word, UINT32_MAX);
    else if (ft_text_equals(key, "Sockets"))
      out->type.sockets = (uint32_t)number_or_zero(word, UINT32_MAX);
    else if (ft_text_equals(key, "CoresPerSocket"))
      cores = number_or_zero(word, UINT32_MAX);
    else if (ft_text_equals(key, "Gres"))
      collect_gres(out->gres = word, &out->type);
    else if (ft_text_equals(key, "NodeHostName"))
      out->is_host = ft_text_equals(word, host->name);
    else if (ft_text_equals(key, "Partitions"))
      out->partitions = word;
  }
  out->type.mem_bytes -= reserved < out->type.mem_bytes ? reserved : out->type.mem_bytes;
  /* a site may define cores as CPUs */
  if (out->type.cpus && out->type.cpus <= cores * out->type.sockets)
    out->type.threads_per_core = 1;
  if (!out->cpus)
    out->cpus = out->type.cpus; /* before 22.05 */
  return true;
}

static const char *declared_platform(const struct parsed_node *node,
                                     const struct ft_scontrol_host *host)
{
  return host->map ? ft_platform_map_declared(host->map, node->name, node->features) : NULL;
}

/* Returns NODE's declared, else its observed platform; NULL: unknown. */
static const char *node_platform(const struct parsed_node *node,
                                 const struct ft_scontrol_host *host)
{
  const char *name = declared_platform(node, host);

  if (!name && node->is_host && host->platform[0])
    name = host->platform;
  if (!name && host->map)
    name = ft_platform_map_observed(host->map, node->name);
  return name;
}

static bool has_same_hardware(const ft_node_type *a, const ft_node_type *b)
{
  return a->cpus == b->cpus && a->mem_bytes == b->mem_bytes &&
         a->threads_per_core == b->threads_per_core && a->sockets == b->sockets &&
         strcmp(a->gres, b->gres) == 0 && a->gres_truncated == b->gres_truncated;
}

/* Adds the features of MORE to those of TYPE; unknown if either is or the list is too long. */
static void merge_features(ft_node_type *type, const ft_node_type *more)
{
  struct ft_text list = ft_text_from(more->features), one;
  size_t used = strlen(type->features);
  char name[sizeof type->features];

  type->has_features = type->has_features && more->has_features;
  while (type->has_features && ft_text_until(&list, ',', &one)) {
    if (!ft_text_copy(one, name, sizeof name) || ft_text_lists(ft_text_from(type->features), name))
      continue;
    if (used + strlen(name) + 2 > sizeof type->features) {
      type->has_features = false;
      break;
    }
    used += (size_t)snprintf(type->features + used, sizeof type->features - used, "%s%s",
                             used ? "," : "", name);
  }
  if (!type->has_features)
    type->features[0] = '\0';
}

/* Adds the nodes of MORE, which are of the same type, to TYPE. */
static void merge_node_types(ft_node_type *type, const ft_node_type *more)
{
  type->count += more->count;
  type->idle_nodes += more->idle_nodes;
  type->idle_cpus += more->idle_cpus;
  type->down_nodes += more->down_nodes;
  if (more->max_idle_cpus > type->max_idle_cpus)
    type->max_idle_cpus = more->max_idle_cpus;
  merge_features(type, more);
}

/* Adds TYPE to the partition's node types, sorted by memory, or merges it with the same type. */
static void add_partition_node_type(ft_partition *partition, const ft_node_type *type)
{
  ft_node_type types[MAX_NODE_TYPES + 1];
  size_t count = partition->nodes_count, at = count;

  for (size_t i = 0; i < count; i++)
    if (has_same_hardware(&partition->nodes[i], type) &&
        strcmp(partition->nodes[i].platform, type->platform) == 0) {
      merge_node_types(&partition->nodes[i], type);
      return;
    }
  memcpy(types, partition->nodes, count * sizeof *types);
  while (at > 0 && types[at - 1].mem_bytes > type->mem_bytes) {
    types[at] = types[at - 1];
    at--;
  }
  types[at] = *type;
  count++;
  if (count > MAX_NODE_TYPES) {
    /* the smallest decide what fits everywhere, the largest what fits at all */
    types[MAX_NODE_TYPES - 1] = types[MAX_NODE_TYPES];
    count = MAX_NODE_TYPES;
    /* the dropped type may have had any features */
    for (size_t i = 0; i < count; i++) {
      types[i].has_features = false;
      types[i].features[0] = '\0';
    }
  }
  memcpy(partition->nodes, types, count * sizeof *types);
  partition->nodes_count = (pb_size_t)count;
}

/* Assigns to node types of unknown platform that of the types with the same hardware, if there is
 * exactly one and it was observed. Declared platforms apply only to the nodes that their section
 * lists. */
static void assign_observed_platforms(ft_partition *partition, const struct ft_platform_map *map)
{
  ft_node_type *type = partition->nodes;

  for (size_t i = 0; i < partition->nodes_count; i++) {
    size_t like = 0, found = 0;

    for (size_t j = 0; j < partition->nodes_count; j++)
      if (!type[i].platform[0] && type[j].platform[0] && has_same_hardware(&type[i], &type[j])) {
        found = j;
        like++;
      }
    if (like != 1 || (map && ft_platform_map_has_section(map, type[found].platform)))
      continue;
    merge_node_types(&type[found], &type[i]);
    partition->nodes_count--;
    memmove(type + i, type + i + 1, (partition->nodes_count - i) * sizeof *type);
    i--;
  }
}

static void add_node(ft_partition *partition, const struct parsed_node *node)
{
  struct ft_text list = node->gres, gres;
  ft_node_type type = node->type;

  type.has_idle_nodes = type.has_idle_cpus = type.has_down_nodes = true;
  type.has_max_idle_cpus = true;
  type.idle_nodes = node->idle;
  type.down_nodes = node->down;
  if (node->accepts_jobs && node->cpus > node->used_cpus)
    type.idle_cpus = type.max_idle_cpus = (uint32_t)(node->cpus - node->used_cpus);
  add_partition_node_type(partition, &type);
  while (next_gres(&list, &gres))
    add_partition_gres(partition, gres);
  partition->idle_nodes += type.idle_nodes;
  partition->idle_cpus += type.idle_cpus;
}

int ft_scontrol_partitions(struct ft_text partitions, struct ft_text nodes,
                           const struct ft_slurm_config *config,
                           const struct ft_scontrol_host *host, ft_partition *out, size_t limit,
                           size_t *count, struct ft_error *err)
{
  struct ft_text line, name;
  struct parsed_node node;

  if (parse_partitions(partitions, config, out, limit, count, err) < 0)
    return -1;
  for (size_t i = 0; i < *count; i++)
    out[i].has_idle_nodes = out[i].has_idle_cpus = true;
  while (ft_text_line(&nodes, &line)) {
    if (!parse_node(line, host, &node))
      continue;
    (void)ft_string_copy(node_platform(&node, host), node.type.platform, sizeof node.type.platform);
    while (ft_text_until(&node.partitions, ',', &name))
      for (size_t i = 0; i < *count; i++)
        if (ft_text_equals(name, out[i].name))
          add_node(&out[i], &node);
  }
  for (size_t i = 0; i < *count; i++)
    assign_observed_platforms(&out[i], host->map);
  return 0;
}

void ft_scontrol_assign_platforms(struct ft_text nodes, const struct ft_scontrol_host *host)
{
  struct ft_text line;
  struct parsed_node node;

  ft_platform_map_unassign(host->map);
  while (ft_text_line(&nodes, &line))
    if (parse_node(line, host, &node))
      ft_platform_map_assign(host->map, node.name, node.features);
}
