/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/random.h"
#include "predictor/core/text.h"
#include "predictor/estimate/quantity.h"
#include "predictor/estimate/run_features.h"
#include "predictor/estimate/runtime.h"
#include "predictor/online/performance.h"

static ft_observation make_run(unsigned job, const char *platform, double n, double seconds)
{
  ft_observation o = { .schema = FT_SCHEMA,
                       .job_id = job,
                       .end_time = 1000.0 + job,
                       .outcome = FT_OUTCOME_COMPLETED,
                       .rule = FT_RULE_RSS,
                       .has_rss_bytes = true,
                       .rss_bytes = 1 << 20,
                       .runtime_seconds = seconds,
                       .submission.features_count = 1,
                       .submission.features = {
                           { .name = "n", .has_number = true, .number = n } } };

  (void)ft_string_copy(platform, o.platform, sizeof o.platform);
  return o;
}

/* 2 s plus half a second per unit of n on "slow"; a third of it on "fast"; 1 % noise. */
static double law(const char *platform, double n, struct ft_random *random)
{
  double seconds = (2 + 0.5 * n) * exp(0.01 * ft_random_normal(random));

  return platform[0] == 'f' ? seconds / 3 : seconds;
}

struct app_times {
  ft_performance performance;
  struct ft_runtimes runs;
};

static struct app_times *learnt(unsigned runs, unsigned seed)
{
  struct app_times *p = malloc(sizeof *p);
  struct ft_random random;

  assert_non_null(p);
  ft_random_seed(&random, seed);
  ft_performance_init(&p->performance, &p->runs, "app", 7);
  for (unsigned i = 0; i < runs; i++) {
    const char *platform = i % 3 == 2 ? "fast" : "slow";
    double n = 1 + 10 * ft_random_double(&random);
    ft_observation o = make_run(i, platform, n, law(platform, n, &random));

    assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
  }
  return p;
}

static void a_run_keeps_what_it_had_of_each_quantity(void **state)
{
  struct app_times *p = learnt(2, 5);
  ft_observation o = make_run(2, "slow", 3, 3.5);
  const float *values = p->runs.run[2].values;

  (void)state;
  o.has_gpu_memory_bytes = true;
  o.gpu_memory_bytes = 4 << 20;
  o.submission.request.gpus_per_node = 2;
  assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
  assert_int_equal(p->runs.run[1].values_count, FT_QUANTITIES);
  assert_float_equal(p->runs.run[1].values[FT_QUANTITY_GPU_MEMORY], 0, 0);
  assert_float_equal(values[FT_QUANTITY_MEMORY], 0x1p20F, 0);
  assert_float_equal(values[FT_QUANTITY_GPU_MEMORY], 0x1p21F, 0);
  assert_float_equal(values[FT_QUANTITY_RUNTIME], 3.5, 1e-6);
  free(p);
}

/* Counters of the first 20 runs and of one in 50 give the means that those of all runs give. */
static void runs_without_counters_lose_no_feature(void **state)
{
  struct app_times *all = learnt(0, 1), *few = learnt(0, 1);
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 4);
  for (unsigned i = 0; i < 400; i++) {
    ft_observation o = make_run(i, "slow", 3, 3);

    o.counters_count = 2;
    (void)ft_string_copy("instructions", o.counters[0].name, sizeof o.counters[0].name);
    (void)ft_string_copy("branches", o.counters[1].name, sizeof o.counters[1].name);
    o.counters[0].value = 1e9;
    o.counters[1].value = 1e8 * (1 + 0.1 * ft_random_double(&random));
    assert_int_equal(ft_performance_update(&all->performance, &all->runs, &o, NULL), 1);
    if (i >= 20 && i % 50)
      o.counters_count = 0;
    assert_int_equal(ft_performance_update(&few->performance, &few->runs, &o, NULL), 1);
  }
  for (size_t c = 0; c < FT_RUN_FEATURES; c++) {
    double sum[2] = { 0 };

    for (size_t i = 0; i < all->runs.count; i++) {
      assert_int_equal(isnan(all->runs.run[i].run_features[c]),
                       isnan(few->runs.run[i].run_features[c]));
      sum[0] += (double)all->runs.run[i].run_features[c];
      sum[1] += (double)few->runs.run[i].run_features[c];
    }
    if (!isnan(sum[0]))
      assert_near(sum[1], sum[0], 0.02);
  }
  free(all);
  free(few);
}

