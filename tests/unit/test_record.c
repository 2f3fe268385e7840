/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/scratch.h"

#include <errno.h>
#include <math.h>
#include <pb_common.h>

#include "predictor/core/io.h"
#include "predictor/record/check.h"
#include "predictor/record/policy_keys.h"
#include "predictor/record/request_memory.h"
#include "predictor/record/state_files.h"

static ft_model *sample_model(void)
{
  ft_model *m = calloc(1, sizeof *m);

  assert_non_null(m);
  m->schema = FT_SCHEMA;
  strcpy(m->app, "unet3d");
  m->uid = 1000;
  m->rule = FT_RULE_CGROUP;
  m->completed = m->runs = 2;
  m->has_evaluator = true;
  strcpy(m->evaluator.method, "quantiles");
  m->evaluator.residuals_count = 2;
  m->evaluator.residuals[0] = -0.1;
  m->evaluator.residuals[1] = 0.1;
  return m;
}

static void every_record_goes_both_ways(void **state)
{
  static ft_job_array array;
  ft_submission in = { .schema = FT_SCHEMA }, out;
  struct ft_error err;
  struct ft_buf buf;

  (void)state;
  strcpy(in.app, "sort-1234");
  assert_true(ft_feature_number(in.features, &in.features_count, 24, "batch", 32));
  assert_true(ft_feature_category(in.features, &in.features_count, 24, "arch", "resnet50"));
  assert_true(ft_feature_number(in.features, &in.features_count, 24, "batch", 64));
  assert_int_equal(in.features_count, 2);
  in.has_request = true;
  in.request.mem_unit = FT_MEM_CPU;
  in.request.mem_bytes = 1 << 30;
  ft_buf_init(&buf, FT_LIMIT_ENVIRONMENT);
  assert_int_equal(ft_submission_to_text(&in, NULL, &buf, &err), 0);
  assert_int_equal(ft_submission_from_text(ft_buf_text(&buf), &out, &array, &err), 0);
  assert_int_equal(array.values_count, 0);
  assert_string_equal(out.app, "sort-1234");
  assert_true(ft_feature_find(out.features, out.features_count, "batch")->number == 64);
  assert_null(ft_feature_find(out.features, out.features_count, "batches"));
  assert_int_equal(out.request.mem_unit, FT_MEM_CPU);
  ft_buf_free(&buf);
}

/* Run 42 as the previous release wrote it, encoded by protoc with its schema. */
static const unsigned char observation_before[] = {
  0x08, 0x01, 0x12, 0x01, 0x63, 0x18, 0x2a, 0x21, 0x00, 0x00, 0x00, 0x40, 0xfc, 0x54, 0xd9,
  0x41, 0x4a, 0x02, 0x6e, 0x31, 0x52, 0x06, 0x75, 0x6e, 0x65, 0x74, 0x33, 0x64, 0x58, 0xe8,
  0x07, 0x62, 0x03, 0x61, 0x64, 0x61, 0x7a, 0x05, 0x74, 0x72, 0x61, 0x69, 0x6e, 0x82, 0x01,
  0x10, 0x0a, 0x05, 0x62, 0x61, 0x74, 0x63, 0x68, 0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
  0x30, 0x40, 0x82, 0x01, 0x10, 0x0a, 0x04, 0x61, 0x72, 0x63, 0x68, 0x1a, 0x08, 0x72, 0x65,
  0x73, 0x6e, 0x65, 0x74, 0x35, 0x30, 0x8a, 0x01, 0x08, 0x74, 0x72, 0x61, 0x69, 0x6e, 0x2e,
  0x70, 0x79, 0xb2, 0x01, 0x08, 0x10, 0x02, 0x18, 0x80, 0x80, 0x40, 0x30, 0x04, 0xc0, 0x01,
  0x80, 0x80, 0x80, 0x02, 0xca, 0x01, 0x1b, 0x08, 0x02, 0x20, 0x80, 0x80, 0x80, 0x01, 0x29,
  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xd0, 0x3f, 0x5a, 0x09, 0x71, 0x75, 0x61, 0x6e, 0x74,
  0x69, 0x6c, 0x65, 0x73, 0x88, 0x02, 0x01, 0xc0, 0x02, 0xc0, 0x8d, 0xb7, 0x01
};

