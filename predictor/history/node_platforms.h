/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Platforms as recorded by the runs: that of each node, and apps with runs on several. */
#ifndef FT_HISTORY_NODE_PLATFORMS_H
#define FT_HISTORY_NODE_PLATFORMS_H

#include <stdint.h>

#include "predictor/history/store.h"

/*
 * Calls VISIT with node, platform and end time (UTC seconds) of runs stored after row *AFTER: at
 * most the newest LIMIT, without those that have no platform. Sets *AFTER to the last row of the
 * store.
 * Returns 0; -1 on error and fills ERR.
 */
int ft_store_each_node(struct ft_store *store, int64_t *after, unsigned limit,
                       void (*visit)(const char *node, const char *platform, double time,
                                     void *data),
                       void *data, struct ft_error *err);

/*
 * Calls VISIT for up to LIMIT apps with completed runs on more than one platform, most recent
 * first. VISIT may read the store; returns 0, or -1 to stop and fills ERR. Returns 0; -1 on error
 * and fills ERR.
 */
int ft_store_each_app_of_platforms(struct ft_store *store, unsigned limit,
                                   int (*visit)(const char *app, uint32_t uid, void *data,
                                                struct ft_error *err),
                                   void *data, struct ft_error *err);

#endif
