/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/decide/time_decision.h"

#define MINUTE 60.0

/* What a case sets. Minutes; 0: none. */
struct scene {
  ft_mode mode, site_mode;
  double limit, time_min, max, usual; /* --time, --time-min, MaxTime, DefaultTime */
  bool unlimited;
  unsigned runs;          /* completed, all comparable */
  double median, longest; /* of the estimate, which has a deviation of 8 %; of the runs */
  double timeout;         /* a later run was stopped by this limit */
  double reject;          /* reject_probability */
  unsigned tasks;         /* of a job array */
};

struct decided {
  ft_submission s;
  ft_partition p;
  ft_policy policy;
  struct ft_job_time time;
  struct ft_time_decision d;
  struct ft_explanation said;
};

static void fill_time(const struct scene *c, struct ft_job_time *time)
{
  struct ft_estimate *e = &time->tasks.each[0];

  *time = (struct ft_job_time){ .runs = c->runs, .of_partition = true };
  (void)snprintf(time->platform, sizeof time->platform, "node");
  if (!c->runs && !(c->timeout > 0))
    return;
  time->tasks.count = c->runs > 0;
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    e->quantile[i] = c->median * MINUTE * exp(0.08 * ft_interval_scores[i]);
  e->runs = c->runs;
  e->max_value = c->longest * MINUTE;
  e->allocation_bytes = c->median * MINUTE;
  time->facts = (struct ft_facts){ .runs = c->runs + (c->timeout > 0),
                                   .completed = c->runs,
                                   .peak_value = c->longest * MINUTE,
                                   .comparable_runs = c->runs + (c->timeout > 0),
                                   .comparable_completed = c->runs,
                                   .fewest_runs = c->runs + (c->timeout > 0),
                                   .fewest_completed = c->runs,
                                   .comparable_peak_value = c->longest * MINUTE,
                                   .comparable_min_value = 0.9 * c->median * MINUTE };
  if (c->timeout > 0) {
    time->facts.bound_value = time->facts.comparable_bound_value = 1.2 * c->timeout * MINUTE;
    time->facts.comparable_killed_value = c->timeout * MINUTE;
    time->facts.lately_killed_value = c->timeout * MINUTE;
    time->facts.comparable_killed = time->facts.lately_killed = 1;
  }
}

static void decide(const struct scene *c, struct decided *out)
{
  out->s = (ft_submission){ .app = "sim" };
  out->s.request.time_limit_seconds = c->limit * MINUTE;
  out->s.request.array_tasks = c->tasks;
  out->p = (ft_partition){ .name = "main",
                           .max_seconds = c->max * MINUTE,
                           .default_seconds = c->usual * MINUTE };
  ft_policy_resolve(NULL, NULL, NULL, NULL, &out->policy);
  out->policy.time_mode = c->site_mode;
  out->policy.reject_probability = c->reject;
  fill_time(c, &out->time);
  ft_time_decide(&(struct ft_time_query){ .mode = c->mode,
                                          .submission = &out->s,
                                          .unlimited = c->unlimited,
                                          .time_min_seconds = c->time_min * MINUTE,
                                          .time = &out->time,
                                          .policy = &out->policy,
                                          .partition = &out->p },
                 &out->d);
  ft_time_explain(&out->d, &out->said);
}

