/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/scratch.h"

#include <string.h>

#include "daemon/transfer.h"

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
  struct ft_buf buf;
  struct ft_error err;

  (void)state;
  ft_buf_init(&buf, FT_EXCHANGE_BYTES);
  assert_int_equal(ft_record_encode(FT_RECORD_VERDICTS, &v, &buf, &err), 0);
  assert_int_equal(ft_record_decode(FT_RECORD_VERDICTS, buf.data, buf.length, &v, &err), -1);
  buf.length = 0;
  assert_int_equal(ft_record_encode(FT_RECORD_SETTINGS, &s, &buf, &err), 0);
  assert_int_equal(ft_record_decode(FT_RECORD_SETTINGS, buf.data, buf.length, &s, &err), -1);
  ft_buf_free(&buf);
}

static void a_body_is_the_same_after_compression(void **state)
{
  static const char text[] = "the same the same the same the same the same the same the same";
  struct ft_buf body;
  struct ft_error err;

  (void)state;
  ft_buf_init(&body, FT_EXCHANGE_BYTES);
  assert_int_equal(ft_transfer_deflate(text, sizeof text, &body), 0);
  assert_true(body.length < sizeof text);
  assert_int_equal(ft_transfer_inflate(&body, &err), 0);
  assert_int_equal(body.length, sizeof text);
  assert_memory_equal(body.data, text, sizeof text);
  ft_buf_free(&body);
}

static void a_body_that_would_grow_is_not_compressed(void **state)
{
  struct ft_buf body;

  (void)state;
  ft_buf_init(&body, FT_EXCHANGE_BYTES);
  assert_int_equal(ft_transfer_deflate("a", 1, &body), -1);
  assert_int_equal(ft_transfer_deflate(NULL, 0, &body), -1);
  assert_int_equal(body.length, 0);
  ft_buf_free(&body);
}

static void damaged_compressed_bodies_are_errors(void **state)
{
  static char text[FT_EXCHANGE_BYTES];
  struct ft_buf whole, body;
  struct ft_error err;

  (void)state;
  ft_buf_init(&whole, FT_EXCHANGE_BYTES);
  ft_buf_init(&body, FT_EXCHANGE_BYTES);
  assert_int_equal(ft_transfer_deflate(text, sizeof text, &whole), 0);
  for (size_t length = 0; length < whole.length; length++) {
    body.length = 0;
    assert_int_equal(ft_buf_add(&body, whole.data, length), 0);
    assert_int_equal(ft_transfer_inflate(&body, &err), -1);
    assert_non_null(strstr(err.text, "the body"));
  }
  body.length = 0;
  assert_int_equal(ft_buf_add(&body, "plain text", 10), 0);
  assert_int_equal(ft_transfer_inflate(&body, &err), -1);
  ft_buf_free(&whole);
  ft_buf_free(&body);
}

static void a_body_of_the_largest_size_is_decompressed_and_no_larger_one(void **state)
{
  /* zlib streams of zeros: 96 KiB, and one byte more */
  static char text[FT_EXCHANGE_BYTES + 1];
  struct ft_buf body;
  struct ft_error err;

  (void)state;
  ft_buf_init(&body, FT_EXCHANGE_BYTES);
  assert_int_equal(ft_transfer_deflate(text, sizeof text - 1, &body), 0);
  assert_int_equal(ft_transfer_inflate(&body, &err), 0);
  assert_int_equal(body.length, FT_EXCHANGE_BYTES);
  body.length = 0;
  assert_int_equal(ft_transfer_deflate(text, sizeof text, &body), 0);
  assert_int_equal(ft_transfer_inflate(&body, &err), -1);
  assert_non_null(strstr(err.text, "more than"));
  ft_buf_free(&body);
}

static void the_digest_covers_path_and_body(void **state)
{
  struct ft_transfer_digest one, other;
  struct ft_error err;

  (void)state;
  assert_int_equal(ft_transfer_digest("/runs", "body", 4, &one, &err), 0);
  /* printf 'POST /runs\nbody' | sha256sum */
  assert_string_equal(one.text, "455353066b47bc19228fbc1b13b9ca3be9f3f68ea1672084d0ddf24c526d2c8e");
  assert_int_equal(ft_transfer_digest("/jobs", "body", 4, &other, &err), 0);
  assert_string_not_equal(one.text, other.text);
  assert_int_equal(ft_transfer_digest("/runs", "bodY", 4, &other, &err), 0);
  assert_string_not_equal(one.text, other.text);
  assert_int_equal(ft_transfer_digest("/runs", NULL, 0, &other, &err), 0);
  assert_int_equal(ft_transfer_digest("/runs", "", 0, &one, &err), 0);
  assert_string_equal(one.text, other.text);
}

