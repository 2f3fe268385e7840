/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A shell script as a row of simple commands. Nothing is run: quotes are
 * removed, NAME=value assignments, lists, and the script's own arguments are put in, what
 * stands without quotes is split at its blanks, and a word that holds anything else ($(...), an
 * unknown variable) is marked. One pass, in time linear in the text; what is beyond the bounds
 * below is dropped.
 */
#ifndef FT_REQUEST_SHELL_H
#define FT_REQUEST_SHELL_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/text.h"
#include "predictor/record/secret.h"
#include "predictor/request/export.h"

enum {
  FT_SHELL_WORDS = 128,     /* of one command */
  FT_SHELL_TEXT = 16 << 10, /* bytes of one command's words */
  FT_SHELL_VARIABLES = 64,
  FT_SHELL_LOOKUPS = 1024, /* look-ups in the environment, each linear in it */
  FT_SHELL_VALUE = 256     /* bytes of one variable */
};

/* In an expanded word: where the index of a job array's element stands (ASCII's "substitute"). */
#define FT_SHELL_INDEX '\x1a'

struct ft_word {
  struct ft_text raw; /* as written; empty: what was written is the word's before */
  const char *text;   /* expanded; "" where it is not known */
  bool unknown;       /* holds what only running it could tell */
  bool literal;       /* a quoted part has "*", "?" or "[" */
  const char *base;   /* of such a one the file name that it ends in, "$HOME/bin/sim"; or NULL */
  struct ft_text variable; /* the name of the variable that it, or what stands behind its '=', is */
  unsigned argument;  /* k: it is the script's k-th argument, or NAME= and that; 0: it is not */
};

/* Here and below what is always used stands first: of the rest most pages are never touched. */
struct ft_command {
  size_t count;
  const char *input; /* the file standard input comes from, or NULL */
  struct ft_text process; /* the commands in <(...), or empty */
  bool document;     /* standard input, or another one, is a document (<<) */
  bool defines;      /* its last word is the name of a function that begins here: NAME() */
  bool pattern;      /* no command: what a branch of a case is for */
  struct ft_word word[FT_SHELL_WORDS];
};

struct ft_shell {
  struct ft_text rest;
  bool array; /* what is submitted is a job array: SLURM_ARRAY_TASK_ID is known to be its index */
  bool odd_names; /* patterns do not name what they usually do: shopt -s dotglob, set -f */
  bool exports;                          /* set -a: each variable assigned is exported */
  bool inside;                           /* a $(...) is being read: those within it are not known */
  const struct ft_secret_rules *secrets; /* variables by the names of secrets are not known */
  struct ft_export exported;             /* variables that the script has not set */
  const char *const *arguments;
  size_t argument_count;
  unsigned depth;  /* of (...) */
  unsigned cases;  /* of case ... esac */
  bool in_pattern; /* what comes next is a branch's pattern */
  size_t heredoc_count;
  struct ft_text heredoc[4]; /* the words that end the documents begun on this line */
  size_t variable_count;
  size_t used;
  unsigned looked_outside;           /* how often */
  char from_outside[FT_SHELL_VALUE]; /* the last variable's that was not the script's own */
  char text[FT_SHELL_TEXT];
  struct {
    char name[48];
    char value[FT_SHELL_VALUE]; /* a list's words, one behind the other */
    bool base; /* the value is not known but for this file name in its end, or "" */
    bool lookup;                /* elements are found by VALUE (lookup.h) */
    bool literal;               /* as a word's */
    bool exported;              /* programs find it in their environment */
    bool assigned, varied;      /* it has been given a value; and later another one */
    unsigned argument;          /* as a word's */
  } variable[FT_SHELL_VARIABLES];
};

/* Make COMMAND one without words. */
void ft_command_clear(struct ft_command *command);

/* Begin to read SCRIPT, which is borrowed as ARGUMENTS are. */
void ft_shell_init(struct ft_shell *shell, struct ft_text script, const char *const *arguments,
                   size_t argument_count);

/*
 * The next command with at least one word; its texts are valid until the next
 * call. BODY, if not NULL, is called for each line of a document (<<) on the way.
 * Returns false at the end.
 */
bool ft_shell_next_command(struct ft_shell *shell, struct ft_command *command,
                           void (*body)(struct ft_text line, void *data), void *data);

/* Whether RAW is one text in double quotes and nothing else. */
bool ft_shell_is_quoted(struct ft_text raw);

/* Remember NAME as what WORD, a "NAME=...", has behind its '='; as not known where WORD is NULL. */
void ft_shell_assign(struct ft_shell *shell, struct ft_text name, const struct ft_word *word);

/*
 * NAME becomes a list of the lines, but for the first SKIPPED ones, of FILE (NULL: none) or, where
 * there is none, of what the commands in PROCESS print; not known where that is not understood.
 */
void ft_shell_assign_lines(struct ft_shell *shell, struct ft_text name, const char *file,
                           struct ft_text process, unsigned skipped);

/* Programs find the variable NAME, which the script may give a value later, in their environment.
 */
void ft_shell_export(struct ft_shell *shell, struct ft_text name);

/* If TEXT is NAME=..., or NAME+=..., with the name of a variable, take NAME and step over '='. */
bool ft_shell_assignment(struct ft_text *text, struct ft_text *name);

#endif
