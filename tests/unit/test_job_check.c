/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of agents against Slurm's records of their jobs. */
#include "config.h"

#include "tests/unit/unit.h"

#include "learner/cluster/job_check.h"
#include "learner/cluster/node_list.h"

/* USER: a uid. FRESH, OLD: times at which the record is some seconds old, or much older. */
enum { JOB = 7, USER = 1001, FRESH = 100, OLD = 200 };

static struct ft_job_checks *checks;
static ft_observation run;
static ft_slurm_job record;

static int begin(void **state)
{
  (void)state;
  checks = ft_job_checks_open();
  assert_non_null(checks);
  run = (ft_observation){ .job_id = JOB, .uid = USER, .user = "ada", .node = "n2" };
  record = (ft_slurm_job){ .job_id = JOB, .known = true, .uid = USER, .user = "ada", .nodes = 3 };
  return 0;
}

static int end(void **state)
{
  (void)state;
  ft_job_checks_close(checks);
  return 0;
}

/* Slurm replies with the record and a list of nodes. */
static void add_record(const char *nodes)
{
  const struct ft_slurm_reply reply = { .record = &record, .nodes = ft_text_from(nodes) };

  ft_job_checks_add(checks, record.job_id, &reply, FRESH);
}

static enum ft_job_match compare(bool asked, double now)
{
  struct ft_error err = { "" };
  enum ft_job_match match = ft_job_checks_compare(checks, &run, asked, now, &err);

  assert_true(match != FT_JOB_DIFFERS || err.text[0]);
  return match;
}

static void a_run_of_slurms_record_matches(void **state)
{
  (void)state;
  add_record("n[1-3]");
  assert_int_equal(compare(false, FRESH), FT_JOB_MATCHES);
  assert_int_equal(compare(false, 1e6), FT_JOB_MATCHES);
  run.user[0] = '\0'; /* an agent that had no record */
  assert_int_equal(compare(false, FRESH), FT_JOB_MATCHES);
  (void)snprintf(run.user, sizeof run.user, "%d", USER); /* a record without the user's name */
  assert_int_equal(compare(false, FRESH), FT_JOB_MATCHES);
}

static void a_lie_about_user_or_node_differs(void **state)
{
  static const struct {
    uint32_t uid;
    const char *user, *node;
  } lies[] = { { 1002, "ada", "n2" }, { 0, "", "n2" },     { USER, "bob", "n2" },
               { USER, "ada", "n4" }, { USER, "ada", "" }, { USER, "ada", "n02" } };

  (void)state;
  add_record("n[1-3]");
  for (size_t i = 0; i < COUNT_OF(lies); i++) {
    run.uid = lies[i].uid;
    (void)snprintf(run.user, sizeof run.user, "%s", lies[i].user);
    (void)snprintf(run.node, sizeof run.node, "%s", lies[i].node);
    assert_int_equal(compare(false, FRESH), FT_JOB_DIFFERS);
    assert_int_equal(compare(true, OLD), FT_JOB_DIFFERS);
    /* the job's record may have changed since */
    assert_int_equal(compare(false, OLD), FT_JOB_UNASKED);
  }
}

static void a_job_that_slurm_has_not_got_differs(void **state)
{
  static const struct ft_slurm_reply absent = { .absent = true };

  (void)state;
  assert_int_equal(compare(false, FRESH), FT_JOB_UNASKED);
  ft_job_checks_add(checks, JOB, &absent, FRESH);
  assert_int_equal(compare(false, FRESH), FT_JOB_DIFFERS);
  assert_int_equal(compare(false, OLD), FT_JOB_UNASKED);
  assert_int_equal(compare(true, OLD), FT_JOB_DIFFERS);
  run.job_id = 0;
  assert_int_equal(compare(true, FRESH), FT_JOB_DIFFERS);
}

static void without_a_reply_of_slurm_a_run_is_not_compared(void **state)
{
  static const struct ft_slurm_reply none;

  (void)state;
  ft_job_checks_add(checks, JOB, &none, FRESH);
  assert_int_equal(compare(true, FRESH), FT_JOB_UNKNOWN);
  assert_int_equal(compare(false, OLD), FT_JOB_UNASKED);
  add_record(""); /* without a list of nodes */
  assert_int_equal(compare(false, OLD), FT_JOB_MATCHES);
  add_record("(null)");
  assert_int_equal(compare(true, OLD), FT_JOB_DIFFERS);
}

