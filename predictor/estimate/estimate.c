/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/estimate.h"
#include "predictor/learn/distribution.h"

static const double *const scores = ft_interval_scores;

/* Returns the index of the first of the two levels between which AT is interpolated, or from which
 * it is extrapolated. X has the ascending positions of the levels. */
static int find_segment(const double *x, double at)
{
  int i = 0;

  while (i < FT_ESTIMATE_LEVELS - 2 && at > x[i + 1])
    i++;
  return i;
}

double ft_estimate_quantile(const struct ft_estimate *estimate, double probability)
{
  double score, low, high;
  int i = 0;

  while (i < FT_ESTIMATE_LEVELS && ft_interval_levels[i] != probability)
    i++;
  if (i < FT_ESTIMATE_LEVELS)
    return estimate->quantile[i];
  score = ft_normal_quantile(probability);
  i = find_segment(scores, score);
  low = log(estimate->quantile[i]);
  high = log(estimate->quantile[i + 1]);
  return exp(low + (high - low) * (score - scores[i]) / (scores[i + 1] - scores[i]));
}

double ft_estimate_exceeds(const struct ft_estimate *estimate, double value)
{
  double low, high, at, score;
  int i;

  if (value <= 0)
    return 1;
  i = find_segment(estimate->quantile, value);
  /* of equal quantiles the last counts */
  while (i < FT_ESTIMATE_LEVELS - 2 && estimate->quantile[i + 2] <= value)
    i++;
  low = log(estimate->quantile[i]);
  high = log(estimate->quantile[i + 1]);
  at = log(value);
  if (high > low)
    score = scores[i] + (scores[i + 1] - scores[i]) * (at - low) / (high - low);
  else
    score = at < low ? -9 : at > high ? 9 : scores[i + 1];
  return ft_normal_probability(-score);
}
