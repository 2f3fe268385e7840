/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Updates an app's memory model by one observation. Pure: no clock, file or random number, so
 * agent, import and replay get the same model.
 */
#ifndef FT_ONLINE_ONLINE_H
#define FT_ONLINE_ONLINE_H

#include "predictor/core/error.h"
#include "predictor/online/refit.h"
#include "predictor/record/record.h"

/* Sets MODEL to an empty model of UID's APP that learns the peak under RULE. */
void ft_online_init(ft_model *model, const char *app, uint32_t uid, ft_rule rule);

/*
 * Learns from OBSERVATION. MODEL first predicts it, for an out-of-sample residual. Then the run
 * enters the history, replacing a run of the same key, and the evaluator is updated.
 *
 * A censored run is a lower bound: its peak, or its limit if that killed it. A completed run with
 * peak_is_bound is a lower bound too once 10 exactly measured runs exist. An observation without a
 * peak under MODEL's rule, or with an invalid one (0, or above 2^50 bytes), changes nothing.
 * Returns 1 if MODEL changed, 0 if not; -1 out of memory, fills ERR and leaves MODEL as it was.
 */
int ft_online_update(ft_model *model, const ft_observation *observation, struct ft_error *err);

/*
 * Limits the times of all runs to LATEST (UTC seconds). Runs recorded by a clock that was ahead
 * would otherwise stay the newest, and later runs would be too old to be learnt.
 */
void ft_online_clamp_times(ft_model *model, double latest);

/* Fits MODEL's evaluator to its history with WORK. Runs before a change point (change_point.h)
 * leave the history. */
void ft_online_refit(ft_model *model, struct ft_refit *work);

/* Removes the COUNT oldest runs from MODEL's history, counts the others again and clears the
 * evaluator; ft_online_refit has to follow. */
void ft_online_drop_oldest(ft_model *model, size_t count);

/* Returns the key of O's run in the history of UID's model. */
uint64_t ft_online_key(uint32_t uid, const ft_observation *o);

#endif
