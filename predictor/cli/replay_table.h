/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text output of foretell replay: a line per process, then the totals by method. */
#ifndef FT_CLI_REPLAY_TABLE_H
#define FT_CLI_REPLAY_TABLE_H

#include <stddef.h>

#include "predictor/rebuild/replay.h"

/* A replayed process. */
struct ft_replay_played {
  const char *name;
  size_t runs;
  struct ft_replay_score score[FT_REPLAY_METHODS];
};

/*
 * Prints the COUNT processes, sorted by foretell's waste: foretell, the simple policy with the
 * least waste, and the request. Leaves PLAYED in this order. The name stands last and may be long;
 * other columns are as wide as their contents.
 */
void ft_replay_print_processes(struct ft_replay_played *played, size_t count,
                               const struct ft_replay_options *options);

/* Prints TOTAL, a line per method. */
void ft_replay_print_total(const struct ft_replay_score total[FT_REPLAY_METHODS],
                           const struct ft_replay_options *options);

#endif
