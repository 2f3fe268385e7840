/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Multivariate normal distribution with shrunk covariance, fitted to vectors with missing numbers.
 * It completes a table of apps and platforms, and corrects a prediction by observed runs.
 */
#ifndef FT_LEARN_MULTIVARIATE_NORMAL_H
#define FT_LEARN_MULTIVARIATE_NORMAL_H

#include "predictor/core/error.h"

/* Largest dimension: the missing outputs of a row are bits of a uint64_t. */
enum { FT_MULTIVARIATE_NORMAL_OUTPUTS = 64 };

struct ft_multivariate_normal {
  size_t outputs;
  double mean[FT_MULTIVARIATE_NORMAL_OUTPUTS];
  double
      covariance[FT_MULTIVARIATE_NORMAL_OUTPUTS * FT_MULTIVARIATE_NORMAL_OUTPUTS]; /* row by row */
};

/*
 * Fits NORMAL to the table Y by expectation-maximisation (Dempster, Laird and Rubin 1977). Y has
 * ROWS x OUTPUTS numbers (1 to FT_MULTIVARIATE_NORMAL_OUTPUTS outputs); NAN: missing. OUT gets Y
 * with missing numbers imputed by their expected values. Covariances include the conditional
 * covariance of imputed numbers (Little and Rubin 2002, section 11.2). Covariances of different
 * outputs are shrunk as if OUTPUTS uncorrelated rows were added. A column without numbers is
 * imputed as 0. Returns 0; -1 on error and fills ERR.
 */
int ft_multivariate_normal_fit(const double *y, size_t rows, size_t outputs, double *out,
                               struct ft_multivariate_normal *normal, struct ft_error *err);

/*
 * Conditions NORMAL on KNOWN, deviations of the outputs from their mean (NAN: unknown) with
 * measurement variances NOISE. EXPECTED gets the conditional mean deviations of all outputs,
 * VARIANCE (NULL: not needed) their conditional variances. Returns 0; -1 on error and fills ERR.
 */
int ft_multivariate_normal_condition(const struct ft_multivariate_normal *normal,
                                     const double *known, const double *noise, double *expected,
                                     double *variance, struct ft_error *err);

#endif
