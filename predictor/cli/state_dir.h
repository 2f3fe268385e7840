/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose apps and which state folder: what --user and --state name, and what holds without them. */
#ifndef FT_CLI_STATE_DIR_H
#define FT_CLI_STATE_DIR_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "predictor/core/error.h"
#include "predictor/site/conf.h"

struct ft_user {
  uid_t uid;
  char name[64];       /* the number where there is no name */
  char home[PATH_MAX]; /* empty: not known */
};

/* The user called NAME or numbered so; NULL: who runs this. Returns 0; -1 with ERR. */
int ft_find_user(const char *name, struct ft_user *user, struct ft_error *err);

/*
 * Open the state folder NAME; NULL: that of foretell.conf, or of the file that FORETELL_CONFIG
 * names, or the built-in one where there is no such file that can be read. CONFIG is filled, with
 * defaults where need be, its state_directory being the folder. Returns a descriptor; -1 with ERR.
 */
int ft_open_state(const char *name, struct ft_config *config, struct ft_error *err);

/*
 * Read SITE and its declared APPS from the state folder STATE_FD that CONFIG names. Without a site
 * file CONFIG's settings hold, which is said on standard error in the name of COMMAND. Returns 0;
 * -1 with ERR.
 */
int ft_read_site(const char *command, int state_fd, const struct ft_config *config, ft_site *site,
                 ft_apps *apps, struct ft_error *err);

/* Whether an agent works in the state folder STATE_FD. */
bool ft_agent_works(int state_fd);

#endif
