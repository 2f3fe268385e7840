/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rebuilds, in short steps, the models of apps that the store marks as stale
 * (history/stale_models.h): after an import, after runs were removed, or after the memory
 * accounting rule or the failure cost changed.
 */
#ifndef FT_LEARNER_REBUILDER_H
#define FT_LEARNER_REBUILDER_H

#include <stdbool.h>

#include "learner/publish.h"
#include "predictor/history/store.h"
#include "predictor/record/record.h"

struct ft_rebuilder;

/*
 * Publishes with PUBLISHER below the state directory STATE_FD; both are borrowed. Returns NULL out
 * of memory.
 */
struct ft_rebuilder *ft_rebuilder_open(struct ft_publisher *publisher, int state_fd);
void ft_rebuilder_close(struct ft_rebuilder *rebuilder);

/* Sets the apps that have pooled models; SHARED is borrowed and read at each step. */
void ft_rebuilder_set_shared(struct ft_rebuilder *rebuilder, const struct ft_shared_apps *shared);

/* Sets the failure cost (policy.failure_price). A change makes all models stale. */
void ft_rebuilder_set_failure_cost(struct ft_rebuilder *rebuilder, double cost);

/* Sets the memory accounting rule. A change makes all models stale. */
void ft_rebuilder_set_rule(struct ft_rebuilder *rebuilder, ft_rule rule);

/*
 * Works for a few milliseconds on the stale models of STORE. Returns whether more work is due at
 * once; false also after a failure, which is logged, and the next call tries again.
 */
bool ft_rebuilder_step(struct ft_rebuilder *rebuilder, struct ft_store *store);

/*
 * Adds OBSERVATION, which the learner has stored and published, to the model under construction if
 * it belongs to the same app.
 */
void ft_rebuilder_add_run(struct ft_rebuilder *rebuilder, const ft_observation *observation);

/* Returns how often a model could not be rebuilt or published. */
uint64_t ft_rebuilder_failures(const struct ft_rebuilder *rebuilder);

/* Sets NUMBER to that of the last change in STORE that needs no rebuild. Returns 0; -1 and ERR. */
int ft_rebuilder_handled(struct ft_rebuilder *rebuilder, struct ft_store *store, int64_t *number,
                         struct ft_error *err);

/* Notes that the model in memory (publish.h) contains the change NUMBER; no effect if earlier
 * changes are due. */
void ft_rebuilder_note_refined(struct ft_rebuilder *rebuilder, struct ft_store *store,
                               int64_t number);

/* Notes that the change NUMBER (0: none) must be rebuilt, because the model with it was lost. */
void ft_rebuilder_reopen(struct ft_rebuilder *rebuilder, int64_t number);

/*
 * Saves the number of the last published change in STORE: not of a change that a queued model in
 * memory contains. If that fails, the changes since the last success are published again.
 */
void ft_rebuilder_save(struct ft_rebuilder *rebuilder, struct ft_store *store);

#endif
