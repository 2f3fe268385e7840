/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries about many jobs: the replies of real programs, and commands that are shell scripts. */
#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "learner/cluster/job_owner.h"
#include "learner/cluster/job_replies.h"
#include "learner/cluster/slurm_query.h"
#include "predictor/core/io.h"

/* ---- replies ---- */

static struct ft_buf reply_fixture(const char *name)
{
  const char *top = getenv("FT_TOP_SRCDIR");
  char path[PATH_MAX];
  struct ft_error err;
  struct ft_buf buf;

  ft_buf_init(&buf, FT_LIMIT_COMMAND);
  (void)snprintf(path, sizeof path, "%s/tests/fixtures/scontrol/%s", top ? top : ".", name);
  if (ft_io_read_file(AT_FDCWD, path, &buf, &err) < 0)
    fail_msg("%s", err.text);
  return buf;
}

static void commands_have_a_mark_before_each_job(void **state)
{
  static const uint32_t jobs[] = { 7, 9 };
  struct ft_reply_mark mark;
  struct ft_buf out;

  (void)state;
  ft_buf_init(&out, FT_LIMIT_RECORD);
  ft_reply_mark_set(&mark, 0x2a);
  assert_int_equal(ft_job_commands(jobs, 2, &mark, &out), 0);
  assert_string_equal(ft_buf_text(&out), "show hostnames foretell-000000000000002a\nshow job 7\n"
                                         "show hostnames foretell-000000000000002a\nshow job 9\n"
                                         "show hostnames foretell-000000000000002a\n");
  ft_buf_free(&out);
}

/* Slurm 22.05 was asked about jobs 110, 999, 1 and 4; job 110's name has a line of its own that
 * is a record of job 1. */
static void a_job_name_cannot_imitate_another_jobs_record(void **state)
{
  struct ft_buf fixture = reply_fixture("batch");
  struct ft_text output = ft_text_of(ft_buf_text(&fixture), fixture.length), reply;
  struct ft_reply_mark mark;
  struct ft_text nodes;
  ft_slurm_job job;
  struct ft_error err;
  char why[256];

  (void)state;
  ft_reply_mark_set(&mark, 0x2a);
  assert_true(ft_job_reply_next(&output, &mark, &reply));
  assert_int_equal(ft_scontrol_job(reply, 1, &job, &nodes, &err), 0);
  assert_int_equal(job.outcome, FT_OUTCOME_FAILED);
  assert_true(ft_job_reply_next(&output, &mark, &reply));
  assert_int_equal(ft_scontrol_job(reply, 999, &job, &nodes, &err), -1);
  assert_true(ft_job_reply_next(&output, &mark, &reply));
  assert_int_equal(ft_scontrol_job(reply, 1, &job, &nodes, &err), 0);
  assert_int_equal(job.outcome, FT_OUTCOME_COMPLETED);
  assert_true(ft_job_reply_next(&output, &mark, &reply));
  assert_int_equal(ft_scontrol_job(reply, 4, &job, &nodes, &err), 0);
  assert_true(ft_text_equals(nodes, "one-32074"));
  assert_int_equal(ft_scontrol_job(reply, 7, &job, &nodes, &err), 0);
  assert_false(ft_job_reply_next(&output, &mark, &reply));
  /* a job that does not exist is no error */
  output = ft_text_of(ft_buf_text(&fixture), fixture.length);
  assert_false(ft_job_reply_error(output, why, sizeof why));
  /* the marks of another command are none */
  ft_reply_mark_set(&mark, 0x2b);
  assert_false(ft_job_reply_next(&output, &mark, &reply));
  ft_buf_free(&fixture);
}

static void a_scontrol_without_readline_prints_no_commands(void **state)
{
  struct ft_text output = ft_text_from("scontrol: foretell-000000000000002a\n"
                                       "scontrol: JobId=5 JobName=x UserId=root(0) "
                                       "JobState=COMPLETED\n\n"
                                       "scontrol: foretell-000000000000002a\n"
                                       "scontrol: JobId=6 JobName=x UserId=root(0) "
                                       "JobState=COMPLETING Restarts=1\n\n"
                                       "scontrol: foretell-000000000000002a\nscontrol: ");
  struct ft_text reply;
  struct ft_reply_mark mark;
  struct ft_text nodes;
  ft_slurm_job job;
  struct ft_error err;
  char why[32];

  (void)state;
  ft_reply_mark_set(&mark, 0x2a);
  assert_true(ft_job_reply_next(&output, &mark, &reply));
  assert_int_equal(ft_scontrol_job(reply, 5, &job, &nodes, &err), 0);
  assert_true(job.final && !job.ending);
  assert_true(ft_job_reply_next(&output, &mark, &reply));
  assert_int_equal(ft_scontrol_job(reply, 6, &job, &nodes, &err), 0);
  assert_true(job.ending && !job.final);
  assert_false(ft_job_reply_next(&output, &mark, &reply));
  assert_true(ft_job_reply_error(ft_text_from("slurm_load_jobs error: Unable to contact\n"), why,
                                 sizeof why));
  assert_string_equal(why, "slurm_load_jobs error: Unable t");
}

