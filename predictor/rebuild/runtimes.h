/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run times of the store's apps that have run on several platforms. */
#ifndef FT_REBUILD_RUNTIMES_H
#define FT_REBUILD_RUNTIMES_H

#include "predictor/history/store.h"

/*
 * Call VISIT with the run times of each app of a user that has completed runs on two platforms or
 * more, made of its last 100 runs; the apps that ran last first, at most MOST of them. VISIT
 * returns 0, or -1 with ERR to end it. Returns 0; -1 with ERR.
 */
int ft_rebuild_each_runtime(struct ft_store *store, unsigned most,
                            int (*visit)(const ft_performance *performance, void *data,
                                         struct ft_error *err),
                            void *data, struct ft_error *err);

#endif
