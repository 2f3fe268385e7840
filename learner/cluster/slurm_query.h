/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries to slurmctld about single jobs: a queue of "scontrol show job", four at a time. */
#ifndef FT_LEARNER_CLUSTER_SLURM_QUERY_H
#define FT_LEARNER_CLUSTER_SLURM_QUERY_H

#include "daemon/subprocess.h"
#include "learner/cluster/scontrol.h"

struct ft_slurm_query;

/* RECORD is Slurm's record of JOB_ID, valid during the call; NULL if the query failed. */
typedef void ft_slurm_query_callback(uint32_t job_id, const ft_slurm_job *record, void *data);

/* CALL receives the result of each query. Returns NULL out of memory. */
struct ft_slurm_query *ft_slurm_query_open(struct ft_loop *loop, struct ft_subprocesses *children,
                                           ft_slurm_query_callback *call, void *data);
void ft_slurm_query_close(struct ft_slurm_query *query);

/* Sets the directory of scontrol; "": PATH. */
void ft_slurm_query_set_directory(struct ft_slurm_query *query, const char *directory);

/* Starts no further query while PAUSED; submitted queries wait. */
void ft_slurm_query_pause(struct ft_slurm_query *query, bool paused);

/* Queues a query about JOB_ID. The callback runs later, also if the query fails. */
void ft_slurm_query_submit(struct ft_slurm_query *query, uint32_t job_id);

/* Writes "DIRECTORY/scontrol", or "scontrol" if DIRECTORY is "", to OUT of SIZE bytes. */
void ft_slurm_query_program(const char *directory, char *out, size_t size);

#endif
