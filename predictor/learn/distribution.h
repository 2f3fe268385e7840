/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantiles of the normal and of Student's t distribution. */
#ifndef FT_LEARN_DISTRIBUTION_H
#define FT_LEARN_DISTRIBUTION_H

/* Returns the probability that a standard normal value is at most X. */
double ft_normal_probability(double x);

/*
 * Returns the standard normal quantile at PROBABILITY, to 16 digits (Wichura 1988, algorithm
 * AS 241, PPND16). PROBABILITY is clamped to [1e-300, 1 - 1e-16].
 */
double ft_normal_quantile(double probability);

/*
 * Returns the quantile of Student's t with DEGREES (1 or more) of freedom (Hill 1970, CACM
 * algorithm 396): exact for 1 and 2 degrees, otherwise to 5 digits or better.
 */
double ft_student_quantile(double probability, unsigned degrees);

#endif
