/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The platform sections of foretell.conf, for conf.c. */
#ifndef FT_SITE_CONF_PLATFORMS_H
#define FT_SITE_CONF_PLATFORMS_H

#include <confuse.h>

#include "predictor/site/conf.h"

/* The keys of a platform section, for CFG_SEC. */
extern cfg_opt_t ft_conf_platform_options[];

/* Have every value of the platform sections checked while CFG is parsed. */
void ft_conf_platforms_watch(cfg_t *cfg);

/* Put the sections of CFG, parsed from PATH, into CONFIG. Returns 0; -1 with ERR where there are
 * too many. */
int ft_conf_platforms_read(cfg_t *cfg, const char *path, struct ft_config *config,
                           struct ft_error *err);

#endif
