/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How Slurm's record of a job completes a run that a node has measured. */
#include "config.h"

#include "tests/unit/unit.h"

#include "learner/cluster/slurm_job.h"

/* A record of a job that began at 5000; it has ended at 5100 if it is final. */
static ft_slurm_job record(bool final, ft_outcome outcome)
{
  return (ft_slurm_job){ .uid = 1000,
                         .user = "ann",
                         .partition = "main",
                         .account = "phys",
                         .name = "train",
                         .submit_time = 4990,
                         .start_time = 5000,
                         .end_time = final ? 5100 : 0,
                         .time_limit_seconds = 600,
                         .nodes = 2,
                         .final = final,
                         .outcome = outcome };
}

/* A run of 100 s that ended at END. */
static ft_observation run_until(double end, ft_outcome outcome, bool unsettled)
{
  return (ft_observation){ .schema = FT_SCHEMA,
                           .uid = 1000,
                           .start_time = end - 100,
                           .end_time = end,
                           .runtime_seconds = 100,
                           .outcome = outcome,
                           .censored = outcome != FT_OUTCOME_COMPLETED,
                           .unsettled = unsettled };
}

static void the_node_and_slurm_share_the_outcome(void **state)
{
  static const struct {
    const char *what;
    ft_outcome node;
    bool unsettled, final; /* the node's; Slurm's */
    ft_outcome slurm, outcome;
    bool waits; /* for a later record */
  } cases[] = {
    { "an exit code needs no end in Slurm", FT_OUTCOME_COMPLETED, false, false, FT_OUTCOME_UNKNOWN,
      FT_OUTCOME_COMPLETED, false },
    { "an exit code counts", FT_OUTCOME_FAILED, false, true, FT_OUTCOME_CANCELLED,
      FT_OUTCOME_FAILED, false },
    { "the kernel's kill counts", FT_OUTCOME_OUT_OF_MEMORY, false, true, FT_OUTCOME_FAILED,
      FT_OUTCOME_OUT_OF_MEMORY, false },
    { "a signal is Slurm's", FT_OUTCOME_UNKNOWN, true, true, FT_OUTCOME_CANCELLED,
      FT_OUTCOME_CANCELLED, false },
    { "a signal while the job completes", FT_OUTCOME_UNKNOWN, true, false, FT_OUTCOME_UNKNOWN,
      FT_OUTCOME_UNKNOWN, true },
    { "a preempted job", FT_OUTCOME_UNKNOWN, true, true, FT_OUTCOME_PREEMPTED, FT_OUTCOME_PREEMPTED,
      false },
    { "a kill at the limit", FT_OUTCOME_OUT_OF_MEMORY, true, true, FT_OUTCOME_CANCELLED,
      FT_OUTCOME_OUT_OF_MEMORY, false },
    { "a kill at both limits", FT_OUTCOME_OUT_OF_MEMORY, true, true, FT_OUTCOME_TIMEOUT,
      FT_OUTCOME_TIMEOUT, false },
    { "a kill at the limit, not over yet", FT_OUTCOME_OUT_OF_MEMORY, true, false,
      FT_OUTCOME_UNKNOWN, FT_OUTCOME_OUT_OF_MEMORY, true },
    { "stopped processes", FT_OUTCOME_COMPLETED, true, true, FT_OUTCOME_COMPLETED,
      FT_OUTCOME_COMPLETED, false },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_observation run = run_until(5100, cases[i].node, cases[i].unsettled);
    const ft_slurm_job r = record(cases[i].final, cases[i].slurm);

    ft_slurm_job_complete(&r, &run);
    if (run.outcome != cases[i].outcome || run.unsettled != cases[i].waits ||
        run.censored != (run.outcome != FT_OUTCOME_COMPLETED))
      fail_msg("%s: outcome %d, %s", cases[i].what, run.outcome, run.unsettled ? "waits" : "done");
    assert_true(run.submit_time == 4990 && run.allocated_nodes == 2);
    assert_string_equal(run.user, "ann");
    assert_string_equal(run.account, "phys");
    assert_string_equal(run.partition, "main");
    assert_string_equal(run.submission.job_name, "train");
  }
}

/* A script that catches Slurm's SIGTERM, of whatever exit code. */
static void at_the_time_limit_slurms_state_counts(void **state)
{
  (void)state;
  for (int slow = 0; slow < 2; slow++) {
    ft_observation run = run_until(5100, FT_OUTCOME_COMPLETED, false);
    ft_slurm_job r = record(false, FT_OUTCOME_UNKNOWN);

    r.time_limit_seconds = slow ? 100 : 120;
    ft_slurm_job_complete(&r, &run);
    assert_int_equal(run.unsettled, slow);
    r = record(true, FT_OUTCOME_TIMEOUT);
    r.time_limit_seconds = slow ? 100 : 120;
    ft_slurm_job_complete(&r, &run);
    assert_int_equal(run.outcome, slow ? FT_OUTCOME_TIMEOUT : FT_OUTCOME_COMPLETED);
    assert_false(run.unsettled);
  }
}

