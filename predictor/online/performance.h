/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Updates an app's run-time model by one observation. Pure: no clock, file or random number, so
 * agent and import get the same model.
 *
 * The model is a regression of the run time on the features for the first platform (the one with
 * the most runs), and for each other platform the log ratio of its run times to those of the first.
 */
#ifndef FT_ONLINE_PERFORMANCE_H
#define FT_ONLINE_PERFORMANCE_H

#include "predictor/core/error.h"
#include "predictor/record/run_columns.h"

/* Smallest standard deviation of a log ratio of run times; runs that share a node or a week show
 * too little of the variation. Chosen by judgement. */
#define FT_PERFORMANCE_MIN_DEVIATION 0.02

/* Sets PERFORMANCE to an empty run-time model of UID's APP, and RUNTIMES, its runs, to none. */
void ft_performance_init(ft_performance *performance, struct ft_runtimes *runtimes, const char *app,
                         uint32_t uid);

/*
 * Learns from OBSERVATION, if the run completed and has a run time and a platform. The newest 100
 * such runs count. The log ratio of a platform is the median of its runs' log residuals. Another
 * platform becomes the first with 1.5 times the first platform's runs. A new platform beyond the
 * maximum number replaces the one used longest ago, and its runs. A later record of a run replaces
 * the earlier one. Takes less than a millisecond. Returns 1 if PERFORMANCE changed, 0 if not; -1
 * out of memory, fills ERR and leaves both as they were.
 */
int ft_performance_update(ft_performance *performance, struct ft_runtimes *runtimes,
                          const ft_observation *observation, struct ft_error *err);

/* Limits all times to LATEST (UTC seconds), as ft_online_clamp_times does. */
void ft_performance_clamp_times(ft_performance *performance, struct ft_runtimes *runtimes,
                                double latest);

/*
 * Sets the transferred estimate of PLATFORM: the log ratio of run times on PLATFORM to those on the
 * first platform, with its standard deviation (at least FT_PERFORMANCE_MIN_DEVIATION). If the app
 * has run on PLATFORM, the platform's ratio is the mean of measurement and estimate, weighted by
 * their precisions. Does nothing for the first platform and beyond the maximum number of platforms.
 */
void ft_performance_set_transfer(ft_performance *performance, struct ft_runtimes *runtimes,
                                 const char *platform, double log_ratio, double deviation);

/* Removes all transferred estimates, and platforms without runs. */
void ft_performance_clear_transfers(ft_performance *performance, struct ft_runtimes *runtimes);

#endif
