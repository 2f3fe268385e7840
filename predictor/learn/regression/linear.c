/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <gsl/gsl_multifit.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "predictor/learn/regression/linear.h"

/* Singular values below this fraction of the largest count as 0. */
#define MIN_SINGULAR 1e-10

/* Fills the design matrix, targets and weights. GSL's SVD needs at least as many rows as columns,
 * so rows of weight 0 are appended. */
static void fill_padded_design(gsl_matrix *m, gsl_vector *target, gsl_vector *weights,
                               const double *x, const double *y, const double *weight, size_t rows,
                               size_t columns, const double *scale)
{
  for (size_t r = 0; r < m->size1; r++) {
    bool real = r < rows;

    gsl_matrix_set(m, r, 0, real);
    for (size_t c = 0; c < columns; c++)
      gsl_matrix_set(m, r, c + 1, real ? x[r * columns + c] / scale[c] : 0);
    gsl_vector_set(target, r, real ? y[r] : 0);
    gsl_vector_set(weights, r, real ? weight[r] : 0);
  }
}

/* Returns whether COUNT values are finite: GSL's SVD may return NaN for repeated or nearly zero
 * columns. */
static bool are_all_finite(const double *value, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (!isfinite(value[i]))
      return false;
  return true;
}

int ft_linear_fit(const double *x, const double *y, const double *weight, size_t rows,
                  size_t columns, double *coefficients, struct ft_error *err)
{
  size_t n = columns + 1, m = rows > n ? rows : n;
  gsl_matrix *design = NULL, *covariance = NULL;
  gsl_vector *target = NULL, *weights = NULL, *solution = NULL;
  gsl_multifit_linear_workspace *work = NULL;
  double *scale = malloc((columns ? columns : 1) * sizeof *scale), squares;
  gsl_error_handler_t *handler = gsl_set_error_handler_off();
  int status = -1;
  size_t rank;

  design = gsl_matrix_alloc(m, n);
  covariance = gsl_matrix_alloc(n, n);
  target = gsl_vector_alloc(m);
  weights = gsl_vector_alloc(m);
  solution = gsl_vector_alloc(n);
  work = gsl_multifit_linear_alloc(m, n);
  if (!scale || !design || !covariance || !target || !weights || !solution || !work) {
    ft_error_set(err, "linear regression: out of memory");
    goto out;
  }
  for (size_t c = 0; c < columns; c++) {
    scale[c] = 0;
    for (size_t r = 0; r < rows; r++)
      scale[c] = fmax(scale[c], fabs(x[r * columns + c]));
    if (scale[c] == 0)
      scale[c] = 1;
  }
  fill_padded_design(design, target, weights, x, y, weight, rows, columns, scale);
  if (gsl_multifit_wlinear_tsvd(design, weights, target, MIN_SINGULAR, solution, covariance,
                                &squares, &rank, work)) {
    ft_error_set(err, "linear regression: no finite solution");
    goto out;
  }
  coefficients[0] = gsl_vector_get(solution, 0);
  for (size_t c = 0; c < columns; c++)
    coefficients[c + 1] = gsl_vector_get(solution, c + 1) / scale[c];
  if (are_all_finite(coefficients, n))
    status = 0;
  else
    ft_error_set(err, "linear regression: no finite solution");
out:
  gsl_set_error_handler(handler);
  gsl_multifit_linear_free(work);
  gsl_vector_free(solution);
  gsl_vector_free(weights);
  gsl_vector_free(target);
  gsl_matrix_free(covariance);
  gsl_matrix_free(design);
  free(scale);
  return status;
}