/* Of a job that was requeued Slurm names the nodes of the last attempt only. */
static void an_attempt_is_compared_with_a_record_that_knows_it(void **state)
{
  (void)state;
  record.restart_count = 1;
  add_record("n9");
  assert_int_equal(compare(false, FRESH), FT_JOB_MATCHES);
  run.uid = 1002;
  assert_int_equal(compare(false, FRESH), FT_JOB_DIFFERS);
  run.uid = USER;
  run.restart_count = 1;
  assert_int_equal(compare(false, FRESH), FT_JOB_DIFFERS);
  run.restart_count = 2;
  assert_int_equal(compare(false, FRESH), FT_JOB_UNASKED);
  assert_int_equal(compare(true, FRESH), FT_JOB_DIFFERS);
}

static void a_runs_place_in_its_job_is_slurms(void **state)
{
  (void)state;
  run.array_job_id = 4;
  run.array_task_id = 5;
  run.allocated_nodes = 5000;
  ft_job_checks_complete(checks, &run);
  assert_int_equal(run.array_job_id, 4);
  record.identified = true;
  record.array_job_id = 6;
  record.array_task_id = 2;
  add_record("n[1-3]");
  ft_job_checks_complete(checks, &run);
  assert_int_equal(run.array_job_id, 6);
  assert_int_equal(run.array_task_id, 2);
  assert_int_equal(run.allocated_nodes, 3);
}

static void the_oldest_records_are_forgotten(void **state)
{
  (void)state;
  for (uint32_t i = 0; i < 70000; i++) {
    record.job_id = JOB + i % 50000;
    add_record("n2");
  }
  run.job_id = record.job_id;
  assert_int_equal(compare(false, FRESH), FT_JOB_MATCHES);
  run.job_id = record.job_id + 1;
  assert_int_equal(compare(false, FRESH), FT_JOB_UNASKED);
}

static void node_lists_are_slurms(void **state)
{
  static const struct {
    const char *list, *name;
    bool has;
  } cases[] = {
    { "n1", "n1", true },
    { "n1", "n", false },
    { "n1", "n10", false },
    { "n[1-3,7],gpu1", "n3", true },
    { "n[1-3,7],gpu1", "n7", true },
    { "n[1-3,7],gpu1", "gpu1", true },
    { "n[1-3,7],gpu1", "n4", false },
    { "n[1-3,7],gpu1", "n", false },
    { "n[1-3,7],gpu1", "n17", false },
    { "n[001-128]", "n007", true },
    { "n[001-128]", "n7", false },
    { "n[001-128]", "n0007", false },
    { "n[08-11]", "n08", true },
    { "n[8-11]", "n11", true },
    { "n[8-11]", "n08", false },
    { "n[98-101]", "n100", true },
    { "rack[0-1]node[01-16]", "rack1node16", true },
    { "rack[0-1]node[01-16]", "rack2node16", false },
    { "r[1-12][1-2]", "r122", true },
    { "one-32074", "one-32074", true },
    { "n[1-2]-ib,n9", "n2-ib", true },
    { "(null)", "n1", false },
    { "None assigned", "n1", false },
    { "", "n1", false },
    { "n1,", "n2", false },
    { "n[", "n1", false },
    { "n[]", "n1", false },
    { "n[1-", "n1", false },
    { "n[x]", "nx", false },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    if (ft_node_list_has(ft_text_from(cases[i].list), cases[i].name) != cases[i].has)
      fail_msg("%s in %s", cases[i].name, cases[i].list);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(a_run_of_slurms_record_matches, begin, end),
    cmocka_unit_test_setup_teardown(a_lie_about_user_or_node_differs, begin, end),
    cmocka_unit_test_setup_teardown(a_job_that_slurm_has_not_got_differs, begin, end),
    cmocka_unit_test_setup_teardown(without_a_reply_of_slurm_a_run_is_not_compared, begin, end),
    cmocka_unit_test_setup_teardown(an_attempt_is_compared_with_a_record_that_knows_it, begin, end),
    cmocka_unit_test_setup_teardown(a_runs_place_in_its_job_is_slurms, begin, end),
    cmocka_unit_test_setup_teardown(the_oldest_records_are_forgotten, begin, end),
    cmocka_unit_test(node_lists_are_slurms),
  };

  return cmocka_run_group_tests_name("job_check", tests, NULL, NULL);
}
