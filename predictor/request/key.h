/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What makes the app of a script that no user has named and no site declared: the programs that it
 * runs. Of each the key has the name, the file that an interpreter runs, and the sub-command.
 * Arguments, numbers, folders, the order of the programs, and what launches them are no part of it.
 * Tools that work on text count only where a script runs no program, and those for files, code and
 * packages where it runs neither; what prints or looks at something never counts. A job that is one
 * task of a workflow (workflow.h) is that task, whatever else it runs.
 */
#ifndef FT_REQUEST_KEY_H
#define FT_REQUEST_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/request/command_program.h"
#include "predictor/request/statements.h"

enum {
  FT_KEY_PROGRAMS = 48,   /* different ones of a script; further ones are no part of the key */
  FT_KEY_COMMANDS = 4096, /* that are looked at: some 30 ms */
  FT_KEY_FUNCTIONS = 24,  /* of a script that are known as such */
  FT_KEY_SHOWN = 48       /* bytes of what is shown of a key */
};

/* How much a command tells of what its script is. */
enum ft_key_weight { FT_KEY_LOOK, FT_KEY_TOOL, FT_KEY_TEXT, FT_KEY_PROGRAM, FT_KEY_TASK };

/* One program that a script runs. */
struct ft_key_program {
  enum ft_key_weight weight;
  bool known;       /* its name is */
  bool language;    /* NAME is an interpreter: its script alone counts, where it has one */
  bool idle;        /* an interpreter that is given nothing to run */
  bool script_last; /* the sub-command stands before the script, and tells less */
  uint64_t code;    /* of statements that it runs; 0: none */
  char name[FT_BASE_NAME];
  char script[FT_BASE_NAME]; /* the file that it runs; "": none */
  char sub[FT_BASE_NAME];    /* the sub-command; "": none */
};

/* Filled while a script is read; begin with ft_key_init. */
struct ft_key {
  enum ft_key_weight weight; /* of the programs that are in it */
  bool known;                /* one of them is */
  bool idle;                 /* one of them is */
  bool serves;               /* one is a program that a user sits before: Jupyter */
  size_t count, function_count, commands;
  uint64_t program[FT_KEY_PROGRAMS]; /* hashes, distinct */
  char function[FT_KEY_FUNCTIONS][FT_BASE_NAME];
  char last[FT_BASE_NAME];       /* the last program, or its script; "": none */
  char shown[FT_KEY_SHOWN];      /* one of them for people: "train.py", "samtools-sort" */
  struct ft_statements document; /* that has been read and belongs to no command yet */
  struct ft_key_program waits;   /* for its document, where it has a name */
};

void ft_key_init(struct ft_key *key);

/* Take the script's next COMMAND; PARTS say which program it runs, NULL: none. */
void ft_key_add_command(struct ft_key *key, const struct ft_command *command,
                        const struct ft_command_parts *parts);

/* What is read is the task NAME of the workflow manager MANAGER. */
void ft_key_set_task(struct ft_key *key, const char *manager, const char *name);

/* Take a line of a document (<<), in the order in which ft_shell_next_command has them. */
void ft_key_add_document_line(struct ft_key *key, struct ft_text line);

/*
 * Put the app's key for USER in HASH, once the script has been read. False where no program is
 * known.
 */
bool ft_key_hash(struct ft_key *key, const char *user, uint64_t *hash);

#endif
