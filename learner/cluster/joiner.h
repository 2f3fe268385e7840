/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Queries Slurm's records of the jobs whose runs wait for them (history/waiting.h): at once, then
 * each time a run has waited twice as long, and all of them when Slurm replies after a silence.
 * One command at a time asks about many jobs.
 */
#ifndef FT_LEARNER_CLUSTER_JOINER_H
#define FT_LEARNER_CLUSTER_JOINER_H

#include "learner/cluster/job_check.h"
#include "learner/cluster/slurm_query.h"
#include "learner/recorder.h"

struct ft_joiner;

struct ft_join_job {
  uint32_t id;
  struct ft_known_job *known; /* NULL: Slurm has not replied */
};

/* The jobs that are joined, and the waiting run that was read last, of the first of them. Runs that
 * came after Slurm was queried wait for the next query: the record may be of an earlier attempt. */
struct ft_join_cursor {
  const struct ft_join_job *job, *end;
  int64_t last; /* the number of the last run that had come */
  ft_observation *run;
};

/* Joins the waiting runs of AT's jobs with what Slurm has replied. */
typedef void ft_joiner_callback(struct ft_join_cursor *at, void *data);

/* All arguments are borrowed. Begins with all runs that wait. Returns NULL out of memory. */
struct ft_joiner *ft_joiner_open(struct ft_loop *loop, struct ft_slurm_query *slurm,
                                 struct ft_recorder *recorder, ft_joiner_callback *join,
                                 void *data);
void ft_joiner_close(struct ft_joiner *joiner);

/* A run begins to wait. */
void ft_joiner_query_soon(struct ft_joiner *joiner);

/* Slurm has sent REPLY about JOB_ID. */
void ft_joiner_replied(struct ft_joiner *joiner, uint32_t job_id,
                       const struct ft_slurm_reply *reply);

/* Reads the next waiting run. AT's run has an empty node before. Returns 1; 0 at the end; -1 and
 * ERR. */
int ft_join_next(struct ft_recorder *recorder, struct ft_join_cursor *at, struct ft_error *err);

/* The age in seconds at which a run that waits is queried next, after one of AGE. */
double ft_joiner_next_age(double age);

#endif
