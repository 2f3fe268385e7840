/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/random.h"
#include "predictor/estimate/allocation.h"
#include "predictor/estimate/ensemble.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/retry_sequence.h"
#include "predictor/online/online.h"
#include "predictor/record/check.h"

#define GB 1e9

/* ---- retry sequences ---- */

static double by_trying_all(const struct ft_retry_sequence *c, double price, double fixed)
{
  double rest[FT_RETRY_SEQUENCE_POINTS + 1], best = 0;

  rest[c->count] = 0;
  for (size_t i = c->count; i-- > 0;) {
    rest[i] = INFINITY;
    for (size_t j = i; j < c->count; j++) {
      double waste =
          c->bytes[j] * (c->below[j + 1] - c->below[i]) - (c->needed[j + 1] - c->needed[i]) +
          (price * c->bytes[j] + fixed) * (c->below[c->count] - c->below[j + 1]) + rest[j + 1];

      if (waste >= rest[i])
        continue;
      rest[i] = waste;
      if (i == 0)
        best = c->bytes[j];
    }
  }
  return best;
}

static void no_other_retry_sequence_has_a_lower_expected_waste(void **state)
{
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 1);
  for (int turn = 0; turn < 500; turn++) {
    size_t count = 1 + (size_t)ft_random_below(&random, FT_RETRY_SEQUENCE_POINTS);
    double bytes = 1, price = (double)(1 + ft_random_below(&random, 40)) / 10;
    double fixed = (double)ft_random_below(&random, 4);
    struct ft_retry_sequence chain;

    ft_retry_sequence_start(&chain);
    for (size_t i = 0; i < count; i++) {
      bytes *= 1 + 0.2 * pow((double)ft_random_below(&random, 1000) / 1000, 4);
      ft_retry_sequence_add(&chain, bytes, (double)(1 + ft_random_below(&random, 1000)) / 1000);
    }
    assert_near(ft_retry_first_allocation(&chain, price, fixed),
                by_trying_all(&chain, price, fixed), 1e-12);
  }
}

static void a_retry_sequence_is_bounded_by_its_points(void **state)
{
  struct ft_retry_sequence chain;

  (void)state;
  ft_retry_sequence_start(&chain);
  assert_near(ft_retry_first_allocation(&chain, 1, 0), 0, 0);
  for (int i = 0; i < 2 * FT_RETRY_SEQUENCE_POINTS; i++)
    ft_retry_sequence_add(&chain, 1 + i, 1);
  assert_int_equal(chain.count, FT_RETRY_SEQUENCE_POINTS);
  assert_true(ft_retry_first_allocation(&chain, 1, 0) > 0);
}

static void peaks_added_together_equal_those_added_one_by_one(void **state)
{
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 2);
  for (int turn = 0; turn < 200; turn++) {
    double bytes[2 * FT_RETRY_SEQUENCE_POINTS], mass[2 * FT_RETRY_SEQUENCE_POINTS], last = 1;
    size_t count = 1 + (size_t)ft_random_below(&random, 2 * FT_RETRY_SEQUENCE_POINTS);
    size_t first = (size_t)ft_random_below(&random, count);
    static struct ft_retry_sequence one, all;

    ft_retry_sequence_start(&one);
    ft_retry_sequence_start(&all);
    for (size_t i = 0; i < count; i++) {
      bytes[i] = last *= 1 + FT_RETRY_SEQUENCE_SAME * ft_random_double(&random);
      mass[i] = ft_random_double(&random);
      ft_retry_sequence_add(&one, bytes[i], mass[i]);
    }
    ft_retry_sequence_add_all(&all, bytes, mass, first);
    ft_retry_sequence_add_all(&all, bytes + first, mass + first, count - first);
    assert_int_equal(all.count, one.count);
    assert_memory_equal(all.bytes, one.bytes, one.count * sizeof *one.bytes);
    assert_memory_equal(all.below, one.below, (one.count + 1) * sizeof *one.below);
    assert_memory_equal(all.needed, one.needed, (one.count + 1) * sizeof *one.needed);
  }
}

