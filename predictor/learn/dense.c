/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <gsl/gsl_eigen.h>
#include <gsl/gsl_errno.h>
#include <math.h>

#include "predictor/learn/cholesky.h"
#include "predictor/learn/dense.h"

int ft_dense_solve(double *a, size_t n, double *b, size_t count, double *logdet,
                   struct ft_error *err)
{
  if (!ft_cholesky_factor(a, n, n))
    return ft_error_set(err, "least squares: matrix is not positive definite");
  for (size_t i = 0; i < count; i++)
    ft_cholesky_solve(a, n, n, b + i, count);
  if (logdet) {
    *logdet = 0;
    for (size_t i = 0; i < n; i++)
      *logdet += 2 * log(a[i * n + i]);
  }
  return 0;
}

int ft_dense_eigen(double *a, size_t n, double *value, double *vector, struct ft_error *err)
{
  gsl_error_handler_t *handler = gsl_set_error_handler_off();
  gsl_eigen_symmv_workspace *work = n ? gsl_eigen_symmv_alloc(n) : NULL;
  int failed = n && !work;

  if (work) {
    gsl_matrix_view m = gsl_matrix_view_array(a, n, n), v = gsl_matrix_view_array(vector, n, n);
    gsl_vector_view e = gsl_vector_view_array(value, n);

    failed = gsl_eigen_symmv(&m.matrix, &e.vector, &v.matrix, work) ||
             gsl_eigen_symmv_sort(&e.vector, &v.matrix, GSL_EIGEN_SORT_VAL_DESC);
    gsl_eigen_symmv_free(work);
  }
  gsl_set_error_handler(handler);
  return failed ? ft_error_set(err, "eigenvectors: no convergence, or out of memory") : 0;
}
