/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers to queries about running jobs, with the measurements so far. */
#ifndef FT_AGENT_QUERY_RUNNING_H
#define FT_AGENT_QUERY_RUNNING_H

#include "agent/jobs.h"
#include "daemon/query_server.h"

/* Handles an ft_run_query with `live` set; see struct ft_query_handler, step. */
bool ft_query_running(struct ft_query *query, struct ft_jobs *jobs, struct ft_instant now,
                      ft_reply *reply);

/* Frees the state of ft_query_running; see struct ft_query_handler, end. */
void ft_query_running_end(struct ft_query *query);

#endif
