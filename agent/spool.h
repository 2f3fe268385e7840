/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spool of finished observations that could not be stored: one file each in the state directory's
 * "spool"; in memory if a file cannot be written.
 */
#ifndef FT_AGENT_SPOOL_H
#define FT_AGENT_SPOOL_H

#include "predictor/record/record.h"

enum {
  FT_SPOOL_MAX_IN_MEMORY = 512, /* observations in memory, encoded: at most 4 MiB */
  FT_SPOOL_MAX_SKIPS = 64       /* refused observations per ft_spool_drain */
};

struct ft_spool;

/* Opens the spool below the state directory STATE_FD. Returns NULL and ERR out of memory. */
struct ft_spool *ft_spool_open(int state_fd, struct ft_error *err);

/* Writes the observations in memory to files; logs those that are lost because that fails. */
void ft_spool_close(struct ft_spool *spool);

/*
 * Adds OBSERVATION; replaces one of the same key. Returns 0 if it is in a file, 1 if only in
 * memory, -1 and ERR if memory is full as well.
 */
int ft_spool_put(struct ft_spool *spool, const ft_observation *observation, struct ft_error *err);

/*
 * Passes each observation to TAKE, which returns 0 if it stored the observation (removed from the
 * spool), 1 if it cannot store this one, -1 if it cannot store any now. Stops at the first -1 or
 * after FT_SPOOL_MAX_SKIPS times 1. Renames damaged files to NAME.bad. Returns how many
 * observations remain.
 */
size_t ft_spool_drain(struct ft_spool *spool,
                      int (*take)(const ft_observation *observation, void *data), void *data);

/* Removes damaged files (NAME.bad), which may contain forgotten runs. */
void ft_spool_remove_damaged(struct ft_spool *spool);

/* Whether the spool has no observation, in files or in memory. */
bool ft_spool_empty(const struct ft_spool *spool);

#endif
