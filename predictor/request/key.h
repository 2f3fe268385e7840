/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Derives the key of an app that is neither named nor declared: a hash of the programs of the
 * script. A program contributes its name, the script of an interpreter and the sub-command.
 * Arguments, numbers, directories, order and launchers do not change the key. Text tools count only
 * in a script without other programs; tools for files, code and packages only without both;
 * programs that only print never count. The key of a workflow task (workflow.h) is the task.
 */
#ifndef FT_REQUEST_KEY_H
#define FT_REQUEST_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/request/program/command_program.h"
#include "predictor/request/statements.h"

/* Limits. */
enum {
  FT_KEY_PROGRAMS = 48,   /* distinct programs in a key; further ones are ignored */
  FT_KEY_COMMANDS = 4096, /* commands examined; takes some 30 ms */
  FT_KEY_FUNCTIONS = 24,  /* shell functions that are recognised and not counted as programs */
  FT_KEY_SHOWN = 48       /* bytes of the shown name of a key */
};

/* Weight of a program, ascending: only prints; tool for files, code or packages; text tool; other
 * program; workflow task. Only the programs of the largest weight form the key. */
enum ft_key_weight { FT_KEY_LOOK, FT_KEY_TOOL, FT_KEY_TEXT, FT_KEY_PROGRAM, FT_KEY_TASK };

/* One program that a script runs. */
struct ft_key_program {
  enum ft_key_weight weight;
  bool known;       /* the name is known */
  bool language;    /* NAME is an interpreter: only its script counts, if it has one */
  bool idle;        /* an interpreter without a script */
  bool own_tool;    /* a user's program with the name of an installed tool: "./sort" */
  bool script_last; /* the script follows the sub-command and is shown instead of it */
  uint64_t code;    /* hash of the statements that it runs; 0: none */
  char name[FT_BASE_NAME];
  char script[FT_BASE_NAME]; /* the file that it runs; "": none */
  char sub[FT_BASE_NAME];    /* the sub-command; "": none */
};

/* The programs found so far in a script. */
struct ft_key {
  /* called with DATA for each program and the word that names it, as it is written; or NULL */
  void (*report)(const struct ft_key_program *program, struct ft_text word, void *data);
  void *data;
  enum ft_key_weight weight; /* of the programs in PROGRAM */
  /* of the program of the last command, as far as its arguments count: FT_KEY_PROGRAM if unknown */
  enum ft_key_weight current;
  bool known;  /* any of them is known */
  bool idle;   /* any of them is idle */
  bool serves; /* any of them serves an interactive session: Jupyter */
  size_t count, function_count, commands;
  uint64_t program[FT_KEY_PROGRAMS]; /* hashes, distinct */
  char function[FT_KEY_FUNCTIONS][FT_BASE_NAME];
  char last[FT_BASE_NAME];       /* the last program, or its script: "sort", "./sort"; "": none */
  char shown[FT_KEY_SHOWN];      /* the name to show: "train.py", "samtools-sort" */
  struct ft_statements document; /* a here-document that belongs to no command yet */
  struct ft_key_program waiting; /* the program whose here-document follows; name "": none */
};

/* Initialises KEY without programs. */
void ft_key_init(struct ft_key *key);

/* Adds the next COMMAND of the script. PARTS names its program (NULL: none). */
void ft_key_add_command(struct ft_key *key, const struct ft_command *command,
                        const struct ft_command_parts *parts);

/* Sets the key to the task NAME of the workflow manager MANAGER. */
void ft_key_set_task(struct ft_key *key, const char *manager, const char *name);

/* Adds a LINE of a here-document (<<), in the order of ft_shell_next_command. */
void ft_key_add_document_line(struct ft_key *key, struct ft_text line);

/* Computes the key of the app for USER into *HASH, after the last command. Returns false if no
 * program is known. */
bool ft_key_hash(struct ft_key *key, const char *user, uint64_t *hash);

#endif
