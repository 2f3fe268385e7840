/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers to queries about stored runs, page by page, and counts of rejected submissions. */
#ifndef FT_LEARNER_QUERY_RUNS_H
#define FT_LEARNER_QUERY_RUNS_H

#include "daemon/query_server.h"
#include "learner/recorder.h"

/* Handles an ft_run_query about stored runs; see struct ft_query_handler, step. */
bool ft_query_runs(struct ft_query *query, struct ft_recorder *recorder, ft_reply *reply);

/* Frees the state of ft_query_runs; see struct ft_query_handler, end. */
void ft_query_runs_end(struct ft_query *query);

/* Counts a rejected submission, which the plugin reports; see struct ft_query_handler, step. */
bool ft_query_count_rejection(const struct ft_query *query, struct ft_recorder *recorder,
                              ft_reply *reply);

#endif
