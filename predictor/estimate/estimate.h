/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An estimate is a predictive distribution, stored as quantiles. Between two of the stored
 * probabilities, the logarithm of the value is interpolated linearly over the normal score of the
 * probability. Outside the range, the outermost pair is extrapolated.
 */
#ifndef FT_ESTIMATE_ESTIMATE_H
#define FT_ESTIMATE_ESTIMATE_H

#include <stdbool.h>

#include "predictor/learn/series/interval.h"

/* Number of quantiles, at ft_interval_levels. */
#define FT_ESTIMATE_LEVELS FT_INTERVAL_LEVELS

struct ft_estimate {
  double quantile[FT_ESTIMATE_LEVELS]; /* in the unit of the quantity; non-decreasing, above 0 */
  unsigned runs;      /* number of completed runs from which the estimate was computed */
  unsigned stopped;   /* number of others that count as if they had completed */
  char method[32];    /* name of the model, for reports */
  bool extrapolated;  /* a feature lies outside the range of the runs */
  double max_value;   /* largest of these runs; 0: unknown */
  double bound_value; /* lower bound: the limit that killed a run with these features,
                         if no run completed above it; 0: none */
  double shared;      /* fraction of the log variance that is common to runs submitted together */
  double allocation_bytes; /* result of ft_allocate_memory; 0: not computed */
};

/* Returns the quantile of ESTIMATE at PROBABILITY, in (0, 1). */
double ft_estimate_quantile(const struct ft_estimate *estimate, double probability);

/* Returns the probability, 0 to 1, that the quantity of ESTIMATE exceeds VALUE. */
double ft_estimate_exceeds(const struct ft_estimate *estimate, double value);

#endif
