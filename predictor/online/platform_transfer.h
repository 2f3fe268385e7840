/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connects run-time models of apps with the site's cross-platform model: each app adds a row of its
 * training table, and receives estimates for platforms on which it has not or rarely run.
 */
#ifndef FT_ONLINE_PLATFORM_TRANSFER_H
#define FT_ONLINE_PLATFORM_TRANSFER_H

#include "predictor/estimate/relative.h"
#include "predictor/record/run_columns.h"

/* Largest number of rows of the training table. */
enum { FT_PLATFORM_TRANSFER_APPS = 500 };

/*
 * Adds a row for PERFORMANCE and its RUNTIMES to TABLE, which starts zeroed: the app's run features
 * on its first platform and its run time on each platform. Rows of apps with the same name form one
 * group. Adds nothing for an app on a single platform or beyond FT_PLATFORM_TRANSFER_APPS rows.
 * Returns 0; -1 out of memory and fills ERR. The caller frees TABLE by ft_relative_table_free.
 */
int ft_platform_transfer_add(struct ft_relative_table *table, const ft_performance *performance,
                             const struct ft_runtimes *runtimes, struct ft_error *err);

/*
 * Replaces PERFORMANCE's transferred estimates by MODEL's, for all platforms of MODEL, from the run
 * features on the app's first platform. The estimate of a platform also uses the app's run times on
 * all other platforms. Sets no estimate if MODEL lacks the first platform. Returns the number of
 * estimates; -1 on error and fills ERR.
 */
int ft_platform_transfer_estimate(const struct ft_relative_model *model,
                                  ft_performance *performance, struct ft_runtimes *runtimes,
                                  struct ft_error *err);

#endif
