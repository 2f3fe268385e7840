/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Removes secrets from a submission before app and features are derived. A secret word of a command
 * becomes an unknown word. A value that is secret in one place is hidden everywhere. */
#ifndef FT_REQUEST_HIDE_H
#define FT_REQUEST_HIDE_H

#include <stdint.h>

#include "predictor/record/record.h"
#include "predictor/record/secret.h"
#include "predictor/request/program/command_program.h"

enum {
  FT_HIDDEN_VALUES = 16 /* remembered secrets */
};

/* Secrets found so far in a script. */
struct ft_hidden {
  struct ft_secret_rules rules;
  uint64_t arguments; /* bit k - 1: argument k of the script is secret */
  size_t count;
  char value[FT_HIDDEN_VALUES][sizeof((ft_submission *)NULL)->job_name]; /* the longest name */
};

/* Initialises HIDDEN without secrets. RULES are borrowed. */
void ft_hidden_init(struct ft_hidden *hidden, const struct ft_secret_rules *rules);

/* Makes the secret words of COMMAND unknown, including their raw text, and remembers them. Keeps
 * the program and its script, which PARTS (NULL: none) names. */
void ft_hide_words(struct ft_hidden *hidden, struct ft_command *command,
                   const struct ft_command_parts *parts);

/* The same for COMMAND, the arguments of the script. Also hides arguments that the script
 * uses as secrets. */
void ft_hide_arguments(struct ft_hidden *hidden, struct ft_command *command);

/* Returns whether NAME makes VALUE, which a script of any language assigns to it, a secret; then
 * remembers VALUE. */
bool ft_hide_assignment(struct ft_hidden *hidden, const char *name, const char *value);

/* Returns LINE of a program or document in any language up to its first secret value: NAME = VALUE,
 * "NAME": VALUE, NAME <- VALUE, set NAME VALUE, setenv NAME VALUE. Remembers the value unless it
 * may be a name: after an operator, not quoted and without a digit. */
struct ft_text ft_hide_in_line(struct ft_hidden *hidden, struct ft_text line);

/* Remembers the values of secret variables that --export names. */
void ft_hide_exported(struct ft_hidden *hidden, const struct ft_export *exported);

/* Whether TEXT, a name chosen by the user, is or contains a secret. */
bool ft_hides(const struct ft_hidden *hidden, const char *text);

/* Removes secrets from the *COUNT FEATURES. */
void ft_hide_features(const struct ft_hidden *hidden, ft_feature *features, pb_size_t *count);

#endif
