/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The platforms of an app's run times, and the log ratios of their run times to those on the first
 * platform. H has the runs of P. */
#ifndef FT_ONLINE_PLATFORM_RATIOS_H
#define FT_ONLINE_PLATFORM_RATIOS_H

#include "predictor/record/run_columns.h"

/* Returns whether RUN did not complete, so that its seconds are a lower bound: its number of the
 * quantity run time is not above 0. */
bool ft_runtime_stopped(const ft_timed_run *run);

/* Returns the index of PLATFORM; the number of platforms if it is unknown. */
uint32_t ft_platforms_find(const ft_performance *p, const char *platform);

/* Returns the index of PLATFORM, added if it is new; a full list loses the one used longest ago. */
uint32_t ft_platforms_find_or_add(ft_performance *p, struct ft_runtimes *h, const char *platform);

/* Moves a platform with 1.5 times the first platform's runs to the first index. Then refers all
 * ratios to it and clears the regression. */
void ft_platforms_choose_first(ft_performance *p, struct ft_runtimes *h);

/* Sets the ratio of a new platform AT from its first run O, before the regression includes O. */
void ft_platforms_init_ratio(ft_performance *p, const ft_observation *o, uint32_t at);

/* Counts the runs of each platform and updates its last use. */
void ft_platforms_count_runs(ft_performance *p, const struct ft_runtimes *h);

/* Measures the ratio of each platform by the residuals of its runs under the regression. */
void ft_platforms_measure(ft_performance *p, const struct ft_runtimes *h);

#endif
