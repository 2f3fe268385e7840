/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Users' queries about running jobs of all nodes. Nothing is sent while users ask nothing: a query
 * is added to the reply to the query of settings that each agent has open at the learner, and
 * agents answer with ft_running. The user waits for FT_RUNNING_SECONDS at most.
 */
#ifndef FT_LEARNER_CLUSTER_RUNNING_H
#define FT_LEARNER_CLUSTER_RUNNING_H

#include "daemon/query_server.h"

/* Longest time for which a query waits for agents. */
#define FT_RUNNING_SECONDS 2.0

/* Limit of the agents that one query goes to: each takes the learner about 1 ms. */
enum { FT_RUNNING_AGENTS = 256 };

struct ft_running_queries;

/*
 * ASK is called when ft_running_next has a question for agents that are connected, never from
 * inside ft_running_next. Returns NULL out of memory.
 */
struct ft_running_queries *ft_running_open(void (*ask)(void *data), void *data);
void ft_running_close(struct ft_running_queries *queries);

/* AGENT (ft_settings_query; not 0) has opened the query of settings CONNECTION, which replaces an
 * earlier one, or CONNECTION was replied to. */
void ft_running_connect(struct ft_running_queries *queries, uint64_t agent, const void *connection);
void ft_running_disconnect(struct ft_running_queries *queries, uint64_t agent,
                           const void *connection);

/* Puts the next question for AGENT into SETTINGS. Returns false if there is none, or if CONNECTION
 * is not AGENT's last one. */
bool ft_running_next(struct ft_running_queries *queries, uint64_t agent, const void *connection,
                     ft_settings *settings);

/* Adds a part of an agent's answer. Returns whether the agent shall send the next part. */
bool ft_running_add_answer(struct ft_running_queries *queries, const ft_running *answer);

/* Handle an ft_run_query with `live` set; see struct ft_query_handler. */
bool ft_running_step(struct ft_running_queries *queries, struct ft_query *query, ft_reply *reply);
void ft_running_end(struct ft_running_queries *queries, struct ft_query *query);

#endif