/* A run that failed, had no energy, or one that a counter set back made negative, changes nothing.
 */
static void the_power_of_a_platform_is_that_of_its_measured_runs(void **state)
{
  struct app_times *p = malloc(sizeof *p);

  (void)state;
  assert_non_null(p);
  ft_performance_init(&p->performance, &p->runs, "a", 0);
  for (unsigned i = 0; i < 12; i++) {
    ft_observation o = make_run(i, i % 2 ? "fast" : "slow", 1, 10 + i);

    o.has_package_energy_joules = o.has_package_energy_share = i < 6;
    o.package_energy_joules = (i % 2 ? 400 : 100) * o.runtime_seconds;
    o.package_energy_share = 0.5;
    o.has_gpu_energy_joules = i > 8;
    o.gpu_energy_joules = -50;
    if (i == 5)
      o.outcome = FT_OUTCOME_FAILED;
    (void)ft_performance_update(&p->performance, &p->runs, &o, NULL);
  }
  assert_string_equal(p->performance.platforms[0].platform, "slow");
  assert_int_equal(p->performance.platforms[0].energy_runs, 3);
  assert_near(p->performance.platforms[0].watts, 50, 1e-4);
  assert_int_equal(p->performance.platforms[1].energy_runs, 2);
  assert_near(p->performance.platforms[1].watts, 200, 1e-3);
  assert_true(p->performance.platforms[0].watts_deviation > 0);
  free(p);
}

static void run_time_and_ratio_are_found(void **state)
{
  struct app_times *p = learnt(60, 3);
  ft_feature n = { .name = "n", .has_number = true, .number = 6 };
  struct ft_platform_runtime place[FT_RUNTIME_PLATFORMS];

  (void)state;
  assert_int_equal(ft_runtime_estimate(&p->performance, &n, 1, place), 2);
  assert_string_equal(place[0].platform, "slow");
  assert_int_equal(place[0].runs, 40);
  assert_int_equal(place[1].runs, 20);
  assert_near(place[0].seconds.quantile[5], 5, 0.02);
  assert_near(place[1].seconds.quantile[5], 5.0 / 3, 0.03);
  assert_near(place[1].speed, 3, 0.02);
  assert_true(place[1].speed_p05 < 3 && place[1].speed_p95 > 3);
  free(p);
}

/* A run time of two or more features: RUNS small ones predict a larger one. */
struct time_law {
  const char *name;
  double (*seconds)(const double x[3]);
  unsigned runs;
  double small[3][4], large[3]; /* values of the features */
  double error;                 /* largest relative one */
};

static double paper_form(const double x[3])
{
  return 0.05 * x[0] * x[1] + 0.02 * x[1] + 0.1 * x[0] + 5;
}

static double scaling_law(const double x[3])
{
  return 4 + 30 * x[0] / x[1] + 0.1 * x[1];
}

static double three_numbers(const double x[3])
{
  return 10 + 0.2 * x[0] * x[1] / x[2];
}

static const struct time_law laws[] = {
  { "affine in each of two",
    paper_form,
    6,
    { { 1, 2, 8, 16 }, { 20, 50, 100, 150 } },
    { 64, 2300 },
    0.1 },
  { "affine in each of two",
    paper_form,
    20,
    { { 1, 2, 8, 16 }, { 20, 50, 100, 150 } },
    { 64, 2300 },
    0.05 },
  { "processors", scaling_law, 24, { { 1, 2, 4, 8 }, { 1, 4, 16, 64 } }, { 32, 16 }, 0.1 },
  { "three numbers",
    three_numbers,
    40,
    { { 1, 2, 4, 8 }, { 10, 20, 50, 80 }, { 1, 2, 4, 8 } },
    { 64, 640, 2 },
    0.1 },
};

