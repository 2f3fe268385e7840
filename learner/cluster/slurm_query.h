/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Queries to Slurm about jobs, many in one command. A job that is queried when none has been for a
 * moment is queried at once; jobs that are queried meanwhile share the next command. Jobs that
 * slurmctld has forgotten are queried from slurmdbd, if the cluster has one. If slurmctld limits
 * the requests of a user (rl_enable), a command asks about as many jobs as the one before had
 * replies, and slurmdbd, if there is one, about the others.
 */
#ifndef FT_LEARNER_CLUSTER_SLURM_QUERY_H
#define FT_LEARNER_CLUSTER_SLURM_QUERY_H

#include "daemon/subprocess.h"
#include "learner/cluster/scontrol.h"

struct ft_slurm_query;

/* Slurm's reply about a job, valid during the callback. */
struct ft_slurm_reply {
  const ft_slurm_job *record; /* NULL: there is none, or the query failed */
  struct ft_text nodes;       /* the list of its nodes; empty: not printed */
  bool gone;                  /* without a record: Slurm has replied, and has none */
  bool absent; /* neither slurmctld nor slurmdbd has the job, and PrivateData hides none */
};

typedef void ft_slurm_query_callback(uint32_t job_id, const struct ft_slurm_reply *reply,
                                     void *data);

/* CALL receives the result of each query. Returns NULL out of memory. */
struct ft_slurm_query *ft_slurm_query_open(struct ft_loop *loop, struct ft_subprocesses *children,
                                           ft_slurm_query_callback *call, void *data);
void ft_slurm_query_close(struct ft_slurm_query *query);

/* Sets the directory of scontrol and sacct; "": PATH. */
void ft_slurm_query_set_directory(struct ft_slurm_query *query, const char *directory);

/* Sets whether slurmdbd is queried about jobs that slurmctld does not know. */
void ft_slurm_query_set_slurmdbd(struct ft_slurm_query *query, bool slurmdbd);

/* Starts no further command while PAUSED; submitted queries wait. */
void ft_slurm_query_pause(struct ft_slurm_query *query, bool paused);

/*
 * Queues queries about COUNT jobs. The callback runs later, once for each, also if a query fails;
 * the record is newer than this call. Returns 0; -1 if too many queries wait, and none is queued.
 */
int ft_slurm_query_submit(struct ft_slurm_query *query, const uint32_t *job_id, size_t count);

/* Writes "DIRECTORY/NAME", or NAME if DIRECTORY is "", to OUT of SIZE bytes. */
void ft_slurm_query_program(const char *directory, const char *name, char *out, size_t size);

#endif
