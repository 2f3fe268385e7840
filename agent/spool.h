/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finished observations that the store would not take: a file each in the
 * state folder's "spool"; where that fails too, in memory. None is lost
 * while there is room for it in one of the two.
 */
#ifndef FT_AGENT_SPOOL_H
#define FT_AGENT_SPOOL_H

#include "predictor/record/record.h"

enum {
  FT_SPOOL_MAX_IN_MEMORY = 512, /* observations kept in memory, as records: at most 4 MiB */
  FT_SPOOL_MAX_SKIPS = 64
};

struct ft_spool;

/* The spool under the state folder STATE_FD (borrowed). NULL out of memory. */
struct ft_spool *ft_spool_open(int state_fd, struct ft_error *err);

/* What is still in memory is tried once more, and named in the log if lost. */
void ft_spool_close(struct ft_spool *spool);

/*
 * Keep OBSERVATION; one of the same key is replaced. Returns 0 when it is in a
 * file, 1 when only in memory, -1 with ERR when memory is full as well.
 */
int ft_spool_put(struct ft_spool *spool, const ft_observation *observation, struct ft_error *err);

/*
 * Offer each to TAKE, files and memory; one that it takes (returns 0) is removed, one that it
 * cannot take (1) stays; with the first for which it returns -1, as nothing can be taken now, or
 * the FT_SPOOL_MAX_SKIPS th that stays the offering ends. A damaged file is set aside as NAME.bad.
 * Returns how many are left.
 */
size_t ft_spool_drain(struct ft_spool *spool,
                      int (*take)(const ft_observation *observation, void *data), void *data);

/* Remove what was set aside: nothing says whose it is, or of what. */
void ft_spool_remove_damaged(struct ft_spool *spool);

/* Whether anything is kept. */
bool ft_spool_empty(const struct ft_spool *spool);

#endif
