/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of jobs, files and commands are bytes. Where UTF-8 is wanted (JSON, drawings, columns
 * of a table) they are mended and counted here. What is UTF-8: RFC 3629, section 4.
 */
#ifndef FT_CORE_UTF8_H
#define FT_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Whether TEXT is UTF-8 throughout. */
bool ft_utf8_valid(const char *text);

/* Replace by '?' every byte of TEXT that is part of no character. */
void ft_utf8_replace_invalid(char *text);

/*
 * Whether TEXT may stand on any terminal, in any table: UTF-8 throughout, without control characters
 * (C0, DEL, C1), line and paragraph separators, and what turns the direction of writing (Unicode's
 * Bidi_Control).
 */
bool ft_utf8_is_printable(const char *text);

/* Replace by '?' each character of TEXT for which it may not, and each byte that is part of none. */
void ft_utf8_make_printable(char *text);

/* How many characters TEXT has; a byte that is part of none counts as one. */
size_t ft_utf8_length(const char *text);

/* How many bytes the first COUNT of them take, all of TEXT if it has fewer. */
size_t ft_utf8_prefix_bytes(const char *text, size_t count);

#endif
