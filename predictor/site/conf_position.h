/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the lines of errors that libconfuse reports too late: at the end of the file or of a
 * string. TEXT is the contents of the file. Lines are numbered from 1 and limited to the last line.
 */
#ifndef FT_SITE_CONF_POSITION_H
#define FT_SITE_CONF_POSITION_H

#include "predictor/core/text.h"

/* Replaces the comments of TEXT, LENGTH bytes, by blanks, except one without end. libconfuse 3.3
 * counts one or two lines too many for each comment. */
void ft_conf_blank_comments(char *text, size_t length);

/* Returns the line of the position AT. */
int ft_conf_line(struct ft_text text, const char *at);

/* Returns the line of the last "{" that is not after LINE; LINE if there is none. */
int ft_conf_brace_line(struct ft_text text, int line);

/* Returns the first line of the string or comment without end; the last line if there is none. */
int ft_conf_unterminated_line(struct ft_text text);

/* Returns the first line of a string that continues into LINE; LINE if there is none. TEXT has no
 * comments. */
int ft_conf_quote_start_line(struct ft_text text, int line);

#endif
