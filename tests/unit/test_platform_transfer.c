/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/random.h"
#include "predictor/core/text.h"
#include "predictor/estimate/run_features.h"
#include "predictor/online/performance.h"
#include "predictor/online/platform_transfer.h"

enum { APPS = 40 };

static ft_performance app;
static struct ft_runtimes app_runs;

/* Learns O, whose relevant fields the test sets, as a completed run on PLATFORM. */
static void play(ft_observation *o, unsigned *job, const char *platform)
{
  o->schema = FT_SCHEMA;
  o->job_id = ++*job;
  o->end_time = 1000.0 + *job;
  o->outcome = FT_OUTCOME_COMPLETED;
  o->rule = FT_RULE_RSS;
  o->has_rss_bytes = true;
  o->rss_bytes = 1 << 20;
  (void)ft_string_copy(platform, o->platform, sizeof o->platform);
  assert_int_equal(ft_performance_update(&app, &app_runs, o, NULL), 1);
}

/* COUNT runs on PLATFORM of an app that uses CORES. "one" is as fast as "two" with one core and
 * half as fast with two; "slow" takes twice as long as "two". */
static void learn_runs(unsigned *job, const char *platform, double cores, unsigned count)
{
  double seconds = platform[0] == 'o' ? 4 * cores : platform[0] == 's' ? 8 : 4;
  ft_observation *o = calloc(1, sizeof *o);

  assert_non_null(o);
  for (unsigned i = 0; i < count; i++) {
    *o = (ft_observation){ .runtime_seconds = seconds * (1 + 0.01 * (i % 3)),
                           .has_cpu_seconds = true };
    o->cpu_seconds = o->runtime_seconds * (platform[0] == 'o' ? 1 : cores);
    play(o, job, platform);
  }
  free(o);
}

static void make_app(unsigned number)
{
  char name[16];

  (void)snprintf(name, sizeof name, "app%u", number);
  ft_performance_init(&app, &app_runs, name, 7);
}

static double cores_of(unsigned number)
{
  return 1 + (number % 8) / 7.0;
}

static void learn(struct ft_relative_model *m)
{
  struct ft_relative_settings settings = {
    .trees = 20, .learners = 1u << FT_LEARNER_FOREST | 1u << FT_LEARNER_RIDGE, .seed = 1
  };
  struct ft_relative_table t = { 0 };
  struct ft_error err;

  for (unsigned a = 0; a < APPS; a++) {
    unsigned job = 100 * a;

    make_app(a);
    learn_runs(&job, "two", cores_of(a), 3);
    learn_runs(&job, "one", cores_of(a), 2);
    if (a % 4 == 0)
      learn_runs(&job, "slow", cores_of(a), 1);
    assert_int_equal(ft_platform_transfer_add(&t, &app, &app_runs, &err), 0);
  }
  assert_int_equal(t.rows, APPS);
  assert_int_equal(t.platforms, 3);
  assert_near(t.seconds[1], 4 * cores_of(0), 0.05);
  assert_true(isnan(t.seconds[1 * 3 + 2]));
  settings.from = ft_relative_source(&t, NULL, &err);
  assert_int_equal(ft_relative_learn(&t, NULL, &settings, m, &err), 0);
  ft_relative_table_free(&t);
}

static const ft_platform_runs *place(const char *platform)
{
  for (size_t i = 0; i < app.platforms_count; i++)
    if (strcmp(app.platforms[i].platform, platform) == 0)
      return &app.platforms[i];
  return NULL;
}

static void counters_predict_the_run_time_on_other_platforms(void **state)
{
  struct ft_relative_model m;
  unsigned job = 0;

  (void)state;
  learn(&m);
  for (int cores = 1; cores <= 2; cores++) {
    make_app(999);
    learn_runs(&job, "two", cores, 3);
    assert_int_equal(ft_platform_transfer_estimate(&m, &app, &app_runs, NULL), 2);
    assert_near(exp(place("one")->log_ratio), cores, 0.15);
    assert_near(exp(place("slow")->log_ratio), 2, 0.15);
    assert_true(place("one")->deviation > 0 && place("one")->runs == 0);
  }
  /* from a platform that is not the model's reference */
  make_app(999);
  learn_runs(&job, "slow", 1, 3);
  assert_int_equal(ft_platform_transfer_estimate(&m, &app, &app_runs, NULL), 2);
  assert_near(exp(place("two")->log_ratio), 0.5, 0.2);
  ft_relative_model_free(&m);
}

