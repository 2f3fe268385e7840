/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where words, quotes and expansions of the shell end; computes no values. */
#ifndef FT_REQUEST_SHELL_SCAN_H
#define FT_REQUEST_SHELL_SCAN_H

#include "predictor/request/shell/shell.h"

/* Whether C may be in the name of a variable, or begin it (FIRST). */
bool ft_shell_is_name_byte(char c, bool first);

/* Whether C is a space, tab or carriage return. */
bool ft_shell_blank(char c);

/* Whether C ends an unquoted word. */
bool ft_shell_ends_word(char c);

/* Returns the end of the word that begins at P, at most END. */
const char *ft_shell_end_of_word(const char *p, const char *end);

/* Returns the position after the CLOSE that matches an OPEN just before P, at most END. Ignores
 * both inside quotes. */
const char *ft_shell_skip(const char *p, const char *end, char open, char close);

/* Returns the position after a quoted string. P is after the opening QUOTE. */
const char *ft_shell_skip_quoted(const char *p, const char *end, char quote);

/* Returns the position after an expansion. P is after its '$'. */
const char *ft_shell_skip_expansion(const char *p, const char *end);

/* Returns WORD, the end word of a here-document, without its quotes. */
struct ft_text ft_shell_document_end(struct ft_text word);

/* Whether LINE ends a here-document with the end word END. */
bool ft_shell_ends_document(struct ft_text line, struct ft_text end);

#endif
