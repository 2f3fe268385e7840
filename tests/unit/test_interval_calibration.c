/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/random.h"
#include "predictor/estimate/memory.h"
#include "predictor/online/interval_calibration.h"
#include "predictor/online/online.h"

static struct ft_history history;

static ft_model model;

static int start(void **state)
{
  (void)state;
  ft_online_init(&model, &history, "app", 1000, FT_RULE_RSS);
  return 0;
}

/* Submitted at SUBMIT, ended at END; the estimate at submission is not recorded. */
static ft_observation run_of(double submit, double end, double bytes)
{
  static uint32_t job;

  return (ft_observation){ .schema = 1,
                           .job_id = ++job,
                           .submit_time = submit,
                           .end_time = end,
                           .runtime_seconds = 1,
                           .outcome = FT_OUTCOME_COMPLETED,
                           .has_rss_bytes = true,
                           .rss_bytes = (uint64_t)bytes };
}

static void learn(const ft_observation *o)
{
  struct ft_error err = { "" };

  if (ft_online_update(&model, &history, o, &err) != 1)
    fail_msg("not learned: %s", err.text);
}

static struct ft_estimate estimate_memory(void)
{
  struct ft_estimate e;
  struct ft_error err;

  if (ft_estimate_memory(&model, NULL, 0, &e, &err) < 0)
    fail_msg("%s", err.text);
  for (int i = 1; i < FT_ESTIMATE_LEVELS; i++)
    assert_true(e.quantile[i] >= e.quantile[i - 1] && isfinite(e.quantile[i]));
  return e;
}

static bool within(const struct ft_estimate *e, double bytes)
{
  return bytes >= ft_estimate_quantile(e, 0.05) && bytes <= ft_estimate_quantile(e, 0.95);
}

static double width(const struct ft_estimate *e)
{
  return log(ft_estimate_quantile(e, 0.95) / ft_estimate_quantile(e, 0.05));
}

/* ---- cohorts: runs submitted together ---- */

static void runs_submitted_before_others_ended_are_one_cohort(void **state)
{
  static const struct {
    double submit, end;
    unsigned cohorts;
  } runs[] = {
    { 10, 20, 1 },  { 10, 21, 1 },
    { 19, 30, 1 }, /* the first had not ended */
    { 20, 40, 2 },  { 25, 41, 2 },
    { 39, 90, 2 }, /* the second cohort's had not ended */
    { 100, 95, 3 }, /* by a clock that was put back */ { 96, 120, 4 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(runs); i++) {
    ft_observation o = run_of(runs[i].submit, runs[i].end, 0x1p30);

    learn(&o);
    if (ft_memory_cohorts(&model) != runs[i].cohorts)
      fail_msg("run %zu: %u cohorts", i, ft_memory_cohorts(&model));
  }
  assert_int_equal(model.completed, COUNT_OF(runs));
}

static void without_times_each_run_is_a_cohort(void **state)
{
  (void)state;
  for (unsigned i = 1; i <= 30; i++) {
    ft_observation o = run_of(0, 0, 0x1p30);

    o.runtime_seconds = 0;
    learn(&o);
    assert_int_equal(ft_memory_cohorts(&model), i);
  }
}

/* 130 runs, then ten after the app has changed. */
static void a_changed_app_has_the_cohorts_of_its_kept_runs(void **state)
{
  enum { USUAL = 130, MANY = 10 };
  static const struct {
    double usual, many; /* between two submissions */
    double lasts;
    unsigned cohorts;
  } cases[] = {
    { 10, 0, 1, 1 },   /* the ten at once */
    { 10, 10, 1, 10 }, /* one by one */
    { 10, 10, 15, 5 }, /* two by two */
    { 0, 0, -1, 1 },   /* submitted together, run one after another */
  };

  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    struct ft_random random;
    double submit = 1;

    (void)start(state);
    ft_random_seed(&random, 3);
    for (unsigned i = 0; i < USUAL + MANY; i++) {
      double end = cases[c].lasts > 0 ? submit + cases[c].lasts : submit + 2 * i + 1;
      double need = (i < USUAL ? 0x1p30 : 0x1p33) * exp(0.05 * ft_random_normal(&random));
      ft_observation o = run_of(submit, end, need);

      o.runtime_seconds = fmax(cases[c].lasts, 1);
      learn(&o);
      submit += i < USUAL ? cases[c].usual : cases[c].many;
    }
    assert_int_equal(model.completed, MANY);
    if (ft_memory_cohorts(&model) != cases[c].cohorts)
      fail_msg("case %zu: %u cohorts", c, ft_memory_cohorts(&model));
  }
}

