/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <math.h>

#include "predictor/learn/series/local_regression.h"
#include "predictor/estimate/small_sample.h"

#define GB 1e9

struct run {
  double bytes, input;
};

/* RUNS sorted by bytes. */
static void fill(ft_evaluator *e, const struct run *runs, size_t count)
{
  ft_baseline *peak = &e->baselines[FT_BASELINE_CONSTANT];

  *e = (ft_evaluator){ .has_primary_column = true, .baselines_count = 1 };
  for (size_t i = 0; i < count; i++) {
    peak->needs[i] = (float)runs[i].bytes;
    peak->runs.bytes[i] = (unsigned char)i;
    e->covariates[i] = runs[i].input >= 0 ? (float)log1p(runs[i].input) : -1;
    e->seconds[i] = 600;
  }
  peak->needs_count = peak->runs.size = e->covariates_count = e->seconds_count = (pb_size_t)count;
}

static double sized(const ft_evaluator *e, double input, double failed, double price)
{
  struct ft_allocation_query q = { .covariate = input >= 0 ? log1p(input) : -1,
                                   .failed_bytes = failed,
                                   .failure_price = price,
                                   .failure_time = 1 };
  double bytes = ft_small_sample_allocation(e, &q);

  assert_true(isfinite(bytes) && bytes > failed);
  return bytes;
}

static void a_peak_that_depends_on_its_input_is_followed(void **state)
{
  static const struct {
    const char *what;
    struct run runs[4];
    size_t count;
    double input, least, most;
  } cases[] = {
    { "one run, the same input", { { GB, 1e6 } }, 1, 1e6, 1.0, 1.5 },
    { "two runs alike", { { GB, 1e6 }, { 1.01 * GB, 1e6 } }, 2, 1e6, 1.0, 1.2 },
    { "in proportion", { { GB, 1e6 }, { 2 * GB, 2e6 }, { 3 * GB, 3e6 } }, 3, 6e6, 5.5, 9 },
    { "whatever the input", { { GB, 1e6 }, { GB, 3e6 }, { 1.01 * GB, 2e6 } }, 3, 6e6, 1.0, 1.3 },
    { "no input", { { GB, -1 }, { 1.02 * GB, -1 } }, 2, -1, 1.0, 1.2 },
    { "an input that none had", { { GB, -1 }, { 1.02 * GB, -1 } }, 2, 1e6, 1.0, 1.2 },
  };
  ft_evaluator *e = malloc(sizeof *e);

  (void)state;
  assert_non_null(e);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    double bytes;

    fill(e, cases[i].runs, cases[i].count);
    assert_true(ft_small_sample_applies(e));
    bytes = sized(e, cases[i].input, 0, 1) / GB;
    if (!(bytes >= cases[i].least && bytes <= cases[i].most))
      fail_msg("%s: %g GB", cases[i].what, bytes);
  }
  free(e);
}

static void a_failed_size_is_never_requested_again(void **state)
{
  static const struct run runs[] = { { GB, 1e6 }, { 1.1 * GB, 1.2e6 } };
  ft_evaluator *e = malloc(sizeof *e);
  double bytes = 0;

  (void)state;
  assert_non_null(e);
  fill(e, runs, COUNT_OF(runs));
  for (int i = 0; i < 40; i++)
    bytes = sized(e, 1e6, bytes, 1);
  assert_true(bytes > 40 * GB);
  free(e);
}

static void a_higher_failure_cost_raises_the_allocation(void **state)
{
  static const double prices[] = { 0.1, 1, 4, 40, 400 };
  static const struct run runs[] = { { GB, 1e6 }, { 1.3 * GB, 1e6 } };
  ft_evaluator *e = malloc(sizeof *e);

  (void)state;
  assert_non_null(e);
  fill(e, runs, COUNT_OF(runs));
  for (size_t i = 1; i < COUNT_OF(prices); i++)
    assert_true(sized(e, 1e6, 0, prices[i]) >= sized(e, 1e6, 0, prices[i - 1]));
  free(e);
}

static void the_model_applies_to_one_to_four_runs(void **state)
{
  static const struct run runs[5] = { { 1, 1 }, { 2, 1 }, { 3, 1 }, { 4, 1 }, { 5, 1 } };
  ft_evaluator *e = malloc(sizeof *e);

  (void)state;
  assert_non_null(e);
  for (size_t count = 0; count <= COUNT_OF(runs); count++) {
    fill(e, runs, count);
    assert_int_equal(ft_small_sample_applies(e), count > 0 && count < FT_ENSEMBLE_MIN_RUNS);
  }
  free(e);
}

static void a_local_line_is_fitted_around_a_point(void **state)
{
  double x[40], y[40], weight[40];
  struct ft_local_regression line;

  (void)state;
  for (int i = 0; i < 40; i++) {
    x[i] = 0.1 * i - 1;
    /* another slope further away, where the weights vanish */
    y[i] = x[i] < 1 ? 3 + 0.5 * x[i] + (i % 2 ? 0.01 : -0.01) : 100;
    weight[i] = x[i] < 1 ? 1 : 0;
  }
  assert_true(ft_local_regression_fit(x, y, weight, 40, &line));
  assert_true(fabs(line.mean - 3) < 0.01 && line.deviation > 0.009 && line.deviation < 0.012);
  assert_true(fabs(line.runs - 19) < 1.5);
  assert_false(ft_local_regression_fit(x, y, weight, 2, &line));
  assert_false(ft_local_regression_fit(x, y, weight, 0, &line));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_peak_that_depends_on_its_input_is_followed),
    cmocka_unit_test(a_failed_size_is_never_requested_again),
    cmocka_unit_test(a_higher_failure_cost_raises_the_allocation),
    cmocka_unit_test(the_model_applies_to_one_to_four_runs),
    cmocka_unit_test(a_local_line_is_fitted_around_a_point),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
