/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two distributions whose quantiles a prediction needs. */
#ifndef FT_LEARN_DISTRIBUTION_H
#define FT_LEARN_DISTRIBUTION_H

/* The probability that a standard normal value is at most X. */
double ft_normal_probability(double x);

/*
 * Its inverse, to 16 digits (Wichura 1988, algorithm AS 241, PPND16).
 * PROBABILITY is held within [1e-300, 1 - 1e-16].
 */
double ft_normal_quantile(double probability);

/*
 * The quantile of Student's t with DEGREES (1 or more) of freedom (Hill 1970,
 * CACM algorithm 396): exact for 1 and 2 degrees, else to 5 digits or better.
 */
double ft_student_quantile(double probability, unsigned degrees);

#endif
