/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The dialogue of the plugin with its helper process, which looks at users' files. The plugin
 * describes the submission and asks; the helper answers each question, in their order. A question
 * or an answer is a length of 4 bytes (little-endian) and fields: one letter, a length of 4 bytes
 * and the data. Neither side trusts the other.
 */
#ifndef FT_REQUEST_HELPER_PROTOCOL_H
#define FT_REQUEST_HELPER_PROTOCOL_H

#include <stddef.h>

#include "predictor/core/buf.h"
#include "predictor/core/error.h"
#include "predictor/request/describe.h"

enum { FT_HELPER_HEADER = 4 }; /* bytes of the length before a question or an answer */

/* A request for an estimate of a neural network's model file, or of an app's GPU memory.
 * Strings are borrowed; NULL: none. */
struct ft_network_request {
  const char *file;      /* --predict-model */
  const char *mig;       /* --predict-mig: a GPU, or "" for any */
  const char *mode;      /* name of the requested mode; NULL: the mode of the policy */
  const char *advisory;  /* not NULL: never reject: Slurm ignores it from an optional plugin */
  bool dry_run;          /* nothing is submitted; not sent to the helper */
  const char *option;    /* name of the option that requests GPUs (ft_gpu_option_name) */
  const char *value;     /* value of that option */
  const char *params;    /* --predict-params */
  const char *array;     /* --array */
  const char *user_name; /* policies can name the user */
};

/* A question, one of four. Strings are borrowed from its bytes; NULL: none. */
struct ft_helper_question {
  enum ft_helper_asked {
    FT_HELPER_APPS,   /* the apps that the user declares */
    FT_HELPER_TEXT,   /* the beginning of the file PATH */
    FT_HELPER_FILES,  /* facts about FILES, also for the tasks of ARRAY */
    FT_HELPER_NETWORK /* NETWORK, for SUBMISSION and the values of its TASKS */
  } asked;
  const char *directory; /* where relative paths begin */
  const char *path, *array;
  struct ft_network_request network;
  struct ft_file_queries files;
  ft_submission submission;
  ft_job_array tasks;
};

/* Append a question to OUT. Return 0; -1 over OUT's limit and fill ERR. */
int ft_helper_ask_apps(struct ft_buf *out, struct ft_error *err);
int ft_helper_ask_text(const char *path, const char *directory, struct ft_buf *out,
                       struct ft_error *err);
int ft_helper_ask_files(const struct ft_file_queries *files, const char *directory,
                        const char *array, struct ft_buf *out, struct ft_error *err);
int ft_helper_ask_network(const struct ft_network_request *network, const ft_submission *submission,
                          const ft_job_array *tasks, struct ft_buf *out, struct ft_error *err);

/* Returns the length that HEADER, the first FT_HELPER_HEADER bytes of a question or an answer,
 * states. */
size_t ft_helper_length(const char *header);

/* Decodes the LENGTH bytes of DATA behind the header into OUT. Returns 0; -1 on error and fills ERR
 * with the position. */
int ft_helper_question_read(const char *data, size_t length, struct ft_helper_question *out,
                            struct ft_error *err);

/* Appends ANSWER, with APPS and TEXT (each NULL: none), to OUT. Returns 0; -1 over OUT's limit and
 * fills ERR. */
int ft_helper_answer_write(const ft_answer *answer, const ft_apps *apps, const struct ft_text *text,
                           struct ft_buf *out, struct ft_error *err);

/* Decodes the LENGTH bytes of DATA behind the header into ANSWER, APPS and TEXT, which is borrowed
 * from DATA; each NULL: not wanted. APPS without apps and TEXT with at = NULL: there are none.
 * Returns 0; -1 on error and fills ERR. */
int ft_helper_answer_read(const char *data, size_t length, ft_answer *answer, ft_apps *apps,
                          struct ft_text *text, struct ft_error *err);

/* Adds the figures of the model file in ANSWER to the features of SUBMISSION. */
void ft_helper_add_features(const ft_answer *answer, ft_submission *submission);

#endif
