/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The learner's side of queries about running jobs; the agents and the user are played here. */
#include "config.h"

#include "tests/unit/unit.h"

#include <unistd.h>

#include "daemon/run_reply.h"
#include "learner/cluster/running.h"
#include "predictor/core/io.h"

enum { USER = 1000, STRANGER = 1001 };

static unsigned asked; /* calls of the callback */
static ft_reply reply;
static ft_running answer;
static char first_connection, second_connection;

static void count_asked(void *data)
{
  (void)data;
  asked++;
}

static struct ft_running_queries *open_running(void)
{
  struct ft_running_queries *queries = ft_running_open(count_asked, NULL);

  assert_non_null(queries);
  asked = 0;
  return queries;
}

static bool take_step(struct ft_running_queries *queries, struct ft_query *query)
{
  memset(&reply, 0, sizeof reply);
  return ft_running_step(queries, query, &reply);
}

/* Sends a part of AGENT's answer to NUMBER: JOB of UID, none if JOB is 0. */
static bool send_part(struct ft_running_queries *queries, uint64_t agent, uint64_t number,
                      uint32_t job, uint32_t uid, bool last)
{
  static ft_observation o;
  struct ft_buf encoded;

  o = (ft_observation){ .schema = FT_SCHEMA, .job_id = job, .uid = uid };
  memset(&answer, 0, sizeof answer);
  answer.agent = agent;
  answer.question = number;
  answer.reply.last = last;
  ft_buf_init(&encoded, FT_LIMIT_RECORD);
  if (job)
    assert_true(ft_run_reply_append(&answer.reply, &o, &encoded));
  ft_buf_free(&encoded);
  return ft_running_add_answer(queries, &answer);
}

static ft_question about_job(uint32_t job)
{
  return (ft_question){ .which_asked = ft_question_run_query_tag,
                        .asked.run_query = { .job_id = job, .live = true } };
}

static void connected_agents_answer_the_user(void **state)
{
  struct ft_running_queries *queries = open_running();
  ft_question question = about_job(7);
  struct ft_query query = { .question = &question, .uid = USER };
  ft_settings settings = { 0 };

  (void)state;
  ft_running_connect(queries, 1, &first_connection);
  ft_running_connect(queries, 2, &second_connection);
  assert_false(ft_running_next(queries, 1, &first_connection, &settings));
  assert_false(take_step(queries, &query));
  assert_int_equal(asked, 1);
  assert_true(ft_running_next(queries, 1, &first_connection, &settings));
  assert_true(settings.run_query.has_uid);
  assert_int_equal(settings.run_query.uid, USER);
  assert_int_equal(settings.run_query.job_id, 7);
  assert_false(ft_running_next(queries, 1, &first_connection, &settings));
  assert_true(ft_running_next(queries, 2, &second_connection, &settings));
  assert_true(send_part(queries, 1, settings.question, 7, USER, false));
  assert_true(send_part(queries, 1, settings.question, 0, 0, true));
  assert_true(take_step(queries, &query));
  assert_true(reply.record.size > 0);
  assert_true(send_part(queries, 2, settings.question, 0, 0, true));
  assert_true(take_step(queries, &query));
  assert_true(reply.last);
  assert_int_equal(reply.silent_agents, 0);
  ft_running_end(queries, &query);
  assert_false(send_part(queries, 2, settings.question, 0, 0, true));
  ft_running_close(queries);
}

static void runs_of_other_users_and_jobs_do_not_pass(void **state)
{
  struct ft_running_queries *queries = open_running();
  ft_question question = about_job(7);
  struct ft_query query = { .question = &question, .uid = USER };
  ft_settings settings = { 0 };

  (void)state;
  ft_running_connect(queries, 1, &first_connection);
  ft_running_connect(queries, 2, &second_connection);
  assert_false(take_step(queries, &query));
  assert_true(ft_running_next(queries, 1, &first_connection, &settings));
  assert_true(ft_running_next(queries, 2, &second_connection, &settings));
  assert_false(send_part(queries, 1, settings.question, 7, STRANGER, false));
  assert_false(send_part(queries, 2, settings.question, 8, USER, false));
  assert_true(take_step(queries, &query));
  assert_int_equal(reply.record.size, 0);
  assert_true(reply.last);
  assert_int_equal(reply.silent_agents, 2);
  ft_running_end(queries, &query);
  question.asked.run_query.has_uid = true;
  question.asked.run_query.uid = STRANGER;
  assert_true(take_step(queries, &query));
  assert_non_null(strstr(reply.error, "runs of other users"));
  ft_running_end(queries, &query);
  ft_running_close(queries);
}

