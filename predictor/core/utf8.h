/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Validates UTF-8 (RFC 3629, section 4), replaces invalid bytes and counts characters. Names of
 * jobs, files and commands are arbitrary bytes; JSON, SVG and tables need UTF-8.
 */
#ifndef FT_CORE_UTF8_H
#define FT_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether all of TEXT is valid UTF-8. */
bool ft_utf8_valid(const char *text);

/* Replaces every invalid byte of TEXT by '?'. */
void ft_utf8_replace_invalid(char *text);

/*
 * Returns whether TEXT is safe on a terminal and in a table: valid UTF-8 without control characters
 * (C0, DEL, C1), line and paragraph separators and bidirectional controls (Unicode: Bidi_Control).
 */
bool ft_utf8_is_printable(const char *text);

/* Replaces every character that ft_utf8_is_printable excludes, and every invalid byte, by '?'. */
void ft_utf8_make_printable(char *text);

/* Returns the number of characters of TEXT. An invalid byte counts as one. */
size_t ft_utf8_length(const char *text);

/* Returns the number of bytes of the first COUNT characters of TEXT, or of all if it has fewer. */
size_t ft_utf8_prefix_bytes(const char *text, size_t count);

#endif
