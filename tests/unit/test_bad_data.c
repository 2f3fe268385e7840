/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wrong, duplicate, unordered or forged reports have bounded influence on the next request. */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/text.h"
#include "predictor/estimate/allocation.h"
#include "predictor/online/failure_cost.h"
#include "predictor/online/online.h"
#include "predictor/online/performance.h"
#include "predictor/record/model_file.h"
#include "tests/unit/simulate.h"

static struct ft_history history;

enum { ABROAD = 1000000 /* seconds that a wrong clock is ahead */ };

static ft_model model;
static uint32_t jobs;
static double price; /* failure cost */

static int start(void **state)
{
  (void)state;
  jobs = 0;
  price = 1;
  ft_online_init(&model, &history, "app", 0, FT_RULE_RSS);
  return 0;
}

/* A run of BATCH (negative: without) that ended at TIME. */
static ft_observation run_of(double batch, double time, double bytes)
{
  ft_observation o = { .schema = FT_SCHEMA,
                       .job_id = ++jobs,
                       .end_time = time,
                       .runtime_seconds = 60,
                       .outcome = FT_OUTCOME_COMPLETED,
                       .has_rss_bytes = true,
                       .rss_bytes = (uint64_t)bytes };

  feature(&o, "cpus", 4);
  if (batch >= 0)
    feature(&o, "batch", batch);
  return o;
}

static void learn(const ft_observation *o)
{
  struct ft_error err = { "" };

  if (ft_online_update(&model, &history, o, &err) < 0)
    fail_msg("%s", err.text);
}

static void learn_run(double batch, double bytes)
{
  ft_observation o = run_of(batch, jobs + 1.0, bytes);

  learn(&o);
}

static double amount(double batch)
{
  ft_observation o = run_of(batch, 0, 0);
  struct ft_estimate estimate;
  struct ft_error err;
  double bytes = 0;

  jobs--;
  if (ft_allocate_memory(&model, o.submission.features, o.submission.features_count, 0, price,
                         &estimate, &bytes, &err) < 0)
    fail_msg("%s", err.text);
  return bytes;
}

static double linear_peak(double batch)
{
  return (1 + 0.2 * batch) * GIB;
}

static void about(double value, double expected, double factor, const char *what)
{
  if (!(value > expected / factor && value < expected * factor))
    fail_msg("%s: %g, expected about %g", what, value, expected);
}

static void a_report_received_three_times_counts_once(void **state)
{
  static ft_model once;
  size_t once_count = 0;

  (void)state;
  for (int times = 1; times <= 3; times += 2) {
    struct ft_random random;

    ft_random_seed(&random, 4);
    (void)start(NULL);
    for (unsigned i = 0; i < 90; i++) {
      double batch = 1 + (double)ft_random_below(&random, 64);
      ft_observation o =
          run_of(batch, jobs + 1.0, linear_peak(batch) * exp(0.05 * ft_random_normal(&random)));

      for (int t = 0; t < times; t++)
        learn(&o);
    }
    if (times == 1) {
      once = model;
      once_count = history.count;
    }
  }
  assert_int_equal(model.runs, once.runs);
  assert_int_equal(model.completed, once.completed);
  assert_int_equal(history.count, once_count);
  assert_near(model.evaluator.loss_updates, once.evaluator.loss_updates, 1e-9);
  for (double batch = 1; batch <= 64; batch *= 2) {
    double thrice = amount(batch);
    static ft_model other;

    other = model;
    model = once;
    about(thrice, amount(batch), 1.03, "reported three times");
    model = other;
  }
}

static void absurd_reports_have_little_influence(void **state)
{
  static const struct {
    double batch, bytes, seconds, time;
  } absurd[] = {
    { 16, 1, 60, 0 },           { 16, 0x1p50, 60, 0 },       { 16, 4 * GIB, -1e9, 0 },
    { 16, 4 * GIB, 1e300, 0 },  { 16, 4 * GIB, NAN, 0 },     { -1, 900 * GIB, 60, 0 },
    { 1e300, GIB, 60, 0 },      { 16, 4 * GIB, 60, -1e300 }, { 16, 4 * GIB, 60, 1e300 },
    { 0, 500 * GIB, 1e9, NAN },
  };

  (void)state;
  for (size_t a = 0; a < COUNT_OF(absurd); a++) {
    double before;
    ft_observation o;

    (void)start(NULL);
    for (unsigned i = 0; i < 80; i++)
      learn_run(1 + i * 7 % 32, linear_peak(1 + i * 7 % 32));
    before = amount(20);
    o = run_of(absurd[a].batch, absurd[a].time == 0 ? jobs : absurd[a].time, absurd[a].bytes);
    o.runtime_seconds = absurd[a].seconds;
    learn(&o);
    about(amount(20), before, 1.25, "after an absurd report");
    for (unsigned i = 0; i < 5; i++)
      learn_run(1 + i * 7 % 32, linear_peak(1 + i * 7 % 32));
    about(amount(20), before, 1.25, "five runs later");
  }
}