static void an_agent_is_asked_one_question_after_another(void **state)
{
  struct ft_running_queries *queries = open_running();
  ft_question questions[] = { about_job(7), about_job(8) };
  struct ft_query first = { .question = &questions[0], .privileged = true };
  struct ft_query second = { .question = &questions[1], .privileged = true };
  ft_settings settings = { 0 };
  uint64_t number;

  (void)state;
  ft_running_connect(queries, 1, &first_connection);
  assert_false(take_step(queries, &first));
  assert_false(take_step(queries, &second));
  assert_true(ft_running_next(queries, 1, &first_connection, &settings));
  assert_int_equal(settings.run_query.job_id, 7);
  assert_false(settings.run_query.has_uid);
  ft_running_disconnect(queries, 1, &first_connection);
  ft_running_connect(queries, 1, &second_connection);
  assert_false(ft_running_next(queries, 1, &second_connection, &settings));
  asked = 0;
  assert_true(send_part(queries, 1, settings.question, 0, 0, true));
  assert_int_equal(asked, 1);
  assert_false(ft_running_next(queries, 1, &first_connection, &settings));
  number = settings.question;
  assert_true(ft_running_next(queries, 1, &second_connection, &settings));
  assert_int_equal(settings.run_query.job_id, 8);
  /* the numbers cannot be guessed */
  assert_true(settings.question - number + 1000 > 2000);
  ft_running_end(queries, &first);
  ft_running_end(queries, &second);
  ft_running_close(queries);
}

static void a_silent_agent_is_waited_for_two_seconds(void **state)
{
  struct ft_running_queries *queries = open_running();
  ft_question question = about_job(7);
  struct ft_query query = { .question = &question, .privileged = true };
  double begun = ft_io_monotonic(), left;
  ft_settings settings = { 0 };

  (void)state;
  ft_running_connect(queries, 1, &first_connection);
  assert_false(take_step(queries, &query));
  assert_true(ft_running_next(queries, 1, &first_connection, &settings));
  ft_running_disconnect(queries, 1, &first_connection);
  left = ft_io_monotonic();
  while (!take_step(queries, &query))
    (void)usleep(10000);
  assert_true(ft_io_monotonic() - begun >= FT_RUNNING_SECONDS);
  assert_true(reply.last);
  assert_int_equal(reply.silent_agents, 1);
  ft_running_end(queries, &query);
  while (ft_io_monotonic() < left + FT_RUNNING_SECONDS)
    (void)usleep(10000);
  /* it has not connected since then, and is not waited for again */
  assert_false(take_step(queries, &query));
  assert_true(take_step(queries, &query));
  assert_true(reply.last);
  assert_int_equal(reply.silent_agents, 1);
  ft_running_end(queries, &query);
  ft_running_close(queries);
}

static void agents_above_the_limit_are_counted(void **state)
{
  struct ft_running_queries *queries = open_running();
  ft_question question = about_job(7);
  struct ft_query query = { .question = &question, .uid = USER };
  ft_settings settings = { 0 };

  (void)state;
  for (uint64_t i = 1; i <= FT_RUNNING_AGENTS + 3; i++)
    ft_running_connect(queries, i, &first_connection);
  assert_false(take_step(queries, &query));
  for (uint64_t i = 1; i <= FT_RUNNING_AGENTS; i++) {
    assert_true(ft_running_next(queries, i, &first_connection, &settings));
    assert_true(send_part(queries, i, settings.question, 0, 0, true));
  }
  assert_false(ft_running_next(queries, FT_RUNNING_AGENTS + 1, &first_connection, &settings));
  assert_true(take_step(queries, &query));
  assert_true(reply.last);
  assert_int_equal(reply.silent_agents, 3);
  ft_running_end(queries, &query);
  ft_running_close(queries);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(connected_agents_answer_the_user),
    cmocka_unit_test(runs_of_other_users_and_jobs_do_not_pass),
    cmocka_unit_test(an_agent_is_asked_one_question_after_another),
    cmocka_unit_test(a_silent_agent_is_waited_for_two_seconds),
    cmocka_unit_test(agents_above_the_limit_are_counted),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
