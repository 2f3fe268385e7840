/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer to ft_forget: who may, what is done, how far it is. */
#ifndef FT_AGENT_ANSWER_FORGET_H
#define FT_AGENT_ANSWER_FORGET_H

#include "agent/recorder.h"
#include "agent/query_server.h"

/*
 * Check WHAT, which UID asks to be forgotten, and restrict it to UID's own unless PRIVILEGED.
 * Returns 0; -1 with ERR, one line for the user.
 */
int ft_forget_check_permission(ft_forget *what, uid_t uid, bool privileged, struct ft_error *err);

/*
 * As struct ft_query_handler's answer and ended. TOLD is called with DATA once there is something
 * that ft_recorder_maintain is to do.
 */
bool ft_query_forget(struct ft_recorder *ledger, struct ft_query *asked, ft_reply *reply,
                     void (*told)(void *data), void *data);
void ft_query_forget_end(struct ft_recorder *ledger, struct ft_query *asked);

#endif