static void check_run_42(const ft_observation *o)
{
  const ft_submission *s = &o->submission;

  assert_int_equal(o->job_id, 42);
  assert_string_equal(o->user, "ada");
  assert_int_equal(o->limit_bytes, 4 << 20);
  assert_int_equal(o->rss_bytes, 3000000);
  assert_string_equal(s->app, "unet3d");
  assert_string_equal(s->job_name, "train");
  assert_string_equal(s->program, "train.py");
  assert_int_equal(s->features_count, 2);
  assert_true(s->features[0].number == 16);
  assert_string_equal(s->features[1].category, "resnet50");
  assert_true(s->has_request);
  assert_int_equal(s->request.mem_unit, FT_MEM_CPU);
  assert_int_equal(s->request.mem_bytes, 1 << 20);
  assert_int_equal(s->request.tasks, 4);
  assert_true(s->has_decision);
  assert_int_equal(s->decision.action, FT_ACTION_RAISE);
  assert_true(s->decision.has_p_oom && s->decision.p_oom == 0.25);
  assert_string_equal(s->decision.method, "quantiles");
}

static void an_observation_of_the_previous_release_is_read_unchanged(void **state)
{
  ft_observation *o = calloc(1, sizeof *o);
  struct ft_error err;
  struct ft_buf buf;

  (void)state;
  assert_non_null(o);
  assert_int_equal(ft_record_decode(FT_RECORD_OBSERVATION, observation_before,
                                    sizeof observation_before, o, &err),
                   0);
  check_run_42(o);
  ft_buf_init(&buf, FT_LIMIT_RECORD);
  assert_int_equal(ft_record_encode(FT_RECORD_OBSERVATION, o, &buf, &err), 0);
  assert_int_equal(ft_record_decode(FT_RECORD_OBSERVATION, buf.data, buf.length, o, &err), 0);
  check_run_42(o);
  ft_buf_free(&buf);
  for (size_t cut = 0; cut < sizeof observation_before; cut++)
    if (ft_record_decode(FT_RECORD_OBSERVATION, observation_before, cut, o, &err) < 0)
      assert_non_null(strstr(err.text, "observation: "));
  free(o);
}

/* A submission without an app, as of a job without the plugin. */
static void an_observation_without_an_app_keeps_the_rest(void **state)
{
  ft_observation *o = calloc(1, sizeof *o);
  struct ft_error err;
  struct ft_buf buf;

  (void)state;
  assert_non_null(o);
  o->schema = FT_SCHEMA;
  strcpy(o->submission.job_name, "train");
  o->submission.script_hash = 0xfedcba98;
  ft_buf_init(&buf, FT_LIMIT_RECORD);
  assert_int_equal(ft_record_encode(FT_RECORD_OBSERVATION, o, &buf, &err), 0);
  memset(o, 0xff, sizeof *o);
  assert_int_equal(ft_record_decode(FT_RECORD_OBSERVATION, buf.data, buf.length, o, &err), 0);
  assert_string_equal(o->submission.app, "");
  assert_string_equal(o->submission.job_name, "train");
  assert_int_equal(o->submission.script_hash, 0xfedcba98);
  assert_false(o->submission.has_request || o->submission.has_decision);
  ft_buf_free(&buf);
  free(o);
}

