/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cleanup of users' directories after apps were removed: their entries in files of similar apps,
 * and the directory itself once it is empty.
 */
#ifndef FT_LEARNER_USER_CLEANUP_H
#define FT_LEARNER_USER_CLEANUP_H

#include <stdbool.h>

#include "learner/publish.h"
#include "predictor/history/store.h"

struct ft_user_cleanup;

/* Works below the state directory STATE_FD; both are borrowed. Returns NULL out of memory. */
struct ft_user_cleanup *ft_user_cleanup_open(struct ft_publisher *publisher, int state_fd);
void ft_user_cleanup_close(struct ft_user_cleanup *cleanup);

/*
 * Works for a few milliseconds on the users that STORE lists (ft_store_next_cleanup_user), whose
 * removed models are unpublished. Returns 1 if there may be more, 0 if not, -1 and ERR.
 */
int ft_user_cleanup_step(struct ft_user_cleanup *cleanup, struct ft_store *store,
                         struct ft_error *err);

#endif
