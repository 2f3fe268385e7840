/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/learn/cholesky.h"

enum { N = 3, STRIDE = 5 };

static void a_factor_solves_its_equations(void **state)
{
  const double a[N][N] = { { 4, 2, -2 }, { 2, 10, 4 }, { -2, 4, 9 } }, x[N] = { 1, -2, 0.5 };
  double l[N][STRIDE], b[N][2];

  (void)state;
  for (size_t i = 0; i < N; i++) {
    b[i][0] = b[i][1] = 0;
    for (size_t j = 0; j < N; j++) {
      l[i][j] = j <= i ? a[i][j] : NAN; /* the upper half is not read */
      b[i][1] += a[i][j] * x[j];
    }
  }
  assert_true(ft_cholesky_factor(*l, STRIDE, N));
  ft_cholesky_solve(*l, STRIDE, N, &b[0][1], 2);
  for (size_t i = 0; i < N; i++) {
    assert_near(b[i][1], x[i], 1e-14);
    assert_near(b[i][0], 0, 0);
  }
}

static void a_singular_matrix_is_clamped_and_reported(void **state)
{
  const double a[][4] = { { 1, 0, 1, 1 }, { 1, 0, 2, 1 }, { 0, 0, 0, 1 } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(a); i++) {
    double l[4] = { a[i][0], a[i][1], a[i][2], a[i][3] }, b[2] = { 1, 1 };

    assert_false(ft_cholesky_factor(l, 2, 2));
    ft_cholesky_solve(l, 2, 2, b, 1);
    assert_true(isfinite(b[0]) && isfinite(b[1]));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_factor_solves_its_equations),
    cmocka_unit_test(a_singular_matrix_is_clamped_and_reported),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
