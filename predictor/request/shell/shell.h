/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parses a shell script into simple commands, without executing anything. It removes quotes,
 * expands variables that the script assigns, lists and the script's arguments, and splits unquoted
 * results at blanks. A word with anything else ($(...), an unknown variable) is marked unknown.
 * Terms are those of POSIX (Shell Command Language). One pass, in time linear in the text; input
 * beyond the limits below is dropped.
 */
#ifndef FT_REQUEST_SHELL_H
#define FT_REQUEST_SHELL_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/text.h"
#include "predictor/record/secret.h"
#include "predictor/request/shell/export.h"

/* Limits that bound memory and time. */
enum {
  FT_SHELL_WORDS = 128,     /* words of a command */
  FT_SHELL_TEXT = 16 << 10, /* bytes of the expanded words of a command */
  FT_SHELL_VARIABLES = 64,  /* variables that the script assigns */
  FT_SHELL_LOOKUPS = 1024,  /* look-ups in the environment, each linear in its size */
  FT_SHELL_VALUE = 2048     /* bytes of the value of a variable */
};

/* Placeholder in an expanded word for the index of the array task ("substitute" of ASCII). */
#define FT_SHELL_INDEX '\x1a'

/* A word. */
struct ft_word {
  struct ft_text raw;  /* as written; empty: part of the raw text of the previous word */
  const char *text;    /* expanded; "" if unknown */
  bool unknown;        /* only execution could determine the value */
  bool literal;        /* a quoted part has "*", "?" or "[" */
  bool option;         /* unknown, but an option: it begins with '-' */
  const char *base;    /* file name at the end of an unknown word, "$HOME/bin/sim"; or NULL */
  const char *partial; /* if unknown: expanded, with marks for the unknown parts; or NULL */
  struct ft_text
      variable;      /* variable that is the whole word, or the part after its '='; or empty */
  unsigned argument; /* k: argument k of the script, alone or after NAME=; 0: none */
};

/* A simple command. Members that are always used come first, here and below: most pages of the
 * arrays are never touched. */
struct ft_command {
  size_t count;           /* words */
  const char *input;      /* file of standard input, or NULL */
  struct ft_word output;  /* file of standard output; without text and raw text: none */
  struct ft_text process; /* commands in <(...), or empty */
  bool document;          /* has a here-document (<<) */
  bool piped;             /* its output is the input of the next command: | */
  bool defines;           /* the last word is the name of a function defined here: NAME() */
  bool pattern;           /* no command but a pattern of a case branch */
  struct ft_word word[FT_SHELL_WORDS];
};

/* State of the parser. */
struct ft_shell {
  struct ft_text rest;                   /* unread part of the script */
  bool array;                            /* a job array: SLURM_ARRAY_TASK_ID is its index */
  bool odd_names;                        /* shopt or set -f changes what patterns match */
  bool exports;                          /* set -a: every assigned variable is exported */
  bool inside;                           /* inside a $(...); nested ones are unknown */
  const struct ft_secret_rules *secrets; /* variables with secret names are unknown */
  struct ft_export exported;             /* environment: variables that the script has not set */
  const char *const *arguments;          /* of the script; borrowed */
  size_t argument_count;
  unsigned depth;  /* of (...) */
  unsigned cases;  /* depth of case ... esac */
  bool in_pattern; /* a pattern of a case branch is next */
  size_t heredoc_count;
  struct ft_text heredoc[4]; /* end words of the here-documents of the current line */
  size_t variable_count;
  size_t used;                    /* bytes of TEXT */
  unsigned lookups;               /* look-ups in the environment */
  char looked_up[FT_SHELL_VALUE]; /* value of the last look-up */
  char text[FT_SHELL_TEXT];       /* expanded words of the current command */
  struct {
    char name[48];
    char value[FT_SHELL_VALUE]; /* of a list all words, with a separator between them */
    bool base;             /* VALUE is only the file name at the end of an unknown value, or "" */
    bool partial;          /* BASE, and VALUE has marks for its unknown parts instead */
    bool lookup;           /* VALUE is a look-up that finds the elements (lookup.h) */
    bool literal;          /* as in struct ft_word */
    bool exported;         /* programs have it in their environment */
    bool assigned, varied; /* was assigned a value; was assigned different values */
    unsigned argument;     /* as in struct ft_word */
  } variable[FT_SHELL_VARIABLES];
};

/* Makes COMMAND empty. */
void ft_command_clear(struct ft_command *command);

/* Initialises SHELL to read SCRIPT. SCRIPT and ARGUMENTS are borrowed. */
void ft_shell_init(struct ft_shell *shell, struct ft_text script, const char *const *arguments,
                   size_t argument_count);

/*
 * Parses the next command with at least one word; its texts are valid until the next call. Calls
 * BODY (or NULL) with DATA for each line of here-documents on the way. Returns false at the end.
 */
bool ft_shell_next_command(struct ft_shell *shell, struct ft_command *command,
                           void (*body)(struct ft_text line, void *data), void *data);

/* Whether RAW is one text in double quotes. */
bool ft_shell_is_quoted(struct ft_text raw);

/* Assigns the part after '=' of WORD, a "NAME=...", to the variable NAME; WORD NULL: an unknown
 * value.
 */
void ft_shell_assign(struct ft_shell *shell, struct ft_text name, const struct ft_word *word);

/*
 * Assigns to NAME a list of the lines of FILE or, if FILE is NULL, of the output of the commands in
 * PROCESS, without the first SKIPPED lines. The list is unknown if the commands are not supported.
 */
void ft_shell_assign_lines(struct ft_shell *shell, struct ft_text name, const char *file,
                           struct ft_text process, unsigned skipped);

/* Returns the words of COMMAND from AT on, joined by blanks, as eval parses them again; empty if
 * they are too long. Valid until the next call of ft_shell_next_command. */
struct ft_text ft_shell_join(struct ft_shell *shell, const struct ft_command *command, size_t at);

/* Exports the variable NAME, which may be assigned later. */
void ft_shell_export(struct ft_shell *shell, struct ft_text name);

/* Takes NAME= or NAME+= from TEXT, with a valid variable name. Returns false for other text. */
bool ft_shell_assignment(struct ft_text *text, struct ft_text *name);

#endif
