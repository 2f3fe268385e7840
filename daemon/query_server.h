/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Server for queries of users' commands (client: predictor/cli/question.h): a SOCK_SEQPACKET socket
 * with mode 0666, separate from the plugin's socket so that users cannot delay announcements. Each
 * connection carries one ft_question and then ft_reply packets, of which the last has `last` set.
 * When all places are taken, a new connection gets that of the peer that is silent for longest, or
 * one of the user who has most.
 * A plugin that reports a rejection does not wait for the reply. The kernel identifies the peer's
 * user (SO_PEERCRED); the handler decides what this user may read.
 *
 * To add a query: a message in ft_question.asked (foretell.proto), its check in record/check.c, and
 * a case in agent_queries.c or learner.c.
 */
#ifndef FT_DAEMON_QUERY_SERVER_H
#define FT_DAEMON_QUERY_SERVER_H

#include <stdbool.h>

#include "daemon/loop.h"
#include "predictor/record/record.h"

enum {
  FT_QUERY_PACKET_BYTES = 4096, /* no question is longer */
  /* limit: half of the descriptors of a process without a setting, 1024 (systemd.exec(5)) */
  FT_QUERY_CONNECTIONS = 512,
  FT_QUERY_PRIVILEGED_CONNECTIONS = 32, /* of these no other user gets */
  /* limit per unprivileged user, whose submissions may come from a workflow manager */
  FT_QUERY_USER_CONNECTIONS = 64
};

struct ft_query_server;

/* A query in progress. */
struct ft_query {
  const ft_question *question;
  uid_t uid;       /* of the peer */
  bool privileged; /* root, the daemon's own user or the user of ft_query_server_allow */
  void *data;      /* state of the handler; NULL at the first call */
  int fd;          /* -1, or set by the handler: sent with the next reply, then closed */
};

struct ft_query_handler {
  /*
   * Works on the answer for at most 2 ms. Returns true to send REPLY, which is zeroed before except
   * for its schema; `last` or a non-empty `error` completes the answer. Returns false if there is
   * nothing to send yet. Called again in both cases until the answer is complete.
   */
  bool (*step)(struct ft_query *query, ft_reply *reply, void *data);
  /* The answer is complete, or the peer has disconnected: free query->data. */
  void (*end)(struct ft_query *query, void *data);
  void *data;
};

/* Listens beside the daemon's SOCKET, at its path with FT_STATE_QUERY_SUFFIX; copies HANDLER. Logs
 * a failure, for daemons do without, and returns NULL. */
struct ft_query_server *ft_query_server_open(struct ft_loop *loop, const char *socket,
                                             const struct ft_query_handler *handler);

/* Makes UID (Slurm's SlurmUser) privileged; SERVER may be NULL. */
void ft_query_server_allow(struct ft_query_server *server, uid_t uid);

/* Ends all queries; closes and removes the socket. */
void ft_query_server_close(struct ft_query_server *server);

#endif
