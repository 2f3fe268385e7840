/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data shared by the files of a refit: fit, incremental update, residuals and censored runs. */
#ifndef FT_ONLINE_REFIT_WORK_H
#define FT_ONLINE_REFIT_WORK_H

#include <math.h>

#include "predictor/learn/regression/additive.h"
#include "predictor/online/refit.h"

enum {
  FT_REFIT_RUNS = FT_ADDITIVE_RUNS /* runs of a history */
};

/* Exactly measured runs from which sampled peaks count as censored. Chosen by judgement. */
enum { FT_REFIT_EXACT = 10 };

/* Required memory of a run killed for memory: log units above its bound, plus an exponential tail
 * of this mean (a Pareto tail of bytes). Chosen by judgement. */
#define FT_KILLED_MARGIN 0.1
#define FT_KILLED_MEAN 0.2
/* The same for a run that stopped for another reason, which may have reached its peak. Chosen by
 * judgement. */
#define FT_STOPPED_MARGIN 0.03
#define FT_STOPPED_MEAN 0.05

/* A log residual, or with bound set the lower bound of one. */
struct ft_censored_residual {
  double above;
  bool bound;
};

struct ft_refit {
  struct ft_additive_data data;
  struct ft_additive fit;
  size_t rows;                         /* observed runs; added censored runs follow them */
  size_t row[FT_REFIT_RUNS];           /* index in the history, by row */
  double out_of_sample[FT_REFIT_RUNS]; /* log residual, by row */
  double log_residual[FT_REFIT_RUNS];  /* log(bytes / point prediction), by run of the history */
  double residual[FT_REFIT_RUNS];      /* ascending, for the evaluator */
  size_t residuals;
  double sorted[FT_REFIT_RUNS]; /* working memory */
  struct ft_censored_residual bound[FT_REFIT_RUNS];
  double work[]; /* of ft_additive_fit */
};

/* Returns the number of exactly measured completed runs in the history. */
size_t ft_refit_count_exact(const ft_model *model);

/* Returns whether RUN, in a history with EXACT exactly measured runs, is observed, not censored. */
static inline bool ft_refit_observed(const ft_run *run, size_t exact)
{
  return !run->censored && (exact < FT_REFIT_EXACT || !run->sampled);
}

/* Returns |RESIDUAL|, at most 1 (a factor of e), which limits the effect of outliers. */
static inline double ft_refit_cap_residual(double residual)
{
  double size = fabs(residual);

  return size < 1 ? size : 1;
}

/* Returns the shift in log units by which the point prediction follows recent out-of-sample
 * residuals; 0 if past shifts would not have reduced the error. */
double ft_refit_drift(const struct ft_refit *r);

/*
 * Moves the fitted point prediction by BY and sets the residuals around it. With BY 0, residuals
 * already in R for all rows are kept.
 */
void ft_refit_collect_residuals(ft_model *model, struct ft_refit *r, double by);

/* Gives censored runs their share of the residuals. */
void ft_refit_add_censored(ft_model *model, struct ft_refit *r);

/* Writes the residuals of R into the evaluator. */
void ft_refit_store_residuals(ft_model *model, const struct ft_refit *r);

#endif
