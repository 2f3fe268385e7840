/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An end without an announcement: Slurm's time of it, beside a clock that may jump. */
#include "config.h"

#include "tests/unit/unit.h"

#include "agent/job.h"

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
    ft_observation *o = calloc(1, sizeof *o);
    struct job job = { .o = o };
    ft_slurm_job answer = { .final = cases[i].over, .end_time = cases[i].slurm_end };

    assert_non_null(o);
    o->start_time = cases[i].start;
    o->end_time = cases[i].end;
    o->runtime_seconds = cases[i].runtime;
    ft_job_apply_end(&job, &answer);
    if (o->end_time != cases[i].expected_end || o->runtime_seconds != cases[i].expected_runtime)
      fail_msg("%s: %g s, until %g", cases[i].what, o->runtime_seconds, o->end_time);
    ft_job_apply_end(&job, NULL);
    assert_true(o->runtime_seconds == cases[i].expected_runtime);
    free(o);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_clock_that_jumps_changes_no_duration),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