/* For a model file from before cohorts were counted. */
static void a_model_without_cohorts_counts_runs(void **state)
{
  ft_observation o;

  (void)state;
  for (unsigned i = 0; i < 12; i++) {
    o = run_of(i + 1, i + 1.5, 0x1p30);
    learn(&o);
  }
  model.evaluator.cohorts = 0;
  model.evaluator.cohort_ended = 0;
  assert_int_equal(ft_memory_cohorts(&model), 12);
  o = run_of(20, 21, 0x1p30);
  learn(&o);
  assert_int_equal(ft_memory_cohorts(&model), 13);
}

static void a_duplicate_or_killed_run_starts_no_cohort(void **state)
{
  ft_observation o = run_of(1, 2, 0x1p30);

  (void)state;
  learn(&o);
  learn(&o);
  assert_int_equal(ft_memory_cohorts(&model), 1);
  o = run_of(3, 4, 0x1p29);
  o.censored = true;
  o.outcome = FT_OUTCOME_CANCELLED;
  learn(&o);
  assert_int_equal(ft_memory_cohorts(&model), 1);
}

/* The same peaks, as one morning's array or day by day. */
static void one_cohort_has_a_wider_interval_than_many(void **state)
{
  double widths[2];

  (void)state;
  for (int apart = 0; apart < 2; apart++) {
    struct ft_random random;

    (void)start(NULL);
    ft_random_seed(&random, 1);
    for (unsigned i = 0; i < 40; i++) {
      ft_observation o =
          run_of(apart ? 10 * i + 1 : 1, 10 * i + 5, 0x1p30 * exp(0.1 * ft_random_normal(&random)));

      learn(&o);
    }
    assert_int_equal(ft_memory_cohorts(&model), apart ? 40 : 1);
    model.evaluator.log_interval_scale = 0;
    struct ft_estimate e = estimate_memory();

    widths[apart] = width(&e);
  }
  assert_true(widths[0] > 1.5 * widths[1]);
}

static void a_clock_that_was_ahead_does_not_end_all_cohorts(void **state)
{
  ft_observation o = run_of(1, 1e12, 0x1p30);

  (void)state;
  learn(&o);
  ft_online_clamp_times(&model, &history, 100);
  o = run_of(101, 102, 0x1p30);
  learn(&o);
  assert_int_equal(ft_memory_cohorts(&model), 2);
}

/* ---- coverage ---- */

/* Share of the runs FROM to TO whose peak is in the interval, over SEEDS apps. */
static double holds(unsigned seeds, unsigned from, unsigned to,
                    double (*need)(struct ft_random *, unsigned))
{
  double held = 0;

  for (unsigned seed = 1; seed <= seeds; seed++) {
    struct ft_random random;

    (void)start(NULL);
    ft_random_seed(&random, seed);
    for (unsigned i = 0; i < to; i++) {
      ft_observation o = run_of(2 * i + 1, 2 * i + 2, 1);
      double bytes = floor(need(&random, i));

      o.rss_bytes = (uint64_t)bytes;
      if (i >= from) {
        struct ft_estimate e = estimate_memory();

        held += within(&e, bytes);
      }
      learn(&o);
    }
  }
  return held / (seeds * (to - from));
}

static double normal(struct ft_random *random, unsigned turn)
{
  (void)turn;
  return 0x1p30 * exp(0.3 * ft_random_normal(random));
}

static double heavy(struct ft_random *random, unsigned turn)
{
  (void)turn;
  return 0x1p30 * pow(1 - ft_random_double(random), -0.5);
}

static double even(struct ft_random *random, unsigned turn)
{
  (void)turn;
  return 0x1p30 * (1 + ft_random_double(random));
}

static double creeping(struct ft_random *random, unsigned turn)
{
  return 0x1p30 * exp(0.01 * turn + 0.05 * ft_random_normal(random));
}

