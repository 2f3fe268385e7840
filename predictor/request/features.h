/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derives features, and the files to examine, from the arguments of commands. */
#ifndef FT_REQUEST_FEATURES_H
#define FT_REQUEST_FEATURES_H

#include "predictor/request/program/command_program.h"
#include "predictor/request/describe.h"

enum {
  FT_FEATURES = sizeof((ft_submission *)NULL)->features / sizeof(ft_feature),
  FT_FEATURES_OF_SCRIPT = FT_FEATURES - 6, /* leaves space for 2 file and 4 request features */
  FT_FEATURE_VARIABLES = 32                /* remembered variables */
};

/* Features found so far in a script. */
struct ft_feature_set {
  pb_size_t count;
  bool quiet;                            /* ignores values, not files */
  bool lost;                             /* a cd made the current directory unknown */
  struct ft_file_queries *files;         /* or NULL */
  const struct ft_secret_rules *secrets; /* of the site, or NULL */
  size_t variable_count;
  /* hashes of the names of variables that are values of features */
  uint64_t variable[FT_FEATURE_VARIABLES];
  /* bit k - 1: argument k of the script is the value of a named feature */
  uint64_t arguments_named;
  /* current directory after cd, relative to that of the submission; "": the same */
  char directory[FT_FILE_PATH];
  ft_feature features[FT_FEATURES];
};

/* Initialises an empty set. FILES (or NULL) is emptied and receives the files to examine; it is
 * borrowed. */
void ft_feature_set_init(struct ft_feature_set *found, struct ft_file_queries *files);

/* Whether VALUE can be a category: 1 to 63 bytes without blanks and control characters. */
bool ft_is_category(const char *value);

/* Adds the feature NAME with VALUE as a number, as a size in bytes, or as a category. Ignores
 * secrets, and a NAME that exists. */
void ft_feature_set_add_value(struct ft_feature_set *found, const char *name, const char *value);

/* The same if VALUE is a number, or a word of letters that may select a variant ("dense"). Ignores
 * other values. */
void ft_feature_set_add_choice(struct ft_feature_set *found, const char *name, const char *value);

/* Adds the size of the input file PATH to the feature "input_bytes". */
void ft_feature_set_add_file(struct ft_feature_set *found, const char *path);

/* Adds the arguments of COMMAND, whose program is in PARTS. OWN: COMMAND has the arguments of the
 * script itself, and PARTS is not used. */
void ft_feature_set_add_arguments(struct ft_feature_set *found, const struct ft_command *command,
                                  const struct ft_command_parts *parts, bool own);

/* Adds the arguments and files of COMMAND that APP declares. */
void ft_feature_set_add_declared(struct ft_feature_set *found, const struct ft_command *command,
                                 const struct ft_command_parts *parts, const ft_declared_app *app);

/*
 * Adds environment variables whose values are numbers or choices: variables that the script of
 * SHELL exports, variables that it assigns and EXPORTED passes on, and variables that --export
 * names. Omits variables that are already the value of a feature or have several values in the
 * script.
 */
void ft_feature_set_add_exported(struct ft_feature_set *found, const struct ft_shell *shell,
                                 const struct ft_export *exported);

/* Copies PATH, which begins in the directory of FOUND unless it is absolute, to OUT. Returns false
 * if it is too long or the directory is unknown. */
bool ft_feature_set_join(const struct ft_feature_set *found, const char *path,
                         char out[FT_FILE_PATH]);

/* Applies cd PATH; "": an unknown directory. */
void ft_feature_set_change_directory(struct ft_feature_set *found, const char *path);

#endif
