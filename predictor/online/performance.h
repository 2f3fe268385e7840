/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Run times of an app + observation -> run times. Pure, as the memory model's update is: the same
 * for agent and import; no clock, no file, no random number.
 */
#ifndef FT_ONLINE_PERFORMANCE_H
#define FT_ONLINE_PERFORMANCE_H

#include "predictor/core/error.h"
#include "predictor/record/record.h"

/* Nothing is known yet of how long user UID's APP runs. */
void ft_performance_init(ft_performance *performance, const char *app, uint32_t uid);

/*
 * Learn from OBSERVATION. Only a run that completed, took time and says on which platform counts;
 * of the last 100 such the pace is made, a regression on their features on the first place, and
 * for each other place the ratio to it: the median of what its runs took beside the pace for their
 * features. The first place is the one with the most runs, others are taken for it only once they
 * have half as many again. Of too many places the one used longest ago leaves, with its runs.
 * A later record of a run replaces the earlier. Under a millisecond. Returns 1 when something
 * changed, 0 when not, -1 with ERR out of memory, nothing being changed.
 */
int ft_performance_update(ft_performance *performance, const ft_observation *observation,
                          struct ft_error *err);

/* As ft_online_clamp_times. */
void ft_performance_clamp_times(ft_performance *performance, double latest);

/*
 * Take what is told of PLATFORM from elsewhere: the logarithm of the run time there over that on
 * the first place, with its deviation, 0.02 or more. It stays; where the app has run there, both
 * count by their precision, so that a few runs correct what was told and many replace it. Of the
 * first place nothing can be told; too many platforms are passed over.
 */
void ft_performance_set_transfer(ft_performance *performance, const char *platform,
                                 double log_ratio, double deviation);

/* Forget all that was told, and places of which nothing else is known: a platform that is no more.
 */
void ft_performance_clear_transfers(ft_performance *performance);

/* The mean of what was counted in the runs on the first place, by column; NAN where in none. */
void ft_performance_mean_features(const ft_performance *performance, double *mean, size_t count);

#endif
