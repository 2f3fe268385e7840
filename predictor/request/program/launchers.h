/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands that run another program: srun, mpirun, env, containers, profilers. */
#ifndef FT_REQUEST_LAUNCHERS_H
#define FT_REQUEST_LAUNCHERS_H

#include "predictor/request/shell/shell.h"

/* A launcher's table row; its members are private. */
struct ft_launcher;

/* What a launcher runs. */
struct ft_launched {
  size_t at;         /* index of the program, or of the container image that runs its default
                        program; the command's count: none */
  const char *image; /* the container image, borrowed; unchanged without one */
  bool joined;       /* the program may be a whole command in one word */
  bool listed;       /* AT is a file with ranks and a program in each line: srun --multi-prog */
  const char *list;  /* file with a command in each line (GNU parallel), borrowed, or NULL */
  bool tasks;        /* the job's tasks run the program: srun, mpirun */
};

/* Returns the launcher NAME, a file name; NULL if it is none. */
const struct ft_launcher *ft_launcher_find(const char *name);

/* Returns the launcher at the word AT of C, with a sub-command that runs a program if it has
 * sub-commands; NULL if it is none. */
const struct ft_launcher *ft_launcher_at(const struct ft_command *c, size_t at);

/* Finds what LAUNCHER, the word AT of C, runs. */
void ft_launcher_program(const struct ft_launcher *launcher, const struct ft_command *c, size_t at,
                         struct ft_launched *out);

/* Whether WORD is an option, even if its value is unknown (--output=$PWD/x). */
bool ft_is_option_word(const struct ft_word *word);

/* Whether WORD, which may be an argument, is certainly a program: an interpreter, a launcher, a
 * file of a language, ./x or bin/x. */
bool ft_is_program_word(const struct ft_word *word);

/* Whether TEXT is a number. */
bool ft_is_numeric_word(const char *text);

#endif