/* Each peak exceeds all earlier ones by a growing amount, so that no history predicts it. */
static double running_away(struct ft_random *random, unsigned turn)
{
  (void)random;
  return 0x1p24 * exp(1e-4 * turn * turn);
}

static void intervals_cover_90_percent_of_few_and_of_many_runs(void **state)
{
  static const struct {
    const char *name;
    double (*need)(struct ft_random *, unsigned);
    unsigned from, to;
    double least, most;
  } kinds[] = {
    { "normal, few", normal, 19, 40, 0.88, 0.92 },
    { "normal", normal, 40, 120, 0.88, 0.92 },
    { "heavy, few", heavy, 19, 40, 0.88, 0.92 },
    { "heavy", heavy, 40, 120, 0.88, 0.92 },
    { "even, few", even, 19, 40, 0.88, 0.92 },
    { "even", even, 40, 120, 0.88, 0.92 },
    { "creeping", creeping, 40, 300, 0.88, 0.92 },
    { "running away", running_away, 40, 300, 0.8, 1 },
  };

  (void)state;
  for (size_t k = 0; k < COUNT_OF(kinds); k++) {
    double part = holds(kinds[k].to > 120 ? 4 : 16, kinds[k].from, kinds[k].to, kinds[k].need);

    print_message("# %-12s 90 %% interval holds %.1f %%\n", kinds[k].name, 100 * part);
    if (!(part >= kinds[k].least && part <= kinds[k].most))
      fail_msg("%s: %g", kinds[k].name, part);
  }
}

/* ---- old predictions ---- */

static void coverage_by_an_older_wider_interval_narrows_nothing(void **state)
{
  static const struct {
    double now, low, high; /* the run, and its predicted interval, relative to the median */
    int moves;
  } runs[] = { { 1, 0.5, 2, -1 }, { 1, 1.5, 2, 1 }, { 1.9, 0.5, 2, 0 }, { 3, 0.5, 2, 1 } };
  struct ft_random random;
  ft_model before;

  (void)state;
  ft_random_seed(&random, 1);
  for (unsigned i = 0; i < 60; i++) {
    ft_observation o = run_of(2 * i + 1, 2 * i + 2, 0x1p30 * exp(0.05 * ft_random_normal(&random)));

    learn(&o);
  }
  before = model;
  for (size_t i = 0; i < COUNT_OF(runs); i++) {
    struct ft_estimate e;
    ft_observation o = run_of(200, 201, 1);
    double median;

    model = before;
    e = estimate_memory();
    median = ft_estimate_quantile(&e, 0.5);
    o.submission.has_decision = o.submission.decision.has_p05_bytes =
        o.submission.decision.has_p95_bytes = true;
    o.submission.decision.runs = 20;
    o.submission.decision.p05_bytes = runs[i].low * median;
    o.submission.decision.p95_bytes = runs[i].high * median;
    ft_interval_calibration_update(&model.evaluator, &ft_quantities[FT_QUANTITY_MEMORY], &o, &e,
                                   runs[i].now * median);
    if (runs[i].moves !=
        (model.evaluator.log_interval_scale > before.evaluator.log_interval_scale) -
            (model.evaluator.log_interval_scale < before.evaluator.log_interval_scale))
      fail_msg("run %zu: from %g to %g", i, before.evaluator.log_interval_scale,
               model.evaluator.log_interval_scale);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(runs_submitted_before_others_ended_are_one_cohort, start),
    cmocka_unit_test_setup(without_times_each_run_is_a_cohort, start),
    cmocka_unit_test_setup(a_changed_app_has_the_cohorts_of_its_kept_runs, start),
    cmocka_unit_test_setup(a_model_without_cohorts_counts_runs, start),
    cmocka_unit_test_setup(a_duplicate_or_killed_run_starts_no_cohort, start),
    cmocka_unit_test_setup(one_cohort_has_a_wider_interval_than_many, start),
    cmocka_unit_test_setup(a_clock_that_was_ahead_does_not_end_all_cohorts, start),
    cmocka_unit_test_setup(intervals_cover_90_percent_of_few_and_of_many_runs, start),
    cmocka_unit_test_setup(coverage_by_an_older_wider_interval_narrows_nothing, start),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
