/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data shared by the files of a refit: fit, incremental update, residuals and censored runs. */
#ifndef FT_ONLINE_REFIT_WORK_H
#define FT_ONLINE_REFIT_WORK_H

#include "predictor/learn/regression/additive.h"
#include "predictor/online/refit.h"

enum {
  FT_REFIT_RUNS = FT_ADDITIVE_RUNS /* maximum runs of a history */
};

/* From this number of exactly measured runs on, runs with a sampled peak count as censored. Chosen
 * by judgement. */
enum { FT_REFIT_EXACT = 10 };

/* Required memory of a run killed for memory: FT_KILLED_MARGIN log units above its lower bound,
 * plus an exponential distribution of mean FT_KILLED_MEAN log units (in bytes a Pareto
 * distribution). Chosen by judgement. */
#define FT_KILLED_MARGIN 0.1
#define FT_KILLED_MEAN 0.2
/* Margin and mean for a run that stopped for another reason; smaller, as it may have reached its
 * peak. Chosen by judgement. */
#define FT_STOPPED_MARGIN 0.03
#define FT_STOPPED_MEAN 0.05

/* A log residual; with `bound` only its lower bound is known. */
struct ft_censored_residual {
  double log_residual;
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
  struct ft_censored_residual censored[FT_REFIT_RUNS];
  double work[]; /* of ft_additive_fit */
};

/* Marks those terms of MODEL's evaluator without an effect whose column varied, in R's data, only
 * together with the column of a fitted term. */
void ft_refit_mark_aliases(ft_model *model, const struct ft_refit *r);

/* Returns the number of exactly measured completed runs in the history. */
size_t ft_refit_count_exact(const ft_model *model);

/* Returns whether RUN, in a history with EXACT exactly measured runs, is observed, not censored. */
static inline bool ft_refit_observed(const ft_run *run, size_t exact)
{
  return !run->censored && (exact < FT_REFIT_EXACT || !run->sampled);
}

/*
 * Shifts the fitted point prediction of MODEL by SHIFT log units and sets R's residuals around it,
 * in ascending order. With SHIFT 0, residuals that R already has for all rows stay.
 */
void ft_refit_collect_residuals(ft_model *model, struct ft_refit *r, double shift);

/* Adds the censored runs to R's residuals: their probability is spread over larger residuals
 * (ft_refit_model). Sets the bounds of MODEL's evaluator. */
void ft_refit_add_censored(ft_model *model, struct ft_refit *r);

/* Copies R's residuals and the maximum peak into MODEL's evaluator. */
void ft_refit_store_residuals(ft_model *model, const struct ft_refit *r);

#endif
