/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/random.h"
#include "predictor/learn/feature_screening.h"

enum { ROWS = 120, COLUMNS = 400, MOST = 20 };

static double x[ROWS * COLUMNS], y[ROWS];

static double linear_target(double a, double b)
{
  return 3 + 2 * a - b;
}

static double product(double a, double b)
{
  return a * b;
}

static double valley(double a, double b)
{
  return (a - 5) * (a - 5) + b;
}

static double steep(double a, double b)
{
  return -1e-9 * exp(5 * a) * b;
}

static void relevant_columns_are_kept(void **state)
{
  /* of the last two, the second column adds little to the first */
  static const struct {
    double (*made)(double, double);
    size_t columns;
  } cases[] = { { linear_target, 2 }, { product, 2 }, { valley, 1 }, { steep, 1 } };
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 1);
  for (size_t k = 0; k < COUNT_OF(cases); k++) {
    size_t chosen[MOST], a = 17 + k, b = 303 - k, found = 0;

    for (size_t i = 0; i < ROWS * COLUMNS; i++)
      x[i] = 10 * ft_random_double(&random);
    for (size_t r = 0; r < ROWS; r++)
      y[r] = cases[k].made(x[r * COLUMNS + a], x[r * COLUMNS + b]);
    assert_int_equal(ft_feature_screening(x, y, ROWS, COLUMNS, MOST, chosen), 0);
    for (size_t i = 0; i < MOST; i++) {
      assert_in_range(chosen[i], i ? chosen[i - 1] + 1 : 0, COLUMNS - 1);
      found += chosen[i] == a || (chosen[i] == b && cases[k].columns == 2);
    }
    if (found < cases[k].columns)
      fail_msg("function %zu: %zu of its columns", k, found);
  }
}

static void irrelevant_columns_do_no_harm(void **state)
{
  size_t chosen[COLUMNS];

  (void)state;
  for (size_t i = 0; i < ROWS * COLUMNS; i++)
    x[i] = 7;
  for (size_t r = 0; r < ROWS; r++)
    x[r * COLUMNS + 9] = y[r] = (double)(r % 2);
  assert_int_equal(ft_feature_screening(x, y, ROWS, COLUMNS, 1, chosen), 0);
  assert_int_equal(chosen[0], 9);
  assert_int_equal(ft_feature_screening(x, y, ROWS, COLUMNS, COLUMNS, chosen), 0);
  for (size_t i = 0; i < COLUMNS; i++)
    assert_int_equal(chosen[i], i);
  /* a target that does not vary, and one row */
  assert_int_equal(ft_feature_screening(x, x, ROWS, COLUMNS, 2, chosen), 0);
  assert_int_equal(ft_feature_screening(x, y, 1, COLUMNS, 2, chosen), 0);
  assert_int_equal(chosen[1], 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(relevant_columns_are_kept),
                                      cmocka_unit_test(irrelevant_columns_do_no_harm) };

  return cmocka_run_group_tests_name("screen", tests, NULL, NULL);
}
