/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the arguments of a command to features, and to files that are to be looked at. */
#ifndef FT_REQUEST_FEATURES_H
#define FT_REQUEST_FEATURES_H

#include "predictor/request/command_program.h"
#include "predictor/request/describe.h"

enum {
  FT_FEATURES = sizeof((ft_submission *)NULL)->features / sizeof(ft_feature),
  FT_FEATURES_OF_SCRIPT =
      FT_FEATURES - 6, /* the others are kept for input_* and the request's own */
  FT_FEATURE_VARIABLES = 32
};

/* What is found while a script is read. */
struct ft_feature_set {
  pb_size_t count;
  bool lost;                     /* a cd to where nobody knows */
  struct ft_file_queries *files; /* or NULL */
  const struct ft_secret_rules *secrets; /* the site's, or NULL */
  size_t variable_count;
  uint64_t
      variable[FT_FEATURE_VARIABLES]; /* hashes of the names of those that are features' values */
  uint64_t arguments_named; /* bit k - 1: the script's k-th argument is a named feature's value */
  char directory[FT_FILE_PATH];  /* that a cd has led to, relative to the submission's; "": there */
  ft_feature features[FT_FEATURES];
};

/* Nothing found yet; files are asked for in FILES, if it is not NULL. */
void ft_feature_set_init(struct ft_feature_set *found, struct ft_file_queries *files);

/* Whether VALUE may be a category: a word of at most 63 bytes without blanks. */
bool ft_is_category(const char *value);

/* NAME is what VALUE says: a number or a size in bytes, else a category; the first of a name
 * counts, and nothing that is secret. */
void ft_feature_set_add_value(struct ft_feature_set *found, const char *name, const char *value);

/* As ft_feature_set_add_value, but only a number, or a word that looks like one of a few that
 * choose. */
void ft_feature_set_add_choice(struct ft_feature_set *found, const char *name, const char *value);

/* PATH is an input: its size counts. */
void ft_feature_set_add_file(struct ft_feature_set *found, const char *path);

/* Add COMMAND's arguments. OWN: they are the script's own, not of a command in it. */
void ft_feature_set_add_arguments(struct ft_feature_set *found, const struct ft_command *command,
                                  const struct ft_command_parts *parts, bool own);

/* Add what APP declares to count of COMMAND. */
void ft_feature_set_add_declared(struct ft_feature_set *found, const struct ft_command *command,
                                 const struct ft_command_parts *parts, const ft_declared_app *app);

/*
 * Add what programs find in their environment: variables that SHELL's script exports, or assigns
 * where EXPORTED hands them on, and those that --export names; numbers and choices alone. What is a
 * feature as the value of an argument is none again; nor is what the script gives several values.
 */
void ft_feature_set_add_exported(struct ft_feature_set *found, const struct ft_shell *shell,
                                 const struct ft_export *exported);

/* A cd to PATH; "": to where nobody knows. */
void ft_feature_set_change_directory(struct ft_feature_set *found, const char *path);

#endif