/* ---- the ensemble over an app's runs ---- */

struct app {
  ft_model model;
  struct ft_history history;
  ft_observation o;
  uint32_t job;
};

static struct app *new_app(void)
{
  struct app *app = calloc(1, sizeof *app);

  assert_non_null(app);
  ft_online_init(&app->model, &app->history, "app", 0, FT_RULE_RSS);
  return app;
}

/* A run with INPUT (negative: without) that used BYTES for SECONDS. */
static void learn_run(struct app *app, double input, double bytes, double seconds,
                      ft_outcome outcome)
{
  struct ft_error err;

  app->job++;
  app->o = (ft_observation){ .schema = FT_SCHEMA,
                             .job_id = app->job,
                             .end_time = app->job,
                             .runtime_seconds = seconds,
                             .outcome = outcome,
                             .censored = outcome != FT_OUTCOME_COMPLETED,
                             .has_rss_bytes = true,
                             .rss_bytes = (uint64_t)bytes };
  if (input >= 0)
    assert_true(ft_feature_number(app->o.submission.features, &app->o.submission.features_count, 24,
                                  "input", input));
  if (ft_online_update(&app->model, &app->history, &app->o, &err) < 0)
    fail_msg("%s", err.text);
}

static double sized(const struct app *app, double input, double failed, double price)
{
  struct ft_estimate estimate;
  struct ft_error err;
  ft_feature feature;
  pb_size_t count = 0;
  double bytes = 0;

  if (input >= 0)
    assert_true(ft_feature_number(&feature, &count, 1, "input", input));
  if (ft_allocate_memory(&app->model, &feature, count, failed, price, &estimate, &bytes, &err) < 0)
    fail_msg("%s", err.text);
  assert_true(isfinite(bytes) && bytes > failed);
  return bytes;
}

static double straight(double x)
{
  return GB * (1 + 0.05 * x);
}

static double power(double x)
{
  return GB * pow(1 + x, 0.7);
}

static double steps(double x)
{
  return x < 50 ? GB : 7 * GB;
}

static double constant(double x)
{
  (void)x;
  return 3 * GB;
}

static void known_functions_are_followed_closely(void **state)
{
  static const struct {
    double (*of)(double);
    double least; /* at a step, trying the lower level first may be cheaper */
  } functions[] = { { straight, 0.99 }, { power, 0.99 }, { steps, 0.8 }, { constant, 0.99 } };

  (void)state;
  for (size_t f = 0; f < COUNT_OF(functions); f++) {
    struct app *app = new_app();
    double asked = 0, needed = 0;

    for (unsigned i = 0; i < 80; i++) {
      double x = 10 + 37 * i % 90, bytes = functions[f].of(x);

      if (i >= 40) {
        asked += sized(app, x, 0, 1);
        needed += bytes;
      }
      learn_run(app, x, bytes, 60, FT_OUTCOME_COMPLETED);
    }
    if (!(asked < 1.03 * needed && asked > functions[f].least * needed))
      fail_msg("function %zu: %g for %g", f, asked, needed);
    free(app);
  }
}

static void a_higher_failure_cost_raises_the_allocation(void **state)
{
  struct app *app = new_app();
  struct ft_random random;
  double before = 0;

  (void)state;
  ft_random_seed(&random, 3);
  for (unsigned i = 0; i < 60; i++)
    learn_run(app, -1, GB * exp(0.2 * ft_random_normal(&random)), 60, FT_OUTCOME_COMPLETED);
  for (double price = 0.1; price < 300; price *= 3) {
    double bytes = sized(app, -1, 0, price);

    assert_true(bytes >= 0.999 * before);
    before = bytes;
  }
  free(app);
}

