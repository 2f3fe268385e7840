/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Questions whether a job is a user's, to Slurm. Each user has one question at a time in Slurm's
 * queue, and the others wait, so that no user delays the queries of agents.
 */
#ifndef FT_LEARNER_CLUSTER_JOB_OWNER_H
#define FT_LEARNER_CLUSTER_JOB_OWNER_H

#include "learner/cluster/slurm_query.h"

struct ft_job_owners;

/* A question; not moved before ft_job_owner_drop. */
struct ft_job_owner {
  uint32_t job_id;
  uid_t uid;
  bool asked, answered; /* zeroed before */
  bool is_owner;        /* if answered: by Slurm's record JOB_ID is UID's */
};

/* Returns NULL out of memory. */
struct ft_job_owners *ft_job_owners_open(struct ft_slurm_query *slurm);
void ft_job_owners_close(struct ft_job_owners *owners);

/* Asks Slurm, if it is the user's turn. Called until the question is answered. */
void ft_job_owner_ask(struct ft_job_owners *owners, struct ft_job_owner *question);

/* The question is no longer of interest. */
void ft_job_owner_drop(struct ft_job_owners *owners, struct ft_job_owner *question);

/* Takes RECORD (NULL: none) of JOB_ID, which Slurm has returned. Returns whether a question waited
 * for it. */
bool ft_job_owners_reply(struct ft_job_owners *owners, uint32_t job_id, const ft_slurm_job *record);

#endif
