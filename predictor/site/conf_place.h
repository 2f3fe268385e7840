/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where in a configuration an error is that libconfuse notices at the end of the file. TEXT is
 * the file's; lines are counted from 1, and none is past its last.
 */
#ifndef FT_SITE_CONF_PLACE_H
#define FT_SITE_CONF_PLACE_H

#include "predictor/core/text.h"

/* In which line AT is. */
int ft_conf_line(struct ft_text text, const char *at);

/* Where a quoted text begins that never ends: at the last of its quotes, which are odd in number.
 */
int ft_conf_open_quote(struct ft_text text);

/* Where a comment begins that never ends. */
int ft_conf_open_comment(struct ft_text text);

#endif
