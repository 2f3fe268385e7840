/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linear least squares with weights, by GSL's singular value decomposition. */
#ifndef FT_LEARN_LINEAR_H
#define FT_LEARN_LINEAR_H

#include <stddef.h>

#include "predictor/core/error.h"

/*
 * Minimise sum of WEIGHT[i] * (y - c[0] - sum of c[j + 1] * x[j])^2 over ROWS rows,
 * X[row * COLUMNS + column]. COEFFICIENTS has COLUMNS + 1 places. Columns that depend
 * on others get the shortest solution. Returns 0; -1 with ERR, also where a coefficient would be no
 * number.
 */
int ft_linear_fit(const double *x, const double *y, const double *weight, size_t rows,
                  size_t columns, double *coefficients, struct ft_error *err);

#endif
