/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Word expansion of the shell: the ends and the values of words. Only for shell.c. */
#ifndef FT_REQUEST_EXPAND_H
#define FT_REQUEST_EXPAND_H

#include "predictor/request/shell.h"

/* Whether C is a space, tab or carriage return. */
bool ft_shell_blank(char c);

/* Whether C ends an unquoted word. */
bool ft_shell_ends_word(char c);

/* Returns the end of the word that begins at P, at most END. */
const char *ft_shell_end_of_word(const char *p, const char *end);

/* Returns the position after the CLOSE that matches an OPEN just before P, at most END. Ignores
 * both inside quotes. */
const char *ft_shell_skip(const char *p, const char *end, char open, char close);

/* Expands WORD from its raw text. The result may hold several words; ft_shell_split splits them. */
void ft_shell_expand(struct ft_shell *shell, struct ft_word *word);

/* Splits the last word of COMMAND into the words that its expansion holds. */
void ft_shell_split(struct ft_command *command);

#endif
