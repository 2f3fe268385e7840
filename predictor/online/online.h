/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Updates an app's memory model by one observation. Pure: no clock, file or random number, so
 * agent, import and replay get the same model.
 */
#ifndef FT_ONLINE_ONLINE_H
#define FT_ONLINE_ONLINE_H

#include "predictor/core/error.h"
#include "predictor/record/run_columns.h"

/* Sets MODEL to an empty model of UID's APP that learns the peak memory under the accounting RULE,
 * and HISTORY to no runs. */
void ft_online_init(ft_model *model, struct ft_history *history, const char *app, uint32_t uid,
                    ft_rule rule);

/*
 * Learns from OBSERVATION. MODEL first predicts the run, for an out-of-sample residual. Then the
 * run enters HISTORY, where it replaces a run of the same key, and the evaluator is updated.
 *
 * A censored run gives a lower bound of the required memory: its peak, or the limit that killed it.
 * A completed run with peak_is_bound gives a lower bound too once 10 exactly measured runs exist.
 * An observation without a peak under MODEL's rule, or with an invalid one (0, or above 2^50
 * bytes), changes nothing. Returns 1 if MODEL changed, 0 if not; -1 out of memory, fills ERR and
 * leaves both as they were.
 */
int ft_online_update(ft_model *model, struct ft_history *history, const ft_observation *observation,
                     struct ft_error *err);

/*
 * Limits the times of all runs to LATEST (UTC seconds). Runs recorded while the clock was ahead
 * would otherwise stay the newest, and a full history would reject later runs as older.
 */
void ft_online_clamp_times(ft_model *model, struct ft_history *history, double latest);

/* Returns the key of O's run in the history of a model of UID. */
uint64_t ft_online_key(uint32_t uid, const ft_observation *o);

#endif
