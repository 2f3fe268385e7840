/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Listening sockets: Unix sockets bound to a path, and TCP. */
#ifndef FT_DAEMON_SOCKET_H
#define FT_DAEMON_SOCKET_H

#include <sys/types.h>

#include "daemon/loop.h"
#include "predictor/core/error.h"

/*
 * Binds a socket of TYPE (SOCK_SEQPACKET, SOCK_STREAM) to PATH with permissions MODE and listens.
 * Creates the directory (0755) if it is missing. Replaces a socket on which no process listens.
 * Returns a non-blocking descriptor; -1 and ERR on failure. The caller that closes the descriptor
 * also removes PATH.
 */
int ft_socket_listen(const char *path, int type, mode_t mode, struct ft_error *err);

/*
 * Listens at the numeric ADDRESS (empty: all addresses of this host) and PORT with TCP. Returns a
 * non-blocking descriptor; -1 and ERR.
 */
int ft_socket_listen_tcp(const char *address, const char *port, struct ft_error *err);

/*
 * Pause of a listening socket after accept() failed for lack of descriptors or memory: the socket
 * stays readable, and the loop would do nothing else. Zero it before the first use.
 */
struct ft_accept_backoff {
  struct ft_loop *loop;
  struct ft_watch *watch;
  struct ft_timer timer;
};

/* Stops watching WATCH for half a second. */
void ft_accept_backoff_begin(struct ft_accept_backoff *backoff, struct ft_loop *loop,
                             struct ft_watch *watch);

/* Cancels the pause, if any; WATCH may be freed after that. */
void ft_accept_backoff_end(struct ft_accept_backoff *backoff);

#endif
