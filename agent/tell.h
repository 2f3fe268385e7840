/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What users are told of runs: of their own, and root, the agent's user and SlurmUser of all. Of
 * those in the store a few at a time, of those that go on here what was measured so far. Likewise
 * how often their submissions were refused.
 */
#ifndef FT_AGENT_TELL_H
#define FT_AGENT_TELL_H

#include "agent/jobs.h"
#include "agent/ledger.h"
#include "agent/questions.h"

/* A part of the answer to ASKED, whose question is of runs, as ft_answerer's answer. */
bool ft_tell_runs(struct ft_asked *asked, struct ft_ledger *ledger, struct ft_jobs *jobs,
                  struct ft_instant now, ft_reply *reply);

/* ASKED, by the plugin, says that a submission was refused: it is counted. As ft_answerer's answer.
 */
bool ft_take_rejected(const struct ft_asked *asked, struct ft_ledger *ledger, ft_reply *reply);

/* As ft_answerer's ended, of a question of runs. */
void ft_tell_ended(struct ft_asked *asked);

#endif
