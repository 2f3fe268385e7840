/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The socket on which users' commands ask the agent (predictor/cli/question.h is the other side):
 * SOCK_SEQPACKET, mode 0666, apart from the plugin's so that no user is in its way. A connection
 * carries one encoded ft_question and then, the other way, ft_reply packets of which the last says
 * so; the plugin only tells, and leaves. Who asks is what the kernel says of the peer
 * (SO_PEERCRED), never what the packet says; what that user may be told is decided by the callee.
 *
 * To add a question: a message in ft_question.asked (foretell.proto), its check in
 * record/check.c, and a case where agent.c answers.
 */
#ifndef FT_AGENT_QUESTIONS_H
#define FT_AGENT_QUESTIONS_H

#include <stdbool.h>

#include "agent/loop.h"
#include "predictor/record/record.h"

enum {
  FT_QUERY_PACKET_BYTES = 4096, /* bytes; no question is longer */
  FT_QUERY_CONNECTIONS = 64,    /* at once */
  FT_QUERY_USER_CONNECTIONS = 4 /* of them, so that others are answered too */
};

struct ft_query_server;

/* A question under way. */
struct ft_query {
  const ft_question *question;
  uid_t uid;       /* of the peer */
  bool privileged; /* root, the agent's own user or one that ft_query_server_allow named */
  void *data;      /* the callee's own; NULL at the first call */
};

struct ft_query_handler {
  /*
   * Do a part of the answer, of at most some 2 ms. Returns true when REPLY, zeroed before but for
   * its schema, is to be sent: `last` ends the answer, and so does `error`. Returns false when
   * there is nothing to send yet. Called again either way until the answer has ended.
   */
  bool (*answer)(struct ft_query *asked, ft_reply *reply, void *data);
  /* The answer has ended, or the peer has gone: release what asked->data is. */
  void (*ended)(struct ft_query *asked, void *data);
  void *data;
};

/* Listen at PATH. ANSWERER is copied. Returns NULL with ERR on failure. */
struct ft_query_server *ft_query_server_open(struct ft_loop *loop, const char *path,
                                             const struct ft_query_handler *answerer,
                                             struct ft_error *err);

/* UID (Slurm's SlurmUser) is privileged, too. */
void ft_query_server_allow(struct ft_query_server *questions, uid_t uid);

/* End all answers, close and remove the socket. */
void ft_query_server_close(struct ft_query_server *questions);

#endif
