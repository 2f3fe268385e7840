/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Client of the node agent; daemon/query_server.h is the server. */
#ifndef FT_CLI_QUESTION_H
#define FT_CLI_QUESTION_H

#include <stdbool.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

/*
 * Sends QUESTION, completed with its schema and the state directory STATE_FD, to the agent that
 * serves this directory, and calls TAKE for each packet of the reply until TAKE returns false.
 * Waits as long as packets arrive. SOCKET is the agent's socket of foretell.conf, used if the
 * state directory names none. Returns 0 at the end of the reply or when TAKE stops it; -1 and
 * fills ERR. errno is ENOENT or ECONNREFUSED if no agent listens, 0 if the agent replied with an
 * error.
 */
int ft_agent_ask(const char *socket, int state_fd, ft_question *question,
                 bool (*take)(const ft_reply *reply, void *data), void *data, struct ft_error *err);

#endif
