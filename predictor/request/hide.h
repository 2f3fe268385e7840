/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Takes secrets out of what was submitted before app and features are made of it. A secret word of
 * a command becomes an unknown one. What was secret in one place is secret everywhere.
 */
#ifndef FT_REQUEST_HIDE_H
#define FT_REQUEST_HIDE_H

#include <stdint.h>

#include "predictor/record/record.h"
#include "predictor/record/secret.h"
#include "predictor/request/command_program.h"

enum {
  FT_HIDDEN_VALUES = 16, /* that are looked for elsewhere */
  FT_HIDDEN_LEAST = 6    /* bytes of such a value: shorter ones stand in other words by chance */
};

/* What has been found secret while a script is read. */
struct ft_hidden {
  struct ft_secret_rules rules;
  uint64_t arguments; /* bit k - 1: the script's k-th argument is secret */
  size_t count;
  char value[FT_HIDDEN_VALUES][sizeof((ft_feature *)NULL)->category];
};

/* Nothing found yet; RULES are borrowed. */
void ft_hidden_init(struct ft_hidden *hidden, const struct ft_secret_rules *rules);

/*
 * Make COMMAND's secret words unknown, in their raw text too, once PARTS (NULL: it runs nothing)
 * are found. The name of the program and of its script stay.
 */
void ft_hide_words(struct ft_hidden *hidden, struct ft_command *command,
                   const struct ft_command_parts *parts);

/* The same for the script's own arguments, of which some may be secret by the script. */
void ft_hide_arguments(struct ft_hidden *hidden, struct ft_command *command);

/* Remember the values of EXPORTED's variables that --export names and that are secret. */
void ft_hide_exported(struct ft_hidden *hidden, const struct ft_export *exported);

/* Whether TEXT, a name of the user's choice, is or holds a secret. */
bool ft_hides(const struct ft_hidden *hidden, const char *text);

/* Drop the COUNT FEATURES' secret ones. */
void ft_hide_features(const struct ft_hidden *hidden, ft_feature *features, pb_size_t *count);

#endif
