/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes of a partition on which a job may run, and reasons why it cannot. Pure. */
#ifndef FT_DECIDE_PLACEMENT_NODES_H
#define FT_DECIDE_PLACEMENT_NODES_H

#include "predictor/decide/placement.h"

/*
 * Totals over the nodes of one platform in a partition that satisfy --constraint, have the
 * requested generic resources and are up. If there is no such node: over those with the resources;
 * without these over those that are up; otherwise over all that satisfy --constraint.
 */
struct ft_row_nodes {
  uint64_t memory_bytes; /* of the largest node with enough CPUs for a task; 0: unknown */
  uint32_t max_cpus;     /* largest number of CPUs of one node that a job may use; 0: unknown */
  uint32_t idle_nodes, idle_cpus; /* in total; valid if idle_known */
  uint32_t max_idle_cpus;         /* largest number of idle CPUs on one node; UINT32_MAX: unknown */
  uint64_t max_gpus;              /* GPUs or MIG slices of one node; 0: none, or unknown */
  bool gpus;                      /* a node that satisfies --constraint has GPUs */
  bool has_gres;                  /* the nodes have the requested generic resources */
  bool up;                        /* not all nodes are known to be down or drained */
  bool idle_known;
};

/* Returns the totals of the nodes of PLATFORM ("": unknown) in PARTITION for the job of QUERY. */
struct ft_row_nodes ft_placement_nodes(const struct ft_placement_query *query,
                                       const ft_partition *partition, const char *platform);

/* Returns the reason, other than memory, time and access, why the job of QUERY cannot run on NODES
 * of PARTITION; a static string; NULL: none known. */
const char *ft_placement_blocking_reason(const struct ft_placement_query *query,
                                         const ft_partition *partition,
                                         const struct ft_row_nodes *nodes);

/* Returns why it is uncertain whether the job of QUERY may run in PARTITION, an index in the
 * evidence: the user's access is unknown, or --exclude may leave no node. A static string; NULL:
 * certain. */
const char *ft_placement_unknown_condition(const struct ft_placement_query *query,
                                           size_t partition);

/* Returns the number of hosts in LIST (NULL: 0): 5 in "a,b[1-3,7]". Duplicates count. UINT32_MAX if
 * LIST contains '/': the name of a file with hosts. */
uint64_t ft_placement_hosts(const char *list);

/* Return the minimum number of CPUs, in total and on one node, of a job with REQUEST in
 * PARTITION. */
double ft_placement_cpu_count(const ft_request *request, const ft_partition *partition);
double ft_placement_cpus_per_node(const ft_request *request, const ft_partition *partition);
/* Returns the minimum number of nodes with NODE_CPUS (0: unknown) CPUs for a job with REQUEST. */
double ft_placement_node_count(const ft_request *request, double node_cpus);

#endif
