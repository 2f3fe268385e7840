/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Vectors of which some numbers are known: the rest by a normal distribution whose covariance is
 * shrunk, as many as rows allow. What completes a table of (app, platform) and what corrects a
 * prediction by the runs that were seen.
 */
#ifndef FT_LEARN_MULTIVARIATE_NORMAL_H
#define FT_LEARN_MULTIVARIATE_NORMAL_H

#include "predictor/core/error.h"

enum { FT_MULTIVARIATE_NORMAL_OUTPUTS = 64 };

struct ft_multivariate_normal {
  size_t outputs;
  double mean[FT_MULTIVARIATE_NORMAL_OUTPUTS];
  double
      covariance[FT_MULTIVARIATE_NORMAL_OUTPUTS * FT_MULTIVARIATE_NORMAL_OUTPUTS]; /* row by row */
};

/*
 * Completes a table and learns GAUSS from it, by expectation and maximisation (Dempster, Laird,
 * Rubin 1977): OUT gets Y, ROWS x OUTPUTS (1 to FT_MULTIVARIATE_NORMAL_OUTPUTS), with an expected
 * number wherever Y is NAN. Covariances count what the gaps of a row leave uncertain together
 * (Little and Rubin 2002, section 11.2); those off the diagonal are shrunk as if OUTPUTS more rows
 * were uncorrelated. A column without any number becomes 0. Returns 0; -1 with ERR.
 */
int ft_multivariate_normal_fit(const double *y, size_t rows, size_t outputs, double *out,
                               struct ft_multivariate_normal *gauss, struct ft_error *err);

/*
 * Given the KNOWN deviations from the mean (NAN: not known), each the mean of some runs with
 * variance NOISE[output], the expected ones of all outputs and, unless NULL, what remains of their
 * variance.
 */
int ft_multivariate_normal_condition(const struct ft_multivariate_normal *gauss,
                                     const double *known, const double *noise, double *expected,
                                     double *variance, struct ft_error *err);

#endif
