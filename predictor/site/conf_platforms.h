/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks and converts the platform sections of foretell.conf. Only for conf.c. */
#ifndef FT_SITE_CONF_PLATFORMS_H
#define FT_SITE_CONF_PLATFORMS_H

#include <confuse.h>

#include "predictor/site/conf.h"

/* Keys of a platform section, for CFG_SEC. */
extern cfg_opt_t ft_conf_platform_options[];

/* Registers the checks of platform sections with CFG, to be called while it is parsed. */
void ft_conf_platforms_watch(cfg_t *cfg);

/* Converts the platform sections of CFG, parsed from PATH, into CONFIG. Returns 0; -1 if there are
 * too many and fills ERR. */
int ft_conf_platforms_read(cfg_t *cfg, const char *path, struct ft_config *config,
                           struct ft_error *err);

#endif
