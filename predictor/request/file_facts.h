/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of a submission say: sizes, numbers of lines, values of keys. The helper process
 * examines the files, in the order in which they are listed; the plugin makes features of the
 * facts.
 */
#ifndef FT_REQUEST_FILE_FACTS_H
#define FT_REQUEST_FILE_FACTS_H

#include <sys/types.h>

#include "predictor/core/buf.h"
#include "predictor/request/describe.h"

/* Removes from FILES those whose features SUBMISSION has: they need no examination. */
void ft_file_facts_omit_known(struct ft_file_queries *files, const ft_submission *submission);

/* Returns the index of the first of FILES with the feature of file I. */
size_t ft_file_facts_first(const struct ft_file_queries *files, size_t i);

/* Adds the features of the examined FILES to OUT. Entry i of FACTS is the value of the feature of
 * file i if it is the first one with this feature; NaN: unknown. TASKS has the values that differ
 * between the tasks of an array. */
void ft_file_facts_apply(const struct ft_file_queries *files, const ft_file_facts *facts,
                         const ft_job_array *tasks, ft_submission *out);

/*
 * Examines FILES and fills FACTS, and TASKS with the values of an array's tasks. Not for the
 * plugin, because it can wait. Relative paths begin in DIRECTORY (NULL: "/"). Opens only regular
 * files and reads at most 64 MiB of each for "lines" and "key:". The size of a directory is the sum
 * of all files below it (tree.h). Starts no file after DEADLINE, in seconds of ft_io_monotonic;
 * values that are incomplete then are unknown. For files named by the index of ARRAY (NULL: no
 * array) it examines all tasks, or as many evenly spaced ones as a record holds, for the first four
 * such features.
 */
void ft_files_examine(const struct ft_file_queries *files, const char *directory, const char *array,
                      double deadline, ft_file_facts *facts, ft_job_array *tasks);

/* Examines FILES and adds their features to OUT, as the plugin and its helper do together. */
void ft_describe_files(const struct ft_file_queries *files, const char *directory,
                       const char *array, double deadline, ft_submission *out, ft_job_array *tasks);

/* Reads the beginning of the regular file PATH, at most FT_FILE_START bytes, into OUT; relative
 * paths begin in DIRECTORY (NULL: "/"). Returns false if it cannot be read. Not for the plugin. */
bool ft_files_read_start(const char *directory, const char *path, struct ft_buf *out);

/* A reader (ft_file_reader) of this process, for commands. */
struct ft_local_files {
  const char *directory; /* of the job; NULL: "/" */
  double deadline;       /* in seconds of ft_io_monotonic; no file is read after it */
  struct ft_buf text;
  struct ft_file_reader reader;
};

void ft_local_files_init(struct ft_local_files *local, const char *directory, double deadline);
void ft_local_files_free(struct ft_local_files *local);

/*
 * Describes WHAT and REQUEST as ft_describe does, reading the user's files in this process, for
 * commands: WHAT without reader, secrets and user, and its directory as --chdir has it (NULL: the
 * current one). Adds the facts of files to OUT, and those that differ between the tasks of its
 * array to TASKS. SITE limits the time. Returns 0; -1 and fills ERR.
 */
int ft_describe_local(const struct ft_description *what, uid_t uid, const ft_site *site,
                      const ft_request *request, ft_submission *out, ft_job_array *tasks,
                      struct ft_error *err);

#endif
