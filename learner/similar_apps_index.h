/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Data for estimates of new apps: the similar apps of each user, in files that only this user may
 * read, and an anonymous site-wide prior of the memory that apps need, in one file.
 */
#ifndef FT_LEARNER_SIMILAR_APPS_INDEX_H
#define FT_LEARNER_SIMILAR_APPS_INDEX_H

#include "learner/publish.h"

/*
 * Enters MODEL, which was just updated by OBSERVATION, under the stem of the job's name and under
 * the program, and its peak memory in the prior below STATE_FD. Files are written only when the
 * number of completed runs is a power of two (and at 5 runs). Failures are logged.
 */
void ft_similar_apps_index_update(struct ft_publisher *publisher, int state_fd,
                                  const ft_model *model, const ft_observation *observation);

/* Removes UID's APP, which has no runs left, from the prior. Failures are logged. */
void ft_similar_apps_index_remove(int state_fd, uint32_t uid, const char *app);

#endif
