/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/learn/cholesky.h"

/* Smallest pivot, relative to its diagonal element: rounding errors of a few hundred terms. */
#define SINGULAR 1e-12
/* The same where that element is 0. */
#define TINY 1e-300

bool ft_cholesky_factor(double *a, size_t stride, size_t n)
{
  bool definite = true;

  for (size_t i = 0; i < n; i++) {
    double *row = a + i * stride, pivot = row[i], smallest = SINGULAR * pivot + TINY;

    for (size_t j = 0; j < i; j++) {
      const double *other = a + j * stride;
      double sum = row[j];

      for (size_t k = 0; k < j; k++)
        sum -= row[k] * other[k];
      row[j] = sum / other[j];
      pivot -= row[j] * row[j];
    }
    definite = definite && pivot > smallest;
    row[i] = sqrt(fmax(pivot, smallest));
  }
  return definite;
}

void ft_cholesky_forward(const double *l, size_t stride, size_t n, double *b, size_t step)
{
  for (size_t j = 0; j < n; j++) {
    for (size_t k = 0; k < j; k++)
      b[j * step] -= l[j * stride + k] * b[k * step];
    b[j * step] /= l[j * stride + j];
  }
}

void ft_cholesky_solve(const double *l, size_t stride, size_t n, double *b, size_t step)
{
  ft_cholesky_forward(l, stride, n, b, step);
  for (size_t j = n; j-- > 0;) {
    for (size_t k = j + 1; k < n; k++)
      b[j * step] -= l[k * stride + j] * b[k * step];
    b[j * step] /= l[j * stride + j];
  }
}
