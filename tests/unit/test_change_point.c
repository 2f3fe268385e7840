/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Earlier runs of an app are discarded if later ones contradict them, and only then. */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/estimate/memory.h"
#include "predictor/online/online.h"
#include "tests/unit/simulate.h"

static struct ft_history history;

enum { BEFORE = 120 };

static ft_model model;
static struct ft_random random_;

static int start(void **state)
{
  (void)state;
  ft_random_seed(&random_, 11);
  ft_online_init(&model, &history, "app", 0, FT_RULE_RSS);
  return 0;
}

static double noise(void)
{
  return exp(0.05 * ft_random_normal(&random_));
}

static void learn_run(const char *arch, double batch, double bytes, bool killed)
{
  ft_observation o = { .schema = FT_SCHEMA,
                       .job_id = model.runs + (uint32_t)ft_random_below(&random_, 1 << 30),
                       .end_time = model.updated + 1,
                       .runtime_seconds = 60,
                       .outcome = killed ? FT_OUTCOME_OUT_OF_MEMORY : FT_OUTCOME_COMPLETED,
                       .censored = killed,
                       .has_rss_bytes = true,
                       .rss_bytes = (uint64_t)bytes };
  struct ft_error err = { "" };

  feature(&o, "cpus", 4);
  if (arch)
    category(&o, "arch", arch);
  if (batch > 0)
    feature(&o, "batch", batch);
  if (ft_online_update(&model, &history, &o, &err) < 0)
    fail_msg("%s", err.text);
}

static double any_batch(void)
{
  return 1 + (double)ft_random_below(&random_, 32);
}

static void usual_runs(unsigned count)
{
  for (unsigned i = 0; i < count; i++) {
    double batch = any_batch();

    learn_run(NULL, batch, (1 + 0.2 * batch) * GIB * noise(), false);
  }
}

static void five_runs_with_higher_peaks_are_a_change(void **state)
{
  (void)state;
  usual_runs(BEFORE);
  for (unsigned i = 0; i < 5; i++) {
    double batch = any_batch();

    learn_run(NULL, batch, (9 + 0.2 * batch) * GIB * noise(), false);
    assert_true(i == 4 || model.runs == BEFORE + i + 1);
  }
  for (unsigned i = 0; i < 5; i++) {
    double batch = any_batch();

    learn_run(NULL, batch, (9 + 0.2 * batch) * GIB * noise(), false);
  }
  /* the estimate counts only the new runs */
  assert_true(model.runs <= 10);
  assert_int_equal(model.completed, model.runs);
  assert_int_equal(history.count, model.runs);
}

static void lower_peaks_take_longer_to_be_a_change(void **state)
{
  (void)state;
  usual_runs(BEFORE);
  for (unsigned i = 0; i < 33; i++) {
    double batch = any_batch();

    learn_run(NULL, batch, 0.1 * (1 + 0.2 * batch) * GIB * noise(), false);
  }
  assert_int_equal(model.runs, BEFORE + 33);
  for (unsigned i = 0; i < 20; i++) {
    double batch = any_batch();

    learn_run(NULL, batch, 0.1 * (1 + 0.2 * batch) * GIB * noise(), false);
  }
  assert_true(model.runs <= 53);
}

static void other_inputs_are_no_change(void **state)
{
  (void)state;
  usual_runs(BEFORE);
  /* one input repeatedly; a larger one than before; two in alternation */
  for (unsigned i = 0; i < 30; i++)
    learn_run(NULL, 30, 7 * GIB * 1.1, false);
  for (unsigned i = 0; i < 30; i++)
    learn_run(NULL, 40 + i, (1 + 0.2 * (40 + i)) * GIB * noise(), false);
  for (unsigned i = 0; i < 15; i++)
    learn_run(NULL, i % 2 ? 1 : 32, (i % 2 ? 1.2 : 7.4) * GIB * noise(), false);
  assert_int_equal(model.runs, BEFORE + 75);
}

static void another_category_is_no_change(void **state)
{
  (void)state;
  for (unsigned i = 0; i < BEFORE; i++)
    learn_run(i % 2 ? "resnet18" : "resnet50", 0, (i % 2 ? 2 : 5) * GIB * noise(), false);
  for (unsigned i = 0; i < 20; i++)
    learn_run("vgg16", 0, 11 * GIB * noise(), false);
  assert_int_equal(model.runs, BEFORE + 20);
}

static void a_return_to_earlier_peaks_is_no_change(void **state)
{
  (void)state;
  /* in blocks of ten, and no feature explains it */
  for (unsigned i = 0; i < 180; i++)
    learn_run(NULL, 0, (i / 10 % 2 ? 6 : 2) * GIB * noise(), false);
  assert_int_equal(model.runs, 180);
}

static void noise_is_no_change(void **state)
{
  double (*const kinds[])(struct ft_random *, unsigned, ft_observation *) = { run_constant,
                                                                              run_linear, run_power,
                                                                              run_categories };

  (void)state;
  for (size_t k = 0; k < COUNT_OF(kinds); k++) {
    (void)start(NULL);
    for (unsigned i = 0; i < 400; i++) {
      ft_observation o = { .schema = FT_SCHEMA,
                           .job_id = i + 1,
                           .end_time = i + 1,
                           .runtime_seconds = 60,
                           .outcome = FT_OUTCOME_COMPLETED,
                           .has_rss_bytes = true };
      struct ft_error err = { "" };

      o.rss_bytes = (uint64_t)kinds[k](&random_, i, &o);
      assert_int_equal(ft_online_update(&model, &history, &o, &err), 1);
    }
    assert_int_equal(model.runs, 400);
  }
}

static void killed_runs_stay_with_the_runs_after_the_change(void **state)
{
  (void)state;
  usual_runs(BEFORE);
  for (unsigned i = 0; i < 12; i++) {
    double batch = any_batch();

    learn_run(NULL, batch, 8 * GIB, true);
    learn_run(NULL, batch, (9 + 0.2 * batch) * GIB * noise(), false);
  }
  assert_true(model.runs < 30);
  assert_true(model.completed >= 6);
  assert_int_equal(model.completed + model.censored, model.runs);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(five_runs_with_higher_peaks_are_a_change, start),
    cmocka_unit_test_setup(lower_peaks_take_longer_to_be_a_change, start),
    cmocka_unit_test_setup(other_inputs_are_no_change, start),
    cmocka_unit_test_setup(another_category_is_no_change, start),
    cmocka_unit_test_setup(a_return_to_earlier_peaks_is_no_change, start),
    cmocka_unit_test_setup(noise_is_no_change, start),
    cmocka_unit_test_setup(killed_runs_stay_with_the_runs_after_the_change, start),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
