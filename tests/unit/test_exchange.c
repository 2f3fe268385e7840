/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/scratch.h"

#include <string.h>

#include "daemon/exchange.h"

static ft_observation observation(uint32_t job_id)
{
  return (ft_observation){ .schema = FT_SCHEMA, .job_id = job_id, .submission.app = "a" };
}

static void a_list_has_its_observations_in_order(void **state)
{
  struct ft_buf list;
  struct ft_error err;
  ft_observation o;
  size_t at = 0;

  (void)state;
  ft_buf_init(&list, FT_EXCHANGE_BYTES);
  for (uint32_t job = 1; job <= 3; job++) {
    o = observation(job);
    assert_int_equal(ft_exchange_add(&list, &o, &err), 0);
  }
  for (uint32_t job = 1; job <= 3; job++) {
    assert_int_equal(ft_exchange_next(list.data, list.length, &at, &o, &err), 1);
    assert_int_equal(o.job_id, job);
    assert_string_equal(o.submission.app, "a");
  }
  assert_int_equal(ft_exchange_next(list.data, list.length, &at, &o, &err), 0);
  ft_buf_free(&list);
  at = 0;
  assert_int_equal(ft_exchange_next(NULL, 0, &at, &o, &err), 0);
}

static void a_full_list_is_unchanged(void **state)
{
  ft_observation o = observation(7);
  struct ft_buf list;
  struct ft_error err;
  size_t at = 0, before, count = 0;

  (void)state;
  ft_buf_init(&list, FT_EXCHANGE_BYTES);
  do
    before = list.length;
  while (ft_exchange_add(&list, &o, &err) == 0);
  assert_int_equal(list.length, before);
  assert_non_null(strstr(err.text, "job 7"));
  while (ft_exchange_next(list.data, list.length, &at, &o, &err) == 1)
    count++;
  assert_int_equal(at, list.length);
  assert_true(count > 1000);
  ft_buf_free(&list);
}

static void a_truncated_list_is_an_error(void **state)
{
  ft_observation o = observation(1);
  struct ft_buf list;
  struct ft_error err;

  (void)state;
  ft_buf_init(&list, FT_EXCHANGE_BYTES);
  assert_int_equal(ft_exchange_add(&list, &o, &err), 0);
  for (size_t length = 1; length < list.length; length++) {
    size_t at = 0;

    assert_int_equal(ft_exchange_next(list.data, length, &at, &o, &err), -1);
    assert_non_null(strstr(err.text, "byte "));
  }
  ft_buf_free(&list);
}

static void an_observation_from_the_future_hides_no_other(void **state)
{
  ft_observation o = observation(1);
  struct ft_buf list;
  struct ft_error err;
  size_t at = 0;

  (void)state;
  ft_buf_init(&list, FT_EXCHANGE_BYTES);
  o.schema = FT_SCHEMA + 1;
  assert_int_equal(ft_exchange_add(&list, &o, &err), 0);
  o = observation(2);
  assert_int_equal(ft_exchange_add(&list, &o, &err), 0);
  assert_int_equal(ft_exchange_next(list.data, list.length, &at, &o, &err), 2);
  assert_int_equal(ft_exchange_next(list.data, list.length, &at, &o, &err), 1);
  assert_int_equal(o.job_id, 2);
  ft_buf_free(&list);
}

static void replies_out_of_range_are_rejected(void **state)
{
  ft_verdicts v = { .schema = FT_SCHEMA, .verdict = { 1, { _ft_verdict_MAX + 1 } } };
  ft_settings s = { .schema = FT_SCHEMA, .rule = (ft_rule)(_ft_rule_MAX + 1) };
  ft_jobs_reply r = { .schema = FT_SCHEMA, .job_count = 1 };
  struct ft_buf buf;
  struct ft_error err;

  (void)state;
  ft_buf_init(&buf, FT_EXCHANGE_BYTES);
  r.job[0].known = true;
  r.job[0].outcome = (ft_outcome)(_ft_outcome_MAX + 1);
  assert_int_equal(ft_record_encode(FT_RECORD_VERDICTS, &v, &buf, &err), 0);
  assert_int_equal(ft_record_decode(FT_RECORD_VERDICTS, buf.data, buf.length, &v, &err), -1);
  buf.length = 0;
  assert_int_equal(ft_record_encode(FT_RECORD_SETTINGS, &s, &buf, &err), 0);
  assert_int_equal(ft_record_decode(FT_RECORD_SETTINGS, buf.data, buf.length, &s, &err), -1);
  buf.length = 0;
  assert_int_equal(ft_record_encode(FT_RECORD_JOBS_REPLY, &r, &buf, &err), 0);
  assert_int_equal(ft_record_decode(FT_RECORD_JOBS_REPLY, buf.data, buf.length, &r, &err), -1);
  ft_buf_free(&buf);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_list_has_its_observations_in_order),
    cmocka_unit_test(a_full_list_is_unchanged),
    cmocka_unit_test(a_truncated_list_is_an_error),
    cmocka_unit_test(an_observation_from_the_future_hides_no_other),
    cmocka_unit_test(replies_out_of_range_are_rejected),
  };

  return cmocka_run_group_tests_name("exchange", tests, NULL, NULL);
}
