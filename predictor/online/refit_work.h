/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What fitting an app's centre, following its runs and weighing its bounds share. */
#ifndef FT_ONLINE_REFIT_WORK_H
#define FT_ONLINE_REFIT_WORK_H

#include <math.h>

#include "predictor/learn/regression/additive.h"
#include "predictor/online/refit.h"

enum {
  FT_REFIT_RUNS = FT_ADDITIVE_RUNS,
  FT_REFIT_EXACT = 10 /* exactly measured runs, from which on sampled peaks are but bounds */
};

/* A run killed for its memory needed at least a tenth more than it had, and at a mean a fifth above
 * that (a Pareto tail). */
#define FT_KILLED_MARGIN 0.1
#define FT_KILLED_MEAN 0.2
/* One that ended otherwise had perhaps all but reached its peak. */
#define FT_STOPPED_MARGIN 0.03
#define FT_STOPPED_MEAN 0.05

/* A residual, or what one was at least. */
struct ft_censored_residual {
  double above;
  bool bound;
};

struct ft_refit {
  struct ft_additive_data data;
  struct ft_additive fit;
  size_t rows;                    /* observed ones; bounds that join come after them */
  size_t row[FT_REFIT_RUNS];      /* of the history */
  double honest[FT_REFIT_RUNS];   /* by row: log(bytes / a centre that did not know them) */
  double above[FT_REFIT_RUNS];    /* by run: log(bytes / centre) */
  double residual[FT_REFIT_RUNS]; /* sorted */
  size_t residuals;
  double sorted[FT_REFIT_RUNS];
  struct ft_censored_residual bound[FT_REFIT_RUNS];
  double work[]; /* of ft_additive_fit */
};

/* Exactly measured completed runs in the history. */
size_t ft_refit_count_exact(const ft_model *model);

/* Whether RUN of a history with so many EXACT ones is an observation rather than a bound. */
static inline bool ft_refit_observed(const ft_run *run, size_t exact)
{
  return !run->censored && (exact < FT_REFIT_EXACT || !run->sampled);
}

/* The size of RESIDUAL, of which more than a factor e counts no more than that. */
static inline double ft_refit_cap_residual(double residual)
{
  double size = fabs(residual);

  return size < 1 ? size : 1;
}

/* How far from where it was fitted the centre follows the honest residuals, in log units; 0 where
 * that would not have helped. */
double ft_refit_drift(const struct ft_refit *r);

/*
 * From the honest residuals to those around a centre that is BY from the one that was fitted, which
 * is moved there. As many as there are rows are taken to be them already where BY is 0.
 */
void ft_refit_collect_residuals(ft_model *model, struct ft_refit *r, double by);

/* Give what did not complete its part of the residuals. */
void ft_refit_add_censored(ft_model *model, struct ft_refit *r);

/* Put what was collected into the evaluator. */
void ft_refit_store_residuals(ft_model *model, const struct ft_refit *r);

#endif
