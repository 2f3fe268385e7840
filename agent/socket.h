/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent's Unix sockets: SOCK_SEQPACKET, bound to a path. */
#ifndef FT_AGENT_SOCKET_H
#define FT_AGENT_SOCKET_H

#include <sys/types.h>

#include "agent/loop.h"
#include "predictor/core/error.h"

/*
 * Bind PATH with MODE and listen there. The folder is made (0755) when it is missing; a socket that
 * a dead agent left is replaced, one of a living process is not. Returns a descriptor that does not
 * block, -1 with ERR. Whoever closes it removes PATH.
 */
int ft_socket_listen(const char *path, mode_t mode, struct ft_error *err);

/*
 * WATCH, of a socket that listens, is left alone for a moment: where nothing can be accepted for
 * want of descriptors or memory it stays ready, and whoever waits for it would do nothing else.
 */
struct ft_accept_backoff {
  struct ft_loop *loop;
  struct ft_watch *watch;
  struct ft_timer timer;
};

void ft_accept_backoff_begin(struct ft_accept_backoff *rest, struct ft_loop *loop,
                             struct ft_watch *watch);
void ft_accept_backoff_end(struct ft_accept_backoff *rest);

#endif