static void the_database_has_the_last_run_of_a_job(void **state)
{
  static const uint32_t jobs[] = { 10, 4, 7, 999, 110 };
  static ft_slurm_job out[COUNT_OF(jobs)];
  struct ft_text nodes[COUNT_OF(jobs)];
  struct ft_buf fixture = reply_fixture("sacct");

  (void)state;
  ft_sacct_jobs(ft_text_of(ft_buf_text(&fixture), fixture.length), jobs, COUNT_OF(jobs), out,
                nodes);
  assert_true(out[0].known);
  assert_true(out[0].final);
  assert_int_equal(out[0].outcome, FT_OUTCOME_CANCELLED);
  assert_int_equal(out[0].restart_count, 1);
  assert_true(out[0].submit_time == 1795646179);
  assert_true(out[0].end_time == 1795646526);
  assert_true(out[0].time_limit_seconds == 3600);
  assert_string_equal(out[0].user, "root");
  assert_string_equal(out[0].partition, "main");
  assert_int_equal(out[1].outcome, FT_OUTCOME_COMPLETED);
  assert_int_equal(out[1].restart_count, 0);
  assert_true(out[2].known);
  assert_false(out[3].known);
  assert_int_equal(out[4].outcome, FT_OUTCOME_FAILED);
  assert_null(nodes[3].at);
  assert_true(ft_text_equals(nodes[4], "one-32074"));
  ft_buf_free(&fixture);
}

static void a_run_of_the_database_that_has_not_ended_is_unknown(void **state)
{
  static const uint32_t jobs[] = { 5, 6 };
  ft_slurm_job out[2];
  struct ft_text nodes[2];

  (void)state;
  ft_sacct_jobs(
      ft_text_from("5|REQUEUED|2026-11-25T22:00:00|2026-11-25T22:01:00|00:00:00|60|m|0|r|5|n[1-2]\n"
                   "5|RUNNING|2026-11-25T22:01:00|Unknown|00:00:00|60|m|0|r|5|n[1-2]\n"
                   "6|COMPLETED|2026-11-25T22:01:00|2026-11-25T22:02:00|00:00:07|"
                   "UNLIMITED|m|1|r|6|n1\n"
                   "6|FAILED|2026-11-25T22:03:00|2026-11-25T22:04:00|00:00:07|60|m|1|r\n"
                   "sacct: error: something\n"),
      jobs, 2, out, nodes);
  assert_false(out[0].known);
  assert_true(out[1].known);
  assert_int_equal(out[1].outcome, FT_OUTCOME_COMPLETED);
  assert_int_equal(out[1].uid, 1);
  assert_true(out[1].suspended_seconds == 7);
  assert_true(out[1].time_limit_seconds == 0);
  assert_true(ft_text_equals(nodes[0], "n[1-2]")); /* the database has job 5 */
}

static void the_database_names_array_tasks_and_components(void **state)
{
  static const uint32_t jobs[] = { 5, 6, 7, 8 };
  static const struct {
    uint32_t array, task, het;
  } expected[] = { { 0, 0, 0 }, { 4, 3, 0 }, { 0, 0, 2 } };
  ft_slurm_job out[COUNT_OF(jobs)];
  struct ft_text nodes[COUNT_OF(jobs)];

  (void)state;
#define ROW(raw, id)                                                                               \
  raw "|FAILED|2026-11-25T22:00:00|2026-11-25T22:01:00|00:00:00|60|m|0|r|" id "|n1\n"
  ft_sacct_jobs(ft_text_from(ROW("5", "5") ROW("6", "4_3") ROW("7", "5+2") ROW("8", "4_[5-9]")),
                jobs, COUNT_OF(jobs), out, nodes);
#undef ROW
  for (size_t i = 0; i < COUNT_OF(expected); i++) {
    assert_true(out[i].known && out[i].identified);
    assert_int_equal(out[i].array_job_id, expected[i].array);
    assert_int_equal(out[i].array_task_id, expected[i].task);
    assert_int_equal(out[i].het_offset, expected[i].het);
  }
  assert_true(out[3].known && !out[3].identified);
}

