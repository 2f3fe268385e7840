/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the residuals of past predictions to the quantiles of the next one. */
#ifndef FT_LEARN_RESIDUAL_QUANTILES_H
#define FT_LEARN_RESIDUAL_QUANTILES_H

#include <stddef.h>

/*
 * Quantiles at LEVELS (rising, within (0, 1)) of the next residual, given COUNT
 * honest residuals in rising order, of which EVIDENCE count as independent.
 *
 * Where at least 5 residuals lie beyond a level, theirs decides, at position
 * level * (COUNT + 1) as for a conformal interval; where fewer do, Student's t
 * takes over, of EVIDENCE degrees of freedom but at most 8, so that tails stay
 * heavier than normal. Its scale is that of the residuals together with one
 * imagined residual of PRIOR: few residuals, or equal ones, never give a narrow
 * distribution. Beyond half a residual's worth no quantile lies inside the
 * extremes seen, nor further outside than the upper (lower) quarter reaches,
 * 1 + 15 / COUNT times and at 99 %. No quantile is nearer to the median than a normal one of
 * standard deviation LEAST. Never decreasing. COUNT may be 0.
 */
void ft_residual_quantiles(const double *sorted, size_t count, unsigned evidence, double prior,
                           double least, const double *levels, size_t level_count, double *out);

/* The quantile of COUNT (1 or more) values in rising order at POSITION in [0, 1] between the first
 * and the last. */
double ft_residual_between(const double *sorted, size_t count, double position);

#endif
