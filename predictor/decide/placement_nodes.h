/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nodes of a partition on which a job may run. Pure. */
#ifndef FT_DECIDE_PLACEMENT_NODES_H
#define FT_DECIDE_PLACEMENT_NODES_H

#include "predictor/decide/placement.h"

/*
 * The nodes of one platform in a partition that satisfy --constraint, have the requested generic
 * resources and are up. If there are none, those with the resources count, else those that are up,
 * else all that satisfy --constraint.
 */
struct ft_row_nodes {
  uint64_t memory_bytes; /* of the largest node with enough CPUs for a task; 0: unknown */
  uint32_t max_cpus;     /* largest number of CPUs of one node that a job may use; 0: unknown */
  uint32_t idle_nodes, idle_cpus; /* in total; valid if idle_known */
  uint32_t most_idle;             /* largest number of idle CPUs on one node; UINT32_MAX: unknown */
  bool gpus;                      /* a node that satisfies --constraint has GPUs */
  bool able;                      /* the nodes have the requested resources */
  bool up;                        /* not all nodes are known to be down or drained */
  bool idle_known;
};

/* Returns the nodes of PLATFORM ("": unknown) in PARTITION for the job of QUESTION. */
struct ft_row_nodes ft_placement_nodes(const struct ft_placement_question *question,
                                       const ft_partition *partition, const char *platform);

/* Returns the reason, other than memory, time and access, why the job cannot run on NODES of
 * PARTITION; a static string; NULL: none is known. */
const char *ft_placement_blocking_reason(const struct ft_placement_question *question,
                                         const ft_partition *partition,
                                         const struct ft_row_nodes *nodes);

/* Returns why it is uncertain whether the job may run in PARTITION, an index in the evidence: the
 * user's access is unknown, or --exclude may leave no node. A static string; NULL: it is certain.
 */
const char *ft_placement_unknown_condition(const struct ft_placement_question *question,
                                           size_t partition);

/* Returns the number of hosts in LIST ("a,b[1-3,7]" has 5), counting repeated ones again; NULL: 0;
 * UINT32_MAX for the name of a file with hosts, which contains '/'. */
uint64_t ft_placement_hosts(const char *list);

/* Return the smallest number of CPUs in total, and of CPUs on one node, that REQUEST needs in
 * PARTITION. */
double ft_placement_cpu_count(const ft_request *request, const ft_partition *partition);
double ft_placement_cpus_per_node(const ft_request *request, const ft_partition *partition);
/* Returns the smallest number of nodes with NODE_CPUS (0: unknown) CPUs that REQUEST needs. */
double ft_placement_node_count(const ft_request *request, double node_cpus);

#endif
