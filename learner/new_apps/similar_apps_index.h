/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Data for estimates of new apps: the similar apps of each user, in files that only this user may
 * read, and an anonymous site-wide prior of the memory that apps need, in one file.
 */
#ifndef FT_LEARNER_SIMILAR_APPS_INDEX_H
#define FT_LEARNER_SIMILAR_APPS_INDEX_H

#include "learner/publish.h"
#include "predictor/record/state_files.h"

/*
 * Whether MODEL, which was just updated by O, has to be entered: only when the number of completed
 * runs is a power of two, or 5.
 */
bool ft_similar_apps_index_due(const ft_model *model, const ft_observation *o);

/* Writes the similarity keys of O to KEYS; "": none. */
void ft_similar_apps_index_keys(const ft_observation *o, char keys[FT_SIMILARITIES][80]);

/*
 * Enters MODEL under KEYS in its user's files, and the peaks of HISTORY in the prior below
 * STATE_FD, in memory until ft_similar_apps_index_write. Failures are logged.
 */
void ft_similar_apps_index_update(struct ft_publisher *publisher, int state_fd,
                                  const ft_model *model, const struct ft_history *history,
                                  char keys[FT_SIMILARITIES][80]);

/* Writes the files of the prior if it has changed in memory. Failures are logged. */
void ft_similar_apps_index_write(struct ft_publisher *publisher, int state_fd);

/* Removes UID's APP, which has no runs left, from the prior and its files. Failures are logged. */
void ft_similar_apps_index_remove(struct ft_publisher *publisher, int state_fd, uint32_t uid,
                                  const char *app);

#endif
