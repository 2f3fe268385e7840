/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work of the agent that a command does itself while no agent runs. */
#ifndef FT_AGENT_OFFLINE_H
#define FT_AGENT_OFFLINE_H

#include "predictor/record/record.h"

/*
 * Forgets or counts (dry run) the runs WHAT in the state directory STATE_FD, whose path is PATH: in
 * store, models, journal and spool. A root process permanently becomes the directory's owner, so
 * that new files have this owner. OUT receives the counts. Returns 0; -1 and ERR: the next agent or
 * call continues.
 */
int ft_offline_forget(int state_fd, const char *path, const ft_forget *what, ft_forgotten *out,
                      struct ft_error *err);

/*
 * Overwrites removed runs in the store STORE_PATH, whatever its size; waits up to a minute for
 * other processes' locks. Returns 0; -1 and ERR.
 */
int ft_offline_scrub(const char *store_path, struct ft_error *err);

#endif
