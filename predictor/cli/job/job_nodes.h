/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nodes of a job's run, for foretell job. */
#ifndef FT_CLI_JOB_NODES_H
#define FT_CLI_JOB_NODES_H

#include <jansson.h>

#include "predictor/cli/store_access.h"

/* What one node recorded. Absent values are 0; KILLED_AT is negative then. */
struct ft_job_node {
  uint64_t run; /* ft_observation_run_key */
  char node[64];
  double peak, limit, cpu_seconds, runtime, killed_at;
  uint32_t cpus;
  bool peak_is_bound;
  ft_outcome outcome;
};

struct ft_job_nodes {
  struct ft_job_node *node; /* in the order of their names */
  size_t count, room;
  uint64_t run; /* ft_observation_run_key */
};

/*
 * Reads the nodes of the stored RUN, which FILTER selects, in the state directory STATE (NULL: the
 * configured one). NODES starts zeroed. Returns 0; -1 and fills ERR.
 */
int ft_job_nodes_read(const char *state, const struct ft_store_filter *filter,
                      const ft_observation *run, struct ft_job_nodes *nodes, struct ft_error *err);

/* What is new in an observation of a running job. */
enum ft_job_news { FT_JOB_NOTHING, FT_JOB_NODE, FT_JOB_RUN };

/* Adds a running job's observation, of any run. NODES->run is not used. */
enum ft_job_news ft_job_nodes_add(struct ft_job_nodes *nodes, const ft_observation *o);

/* Removes the nodes of other runs than RUN's, and sorts the rest. */
void ft_job_nodes_keep(struct ft_job_nodes *nodes, const ft_observation *run);
void ft_job_nodes_free(struct ft_job_nodes *nodes);

/* Prints the number of nodes and their peaks after LABEL, as one line; nothing for a job on one
 * node. */
void ft_job_nodes_print(const char *label, const struct ft_job_nodes *nodes,
                        const ft_observation *run);

/* Returns a new array with an object for each node. */
json_t *ft_job_nodes_json(const struct ft_job_nodes *nodes);

#endif
