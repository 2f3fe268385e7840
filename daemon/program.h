/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the main functions of foretelld and foretell-learnd share: options, configuration, state. */
#ifndef FT_DAEMON_PROGRAM_H
#define FT_DAEMON_PROGRAM_H

#include <stdbool.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"
#include "predictor/site/conf.h"

struct ft_daemon_program {
  const char *name, *usage;
  /* Opens the daemon with the configuration CONFIG_PATH (NULL: the installed one). Returns NULL and
   * ERR. */
  void *(*open)(const char *config_path, struct ft_error *err);
  int (*run)(void *daemon, struct ft_error *err); /* until SIGTERM; returns 0; -1 and ERR */
  void (*close)(void *daemon);
};

/* Parses the options, goes to the background if they say so, and runs the daemon. Returns the exit
 * status. */
int ft_daemon_main(const struct ft_daemon_program *program, int argc, char **argv);

/*
 * Reads the configuration PATH (NULL: the installed one, or the defaults if that is missing). Fails
 * if other users may write it, because it names programs to run. Returns 0; -1 and ERR.
 */
int ft_daemon_read_config(const char *path, struct ft_config *config, struct ft_error *err);

/* SIGHUP: replaces CONFIG, except what only a start reads, by the file PATH and calls APPLY; logs
 * an error, after which CONFIG is unchanged. */
void ft_daemon_reload_config(const char *path, struct ft_config *config, void (*apply)(void *data),
                             void *data);

/*
 * Opens the state directory PATH, which it creates if missing, and locks its file LOCK. Returns a
 * descriptor and sets *LOCK_FD; -1 and ERR.
 */
int ft_daemon_open_state(const char *path, const char *lock, int *lock_fd, struct ft_error *err);

/* Whether QUESTION is about the state directory STATE_FD, whose path is PATH; sets REPLY's error,
 * with PROGRAM's name, if not. */
bool ft_daemon_is_own_state(int state_fd, const char *program, const char *path,
                            const ft_question *question, ft_reply *reply);

#endif