static void learning_continues_after_a_clock_was_ahead(void **state)
{
  (void)state;
  for (unsigned i = 0; i < 250; i++) {
    ft_observation o = run_of(-1, ABROAD + i, GIB);

    learn(&o);
  }
  for (unsigned i = 0; i < 40; i++) {
    ft_observation o = run_of(-1, i, 6 * GIB);

    learn(&o);
    ft_online_clamp_times(&model, &history, i);
  }
  assert_true(model.updated <= 40);
  about(amount(-1), 6 * GIB, 1.2, "after the clock was put right");
}

static void a_clock_that_is_behind_has_little_influence(void **state)
{
  (void)state;
  for (unsigned i = 0; i < 250; i++)
    learn_run(-1, 4 * GIB * (1 + 0.01 * (i % 7)));
  for (unsigned i = 0; i < 50; i++) {
    ft_observation o = run_of(-1, i % 2 ? -1e9 : 0, GIB);

    learn(&o);
  }
  assert_int_equal(history.count, 200);
  about(amount(-1), 4.2 * GIB, 1.1, "beside runs of 1970");
}

static void run_times_are_learnt_after_a_clock_was_ahead(void **state)
{
  static ft_performance p;
  static struct ft_runtimes runs;

  (void)state;
  ft_performance_init(&p, &runs, "app", 0);
  for (unsigned i = 0; i < 160; i++) {
    ft_observation o = run_of(-1, i < 120 ? ABROAD + i : i, GIB);

    o.runtime_seconds = i < 120 ? 100 : 500;
    (void)ft_string_copy("here", o.platform, sizeof o.platform);
    assert_int_equal(ft_performance_update(&p, &runs, &o, NULL), 1);
    if (i >= 120)
      ft_performance_clamp_times(&p, &runs, i);
  }
  assert_near(runs.run[runs.count - 1].seconds, 500, 0);
  assert_near(runs.run[runs.count - 30].seconds, 500, 0);
  assert_true(p.updated <= 160);
}

static double falling(double batch)
{
  return 60 * GIB / (1 + 0.2 * batch);
}

static double turned(double batch)
{
  return linear_peak(33 - batch);
}

static double higher(double batch)
{
  return 7 * GIB + linear_peak(batch);
}

static double tenfold(double batch)
{
  return 10 * linear_peak(batch);
}

static double tenth(double batch)
{
  return 0.1 * linear_peak(batch);
}

static double constant_peak(double batch)
{
  (void)batch;
  return 3 * GIB;
}

/* The features stay, the program changes. Whatever the failure cost, five contradicting runs are
 * enough, and no request is far above the largest requirement. */
static void a_replaced_program_is_learnt_again_within_five_runs(void **state)
{
  static const struct {
    double (*before)(double), (*after)(double);
    const char *what;
  } nights[] = {
    { linear_peak, falling, "what needed more needs less" },
    { linear_peak, turned, "another slope" },
    { linear_peak, higher, "7 GiB more" },
    { linear_peak, tenfold, "ten times" },
    { linear_peak, tenth, "a tenth" },
    { linear_peak, constant_peak, "no slope any more" },
    { constant_peak, linear_peak, "a slope" },
  };
  static const double prices[] = { 1, 10, 100 };

  (void)state;
  for (size_t k = 0; k < COUNT_OF(nights) * COUNT_OF(prices); k++) {
    double (*before)(double) = nights[k / 3].before, (*after)(double) = nights[k / 3].after;
    double least = INFINITY, most = 0;
    unsigned late = 0, later = 0;
    struct ft_random random;

    (void)start(NULL);
    ft_random_seed(&random, k / 3);
    ft_failure_cost_set(&model, price = prices[k % 3]);
    for (unsigned i = 0; i < 210; i++) {
      double batch = 1 + i * 7 % 32;
      double need = (i < 150 ? before : after)(batch)*exp(0.05 * ft_random_normal(&random));
      double asked = i < 150 ? 0 : amount(batch);

      least = fmin(least, need);
      most = fmax(most, need);
      if (i >= 150 && !(asked >= 0.5 * least && asked < 2 * fmax(most, after(1))))
        fail_msg("%s, price %g: run %u needs %g, told %g", nights[k / 3].what, price, i - 150, need,
                 asked);
      late += i >= 150 && i < 170 && asked < need;
      later += i >= 170 && asked < need;
      learn_run(batch, need);
    }
    print_message("# %-28s price %3g: of 20 amounts %2u too small, of the next 40 %u\n",
                  nights[k / 3].what, price, late, later);
    assert_true(late <= 9);
    assert_true(later <= 4);
  }
}

