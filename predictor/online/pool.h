/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The shared model of an app of all users, protected against single users: no user can shift the
 * estimates of others. The learner's private pooled model (FT_STATE_POOLED) holds the newest
 * FT_POOL_RUNS runs of each user; the model that all users read is derived from it here. Pure.
 */
#ifndef FT_ONLINE_POOL_H
#define FT_ONLINE_POOL_H

#include "predictor/core/error.h"
#include "predictor/record/run_columns.h"

enum {
  FT_POOL_RUNS = 10, /* maximum runs of each user, the newest. */
  FT_POOL_USERS = 3  /* minimum users of a shared model: of two, none could be outvoted */
};

/* Returns the key in the pooled model of UID's run with the usual KEY. It includes a hash of UID.
 */
uint64_t ft_pool_key(uint64_t key, uint32_t uid);

/* Returns whether two keys of ft_pool_key belong to the same user. */
bool ft_pool_same_user(uint64_t key, uint64_t other);

/* Returns whether OBSERVATION may enter the pooled model: not if the agent recorded that the app's
 * declared command did not run. */
bool ft_pool_accepts(const ft_observation *observation);

struct ft_pool_run {
  uint64_t key; /* of ft_pool_key */
  double time;
};

/* Returns which of the COUNT RUNS of a pooled model, oldest first, leaves it for RUN: the user's
 * oldest if there are FT_POOL_RUNS. Returns COUNT if none has to, SIZE_MAX if RUN is older than all
 * of them and stays out. */
size_t ft_pool_leaving(const struct ft_pool_run *runs, size_t count, struct ft_pool_run run);

/*
 * Fills SHARED with the model of QUANTITY, host memory or one that is of_history, of the completed
 * runs of POOLED's HISTORY that all users may read.
 * Each user's runs are compared with a prediction from the other users' runs. A run with feature
 * values that no other user's runs have is omitted, and so is a user whose median run lies outside
 * the predicted 5 % and 95 % quantiles. The values of each remaining user are multiplied by one
 * factor so that their median lies between the predicted quartiles; each is then limited to the
 * predicted 5 % and 95 % quantiles. Data about scripts of single users and about model files is
 * omitted. Takes up to 2 ms
 * per user. Returns 1; 0 with fewer than FT_POOL_USERS users left, SHARED is then undefined; -1 out
 * of memory and fills ERR.
 */
int ft_pool_shared_model(const ft_model *pooled, const struct ft_history *history, size_t quantity,
                         ft_model *shared, struct ft_error *err);

/* Returns whether the RUNTIMES of a pooled model are of at least FT_POOL_USERS users. */
bool ft_pool_has_users(const struct ft_runtimes *runtimes);

#endif
