/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which word of a simple command is the program, behind keywords, wrappers and launchers. */
#ifndef FT_REQUEST_COMMAND_H
#define FT_REQUEST_COMMAND_H

#include "predictor/request/shell.h"

struct ft_parts {
  size_t program;    /* index of its word */
  size_t script;     /* of what an interpreter runs; PROGRAM where there is no such word */
  const char *image; /* of the container that a launcher runs it in, or NULL */
  const char *inner; /* the commands that a shell is given with -c, or NULL */
};

/*
 * Find the parts of COMMAND. False where it runs no program of interest:
 * assignments (SHELL remembers them), control words, the shell's own commands, the
 * handling of files. cd is told by *DIRECTORY, else NULL: the folder it names.
 */
bool ft_parts_find(struct ft_shell *shell, const struct ft_command *command, struct ft_parts *out,
                   const char **directory);

#endif
