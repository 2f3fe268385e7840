/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The distribution of a series' next number around its point prediction, as quantiles. */
#ifndef FT_LEARN_SERIES_INTERVAL_H
#define FT_LEARN_SERIES_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/learn/series/calibration.h"

/* Number of quantiles. */
#define FT_INTERVAL_LEVELS 13

/* Probabilities: 0.001 0.01 0.05 0.1 0.25 0.5 0.75 0.9 0.95 0.99 0.995 0.999 0.9999. */
extern const double ft_interval_levels[FT_INTERVAL_LEVELS];
/* Normal scores: standard normal quantiles at ft_interval_levels. */
extern const double ft_interval_scores[FT_INTERVAL_LEVELS];

/* What is known of a series, in log units. */
struct ft_interval_question {
  const double *residual; /* ascending, out of sample */
  size_t residuals;
  uint32_t completed; /* completed runs ever */
  bool has_bound;     /* the bound of a recent censored run is in force */
  bool unwidened;     /* without the widening for future cohorts */
  struct ft_calibration calibration;
  double prior;          /* pseudo-observation of the residuals */
  double min_deviation;  /* smallest standard deviation */
  double added_variance; /* of the point prediction */
};

/* Fills QUANTILE with log(next number / point prediction) at ft_interval_levels. Returns the
 * fraction of the log variance that is common to runs submitted together. */
double ft_interval_find(const struct ft_interval_question *question,
                        double quantile[FT_INTERVAL_LEVELS]);

/*
 * Adds an independent normal distribution with VARIANCE to the distribution with the quantiles
 * QUANTILE, natural logarithms at ft_interval_levels: the distances from the median of equal levels
 * add by squares. A VARIANCE of 0 or less changes nothing.
 */
void ft_interval_widen(double quantile[FT_INTERVAL_LEVELS], double variance);

#endif
