/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Removes secrets from the lines of programs and documents in any language, before they are hashed.
 */
#ifndef FT_REQUEST_HIDE_LINE_H
#define FT_REQUEST_HIDE_LINE_H

#include "predictor/request/hide.h"

/* Returns LINE up to its first secret value, which it remembers: NAME = VALUE, "NAME": VALUE,
 * NAME <- VALUE, set NAME VALUE, setenv NAME VALUE. */
struct ft_text ft_hide_in_line(struct ft_hidden *hidden, struct ft_text line);

#endif