static void a_users_forged_runs_hardly_affect_other_users(void **state)
{
  static const double lies[] = { 0, 1, 1e6, 1e30 };

  (void)state;
  for (size_t l = 0; l < COUNT_OF(lies); l++) {
    struct ft_random random;
    double before;

    ft_random_seed(&random, 8);
    (void)start(NULL);
    for (unsigned i = 0; i < 120; i++) {
      double batch = 1 + (double)ft_random_below(&random, 32);

      learn_run(batch, linear_peak(batch));
      /* one run in twelve reports a wrong batch */
      if (i % 12 == 5)
        learn_run(lies[l], linear_peak(1 + (double)ft_random_below(&random, 32)));
    }
    before = amount(24);
    about(before, linear_peak(24), 1.35, "beside a liar");
  }
}

/* False features of one submission give a finite request of at most 1 PiB. */
static void false_features_give_a_bounded_request(void **state)
{
  static const double lies[] = { 0, 1e-300, 1e6, 1e30, 1e300, -5e9 };

  (void)state;
  for (unsigned i = 0; i < 120; i++)
    learn_run(1 + i * 7 % 32, linear_peak(1 + i * 7 % 32));
  for (size_t l = 0; l < COUNT_OF(lies); l++) {
    double bytes = amount(lies[l]);

    if (!(bytes > 0.01 * GIB && bytes <= 0x1p51))
      fail_msg("batch=%g: %g bytes", lies[l], bytes);
  }
}

/* The model has a fixed maximum size, also as a file, after ten thousand runs. */
static void the_model_of_an_app_is_bounded(void **state)
{
  struct ft_random random;
  struct ft_buf buf;
  struct ft_error err;
  char name[48];

  (void)state;
  ft_random_seed(&random, 2);
  for (unsigned i = 0; i < 2000; i++) {
    ft_observation o = run_of((double)ft_random_below(&random, 1000), i,
                              1e6 * (double)(1 + ft_random_below(&random, 1000000)));

    for (unsigned j = 0; j < 16; j++) {
      (void)snprintf(name, sizeof name, "f%u", (unsigned)ft_random_below(&random, 200));
      if (j % 2)
        feature(&o, name, (double)ft_random_below(&random, 1 << 20));
      else
        category(&o, name, name + ft_random_below(&random, 2));
    }
    learn(&o);
  }
  assert_int_equal(history.count, 200);
  ft_buf_init(&buf, FT_LIMIT_RECORD);
  assert_int_equal(
      ft_model_file_encode((const ft_model *const[]){ &model }, 1, &history, &buf, &err), 0);
  print_message("# 2,000 runs of any features: %zu bytes in a file\n", buf.length);
  assert_true(buf.length < sizeof model + sizeof history);
  ft_buf_free(&buf);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(a_report_received_three_times_counts_once, start),
    cmocka_unit_test_setup(absurd_reports_have_little_influence, start),
    cmocka_unit_test_setup(learning_continues_after_a_clock_was_ahead, start),
    cmocka_unit_test_setup(a_clock_that_is_behind_has_little_influence, start),
    cmocka_unit_test_setup(run_times_are_learnt_after_a_clock_was_ahead, start),
    cmocka_unit_test_setup(a_replaced_program_is_learnt_again_within_five_runs, start),
    cmocka_unit_test_setup(a_users_forged_runs_hardly_affect_other_users, start),
    cmocka_unit_test_setup(false_features_give_a_bounded_request, start),
    cmocka_unit_test_setup(the_model_of_an_app_is_bounded, start),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
