/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lock file that keeps a second process out of a state directory. */
#ifndef FT_DAEMON_LOCK_H
#define FT_DAEMON_LOCK_H

#include "predictor/core/error.h"

/*
 * Locks the file NAME (FT_STATE_AGENT_LOCK, FT_STATE_LEARNER_LOCK) of the state directory STATE_FD,
 * whose path is PATH. Returns a descriptor that holds the lock until the caller closes it; -1 and
 * ERR if another process holds the lock.
 */
int ft_lock_state(int state_fd, const char *path, const char *name, struct ft_error *err);

#endif
