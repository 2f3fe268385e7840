/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Multivariate normal distribution with shrunk covariance, fitted to vectors with missing numbers.
 * It completes a table of apps by platforms, and corrects a prediction by observed runs.
 */
#ifndef FT_LEARN_MULTIVARIATE_NORMAL_H
#define FT_LEARN_MULTIVARIATE_NORMAL_H

#include "predictor/core/error.h"

enum { FT_MULTIVARIATE_NORMAL_OUTPUTS = 64 }; /* dimensions; a row's gaps are bits of a uint64_t */

struct ft_multivariate_normal {
  size_t outputs;
  double mean[FT_MULTIVARIATE_NORMAL_OUTPUTS];
  double
      covariance[FT_MULTIVARIATE_NORMAL_OUTPUTS * FT_MULTIVARIATE_NORMAL_OUTPUTS]; /* row by row */
};

/*
 * Fits GAUSS to the table Y by expectation-maximisation (Dempster, Laird and Rubin 1977). Y has
 * ROWS x OUTPUTS numbers (1 to FT_MULTIVARIATE_NORMAL_OUTPUTS outputs); NAN: missing. OUT gets Y
 * with expected values in the gaps. Covariances include the conditional covariance of the gaps
 * (Little and Rubin 2002, section 11.2). Off-diagonal ones are shrunk as by OUTPUTS additional
 * uncorrelated rows. A column without numbers becomes 0. Returns 0; -1 on error and fills ERR.
 */
int ft_multivariate_normal_fit(const double *y, size_t rows, size_t outputs, double *out,
                               struct ft_multivariate_normal *gauss, struct ft_error *err);

/*
 * Conditions GAUSS on KNOWN, deviations from the mean (NAN: unknown) with measurement variances
 * NOISE. EXPECTED gets the conditional mean deviations of all outputs, VARIANCE (NULL: not needed)
 * their conditional variances. Returns 0; -1 on error and fills ERR.
 */
int ft_multivariate_normal_condition(const struct ft_multivariate_normal *gauss,
                                     const double *known, const double *noise, double *expected,
                                     double *variance, struct ft_error *err);

#endif
