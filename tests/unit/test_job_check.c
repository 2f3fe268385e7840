/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of agents against Slurm's records of their jobs. */
#include "config.h"

#include "tests/unit/unit.h"

#include "learner/cluster/job_check.h"
#include "learner/cluster/node_list.h"

enum { JOB = 7, USER = 1001 };

static struct ft_known_job *known;
static ft_observation run;
static ft_slurm_job record;

static int begin(void **state)
{
  (void)state;
  known = NULL;
  run = (ft_observation){ .job_id = JOB, .uid = USER, .user = "ada", .node = "n2" };
  record = (ft_slurm_job){ .uid = USER, .user = "ada", .nodes = 3, .submit_time = 4990 };
  return 0;
}

static int end(void **state)
{
  (void)state;
  free(known);
  return 0;
}

static void add_reply(const struct ft_slurm_reply *reply)
{
  free(known);
  known = ft_known_job_new(reply);
  assert_non_null(known);
}

/* Slurm replies with the record and a list of nodes. */
static void add_record(const char *nodes)
{
  add_reply(&(struct ft_slurm_reply){ .record = &record, .nodes = ft_text_from(nodes) });
}

/* Joins a copy of the run, which `joined` is then. */
static ft_observation joined;

static enum ft_job_match join(void)
{
  struct ft_error err = { "" };
  enum ft_job_match match;

  joined = run;
  match = ft_known_job_join(known, &joined, &err);
  assert_true(match != FT_JOB_DIFFERS || err.text[0]);
  return match;
}

static void a_run_of_slurms_record_matches(void **state)
{
  (void)state;
  assert_int_equal(join(), FT_JOB_UNKNOWN);
  add_record("n[1-3]");
  assert_int_equal(join(), FT_JOB_MATCHES);
  assert_true(joined.submit_time == 4990);
  assert_int_equal(joined.allocated_nodes, 3);
  run.user[0] = '\0';
  assert_int_equal(join(), FT_JOB_MATCHES);
  (void)snprintf(run.user, sizeof run.user, "%d", USER); /* a record without the user's name */
  assert_int_equal(join(), FT_JOB_MATCHES);
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
    assert_int_equal(join(), FT_JOB_DIFFERS);
  }
}

static void a_job_that_slurm_has_not_got_differs(void **state)
{
  static const struct ft_slurm_reply absent = { .gone = true, .absent = true };

  (void)state;
  add_reply(&absent);
  assert_int_equal(join(), FT_JOB_DIFFERS);
}

static void without_a_reply_of_slurm_a_run_is_not_compared(void **state)
{
  static const struct ft_slurm_reply none, gone = { .gone = true };

  (void)state;
  add_reply(&none);
  assert_int_equal(join(), FT_JOB_UNKNOWN);
  add_reply(&gone);
  assert_int_equal(join(), FT_JOB_GONE);
  add_record(""); /* without a list of nodes */
  assert_int_equal(join(), FT_JOB_MATCHES);
  add_record("(null)");
  assert_int_equal(join(), FT_JOB_DIFFERS);
}

/* Of a job that was requeued Slurm names the nodes of the last attempt only. */
static void an_attempt_is_compared_with_its_own_record(void **state)
{
  (void)state;
  record.restart_count = 1;
  add_record("n9");
  assert_int_equal(join(), FT_JOB_MATCHES);
  run.uid = 1002;
  assert_int_equal(join(), FT_JOB_DIFFERS);
  run.uid = USER;
  run.restart_count = 1;
  assert_int_equal(join(), FT_JOB_DIFFERS);
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
    cmocka_unit_test_setup_teardown(an_attempt_is_compared_with_its_own_record, begin, end),
    cmocka_unit_test(node_lists_are_slurms),
  };

  return cmocka_run_group_tests_name("job_check", tests, NULL, NULL);
}
