/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the models of an app, memory and run times, from its stored runs. */
#ifndef FT_REBUILD_REBUILD_H
#define FT_REBUILD_REBUILD_H

#include <stdint.h>

#include "predictor/history/pages.h"
#include "predictor/record/state_files.h"

struct ft_rebuild {
  struct ft_app_models models;   /* from the runs read so far */
  struct ft_store_cursor cursor; /* the last run read */
};

/* Sets REBUILD to empty models of UID's APP (of all users for FT_STATE_POOLED) under the accounting
 * RULE, before the first run. */
void ft_rebuild_init(struct ft_rebuild *rebuild, uint32_t uid, const char *app, ft_rule rule);

/*
 * Learns from the next RUNS observations in order of end_time. The store is not locked between two
 * steps; the caller passes runs that are stored between them to ft_rebuild_learn. Returns 1 after
 * the last run, 0 if more may be left; -1 on error and fills ERR.
 */
int ft_rebuild_step(struct ft_rebuild *rebuild, struct ft_store *store, unsigned runs,
                    struct ft_error *err);

/* Learns from OBSERVATION. Returns 0; -1 out of memory and fills ERR. */
int ft_rebuild_learn(struct ft_rebuild *rebuild, const ft_observation *observation,
                     struct ft_error *err);

/*
 * Sets MODEL to the memory model of all stored runs of UID's APP (of all users for FT_STATE_POOLED)
 * under RULE, in order of end_time. Returns 0; -1 on error, fills ERR and leaves MODEL as it was.
 */
int ft_rebuild_model(struct ft_store *store, uint32_t uid, const char *app, ft_rule rule,
                     ft_model *model, struct ft_error *err);

#endif
