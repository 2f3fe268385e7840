/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where in a configuration an error is that libconfuse notices later: at the end of the file, or
 * of a quoted text. TEXT is the file's; lines are counted from 1, and none is past its last.
 */
#ifndef FT_SITE_CONF_POSITION_H
#define FT_SITE_CONF_POSITION_H

#include "predictor/core/text.h"

/* Put blanks for the comments of TEXT, but for one that never ends: libconfuse 3.3 takes each for a
 * line or two more than it has. */
void ft_conf_blank_comments(char *text, size_t length);

/* In which line AT is. */
int ft_conf_line(struct ft_text text, const char *at);

/* Where the quoted text or the comment begins that never ends; the last line where all do. */
int ft_conf_unterminated_line(struct ft_text text);

/* Where a quoted text begins, in a TEXT without comments, that runs over ends of lines into LINE;
 * LINE where none does. */
int ft_conf_quote_start_line(struct ft_text text, int line);

#endif