static void each_mode_does_what_its_name_says(void **state)
{
  static const struct {
    struct scene scene;
    ft_action action;
    double minutes; /* of the new limit; 0: unchanged */
    const char *message;
  } cases[] = {
    { { .mode = FT_MODE_CHECK, .limit = 5, .runs = 12, .median = 7.3, .longest = 8 },
      FT_ACTION_WARN,
      0,
      "--time=5 is too short: sim needs about 7.3 min, 95 % below 8.3 min (12 runs); probability of"
      " a timeout: over 99.9 %; use --time=9" },
    { { .mode = FT_MODE_SET, .limit = 5, .runs = 30, .median = 7.3, .longest = 8 },
      FT_ACTION_WARN,
      0,
      NULL },
    { { .mode = FT_MODE_RAISE, .limit = 5, .runs = 12, .median = 7.3, .longest = 8 },
      FT_ACTION_RAISE,
      9,
      "sim needs about 7.3 min, 95 % below 8.3 min (12 runs); --time raised from 5 to 9" },
    { { .mode = FT_MODE_TRIM, .limit = 600, .runs = 30, .median = 7.3, .longest = 8 },
      FT_ACTION_TRIM,
      9,
      "sim needs about 7.3 min, 95 % below 8.3 min (30 runs); --time lowered from 10:00:00 to 9" },
    { { .mode = FT_MODE_TRIM, .unlimited = true, .runs = 30, .median = 7.3, .longest = 8 },
      FT_ACTION_TRIM,
      9,
      "sim needs about 7.3 min, 95 % below 8.3 min (30 runs); --time lowered from UNLIMITED to 9" },
    { { .mode = FT_MODE_RAISE, .limit = 600, .runs = 30, .median = 7.3, .longest = 8 },
      FT_ACTION_WARN,
      0,
      "sim needs about 7.3 min, 95 % below 8.3 min (30 runs); --time=10:00:00 is far more, and a "
      "shorter limit can start earlier" },
    { { .mode = FT_MODE_TRIM, .limit = 15, .runs = 30, .median = 7.3, .longest = 8 },
      FT_ACTION_LEAVE,
      0,
      NULL },
    /* nothing given: the default is 60 minutes, or there is none */
    { { .mode = FT_MODE_SET, .usual = 60, .runs = 30, .median = 7.3, .longest = 8 },
      FT_ACTION_SET,
      9,
      "sim needs about 7.3 min, 95 % below 8.3 min (30 runs); --time set to 9" },
    { { .mode = FT_MODE_SET, .runs = 30, .median = 7.3, .longest = 8 }, FT_ACTION_SET, 9, NULL },
    { { .mode = FT_MODE_CHECK, .usual = 60, .runs = 30, .median = 7.3, .longest = 8 },
      FT_ACTION_LEAVE,
      0,
      NULL },
    { { .mode = FT_MODE_SET, .usual = 5, .max = 60, .runs = 12, .median = 7.3, .longest = 8 },
      FT_ACTION_SET,
      9,
      NULL },
    { { FT_MODE_UNSET, FT_MODE_SET, .runs = 30, .median = 7.3, .longest = 8 },
      FT_ACTION_SET,
      9,
      NULL },
    { { FT_MODE_UNSET, FT_MODE_OFF, .limit = 5, .runs = 30, .median = 7.3, .longest = 8 },
      FT_ACTION_LEAVE,
      0,
      NULL },
    { { FT_MODE_OFF, FT_MODE_SET, .runs = 30, .median = 7.3, .longest = 8 },
      FT_ACTION_LEAVE,
      0,
      NULL },
    /* MaxTime, --time-min */
    { { .mode = FT_MODE_RAISE, .limit = 5, .max = 8, .runs = 12, .median = 7.3, .longest = 8 },
      FT_ACTION_RAISE,
      8,
      "sim needs about 7.3 min, 95 % below 8.3 min (12 runs); --time raised from 5 to 8, the most"
      " that partition main allows; probability of a timeout: 13 %" },
    { { .mode = FT_MODE_SET, .time_min = 20, .runs = 30, .median = 7.3, .longest = 8 },
      FT_ACTION_SET,
      20,
      NULL },
    /* the last run had 20 minutes and was stopped: at least twice that */
    { { .mode = FT_MODE_RAISE, .limit = 20, .timeout = 20 },
      FT_ACTION_RAISE,
      48,
      "sim stopped unfinished after 20 min (0 completed runs); --time raised from 20 to 48" },
    { { .mode = FT_MODE_SET, .runs = 0 }, FT_ACTION_LEAVE, 0, "sim: no recorded run time yet" },
    /* few runs lower nothing */
    { { .mode = FT_MODE_SET, .usual = 60, .runs = 3, .median = 7.3, .longest = 8 },
      FT_ACTION_LEAVE,
      0,
      NULL },
  };

  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct decided *got = calloc(1, sizeof *got);
    double minutes;

    assert_non_null(got);
    decide(&cases[i].scene, got);
    minutes = ft_time_is_changed(&got->d) ? (double)got->d.sizing.amount / MINUTE : 0;
    if (got->d.sizing.action != cases[i].action || minutes != cases[i].minutes ||
        (cases[i].message &&
         (!got->said.count || strcmp(got->said.line[0], cases[i].message) != 0)))
      fail_msg("case %zu: %s, %g minutes: %s", i, ft_action_name(got->d.sizing.action), minutes,
               got->said.count ? got->said.line[0] : "(nothing)");
    free(got);
  }
}

