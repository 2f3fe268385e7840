/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Derives the app and its features from a submission: the text of the script and the arguments.
 * ft_describe opens and executes nothing. It asks a reader for the text of a file that belongs to
 * the script, and lists the files whose sizes matter: file_facts.h.
 */
#ifndef FT_REQUEST_DESCRIBE_H
#define FT_REQUEST_DESCRIBE_H

#include <stddef.h>

#include "predictor/core/text.h"
#include "predictor/record/record.h"
#include "predictor/record/secret.h"
#include "predictor/request/shell/export.h"

/* Reads users' files; the plugin asks its helper process. */
struct ft_file_reader {
  /* Sets TEXT to the beginning of the file PATH, at most FT_FILE_START bytes, borrowed until the
   * next call. Relative paths begin in the job's directory. Returns false if it cannot be read. */
  bool (*read)(void *data, const char *path, struct ft_text *text);
  void *data;
};

/* A submission. Borrowed; NULL: none. */
struct ft_description {
  const char *app;    /* --predict-app */
  const char *params; /* --predict-params: name=value,name=value */
  const char *user;   /* UID in decimal; looking up a name would be slow */
  const char *job_name;
  const char *directory;   /* working directory: relative paths begin here */
  const char *script;      /* text of the batch script or of --wrap */
  const char *script_name; /* file of the batch script; NULL: standard input, --wrap */
  size_t script_length;
  const char *const *arguments; /* of the script; or the command and arguments of srun */
  size_t argument_count;
  const char *array;              /* --array */
  struct ft_secret_rules secrets; /* rules of the site for secret arguments */
  struct ft_export exported;      /* environment of the job */
  const struct ft_file_reader *reader;
  const ft_declared_app *apps; /* the user's, then the site's; the first match is used */
  size_t app_count;
};

enum {
  FT_FILE_QUERIES = 64,    /* files of one submission */
  FT_FILE_PATH = 1024,     /* bytes of a path; longer ones are ignored */
  FT_FILE_START = 64 << 10 /* bytes read of a script or a list of commands */
};

/* A file to examine for a feature. */
struct ft_file_query {
  /* FT_SHELL_INDEX stands for the index of an array task, or for a look-up by it (lookup.h) */
  char path[FT_FILE_PATH];
  char counts[64];  /* "bytes", "lines", "key:NAME" or "text", a hash of it; "value": PATH itself is
                       a  number */
  char feature[48]; /* values of several files are added to one feature */
  bool pattern;     /* path has "*", "?" or "[...]" as a shell expands them */
};

struct ft_file_queries {
  size_t count;
  struct ft_file_query query[FT_FILE_QUERIES];
  char script[FT_FILE_PATH]; /* the script of a workflow task; "": none */
};

/*
 * Fills OUT from WHAT and REQUEST, except decision and predictions, and FILES (or NULL) with the
 * files to examine.
 *
 * The app is the first of: the explicit one; the first declared one whose pattern matches; user and
 * workflow task (workflow.h), "task-hash"; user and programs of the script (key.h), "program-hash";
 * user, job name and normalised script (script_hash.h), "jobname-hash". A name of more than 127
 * bytes is truncated and ends in its hash. former_apps has the derived name of a declared app, and
 * the name by job name and script of every app that is not explicit.
 *
 * Features in order of precedence: params, arguments, then nodes, tasks, cpus and container of
 * REQUEST. In a job array a value with $SLURM_ARRAY_TASK_ID is per_task. If no such value is a
 * number, the index itself is the feature "array_task_id". reads_limit and stated_bytes are what
 * the script states about its memory (memory_use.h). WHAT's reader reads a file with a command in
 * each line, and the script that a workflow manager wrote for its task; the features and files of
 * the latter follow the others. OUT and FILES contain no secrets
 * (hide.h) from arguments, variables, params, explicit app, job name and container.
 *
 * Returns 0. Returns -1 and fills ERR if params are malformed, or if params or app contain a
 * secret; OUT is then valid without them.
 */
int ft_describe(const struct ft_description *what, const ft_request *request, ft_submission *out,
                struct ft_file_queries *files, struct ft_error *err);

/* Adds the features and stated memory of SCRIPT, which a workflow manager wrote for its task, to
 * OUT and resets FILES to the files of SCRIPT. Does not change the app. Omits secrets by SECRETS.
 * DIRECTORY (or NULL) is the working directory. */
void ft_describe_script(struct ft_text script, const char *directory,
                        const struct ft_secret_rules *secrets, ft_submission *out,
                        struct ft_file_queries *files);

#endif