static void a_reply_fits_its_request_only(void **state)
{
  struct ft_transfer_digest one, other;
  struct ft_error err;

  (void)state;
  assert_int_equal(ft_transfer_digest_reply("MUNGE MUNGE:AAAA:", "body", 4, &one, &err), 0);
  assert_int_equal(strlen(one.text), 64);
  assert_int_equal(ft_transfer_digest_reply("MUNGE MUNGE:AAAB:", "body", 4, &other, &err), 0);
  assert_string_not_equal(one.text, other.text);
  assert_int_equal(ft_transfer_digest_reply("MUNGE MUNGE:AAAA:", "bodY", 4, &other, &err), 0);
  assert_string_not_equal(one.text, other.text);
  /* nor is it a request */
  assert_int_equal(ft_transfer_digest("MUNGE MUNGE:AAAA:", "body", 4, &other, &err), 0);
  assert_string_not_equal(one.text, other.text);
}

static const struct ft_transfer_side side = { "the learner's host", "the learner's" };

static void a_credential_has_one_spelling(void **state)
{
  static const char *const spellings[] = { "",
                                           "x",
                                           "MUNGE",
                                           "MUNGE:",
                                           "MUNGE::",
                                           "MUNGE:AAA:",
                                           "MUNGE:AAAA",
                                           "MUNGE:AAAA:\n",
                                           " MUNGE:AAAA:",
                                           "MUNGE: AAAA:",
                                           "MUNGE:AA AA:",
                                           "MUNGE:AAAA:x",
                                           "MUNGE:AA==AAAA:",
                                           "MUNGE:A===:",
                                           "MUNGE:AB==:",
                                           "MUNGE:AAB=:",
                                           "munge:AAAA:",
                                           "MUNGE:AA-_:" };
  struct ft_transfer_credential credential;
  struct ft_error err;
  char header[64];

  (void)state;
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
    (void)snprintf(header, sizeof header, FT_TRANSFER_SCHEME "%s", spellings[i]);
    assert_int_equal(ft_transfer_prove("/nowhere", &side, header, "c1", &credential, &err),
                     FT_TRANSFER_DISPROVED);
    assert_string_equal(err.text,
                        "credential of host c1 rejected: expected one as munge writes it");
  }
}

static void without_munged_nothing_is_proved_or_disproved(void **state)
{
  static const char *const headers[] = { "MUNGE MUNGE:AAAA:", "MUNGE MUNGE:AAE=:",
                                         "MUNGE MUNGE:+w==:" };
  const struct ft_transfer_digest digest = { "" };
  struct ft_transfer_credential credential;
  struct ft_error err;
  struct ft_buf out;

  (void)state;
  ft_buf_init(&out, FT_LIMIT_PROC);
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
    assert_int_equal(ft_transfer_prove("/nowhere", &side, headers[i], "c1", &credential, &err),
                     FT_TRANSFER_UNKNOWN);
    assert_non_null(strstr(err.text, "/nowhere"));
  }
  assert_int_equal(ft_transfer_sign("/nowhere", &digest, &out, &err), -1);
  assert_non_null(strstr(err.text, "/nowhere"));
  ft_buf_free(&out);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_list_has_its_observations_in_order),
    cmocka_unit_test(a_full_list_is_unchanged),
    cmocka_unit_test(a_truncated_list_is_an_error),
    cmocka_unit_test(an_observation_from_the_future_hides_no_other),
    cmocka_unit_test(replies_out_of_range_are_rejected),
    cmocka_unit_test(a_body_is_the_same_after_compression),
    cmocka_unit_test(a_body_that_would_grow_is_not_compressed),
    cmocka_unit_test(damaged_compressed_bodies_are_errors),
    cmocka_unit_test(a_body_of_the_largest_size_is_decompressed_and_no_larger_one),
    cmocka_unit_test(the_digest_covers_path_and_body),
    cmocka_unit_test(a_reply_fits_its_request_only),
    cmocka_unit_test(a_credential_has_one_spelling),
    cmocka_unit_test(without_munged_nothing_is_proved_or_disproved),
  };

  return cmocka_run_group_tests_name("exchange", tests, NULL, NULL);
}
