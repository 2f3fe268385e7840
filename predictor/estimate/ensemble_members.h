/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Allocations of the ensemble's members. Internal to ensemble.c, which weights the members. */
#ifndef FT_ESTIMATE_ENSEMBLE_MEMBERS_H
#define FT_ESTIMATE_ENSEMBLE_MEMBERS_H

#include "predictor/estimate/ensemble.h"
#include "predictor/estimate/retry_sequence.h"

/* Number of a member: (predictor * FT_ENSEMBLE_KERNELS + kernel) * FT_ENSEMBLE_SHAPES + shape. */
enum { FT_SHAPE_EMPIRICAL, FT_SHAPE_STUDENT };
/* Predictor: local regression. Both of its shapes are Student's t; FT_SHAPE_EMPIRICAL has a smaller
 * scale. */
enum { FT_ENSEMBLE_LOCAL = FT_ENSEMBLE_PREDICTORS - 1 };
/* Maximum number of failed attempts of a retry sequence that an update simulates. */
enum { FT_ENSEMBLE_MAX_ATTEMPTS = 20 };
/* Minimum of a run time, in seconds. */
#define FT_ENSEMBLE_MIN_SECONDS 1e-3F

/* Weighted moments of the logarithms of peaks: sum of the weights, mean, standard deviation, and
 * effective sample size. */
struct ft_need_moments {
  double total, mean, deviation, runs;
};

/* Runs in the local regression. */
struct ft_local_runs {
  bool selected; /* the other fields are set */
  size_t count;
  unsigned char run[FT_ENSEMBLE_RUNS]; /* indices into the evaluator's needs */
  double x[FT_ENSEMBLE_RUNS];          /* covariate minus that of the submission */
  double y[FT_ENSEMBLE_RUNS];          /* log peak */
};

/* Intermediate results that members share; each is computed when a member first needs it. */
struct ft_ensemble_state {
  const ft_evaluator *e;               /* borrowed */
  const struct ft_allocation_query *q; /* borrowed */
  bool has_covariate;                  /* the model has a primary column and the query a value */
  double seconds;                      /* expected run time */
  double min_need;                     /* minimum of a predicted peak, bytes */
  double price;                        /* cost of a failed attempt per byte of its allocation */
  double fixed;                        /* additional cost of a failed attempt, bytes */
  double near[FT_ENSEMBLE_RUNS];       /* of each run: weight of kernel NEAR, 0 to 1 */
  float weight[FT_ENSEMBLE_KERNELS][FT_ENSEMBLE_RUNS]; /* of each run: kernel x run time */
  bool has_weights[FT_ENSEMBLE_KERNELS];               /* the kernel's row of `weight` is set */
  double far[FT_ENSEMBLE_KERNELS]; /* of each kernel: constant included in the weight of all runs */
  unsigned char kernels[FT_ENSEMBLE_PREDICTORS][FT_ENSEMBLE_SHAPES]; /* bit mask of the kernels that
                                                                        have a member */
  /* the current predictor: its runs in ascending order of log need */
  unsigned predictor; /* UINT_MAX: none yet */
  size_t count;
  double logs[FT_ENSEMBLE_RUNS];       /* logarithm of the peak that each run implies here */
  double bytes[FT_ENSEMBLE_RUNS];      /* allocations that suffice for `logs`; valid if has_bytes */
  unsigned char run[FT_ENSEMBLE_RUNS]; /* indices into the evaluator's needs */
  bool has_bytes;
  /* the current predictor and kernel */
  unsigned predictor_kernel; /* predictor * FT_ENSEMBLE_KERNELS + kernel; UINT_MAX: none yet */
  struct ft_need_moments moments;
  double mass[FT_ENSEMBLE_RUNS]; /* weight of each of the predictor's runs */
  struct ft_local_runs local;
  struct ft_retry_sequence sequence; /* scratch memory */
};

/* Initialises P for E, which satisfies ft_ensemble_ready, and QUERY. P borrows both. */
void ft_ensemble_state_init(struct ft_ensemble_state *p, const ft_evaluator *e,
                            const struct ft_allocation_query *query);

/* Returns the allocation of MEMBER in bytes. p->kernels must include the member's kernel. */
double ft_ensemble_member_allocation(struct ft_ensemble_state *p, unsigned member);

#endif
