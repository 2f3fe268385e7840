/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connection of the agent to the learner: requests of daemon/exchange.h, which a child,
 * foretell-courier, sends. At most one request of each kind is under way.
 */
#ifndef FT_AGENT_UPLINK_H
#define FT_AGENT_UPLINK_H

#include "daemon/exchange.h"
#include "daemon/loop.h"
#include "predictor/site/conf.h"

struct ft_uplink;

/* The reply to a request, valid during the call. */
struct ft_uplink_reply {
  const void *body; /* a message of LENGTH bytes; NULL: there is none */
  size_t length;
  const char *why; /* without a body: one line */
  bool malformed;  /* without a body: the learner cannot read the request */
  bool synced;     /* to FT_EXCHANGE_RUNS without a body: the spool's files are on the disk */
};

typedef void ft_uplink_callback(const struct ft_uplink_reply *reply, void *data);

/* Connects to the learner that CONFIG (copied) names when the first request is sent. STATE_FD is
 * the state directory, borrowed. Returns NULL out of memory. */
struct ft_uplink *ft_uplink_open(struct ft_loop *loop, const struct ft_config *config,
                                 int state_fd);

/* Returns the time of the learner's latest reply, as ft_io_now; 0: none yet. */
double ft_uplink_reply_time(const struct ft_uplink *uplink);

/* Ends the child; replies under way are lost. */
void ft_uplink_close(struct ft_uplink *uplink);

/*
 * Sends a request of LENGTH bytes (at most FT_EXCHANGE_BYTES), then calls CALL once, never from
 * inside this function. Returns 0; -1 and ERR if it cannot be sent, and CALL is not called.
 */
int ft_uplink_send(struct ft_uplink *uplink, enum ft_exchange exchange, const void *body,
                   size_t length, ft_uplink_callback *call, void *data, struct ft_error *err);

/* Encodes MESSAGE, of type RECORD, and sends it; otherwise as ft_uplink_send. */
int ft_uplink_send_record(struct ft_uplink *uplink, enum ft_exchange exchange,
                          enum ft_record record, const void *message, ft_uplink_callback *call,
                          void *data, struct ft_error *err);

#endif
