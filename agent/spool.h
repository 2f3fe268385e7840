/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spool of finished observations until the learner has them: one file each in the state directory's
 * "spool". In memory, too, until the file is known to be on the disk (ft_spool_synced), or if it
 * cannot be written.
 */
#ifndef FT_AGENT_SPOOL_H
#define FT_AGENT_SPOOL_H

#include <stdbool.h>

#include "predictor/record/record.h"

#define FT_SPOOL_DIRECTORY "spool" /* below the state directory */

enum {
  FT_SPOOL_MAX_IN_MEMORY = 512 /* observations in memory, encoded: at most 4 MiB */
};

struct ft_spool;

/* What waits in the spool. */
struct ft_spool_usage {
  size_t files, in_memory; /* observations: in files; only in memory */
  uint64_t bytes;          /* size of the files */
};

/* Opens the spool below the state directory STATE_FD. Returns NULL and ERR out of memory. */
struct ft_spool *ft_spool_open(int state_fd, struct ft_error *err);

/* Writes the observations in memory to files on the disk; logs those that are lost because that
 * fails. */
void ft_spool_close(struct ft_spool *spool);

/*
 * Adds OBSERVATION; replaces one of the same key. Does not wait for the disk. Returns 0 if it is in
 * a file, 1 if only in memory, -1 and ERR if memory is full as well.
 */
int ft_spool_put(struct ft_spool *spool, const ft_observation *observation, struct ft_error *err);

/* Returns the key of OBSERVATION: of its job, node and start, because the attempts of a job may
 * have the same restart count. */
uint64_t ft_spool_key(const ft_observation *observation);

/* Begins a pass over the observations; ends another one. */
void ft_spool_begin(struct ft_spool *spool);

/*
 * Reads the next observation of the pass into OUT; one that is added during the pass may be missed.
 * Renames damaged files to NAME.bad. Returns whether there is one; then *KEY is its key (that of an
 * earlier release differs).
 */
bool ft_spool_next(struct ft_spool *spool, ft_observation *out, uint64_t *key);

/* Makes ft_spool_next return the last observation again. */
void ft_spool_unread(struct ft_spool *spool);

/* Removes the observation KEY. */
void ft_spool_remove(struct ft_spool *spool, uint64_t key);

/* Returns a number that grows with each observation added. */
uint64_t ft_spool_number(const struct ft_spool *spool);

/* Returns what waits. Reads no file. */
struct ft_spool_usage ft_spool_usage(const struct ft_spool *spool);

/* The files of the observations that were added up to NUMBER are on the disk. */
void ft_spool_synced(struct ft_spool *spool, uint64_t number);

/* Removes damaged files (NAME.bad), which may contain forgotten runs. */
void ft_spool_remove_damaged(struct ft_spool *spool);

#endif
