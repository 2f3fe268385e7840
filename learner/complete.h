/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an observation needs besides what its node has measured. */
#ifndef FT_LEARNER_COMPLETE_H
#define FT_LEARNER_COMPLETE_H

#include "predictor/record/record.h"

/*
 * Fills in OBSERVATION's cluster and Slurm's version if they are empty, as they are in a spool of
 * another release, and the default memory of its partition (read from a file below STATE_FD).
 * PLATFORM replaces the platform that the node states; NULL: it stays.
 */
void ft_complete_observation(const ft_site *site, int state_fd, const char *platform,
                             ft_observation *observation);

#endif
