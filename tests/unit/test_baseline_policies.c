/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the simple policies keep of past runs, in any order of arrival. */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/random.h"
#include "predictor/rebuild/baseline_policies.h"

enum { MOST = 3000 };

static int rising(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* The 95th percentile by its definition. */
static double percentile(const double *bytes, size_t count)
{
  double sorted[MOST], position = 0.95 * (double)(count - 1);
  size_t at = (size_t)position;

  memcpy(sorted, bytes, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, rising);
  return at + 1 < count ? sorted[at] + (sorted[at + 1] - sorted[at]) * (position - (double)at)
                        : sorted[at];
}

enum order { RANDOM, RISING, FALLING, EQUAL, FEW_VALUES, ORDERS };

static double bytes_of(enum order order, size_t i, struct ft_random *random)
{
  switch (order) {
  case RISING:
    return 1e6 * (double)(i + 1);
  case FALLING:
    return 1e6 * (double)(MOST - i);
  case EQUAL:
    return 1e9;
  case FEW_VALUES:
    return 1e9 * (double)(1 + ft_random_below(random, 4));
  default:
    return 1e9 * (1 + (double)ft_random_below(random, 1000000) / 1e6);
  }
}

static void percentile_and_maximum_include_every_run(void **state)
{
  static double bytes[MOST];
  struct ft_policy_task task = { .input = NAN, .node_bytes = 1e12, .failure_time_fraction = 1 };
  struct ft_past_runs past = { 0 };
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 5);
  for (int order = 0; order < ORDERS; order++) {
    double largest = 0;

    ft_past_runs_clear(&past);
    for (size_t i = 0; i < MOST; i++) {
      struct ft_past_run run = { bytes_of(order, i, &random), 60, NAN };

      bytes[i] = run.bytes;
      largest = fmax(largest, run.bytes);
      assert_int_equal(ft_past_runs_add(&past, &run), 0);
      if (i > 70 && i % 61)
        continue;
      assert_near(ft_policy_first_allocation(FT_POLICY_QUANTILE, &past, &task),
                  percentile(bytes, i + 1), 1e-12);
      assert_near(ft_policy_first_allocation(FT_POLICY_LARGEST, &past, &task), largest, 0);
    }
  }
  ft_past_runs_free(&past);
}

/* Fitted once or after every run, the same runs give the same line and first allocation. */
static void a_fit_uses_all_runs_in_any_order(void **state)
{
  enum { RUNS = 400 };
  static const enum ft_baseline_policy fitted[] = { FT_POLICY_REGRESSION, FT_POLICY_TOVAR };
  struct ft_policy_task task = { .input = 3e9, .node_bytes = 1e12, .failure_time_fraction = 1 };
  struct ft_past_runs often = { 0 }, once = { 0 };
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 6);
  for (size_t i = 0; i < RUNS; i++) {
    double input = 1e9 + 1e7 * (double)ft_random_below(&random, 500);
    struct ft_past_run run = { 2 * input + 1e6 * (double)ft_random_below(&random, 300),
                               10 + (double)ft_random_below(&random, 90), input };

    assert_int_equal(ft_past_runs_add(&often, &run) + ft_past_runs_add(&once, &run), 0);
    (void)ft_policy_first_allocation(FT_POLICY_TOVAR, &often, &task);
  }
  for (size_t f = 0; f < COUNT_OF(fitted); f++)
    assert_near(ft_policy_first_allocation(fitted[f], &often, &task),
                ft_policy_first_allocation(fitted[f], &once, &task), 1e-12);
  /* 6 GB on the line, at most 0.3 above it */
  assert_in_range((uintmax_t)ft_policy_first_allocation(FT_POLICY_REGRESSION, &once, &task),
                  (uintmax_t)6.1e9, (uintmax_t)6.4e9);
  ft_past_runs_free(&often);
  ft_past_runs_free(&once);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(percentile_and_maximum_include_every_run),
    cmocka_unit_test(a_fit_uses_all_runs_in_any_order),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
