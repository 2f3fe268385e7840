/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The language of a batch script, from the interpreter in its first line ("#!"). */
#ifndef FT_REQUEST_LANGUAGE_H
#define FT_REQUEST_LANGUAGE_H

#include "predictor/request/program/command_program.h"

enum ft_language {
  FT_LANGUAGE_SH,   /* sh, bash, zsh and ksh; also without an interpreter: --wrap */
  FT_LANGUAGE_CSH,  /* csh and tcsh */
  FT_LANGUAGE_OTHER /* Python, R, a binary file: its text is not understood */
};

/* Whether PROGRAM is csh or tcsh. */
bool ft_is_csh(const char *program);

/*
 * Returns the language of SCRIPT, the file NAME (NULL: standard input). Of FT_LANGUAGE_OTHER, it
 * makes COMMAND what the kernel runs, "python3 -u NAME", with its PARTS, and a here-document if
 * NAME is NULL; without an interpreter COMMAND has no words. SHELL is reinitialised.
 */
enum ft_language ft_language_of(struct ft_text script, const char *name, struct ft_shell *shell,
                                struct ft_command *command, struct ft_command_parts *parts);

/* Whether COMMAND lets an interpreter of another language read the script, the file NAME, from the
 * start: exec tclsh "$0" "$@". The commands after it are in that language. Changes COMMAND and
 * PARTS as ft_language_of. */
bool ft_language_changes(struct ft_command *command, const char *name,
                         struct ft_command_parts *parts);

#endif