static void fill_law_features(const double x[3], ft_feature features[3])
{
  static const char *const names[] = { "a", "b", "c" };

  for (size_t j = 0; j < 3; j++) {
    features[j] = (ft_feature){ .has_number = true, .number = x[j] };
    (void)ft_string_copy(names[j], features[j].name, sizeof features[j].name);
  }
}

static void small_runs_extrapolate_products_of_features(void **state)
{
  struct ft_platform_runtime place[FT_RUNTIME_PLATFORMS];

  (void)state;
  for (size_t k = 0; k < sizeof laws / sizeof *laws; k++) {
    struct app_times *p = learnt(0, 1);
    ft_feature features[3];
    struct ft_random random;
    double truth = laws[k].seconds(laws[k].large);

    ft_random_seed(&random, 11 + k);
    for (unsigned i = 0; i < laws[k].runs; i++) {
      double x[3] = { laws[k].small[0][i % 4], laws[k].small[1][(i + i / 4) % 4],
                      laws[k].small[2][(i / 2 + i / 16) % 4] };
      ft_observation o = make_run(i, "slow", 0, 0);

      o.submission.features_count = 3;
      fill_law_features(x, o.submission.features);
      o.runtime_seconds = laws[k].seconds(x) * exp(0.02 * ft_random_normal(&random));
      assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
    }
    fill_law_features(laws[k].large, features);
    assert_int_equal(ft_runtime_estimate(&p->performance, features, 3, place), 1);
    if (!(fabs(ft_estimate_quantile(&place[0].seconds, 0.5) / truth - 1) < laws[k].error) ||
        !(ft_estimate_quantile(&place[0].seconds, 0.05) <= truth &&
          truth <= ft_estimate_quantile(&place[0].seconds, 0.95)))
      fail_msg("%s, %u runs: %g from %g to %g, not %g", laws[k].name, laws[k].runs,
               ft_estimate_quantile(&place[0].seconds, 0.5),
               ft_estimate_quantile(&place[0].seconds, 0.05),
               ft_estimate_quantile(&place[0].seconds, 0.95), truth);
    free(p);
  }
}

/* A job of 371 s, once of 435, that takes 330 from a day on, by 0.2 %. */
static void a_change_of_the_run_time_is_taken_up_within_three_runs(void **state)
{
  struct ft_platform_runtime place[FT_RUNTIME_PLATFORMS];

  (void)state;
  for (unsigned before = 5; before <= 80; before += 15) {
    struct app_times *p = learnt(0, 1);
    struct ft_random random;

    ft_random_seed(&random, before);
    for (unsigned i = 0; i < before + 3; i++) {
      double level = i == 2 ? 435 : i < before ? 371 : 330;
      ft_observation o = make_run(i, "node", 1, level * exp(0.002 * ft_random_normal(&random)));

      assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
    }
    assert_int_equal(ft_runtime_estimate(&p->performance, NULL, 0, place), 1);
    assert_near(ft_estimate_quantile(&place[0].seconds, 0.5), 330, 0.01);
    free(p);
  }
}

/* A job that varies by SPREAD, and in a fraction OUTLIERS of its runs takes a quarter longer. */
static double repeated_job(struct ft_random *random, double spread, double outliers)
{
  double late = ft_random_double(random) < outliers ? 0.25 : 0;

  return 300 * exp(spread * ft_random_normal(random) + late);
}

