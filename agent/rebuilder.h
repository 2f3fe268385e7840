/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The models follow the store: what others put there (foretell import) is published, a short
 * step at a time, and so is everything anew when the rule that memory is counted under changes.
 */
#ifndef FT_AGENT_FOLLOW_H
#define FT_AGENT_FOLLOW_H

#include <stdbool.h>

#include "agent/publish.h"
#include "predictor/history/store.h"
#include "predictor/record/record.h"

struct ft_rebuilder;

/* Publish with PUBLISHER below the state folder STATE_FD (both borrowed). NULL out of memory. */
struct ft_rebuilder *ft_rebuilder_open(struct ft_publisher *publisher, int state_fd);
void ft_rebuilder_close(struct ft_rebuilder *follow);

/* The apps whose pooled models follow as well; borrowed, and looked at from now on. */
void ft_rebuilder_set_shared(struct ft_rebuilder *follow, const struct ft_shared_apps *shared);

/* What a failed attempt costs: every model is made anew where it was another. */
void ft_rebuilder_set_failure_cost(struct ft_rebuilder *follow, double price);

/* The rule that models are made under from now on. */
void ft_rebuilder_set_rule(struct ft_rebuilder *follow, ft_rule rule);

/*
 * Do a few milliseconds' work for the apps that are marked in STORE. Returns whether there is
 * more to do at once; false also after a failure, which was logged, until somebody looks again.
 */
bool ft_rebuilder_step(struct ft_rebuilder *follow, struct ft_store *store);

/*
 * OBSERVATION was put by the agent itself, which has published it: a model that is being made
 * of its app is to know it too.
 */
void ft_rebuilder_add_run(struct ft_rebuilder *follow, const ft_observation *observation);

/* NUMBER gets that of the last change in STORE that is published. Returns 0 or -1 with ERR. */
int ft_rebuilder_published(struct ft_rebuilder *follow, struct ft_store *store, int64_t *number,
                           struct ft_error *err);

/*
 * The agent itself has published the changes from FIRST to LAST: nothing is left to do for them,
 * unless something before them is.
 */
void ft_rebuilder_mark_published(struct ft_rebuilder *follow, struct ft_store *store, int64_t first,
                                 int64_t last);

/* Tell STORE what is published. What it cannot be told now is published once more. */
void ft_rebuilder_save(struct ft_rebuilder *follow, struct ft_store *store);

#endif
