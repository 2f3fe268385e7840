/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a partition's nodes a job may come onto. Pure. */
#ifndef FT_DECIDE_PLACEMENT_NODES_H
#define FT_DECIDE_PLACEMENT_NODES_H

#include "predictor/decide/placement.h"

/*
 * The nodes of one platform in a partition: of those that have what --constraint asks for the ones
 * that have the generic resources and are up; where no node is so, those that come nearest.
 */
struct ft_row_nodes {
  uint64_t memory_bytes; /* of the largest that has CPUs enough */
  uint32_t max_cpus, idle_nodes, idle_cpus;
  uint32_t most_idle;  /* CPUs on one node, as far as it is known */
  bool gpus, able, up; /* some have GPUs; have what is asked for; are up or it is not known */
  bool idle_known;
};

struct ft_row_nodes ft_placement_nodes(const struct ft_placement_question *question,
                                       const ft_partition *partition, const char *platform);

/* For what reason other than memory, time and access the job cannot run on NODES; NULL: none. */
const char *ft_placement_blocking_reason(const struct ft_placement_question *question,
                                         const ft_partition *partition,
                                         const struct ft_row_nodes *nodes);

/* Why it is not known whether the job may run in PARTITION (of the evidence), though nothing is
 * known to be in its way; NULL: it is known. */
const char *ft_placement_unknown_condition(const struct ft_placement_question *question,
                                           size_t partition);

/* How many hosts LIST names at most, "a,b[1-3,7]"; NULL: none. */
uint64_t ft_placement_hosts(const char *list);

/* What a job takes at least: CPUs; CPUs of one node; nodes of NODE_CPUS (0: not known) CPUs. */
double ft_placement_cpu_count(const ft_request *request, const ft_partition *partition);
double ft_placement_cpus_per_node(const ft_request *request, const ft_partition *partition);
double ft_placement_node_count(const ft_request *request, double node_cpus);

#endif