static void the_interval_of_a_repeated_job_holds_90_percent(void **state)
{
  static const struct {
    double spread, outliers;
  } jobs[] = { { 0.004, 0 }, { 0.01, 0 }, { 0.05, 0 }, { 0.004, 0.04 }, { 0.01, 0.1 } };
  enum { ORDERS = 20, FIRST = 10, RUNS = 103 };

  (void)state;
  for (size_t k = 0; k < sizeof jobs / sizeof *jobs; k++) {
    unsigned within = 0;
    double part;

    for (unsigned seed = 0; seed < ORDERS; seed++) {
      struct app_times *p = learnt(0, 0);
      struct ft_random random;

      ft_random_seed(&random, seed);
      for (unsigned i = 0; i < RUNS; i++) {
        struct ft_platform_runtime times[FT_RUNTIME_PLATFORMS];
        double seconds = repeated_job(&random, jobs[k].spread, jobs[k].outliers);
        ft_observation o = make_run(i, "slow", 1, seconds);

        o.submit_time = o.end_time - 0.5;
        if (i >= FIRST) {
          assert_int_equal(ft_runtime_estimate(&p->performance, o.submission.features, 1, times),
                           1);
          within += seconds >= ft_estimate_quantile(&times[0].seconds, 0.05) &&
                    seconds <= ft_estimate_quantile(&times[0].seconds, 0.95);
        }
        assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
      }
      free(p);
    }
    part = within / (double)(ORDERS * (RUNS - FIRST));
    print_message("# spread %g, outliers %g: 90 %% interval holds %.1f %%\n", jobs[k].spread,
                  jobs[k].outliers, 100 * part);
    if (!(part >= 0.88 && part <= 0.92))
      fail_msg("spread %g: %g", jobs[k].spread, part);
  }
}

/* Ten numbers that each matter a little. */
static void many_weak_numbers_make_a_power_law(void **state)
{
  enum { NUMBERS = 10, RUNS = 60, TESTS = 40 };
  struct ft_platform_runtime place[FT_RUNTIME_PLATFORMS];
  struct app_times *p = learnt(0, 1);
  struct ft_random random;
  double error = 0;

  (void)state;
  ft_random_seed(&random, 5);
  for (unsigned i = 0; i < RUNS + TESTS; i++) {
    ft_observation o = make_run(i, "slow", 0, 10);

    o.submission.features_count = NUMBERS;
    for (size_t j = 0; j < NUMBERS; j++) {
      ft_feature *f = &o.submission.features[j];

      *f = (ft_feature){ .has_number = true, .number = exp(3 * ft_random_double(&random)) };
      (void)snprintf(f->name, sizeof f->name, "n%zu", j);
      o.runtime_seconds *= pow(1 + f->number, j % 2 ? -0.3 : 0.4);
    }
    if (i < RUNS) {
      o.runtime_seconds *= exp(0.05 * ft_random_normal(&random));
      assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
      continue;
    }
    assert_int_equal(ft_runtime_estimate(&p->performance, o.submission.features, NUMBERS, place),
                     1);
    error += fabs(log(ft_estimate_quantile(&place[0].seconds, 0.5) / o.runtime_seconds)) / TESTS;
  }
  assert_in_range((unsigned)(1000 * error), 0, 60);
  free(p);
}

static void the_memory_of_a_run_does_not_change_its_time(void **state)
{
  struct app_times *p = malloc(sizeof *p);

  (void)state;
  assert_non_null(p);
  ft_performance_init(&p->performance, &p->runs, "app", 7);
  for (unsigned i = 0; i < 4; i++) {
    ft_observation o = make_run(i, "slow", 1, 2);

    o.has_largest_process_bytes = true;
    o.largest_process_bytes = 100 << 20; /* in microseconds 105 s */
    assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
  }
  for (size_t i = 0; i < p->performance.runtime_model.residuals_count; i++)
    assert_true(fabs(p->performance.runtime_model.residuals[i]) < 0.01);
  free(p);
}

static void only_runs_with_a_run_time_count(void **state)
{
  struct app_times *p = learnt(10, 1);
  ft_observation o = make_run(50, "slow", 5, 0);

  (void)state;
  assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 0);
  o = make_run(50, "slow", 5, 4);
  o.outcome = FT_OUTCOME_FAILED;
  assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 0);
  o.outcome = FT_OUTCOME_REQUEUED;
  assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 0);
  o = make_run(50, "slow", 5, 1e12);
  assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 0);
  assert_int_equal(p->runs.count, 10);
  free(p);
}

