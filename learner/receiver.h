/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * HTTP server for the requests of agents (daemon/exchange.h), in the event loop. On a Unix socket
 * the kernel identifies the peer (SO_PEERCRED), which must be root or the learner's own user; over
 * TCP learner/access/access.h does.
 */
#ifndef FT_LEARNER_RECEIVER_H
#define FT_LEARNER_RECEIVER_H

#include "daemon/exchange.h"
#include "daemon/loop.h"
#include "learner/access/access.h"

struct ft_receiver;

/* A request that awaits its reply. */
struct ft_received {
  enum ft_exchange exchange;
  struct ft_buf body;
  void *data; /* of the handler; NULL at first */
};

/* Handles REQUEST: replies with ft_receiver_reply, now or later. */
typedef void ft_receiver_handler(struct ft_received *request, void *data);

/* Listens at PATH. Returns NULL and ERR. */
struct ft_receiver *ft_receiver_open(struct ft_loop *loop, const char *path,
                                     ft_receiver_handler *handler, void *data,
                                     struct ft_error *err);

/* Listens at the TCP address LISTEN, as foretell.conf has it, for peers that ACCESS (borrowed)
 * grants it; with one of PASSED sockets (daemon/passed_socket.h), if there are any. Returns NULL
 * and ERR. */
struct ft_receiver *ft_receiver_open_network(struct ft_loop *loop, const char *listen,
                                             unsigned passed, struct ft_access *access,
                                             ft_receiver_handler *handler, void *data,
                                             struct ft_error *err);

/* Answers GET /metrics, too, with the text that WRITE appends; NULL: no longer. */
void ft_receiver_on_metrics(struct ft_receiver *receiver,
                            void (*write)(struct ft_buf *out, void *data), void *data);

/* Replies to REQUEST with MESSAGE of type RECORD, and frees REQUEST. */
void ft_receiver_reply(struct ft_received *request, enum ft_record record, const void *message);

/* Replies that REQUEST is malformed, or that it cannot be answered now, because of WHY, one line;
 * frees REQUEST. */
void ft_receiver_reject(struct ft_received *request, bool malformed, const char *why);

/* Closes all connections. The handler has replied to every request before, and the access given to
 * ft_receiver_open_network is closed. */
void ft_receiver_close(struct ft_receiver *receiver);

#endif
