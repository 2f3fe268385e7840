/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Past runs played again: what foretell and the simple policies would have
 * asked for, wasted and got wrong. Pure; given runs, gives scores.
 */
#ifndef FT_REBUILD_REPLAY_H
#define FT_REBUILD_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/rebuild/baseline_policies.h"
#include "predictor/record/record.h"

struct ft_replay_run {
  double submit_time, end_time; /* seconds since 1970; 0: not known */
  double request_bytes;         /* 0: the user asked for nothing */
  double bytes, seconds;        /* peak memory, run time; above 0 */
  const ft_feature *features;
  size_t feature_count;
};

/* The methods: the policies by their own numbers, then foretell. */
enum { FT_REPLAY_FORETELL = FT_POLICY_COUNT, FT_REPLAY_METHODS };

/* As in JSON. */
const char *ft_replay_method_name(unsigned method);

struct ft_replay_options {
  /*
   * false: in order of arrival, a run being known to what is submitted after its end.
   * true: of each process with at least 34 runs 30 %, drawn at random, are known
   * and the rest come in random order, each known to the next; once a seed.
   */
  bool published;
  unsigned seeds;    /* 1 or more */
  uint64_t seed;     /* the first */
  double failure_time_fraction; /* a failed attempt takes this part of the run time */
  double price;      /* as ft_allocation_query.failure_price */
  double node_bytes; /* what a node has */
  void (*progress)(uint64_t runs, void *data); /* NULL: none; RUNS played since the last call */
  void *data;
};

/* Sums over runs and seeds; ft_replay_compute_figures makes figures of them. */
struct ft_replay_score {
  double byte_seconds;  /* wasted */
  double failures;      /* attempts that ran out of memory */
  double runs;          /* that were played */
  double predicted_runs,
      error_sum; /* runs foreseen from past ones, and the sum of |foreseen - peak| / peak */
  double interval_runs, covered_runs; /* those with a 90 % interval, and of them those within it */
};

/* Of a process, or of many added up; has_mape, has_coverage90: there is evidence of it. */
struct ft_replay_figures {
  double wastage_gbh; /* 10^9 bytes times hours */
  double failures;
  double mape;       /* per cent; of a policy the first allocation counts as its prediction */
  double coverage90; /* part of the runs, 0 to 1 */
  bool has_mape, has_coverage90;
};

/* Whether OPTIONS' protocol plays a process of COUNT runs. */
bool ft_replay_includes(const struct ft_replay_options *options, size_t count);

/*
 * Play the COUNT RUNS of one process and add to SCORES, one a method. A failed attempt
 * costs allocation x run time x failure_time_fraction, a success (allocation - peak) x run time.
 * What foretell tries next counts with the failure; it learns the run once that has completed, as
 * the policies do. Returns 0, or -1 with ERR out of memory.
 */
int ft_replay_process(const struct ft_replay_run *runs, size_t count,
                      const struct ft_replay_options *options,
                      struct ft_replay_score scores[FT_REPLAY_METHODS], struct ft_error *err);

void ft_replay_add_scores(struct ft_replay_score scores[FT_REPLAY_METHODS],
                          const struct ft_replay_score more[FT_REPLAY_METHODS]);

/* SCORE as means over OPTIONS' seeds. */
void ft_replay_compute_figures(const struct ft_replay_score *score,
                               const struct ft_replay_options *options,
                               struct ft_replay_figures *out);

#endif