/* A run that its time limit stopped, or a cancelled one, bounds the run time from below. */
static void a_run_that_stopped_is_a_lower_bound(void **state)
{
  static const struct {
    ft_outcome outcome;
    double seconds, killed, bound; /* of comparable runs */
  } cases[] = { { FT_OUTCOME_TIMEOUT, 20, 20, 24 },
                { FT_OUTCOME_CANCELLED, 20, 0, 20 },
                { FT_OUTCOME_OUT_OF_MEMORY, 20, 0, 20 } };
  ft_submission s = { .app = "app", .features_count = 1 };
  struct ft_task_list none = { .count = 0 };
  struct ft_job_time *time = malloc(sizeof *time);

  (void)state;
  assert_non_null(time);
  s.features[0] = (ft_feature){ .name = "n", .has_number = true, .number = 6 };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct app_times *p = learnt(20, 1);
    ft_observation o = make_run(50, "slow", 6, cases[i].seconds);

    o.outcome = cases[i].outcome;
    o.censored = true;
    assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
    assert_int_equal(p->performance.runs, 20);
    assert_int_equal(p->performance.platforms[0].runs, 14);
    ft_job_time_estimate(&p->performance, NULL, &s, &none, time);
    assert_string_equal(time->platform, "slow");
    assert_near(time->facts.comparable_killed_value, cases[i].killed, 1e-3);
    assert_near(time->facts.comparable_bound_value, cases[i].bound, 1e-3);
    assert_true(time->facts.comparable_peak_value > 4 && time->facts.comparable_peak_value < 7);
    assert_near(ft_estimate_quantile(ft_job_time_longest(time), 0.5), 5, 0.3);
    /* the same run again, completed */
    o = make_run(50, "slow", 6, 5);
    assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
    assert_int_equal(p->performance.runs, 21);
    free(p);
  }
  free(time);
}

/* Nothing is known but the limits that its runs passed. */
static void an_app_that_only_timed_out_has_a_lower_bound(void **state)
{
  struct app_times *p = learnt(0, 1);
  ft_submission s = { .app = "app", .features_count = 1 };
  struct ft_task_list none = { .count = 0 };
  struct ft_job_time *time = malloc(sizeof *time);

  (void)state;
  assert_non_null(time);
  s.features[0] = (ft_feature){ .name = "n", .has_number = true, .number = 6 };
  for (unsigned i = 0; i < 2; i++) {
    ft_observation o = make_run(i, "slow", 6, 300);

    o.outcome = FT_OUTCOME_TIMEOUT;
    o.censored = true;
    assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
  }
  ft_job_time_estimate(&p->performance, NULL, &s, &none, time);
  assert_null(ft_job_time_longest(time));
  assert_int_equal(time->runs, 0);
  assert_int_equal(time->facts.runs, 2);
  assert_near(time->facts.comparable_killed_value, 300, 1e-3);
  free(time);
  free(p);
}

/* Imported runs have no platform: the estimate is that of their own. */
static void runs_without_a_platform_count(void **state)
{
  struct app_times *p = calloc(1, sizeof *p);
  ft_submission s = { .app = "app" };
  ft_partition partition = { .nodes_count = 1, .nodes[0].platform = "slow" };
  struct ft_task_list none = { .count = 0 };
  struct ft_job_time *time = malloc(sizeof *time);

  (void)state;
  assert_true(p && time);
  ft_performance_init(&p->performance, &p->runs, "app", 7);
  for (unsigned i = 0; i < 6; i++) {
    ft_observation o = make_run(i, "", 1, 60);

    o.censored = i == 0; /* only the largest task's memory was measured */
    assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
  }
  assert_int_equal(p->performance.runs, 6);
  ft_job_time_estimate(&p->performance, &partition, &s, &none, time);
  assert_string_equal(time->platform, FT_PLATFORM_UNKNOWN);
  assert_false(time->elsewhere);
  assert_near(ft_estimate_quantile(ft_job_time_longest(time), 0.5), 60, 1);
  free(time);
  free(p);
}

static void a_later_record_of_a_run_replaces_it(void **state)
{
  struct app_times *p = learnt(10, 1);
  ft_observation o = make_run(4, "slow", 5, 4.5);

  (void)state;
  assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
  assert_int_equal(p->runs.count, 10);
  assert_int_equal(p->performance.platforms[0].runs + p->performance.platforms[1].runs, 10);
  free(p);
}

