/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run-time models of apps that have run on several platforms, from the store. */
#ifndef FT_REBUILD_RUNTIMES_H
#define FT_REBUILD_RUNTIMES_H

#include "predictor/history/store.h"

/*
 * Calls VISIT with the run-time model, from the last 100 runs, of each user's app with completed
 * runs on at least two platforms: at most LIMIT apps, most recent first. PERFORMANCE is valid
 * during the call. VISIT returns 0; -1 to stop with an error, and fills ERR. Returns 0; -1 on error
 * and fills ERR.
 */
int ft_rebuild_each_runtime(struct ft_store *store, unsigned limit,
                            int (*visit)(const ft_performance *performance, void *data,
                                         struct ft_error *err),
                            void *data, struct ft_error *err);

#endif
