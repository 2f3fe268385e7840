/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small dense symmetric systems, row by row; by GSL. */
#ifndef FT_LEARN_DENSE_H
#define FT_LEARN_DENSE_H

#include <stddef.h>

#include "predictor/core/error.h"

/*
 * Solve A x = b for COUNT right sides, b[row * COUNT + i], in place; A, N x N, symmetric and
 * positive definite, is overwritten. LOGDET, or NULL, gets the logarithm of A's determinant.
 * Returns 0; -1 with ERR where A is not positive definite or memory is out.
 */
int ft_dense_solve(double *a, size_t n, double *b, size_t count, double *logdet,
                   struct ft_error *err);

/*
 * Eigenvalues, falling, and vectors of symmetric A, N x N, which is overwritten:
 * vector[i * N + k] is the i-th number of the k-th.
 */
int ft_dense_eigen(double *a, size_t n, double *value, double *vector, struct ft_error *err);

#endif