/* Records arrive late and in any order; none is lost, the last hundred stay. */
static void runs_stay_in_order_of_time(void **state)
{
  struct app_times *p = malloc(sizeof *p);

  (void)state;
  assert_non_null(p);
  ft_performance_init(&p->performance, &p->runs, "app", 7);
  for (unsigned i = 0; i < 150; i++) {
    ft_observation o = make_run(i * 67 % 150, i % 2 ? "a" : "b", 1, 2 + i % 5);

    assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
  }
  assert_int_equal(p->runs.count, 100);
  for (unsigned i = 1; i < 100; i++)
    assert_true(p->runs.run[i].time > p->runs.run[i - 1].time);
  free(p);
}

static void an_absurd_time_has_little_influence(void **state)
{
  struct app_times *p = learnt(60, 3);
  ft_feature n = { .name = "n", .has_number = true, .number = 6 };
  struct ft_platform_runtime place[FT_RUNTIME_PLATFORMS];
  ft_observation o = make_run(1000, "fast", 6, 1e6);

  (void)state;
  assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
  (void)ft_runtime_estimate(&p->performance, &n, 1, place);
  assert_near(place[0].seconds.quantile[5], 5, 0.05);
  assert_near(place[1].speed, 3, 0.05);
  free(p);
}

static void transferred_estimates_give_way_to_runs(void **state)
{
  struct app_times *p = learnt(60, 3);
  struct ft_platform_runtime place[FT_RUNTIME_PLATFORMS];

  (void)state;
  ft_performance_set_transfer(&p->performance, &p->runs, "new", log(0.5), 0.3);
  ft_performance_set_transfer(&p->performance, &p->runs, "fast", log(2), 0.3);
  ft_performance_set_transfer(&p->performance, &p->runs, "slow", log(9), 0.3);
  assert_int_equal(ft_runtime_estimate(&p->performance, NULL, 0, place), 3);
  assert_near(place[0].speed, 1, 1e-9);
  assert_near(place[1].speed, 3, 0.05);
  assert_string_equal(place[2].platform, "new");
  assert_int_equal(place[2].runs, 0);
  assert_near(place[2].speed, 2, 1e-9);
  free(p);
}

static void transferred_estimates_stay_until_they_are_removed(void **state)
{
  struct app_times *p = learnt(60, 3);
  ft_observation o = make_run(1000, "slow", 6, 5);

  (void)state;
  ft_performance_set_transfer(&p->performance, &p->runs, "new", log(0.5), 0.3);
  assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
  assert_int_equal(p->performance.platforms_count, 3);
  assert_near(p->performance.platforms[2].log_ratio, log(0.5), 1e-9);
  o = make_run(1001, "new", 6, 5 * 0.3);
  assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
  assert_true(p->performance.platforms[2].log_ratio < log(0.45) &&
              p->performance.platforms[2].log_ratio > log(0.29));
  ft_performance_clear_transfers(&p->performance, &p->runs);
  assert_near(p->performance.platforms[2].log_ratio, log(0.3), 0.05);
  ft_performance_set_transfer(&p->performance, &p->runs, "gone", log(0.5), 0.3);
  assert_int_equal(p->performance.platforms_count, 4);
  ft_performance_clear_transfers(&p->performance, &p->runs);
  assert_int_equal(p->performance.platforms_count, 3);
  free(p);
}

static void the_platform_with_most_runs_becomes_the_first(void **state)
{
  struct app_times *p = learnt(6, 3);
  struct ft_platform_runtime place[FT_RUNTIME_PLATFORMS];
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 9);
  for (unsigned i = 0; i < 20; i++) {
    double n = 1 + 10 * ft_random_double(&random);
    ft_observation o = make_run(100 + i, "fast", n, law("fast", n, &random));

    assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
  }
  assert_int_equal(ft_runtime_estimate(&p->performance, NULL, 0, place), 2);
  assert_string_equal(place[0].platform, "fast");
  assert_near(place[1].speed, 1.0 / 3, 0.05);
  free(p);
}

