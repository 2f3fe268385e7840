/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks and converts the app sections of foretell.conf and apps.conf. Only for conf.c. */
#ifndef FT_SITE_CONF_APPS_H
#define FT_SITE_CONF_APPS_H

#include <confuse.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

/* Keys of an app section, for CFG_SEC. */
extern cfg_opt_t ft_conf_app_options[];

/* Registers the check of app sections with CFG, to be called while it is parsed. */
void ft_conf_apps_watch(cfg_t *cfg);

/* Converts the app sections of CFG, parsed from PATH, into APPS, at most LIMIT, and sets *COUNT to
 * their number. Returns 0; -1 if there are too many and fills ERR. */
int ft_conf_apps_read(cfg_t *cfg, const char *path, ft_declared_app *apps, size_t limit,
                      size_t *count, struct ft_error *err);

#endif