/* ---- commands ---- */

/*
 * A scontrol that counts its starts. It prints a record of each job but 5 and 55, which do not
 * exist, and 7, whose record does not end.
 */
static const char stand_in[] =
    "#!/bin/sh\n"
    "echo >>\"$0.starts\"\n"
    "[ ! -e \"$0.fails\" ] || { echo no controller; exit 1; }\n"
    "while read -r verb what name; do\n"
    "  case $what$name in\n"
    "  hostnames*) echo \"$name\" ;;\n"
    "  job5 | job55) echo 'slurm_load_jobs error: Invalid job id' >&2 ;;\n"
    "  job7) exec yes JobId=8 ;;\n"
    "  *) echo \"JobId=$name JobName=x UserId=root(0) JobState=FAILED\" ;;\n"
    "  esac\n"
    "done\n"
    "exit 1\n";

/* A sacct that prints a record of job 5. */
static const char stand_in_sacct[] =
    "#!/bin/sh\n"
    "echo >>\"$0.starts\"\n"
    "echo '5|COMPLETED|2026-11-25T22:01:00|2026-11-25T22:02:00|00:00:00|60|main|0|root|5|n1'\n";

static char folder[64];
static struct ft_loop *query_loop;
static struct ft_subprocesses *query_children;
static struct ft_slurm_query *slurm_query;
static unsigned replies, records, absent, awaited;
static ft_slurm_job last_record;

static void write_program(const char *name, const char *text)
{
  char path[PATH_MAX];
  int fd;

  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
  assert_true(fd >= 0);
  assert_int_equal(ft_io_write_all(fd, text, strlen(text)), 0);
  close(fd);
}

/* Returns how often the program NAME was started. */
static unsigned starts_of(const char *name)
{
  char path[PATH_MAX];
  struct stat about;

  (void)snprintf(path, sizeof path, "%s/%s.starts", folder, name);
  return stat(path, &about) == 0 ? (unsigned)about.st_size : 0;
}

static void slurm_replied(uint32_t job_id, const struct ft_slurm_reply *reply, void *data)
{
  (void)job_id;
  (void)data;
  replies++;
  records += reply->record != NULL;
  absent += reply->absent;
  if (reply->record)
    last_record = *reply->record;
  if (replies == awaited)
    ft_loop_stop(query_loop);
}

/* Queries COUNT jobs and waits for the replies. */
static void query_all(const uint32_t *job_id, size_t count)
{
  struct ft_error err;

  replies = records = absent = 0;
  awaited = (unsigned)count;
  assert_int_equal(ft_slurm_query_submit(slurm_query, job_id, count), 0);
  assert_int_equal(replies, 0);
  assert_int_equal(ft_loop_run(query_loop, &err), 0);
}

static int open_query(void **state)
{
  static const int signals[] = { SIGTERM, 0 };
  struct ft_error err;

  (void)state;
  (void)snprintf(folder, sizeof folder, "/tmp/ft-query-XXXXXX");
  assert_non_null(mkdtemp(folder));
  write_program("scontrol", stand_in);
  write_program("sacct", stand_in_sacct);
  query_loop = ft_loop_open(signals, &err);
  assert_non_null(query_loop);
  query_children = ft_subprocesses_open(query_loop);
  assert_non_null(query_children);
  slurm_query = ft_slurm_query_open(query_loop, query_children, slurm_replied, NULL);
  assert_non_null(slurm_query);
  ft_slurm_query_set_directory(slurm_query, folder);
  return 0;
}

static int close_query(void **state)
{
  static const char *const names[] = { "scontrol", "scontrol.starts", "scontrol.fails", "sacct",
                                       "sacct.starts" };
  char path[PATH_MAX];

  (void)state;
  ft_slurm_query_close(slurm_query);
  ft_subprocesses_close(query_children);
  ft_loop_close(query_loop);
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    (void)unlink(path);
  }
  return rmdir(folder);
}

static void many_jobs_share_a_command(void **state)
{
  static uint32_t jobs[600];

  (void)state;
  for (uint32_t i = 0; i < COUNT_OF(jobs); i++)
    jobs[i] = 100 + i / 2; /* as of two nodes */
  query_all(jobs, COUNT_OF(jobs));
  assert_int_equal(records, COUNT_OF(jobs));
  assert_int_equal(starts_of("scontrol"), 2); /* of 256 and 44 jobs */
  assert_int_equal(last_record.outcome, FT_OUTCOME_FAILED);
}