/* For every failure cost and time to failure. */
static void no_size_is_below_the_latest_censored_peak(void **state)
{
  static const double prices[] = { 0, 0.01, 1, 3, 300 }, times[] = { 0, 0.01, 0.5, 1 };
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 5);
  for (unsigned turn = 0; turn < 60; turn++) {
    struct app *app = new_app();
    unsigned runs = (unsigned)ft_random_below(&random, 40);
    double bound, largest = 0, x = (double)ft_random_below(&random, 100);

    for (unsigned i = 0; i < runs; i++) {
      double bytes = GB * exp(0.5 * ft_random_normal(&random));

      largest = fmax(largest, bytes);
      learn_run(app, (double)ft_random_below(&random, 100), bytes, 60, FT_OUTCOME_COMPLETED);
    }
    bound = (largest > 0 ? largest : GB) * (1.01 + (double)ft_random_below(&random, 5));
    learn_run(app, x, bound, 60, FT_OUTCOME_OUT_OF_MEMORY);
    for (size_t k = 0; k < COUNT_OF(prices) * COUNT_OF(times); k++) {
      double price = prices[k % COUNT_OF(prices)];

      app->model.evaluator.failure_time = times[k / COUNT_OF(prices)];
      if (!(sized(app, x, 0, price) > bound))
        fail_msg("turn %u, %u runs, price %g: %g, killed at %g", turn, runs, price,
                 sized(app, x, 0, price), bound);
    }
    free(app);
  }
}

/* Runs at random inputs with the peaks of OF and noise. Returns the largest peak. */
static double ran_many(struct app *app, struct ft_random *random, double (*of)(double), double part)
{
  double largest = 0;

  for (unsigned i = 1 + (unsigned)ft_random_below(random, 60); i > 0; i--) {
    double x = (double)ft_random_below(random, 100);
    double bytes = of(x) * exp(part * ft_random_normal(random));

    largest = fmax(largest, bytes);
    learn_run(app, x, bytes, 60, FT_OUTCOME_COMPLETED);
  }
  return largest;
}

/* The memory that decide requests: the larger of the estimate and the allocation. */
#define SET_AT 0.99

/* Also where many runs have completed with more, for every outcome. */
static void no_request_is_below_the_latest_censored_peak(void **state)
{
  static const struct {
    double (*of)(double);
    double part;
  } needs[] = { { constant, 0.5 }, { straight, 0.05 }, { steps, 0.02 } };
  static const ft_outcome outcomes[] = { FT_OUTCOME_OUT_OF_MEMORY, FT_OUTCOME_FAILED,
                                         FT_OUTCOME_CANCELLED, FT_OUTCOME_TIMEOUT };
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 13);
  for (unsigned turn = 0; turn < 240; turn++) {
    size_t n = turn % COUNT_OF(needs), k = turn / COUNT_OF(needs) % COUNT_OF(outcomes);
    struct app *app = new_app();
    double bound = ran_many(app, &random, needs[n].of, needs[n].part);
    double x = (double)ft_random_below(&random, 100), set;
    struct ft_estimate estimate;
    struct ft_error err;
    ft_feature feature;
    pb_size_t count = 0;

    bound *= exp(-1.5 + 0.003 * (double)ft_random_below(&random, 1000));
    learn_run(app, x, bound, 60, outcomes[k]);
    assert_true(ft_feature_number(&feature, &count, 1, "input", x));
    if (ft_estimate_memory(&app->model, &feature, count, &estimate, &err) < 0)
      fail_msg("%s", err.text);
    set = fmax(ft_estimate_quantile(&estimate, SET_AT), sized(app, x, 0, 1));
    if (!(set >= bound))
      fail_msg("turn %u: %g, ended at %g", turn, set, bound);
    free(app);
  }
}

static void a_failed_size_is_never_requested_again(void **state)
{
  struct app *app = new_app();
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 7);
  for (unsigned i = 0; i < 30; i++)
    learn_run(app, (double)ft_random_below(&random, 100), GB * exp(0.4 * ft_random_normal(&random)),
              60, FT_OUTCOME_COMPLETED);
  for (double failed = 0.01 * GB; failed < 1000 * GB; failed *= 1.07)
    (void)sized(app, 50, failed, 1);
  free(app);
}