static void of_too_many_platforms_the_stalest_is_removed(void **state)
{
  struct app_times *p = malloc(sizeof *p);

  (void)state;
  assert_non_null(p);
  ft_performance_init(&p->performance, &p->runs, "app", 7);
  for (unsigned i = 0; i < 40; i++) {
    char name[8];
    ft_observation o;

    (void)snprintf(name, sizeof name, "p%u", i / 2);
    o = make_run(i, name, 1, 2);
    assert_int_equal(ft_performance_update(&p->performance, &p->runs, &o, NULL), 1);
  }
  assert_int_equal(p->performance.platforms_count, 16);
  assert_string_equal(p->performance.platforms[0].platform, "p0");
  assert_string_equal(p->performance.platforms[15].platform, "p19");
  for (unsigned i = 0; i < p->runs.count; i++)
    assert_true(p->runs.run[i].platform < 16);
  free(p);
}

static void an_uncounted_value_is_missing_not_0(void **state)
{
  ft_observation o = make_run(1, "a", 1, 4);
  float x[FT_RUN_FEATURES];

  (void)state;
  o.counters_count = 3;
  (void)ft_string_copy("PAPI_TOT_INS", o.counters[0].name, sizeof o.counters[0].name);
  (void)ft_string_copy("PAPI_BR_INS", o.counters[1].name, sizeof o.counters[1].name);
  (void)ft_string_copy("context-switches", o.counters[2].name, sizeof o.counters[2].name);
  o.counters[0].value = 1000;
  o.counters[1].value = 100;
  o.counters[2].value = 8;
  ft_run_features_fill(&o, x);
  for (int i = 0; i < FT_RUN_FEATURES; i++) {
    const char *name = ft_run_features_names[i];

    if (strcmp(name, "instructions") == 0)
      assert_near(x[i], 1000, 1e-6);
    else if (strcmp(name, "branch_ratio") == 0)
      assert_near(x[i], 0.1, 1e-6);
    else if (strcmp(name, "context_switches_per_second") == 0)
      assert_near(x[i], 2, 1e-6);
    else if (strcmp(name, "peak_memory_bytes") == 0)
      assert_near(x[i], 1 << 20, 1e-6);
    else
      assert_true(isnan(x[i]));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_run_keeps_what_it_had_of_each_quantity),
    cmocka_unit_test(runs_without_counters_lose_no_feature),
    cmocka_unit_test(run_time_and_ratio_are_found),
    cmocka_unit_test(small_runs_extrapolate_products_of_features),
    cmocka_unit_test(a_change_of_the_run_time_is_taken_up_within_three_runs),
    cmocka_unit_test(the_interval_of_a_repeated_job_holds_90_percent),
    cmocka_unit_test(many_weak_numbers_make_a_power_law),
    cmocka_unit_test(the_memory_of_a_run_does_not_change_its_time),
    cmocka_unit_test(only_runs_with_a_run_time_count),
    cmocka_unit_test(a_run_that_stopped_is_a_lower_bound),
    cmocka_unit_test(an_app_that_only_timed_out_has_a_lower_bound),
    cmocka_unit_test(runs_without_a_platform_count),
    cmocka_unit_test(the_power_of_a_platform_is_that_of_its_measured_runs),
    cmocka_unit_test(a_later_record_of_a_run_replaces_it),
    cmocka_unit_test(runs_stay_in_order_of_time),
    cmocka_unit_test(an_absurd_time_has_little_influence),
    cmocka_unit_test(transferred_estimates_give_way_to_runs),
    cmocka_unit_test(transferred_estimates_stay_until_they_are_removed),
    cmocka_unit_test(the_platform_with_most_runs_becomes_the_first),
    cmocka_unit_test(of_too_many_platforms_the_stalest_is_removed),
    cmocka_unit_test(an_uncounted_value_is_missing_not_0)
  };

  return cmocka_run_group_tests_name("performance", tests, NULL, NULL);
}
