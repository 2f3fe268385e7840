/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a new app is told from: which of a user's apps are alike, in files that only that user may
 * read, and what the site's apps need at large, in one that names nobody.
 */
#ifndef FT_AGENT_KIN_H
#define FT_AGENT_KIN_H

#include "agent/publish.h"

/*
 * MODEL has learnt from OBSERVATION: note it under the stem of its job's name and its program, and
 * its needs among those of the site under STATE_FD. Files are written when its completed runs have
 * doubled, nothing in between. What cannot be written is logged and done without.
 */
void ft_similar_apps_index_update(struct ft_publisher *publisher, int state_fd,
                                  const ft_model *model, const ft_observation *observation);

/* UID's APP, which has no run any more, is none of those that tell what the site's apps need. */
void ft_similar_apps_index_remove(int state_fd, uint32_t uid, const char *app);

#endif