static void a_job_that_slurmctld_has_forgotten_is_in_the_database(void **state)
{
  static const uint32_t jobs[] = { 4, 5, 6 };

  (void)state;
  query_all(jobs, COUNT_OF(jobs));
  assert_int_equal(records, 2);
  assert_int_equal(starts_of("sacct"), 0);
  ft_slurm_query_set_slurmdbd(slurm_query, true);
  query_all(jobs, COUNT_OF(jobs));
  assert_int_equal(records, 3);
  assert_int_equal(last_record.outcome, FT_OUTCOME_COMPLETED);
  assert_int_equal(starts_of("sacct"), 1);
}

/* A slurmctld that limits requests replies to three of a command's. */
static void a_limited_slurmctld_is_relieved_by_the_database(void **state)
{
  enum { LIMIT = 3 };
  static uint32_t jobs[40];

  (void)state;
  write_program("scontrol", "#!/bin/sh\n"
                            "echo >>\"$0.starts\"\n"
                            "for left in 3 2 1 0; do\n"
                            "  read -r verb what mark && echo \"$mark\"\n"
                            "  [ $left -gt 0 ] && read -r verb what name || break\n"
                            "  echo \"JobId=$name JobName=x UserId=root(0) JobState=FAILED\"\n"
                            "done\n"
                            "! read -r verb what name\n");
  write_program("sacct", "#!/bin/sh\n"
                         "echo >>\"$0.starts\"\n"
                         "for i in $(seq 101 139); do\n"
                         "  echo \"$i|COMPLETED|2026-11-25T22:01:00|2026-11-25T22:02:00|00:00:00|"
                         "60|main|0|root|$i|n1\"\n"
                         "done\n");
  for (uint32_t i = 0; i < COUNT_OF(jobs); i++)
    jobs[i] = 100 + i;
  ft_slurm_query_set_slurmdbd(slurm_query, true);
  query_all(jobs, COUNT_OF(jobs));
  assert_int_equal(records, COUNT_OF(jobs));
  assert_int_equal(starts_of("scontrol"), 1);
  assert_int_equal(starts_of("sacct"), 1);
  /* the next command has no more than slurmctld answers; the database's silence proves nothing */
  jobs[0] = 99;
  jobs[LIMIT] = 1000;
  query_all(jobs, COUNT_OF(jobs));
  assert_int_equal(records, COUNT_OF(jobs) - 1);
  assert_int_equal(absent, 0);
  assert_int_equal(starts_of("scontrol"), 2);
  assert_int_equal(starts_of("sacct"), 2);
  /* without the database they wait their turn, but for one: its record may be what takes so long */
  ft_slurm_query_set_slurmdbd(slurm_query, false);
  query_all(jobs, 2 * LIMIT);
  assert_int_equal(records, 2 * LIMIT - 1);
}

/* What slurmctld does not know may be a job that it has forgotten; only the database knows all, if
 * it shows this user the jobs of others. */
static void a_job_is_absent_if_both_slurmctld_and_the_database_say_so(void **state)
{
  static const uint32_t jobs[] = { 4, 5, 55 };

  (void)state;
  query_all(jobs, COUNT_OF(jobs));
  assert_int_equal(absent, 0);
  write_program("sacct", "#!/bin/sh\n");
  ft_slurm_query_set_slurmdbd(slurm_query, true);
  query_all(jobs, COUNT_OF(jobs));
  assert_int_equal(records, 1);
  assert_int_equal(absent, geteuid() == 0 ? 2 : 0);
  write_program("sacct", "#!/bin/sh\n"
                         "echo '5|COMPLETED|2026-11-25T22:01:00|2026-11-25T22:02:00|00:00:00|60|"
                         "main|4321|other|5|n1'\n");
  query_all(jobs, COUNT_OF(jobs));
  assert_int_equal(records, 2);
  assert_int_equal(absent, 1);
  write_program("sacct", "#!/bin/sh\nexit 1\n");
  query_all(jobs, COUNT_OF(jobs));
  assert_int_equal(absent, 0);
}

static void an_endless_record_hinders_no_other_job(void **state)
{
  static const uint32_t jobs[] = { 4, 7, 8, 9 };

  (void)state;
  query_all(jobs, COUNT_OF(jobs));
  assert_int_equal(records, 3);
  query_all(jobs + 1, COUNT_OF(jobs) - 1);
  assert_int_equal(records, 2);
}

