/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by recorder.c (storage) and refine.c (models). */
#ifndef FT_LEARNER_RECORDER_INTERNAL_H
#define FT_LEARNER_RECORDER_INTERNAL_H

#include <limits.h>

#include "learner/rebuilder.h"
#include "learner/recorder.h"
#include "learner/user_cleanup.h"
#include "predictor/history/expire.h"

/* Buffers for one observation, several times the learner's other memory: allocated for each
 * observation. */
struct work {
  ft_observation merged; /* with the records of other nodes and of Slurm */
  ft_model model;
  ft_performance performance;
};

struct ft_recorder {
  int state_fd;
  char store_path[PATH_MAX];
  struct ft_publisher *publisher;
  struct ft_store *store; /* NULL while it cannot be opened */
  struct ft_rebuilder *rebuilder;
  struct ft_user_cleanup *cleanup;
  struct ft_forget_queue *forget_queue;
  struct ft_expiry expire;
  bool expiring;       /* a pass of expiry is running */
  double expire_at;    /* monotonic time of the next pass */
  bool removal_warned; /* that old runs cannot be removed */
  bool needs_rebuild;  /* the last observation's app; the rebuilder does it */
  struct ft_shared_apps shared;
  ft_rule rule;
  double failure_cost;
  bool borrow; /* update similar apps and the prior */
  uint64_t max_runs;
  unsigned since_trim;   /* observations */
  int64_t last_node_run; /* cursor of ft_recorder_each_node */
  ft_gpus gpus;
  struct work *work; /* non-NULL while an observation is recorded */
};

/*
 * Updates and publishes the models of O's app from O, which the store contains. Returns 0; -1 and
 * ERR.
 */
int ft_recorder_refine(struct ft_recorder *recorder, const ft_observation *o, struct ft_error *err);

#endif
