/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words of a shell script: where they end and what they stand for. For shell.c alone. */
#ifndef FT_REQUEST_EXPAND_H
#define FT_REQUEST_EXPAND_H

#include "predictor/request/shell.h"

bool ft_shell_blank(char c);
bool ft_shell_ends_word(char c);

/* The end of the word that begins at P. */
const char *ft_shell_end_of_word(const char *p, const char *end);

/* Step over what OPEN began, up to its CLOSE; quotes inside hide both. */
const char *ft_shell_skip(const char *p, const char *end, char open, char close);

/* Fill WORD from its raw text; what it stands for may be several words in one. */
void ft_shell_expand(struct ft_shell *shell, struct ft_word *word);

/* Make the last word of COMMAND, which may hold several, as many as it holds. */
void ft_shell_split(struct ft_command *command);

#endif
