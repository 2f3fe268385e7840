/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantiles of the next residual from the residuals of past predictions. */
#ifndef FT_LEARN_RESIDUAL_QUANTILES_H
#define FT_LEARN_RESIDUAL_QUANTILES_H

#include <stddef.h>

/*
 * Fills OUT with quantiles of the next residual at LEVEL_COUNT LEVELS (ascending, in (0, 1)).
 * SORTED holds COUNT (0 or more) out-of-sample residuals in ascending order, EVIDENCE their
 * effective sample size.
 *
 * If 5 or more residuals lie beyond a level, the quantile is the residual at rank
 * level * (COUNT + 1), as in conformal prediction. With fewer, Student's t takes over gradually. It
 * has EVIDENCE degrees of freedom, at most 8: tails stay heavier than normal. Its scale includes
 * one prior pseudo-observation of size PRIOR, so few or equal residuals never give a narrow
 * distribution. Quantiles beyond rank 1/2 lie outside the extreme residual, within a limit that
 * follows the outer quarter. Every quantile is at least as far from the median as that of a normal
 * distribution with standard deviation LEAST. The result never decreases.
 */
void ft_residual_quantiles(const double *sorted, size_t count, unsigned effective_size,
                           double prior, double min_deviation, const double *levels,
                           size_t level_count, double *out);

/* Returns the interpolated value at POSITION, in [0, 1], of COUNT (1 or more) ascending values. */
double ft_residual_interpolate(const double *sorted, size_t count, double position);

#endif
