/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file name of a word of a command, and whether it is an interpreter. */
#ifndef FT_REQUEST_INTERPRETER_H
#define FT_REQUEST_INTERPRETER_H

#include "predictor/request/shell/shell.h"

enum { FT_BASE_NAME = 128 }; /* size of an array for a file name, in bytes */

/* Copies the file name of WORD, without directory, to OUT, truncated if necessary; "" if unknown.
 * Returns OUT. */
const char *ft_word_base_name(const struct ft_word *word, char out[FT_BASE_NAME]);

enum ft_interpreter {
  FT_INTERPRETER_NONE,
  FT_INTERPRETER_LANGUAGE, /* python, java: the script is the program */
  FT_INTERPRETER_SHELL,    /* bash: its script is a list of commands */
  FT_INTERPRETER_CHECKER   /* valgrind: adds memory of its own to the program that it runs */
};

/* Returns the type of interpreter of the program NAME, with or without a version number. */
enum ft_interpreter ft_interpreter(const char *name);

#endif