static void hostile_bytes_are_rejected(void **state)
{
  static ft_job_array array;
  ft_submission in = { .schema = FT_SCHEMA }, out;
  struct ft_error err;
  struct ft_buf buf;

  (void)state;
  ft_buf_init(&buf, FT_LIMIT_ENVIRONMENT);
  strcpy(in.app, "bad\033[31m");
  assert_int_equal(ft_record_encode(FT_RECORD_SUBMISSION, &in, &buf, &err), 0);
  assert_int_equal(ft_record_decode(FT_RECORD_SUBMISSION, buf.data, buf.length, &out, &err), -1);
  ft_buf_free(&buf);
  in = (ft_submission){ .schema = FT_SCHEMA + 1 };
  assert_int_equal(ft_record_encode(FT_RECORD_SUBMISSION, &in, &buf, &err), 0);
  assert_int_equal(ft_record_decode(FT_RECORD_SUBMISSION, buf.data, buf.length, &out, &err), -1);
  assert_non_null(strstr(err.text, "schema 2"));
  ft_buf_free(&buf);
  in = (ft_submission){ .schema = FT_SCHEMA, .features_count = 1 };
  strcpy(in.features[0].name, "x");
  in.features[0].has_number = true;
  in.features[0].number = NAN;
  assert_int_equal(ft_record_encode(FT_RECORD_SUBMISSION, &in, &buf, &err), 0);
  assert_int_equal(ft_record_decode(FT_RECORD_SUBMISSION, buf.data, buf.length, &out, &err), -1);
  ft_buf_free(&buf);
  assert_int_equal(ft_submission_from_text("not base64!", &out, &array, &err), -1);
}

/* Encodes and decodes without changes. */
static int through(enum ft_record record, const void *in, void *out)
{
  struct ft_error err;
  struct ft_buf buf;
  int status;

  ft_buf_init(&buf, FT_LIMIT_RECORD);
  assert_int_equal(ft_record_encode(record, in, &buf, &err), 0);
  status = ft_record_decode(record, buf.data, buf.length, out, &err);
  ft_buf_free(&buf);
  return status;
}

static void a_forged_decision_is_rejected(void **state)
{
  static const struct {
    double p05, p50, p95, p_oom;
    int status;
  } cases[] = { { 1e9, 2e9, 3e9, 0.5, 0 },  { 1e9, -1e308, 3e9, 0.5, -1 },
                { -1, 2e9, 3e9, 0.5, -1 },  { 1e9, 2e9, 1e308, 0.5, -1 },
                { 3e9, 2e9, 1e9, 0.5, -1 }, { 1e9, 2e9, 3e9, -0.1, -1 },
                { 1e9, 2e9, 3e9, 7, -1 },   { 1e9, NAN, 3e9, 0.5, -1 } };
  static ft_submission out;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_submission s = { .schema = FT_SCHEMA, .app = "a", .has_decision = true };

    s.decision.has_p05_bytes = s.decision.has_p50_bytes = s.decision.has_p95_bytes = true;
    s.decision.has_p_oom = true;
    s.decision.p05_bytes = cases[i].p05;
    s.decision.p50_bytes = cases[i].p50;
    s.decision.p95_bytes = cases[i].p95;
    s.decision.p_oom = cases[i].p_oom;
    if (through(FT_RECORD_SUBMISSION, &s, &out) != cases[i].status)
      fail_msg("case %zu", i);
  }
}

static bool accepts_policy(const struct ft_policy_key *key, double value)
{
  ft_site site = { .schema = FT_SCHEMA, .has_policy = true, .overrides_count = 1 };
  struct ft_error err;

  ft_policy_set(&site.overrides[0].policy, key, value);
  return ft_record_check(FT_RECORD_SITE, &site, &err) == 0;
}

static void a_policy_out_of_range_is_rejected(void **state)
{
  (void)state;
  for (size_t i = 0; i < FT_POLICY_KEYS; i++) {
    const struct ft_policy_key *key = &ft_policy_keys[i];
    bool is_number = key->type == FT_POLICY_NUMBER;
    double step = is_number ? 1e-9 : 1;
    bool has_lower = is_number || (key->low > 0 && key->type != FT_POLICY_MODE);

    if (!accepts_policy(key, key->low) || !accepts_policy(key, key->high) ||
        (has_lower && accepts_policy(key, key->low - step)) ||
        (key->type != FT_POLICY_SWITCH && accepts_policy(key, key->high + step)) ||
        (is_number && accepts_policy(key, NAN)))
      fail_msg("%s", key->name);
  }
}

