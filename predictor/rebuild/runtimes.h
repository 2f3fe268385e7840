/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run-time models of apps that have run on several platforms, from the store. */
#ifndef FT_REBUILD_RUNTIMES_H
#define FT_REBUILD_RUNTIMES_H

#include "predictor/history/store.h"
#include "predictor/record/run_columns.h"

/* Called for the run-time model of an app, valid during the call. Returns 0; -1 to stop with an
 * error, and fills ERR. */
typedef int ft_runtime_visit(const ft_performance *performance, const struct ft_runtimes *runtimes,
                             void *data, struct ft_error *err);

/*
 * Calls VISIT with the run-time model, from the last 100 runs, of each user's app with completed
 * runs on at least two platforms: at most LIMIT apps, most recent first. Returns 0; -1 on error and
 * fills ERR.
 */
int ft_rebuild_each_runtime(struct ft_store *store, unsigned limit, ft_runtime_visit *visit,
                            void *data, struct ft_error *err);

#endif
