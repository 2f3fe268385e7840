/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a service manager is told (sd_notify(3)), without libsystemd. */
#ifndef FT_DAEMON_NOTIFY_H
#define FT_DAEMON_NOTIFY_H

#include "daemon/loop.h"

/* Sends STATE ("READY=1") to the service manager, if there is one. */
void ft_notify(const char *state);

/* Sends WATCHDOG=1 from LOOP, twice in the interval that the service manager asks for, if it does:
 * without it the manager restarts this process. */
void ft_notify_watchdog(struct ft_loop *loop);

#endif
