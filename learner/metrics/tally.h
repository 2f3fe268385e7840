/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the learner has done since its start, for its metrics. A process has one learner, and what
 * is counted happens in most of its parts: the counters are the process's, and none is passed on.
 */
#ifndef FT_LEARNER_TALLY_H
#define FT_LEARNER_TALLY_H

#include "daemon/exchange.h"

/* tally.c has the name and the meaning of each. */
enum ft_tally {
  FT_TALLY_RUNS_ACCEPTED,
  FT_TALLY_RUNS_REFUSED,
  FT_TALLY_RUNS_LATER,
  FT_TALLY_RUNS_IGNORED,
  FT_TALLY_RUNS_DIFFERENT,
  FT_TALLY_RUNS_UNCHECKED,
  FT_TALLY_RUNS_FORGOTTEN,
  FT_TALLY_RUNS_EXPIRED,
  FT_TALLY_REFINE_SECONDS,
  FT_TALLY_MODELS_REBUILT,
  FT_TALLY_PUBLISHED_FILES,
  FT_TALLY_PUBLISH_SECONDS,
  FT_TALLY_EQUATIONS_DONE,
  FT_TALLY_EQUATIONS_FAILED,
  FT_TALLY_PLATFORMS_DONE,
  FT_TALLY_PLATFORMS_FAILED,
  FT_TALLY_JOB_QUERIES,
  FT_TALLY_POLLS,
  FT_TALLY_JOB_QUERIES_FAILED,
  FT_TALLY_POLLS_FAILED,
  FT_TALLY_POLL_TIME, /* set, not added to: ft_io_now of the latest complete poll */
  FT_TALLIES
};

/* Adds VALUE, which is not negative, to TALLY. */
void ft_tally_add(enum ft_tally tally, double value);

void ft_tally_set(enum ft_tally tally, double value);
double ft_tally_value(enum ft_tally tally);

/* Counts a reply to a request of an agent: EXCHANGE (FT_EXCHANGE_COUNT: none of them) and STATUS of
 * HTTP. */
void ft_tally_add_reply(enum ft_exchange exchange, unsigned status);

/* Appends all tallies to OUT, in Prometheus' text format. */
void ft_tally_write(struct ft_buf *out);

#endif
