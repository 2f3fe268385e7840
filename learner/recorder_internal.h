/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by recorder.c (settings and maintenance), recorder_add.c (storage) and refine.c (models).
 */
#ifndef FT_LEARNER_RECORDER_INTERNAL_H
#define FT_LEARNER_RECORDER_INTERNAL_H

#include <limits.h>
#include <sys/stat.h>

#include "daemon/exchange.h"
#include "learner/rebuilder.h"
#include "learner/recorder.h"
#include "learner/user_cleanup.h"
#include "predictor/history/expire.h"

/* A run in the store, with the records of other nodes and of Slurm. */
struct recorded_run {
  ft_observation o;
  /* The stale marks (stale_models.h) that cover the run: of its app's model and of the pooled one.
   * 0: none, or an earlier change of the app is due. */
  int64_t mark, pooled_mark;
};

/* Places for the latest renames, of all users. */
enum { FT_RECORDER_RENAMES = 64 };

struct ft_recorder {
  int state_fd;
  char store_path[PATH_MAX];
  struct ft_publisher *publisher;
  struct ft_model_cache *cache; /* the publisher's */
  struct ft_store *store;       /* NULL while it cannot be opened */
  struct stat opened;           /* its file */
  int64_t last_mark;            /* the largest number of a stale mark seen in it */
  bool replaced;                /* it is not the one that was opened: this process ends */
  struct ft_rebuilder *rebuilder;
  struct ft_user_cleanup *cleanup;
  struct ft_forget_queue *forget_queue;
  struct ft_expiry expire;
  bool expiring;      /* a pass of expiry is running */
  double expire_at;   /* monotonic time of the next pass */
  bool upkeep_warned; /* that the store cannot be maintained */
  bool needs_rebuild; /* an app; the rebuilder does it */
  struct rename_pause {
    uint32_t uid;
    double until;                       /* of the recorder's clock */
  } rename_pauses[FT_RECORDER_RENAMES]; /* by the hash of the user and the app's new name */
  struct ft_shared_apps shared;
  ft_rule rule;
  double failure_cost;
  const struct ft_platform_map *unnamed; /* its nodes' runs are given names; NULL: done */
  size_t next_unnamed;                   /* index in it */
  bool borrow;                           /* update similar apps and the prior */
  uint64_t max_runs;
  unsigned since_trim;   /* observations */
  int64_t last_node_run; /* cursor of ft_recorder_each_node */
  ft_gpus gpus;
  bool together;             /* between ft_recorder_begin and its end */
  size_t ignored_count;      /* not to be stored, in the current transaction */
  size_t run_count;          /* stored in it: */
  struct recorded_run *runs; /* FT_RECORDER_TOGETHER; NULL before the first transaction */
  double (*clock)(void);     /* monotonic; differs in tests only */
  double prior_from;         /* the site-wide prior is not published before */
  double publish_from;       /* no model is published before, so that runs are received */
};

/* Opens the store unless it is open. Returns whether it is; not if its file has been replaced. */
bool ft_recorder_open_store(struct ft_recorder *recorder, struct ft_error *err);

/* Updates the models of RUN's app, and queues them to be published. Returns 0; -1 and ERR. */
int ft_recorder_refine(struct ft_recorder *recorder, const struct recorded_run *run,
                       struct ft_error *err);

/* Publishes all queued models. */
void ft_recorder_publish_all(struct ft_recorder *recorder);

/* Frees the models that no run has changed lately. */
void ft_recorder_drop_unused(struct ft_recorder *recorder);

#endif
