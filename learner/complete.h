/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an observation needs besides what its node has measured. */
#ifndef FT_LEARNER_COMPLETE_H
#define FT_LEARNER_COMPLETE_H

#include "predictor/record/record.h"

/* Names of the users of the last runs; zeroed before the first use. The name service may be remote,
 * and reads some thirty files for a user it does not know. */
enum { FT_USER_NAMES = 64 };
struct ft_user_names {
  struct ft_user_name {
    uint32_t uid;
    double until; /* monotonic time at which the name is looked up again */
    char text[sizeof((ft_observation *)NULL)->user];
  } name[FT_USER_NAMES]; /* by uid modulo FT_USER_NAMES */
};

/*
 * Fills in OBSERVATION's cluster, Slurm's version and user name (with NAMES) if they are empty, as
 * they are in a spool of another release, and the default memory of its partition (read from a file
 * below STATE_FD). PLATFORM replaces the platform that the node states; NULL: it stays.
 */
void ft_complete_observation(const ft_site *site, int state_fd, const char *platform,
                             struct ft_user_names *names, ft_observation *observation);

#endif
