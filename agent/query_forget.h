/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers to requests to forget runs: permission, and the progress of the removal. */
#ifndef FT_AGENT_QUERY_FORGET_H
#define FT_AGENT_QUERY_FORGET_H

#include "agent/query_server.h"
#include "agent/recorder.h"

/*
 * Checks the request WHAT of user UID, and restricts it to UID's runs unless PRIVILEGED. Returns 0;
 * -1 and ERR, one line for the user.
 */
int ft_forget_check_permission(ft_forget *what, uid_t uid, bool privileged, struct ft_error *err);

/*
 * Handles an ft_forget; see struct ft_query_handler, step and end. Calls ACCEPTED with DATA when
 * the request is in the queue and ft_recorder_maintain has work.
 */
bool ft_query_forget(struct ft_recorder *recorder, struct ft_query *query, ft_reply *reply,
                     void (*accepted)(void *data), void *data);
void ft_query_forget_end(struct ft_recorder *recorder, struct ft_query *query);

#endif
