/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Word expansion of the shell. Only for shell.c. */
#ifndef FT_REQUEST_EXPAND_H
#define FT_REQUEST_EXPAND_H

#include "predictor/request/shell/shell.h"

/* Expands WORD from its raw text. The result may hold several words; ft_shell_split splits them. */
void ft_shell_expand(struct ft_shell *shell, struct ft_word *word);

/* Splits the last word of COMMAND into the words that its expansion holds. */
void ft_shell_split(struct ft_command *command);

#endif