static void only_a_limit_that_all_comparable_runs_exceeded_is_rejected(void **state)
{
  static const struct {
    struct scene scene;
    ft_action action;
  } cases[] = {
    { { FT_MODE_CHECK, .limit = 5, .runs = 12, .median = 7.3, .longest = 8, .reject = 0.9 },
      FT_ACTION_REJECT },
    { { FT_MODE_CHECK, .limit = 7, .runs = 12, .median = 7.3, .longest = 8, .reject = 0.5 },
      FT_ACTION_WARN },
    { { FT_MODE_OFF, .limit = 5, .runs = 12, .median = 7.3, .longest = 8, .reject = 0.9 },
      FT_ACTION_LEAVE },
    { { FT_MODE_CHECK, .limit = 5, .runs = 3, .median = 7.3, .longest = 8, .reject = 0.9 },
      FT_ACTION_WARN },
    { { FT_MODE_RAISE, .limit = 5, .runs = 12, .median = 7.3, .longest = 8, .reject = 0.9 },
      FT_ACTION_RAISE },
  };

  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct decided *got = calloc(1, sizeof *got);

    assert_non_null(got);
    decide(&cases[i].scene, got);
    if (got->d.sizing.action != cases[i].action)
      fail_msg("case %zu: %s: %s", i, ft_action_name(got->d.sizing.action), got->said.line[0]);
    free(got);
  }
}

static void of_an_array_the_probability_is_that_of_any_task(void **state)
{
  const struct scene scene = { FT_MODE_CHECK, .limit = 8,     .runs = 30,
                               .median = 7.3, .longest = 7.5, .tasks = 10 };
  struct decided *got = calloc(1, sizeof *got);
  ft_decision record = { 0 };

  (void)state;
  assert_non_null(got);
  decide(&scene, got);
  assert_int_equal(got->d.sizing.action, FT_ACTION_WARN);
  assert_non_null(strstr(got->said.line[0], "13 % for one task, 74 % for any of 10"));
  ft_time_record(&got->d, &record);
  assert_int_equal(record.time_mode, FT_MODE_CHECK);
  assert_true(record.has_p50_seconds && fabs(record.p50_seconds - 438) < 1);
  free(got);
}

static void a_limit_is_written_as_slurm_reads_it(void **state)
{
  static const struct {
    double seconds;
    const char *text;
  } cases[] = { { 300, "5" },        { 90, "1:30" },          { 3600, "1:00:00" },
                { 5400, "1:30:00" }, { 86400, "1-00:00:00" }, { 90061, "1-01:01:01" },
                { 3540, "59" } };
  char text[FT_TIME_VALUE];

  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_string_equal(ft_time_value(cases[i].seconds, text), cases[i].text);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_mode_does_what_its_name_says),
    cmocka_unit_test(only_a_limit_that_all_comparable_runs_exceeded_is_rejected),
    cmocka_unit_test(of_an_array_the_probability_is_that_of_any_task),
    cmocka_unit_test(a_limit_is_written_as_slurm_reads_it),
  };

  return cmocka_run_group_tests_name("time_decision", tests, NULL, NULL);
}