static void above_all_known_peaks_a_retry_grows_by_at_most_half(void **state)
{
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 11);
  for (unsigned turn = 0; turn < 30; turn++) {
    struct app *app = new_app();
    double largest = 0, failed;

    /* small runs far off every line make long tails for large ones */
    for (unsigned i = 0; i < 40; i++) {
      double x = (double)(1 + ft_random_below(&random, 1000));
      double bytes = GB * (x < 300 ? 2 * exp(ft_random_normal(&random)) : 0.01 * x);

      largest = fmax(largest, bytes);
      learn_run(app, x, bytes, x * x, FT_OUTCOME_COMPLETED);
    }
    failed = 1.1 * largest;
    if (!(sized(app, 1000, failed, 1) <= 1.5 * failed))
      fail_msg("turn %u: %g after %g", turn, sized(app, 1000, failed, 1), failed);
    free(app);
  }
}

static void no_allocation_is_far_above_comparable_peaks(void **state)
{
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 13);
  for (unsigned turn = 0; turn < 200; turn++) {
    struct app *app = new_app();
    unsigned runs = 5 + (unsigned)ft_random_below(&random, 30);
    double noise = 0.3 * ft_random_double(&random), most = 0, input = 0;

    for (unsigned i = 0; i < runs; i++) {
      double x = (double)(10 + ft_random_below(&random, 250));
      double bytes = GB * (1 + 0.02 * x) * exp(noise * ft_random_normal(&random));

      most = fmax(most, bytes);
      input = fmax(input, x);
      learn_run(app, x, bytes, 60, FT_OUTCOME_COMPLETED);
    }
    /* and by the excess of some recent runs */
    assert_true(app->model.evaluator.log_cap_correction < 0.5);
    most *= exp(app->model.evaluator.log_cap_correction);
    for (double times = 0.5; times < 20; times *= 1.5)
      if (!(sized(app, times * input, 0, 1) <= 1.06 * most * fmax(times, 1)))
        fail_msg("turn %u, %u runs: %g for %g times the input of %g", turn, runs,
                 sized(app, times * input, 0, 1), times, most);
    assert_true(noise < 0.1 || sized(app, input, 0, 300) > sized(app, input, 0, 1));
    free(app);
  }
}

/* Returns how many runs of E have the covariate of INPUT. */
static unsigned count_input(const ft_evaluator *e, double input)
{
  unsigned count = 0;

  for (size_t i = 0; i < e->covariates_count; i++)
    count += e->covariates[i] == (float)log1p(input);
  return count;
}

/* Like bwa's samples, two sizes of input, which fix the peak. */
static void a_rare_input_keeps_its_peak(void **state)
{
  struct app *app = new_app();

  (void)state;
  for (unsigned i = 0; i < 600; i++)
    learn_run(app, i % 120 == 10 ? 387143 : 3861143, GB * (i % 120 == 10 ? 0.012 : 1.787), 10,
              FT_OUTCOME_COMPLETED);
  for (unsigned i = 0; i < 250; i++) {
    learn_run(app, 3861143, 1.787 * GB, 10, FT_OUTCOME_COMPLETED);
    assert_true(count_input(&app->model.evaluator, 387143) >= 1);
  }
  assert_int_equal(count_input(&app->model.evaluator, 387143), 1);
  if (!(sized(app, 387143, 0, 1.1) < 0.014 * GB))
    fail_msg("the rare input: %g", sized(app, 387143, 0, 1.1));
  assert_near(sized(app, 3861143, 0, 1.1), 1.787 * GB, 0.002);
  free(app);
}

/* Inputs that never recur leave in order of time, so that an old law is forgotten. */
static void inputs_that_do_not_recur_are_forgotten(void **state)
{
  struct app *app = new_app();

  (void)state;
  for (unsigned i = 0; i < 500; i++)
    learn_run(app, 1000 + i, GB, 10, FT_OUTCOME_COMPLETED);
  assert_int_equal(app->model.completed, 500);
  for (unsigned i = 0; i < FT_HISTORY_RUNS; i++)
    assert_near((double)app->history.run[i].time, 301 + i, 0);
  free(app);
}

