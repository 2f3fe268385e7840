/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weighted linear least squares by GSL's singular value decomposition. */
#ifndef FT_LEARN_LINEAR_H
#define FT_LEARN_LINEAR_H

#include <stddef.h>

#include "predictor/core/error.h"

/*
 * Minimises the sum of WEIGHT[i] * (y - c[0] - sum of c[j + 1] * x[j])^2 over ROWS rows of
 * X[row * COLUMNS + column]. COEFFICIENTS gets the COLUMNS + 1 numbers c. Collinear columns get the
 * minimum-norm solution. Returns 0; -1 on error, also if a coefficient is not finite, and fills
 * ERR.
 */
int ft_linear_fit(const double *x, const double *y, const double *weight, size_t rows,
                  size_t columns, double *coefficients, struct ft_error *err);

#endif
