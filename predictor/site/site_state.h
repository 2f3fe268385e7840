/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state directory that foretell.conf names, and the settings and apps of its site. */
#ifndef FT_SITE_STATE_H
#define FT_SITE_STATE_H

#include "predictor/site/conf.h"

/*
 * Opens the state directory NAME; NULL: that of foretell.conf (or the file in FORETELL_CONFIG), or
 * the built-in one if no such file is readable. Fills CONFIG, with defaults if necessary, and sets
 * its state_directory. Returns a descriptor; -1 and fills ERR.
 */
int ft_open_state(const char *name, struct ft_config *config, struct ft_error *err);

/* Reads SITE and its declared APPS from the state directory STATE_FD, or copies CONFIG's if that
 * has no site file. Returns 0; 1 if they are CONFIG's; -1 and fills ERR. */
int ft_site_read(int state_fd, const struct ft_config *config, ft_site *site, ft_apps *apps,
                 struct ft_error *err);

/*
 * Collects the declared apps of a user with the home directory HOME (NULL: unknown), then those of
 * SITE, SITE_APPS, in APPS, at most LIMIT; the user's fill at most half of it. Sets *COUNT to their
 * number. Returns 0; -1 if the user's apps.conf is invalid and fills ERR: then COUNT has the
 * site's.
 */
int ft_site_collect_apps(const ft_site *site, const ft_apps *site_apps, const char *home,
                         ft_declared_app *apps, size_t limit, size_t *count, struct ft_error *err);

#endif
