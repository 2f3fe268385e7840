/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One process at a time works in a state folder. */
#ifndef FT_AGENT_LOCK_H
#define FT_AGENT_LOCK_H

#include "predictor/core/error.h"

/*
 * Lock the state folder STATE_FD, whose path is PATH. Returns a descriptor that holds the lock until
 * it is closed; -1 with ERR.
 */
int ft_lock_state(int state_fd, const char *path, struct ft_error *err);

#endif
