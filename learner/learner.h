/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The learner: stores observations, refines and publishes models, polls the cluster and queries
 * Slurm about jobs. Works in the caller's event loop.
 */
#ifndef FT_LEARNER_LEARNER_H
#define FT_LEARNER_LEARNER_H

#include "daemon/query_server.h"
#include "daemon/subprocess.h"
#include "learner/cluster/slurm_query.h"
#include "predictor/site/conf.h"

struct ft_learner;

struct ft_learner_settings {
  struct ft_loop *loop; /* borrowed, as are the next two */
  struct ft_subprocesses *children;
  const struct ft_config *config; /* valid until ft_learner_configure sets another */
  int state_fd;                   /* the state directory */
  const char *host;               /* this host's name without domain; borrowed */
  /* What nodes must know has changed (ft_learner_settings_of_nodes); FORGET: what they must
   * forget. */
  void (*changed)(bool forget, void *data);
  void *data;
};

/* Opens the store and the published files, and begins to poll the cluster. Returns NULL and ERR. */
struct ft_learner *ft_learner_open(const struct ft_learner_settings *settings,
                                   struct ft_error *err);
void ft_learner_close(struct ft_learner *learner);

/* Returns 0; -1 and ERR if the learner has stopped the loop because its store was replaced. */
int ft_learner_check_store(const struct ft_learner *learner, struct ft_error *err);

/* Applies another configuration, except the state directory; borrowed. */
void ft_learner_configure(struct ft_learner *learner, const struct ft_config *config);

/* Fills in the rule and, once the cluster was polled, Slurm's users; SETTINGS is zeroed before. */
void ft_learner_settings_of_nodes(const struct ft_learner *learner, ft_settings *settings);

/*
 * Stores OBSERVATION, which a node has sent, and refines its app's models, when Slurm's record of
 * the job has completed it; it waits for that in the store. A run that differs from the record is
 * refused then, counted and logged. Returns as ft_recorder_add.
 */
int ft_learner_add(struct ft_learner *learner, const ft_observation *observation,
                   struct ft_error *err);

/* Begin, complete and discard a transaction of several ft_learner_add, as ft_recorder_begin does.
 */
int ft_learner_begin(struct ft_learner *learner, struct ft_error *err);
int ft_learner_commit(struct ft_learner *learner, struct ft_error *err);
void ft_learner_rollback(struct ft_learner *learner);

/* Whether a request to forget covers OBSERVATION; false also if the store cannot be read. */
bool ft_learner_is_forgotten(struct ft_learner *learner, const ft_observation *observation);

/* Looks for stale models and runs to remove now. */
void ft_learner_maintain_soon(struct ft_learner *learner);

/* Answer queries about stored runs, requests to forget and reports of rejected submissions, as
 * struct ft_query_handler describes. */
bool ft_learner_step_query(struct ft_learner *learner, struct ft_query *query, ft_reply *reply);
void ft_learner_end_query(struct ft_learner *learner, struct ft_query *query);

#endif
