/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The members of the ensemble that sizes an app's memory. Each looks at the
 * completed runs around one centre (the evaluator's, or one of its views), counts
 * those more that are near to the submission in one column or recent, takes
 * what they needed as it is or as Student's t, and has the allocation that it expects to waste
 * least. What each would have wasted is kept; those that wasted least decide.
 * Pure: libc and libm, no allocation.
 */
#ifndef FT_ESTIMATE_ENSEMBLE_H
#define FT_ESTIMATE_ENSEMBLE_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/record/record.h"

enum {
  FT_ENSEMBLE_VIEWS = 5,   /* the evaluator's centre, e->baselines, a line around the submission */
  FT_ENSEMBLE_KERNELS = 5, /* all runs alike; near, nearer, nearest in the place column; recent */
  FT_ENSEMBLE_SHAPES = 2,  /* as it is; Student's t */
  FT_ENSEMBLE_MEMBERS = FT_ENSEMBLE_VIEWS * FT_ENSEMBLE_KERNELS * FT_ENSEMBLE_SHAPES,
  FT_ENSEMBLE_RUNS = 200,
  FT_ENSEMBLE_LEAST_RUNS = 5 /* below it there is no ensemble */
};

/* Which of e->baselines is what; a line and a power exist only where there is a place column. */
enum { FT_BASELINE_CONSTANT, FT_BASELINE_LINE, FT_BASELINE_POWER, FT_BASELINES };

/* A gigabyte for a minute. */
#define FT_FAILURE_BYTE_SECONDS (60 * 1e9)

struct ft_allocation_query {
  double centre_log;    /* ft_point_prediction's */
  double covariate;     /* log(1 + |x|) in the primary column; below 0: it has none */
  double failed_bytes;  /* it has run out of memory at; 0: it has not */
  double failure_price; /* 0 or more; up to 1 times what a failed attempt had for its time, above
                           that in FT_FAILURE_BYTE_SECONDS on top */
  double failure_time;  /* what a failed attempt had for its time is reckoned for this part of a
                           run's */
};

/* Whether E has runs enough. */
bool ft_ensemble_ready(const ft_evaluator *e);

/* The allocation that the members agree on, by what they have wasted. */
double ft_ensemble_allocation(const ft_evaluator *e, const struct ft_allocation_query *question);

/*
 * A run like QUESTION, which has not failed yet, needed BYTES for SECONDS: add to e->losses what
 * each member would have wasted. TURN counts such runs: those that have lost far more than the
 * best are judged in one of four. About 25 microseconds.
 */
void ft_ensemble_update(ft_evaluator *e, const struct ft_allocation_query *question, double bytes,
                        double seconds, unsigned turn);

#endif
