/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Model + observation -> model. Pure: the same for agent, import and replay;
 * no clock, no file, no random number.
 */
#ifndef FT_ONLINE_ONLINE_H
#define FT_ONLINE_ONLINE_H

#include "predictor/core/error.h"
#include "predictor/online/refit.h"
#include "predictor/record/record.h"

/* An empty model of user UID's APP that learns the peak that counts under RULE. */
void ft_online_init(ft_model *model, const char *app, uint32_t uid, ft_rule rule);

/*
 * Learn from OBSERVATION: predict it first with what is known (the honest
 * residual), then add it to the history, or replace the run of the same key,
 * and refit the evaluator. A censored run is a lower bound, its peak, or, where it was killed
 * by its limit, that limit; so is a completed
 * one whose peak_is_bound, once 10 exactly measured ones are there. Without a
 * peak under the model's rule, or with an absurd one (0, or over 2^50 bytes),
 * nothing changes. Returns 1 when the model changed, 0 when not, -1 with ERR out
 * of memory, the model being as before.
 */
int ft_online_update(ft_model *model, const ft_observation *observation, struct ft_error *err);

/*
 * No run has ended after LATEST: what says so was told by a clock that was ahead, and counts as
 * ended then. Else such runs would be the newest for ever, and those after them too old to be
 * learnt.
 */
void ft_online_clamp_times(ft_model *model, double latest);

/* Makes MODEL's evaluator anew from its history, using WORK; runs of what the app was before it
 * changed (online/change_point.h) leave the history. */
void ft_online_refit(ft_model *model, struct ft_refit *work);

/* Removes the COUNT oldest runs from MODEL's history, counts the others anew and clears what was
 * learnt from any: ft_online_refit has to follow. */
void ft_online_drop_oldest(ft_model *model, size_t count);

/* The key of O's run in the history of user UID's model. */
uint64_t ft_online_key(uint32_t uid, const ft_observation *o);

#endif
