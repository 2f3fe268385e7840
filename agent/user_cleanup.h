/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the folder of a user still says of apps that have gone: entries in the files of similar
 * apps, and the folder itself once nothing else is in it.
 */
#ifndef FT_AGENT_SWEEP_H
#define FT_AGENT_SWEEP_H

#include <stdbool.h>

#include "agent/publish.h"
#include "predictor/history/store.h"

struct ft_user_cleanup;

/* Over the state folder STATE_FD; both are borrowed. NULL out of memory. */
struct ft_user_cleanup *ft_user_cleanup_open(struct ft_publisher *publisher, int state_fd);
void ft_user_cleanup_close(struct ft_user_cleanup *sweep);

/*
 * Some milliseconds' work on the users that STORE names (ft_store_next_cleanup_user), whose models
 * have been removed by then. Returns 1 when there may be more, 0 when not, -1 with ERR.
 */
int ft_user_cleanup_step(struct ft_user_cleanup *sweep, struct ft_store *store,
                         struct ft_error *err);

#endif
