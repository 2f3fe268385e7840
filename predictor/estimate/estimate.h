/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An estimate is a predictive distribution, stored as quantiles. Between levels, the logarithm of
 * the value is interpolated over the normal score of the probability. Outside the levels, the
 * outermost pair is extrapolated.
 */
#ifndef FT_ESTIMATE_ESTIMATE_H
#define FT_ESTIMATE_ESTIMATE_H

#include <stdbool.h>

/* Number of quantiles. */
#define FT_ESTIMATE_LEVELS 13

/* Probabilities: 0.001 0.01 0.05 0.1 0.25 0.5 0.75 0.9 0.95 0.99 0.995 0.999 0.9999. */
extern const double ft_estimate_levels[FT_ESTIMATE_LEVELS];
/* Standard normal quantiles at these probabilities. */
extern const double ft_estimate_scores[FT_ESTIMATE_LEVELS];

struct ft_estimate {
  double quantile[FT_ESTIMATE_LEVELS]; /* in bytes or seconds; never decreasing, above 0 */
  unsigned runs;       /* completed runs behind it */
  char method[32];     /* name of the model, for reports */
  bool extrapolated;   /* a feature lies outside the range of the runs */
  double max_bytes;    /* largest peak of the runs behind it; 0: unknown */
  double bound_bytes;  /* limit that killed a run of these features, none having completed above; 0:
                          none */
  double shared;       /* fraction of the log variance that is common to runs submitted together */
  double allocation_bytes; /* with the least expected waste (ft_allocate_memory); 0: not computed */
};

/* Returns the quantile of ESTIMATE at PROBABILITY, in (0, 1). */
double ft_estimate_quantile(const struct ft_estimate *estimate, double probability);

/* Returns the probability, 0 to 1, that the quantity exceeds VALUE. */
double ft_estimate_exceeds(const struct ft_estimate *estimate, double value);

/*
 * Widens QUANTILE, natural logarithms by level, about its median by an added VARIANCE. The shape
 * stays. A VARIANCE of 0 or less changes nothing.
 */
void ft_estimate_widen(double quantile[FT_ESTIMATE_LEVELS], double variance);

#endif
