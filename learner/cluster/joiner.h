/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Joins the runs that wait (history/waiting.h) with Slurm's records of their jobs. The records are
 * queried a second later, then each time a run has waited twice as long, and all of them when Slurm
 * replies after a silence. One command at a time asks about many jobs. Runs that came after Slurm
 * was queried wait for the next query: the record may be of an earlier attempt.
 */
#ifndef FT_LEARNER_CLUSTER_JOINER_H
#define FT_LEARNER_CLUSTER_JOINER_H

#include "learner/cluster/job_check.h"
#include "learner/cluster/slurm_query.h"
#include "learner/recorder.h"

struct ft_joiner;

struct ft_joiner_settings {
  struct ft_loop *loop;
  struct ft_slurm_query *slurm;
  struct ft_recorder *recorder;
  /* Begins, ends a transaction of `recorder`; return 0; -1 and ERR. */
  int (*begin)(void *data, struct ft_error *err);
  int (*end)(bool commit, void *data, struct ft_error *err);
  /* Stores RUN, which Slurm's record has completed. Returns as ft_recorder_add. */
  int (*store)(ft_observation *run, void *data, struct ft_error *err);
  /* A run is refused because of WHY. */
  void (*refuse)(const struct ft_error *why, void *data);
  void *data;
};

/* What SETTINGS has is borrowed. Begins with all runs that wait. Returns NULL out of memory. */
struct ft_joiner *ft_joiner_open(const struct ft_joiner_settings *settings);
void ft_joiner_close(struct ft_joiner *joiner);

/* A run begins to wait. */
void ft_joiner_query_soon(struct ft_joiner *joiner);

/* Slurm has sent REPLY about JOB_ID. */
void ft_joiner_replied(struct ft_joiner *joiner, uint32_t job_id,
                       const struct ft_slurm_reply *reply);

/* The age in seconds at which a run that waits is queried next, after one of AGE. */
double ft_joiner_next_age(double age);

#endif
