/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/estimate.h"
#include "predictor/learn/distribution.h"

const double ft_estimate_levels[FT_ESTIMATE_LEVELS] = { 0.001, 0.01,  0.05,  0.1,  0.25,
                                                        0.5,   0.75,  0.9,   0.95, 0.99,
                                                        0.995, 0.999, 0.9999 };

const double ft_estimate_scores[FT_ESTIMATE_LEVELS] = { -3.0902323061678135,  -2.3263478740408411,
                                                        -1.6448536269514727,  -1.2815515655446005,
                                                        -0.67448975019608174, 0,
                                                        0.67448975019608174,  1.2815515655446005,
                                                        1.6448536269514727,   2.3263478740408411,
                                                        2.5758293035489008,   3.0902323061678135,
                                                        3.7190164854556806 };

static const double *const scores = ft_estimate_scores;

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

  while (i < FT_ESTIMATE_LEVELS && ft_estimate_levels[i] != probability)
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

void ft_estimate_widen(double quantile[FT_ESTIMATE_LEVELS], double variance)
{
  enum { TENTH = 3, MIDDLE = 5, NINE_TENTHS = 7 };
  /* standard sigma of a normal distribution with these 10 % and 90 % quantiles */
  double sigma = (quantile[NINE_TENTHS] - quantile[TENTH]) / (scores[NINE_TENTHS] - scores[TENTH]);
  double factor;

  if (!(variance > 0))
    return;
  sigma = fmax(sigma, 1e-4);
  factor = sqrt(1 + variance / (sigma * sigma));
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    if (i != MIDDLE)
      quantile[i] = quantile[MIDDLE] + (quantile[i] - quantile[MIDDLE]) * factor;
}