static void a_request_is_for_one_node(void **state)
{
  static const struct {
    ft_request request;
    uint64_t cpus, bytes;
  } cases[] = {
    { { .mem_unit = FT_MEM_NONE, .mem_bytes = 7 }, 4, 0 },
    { { .mem_unit = FT_MEM_ALL, .mem_bytes = 7 }, 4, 0 },
    { { .mem_unit = FT_MEM_NODE, .mem_bytes = 7, .gpus_per_node = 2 }, 4, 7 },
    { { .mem_unit = FT_MEM_CPU, .mem_bytes = 7, .gpus_per_node = 2 }, 4, 28 },
    { { .mem_unit = FT_MEM_CPU, .mem_bytes = 7 }, 0, 7 },
    { { .mem_unit = FT_MEM_GPU, .mem_bytes = 7, .gpus_per_node = 2 }, 4, 14 },
    { { .mem_unit = FT_MEM_GPU, .mem_bytes = 7 }, 4, 7 },
    { { .mem_unit = FT_MEM_CPU, .mem_bytes = UINT64_MAX / 2 }, 4, UINT64_MAX },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    if (ft_request_node_bytes(&cases[i].request, cases[i].cpus) != cases[i].bytes)
      fail_msg("case %zu", i);
}

static void names_of_users_are_clean(void **state)
{
  static ft_submission out;
  static ft_announcement told;
  ft_submission s = { .schema = FT_SCHEMA,
                      .app = "Caf\xc3\xa9 \xc2\x9b"
                             "31m",
                      .job_name = "a\xe2\x80\xae"
                                  "b\xff",
                      .features_count = 1,
                      .former_apps_count = 1,
                      .has_request = true };
  ft_announcement a = { .schema = FT_SCHEMA,
                        .partition = "m\xe2\x81\xa6",
                        .which_event = ft_announcement_job_end_tag };

  (void)state;
  strcpy(s.features[0].name, "arch");
  strcpy(s.features[0].category, "\xe2\x80\x8f"
                                 "x");
  strcpy(s.former_apps[0], "\xc3");
  strcpy(s.request.qos, "q\xc2\x85");
  assert_int_equal(through(FT_RECORD_SUBMISSION, &s, &out), 0);
  assert_string_equal(out.app, "Caf\xc3\xa9 ?31m");
  assert_string_equal(out.job_name, "a?b?");
  assert_string_equal(out.features[0].category, "?x");
  assert_string_equal(out.former_apps[0], "?");
  assert_string_equal(out.request.qos, "q?");
  assert_int_equal(through(FT_RECORD_ANNOUNCEMENT, &a, &told), 0);
  assert_string_equal(told.partition, "m?");
}

static void the_uid_of_no_user_is_rejected(void **state)
{
  static ft_announcement told;
  static ft_observation read;
  ft_announcement a = { .schema = FT_SCHEMA, .uid = UINT32_MAX - 1 };
  ft_observation o = { .schema = FT_SCHEMA, .uid = UINT32_MAX - 1 };

  (void)state;
  assert_int_equal(through(FT_RECORD_ANNOUNCEMENT, &a, &told), 0);
  assert_int_equal(through(FT_RECORD_OBSERVATION, &o, &read), 0);
  a.uid = o.uid = UINT32_MAX;
  assert_int_equal(through(FT_RECORD_ANNOUNCEMENT, &a, &told), -1);
  assert_int_equal(through(FT_RECORD_OBSERVATION, &o, &read), -1);
}

static void inconsistent_peaks_are_rejected(void **state)
{
  ft_model *m = sample_model(), *out = calloc(1, sizeof *out);
  struct ft_error err;
  struct ft_buf buf;

  (void)state;
  assert_non_null(out);
  ft_buf_init(&buf, FT_LIMIT_RECORD);
  m->evaluator.baselines_count = 1;
  m->evaluator.baselines[0].needs_count = m->evaluator.baselines[0].runs.size = 2;
  for (int i = 0; i < 9; i++) {
    m->evaluator.needs_count = m->evaluator.covariates_count = 2;
    m->evaluator.needs[1] = 1;
    m->evaluator.covariates_count -= i == 1;
    m->evaluator.needs[0] = i == 2 ? 2 : 0;
    m->evaluator.covariates[0] = i == 3 ? NAN : 0;
    m->evaluator.has_primary_column = i == 4;
    m->evaluator.primary_column = i == 4;
    m->evaluator.seconds_count = m->evaluator.ages.size = 2;
    m->evaluator.ages.bytes[0] = i == 6;
    m->evaluator.ages.bytes[1] = i == 5 ? 2 : 1;
    m->evaluator.baselines[0].runs.bytes[1] = i != 7;
    m->evaluator.failure_price = i == 8 ? 1.1e6 : 1e6;
    m->columns_count = 1;
    m->columns[0].categorical = true;
    m->columns[0].categories_count = 2;
    assert_int_equal(ft_record_encode(FT_RECORD_MODEL, m, &buf, &err), 0);
    assert_int_equal(ft_record_decode(FT_RECORD_MODEL, buf.data, buf.length, out, &err),
                     i ? -1 : 0);
    ft_buf_free(&buf);
  }
  free(m);
  free(out);
}

static void damage_anywhere_is_detected(void **state)
{
  char folder[SCRATCH_SIZE];
  ft_gpus *in = calloc(1, sizeof *in), *out = calloc(1, sizeof *out);
  struct ft_error err;
  struct ft_buf buf;
  int dirfd;

  (void)state;
  assert_non_null(in);
  assert_non_null(out);
  in->schema = FT_SCHEMA;
  in->kinds_count = 1;
  strcpy(in->kinds[0].name, "a100");
  dirfd = scratch_open(folder);
  ft_buf_init(&buf, FT_LIMIT_RECORD);
  assert_int_equal(ft_record_write(FT_RECORD_GPUS, in, dirfd, "m", 0644, &err), 0);
  assert_int_equal(ft_record_read(FT_RECORD_GPUS, dirfd, "m", out, &err), 0);
  assert_string_equal(out->kinds[0].name, "a100");
  assert_int_equal(ft_record_read(FT_RECORD_SITE, dirfd, "m", out, &err), -1);
  assert_int_equal(ft_record_read(FT_RECORD_GPUS, dirfd, "absent", out, &err), -1);
  assert_int_equal(errno, ENOENT);
  assert_int_equal(ft_io_read_file(dirfd, "m", &buf, &err), 0);
  for (size_t i = 0; i < buf.length; i++) {
    buf.data[i] ^= 0x55;
    assert_int_equal(ft_io_write_file(dirfd, "d", buf.data, buf.length, 0644, &err), 0);
    buf.data[i] ^= 0x55;
    assert_int_equal(ft_record_read(FT_RECORD_GPUS, dirfd, "d", out, &err), -1);
    assert_int_equal(ft_io_write_file(dirfd, "d", buf.data, i, 0644, &err), 0);
    assert_int_equal(ft_record_read(FT_RECORD_GPUS, dirfd, "d", out, &err), -1);
  }
  (void)scratch_close(folder, dirfd);
  ft_buf_free(&buf);
  free(in);
  free(out);
}

static void a_failed_read_is_no_damage(void **state)
{
  int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  ft_site *site = calloc(1, sizeof *site);
  struct ft_error err;

  (void)state;
  assert_int_equal(ft_record_read_open(FT_RECORD_SITE, fd, "site", site, &err), -1);
  assert_string_equal(err.text, "site: Bad file descriptor");
  close(fd);
  free(site);
}

static void a_list_is_read_up_to_where_it_is_damaged(void **state)
{
  char folder[SCRATCH_SIZE];
  const ft_partition in[3] = { { .schema = FT_SCHEMA, .name = "one" },
                               { .schema = FT_SCHEMA, .name = "two", .max_seconds = 60 },
                               { .schema = FT_SCHEMA, .name = "three" } };
  struct ft_error err;
  struct ft_buf list;
  ft_partition out;
  size_t whole;
  int dirfd;

  (void)state;
  dirfd = scratch_open(folder);
  assert_int_equal(
      ft_record_write_list(FT_RECORD_PARTITION, in, sizeof *in, 3, dirfd, "l", 0644, &err), 0);
  assert_int_equal(ft_record_list_open(dirfd, "l", &list, &err), 0);
  whole = list.length;
  for (size_t i = 0; i <= whole; i++)
    for (int cut = 0; cut < 2; cut++) {
      size_t at = 0, read = 0;
      int got;

      if (cut)
        list.length = i;
      else if (i < whole)
        list.data[i] ^= 0x55;
      while ((got = ft_record_list_next(FT_RECORD_PARTITION, &list, "l", &at, &out, &err)) > 0)
        assert_string_equal(out.name, in[read++].name);
      /* truncation between two records is no error */
      assert_int_equal(got, i == whole || (cut && i == at) ? 0 : -1);
      assert_true(read == 3 || i < whole);
      list.length = whole;
      if (!cut && i < whole)
        list.data[i] ^= 0x55;
    }
  ft_buf_free(&list);
  assert_int_equal(ft_record_list_open(dirfd, "absent", &list, &err), -1);
  assert_int_equal(errno, ENOENT);
  ft_buf_free(&list);
  (void)scratch_close(folder, dirfd);
}

static void model_names_are_safe_and_distinct(void **state)
{
  static const char *const apps[] = { "a",  "../../etc/passwd", ".hidden", "", "a b",
                                      "ab", "caf\xc3\xa9/\n" };
  char names[COUNT_OF(apps)][FT_STATE_NAME_SIZE];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(apps); i++) {
    ft_state_model_name(apps[i], names[i]);
    assert_null(strchr(names[i], '/'));
    assert_true(names[i][0] != '.');
    for (size_t j = 0; j < i; j++)
      assert_string_not_equal(names[i], names[j]);
  }
}

