/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replays past runs: computes the waste, failures and prediction errors that foretell and the
 * baseline policies would have caused, of memory or of time limits. Pure.
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
  double submit_time, end_time; /* UTC seconds; 0: unknown */
  double request_bytes;         /* 0: no request */
  double request_seconds;       /* time limit; 0: none */
  double bytes, seconds;        /* peak memory and run time, above 0 */
  const ft_feature *features;
  size_t feature_count;
};

/* The methods: the baseline policies, then foretell. */
enum { FT_REPLAY_FORETELL = FT_POLICY_COUNT, FT_REPLAY_METHODS };

/* Returns the name of METHOD in JSON. */
const char *ft_replay_method_name(unsigned method);

struct ft_replay_options {
  /* index of ft_quantities: memory, or run time. Then the runs' requests, uses and the nodes'
   * memory below are those of time, in seconds. */
  size_t quantity;
  double timeout_probability; /* at which foretell sets time limits */
  /*
   * false: in order of submission; the methods learn a run when it has ended.
   * true: protocol of Sizey (Bader et al. 2024). Of each process with at least 34 runs, 30 % drawn
   * at random are learnt without a replay; the others are replayed in random order, each learnt
   * before the next. Once per seed.
   */
  bool published;
  unsigned seeds;               /* at least 1 */
  uint64_t seed;                /* the first; the others follow by 1 */
  double failure_time_fraction; /* run time of a failed attempt as a fraction of the full one */
  double price;                 /* failure cost, as ft_allocation_query.failure_price */
  double node_bytes;            /* memory of a node */
  double max_seconds;           /* of a job without a time limit */
  void (*progress)(uint64_t runs, void *data); /* RUNS since the last call; NULL: none */
  void *data;
};

/* Sums over runs and seeds, for ft_replay_compute_figures. */
struct ft_replay_score {
  double byte_seconds;              /* wasted; of run time: seconds */
  double failures;                  /* attempts that ran out of memory, or of time */
  double runs;                      /* replayed */
  double predicted_runs, error_sum; /* runs with a prediction; sum of |prediction - peak| / peak */
  double interval_runs, covered_runs; /* runs with a 90 % interval; runs inside it */
};

/* Figures of one process or of a sum of processes. */
struct ft_replay_figures {
  double wastage_gbh; /* 10^9 bytes x hours; of run time: hours */
  double failures;
  double mape;       /* mean absolute percentage error; a policy predicts its first allocation */
  double coverage90; /* fraction of the runs, 0 to 1 */
  bool has_mape, has_coverage90;
};

/* Returns whether METHOD is replayed with OPTIONS. */
bool ft_replay_has_method(const struct ft_replay_options *options, unsigned method);

/* Returns the unit of the waste: "GB.h", or "h". */
const char *ft_replay_waste_unit(const struct ft_replay_options *options);

/* Returns whether the protocol of OPTIONS includes a process of COUNT runs. */
bool ft_replay_includes(const struct ft_replay_options *options, size_t count);

/*
 * Replays the COUNT RUNS of one process and adds the results to SCORES, one per method. A failed
 * attempt wastes allocation x run time x failure_time_fraction, a success (allocation - peak) x run
 * time. All methods learn a run after its completion. Returns 0; -1 out of memory and fills ERR.
 */
int ft_replay_process(const struct ft_replay_run *runs, size_t count,
                      const struct ft_replay_options *options,
                      struct ft_replay_score scores[FT_REPLAY_METHODS], struct ft_error *err);

/* Adds MORE to SCORES. */
void ft_replay_add_scores(struct ft_replay_score scores[FT_REPLAY_METHODS],
                          const struct ft_replay_score more[FT_REPLAY_METHODS]);

/* Sets OUT to the means of SCORE over OPTIONS' seeds. */
void ft_replay_compute_figures(const struct ft_replay_score *score,
                               const struct ft_replay_options *options,
                               struct ft_replay_figures *out);

#endif
