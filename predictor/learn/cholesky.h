/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cholesky factors of small symmetric matrices. Element (i, j) is a[i * stride + j], and only j <=
 * i is used. Up to 512 rows as fast as GSL, and for 4 to 16 rows almost twice as fast. */
#ifndef FT_LEARN_CHOLESKY_H
#define FT_LEARN_CHOLESKY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Replaces the N x N matrix A by its factor L (A = L L^T). Returns whether A is positive definite:
 * a pivot below 1e-12 of its diagonal element, which rounding may have made negative, is clamped.
 */
bool ft_cholesky_factor(double *a, size_t stride, size_t n);

/* Solves L y = b in place, b[i * step]. */
void ft_cholesky_forward(const double *l, size_t stride, size_t n, double *b, size_t step);

/* Solves L L^T x = b in place, b[i * step]. */
void ft_cholesky_solve(const double *l, size_t stride, size_t n, double *b, size_t step);

#endif
