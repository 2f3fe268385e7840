/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Joins the runs that nodes send with Slurm's records of their jobs. A node can store runs only of
 * jobs that Slurm has started there, under their user: what differs is refused.
 */
#ifndef FT_LEARNER_CLUSTER_JOB_CHECK_H
#define FT_LEARNER_CLUSTER_JOB_CHECK_H

#include "learner/cluster/slurm_query.h"

/* What Slurm has replied about a job. */
struct ft_known_job;

enum ft_job_match {
  FT_JOB_MATCHES, /* the run is complete */
  FT_JOB_DIFFERS,
  FT_JOB_UNKNOWN, /* Slurm has not replied, or the job has not ended there */
  FT_JOB_GONE     /* Slurm has no record, and may have had one */
};

/* Returns a copy of REPLY, to be freed; NULL out of memory. */
struct ft_known_job *ft_known_job_new(const struct ft_slurm_reply *reply);

/*
 * Compares user and node of RUN with what Slurm has replied about its JOB (NULL: nothing), and
 * whether there is such a job. If they match, completes RUN (slurm_job.h). Fills ERR if they
 * differ.
 */
enum ft_job_match ft_known_job_join(const struct ft_known_job *job, ft_observation *run,
                                    struct ft_error *err);

#endif
