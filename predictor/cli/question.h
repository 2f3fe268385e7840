/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Client of foretelld and foretell-learnd; daemon/query_server.h is the server. */
#ifndef FT_CLI_QUESTION_H
#define FT_CLI_QUESTION_H

#include <stdbool.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

enum ft_daemon {
  FT_DAEMON_AGENT,  /* knows the running jobs of this node */
  FT_DAEMON_LEARNER /* knows the stored runs */
};

/*
 * Sends QUESTION, completed with its schema and the state directory STATE_FD, to the DAEMON that
 * serves this directory, and calls TAKE for each packet of the reply until TAKE returns false.
 * Waits as long as packets arrive. SOCKET is the daemon's socket of foretell.conf, used if the
 * state directory names none. Returns 0 at the end of the reply or when TAKE stops it; -1 and
 * fills ERR. errno is ENOENT or ECONNREFUSED if no daemon listens, 0 if it replied with an error.
 */
int ft_daemon_ask(enum ft_daemon daemon, const char *socket, int state_fd, ft_question *question,
                  bool (*take)(const ft_reply *reply, void *data), void *data,
                  struct ft_error *err);

/* The same of the learner. If none runs here, ERR says to run the command where one does, followed
 * by OTHERWISE. */
int ft_ask_learner(const char *socket, int state_fd, ft_question *question,
                   bool (*take)(const ft_reply *reply, void *data), void *data,
                   const char *otherwise, struct ft_error *err);

#endif