static void names_of_files_have_limits(void **state)
{
  static const size_t sizes[] = { 64, 80, 110, 128, 256 };
  char names[2][FT_STATE_NAME_SIZE], app[128], key[80], text[260];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(sizes); i++)
    for (size_t n = sizes[i] - 2; n <= sizes[i] + 1; n++) {
      memset(text, 'w', n);
      text[n] = '\0';
      ft_state_model_name(text, names[0]);
      ft_state_runtimes_before_name(text, names[1]);
      assert_true(strlen(names[0]) < 128 && strlen(names[1]) < 128);
      ft_state_imported_app(text, 7, "", app);
      assert_int_equal(strlen(app), n + 1 < sizeof app ? n + 1 : sizeof app - 1);
      ft_state_imported_app("", 7, text, app);
      assert_int_equal(strlen(app), n + 2 < sizeof app ? n + 2 : sizeof app - 1);
      /* "runs:" and the words that fit */
      (void)ft_state_similarity(FT_SIMILAR_PROGRAM, "", text, key);
      assert_int_equal(strlen(key), n <= 64 ? n + 5 : 5);
    }
}

/* The fields from a record down to one of its strings. */
struct string_field {
  pb_size_t tags[8]; /* the string's is the last */
  size_t depth;
};

/* Puts the tag and length of a field of LENGTH bytes before FRONT. Returns the new front. */
static unsigned char *prepend_field(unsigned char *front, pb_size_t tag, size_t length)
{
  const size_t numbers[] = { (size_t)tag << 3 | 2, length };
  unsigned char text[20];
  size_t used = 0;

  for (size_t i = 0; i < COUNT_OF(numbers); i++) {
    size_t rest = numbers[i];

    for (; rest >= 0x80; rest >>= 7)
      text[used++] = (unsigned char)(rest | 0x80);
    text[used++] = (unsigned char)rest;
  }
  front -= used;
  memcpy(front, text, used);
  return front;
}