static void runs_on_a_platform_correct_its_transferred_estimate(void **state)
{
  struct ft_relative_model m;
  unsigned job = 0;
  double told;

  (void)state;
  learn(&m);
  make_app(999);
  learn_runs(&job, "two", 1.5, 3);
  assert_int_equal(ft_platform_transfer_estimate(&m, &app, &app_runs, NULL), 2);
  told = place("one")->log_ratio;
  learn_runs(&job, "one", 3, 1); /* 12 s, which no model could predict */
  assert_true(place("one")->log_ratio > told && place("one")->log_ratio < log(3));
  learn_runs(&job, "two", 1.5, 20);
  learn_runs(&job, "one", 3, 20);
  assert_near(exp(place("one")->log_ratio), 3, 0.1);
  ft_relative_model_free(&m);
}

static void a_platform_unknown_to_the_model_has_no_estimate(void **state)
{
  struct ft_relative_model m;
  unsigned job = 0;

  (void)state;
  learn(&m);
  make_app(999);
  learn_runs(&job, "two", 1, 2);
  assert_int_equal(ft_platform_transfer_estimate(&m, &app, &app_runs, NULL), 2);
  /* renamed: its runs belong to a new platform of unknown speed */
  make_app(999);
  learn_runs(&job, "deux", 1, 2);
  assert_int_equal(ft_platform_transfer_estimate(&m, &app, &app_runs, NULL), 0);
  assert_int_equal(app.platforms_count, 1);
  ft_relative_model_free(&m);
}

static void one_platform_alone_teaches_nothing(void **state)
{
  struct ft_relative_table t = { 0 };
  unsigned job = 0;

  (void)state;
  make_app(1);
  learn_runs(&job, "two", 1, 5);
  assert_int_equal(ft_platform_transfer_add(&t, &app, &app_runs, NULL), 0);
  assert_int_equal(t.rows, 0);
  ft_relative_table_free(&t);
}

/* COUNT runs of an app with a share RATIO of branch instructions, measured only on nodes with
 * counters: "one" takes 1 + 5 RATIO times as long as "two". */
static void run_branching(unsigned *job, const char *platform, double ratio, bool counted,
                          unsigned count)
{
  ft_observation *o = calloc(1, sizeof *o);

  assert_non_null(o);
  for (unsigned i = 0; i < count; i++) {
    *o = (ft_observation){ .runtime_seconds = 4 * (platform[0] == 'o' ? 1 + 5 * ratio : 1),
                           .counters_count = counted ? 2 : 0,
                           .counters = { { "PAPI_TOT_INS", 1e10 },
                                         { "PAPI_BR_INS", 1e10 * ratio } } };
    play(o, job, platform);
  }
  free(o);
}

/* Half of the apps have no counters, and no node of "one" has any. */
static void counters_absent_in_half_of_the_records_are_missing_not_0(void **state)
{
  struct ft_relative_settings settings = {
    .trees = 50, .learners = 1u << FT_LEARNER_FOREST | 1u << FT_LEARNER_RIDGE, .seed = 1
  };
  struct ft_relative_table t = { 0 };
  struct ft_relative_model m;
  struct ft_error err;
  double sure = 0;
  unsigned job = 0;

  (void)state;
  for (unsigned a = 0; a < 2 * APPS; a++) {
    double ratio = 0.04 + 0.02 * (a / 2 % 10);

    job = 100 * a;
    make_app(a);
    run_branching(&job, "two", ratio, a % 2, 3);
    run_branching(&job, "one", ratio, false, 2);
    assert_int_equal(ft_platform_transfer_add(&t, &app, &app_runs, &err), 0);
  }
  settings.from = ft_relative_source(&t, "two", &err);
  assert_int_equal(ft_relative_learn(&t, NULL, &settings, &m, &err), 0);
  ft_relative_table_free(&t);
  for (int i = 0; i < 2; i++) {
    double ratio = i ? 0.2 : 0.06;

    make_app(999);
    run_branching(&job, "two", ratio, true, 3);
    assert_int_equal(ft_platform_transfer_estimate(&m, &app, &app_runs, NULL), 1);
    assert_near(exp(place("one")->log_ratio), 1 + 5 * ratio, 0.2);
    sure = place("one")->deviation;
  }
  /* an app without counters gets the site-wide average of 1.65, not 1 as without branches */
  make_app(999);
  run_branching(&job, "two", 0.2, false, 3);
  assert_int_equal(ft_platform_transfer_estimate(&m, &app, &app_runs, NULL), 1);
  assert_near(exp(place("one")->log_ratio), 1.65, 0.2);
  assert_true(place("one")->deviation >= sure);
  ft_relative_model_free(&m);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(counters_predict_the_run_time_on_other_platforms),
    cmocka_unit_test(runs_on_a_platform_correct_its_transferred_estimate),
    cmocka_unit_test(a_platform_unknown_to_the_model_has_no_estimate),
    cmocka_unit_test(counters_absent_in_half_of_the_records_are_missing_not_0),
    cmocka_unit_test(one_platform_alone_teaches_nothing)
  };

  return cmocka_run_group_tests_name("transfer", tests, NULL, NULL);
}
