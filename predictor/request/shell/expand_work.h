/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the expansion of text (expand.c), of look-ups (expand_lookups.c) and of words
 * (expand_word.c). */
#ifndef FT_REQUEST_EXPAND_WORK_H
#define FT_REQUEST_EXPAND_WORK_H

#include "predictor/request/shell/lookup.h"
#include "predictor/request/shell/shell.h"

/* Separates the words of one expanded word: "unit separator" of ASCII. */
#define FT_SHELL_BETWEEN '\x1f'
/* Stands for an unknown part of a word: "record separator" of ASCII. */
#define FT_SHELL_UNKNOWN '\x1e'
#define FT_SHELL_UNKNOWN_TEXT "\x1e"
/* Both, as a string. */
#define FT_SHELL_MARKS "\x1f\x1e"
/* FT_SHELL_INDEX as a string. */
#define FT_SHELL_INDEX_TEXT "\x1a"
/* Bytes with a meaning in file name patterns. */
#define FT_SHELL_WILDCARDS "*?["

/* Destination of expanded text. Text that does not fit makes the word unknown. */
struct ft_shell_sink {
  struct ft_shell *shell;
  struct ft_word *word;
  bool splits;  /* blanks in the value of a variable separate words */
  bool marks;   /* FT_SHELL_UNKNOWN stands for an unknown part, which makes no word unknown */
  bool literal; /* quoted text with a wildcard was appended */
};

/* ---- expand.c ---- */

/* Returns the index of the variable NAME; variable_count if the script does not assign it. */
size_t ft_shell_find_variable(const struct ft_shell *shell, struct ft_text name);

/* Returns the value of $NAME or $1, valid until the next call; NULL if unknown. *ARGUMENT becomes
 * the number of the argument, if it is one. */
const char *ft_shell_variable_value(struct ft_shell *shell, struct ft_text name,
                                    unsigned *argument);

/* Appends LENGTH bytes to SHELL's text. Every addition goes through it, so that USED stays within
 * TEXT. Returns false, and adds nothing, if they do not fit. */
bool ft_shell_store(struct ft_shell *shell, const char *data, size_t length);

/* Appends LENGTH bytes of DATA, which may not have a NUL. */
void ft_shell_append_bytes(struct ft_shell_sink *sink, const char *data, size_t length);

/* Expands the text from P to END. LIST: '(' begins a list. */
void ft_shell_expand_text(struct ft_shell_sink *sink, const char *p, const char *end, bool list,
                          unsigned *argument);

/* ---- expand_lookups.c ---- */

/* Appends LOOKUP in its text form. Returns false if it is too long. */
bool ft_shell_append_lookup(struct ft_shell_sink *sink, const struct ft_lookup *lookup);

/* Parses INSIDE, from $((...)), ${list[...]} or the operands of expr, as arithmetic of known
 * numbers and the task index, into SUM (index_arithmetic.h). Returns false for other text. */
bool ft_shell_parse_arithmetic(struct ft_shell *shell, struct ft_text inside,
                               char sum[FT_LOOKUP_SUM]);

/* Expands it to a number, or to a look-up if it has the task index. Returns false, and appends
 * nothing, for other text. */
bool ft_shell_expand_arithmetic(struct ft_shell_sink *sink, struct ft_text inside);

/*
 * Expands the command INSIDE $(...) if it looks up the task index in a file; returns false for
 * others. Nested substitutions are not expanded: their number is bounded only by the script's
 * length.
 */
bool ft_shell_expand_substitution(struct ft_shell_sink *sink, struct ft_text inside);

/* Assigns the list of RAW, a word NAME=($(ls data)) or NAME=($(<list.txt)), to VARIABLE. */
void ft_shell_assign_command_list(struct ft_shell *shell, size_t variable, struct ft_text raw);

/* Expands ${NAME[INDEX]} of a known list, INSIDE being "[INDEX]". Returns false for others. */
bool ft_shell_expand_element(struct ft_shell_sink *sink, struct ft_text name,
                             struct ft_text inside);

#endif
