/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linear algebra of small dense symmetric matrices, stored row by row; eigenvectors with GSL. */
#ifndef FT_LEARN_DENSE_H
#define FT_LEARN_DENSE_H

#include <stddef.h>

#include "predictor/core/error.h"

/*
 * Solves A x = b in place for COUNT right-hand sides b[row * COUNT + i]. A is N x N, symmetric and
 * positive definite, and is overwritten. LOGDET gets the logarithm of its determinant; NULL: not
 * needed. Returns 0; -1 on error (A is not positive definite, or out of memory) and fills ERR.
 */
int ft_dense_solve(double *a, size_t n, double *b, size_t count, double *logdet,
                   struct ft_error *err);

/*
 * Computes the eigenvalues, in descending order, and eigenvectors of the symmetric N x N matrix A,
 * which is overwritten. vector[i * N + k] is component i of eigenvector k. Returns 0; -1 on error
 * and fills ERR.
 */
int ft_dense_eigen(double *a, size_t n, double *value, double *vector, struct ft_error *err);

#endif
