/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Answers to queries about runs: those in the store, page by page, and those that are running, with
 * the measurements so far; and counts of rejected submissions. Users may read their own; root, the
 * agent's user and SlurmUser may read all.
 */
#ifndef FT_AGENT_QUERY_RUNS_H
#define FT_AGENT_QUERY_RUNS_H

#include "agent/jobs.h"
#include "agent/query_server.h"
#include "agent/recorder.h"

/* Handles an ft_run_query; see struct ft_query_handler, step. */
bool ft_query_runs(struct ft_query *query, struct ft_recorder *recorder, struct ft_jobs *jobs,
                   struct ft_instant now, ft_reply *reply);

/* Frees the state of ft_query_runs; see struct ft_query_handler, end. */
void ft_query_runs_end(struct ft_query *query);

/* Counts a rejected submission, which the plugin reports; see struct ft_query_handler, step. */
bool ft_query_count_rejection(const struct ft_query *query, struct ft_recorder *recorder,
                              ft_reply *reply);

#endif
