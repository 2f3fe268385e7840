/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Platforms of the stored runs: that of each node, apps with runs on several, and names that the
 * site gives to nodes after their runs. */
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

/*
 * Sets the platform of at most some hundred runs on NODE from their fingerprint to PLATFORM, and
 * marks their apps as stale (stale_models.h), in one durable transaction. A run whose platform has
 * a name keeps it. Returns 1 if more may remain; 0 without any write if none does; -1 on error and
 * fills ERR.
 */
int ft_store_name_platform(struct ft_store *store, const char *node, const char *platform,
                           struct ft_error *err);

#endif
