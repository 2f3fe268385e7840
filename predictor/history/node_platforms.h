/* SPDX-License-Identifier: GPL-3.0-or-later */
/* On which platform each node was when something ran there. */
#ifndef FT_HISTORY_NODE_PLATFORMS_H
#define FT_HISTORY_NODE_PLATFORMS_H

#include "predictor/history/store.h"

/*
 * Call SEE with node and platform of runs that were put after number *AFTER, and when they ended:
 * the last LIMIT of them, those without a platform left out. *AFTER becomes the last one's number.
 * Returns 0; -1 with ERR.
 */
int ft_store_each_node(struct ft_store *store, int64_t *after, unsigned limit,
                       void (*see)(const char *node, const char *platform, double time, void *data),
                       void *data, struct ft_error *err);

#endif