/* Like bwa mem: smaller inputs have higher and less certain peaks. */
static void below_known_peaks_a_retry_grows_little(void **state)
{
  struct app *app = new_app();
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 17);
  for (unsigned i = 0; i < 80; i++) {
    double x = 9 + 6 * ft_random_double(&random);

    learn_run(app, x, GB * (9 + (x < 10 ? 5 : 1.7) * ft_random_double(&random)), 60,
              FT_OUTCOME_COMPLETED);
  }
  for (double failed = 10 * GB; failed < 11 * GB; failed += 0.1 * GB)
    if (!(sized(app, 14, failed, 1) <= 1.26 * failed))
      fail_msg("%g after %g", sized(app, 14, failed, 1), failed);
  free(app);
}

/* One run in twenty has an eightfold peak, at any input. */
static void at_a_high_failure_cost_the_nearest_peaks_are_no_limit(void **state)
{
  struct app *app = new_app();
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 37);
  for (unsigned i = 0; i < 200; i++)
    learn_run(app, exp(3 * ft_random_double(&random)), i % 20 ? GB : 8 * GB, 60,
              FT_OUTCOME_COMPLETED);
  for (double x = 1; x < 20; x *= 1.05) {
    assert_true(sized(app, x, 0, 1e6) >= 8 * GB);
    assert_true(sized(app, x, 0, 1) < 8.5 * GB);
  }
  free(app);
}

/* A number in a model, by its offset from the evaluator's start. */
static const struct {
  size_t at;
  bool is_double;
} numbers[] = { { offsetof(ft_evaluator, max_value), true },
                { offsetof(ft_evaluator, log_cap_correction), true },
                { offsetof(ft_evaluator, intercept), true },
                { offsetof(ft_evaluator, loss_updates), true },
                { offsetof(ft_evaluator, baselines[FT_BASELINE_POWER].slope), true },
                { offsetof(ft_evaluator, baselines[FT_BASELINE_LINE].intercept), true },
                { offsetof(ft_evaluator, needs), false },
                { offsetof(ft_evaluator, covariates), false },
                { offsetof(ft_evaluator, baselines[FT_BASELINE_CONSTANT].needs), false },
                { offsetof(ft_evaluator, seconds), false } };

/* Sets number WHICH to VALUE; of an array its last element if LAST, else its first. */
static void spoil(ft_evaluator *e, size_t which, bool last, double value)
{
  char *number = (char *)e + numbers[which].at;
  float single = (float)value;

  if (numbers[which].is_double)
    memcpy(number, &value, sizeof value);
  else
    memcpy(number + (last ? e->needs_count - 1U : 0) * sizeof single, &single, sizeof single);
}

static void any_model_gives_a_finite_allocation(void **state)
{
  static const double values[] = { 0, -1, 1e-300, 3e38, -3e38, 1e300, -1e300 };
  static const double inputs[] = { -1, 0, 50, 1e300 }, prices[] = { 0, 1.1, 1e6 };
  static const unsigned runs[] = { 3, 40 };
  struct app *app, *spoilt = new_app();
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 29);
  for (size_t r = 0; r < COUNT_OF(runs); r++) {
    app = new_app();
    for (unsigned i = 0; i < runs[r]; i++) {
      double x = (double)(1 + ft_random_below(&random, 100));

      learn_run(app, x, GB * (1 + x * x / 1000), 60, FT_OUTCOME_COMPLETED);
    }
    for (size_t k = 0; k < COUNT_OF(numbers) * COUNT_OF(values) * 2; k++) {
      struct ft_error err;
      size_t which = k / 2 % COUNT_OF(numbers);

      *spoilt = *app;
      spoil(&spoilt->model.evaluator, which, k % 2, values[k / 2 / COUNT_OF(numbers)]);
      if (ft_record_check(FT_RECORD_MODEL, &spoilt->model, &err) < 0)
        continue;
      for (size_t i = 0; i < COUNT_OF(inputs) * COUNT_OF(prices); i++)
        for (double failed = 0; failed < 1e12; failed = 10 * failed + 1e6)
          (void)sized(spoilt, inputs[i % COUNT_OF(inputs)], failed, prices[i / COUNT_OF(inputs)]);
    }
    free(app);
  }
  free(spoilt);
}