/* Decodes a record whose only field is the string FIELD, of LENGTH bytes. */
static int decode_string(enum ft_record record, const struct string_field *field, size_t length,
                         void *message, struct ft_error *err)
{
  static unsigned char raw[2048];
  unsigned char *end = raw + sizeof raw, *front = end - length;

  memset(front, 'w', length);
  for (size_t i = field->depth; i > 0; i--)
    front = prepend_field(front, field->tags[i - 1], (size_t)(end - front));
  *--front = FT_SCHEMA;
  *--front = 0x08; /* the schema's version, field 1 */
  return ft_record_decode(record, (const char *)front, (size_t)(end - front), message, err);
}

/* Decodes every string below FIELDS, whose parents are PARENT. Returns their number. */
static unsigned check_strings(enum ft_record record, const pb_msgdesc_t *fields,
                              struct string_field parent, void *message)
{
  struct string_field field = parent;
  unsigned strings = 0;
  pb_field_iter_t at;

  assert_true(parent.depth < COUNT_OF(parent.tags));
  field.depth++;
  if (!pb_field_iter_begin(&at, fields, message))
    return 0;
  do {
    field.tags[parent.depth] = at.tag;
    if (PB_LTYPE_IS_SUBMSG(at.type))
      strings += check_strings(record, at.submsg_desc, field, message);
    if (PB_LTYPE(at.type) != PB_LTYPE_STRING)
      continue;
    strings++;
    for (size_t n = at.data_size - 2; n <= at.data_size; n++) {
      struct ft_error err = { "" };
      int status = decode_string(record, &field, n, message, &err);

      if (n < at.data_size ? status < 0 && strstr(err.text, "overflow")
                           : status == 0 || !strstr(err.text, "overflow"))
        fail_msg("record %d, field %u at depth %zu, %zu bytes: %s", (int)record, (unsigned)at.tag,
                 field.depth, n, err.text);
    }
  } while (pb_field_iter_next(&at));
  return strings;
}

