/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a submission's script, command by command, for its key, its hash and its features. */
#ifndef FT_REQUEST_SCRIPT_READING_H
#define FT_REQUEST_SCRIPT_READING_H

#include "predictor/request/describe.h"
#include "predictor/request/features.h"
#include "predictor/request/hide.h"
#include "predictor/request/key.h"
#include "predictor/request/memory_use.h"
#include "predictor/request/workflow.h"
#include "predictor/request/program/written.h"

/* State while a script is read, and the result: key, hash of the normalised script, features. All
 * pointers are borrowed. */
struct ft_script_reading {
  const struct ft_description *what;
  uint64_t hash;
  size_t matched; /* index of the first declared app that matched; app_count: none */
  unsigned lines; /* commands matched with patterns so far */
  const char *image;
  char image_text[128];
  bool tasks; /* a launcher starts a program in each of the job's tasks */
  struct ft_memory_use memory;
  struct ft_key key;
  struct ft_hidden hidden;
  struct ft_workflow task;
  enum ft_key_weight weight; /* of the programs whose arguments are features */
  bool piped;                /* the previous command is piped to this one */
  bool after;                /* the pipeline follows a program */
  bool works;                /* the pipeline runs more than commands that print */
  size_t files;              /* files to examine before the pipeline */
  unsigned lists;            /* lists of commands read so far */
  bool listing;              /* a list of commands is read: they have no features */
  unsigned depth;            /* nesting of command texts given to a shell; 0: the script itself */
  bool has_list;             /* the file list_path was read */
  struct ft_text list;       /* its text: commands, one a line */
  char list_path[FT_FILE_PATH]; /* "": no file was asked for */
  struct ft_text document;      /* the last here-document, unexpanded */
  struct ft_written written;    /* files that the script writes */
  struct ft_feature_set found;  /* features without a declaration */
  struct ft_command command;
  struct ft_shell shell;
  struct ft_feature_set declared; /* initialised only with declared apps */
};

/* Initialises R to read WHAT, which is borrowed. FILES (or NULL) receives the files to examine,
 * DECLARED_FILES those of a declared app; it is required if WHAT has apps. */
void ft_script_reading_init(struct ft_script_reading *r, const struct ft_description *what,
                            struct ft_file_queries *files, struct ft_file_queries *declared_files);

/* Reads the script, or the command if there is no script, the arguments and the environment. */
void ft_script_read(struct ft_script_reading *r);

#endif
