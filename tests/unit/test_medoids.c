/* SPDX-License-Identifier: GPL-3.0-or-later */
/* k-medoids: the few rows that represent all rows. */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/random.h"
#include "predictor/learn/relative/medoids.h"

enum { CLUSTERS = 4, EACH = 25, ROWS = CLUSTERS * EACH, COLUMNS = 3 };

static void each_cluster_has_a_medoid(void **state)
{
  double x[ROWS * COLUMNS];
  size_t medoid[CLUSTERS], share[CLUSTERS];
  bool found[CLUSTERS] = { false };
  struct ft_random random;
  struct ft_error err;

  (void)state;
  ft_random_seed(&random, 1);
  for (size_t r = 0; r < ROWS; r++)
    for (size_t c = 0; c < COLUMNS; c++)
      x[r * COLUMNS + c] = ft_random_normal(&random) + 10 * (r % CLUSTERS == c);
  assert_int_equal(ft_medoids(x, ROWS, COLUMNS, CLUSTERS, 1, medoid, share, &err), 0);
  for (size_t k = 0; k < CLUSTERS; k++) {
    found[medoid[k] % CLUSTERS] = true;
    assert_int_equal(share[k], EACH);
    assert_true(k == 0 || medoid[k] > medoid[k - 1]);
  }
  for (size_t k = 0; k < CLUSTERS; k++)
    assert_true(found[k]);
}

static void equal_rows_are_distinguished(void **state)
{
  double x[ROWS * COLUMNS] = { 0 };
  size_t medoid[ROWS], share[ROWS];
  struct ft_error err;

  (void)state;
  for (size_t count = 1; count <= ROWS; count += 33) {
    size_t sum = 0;

    assert_int_equal(ft_medoids(x, ROWS, COLUMNS, count, 2, medoid, share, &err), 0);
    for (size_t k = 0; k < count; k++) {
      sum += share[k];
      assert_true(medoid[k] < ROWS && (k == 0 || medoid[k] > medoid[k - 1]));
    }
    assert_int_equal(sum, ROWS);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_cluster_has_a_medoid),
    cmocka_unit_test(equal_rows_are_distinguished),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