/* A string as long as its array, without place for the NUL, is rejected, also one of a list and one
 * of a message in the record. */
static void every_string_of_a_record_has_a_limit(void **state)
{
  static const pb_msgdesc_t *const types[] = { [FT_RECORD_SUBMISSION] = ft_submission_fields,
                                               [FT_RECORD_JOB_ARRAY] = ft_job_array_fields,
                                               [FT_RECORD_OBSERVATION] = ft_observation_fields,
                                               [FT_RECORD_MODEL] = ft_model_fields,
                                               [FT_RECORD_SITE] = ft_site_fields,
                                               [FT_RECORD_PARTITION] = ft_partition_fields,
                                               [FT_RECORD_APPS] = ft_apps_fields,
                                               [FT_RECORD_ANNOUNCEMENT] = ft_announcement_fields,
                                               [FT_RECORD_ANSWER] = ft_answer_fields,
                                               [FT_RECORD_PERFORMANCE] = ft_performance_fields,
                                               [FT_RECORD_PLATFORMS] = ft_platforms_fields,
                                               [FT_RECORD_SIMILAR_APPS] = ft_similar_apps_fields,
                                               [FT_RECORD_PRIOR] = ft_prior_fields,
                                               [FT_RECORD_GPUS] = ft_gpus_fields,
                                               [FT_RECORD_QUESTION] = ft_question_fields,
                                               [FT_RECORD_REPLY] = ft_reply_fields,
                                               [FT_RECORD_VERDICTS] = ft_verdicts_fields,
                                               [FT_RECORD_SETTINGS_QUERY] =
                                                   ft_settings_query_fields,
                                               [FT_RECORD_SETTINGS] = ft_settings_fields,
                                               [FT_RECORD_RUNNING] = ft_running_fields,
                                               [FT_RECORD_JOBS_QUERY] = ft_jobs_query_fields,
                                               [FT_RECORD_JOBS_REPLY] = ft_jobs_reply_fields,
                                               [FT_RECORD_HOST_QUERY] = ft_host_query_fields,
                                               [FT_RECORD_HOST] = ft_host_fields,
                                               [FT_RECORD_CATEGORIES] = ft_categories_fields,
                                               [FT_RECORD_USAGE] = ft_usage_fields,
                                               [FT_RECORD_PROGRAM] = ft_program_fields };
  static max_align_t message[(64 << 10) / sizeof(max_align_t)]; /* the largest struct of a record */
  unsigned strings = 0;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(types); i++)
    strings += check_strings((enum ft_record)i, types[i], (struct string_field){ 0 }, message);
  assert_true(strings > 100);
}

