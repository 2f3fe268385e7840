/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which word of a simple command is the program, behind keywords, wrappers and launchers. */
#ifndef FT_REQUEST_COMMAND_PROGRAM_H
#define FT_REQUEST_COMMAND_PROGRAM_H

#include "predictor/request/shell.h"

struct ft_command_parts {
  size_t program;    /* index of its word */
  size_t script;     /* of what an interpreter runs; PROGRAM where there is no such word */
  const char *image; /* of the container that a launcher runs it in, or NULL */
  struct ft_text inner; /* the commands that a shell or GNU parallel is given as a word; or empty */
  bool quoted;       /* INNER stands in the script's own quotes "...", nothing in it is expanded */
  bool statements;   /* SCRIPT is no file but what stands behind -c or -e */
};

enum { FT_BASE_NAME = 128 };

/*
 * The file name that WORD ends in, without folder, cut to fit OUT; "" where it is not known.
 * Returns OUT.
 */
const char *ft_word_base_name(const struct ft_word *word, char out[FT_BASE_NAME]);

/* What kind of interpreter the program NAME is. */
enum ft_interpreter {
  FT_INTERPRETER_NONE,
  FT_INTERPRETER_LANGUAGE, /* python, java: the script is the program */
  FT_INTERPRETER_SHELL,    /* a language as well */
  FT_INTERPRETER_CHECKER   /* valgrind: it takes memory of its own for the program that it runs */
};
enum ft_interpreter ft_interpreter(const char *name);

/*
 * Find the parts of COMMAND. False where it runs no program of interest:
 * assignments (SHELL remembers them), control words, the shell's own commands, the
 * handling of files. cd is told by *DIRECTORY, else NULL: the folder it names.
 */
bool ft_command_find_parts(struct ft_shell *shell, const struct ft_command *command,
                           struct ft_command_parts *out, const char **directory);

#endif
