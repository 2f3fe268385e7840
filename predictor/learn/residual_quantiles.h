/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictive quantiles of a residual from the residuals of past predictions. */
#ifndef FT_LEARN_RESIDUAL_QUANTILES_H
#define FT_LEARN_RESIDUAL_QUANTILES_H

#include <stddef.h>

/*
 * Fills OUT with quantiles of the next residual at LEVEL_COUNT LEVELS (ascending, in (0, 1)).
 * SORTED has COUNT (0 or more) out-of-sample residuals in ascending order. EFFECTIVE_SIZE is their
 * effective sample size: dependent residuals count less.
 *
 * If 5 or more residuals lie beyond a level, the quantile is the residual at rank level * (COUNT +
 * 1), as in conformal prediction. With fewer, Student's t takes over gradually. It has
 * EFFECTIVE_SIZE degrees of freedom, at most 8: its tails stay heavier than normal. Its scale
 * includes one prior pseudo-observation of size PRIOR, so few or equal residuals never give a
 * narrow distribution. A quantile of rank below 1/2, from either end, is at least as extreme as the
 * most extreme residual; its distance from that residual is limited by the width of the outer
 * quarter of the residuals. Every quantile is at least as far from the median as that of a normal
 * distribution with standard deviation MIN_DEVIATION. OUT is non-decreasing.
 */
void ft_residual_quantiles(const double *sorted, size_t count, unsigned effective_size,
                           double prior, double min_deviation, const double *levels,
                           size_t level_count, double *out);

/* Returns the quantile at POSITION, in [0, 1], of COUNT (1 or more) ascending values, by linear
 * interpolation (type 7 of Hyndman and Fan 1996). */
double ft_residual_interpolate(const double *sorted, size_t count, double position);

#endif