/* The record of a job is that of its latest attempt, and a user may change the count of a run. */
static void an_attempt_is_known_by_its_time(void **state)
{
  static const struct {
    const char *what;
    uint32_t claimed, slurm; /* restart counts */
    double slurm_start, end; /* of Slurm's attempt; of the run */
    uint32_t count;
    bool earlier;
  } cases[] = {
    { "the only attempt", 0, 0, 5000, 5100, 0, false },
    { "a count that a user invented", 5, 0, 5000, 5100, 0, false },
    { "before the latest", 0, 1, 5300, 5100, 0, true },
    { "the latest", 1, 1, 5300, 5400, 1, false },
    { "the latest without its count", 0, 2, 5300, 5400, 2, false },
    { "an earlier one with the count of the latest", 1, 1, 5300, 5100, 0, true },
    { "an earlier one with an invented count", 7, 3, 5300, 5100, 2, true },
    { "the node's clock is behind", 1, 1, 5350, 5400, 1, false },
    { "no start is known", 0, 1, 0, 5100, 0, true },
    { "no start is known, the latest", 1, 1, 0, 5100, 1, false },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_observation run = run_until(cases[i].end, FT_OUTCOME_UNKNOWN, true);
    ft_slurm_job r = record(false, FT_OUTCOME_UNKNOWN);

    run.restart_count = cases[i].claimed;
    r.restart_count = cases[i].slurm;
    r.start_time = cases[i].slurm_start;
    ft_slurm_job_complete(&r, &run);
    if (run.restart_count != cases[i].count ||
        (run.outcome == FT_OUTCOME_REQUEUED) != cases[i].earlier ||
        run.unsettled == cases[i].earlier || (run.submit_time == 0) != cases[i].earlier)
      fail_msg("%s: restart %u, outcome %d", cases[i].what, run.restart_count, run.outcome);
  }
}

/* A job's environment may call it a component or an array task: its runs would not be one. */
static void only_slurm_names_array_tasks_and_components(void **state)
{
  ft_observation run = run_until(5100, FT_OUTCOME_COMPLETED, false);
  ft_slurm_job r = record(false, FT_OUTCOME_UNKNOWN);

  (void)state;
  run.array_job_id = 50;
  run.array_task_id = 7;
  run.het_offset = 2;
  ft_slurm_job_complete(&r, &run);
  assert_int_equal(run.array_job_id, 50);
  r.identified = true;
  r.array_job_id = 90;
  r.array_task_id = 3;
  ft_slurm_job_complete(&r, &run);
  assert_int_equal(run.array_job_id, 90);
  assert_int_equal(run.array_task_id, 3);
  assert_int_equal(run.het_offset, 0);
}

static void suspended_time_is_no_run_time(void **state)
{
  ft_observation run = run_until(5100, FT_OUTCOME_COMPLETED, true);
  ft_slurm_job r = record(true, FT_OUTCOME_COMPLETED);

  (void)state;
  r.suspended_seconds = 70;
  ft_slurm_job_complete(&r, &run);
  assert_true(run.runtime_seconds == 30);
  ft_slurm_job_complete(&r, &run);
  assert_true(run.runtime_seconds == 30);
}

/* Slurm's time of an end that the node did not see, beside a clock that may jump. */
static void a_clock_that_jumps_changes_no_duration(void **state)
{
  static const struct {
    const char *what;
    double start, end, runtime; /* by the node: UTC, UTC and monotonic */
    bool over;
    double slurm_end;
    double expected_end, expected_runtime;
  } cases[] = {
    { "noticed 40 s late", 5000, 5100, 100, true, 5060, 5060, 60 },
    { "at once", 5000, 5100, 100, true, 5100, 5100, 100 },
    { "the clock was put on a day", 5000, 91500, 100, true, 91460, 91460, 60 },
    { "the clock was put back a day", 95000, 8700, 100, true, 8660, 8660, 60 },
    { "since the end put on", 5000, 91500, 100, true, 5060, 91500, 100 },
    { "Slurm's clock is ahead", 5000, 5100, 100, true, 5130, 5100, 100 },
    { "no end is known", 5000, 5100, 100, true, 0, 5100, 100 },
    { "it is not over", 5000, 5100, 100, false, 5060, 5100, 100 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_observation run = run_until(cases[i].end, FT_OUTCOME_UNKNOWN, true);
    ft_slurm_job r = record(cases[i].over, FT_OUTCOME_CANCELLED);

    run.start_time = cases[i].start;
    run.peak_is_bound = true;
    r.end_time = cases[i].slurm_end;
    ft_slurm_job_complete(&r, &run);
    if (run.end_time != cases[i].expected_end || run.runtime_seconds != cases[i].expected_runtime)
      fail_msg("%s: %g s, until %g", cases[i].what, run.runtime_seconds, run.end_time);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_node_and_slurm_share_the_outcome),
    cmocka_unit_test(at_the_time_limit_slurms_state_counts),
    cmocka_unit_test(an_attempt_is_known_by_its_time),
    cmocka_unit_test(only_slurm_names_array_tasks_and_components),
    cmocka_unit_test(suspended_time_is_no_run_time),
    cmocka_unit_test(a_clock_that_jumps_changes_no_duration),
  };

  return cmocka_run_group_tests_name("slurm_job", tests, NULL, NULL);
}
