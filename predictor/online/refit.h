/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits the evaluator of an app's model to its history. */
#ifndef FT_ONLINE_REFIT_H
#define FT_ONLINE_REFIT_H

#include <math.h>
#include <string.h>

#include "predictor/record/record.h"

struct ft_refit;

/* Returns working memory for refits, released with free; NULL out of memory. */
struct ft_refit *ft_refit_new(void);

/*
 * Fits MODEL's evaluator to its history, which is in order of time.
 *
 * Runs that did not complete are right-censored: their peak is a lower bound of the memory
 * required. A censored run below the point prediction has no effect on the prediction. One above
 * enters the fit with the median of what it may have required. Among the residuals the probability
 * of a censored run goes to the values above its bound (Kaplan and Meier 1958). While no run has
 * completed above the bound and fewer than 5 runs have completed since, values above it have at
 * least a fifth of the probability, because a user often submits a killed job again.
 *
 * If residuals are autocorrelated in time, the point prediction is shifted by the mean of the last
 * 5; the upper quantiles still cover the last 40.
 */
void ft_refit_model(ft_model *model, struct ft_refit *work);

/* Returns log(bytes / point prediction) of each run in the history under WORK's last fit; owned by
 * WORK. */
const double *ft_refit_log_residuals(const struct ft_refit *work);

/*
 * Adds the newest run of MODEL's history to the evaluator without a fit, in a tenth of the time of
 * a fit. Returns false if a fit is needed: 1/8 of the runs are newer than the last fit, the new
 * runs have larger errors than the older ones, the run has feature values outside the fitted ranges
 * or is an outlier, the run is censored above the smallest residual or has a sampled peak, or the
 * evaluator has the bound of a recent censored run. The caller then calls ft_refit_model.
 */
bool ft_refit_incremental(ft_model *model, struct ft_refit *work);

/* Removes run AT from MODEL's history. */
static inline void ft_refit_remove_run(ft_model *model, size_t at)
{
  model->history_count--;
  memmove(&model->history[at], &model->history[at + 1],
          (model->history_count - at) * sizeof *model->history);
}

/* Returns the value of COLUMN in RUN; NAN without one. */
static inline float ft_refit_feature(const ft_run *run, size_t column)
{
  return column < run->x_count ? run->x[column] : NAN;
}

/* Returns log1p(|x|) of the value x of COLUMN in RUN; -1 without a value. */
static inline float ft_refit_covariate(const ft_run *run, size_t column)
{
  float x = ft_refit_feature(run, column);

  return isnan(x) ? -1 : (float)log1p(fabs((double)x));
}

/* Returns the covariate of RUN: that of E's primary column; -1 without one. */
static inline float ft_refit_primary_covariate(const ft_evaluator *e, const ft_run *run)
{
  return e->has_primary_column ? ft_refit_covariate(run, e->primary_column) : -1;
}

#endif
