/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Listening sockets that the service manager passes (sd_listen_fds(3)), without libsystemd. */
#ifndef FT_DAEMON_PASSED_SOCKET_H
#define FT_DAEMON_PASSED_SOCKET_H

#include "predictor/core/error.h"
#include "predictor/site/address.h"

/* Passed sockets: more are left alone. */
enum { FT_PASSED_SOCKETS = 16 };

/* Returns the number of passed sockets, which programs that this one starts do not get. Call it
 * once, before the first of them. */
unsigned ft_passed_sockets(void);

/* Returns which of COUNT passed sockets listens at ADDRESS with TCP, non-blocking: at its port and,
 * if it has one, its numeric host. -1 and ERR if none does. */
int ft_passed_socket_find(unsigned count, const struct ft_address *address, struct ft_error *err);

/* Returns which of COUNT passed sockets of TYPE listens at PATH, likewise. */
int ft_passed_socket_find_path(unsigned count, const char *path, int type, struct ft_error *err);

#endif
