/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ensemble of allocation methods for an app. A member combines three parts: a base predictor (the
 * evaluator, a baseline or a local regression), a kernel that weights the past runs, and a shape of
 * the residuals' distribution. A member allocates the memory with the least expected waste under
 * its distribution. The evaluator stores the cumulative loss of each member, from which the weights
 * of the members are computed (exponentially weighted average forecaster). Pure: needs libc and
 * libm only, allocates nothing.
 */
#ifndef FT_ESTIMATE_ENSEMBLE_H
#define FT_ESTIMATE_ENSEMBLE_H

#include <stdbool.h>

#include "predictor/learn/series/series.h"
#include "predictor/record/record.h"

enum {
  FT_ENSEMBLE_PREDICTORS = 5, /* the evaluator, the three e->baselines, local regression */
  FT_ENSEMBLE_KERNELS = 5,    /* equal weights; three widths in the covariate; recent runs */
  FT_ENSEMBLE_SHAPES = 2,     /* empirical; Student's t */
  FT_ENSEMBLE_MEMBERS = FT_ENSEMBLE_PREDICTORS * FT_ENSEMBLE_KERNELS * FT_ENSEMBLE_SHAPES,
  FT_ENSEMBLE_RUNS = FT_SERIES_RUNS
};

/* Minimum number of runs; with fewer the small-sample model applies. Half and twice were compared.
 * */
enum { FT_ENSEMBLE_MIN_RUNS = 5 };

/* Unit of a failure cost above 1, in byte seconds: a gigabyte-minute. */
#define FT_FAILURE_BYTE_SECONDS (60 * 1e9)

/* The submission for which an allocation is computed. */
struct ft_allocation_query {
  double centre_log;    /* point prediction of the evaluator: ft_point_prediction.log */
  double covariate;     /* log1p(|x|) of the primary feature; negative: missing */
  double failed_bytes;  /* limit at which the job ran out of memory; 0: no failure */
  double failure_price; /* cost of a failure, 0 or more. Up to 1: fraction of the failed attempt's
                           memory x time. The excess over 1, in FT_FAILURE_BYTE_SECONDS, is added */
  double failure_time;  /* duration of a failed attempt, as a fraction of the run time */
};

/* Returns whether E has enough runs, with their times, for the ensemble. */
bool ft_ensemble_ready(const ft_evaluator *e);

/*
 * Returns the allocation, in bytes, for QUERY: the geometric mean of the members, weighted by their
 * losses, at most ft_allocation_cap. After a failure: the allocation of the best member with the
 * empirical shape. E must satisfy ft_ensemble_ready.
 */
double ft_ensemble_allocation(const ft_evaluator *e, const struct ft_allocation_query *query);

/*
 * Adds to e->losses the waste that each member would have had on a completed run with a peak of
 * BYTES and a run time of SECONDS, and adapts the cap. QUERY is the run's, without a failure. TURN
 * is the number of the update: members with a large loss are updated in one of four turns. E must
 * satisfy ft_ensemble_ready. About 25 microseconds.
 */
void ft_ensemble_update(ft_evaluator *e, const struct ft_allocation_query *query, double bytes,
                        double seconds, unsigned turn);

#endif
