/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cost of a failed attempt: the site's failure cost and the time to failure. */
#include "config.h"

#include <math.h>

#include "predictor/estimate/allocation.h"
#include "predictor/online/failure_cost.h"
#include "predictor/online/online.h"
#include "tests/unit/unit.h"

static struct ft_history history;

static ft_model model;

static void learn(double mib, double seconds, bool killed)
{
  static uint32_t job = 1;
  ft_observation o = { .schema = FT_SCHEMA,
                       .job_id = job,
                       .end_time = job,
                       .outcome = killed ? FT_OUTCOME_OUT_OF_MEMORY : FT_OUTCOME_COMPLETED,
                       .censored = killed,
                       .runtime_seconds = seconds,
                       .has_rss_bytes = true,
                       .rss_bytes = (uint64_t)(mib * 0x1p20) };

  job++;
  assert_int_equal(ft_online_update(&model, &history, &o, NULL), 1);
}

static void make_model(unsigned completed)
{
  ft_online_init(&model, &history, "app", 1000, FT_RULE_RSS);
  for (unsigned i = 0; i < completed; i++)
    learn(100 + i % 10, 1000, false);
}

static void the_time_to_failure_is_learned_from_failed_runs(void **state)
{
  static const struct {
    const char *what;
    unsigned completed, failed;
    double mib, seconds, time; /* of each failed run; the learned time to failure */
  } cases[] = {
    { "none failed", 12, 0, 0, 0, 0 },
    { "nothing to measure it by", 0, 3, 100, 300, 0 },
    { "one, soon", 12, 1, 105, 0.1, 0.75 },
    { "many, soon", 12, 17, 105, 100, (3 + 1.7) / 20 },
    { "many, at their end", 12, 17, 105, 1000, 1 },
    { "none lasts longer than a run", 12, 17, 105, 9000, 1 },
    { "killed before its time was known", 12, 4, 105, 0, 0 },
    { "above all that completed", 12, 3, 500, 500, 0.75 },
    { "only the last count", 12, 90, 105, 250, (3 + 5) / 23.0 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    make_model(cases[i].completed);
    for (unsigned k = 0; k < cases[i].failed; k++)
      learn(cases[i].mib, cases[i].seconds, true);
    if (fabs(model.evaluator.failure_time - cases[i].time) > 1e-3)
      fail_msg("%s: %g, expected %g", cases[i].what, model.evaluator.failure_time, cases[i].time);
  }
}

/* If run time grows with the peak, a failed run is compared with runs of a similar peak. */
static void a_failed_run_is_compared_with_runs_of_similar_peak(void **state)
{
  (void)state;
  ft_online_init(&model, &history, "app", 1000, FT_RULE_RSS);
  for (unsigned i = 0; i < 12; i++)
    learn(i < 9 ? 100 : 800, i < 9 ? 10 : 1000, false);
  for (unsigned i = 0; i < 3; i++)
    learn(400, 100, true);
  assert_true(fabs(model.evaluator.failure_time - (3 + 0.3) / 6) < 1e-3);
}

static double allocation(double price, double time)
{
  struct ft_estimate estimate;
  double bytes;

  model.evaluator.failure_time = time;
  assert_int_equal(ft_allocate_memory(&model, NULL, 0, 0, price, &estimate, &bytes, NULL), 0);
  return bytes;
}

static void early_and_cheap_failures_lower_the_allocation(void **state)
{
  (void)state;
  for (unsigned runs = 3; runs <= 60; runs += 57) {
    make_model(runs);
    for (unsigned i = 0; i < runs; i += 3)
      learn(160 + i % 7, 1000, false);
    assert_true(allocation(1, 0.02) < allocation(1, 1));
    assert_true(allocation(1, 0) == allocation(1, 1));
    assert_true(allocation(0, 1) < allocation(1, 1));
    assert_true(allocation(1, 1) <= allocation(30, 1));
    /* a fixed cost does not shrink with an early failure */
    assert_true(allocation(30, 0.02) > allocation(1, 0.02));
  }
}

static void a_new_failure_cost_resets_the_cumulative_losses(void **state)
{
  (void)state;
  make_model(30);
  assert_true(model.evaluator.losses_count > 0 && ft_failure_cost_equals(&model, 1));
  ft_failure_cost_set(&model, 1);
  assert_true(model.evaluator.losses_count > 0);
  ft_failure_cost_set(&model, 4);
  assert_true(model.evaluator.losses_count == 0 && ft_failure_cost_equals(&model, 4));
  learn(100, 1000, false);
  assert_true(model.evaluator.losses_count > 0 && model.evaluator.failure_price == 4);
  ft_failure_cost_set(&model, 0);
  assert_true(ft_failure_cost_equals(&model, 0) && !ft_failure_cost_equals(&model, 1));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_time_to_failure_is_learned_from_failed_runs),
    cmocka_unit_test(a_failed_run_is_compared_with_runs_of_similar_peak),
    cmocka_unit_test(early_and_cheap_failures_lower_the_allocation),
    cmocka_unit_test(a_new_failure_cost_resets_the_cumulative_losses),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
