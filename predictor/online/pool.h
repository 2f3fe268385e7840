/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs of all users together, of which no user's speak for another's. The agent's own model of
 * them (FT_STATE_POOLED) keeps the last FT_POOL_RUNS of each user; what everybody is told is made
 * of it here. Pure.
 */
#ifndef FT_ONLINE_POOL_H
#define FT_ONLINE_POOL_H

#include "predictor/core/error.h"
#include "predictor/record/record.h"

enum {
  FT_POOL_RUNS = 10, /* of each user, the newest */
  FT_POOL_USERS = 3  /* stand behind what others are told: of two, nobody could say who is right */
};

/* The key under which all users' model keeps UID's run, which has KEY elsewhere: it says whose. */
uint64_t ft_pool_key(uint64_t key, uint32_t uid);

/* Whether the runs with the two keys of ft_pool_key are one user's. */
bool ft_pool_same_user(uint64_t key, uint64_t other);

/* Whether OBSERVATION counts among all users': nobody saw that its app's declared command did not
 * run. */
bool ft_pool_accepts(const ft_observation *observation);

/*
 * Whether RUN may join MODEL, all users': its user has fewer than FT_POOL_RUNS there, or an older
 * one, which leaves.
 */
bool ft_pool_make_room(ft_model *model, const ft_run *run);

/*
 * Fills TOLD with the model of POOLED's completed runs that all may read. Each run counts as far as
 * the other users' runs bear it out: where they have none like it, in features that matter or not,
 * it is left out, and so is a user whose middle run is outside the 5 % and 95 % quantiles of what
 * the others say. The runs of each of the rest are moved together until the middle one is within
 * the middle half of that, and each counts as no more and no less than those quantiles. What tells
 * of single users' scripts is left out. Returns 1; 0 where fewer than FT_POOL_USERS users stand
 * behind it, TOLD being of no use; -1 with ERR out of memory. Takes up to 2 ms a user.
 */
int ft_pool_shared_model(const ft_model *pooled, ft_model *told, struct ft_error *err);

/* Whether FT_POOL_USERS users have runs in PERFORMANCE, all users'. */
bool ft_pool_has_users(const ft_performance *performance);

#endif
