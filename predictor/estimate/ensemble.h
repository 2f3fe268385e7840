/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ensemble of allocation rules for an app. A member combines a point prediction (the evaluator's or
 * a baseline's), a kernel that weights runs near in one column or recent ones, and a shape of the
 * residuals (empirical or Student's t). It allocates the memory with the least expected waste. Each
 * member's cumulative loss is stored; the weights of the members follow from it. Pure: libc and
 * libm, no allocation.
 */
#ifndef FT_ESTIMATE_ENSEMBLE_H
#define FT_ESTIMATE_ENSEMBLE_H

#include <stdbool.h>

#include "predictor/record/record.h"

enum {
  FT_ENSEMBLE_VIEWS = 5,   /* the evaluator, e->baselines, local regression */
  FT_ENSEMBLE_KERNELS = 5, /* all runs; near, nearer, nearest in the primary column; recent */
  FT_ENSEMBLE_SHAPES = 2,  /* empirical; Student's t */
  FT_ENSEMBLE_MEMBERS = FT_ENSEMBLE_VIEWS * FT_ENSEMBLE_KERNELS * FT_ENSEMBLE_SHAPES,
  FT_ENSEMBLE_RUNS = 200 /* as ft_evaluator.needs (foretell.options) */
};

/* Runs below which the small-sample model applies. Chosen by judgement. */
enum { FT_ENSEMBLE_LEAST_RUNS = 5 };

/* Indices of e->baselines; the line and the power law need a primary column. */
enum { FT_BASELINE_CONSTANT, FT_BASELINE_LINE, FT_BASELINE_POWER, FT_BASELINES };

/* Unit of a failure cost above 1, in byte seconds: a gigabyte-minute. */
#define FT_FAILURE_BYTE_SECONDS (60 * 1e9)

/* Smallest expected need as a fraction of the smallest peak. Chosen by judgement. */
#define FT_ENSEMBLE_LEAST_PART 0.5

struct ft_allocation_query {
  double centre_log;    /* ft_predict_point's log */
  double covariate;     /* log(1 + |x|) in the primary column; below 0: it has none */
  double failed_bytes;  /* limit at which the job ran out of memory; 0: it did not */
  double failure_price; /* 0 or more. Up to 1: fraction of memory x time of the failed attempt.
                           Above 1: plus the excess in FT_FAILURE_BYTE_SECONDS */
  double failure_time;  /* duration of a failed attempt as a fraction of the run time */
};

/* Returns whether E has enough runs. */
bool ft_ensemble_ready(const ft_evaluator *e);

/* Returns the allocation in bytes for QUESTION: the average of the members, weighted by their
 * losses, at most ft_allocation_cap. */
double ft_ensemble_allocation(const ft_evaluator *e, const struct ft_allocation_query *question);

/*
 * Adds to e->losses what each member would have wasted on a completed run that used BYTES for
 * SECONDS. QUESTION is the run's query, without a failure. TURN counts the updates: dominated
 * members are updated in one of four. About 25 microseconds.
 */
void ft_ensemble_update(ft_evaluator *e, const struct ft_allocation_query *question, double bytes,
                        double seconds, unsigned turn);

#endif
