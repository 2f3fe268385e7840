/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connections over TCP: drops those that do not prove their sender (unproved.h). */
#ifndef FT_LEARNER_ACCESS_PEERS_H
#define FT_LEARNER_ACCESS_PEERS_H

#include <microhttpd.h>
#include <stdbool.h>

#include "daemon/loop.h"
#include "learner/access/unproved.h"

struct ft_peers {
  struct ft_loop *loop;
  void (*read)(void *data); /* reads what has arrived */
  void *data;
  size_t limit, count;
  struct ft_unproved unproved;
  struct ft_timer timer; /* when the oldest of the unproved is due */
};

struct ft_peer {
  struct ft_unproved_peer unproved; /* first: a list has its address */
  bool listed;                      /* among the unproved */
  int fd;
};

/* Initialises PEERS; above LIMIT, the oldest that has not proved its sender is dropped for each new
 * one. READ is called before some are dropped because their time is over. */
void ft_peers_init(struct ft_peers *peers, struct ft_loop *loop, size_t limit,
                   void (*read)(void *data), void *data);
void ft_peers_close(struct ft_peers *peers);

/* Returns a new peer, the connection FD from ADDRESS; NULL out of memory. A peer that is dropped
 * has its FD shut down, and ends with ft_peer_end as others do. */
struct ft_peer *ft_peer_begin(struct ft_peers *peers, int fd, const struct sockaddr *address);
void ft_peer_end(struct ft_peers *peers, struct ft_peer *peer);

/* Begins the peer of the connection HTTP, which CONTEXT gets, or ends it. */
void ft_peer_changed(struct ft_peers *peers, struct MHD_Connection *http, void **context,
                     enum MHD_ConnectionNotificationCode code);

/* PEER has sent the headers of a request: its time no longer counts; or the sender was rejected,
 * and it counts again. PEER may be NULL. */
void ft_peer_sent(struct ft_peers *peers, struct ft_peer *peer);
void ft_peer_rejected(struct ft_peers *peers, struct ft_peer *peer);

#endif
