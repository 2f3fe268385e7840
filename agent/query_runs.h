/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What users are told of runs: of their own, and root, the agent's user and SlurmUser of all. Of
 * those in the store a few at a time, of those that go on here what was measured so far. Likewise
 * how often their submissions were refused.
 */
#ifndef FT_AGENT_TELL_H
#define FT_AGENT_TELL_H

#include "agent/jobs.h"
#include "agent/recorder.h"
#include "agent/query_server.h"

/* A part of the answer to ASKED, whose question is of runs, as ft_query_handler's answer. */
bool ft_query_runs(struct ft_query *asked, struct ft_recorder *ledger, struct ft_jobs *jobs,
                   struct ft_instant now, ft_reply *reply);

/* ASKED, by the plugin, says that a submission was refused: it is counted. As ft_query_handler's
 * answer.
 */
bool ft_query_count_rejection(const struct ft_query *asked, struct ft_recorder *ledger,
                              ft_reply *reply);

/* As ft_query_handler's ended, of a question of runs. */
void ft_query_runs_end(struct ft_query *asked);

#endif
