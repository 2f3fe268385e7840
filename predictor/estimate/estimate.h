/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An estimate is a predictive distribution, kept as quantiles. Between levels
 * the logarithm of the value is interpolated against the normal score of the
 * probability; beyond them it is continued along the outermost pair's slope.
 */
#ifndef FT_ESTIMATE_ESTIMATE_H
#define FT_ESTIMATE_ESTIMATE_H

#include <stdbool.h>

#define FT_ESTIMATE_LEVELS 13

/* 0.001 0.01 0.05 0.1 0.25 0.5 0.75 0.9 0.95 0.99 0.995 0.999 0.9999 */
extern const double ft_estimate_levels[FT_ESTIMATE_LEVELS];
/* Their normal scores. */
extern const double ft_estimate_scores[FT_ESTIMATE_LEVELS];

struct ft_estimate {
  double quantile[FT_ESTIMATE_LEVELS]; /* never decreasing, above 0 */
  unsigned runs;       /* completed runs behind it */
  char method[32];
  bool extrapolated;   /* a feature lies outside what was seen */
  double max_bytes;    /* the most a run of it has ever used; 0: not known */
  /* what a job like this one lately died at, nothing having completed above; 0: none */
  double bound_bytes;
  /* the part of the variance of its logarithm that runs submitted together share, 0 to 1 */
  double shared;
  /* what is expected to waste least (ft_allocate_memory); 0: not asked for */
  double allocation_bytes;
};

/* The value not passed with PROBABILITY, in (0, 1). */
double ft_estimate_quantile(const struct ft_estimate *estimate, double probability);

/* The probability, 0 to 1, that the quantity exceeds VALUE. */
double ft_estimate_exceeds(const struct ft_estimate *estimate, double value);

/*
 * Make QUANTILE, logarithms by level, wider about the middle by a doubt with VARIANCE: variances
 * add, the shape stays. 0 or less changes nothing.
 */
void ft_estimate_widen(double quantile[FT_ESTIMATE_LEVELS], double variance);

#endif
