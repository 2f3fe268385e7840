/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What foretell replay tells in text: a line a process, then the totals by method. */
#ifndef FT_CLI_REPLAY_TABLE_H
#define FT_CLI_REPLAY_TABLE_H

#include <stddef.h>

#include "predictor/rebuild/replay.h"

/* A process that was played. */
struct ft_replay_played {
  const char *name;
  size_t runs;
  struct ft_replay_score score[FT_REPLAY_METHODS];
};

/*
 * Print the COUNT processes, what foretell wasted most of first: beside it the policy that wasted
 * least there, and the request. PLAYED is left in that order. The name, as long as it is, stands
 * last; no other column is wider than what stands in it.
 */
void ft_replay_print_processes(struct ft_replay_played *played, size_t count,
                               const struct ft_replay_options *options);

/* Print TOTAL, a line a method. */
void ft_replay_print_total(const struct ft_replay_score total[FT_REPLAY_METHODS],
                           const struct ft_replay_options *options);

#endif