static void a_users_own_model_comes_before_the_sites(void **state)
{
  char folder[SCRATCH_SIZE], name[FT_STATE_NAME_SIZE];
  ft_model *in = sample_model(), *out = calloc(1, sizeof *out);
  struct ft_error err;
  int state_fd, models;

  (void)state;
  state_fd = scratch_open(folder);
  ft_state_model_name("unet3d", name);
  assert_int_equal(mkdirat(state_fd, "models", 0755), 0);
  assert_int_equal(mkdirat(state_fd, "models/site", 0755), 0);
  assert_int_equal(mkdirat(state_fd, "models/1000", 0755), 0);
  assert_int_equal(ft_state_read_model(state_fd, 1000, "unet3d", 0, out, NULL, &err), -1);
  assert_int_equal(errno, ENOENT);
  models = openat(state_fd, "models/site", O_RDONLY | O_DIRECTORY);
  in->runs = 9;
  assert_int_equal(
      ft_model_file_write((const ft_model *const[]){ in }, 1, NULL, models, name, 0644, &err), 0);
  close(models);
  assert_int_equal(ft_state_read_model(state_fd, 1000, "unet3d", 0, out, NULL, &err), 0);
  assert_int_equal(out->runs, 9);
  models = openat(state_fd, "models/1000", O_RDONLY | O_DIRECTORY);
  in->runs = 2;
  assert_int_equal(
      ft_model_file_write((const ft_model *const[]){ in }, 1, NULL, models, name, 0644, &err), 0);
  assert_int_equal(ft_state_read_model(state_fd, 1000, "unet3d", 0, out, NULL, &err), 0);
  assert_int_equal(out->runs, 2);
  strcpy(in->app, "another");
  assert_int_equal(
      ft_model_file_write((const ft_model *const[]){ in }, 1, NULL, models, name, 0644, &err), 0);
  assert_int_equal(ft_state_read_model(state_fd, 1000, "unet3d", 0, out, NULL, &err), 0);
  assert_int_equal(out->runs, 9);
  close(models);
  (void)scratch_close(folder, state_fd);
  free(in);
  free(out);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_record_goes_both_ways),
    cmocka_unit_test(an_observation_of_the_previous_release_is_read_unchanged),
    cmocka_unit_test(an_observation_without_an_app_keeps_the_rest),
    cmocka_unit_test(hostile_bytes_are_rejected),
    cmocka_unit_test(a_forged_decision_is_rejected),
    cmocka_unit_test(a_policy_out_of_range_is_rejected),
    cmocka_unit_test(a_request_is_for_one_node),
    cmocka_unit_test(names_of_users_are_clean),
    cmocka_unit_test(the_uid_of_no_user_is_rejected),
    cmocka_unit_test(inconsistent_peaks_are_rejected),
    cmocka_unit_test(damage_anywhere_is_detected),
    cmocka_unit_test(a_failed_read_is_no_damage),
    cmocka_unit_test(a_list_is_read_up_to_where_it_is_damaged),
    cmocka_unit_test(model_names_are_safe_and_distinct),
    cmocka_unit_test(names_of_files_have_limits),
    cmocka_unit_test(every_string_of_a_record_has_a_limit),
    cmocka_unit_test(a_users_own_model_comes_before_the_sites)
  };

  return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
