/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which apps' models do not yet tell what the store holds. Whoever puts runs marks their app in the
 * same transaction; marks are numbered upwards, an app's newer one takes the place of its older, and
 * the agent keeps the number up to which it has published.
 */
#ifndef FT_HISTORY_STALE_MODELS_H
#define FT_HISTORY_STALE_MODELS_H

#include <stdint.h>

#include "predictor/history/store.h"

/*
 * Mark UID's APP; without a name there is nothing to mark. Between ft_store_begin and
 * ft_store_commit it is part of the transaction. NUMBER, which may be NULL, gets the mark's.
 * Returns 0 or -1 with ERR.
 */
int ft_store_mark_stale(struct ft_store *store, uint32_t uid, const char *app, int64_t *number,
                        struct ft_error *err);

/*
 * The same where UID's APP has no mark above AFTER yet; one that it has keeps its turn, and NUMBER
 * gets 0.
 */
int ft_store_mark_stale_after(struct ft_store *store, uint32_t uid, const char *app, int64_t after,
                              int64_t *number, struct ft_error *err);

struct ft_stale_model {
  int64_t number; /* above 0 */
  char app[128];
  uint32_t uid;
};

/* The first change whose number is above AFTER. Returns 1; 0 when there is none; -1 with ERR. */
int ft_store_next_stale(struct ft_store *store, int64_t after, struct ft_stale_model *change,
                        struct ft_error *err);

/* The number that was kept last; 0 when none was. Returns 0 or -1 with ERR. */
int ft_store_published(struct ft_store *store, int64_t *number, struct ft_error *err);

/* Keep NUMBER: all changes up to it are published. Returns 0 or -1 with ERR. */
int ft_store_set_published(struct ft_store *store, int64_t number, struct ft_error *err);

/*
 * From now on models tell the peak that counts under RULE. Where it was another before, or not
 * known, every app is marked. Returns 1 when they were, 0 when not, -1 with ERR.
 */
int ft_store_set_rule(struct ft_store *store, ft_rule rule, struct ft_error *err);

/* The same for what a failed attempt costs; where nothing is known of it, it was 1. */
int ft_store_set_failure_cost(struct ft_store *store, double price, struct ft_error *err);

#endif
