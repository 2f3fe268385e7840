/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Answers to users' queries about running jobs, with the measurements so far. They come from the
 * agent's own socket, or from the learner with its settings; the learner gets one request
 * (FT_EXCHANGE_RUNNING) for each job.
 */
#ifndef FT_AGENT_QUERY_RUNNING_H
#define FT_AGENT_QUERY_RUNNING_H

#include "agent/jobs.h"
#include "agent/uplink.h"
#include "daemon/query_server.h"

/* Handles an ft_run_query with `live` set; see struct ft_query_handler, step. */
bool ft_query_running(struct ft_query *query, struct ft_jobs *jobs, struct ft_instant now,
                      ft_reply *reply);

/* Frees the state of ft_query_running; see struct ft_query_handler, end. */
void ft_query_running_end(struct ft_query *query);

struct ft_remote_query;

/* Answers as AGENT (ft_settings_query) by UPLINK from JOBS, both borrowed. Returns NULL out of
 * memory. */
struct ft_remote_query *ft_remote_query_open(struct ft_uplink *uplink, struct ft_jobs *jobs,
                                             uint64_t agent);
void ft_remote_query_close(struct ft_remote_query *remote);

/* Answers the question of SETTINGS. It replaces an earlier one, which the learner has ended. */
void ft_remote_query_answer(struct ft_remote_query *remote, const ft_settings *settings);

#endif
