/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asking the agent that works on this machine; agent/questions.h is the other side. */
#ifndef FT_CLI_QUESTION_H
#define FT_CLI_QUESTION_H

#include <stdbool.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

/*
 * Send QUESTION, completed with its schema and the state folder STATE_FD that is meant, to the
 * agent that works there, and call TAKE for each packet of the answer; TAKE returns false to hear
 * no more. Waits as long as packets come. SOCKET is the agent's for announcements
 * (foretell.conf's), where the state folder does not name it. Returns 0 when the answer has ended
 * or TAKE wants no more; -1 with ERR: what the agent refused, or why it cannot be asked. errno is
 * ENOENT or ECONNREFUSED where none listens, 0 where it answered with an error.
 */
int ft_agent_ask(const char *socket, int state_fd, ft_question *question,
                 bool (*take)(const ft_reply *reply, void *data), void *data, struct ft_error *err);

#endif
