/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Data for the message about a new app: what a user's apps used of the memory that they requested,
 * in a file that only this user may read, and what the runs of a program needed over all users, in
 * anonymous files.
 */
#ifndef FT_LEARNER_USAGE_INDEX_H
#define FT_LEARNER_USAGE_INDEX_H

#include "learner/publish.h"

/* Enters what MODEL's completed runs in HISTORY used. Failures are logged. A pooled model is not
 * entered. */
void ft_usage_index_update(struct ft_publisher *publisher, int state_fd, const ft_model *model,
                           const struct ft_history *history);

/* Removes UID's APP, which has no runs left. Failures are logged. */
void ft_usage_index_remove(struct ft_publisher *publisher, int state_fd, uint32_t uid,
                           const char *app);

#endif
