/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work that may wait for users' files runs in child processes with a deadline and resource limits;
 * a late child is killed. Children end without SIGCHLD (clone(2)), and wait() in Slurm's command
 * does not see them. */
#ifndef FT_PLUGIN_HELPER_H
#define FT_PLUGIN_HELPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "predictor/core/error.h"
#include "predictor/request/helper_protocol.h"

/* Whether PATH exists; false if the check takes longer than SECONDS, as on a hung disk. */
bool ft_helper_exists(const char *path, double seconds);

/* Opens the state directory PATH with O_PATH. If it is not on a disk of this machine, a child first
 * checks within SECONDS that its file system responds. Returns a descriptor, which the caller
 * closes; -1 and fills ERR. */
int ft_helper_open_state(const char *path, double seconds, struct ft_error *err);

/* The helper process, which starts with the first question. Strings are borrowed. */
struct ft_helper {
  const char *path;             /* of foretell-helper, or of foretell */
  const char *state;            /* the state directory */
  const char *directory;        /* of the job: relative paths begin here */
  unsigned milliseconds;        /* deadline of all answers together */
  struct ft_error why;          /* the first failure; empty: none */
  struct ft_file_reader reader; /* reads files in the helper */
  /* private */
  pid_t pid; /* 0: not started */
  int fd;    /* -1: no answer is to be expected */
  double deadline;
  struct ft_buf question, reply;
};

/* Initialises HELPER with path, state, directory and milliseconds set. */
void ft_helper_init(struct ft_helper *helper);

/* Ends the helper process. */
void ft_helper_end(struct ft_helper *helper);

/* Each asks one question; FILES and the others are documented in helper_protocol.h. They return -1,
 * and fill HELPER->why unless it has an earlier failure, if there is no answer. */

/* Fills APPS with the apps that the user declares. */
int ft_helper_query_apps(struct ft_helper *helper, ft_apps *apps);

/* Fills FACTS, and TASKS with values of the tasks of ARRAY. */
int ft_helper_query_files(struct ft_helper *helper, const struct ft_file_queries *files,
                          const char *array, ft_file_facts *facts, ft_job_array *tasks);

/* Adds the figures of a model file to SUBMISSION's features. *NETWORK becomes the estimate, which
 * the caller frees; NULL: none. */
int ft_helper_query_network(struct ft_helper *helper, const struct ft_network_request *request,
                            ft_submission *submission, const ft_job_array *tasks,
                            ft_network **network);

#endif
