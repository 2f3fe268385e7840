/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the runs that agents deliver with Slurm's records of their jobs: a node can store runs
 * of jobs that Slurm has started only, under their user and nodes. The latest records are kept, so
 * that most comparisons take no query: agents query the records of their jobs, too.
 */
#ifndef FT_LEARNER_CLUSTER_JOB_CHECK_H
#define FT_LEARNER_CLUSTER_JOB_CHECK_H

#include "learner/cluster/slurm_query.h"

struct ft_job_checks;

enum ft_job_match {
  FT_JOB_MATCHES,
  FT_JOB_DIFFERS,
  FT_JOB_UNKNOWN, /* Slurm did not reply, or has forgotten the job */
  FT_JOB_UNASKED  /* Slurm has to be queried about the job */
};

/* Returns NULL out of memory. */
struct ft_job_checks *ft_job_checks_open(void);
void ft_job_checks_close(struct ft_job_checks *checks);

/* Remembers REPLY about JOB_ID, which came at the monotonic time NOW. */
void ft_job_checks_add(struct ft_job_checks *checks, uint32_t job_id,
                       const struct ft_slurm_reply *reply, double now);

/*
 * Compares user and node of RUN with Slurm's record, and whether there is such a job. A record from
 * before the run's attempt, or one that differs and is some seconds old at the monotonic time NOW,
 * has to be queried again, unless ASKED: it was. Fills ERR if they differ.
 */
enum ft_job_match ft_job_checks_compare(const struct ft_job_checks *checks,
                                        const ft_observation *run, bool asked, double now,
                                        struct ft_error *err);

/* Sets RUN's place in its job from Slurm's record, if one is remembered: IDs of an array's task or
 * of a heterogeneous job's component, and the number of nodes. */
void ft_job_checks_complete(const struct ft_job_checks *checks, ft_observation *run);

#endif
