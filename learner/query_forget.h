/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers to requests to forget runs: permission, and the progress of the removal. */
#ifndef FT_LEARNER_QUERY_FORGET_H
#define FT_LEARNER_QUERY_FORGET_H

#include "daemon/query_server.h"
#include "learner/cluster/job_owner.h"
#include "learner/recorder.h"

/*
 * Checks the request WHAT of user UID, and restricts it to UID's runs unless PRIVILEGED. Returns 0;
 * -1 and ERR, one line for the user.
 */
int ft_forget_check_permission(ft_forget *what, uid_t uid, bool privileged, struct ft_error *err);

/*
 * Handles an ft_forget; see struct ft_query_handler, step and end. Sets *ACCEPTED if this call has
 * accepted a request that removes runs; ft_recorder_maintain then has work. A user's request about
 * a job without stored runs is accepted if the job is the user's by Slurm's record.
 */
bool ft_query_forget(struct ft_recorder *recorder, struct ft_job_owners *owners,
                     struct ft_query *query, ft_reply *reply, bool *accepted);
void ft_query_forget_end(struct ft_recorder *recorder, struct ft_job_owners *owners,
                         struct ft_query *query);

#endif
