/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data shared by the files of a fit: fit, incremental update, residuals and censored runs. */
#ifndef FT_LEARN_SERIES_FIT_WORK_H
#define FT_LEARN_SERIES_FIT_WORK_H

#include "predictor/learn/regression/posynomial_fit.h"
#include "predictor/learn/series/fit.h"

/* From this number of exactly measured runs on, sampled runs count as censored. Half and twice were
 * compared. */
enum { FT_SERIES_EXACT = 10 };

/* Number of a run that exceeded its limit: FT_KILLED_MARGIN log units above the bound, plus an
 * exponential distribution of mean FT_KILLED_MEAN log units (of the number a Pareto distribution).
 * Half and twice were compared. */
#define FT_KILLED_MARGIN 0.1
#define FT_KILLED_MEAN 0.2
/* Margin and mean for a run that stopped for another reason; smaller, as it may have been at its
 * largest. Half and twice were compared. */
#define FT_STOPPED_MARGIN 0.03
#define FT_STOPPED_MEAN 0.05

/* A log residual; with `bound` only its lower bound is known. */
struct ft_censored_residual {
  double log_residual;
  bool bound;
};

struct ft_series_work {
  struct ft_additive_data data;
  struct ft_additive fit, whole; /* the fit; one of whole values, to compare */
  struct ft_posynomial_fit products;
  size_t rows;                          /* observed runs; added censored runs follow them */
  bool observed[FT_SERIES_RUNS];        /* by run: it is a row */
  size_t row[FT_SERIES_RUNS];           /* index in the series, by row */
  double value[FT_SERIES_RUNS];         /* by row; `data` may have it of one unit */
  double out_of_sample[FT_SERIES_RUNS]; /* log residual, by row */
  double log_residual[FT_SERIES_RUNS];  /* log(value / point prediction), by run */
  double residual[FT_SERIES_RUNS];      /* ascending, for the fit */
  size_t residuals;
  double sorted[FT_SERIES_RUNS]; /* working memory */
  struct ft_censored_residual censored[FT_SERIES_RUNS];
  double work[]; /* of ft_additive_fit or ft_posynomial_fit */
};

/* Marks those terms of S's fit without an effect whose column varied, in R's data, only
 * together with the column of a fitted term. */
void ft_series_mark_aliases(struct ft_series *s, const struct ft_series_work *r);

/* Returns the number of exactly measured completed runs. */
size_t ft_series_count_exact(const struct ft_series *s);

/* Returns whether RUN, in a series with EXACT exactly measured runs, is observed, not censored. */
static inline bool ft_series_observed(const struct ft_series_run *run, size_t exact)
{
  return !run->censored && (exact < FT_SERIES_EXACT || !run->sampled);
}

/*
 * Shifts the fitted point prediction of S by SHIFT log units and sets R's residuals around it,
 * in ascending order. With SHIFT 0, residuals that R already has for all rows stay.
 */
void ft_series_collect_residuals(struct ft_series *s, struct ft_series_work *r, double shift);

/* Adds the censored runs to R's residuals: their probability is spread over larger residuals
 * (ft_series_fit). Sets the bounds of S's fit. */
void ft_series_add_censored(struct ft_series *s, struct ft_series_work *r);

/* Copies R's residuals and the largest value into S's fit. */
void ft_series_store_residuals(struct ft_series *s, const struct ft_series_work *r);

#endif
