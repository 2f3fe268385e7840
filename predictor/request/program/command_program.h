/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the program in a simple command, after keywords, wrappers and launchers (srun, mpirun). */
#ifndef FT_REQUEST_COMMAND_PROGRAM_H
#define FT_REQUEST_COMMAND_PROGRAM_H

#include "predictor/request/program/interpreter.h"

/* Parts of a command. Indices refer to its words; strings are borrowed from it. */
struct ft_command_parts {
  size_t program;       /* index of the program */
  size_t script;        /* index of the script of an interpreter; PROGRAM: none */
  const char *image;    /* container image of a launcher, or NULL */
  bool tasks;           /* the job's tasks run the program: srun, mpirun */
  struct ft_text inner; /* commands in one word for a shell or GNU parallel; or empty */
  bool quoted;          /* INNER is the text between the script's quotes "...", not expanded */
  bool again;           /* INNER is all words from PROGRAM on, with operators: eval $CALL */
  const char *list;     /* file with a command in each line, or NULL */
  bool ranked;          /* ranks precede each command in LIST: srun --multi-prog */
  bool statements;      /* SCRIPT is no file but the text after -c or -e */
  bool whole;           /* SCRIPT is the batch script itself, not read as commands */
};

struct ft_written;

/* Finds the parts of COMMAND. WRITTEN has the files that the script writes. Returns false if it
 * runs no relevant program: assignments, which are stored in SHELL, control words, builtins, file
 * management. *DIRECTORY becomes the argument of cd
 * ("": unknown), NULL for other commands. */
bool ft_command_find_parts(struct ft_shell *shell, const struct ft_command *command,
                           const struct ft_written *written, struct ft_command_parts *out,
                           const char **directory);

#endif