static void a_slowly_rising_peak_is_followed(void **state)
{
  struct app *app = new_app();
  struct ft_random random;
  unsigned failures = 0;

  (void)state;
  ft_random_seed(&random, 19);
  for (unsigned i = 0; i < 300; i++) {
    double size = exp(0.5 * ft_random_normal(&random));
    double need = 2 * GB * size * exp(i / 300.0 + 0.04 * ft_random_normal(&random));

    if (i >= 20)
      failures += sized(app, size * GB, 0, 1.1) < need;
    learn_run(app, size * GB, need, 600 * size, FT_OUTCOME_COMPLETED);
  }
  if (failures > 28)
    fail_msg("%u failures", failures);
  free(app);
}

static void a_changed_peak_is_followed_within_a_few_runs(void **state)
{
  struct app *app = new_app();

  (void)state;
  for (unsigned i = 0; i < 100; i++)
    learn_run(app, -1, (4 + 0.01 * (i * 7 % 10)) * GB, 60, FT_OUTCOME_COMPLETED);
  for (unsigned i = 0; i < 25; i++)
    learn_run(app, -1, (8 + 0.02 * (i * 7 % 10)) * GB, 60, FT_OUTCOME_COMPLETED);
  assert_true(sized(app, -1, 0, 1) > 8 * GB && sized(app, -1, 0, 1) < 9 * GB);
  free(app);
}

static void one_absurd_run_has_little_influence(void **state)
{
  static const struct {
    double input, bytes, seconds;
  } lies[] = {
    { 1e18, GB, 60 }, { 12, 900 * GB, 60 }, { 12, 900 * GB, 0 },
    { 12, 1, 1e300 }, { 12, 1, -5 },        { 1e-9, 1.1e15, 1e300 },
  };

  (void)state;
  for (size_t l = 0; l < COUNT_OF(lies); l++) {
    struct app *app = new_app();
    double before, after;

    for (unsigned i = 0; i < 60; i++)
      learn_run(app, 10 + i % 13, (1 + 0.1 * (i % 13)) * GB, 60, FT_OUTCOME_COMPLETED);
    before = sized(app, 15, 0, 1);
    learn_run(app, lies[l].input, lies[l].bytes, lies[l].seconds, FT_OUTCOME_COMPLETED);
    after = sized(app, 15, 0, 1);
    if (!(after > 0.9 * before && after < 1.4 * before))
      fail_msg("lie %zu: %g becomes %g", l, before, after);
    free(app);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_other_retry_sequence_has_a_lower_expected_waste),
    cmocka_unit_test(a_retry_sequence_is_bounded_by_its_points),
    cmocka_unit_test(peaks_added_together_equal_those_added_one_by_one),
    cmocka_unit_test(known_functions_are_followed_closely),
    cmocka_unit_test(a_higher_failure_cost_raises_the_allocation),
    cmocka_unit_test(no_size_is_below_the_latest_censored_peak),
    cmocka_unit_test(no_request_is_below_the_latest_censored_peak),
    cmocka_unit_test(a_failed_size_is_never_requested_again),
    cmocka_unit_test(above_all_known_peaks_a_retry_grows_by_at_most_half),
    cmocka_unit_test(no_allocation_is_far_above_comparable_peaks),
    cmocka_unit_test(a_rare_input_keeps_its_peak),
    cmocka_unit_test(inputs_that_do_not_recur_are_forgotten),
    cmocka_unit_test(below_known_peaks_a_retry_grows_little),
    cmocka_unit_test(a_slowly_rising_peak_is_followed),
    cmocka_unit_test(at_a_high_failure_cost_the_nearest_peaks_are_no_limit),
    cmocka_unit_test(any_model_gives_a_finite_allocation),
    cmocka_unit_test(a_changed_peak_is_followed_within_a_few_runs),
    cmocka_unit_test(one_absurd_run_has_little_influence),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