static void queries_end_also_if_scontrol_fails(void **state)
{
  static const uint32_t jobs[] = { 4, 6 };

  (void)state;
  write_program("scontrol.fails", "");
  query_all(jobs, COUNT_OF(jobs));
  assert_int_equal(records, 0);
  ft_slurm_query_set_directory(slurm_query, "/nonexistent");
  query_all(jobs, COUNT_OF(jobs));
  assert_int_equal(records, 0);
}

static void a_full_queue_takes_all_queries_or_none(void **state)
{
  static uint32_t jobs[1 << 20];

  (void)state;
  ft_slurm_query_pause(slurm_query, true);
  assert_int_equal(ft_slurm_query_submit(slurm_query, jobs, COUNT_OF(jobs) - 1), 0);
  assert_int_equal(ft_slurm_query_submit(slurm_query, jobs, 2), -1);
  assert_int_equal(ft_slurm_query_submit(slurm_query, jobs, 1), 0);
}

static void a_user_asks_for_one_owner_at_a_time(void **state)
{
  struct ft_job_owners *owners = ft_job_owners_open(slurm_query);
  struct ft_job_owner mine[3], other = { .job_id = 1, .uid = 1002 };

  (void)state;
  assert_non_null(owners);
  for (uint32_t i = 0; i < COUNT_OF(mine); i++)
    mine[i] = (struct ft_job_owner){ .job_id = i + 1, .uid = 1001 };
  ft_slurm_query_pause(slurm_query, true);
  for (int round = 0; round < 2; round++)
    for (size_t i = 0; i < COUNT_OF(mine); i++)
      ft_job_owner_ask(owners, &mine[i]);
  ft_job_owner_ask(owners, &other);
  assert_true(mine[0].asked && !mine[1].asked && !mine[2].asked && other.asked);
  /* a user who gives up has had the turn */
  ft_job_owner_drop(owners, &mine[0]);
  ft_job_owner_ask(owners, &mine[1]);
  assert_false(mine[1].asked);
  assert_true(ft_job_owners_reply(owners, 1, &(ft_slurm_job){ .uid = 1001 }));
  assert_true(ft_job_owners_reply(owners, 1, &(ft_slurm_job){ .uid = 1001 }));
  assert_false(ft_job_owners_reply(owners, 1, NULL));
  assert_true(!mine[0].answered && other.answered && !other.is_owner);
  ft_job_owner_ask(owners, &mine[1]);
  assert_true(ft_job_owners_reply(owners, 2, &(ft_slurm_job){ .uid = 1001 }));
  assert_true(mine[1].answered && mine[1].is_owner);
  ft_job_owner_ask(owners, &mine[2]);
  assert_true(ft_job_owners_reply(owners, 3, NULL));
  assert_true(mine[2].answered && !mine[2].is_owner);
  ft_job_owners_close(owners);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(commands_have_a_mark_before_each_job),
    cmocka_unit_test(a_job_name_cannot_imitate_another_jobs_record),
    cmocka_unit_test(a_scontrol_without_readline_prints_no_commands),
    cmocka_unit_test(the_database_has_the_last_run_of_a_job),
    cmocka_unit_test(a_run_of_the_database_that_has_not_ended_is_unknown),
    cmocka_unit_test(the_database_names_array_tasks_and_components),
    cmocka_unit_test_setup_teardown(many_jobs_share_a_command, open_query, close_query),
    cmocka_unit_test_setup_teardown(a_job_that_slurmctld_has_forgotten_is_in_the_database,
                                    open_query, close_query),
    cmocka_unit_test_setup_teardown(a_limited_slurmctld_is_relieved_by_the_database, open_query,
                                    close_query),
    cmocka_unit_test_setup_teardown(a_job_is_absent_if_both_slurmctld_and_the_database_say_so,
                                    open_query, close_query),
    cmocka_unit_test_setup_teardown(an_endless_record_hinders_no_other_job, open_query,
                                    close_query),
    cmocka_unit_test_setup_teardown(queries_end_also_if_scontrol_fails, open_query, close_query),
    cmocka_unit_test_setup_teardown(a_full_queue_takes_all_queries_or_none, open_query,
                                    close_query),
    cmocka_unit_test_setup_teardown(a_user_asks_for_one_owner_at_a_time, open_query, close_query),
  };

  return cmocka_run_group_tests_name("slurm_query", tests, NULL, NULL);
}
