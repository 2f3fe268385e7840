/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/estimate/runtime.h"
#include "tests/unit/platforms.h"

/* 4 s plus 0.5 s per unit of n on "old"; "new" is twice as fast, "odd" has no runs. */
static ft_performance performance(void)
{
  ft_performance p = some_performance("app");

  p.platforms_count = 3;
  p.platforms[2] = p.platforms[3];
  p.runtime_model.intercept = 4e6;
  p.runtime_model.terms[0] = (ft_term){ .coefficient = 4e6, .scale = 8, .high = 64 };
  return p;
}

static ft_feature number(double n)
{
  return (ft_feature){ .name = "n", .has_number = true, .number = n };
}

static void run_times_are_estimated_on_every_known_platform(void **state)
{
  ft_performance p = performance();
  ft_feature n = number(8);
  struct ft_platform_runtime place[FT_RUNTIME_PLATFORMS];

  (void)state;
  assert_int_equal(ft_runtime_estimate(&p, &n, 1, place), 3);
  assert_true(place[0].known && place[1].known && !place[2].known);
  assert_string_equal(place[1].platform, "new");
  assert_int_equal(place[1].runs, 10);
  assert_near(place[0].speed, 1, 1e-12);
  assert_near(place[0].speed_p95, 1, 1e-12);
  assert_near(place[1].speed, 2, 1e-12);
  assert_near(place[1].speed_p05, 2 * exp(-0.1644853626951), 1e-9);
  assert_near(ft_estimate_quantile(&place[0].seconds, 0.5), 8, 0.01);
  assert_near(ft_estimate_quantile(&place[1].seconds, 0.5), 4, 0.01);
  assert_string_equal(place[1].seconds.method, "regression");
}

static void less_certain_estimates_have_wider_intervals(void **state)
{
  ft_performance p = performance();
  ft_feature n = number(8), far = number(1e6);
  struct ft_platform_runtime near[FT_RUNTIME_PLATFORMS], beyond[FT_RUNTIME_PLATFORMS];
  double here, there;

  (void)state;
  (void)ft_runtime_estimate(&p, &n, 1, near);
  here = log(near[0].seconds.quantile[8] / near[0].seconds.quantile[2]);
  there = log(near[1].seconds.quantile[8] / near[1].seconds.quantile[2]);
  assert_true(there > here && there > 2 * 0.164);
  (void)ft_runtime_estimate(&p, &far, 1, beyond);
  assert_true(beyond[0].seconds.extrapolated);
  for (int i = 1; i < FT_ESTIMATE_LEVELS; i++)
    assert_true(beyond[1].seconds.quantile[i] >= beyond[1].seconds.quantile[i - 1]);
}

static void without_runs_there_is_no_run_time(void **state)
{
  ft_performance p = performance();
  struct ft_platform_runtime place[FT_RUNTIME_PLATFORMS];

  (void)state;
  p.runs = 0;
  assert_int_equal(ft_runtime_estimate(&p, NULL, 0, place), 0);
}

static void impossible_speeds_are_bounded(void **state)
{
  ft_performance p = performance();
  struct ft_platform_runtime place[FT_RUNTIME_PLATFORMS];

  (void)state;
  p.platforms[1].log_ratio = 1e300;
  p.platforms[1].deviation = 1e300;
  assert_int_equal(ft_runtime_estimate(&p, NULL, 0, place), 3);
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    assert_true(isfinite(place[1].seconds.quantile[i]));
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(
                                          run_times_are_estimated_on_every_known_platform),
                                      cmocka_unit_test(less_certain_estimates_have_wider_intervals),
                                      cmocka_unit_test(without_runs_there_is_no_run_time),
                                      cmocka_unit_test(impossible_speeds_are_bounded) };

  return cmocka_run_group_tests_name("runtime", tests, NULL, NULL);
}
