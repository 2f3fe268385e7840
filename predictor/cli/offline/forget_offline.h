/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What foretell-learnd does for a request to forget, while none runs. */
#ifndef FT_CLI_FORGET_OFFLINE_H
#define FT_CLI_FORGET_OFFLINE_H

#include "predictor/record/record.h"

/*
 * Forgets or counts (dry run) the runs WHAT in the state directory STATE_FD, whose path is PATH: in
 * store, models, journal and spool. A root process permanently becomes the directory's owner, so
 * that new files have this owner. OUT receives the counts. Returns 0; -1 and ERR: the next learner
 * or call continues.
 */
int ft_forget_offline(int state_fd, const char *path, const ft_forget *what, ft_forgotten *out,
                      struct ft_error *err);

#endif
