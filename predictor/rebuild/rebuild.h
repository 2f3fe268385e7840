/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model, and run times, made from the store a few runs at a time. */
#ifndef FT_REBUILD_REBUILD_H
#define FT_REBUILD_REBUILD_H

#include <stdint.h>

#include "predictor/history/store.h"

struct ft_rebuild {
  ft_model model; /* what is learnt so far */
  ft_performance performance;
  double time; /* of the last run that was, and its row */
  int64_t row;
};

/* Begin with an empty model of UID's APP, of all users' where it is FT_STATE_POOLED, under RULE.
 */
void ft_rebuild_init(struct ft_rebuild *rebuild, uint32_t uid, const char *app, ft_rule rule);

/*
 * Learn from the next RUNS observations, in order of end_time; nothing of the store stays locked
 * between two steps. Returns 1 when no more are left, 0 when some may be, -1 with ERR.
 * A run that is put meanwhile, and may belong before the last one, is for the caller to learn.
 */
int ft_rebuild_step(struct ft_rebuild *rebuild, struct ft_store *store, unsigned runs,
                    struct ft_error *err);

/* Such a run. Returns 0; -1 with ERR out of memory. */
int ft_rebuild_learn(struct ft_rebuild *rebuild, const ft_observation *observation,
                     struct ft_error *err);

/*
 * Makes MODEL of all stored runs of UID's APP (of all users for FT_STATE_POOLED) under RULE, in
 * order of end_time. Returns 0; -1 on error, fills ERR and leaves MODEL as it was.
 */
int ft_rebuild_model(struct ft_store *store, uint32_t uid, const char *app, ft_rule rule,
                     ft_model *model, struct ft_error *err);

#endif
