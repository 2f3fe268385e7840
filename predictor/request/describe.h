/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From what was submitted to an app and its features. Pure: given the text of
 * the script and the words of the command line, nothing is opened or executed.
 * Files that count are named in a list; ft_describe_files (in the foretell
 * child, never in the plugin) then looks at them.
 */
#ifndef FT_REQUEST_DESCRIBE_H
#define FT_REQUEST_DESCRIBE_H

#include <stddef.h>

#include "predictor/core/text.h"
#include "predictor/record/record.h"
#include "predictor/record/secret.h"
#include "predictor/request/export.h"

/* What was submitted; everything borrowed, NULL where there is none. */
struct ft_description {
  const char *app;       /* --predict-app */
  const char *params;    /* --predict-params: name=value,name=value */
  const char *user;      /* whose: their number, in decimal, for to look up a name takes a while */
  const char *user_name; /* where a network is asked about: policies may name its user */
  const char *job_name;
  const char *directory; /* where relative paths begin */
  const char *script;    /* text of the batch script or of --wrap */
  size_t script_length;
  const char *const *arguments; /* of the script; or the command and arguments of srun */
  size_t argument_count;
  const char *array;     /* --array: its elements differ in what their index stands in */
  struct ft_secret_rules secrets; /* the site's */
  struct ft_export exported;      /* what the job finds in its environment */
  const ft_declared_app *apps;  /* the user's first, then the site's: the first match counts */
  size_t app_count;
};

enum { FT_FILE_QUERIES = 64, FT_FILE_PATH = 1024 };

/* One file to be looked at. */
struct ft_file_query {
  char path[FT_FILE_PATH]; /* FT_SHELL_INDEX where a job array's index stands, or what it finds
                              (lookup.h) */
  char counts[64];         /* "bytes", "lines", "key:NAME"; "value": of path itself, a number */
  char feature[48]; /* bytes of several files add up in one feature */
  bool pattern;     /* path has "*", "?" or "[...]" as a shell expands them */
};

struct ft_file_queries {
  size_t count;
  struct ft_file_query query[FT_FILE_QUERIES];
  char script[FT_FILE_PATH]; /* that a workflow's manager has written for its task; "": none */
  struct ft_secret_rules secrets; /* what is secret in it */
};

/*
 * Fill OUT's schema, version, app, former_apps, features, request, job name, program, hashes, and
 * whether it is interactive. The app is, in this order: the explicit one; the first declared one
 * whose pattern matches; the user and the task of a workflow (workflow.h), shown as "task-hash", or
 * the programs that the script runs (key.h), shown as "program-hash"; where none is known, the
 * user, the job name and the script normalised (script_hash.h), shown as "jobname-hash". An app
 * name of more than 127 bytes is cut and ends in its hash. former_apps are hints for whoever
 * records the run: of a declared app the derived name, and of every one that is not explicit the
 * name by job name and script. Features are, in order of precedence: params, arguments,
 * nodes/tasks/cpus/container of REQUEST. In a job array a value that $SLURM_ARRAY_TASK_ID stands in
 * is per_task; where no number is, and no file either once they are looked at, the index itself
 * is the feature "array_task_id". Secrets (hide.h) enter none of this: of arguments, variables,
 * params, the explicit app, the job name, the container. The script's hash, of 32 bits, is of its
 * whole text. Returns 0; -1 with ERR when params cannot be understood, or params or app hold a
 * secret; OUT is then still usable, without them. FILES may be NULL.
 */
int ft_describe(const struct ft_description *what, const ft_request *request, ft_submission *out,
                struct ft_file_queries *files, struct ft_error *err);

/*
 * Add to OUT's features, and to FILES, what the commands in SCRIPT tell, which a workflow's task
 * runs, but for what is secret by SECRETS; its app is none of them. FILES are begun anew. DIRECTORY
 * may be NULL.
 */
void ft_describe_script(struct ft_text script, const char *directory,
                        const struct ft_secret_rules *secrets, ft_submission *out,
                        struct ft_file_queries *files);

/*
 * Look at FILES and put what counts among OUT's features: only regular files are opened, for
 * "lines" and "key:" at most 64 MiB are read; the bytes of a directory are those of all files below
 * it (tree.h). Nothing is begun after DEADLINE (ft_io_monotonic), and a feature of which it cut
 * anything off is not known. Of files that the index of ARRAY (NULL: none) names,
 * those of all elements, or of so many evenly spread ones as a record holds, are looked at; of such
 * features the first four count. The task's own script is read, too, and the files that it names
 * looked at. Not to be called in the plugin.
 */
void ft_describe_files(const struct ft_file_queries *files, const char *directory,
                       const char *array, double deadline, ft_submission *out);

#endif
