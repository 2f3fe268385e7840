/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The user and the state directory of a command: --user, --state and their defaults. */
#ifndef FT_CLI_STATE_DIR_H
#define FT_CLI_STATE_DIR_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "predictor/core/error.h"
#include "predictor/site/site_state.h"

struct ft_user {
  uid_t uid;
  char name[64];       /* the numeric id without an account */
  char home[PATH_MAX]; /* "": unknown */
};

/* Finds the user with the name or number NAME (NULL: the caller). Returns 0; -1 and fills ERR. */
int ft_find_user(const char *name, struct ft_user *user, struct ft_error *err);

/*
 * Reads SITE and its declared APPS from the state directory STATE_FD of CONFIG. Without a site
 * file, uses CONFIG's settings and prints a warning in the name of COMMAND. Returns 0; -1 and
 * fills ERR.
 */
int ft_read_site(const char *command, int state_fd, const struct ft_config *config, ft_site *site,
                 ft_apps *apps, struct ft_error *err);

/* True if a learner serves the state directory STATE_FD. */
bool ft_learner_works(int state_fd);

/*
 * Whether learners of other hosts have the runs of this one: it has no store, and its agent
 * delivers to them. Fills ERR with their names. NAME and CONFIG: as of ft_open_state, which
 * returned STATE_FD; a directory that is named is never elsewhere.
 */
bool ft_store_is_elsewhere(const char *name, int state_fd, const struct ft_config *config,
                           struct ft_error *err);

#endif
