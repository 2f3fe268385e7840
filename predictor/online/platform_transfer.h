/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Between the run times of apps and the site's model of relative performance: what each app teaches
 * it, and what it tells of platforms on which an app has not, or hardly, run.
 */
#ifndef FT_ONLINE_PLATFORM_TRANSFER_H
#define FT_ONLINE_PLATFORM_TRANSFER_H

#include "predictor/estimate/relative.h"
#include "predictor/record/record.h"

/* The most apps that a model is learnt from. */
enum { FT_PLATFORM_TRANSFER_APPS = 500 };

/*
 * Add a row for PERFORMANCE to TABLE, zeroed before the first: what was counted in its runs on its
 * first platform, and its time on each it has run on. Rows of apps of one name are one group. An
 * app beyond FT_PLATFORM_TRANSFER_APPS, or on one platform alone, adds nothing. 0; -1 with ERR out
 * of memory.
 */
int ft_platform_transfer_add(struct ft_relative_table *table, const ft_performance *performance,
                             struct ft_error *err);

/*
 * Forget what PERFORMANCE was told, and tell it what MODEL says of all its platforms, from what was
 * counted on the app's first one; its times on others correct that, but not of the platform itself.
 * Where MODEL does not know the first platform nothing is told. Returns how many; -1 with ERR.
 */
int ft_platform_transfer_estimate(const struct ft_relative_model *model,
                                  ft_performance *performance, struct ft_error *err);

#endif
