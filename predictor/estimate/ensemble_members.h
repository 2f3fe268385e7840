/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The members of the ensemble: what each allocates. Only for ensemble.c, which weights them. */
#ifndef FT_ESTIMATE_ENSEMBLE_MEMBERS_H
#define FT_ESTIMATE_ENSEMBLE_MEMBERS_H

#include "predictor/estimate/ensemble.h"
#include "predictor/estimate/retry_sequence.h"

/* A member is (view * FT_ENSEMBLE_KERNELS + kernel) * FT_ENSEMBLE_SHAPES + shape. */
enum { FT_SHAPE_EMPIRICAL, FT_SHAPE_STUDENT };
/* View of the local regression: Student's t, and a narrower one in place of the empirical shape. */
enum { FT_ENSEMBLE_LOCAL = FT_ENSEMBLE_VIEWS - 1 };
/* Failed attempts in a retry sequence whose cost is computed. Chosen by judgement. */
enum { FT_ENSEMBLE_MOST_ATTEMPTS = 20 };
/* Smallest run time in seconds. Chosen by judgement. */
#define FT_ENSEMBLE_LEAST_SECONDS 1e-3F

/* Weighted mean and standard deviation of log peaks, sum of weights, effective sample size. */
struct ft_need_moments {
  double total, mean, deviation, runs;
};

/* Runs in the local regression. */
struct ft_local_runs {
  bool selected; /* the other fields are set */
  size_t count;
  unsigned char run[FT_ENSEMBLE_RUNS]; /* indices into the evaluator's needs */
  double x[FT_ENSEMBLE_RUNS];          /* distance from the submission */
  double y[FT_ENSEMBLE_RUNS];          /* log peak */
};

/* Values that members share, computed once on demand. */
struct ft_ensemble_state {
  const ft_evaluator *e;               /* borrowed */
  const struct ft_allocation_query *q; /* borrowed */
  bool has_covariate;                  /* the model has a primary column and the query a value */
  double seconds;                      /* expected run time */
  double least;                        /* smallest expected need in bytes */
  double price;                        /* cost of a failed attempt per byte of it */
  double fixed;                        /* cost of a failed attempt in bytes, in addition */
  double near[FT_ENSEMBLE_RUNS];       /* by run: weight of NEAR, 0 to 1 */
  float weight[FT_ENSEMBLE_KERNELS][FT_ENSEMBLE_RUNS]; /* by run, run times included */
  bool weighed[FT_ENSEMBLE_KERNELS];                   /* the kernel's weights are set */
  double far[FT_ENSEMBLE_KERNELS];          /* by kernel: the part of a weight that all runs have */
  unsigned char kernels[FT_ENSEMBLE_VIEWS]; /* kernels available to each view, by bits */
  /* the current view: its runs in ascending order of log need */
  unsigned view; /* UINT_MAX: none yet */
  size_t count;
  double logs[FT_ENSEMBLE_RUNS];
  double bytes[FT_ENSEMBLE_RUNS];      /* allocations that hold them; valid if has_bytes */
  unsigned char run[FT_ENSEMBLE_RUNS]; /* indices into the evaluator's needs */
  bool has_bytes;
  /* the current view and kernel */
  unsigned view_kernel; /* view * FT_ENSEMBLE_KERNELS + kernel; UINT_MAX: none yet */
  struct ft_need_moments moments;
  double mass[FT_ENSEMBLE_RUNS]; /* weight of each of the view's runs */
  struct ft_local_runs local;
  struct ft_retry_sequence chain; /* working memory */
};

/* Initialises P for E and QUESTION, which are borrowed: weights of the runs, cost of a failure. */
void ft_ensemble_state_init(struct ft_ensemble_state *p, const ft_evaluator *e,
                            const struct ft_allocation_query *question);

/* Returns the allocation of MEMBER, which must have runs, in bytes. */
double ft_ensemble_member_allocation(struct ft_ensemble_state *p, unsigned member);

#endif
