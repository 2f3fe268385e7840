/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a new app's message has: what the user's other apps use of what they request, and what other
 * users' runs of the program needed. */
#include "config.h"

#include "tests/unit/decided.h"
#include "tests/unit/scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learner/new_apps/usage_index.h"
#include "predictor/core/sort.h"
#include "predictor/core/text.h"
#include "predictor/online/online.h"

static char folder[SCRATCH_SIZE];
static int state_fd = -1;
static struct ft_publisher *publisher;
static ft_model model;
static struct ft_history history;

static int set_up(void **state)
{
  struct ft_error err;

  (void)state;
  state_fd = scratch_open(folder);
  publisher = ft_publisher_open(state_fd, &err);
  assert_non_null(publisher);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  ft_publisher_close(publisher);
  return scratch_close(folder, state_fd);
}

/* A run of UID's APP with a peak of MIB, of REQUESTED_MIB (0: the partition's default). */
static ft_observation make_run(uint32_t job, double mib, double requested_mib)
{
  ft_observation o = { .schema = FT_SCHEMA,
                       .job_id = job,
                       .end_time = job,
                       .outcome = FT_OUTCOME_COMPLETED,
                       .runtime_seconds = 10,
                       .cpus = 4,
                       .has_rss_bytes = true,
                       .rss_bytes = (uint64_t)(mib * 0x1p20) };

  o.submission.has_request = true;
  if (requested_mib > 0)
    o.submission.request =
        (ft_request){ .mem_unit = FT_MEM_CPU, .mem_bytes = (uint64_t)(requested_mib * 0x1p18) };
  return o;
}

/* Enters the COUNT runs RUN of UID's APP. */
static void learn(uint32_t uid, const char *app, const ft_observation *run, size_t count)
{
  struct ft_error err;

  ft_online_init(&model, &history, app, uid, FT_RULE_RSS);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(ft_online_update(&model, &history, &run[i], &err), 1);
  ft_usage_index_update(publisher, state_fd, &model, &history);
}

/* UID's app NAME with one run, the JOB-th of all. */
static void learn_run(uint32_t uid, const char *name, double mib, double requested_mib)
{
  static uint32_t job = 1;
  ft_observation o = make_run(job++, mib, requested_mib);

  learn(uid, name, &o, 1);
}

/* Returns what is known of the app NAME of UID, whose program is PROGRAM. */
static struct ft_new_app look_up(uint32_t uid, const char *name, const char *program, bool others)
{
  ft_submission s = { .schema = FT_SCHEMA, .default_app = true };
  struct ft_new_app out;

  (void)ft_string_copy(name, s.app, sizeof s.app);
  (void)ft_string_copy(program, s.program, sizeof s.program);
  ft_new_app_read(state_fd, uid, &s, others, &out);
  return out;
}

static void a_program_is_known_by_the_name_of_its_app(void **state)
{
  static const struct {
    const char *app, *program; /* NULL: none */
  } cases[] = {
    { "bwa-mem-a6a0170e", "bwa-mem" },
    { "bwa-mem+1-a6a0170e", "bwa-mem+1" },
    { "STAR-15c8cb6d", "STAR" },
    { "picard.jar-MarkDuplicates-79512bde", "picard.jar-MarkDuplicates" },
    { "picard.jar-79512bde", "picard.jar" },
    { "train.py-3cf2dfe1", NULL }, /* another user's train.py is another program */
    { "train.py+2-3cf2dfe1", NULL },
    { "unet3d", NULL }, /* a name that a user gave */
    { "unet3d-3CF2DFE1", NULL },
    { "bwa-mem-3cf2dfe", NULL },
    { "alice/bwa", NULL },    /* imported */
    { "job-15c8cb6d", NULL }, /* the script, whose program is unknown */
    { "wrap-15c8cb6d", NULL },
    { "-15c8cb6d", NULL },
    { "", NULL },
  };
  char out[FT_STATE_PROGRAM], longest[100];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    bool is = ft_state_program(cases[i].app, out);

    if (is != (cases[i].program != NULL) || (is && strcmp(out, cases[i].program) != 0))
      fail_msg("case %zu: %s", i, is ? out : "none");
  }
  memset(longest, 'a', sizeof longest);
  (void)ft_string_copy("-15c8cb6d", longest + FT_STATE_PROGRAM - 1, 10);
  assert_true(ft_state_program(longest, out));
  (void)ft_string_copy("-15c8cb6d", longest + FT_STATE_PROGRAM, 10);
  longest[FT_STATE_PROGRAM - 1] = 'a';
  assert_false(ft_state_program(longest, out));
}

static void requests_are_compared_with_what_their_apps_used(void **state)
{
  ft_observation some[5];
  struct ft_new_app n;

  (void)state;
  learn_run(1001, "one", 10, 100);
  learn_run(1001, "two", 30, 100);
  learn_run(1001, "default", 30, 0); /* requested nothing */
  n = look_up(1001, "new", "", true);
  assert_int_equal(n.apps, 0); /* two are no habit */
  /* an app counts once: by the median of its runs, of those that completed and requested memory */
  for (uint32_t i = 0; i < COUNT_OF(some); i++)
    some[i] = make_run(100 + i, i < 3 ? 20 : 90, i == 3 ? 0 : 100);
  some[4].censored = true;
  some[4].outcome = FT_OUTCOME_OUT_OF_MEMORY;
  learn(1001, "three", some, COUNT_OF(some));
  n = look_up(1001, "new", "", true);
  assert_int_equal(n.apps, 3);
  assert_near(n.share, 0.2, 0.001);
  assert_int_equal(look_up(1002, "new", "", true).apps, 0); /* another user's */
  learn_run(1001, "four", 500, 100); /* more than it requested: memory is not enforced */
  learn_run(1001, "five", 600, 100);
  assert_near(look_up(1001, "new", "", true).share, 0.3, 0.001);
  ft_usage_index_remove(publisher, state_fd, 1001, "five");
  ft_usage_index_remove(publisher, state_fd, 1001, "four");
  ft_usage_index_remove(publisher, state_fd, 1001, "one");
  assert_int_equal(look_up(1001, "new", "", true).apps, 0);
}

/* The apps that ran last count. */
static void the_files_are_bounded(void **state)
{
  char name[40];
  static ft_usage usage;
  static ft_program known;

  (void)state;
  for (unsigned i = 0; i < 80; i++) {
    (void)snprintf(name, sizeof name, "bwa-mem-%08x", i);
    learn_run(1001, name, i < 20 ? 1 : 50, 100);
  }
  assert_int_equal(ft_state_read_usage(state_fd, 1001, &usage, NULL), 0);
  assert_int_equal(usage.apps_count, 64);
  for (size_t i = 0; i < usage.apps_count; i++)
    assert_near(usage.apps[i].bytes / 0x1p20, 50, usage.apps[i].bytes < 0x1p21 ? 50 : 0.1);
  assert_int_equal(ft_published_program(publisher, "bwa-mem", &known, NULL), 0);
  assert_int_equal(known.apps_count, 8); /* no user displaces the others */
  for (uint32_t uid = 2000; uid < 2300; uid++)
    learn_run(uid, "bwa-mem-12345678", 100, 0);
  assert_int_equal(ft_published_program(publisher, "bwa-mem", &known, NULL), 0);
  assert_int_equal(known.apps_count, 256);
  assert_int_equal(look_up(1, "bwa-mem-0badcafe", "bwa", true).users, 256);
}

static void other_users_are_reported_from_five_on(void **state)
{
  struct ft_new_app n;
  static ft_program public;

  (void)state;
  for (uint32_t i = 0; i < 4; i++)
    learn_run(2001 + i, "bwa-mem-00000001", 100 * (i + 1), 0);
  for (unsigned i = 0; i < 6; i++) { /* more apps of one user do not make more users */
    char name[40];

    (void)snprintf(name, sizeof name, "bwa-mem-0000001%u", i);
    learn_run(2001, name, 100, 0);
  }
  assert_int_equal(look_up(1, "bwa-mem-0badcafe", "bwa", true).users, 0);
  assert_int_equal(ft_state_read_program(state_fd, "bwa-mem", &public, NULL), -1);
  learn_run(2005, "bwa-mem-00000001", 523, 0);
  n = look_up(1, "bwa-mem-0badcafe", "bwa", true);
  assert_int_equal(n.users, 5);
  assert_string_equal(n.program, "bwa-mem");
  /* the second and the fourth of 100, 200, 300, 400, 523 */
  assert_near(n.low_bytes / 0x1p20, 200, 0.01);
  assert_near(n.high_bytes / 0x1p20, 400, 0.01);
  /* own runs do not count: four others are too few */
  assert_int_equal(look_up(2005, "bwa-mem-0badcafe", "bwa", true).users, 0);
  /* the site's policy; another program; a script; a program of the user's; a named app */
  assert_int_equal(look_up(1, "bwa-mem-0badcafe", "bwa", false).users, 0);
  assert_int_equal(look_up(1, "bwa-index-0badcafe", "bwa", true).users, 0);
  assert_int_equal(look_up(1, "bwa-mem-0badcafe", "", true).users, 0);
  assert_int_equal(look_up(1, "bwa-mem-0badcafe", "./bwa", true).users, 0);
  assert_int_equal(look_up(1, "bwa-mem", "bwa", true).users, 0);
  /* a user's runs are forgotten */
  ft_usage_index_remove(publisher, state_fd, 2005, "bwa-mem-00000001");
  assert_int_equal(ft_state_read_program(state_fd, "bwa-mem", &public, NULL), -1);
}

/* For each reader the quartiles are those of the others, as if they had been computed for the
 * reader alone; and the public file has no value as it was measured, and no user. */
static void own_runs_do_not_count(void **state)
{
  static const double mib[] = { 777, 101, 333, 1234, 202, 555, 90, 2048, 3100, 444, 666 };
  static ft_program public;

  (void)state;
  for (uint32_t users = 6; users <= COUNT_OF(mib); users++) {
    for (uint32_t i = 0; i < users; i++)
      learn_run(3000 + i, "STAR-00000001", mib[i], 0);
    for (uint32_t reader = 0; reader < users; reader++) {
      struct ft_new_app n = look_up(3000 + reader, "STAR-0badcafe", "STAR", true);
      double others[COUNT_OF(mib)];
      size_t count = 0;

      for (uint32_t i = 0; i < users; i++)
        if (i != reader)
          others[count++] = mib[i];
      ft_sort_doubles(others, count);
      assert_int_equal(n.users, users - 1);
      assert_near(n.low_bytes, ft_new_app_round(others[(count - 1) / 4] * 0x1p20), 1);
      assert_near(n.high_bytes, ft_new_app_round(others[count - 1 - (count - 1) / 4] * 0x1p20), 1);
    }
  }
  assert_int_equal(ft_state_read_program(state_fd, "STAR", &public, NULL), 0);
  assert_int_equal(public.apps_count, 0);
  for (size_t i = 0; i < public.bytes_count; i++)
    assert_true(public.bytes[i] == ft_new_app_round(public.bytes[i]));
}

static void amounts_are_rounded_to_two_digits(void **state)
{
  static const struct {
    double bytes, rounded;
  } cases[] = {
    { 0, 0 },
    { 1, 1 },
    { 999, 1000 },
    { 4.54 * 0x1p30, 4.5 * 0x1p30 },
    { 98.7 * 0x1p20, 99 * 0x1p20 },
    { 1023 * 0x1p20, 1000 * 0x1p20 },
    { 0x1p30, 0x1p30 },
    { 123.4 * 0x1p40, 120 * 0x1p40 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    assert_near(ft_new_app_round(cases[i].bytes), cases[i].rounded, 1e-9 * cases[i].bytes);
}

/* `other_users = no` for the site. */
static void a_site_can_switch_it_off(void **state)
{
  static ft_program known;

  (void)state;
  for (uint32_t uid = 2001; uid <= 2008; uid++)
    learn_run(uid, "bwa-mem-00000001", 100, 200);
  assert_int_equal(look_up(1, "bwa-mem-0badcafe", "bwa", true).users, 8);
  ft_publisher_set_programs(publisher, false);
  assert_int_equal(look_up(1, "bwa-mem-0badcafe", "bwa", true).users, 0);
  assert_int_equal(ft_published_program(publisher, "bwa-mem", &known, NULL), -1);
  learn_run(2001, "bwa-mem-00000001", 100, 200);
  assert_int_equal(ft_published_program(publisher, "bwa-mem", &known, NULL), -1);
}

static void damaged_files_count_as_missing(void **state)
{
  static const struct {
    const char *path;
    size_t size;
  } files[] = { { FT_STATE_MODELS "/1001/" FT_STATE_USAGE, 30 }, { FT_STATE_PROGRAMS, 0 } };
  char name[FT_STATE_NAME_SIZE], path[FT_STATE_NAME_SIZE + 16];
  struct ft_new_app n;

  (void)state;
  for (uint32_t uid = 2001; uid <= 2008; uid++)
    learn_run(uid, "bwa-mem-00000001", 100, 200);
  for (unsigned i = 0; i < 3; i++) {
    (void)snprintf(name, sizeof name, "app%u", i);
    learn_run(1001, name, 100, 200);
  }
  ft_state_program_name("bwa-mem", name);
  (void)snprintf(path, sizeof path, FT_STATE_PROGRAMS "/%s", name);
  n = look_up(1001, "bwa-mem-0badcafe", "bwa", true);
  assert_true(n.apps == 3 && n.users == 8);
  for (size_t i = 0; i < COUNT_OF(files); i++) {
    int fd = openat(state_fd, i ? path : files[i].path, O_WRONLY | O_CLOEXEC);

    assert_true(fd >= 0 && ftruncate(fd, (off_t)files[i].size) == 0);
    (void)close(fd);
  }
  n = look_up(1001, "bwa-mem-0badcafe", "bwa", true);
  assert_true(n.apps == 0 && n.users == 0);
  learn_run(1001, "app0", 100, 200); /* and are written again */
  learn_run(2001, "bwa-mem-00000001", 100, 200);
  n = look_up(1001, "bwa-mem-0badcafe", "bwa", true);
  assert_int_equal(n.users, 8);
}

static void figures_are_checked_before_they_are_used(void **state)
{
  static const double bad[] = { -1, INFINITY, NAN };
  static ft_usage usage = { .schema = FT_SCHEMA, .apps_count = 1 };
  static ft_program program = { .schema = FT_SCHEMA, .users = 9, .bytes_count = 6 };
  struct ft_error err;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    program.bytes[1] = bad[i];
    usage.apps[0] = (ft_app_usage){ .app = 1, .share = (float)bad[i] };
    assert_int_equal(ft_publish_program(publisher, "bwa-mem", NULL, &program, &err), 0);
    assert_int_equal(
        ft_publish_user_file(publisher, 1001, FT_RECORD_USAGE, &usage, FT_STATE_USAGE, &err), 0);
    assert_int_equal(ft_state_read_program(state_fd, "bwa-mem", &program, &err), -1);
    assert_int_equal(ft_state_read_usage(state_fd, 1001, &usage, &err), -1);
    program = (ft_program){ .schema = FT_SCHEMA, .users = 9, .bytes_count = 6 };
    usage = (ft_usage){ .schema = FT_SCHEMA, .apps_count = 1 };
  }
  /* users without quartiles, as no learner writes */
  program.bytes_count = 1;
  assert_int_equal(ft_publish_program(publisher, "bwa-mem", NULL, &program, &err), 0);
  assert_int_equal(look_up(1, "bwa-mem-0badcafe", "bwa", true).users, 0);
}

static void the_authors_of_common_programs_are_quoted(void **state)
{
  static const struct {
    const char *program, *line; /* NULL: none */
  } cases[] = {
    { "bwa-index", "; by its documentation bwa-index needs 5 GB for the human genome" },
    { "bwa-index+2", "; by its documentation bwa-index needs 5 GB for the human genome" },
    { "STAR", "; by its documentation STAR needs 16 to 32 GB for a mammal's genome" },
    { "bwa", NULL },
    { "bwa-index-x", NULL },
    { "star", NULL },
    { "+1", NULL },
    { "", NULL },
  };
  const struct ft_common_program *row, *before = NULL;
  char text[FT_MESSAGE_SIZE];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_new_app n = { .common = ft_common_program_find(cases[i].program) };

    assert_string_equal(ft_message_new_app(&n, text, sizeof text),
                        cases[i].line ? cases[i].line : "");
  }
  for (size_t i = 0; (row = ft_common_program_at(i)); i++, before = row) {
    struct ft_new_app n = { .common = row };

    assert_true(row->low_bytes > 0 && row->low_bytes <= row->high_bytes);
    assert_int_equal(strncmp(row->source, "https://", 8), 0);
    assert_true(!before || strcmp(before->name, row->name) < 0);
    assert_ptr_equal(ft_common_program_find(row->name), row);
    assert_true(strlen(ft_message_new_app(&n, text, sizeof text)) < 150);
  }
  assert_non_null(before);
  assert_null(look_up(1, "bwa-index-0badcafe", "./bwa", true).common);
  assert_non_null(look_up(1, "bwa-index-0badcafe", "bwa", true).common);
}

/* In every mode and for every request, the decision is what it is without this, and only the
 * message differs. */
static void nothing_is_changed_by_it(void **state)
{
  static const ft_mode modes[] = { FT_MODE_OFF,   FT_MODE_CHECK, FT_MODE_SET,
                                   FT_MODE_RAISE, FT_MODE_TRIM,  FT_MODE_FORCE };
  static const double requested_mib[] = { 0, 1, 100, 100000 };
  static const struct {
    struct ft_new_app known;
    const char *line;
  } cases[] = {
    { { .apps = 0 }, "x: no recorded run yet" },
    { { .apps = 14, .share = 0.123 },
      "x: no recorded run yet; your other jobs used 12 % of the memory that they requested (median "
      "of 14 apps)" },
    { { .apps = 3, .share = 0.004 },
      "x: no recorded run yet; your other jobs used 0.4 % of the memory that they requested "
      "(median of 3 apps)" },
    { { .users = 7, .low_bytes = 4 * 0x1p30, .high_bytes = 6.2 * 0x1p30, .program = "bwa-mem" },
      "x: no recorded run yet; runs of bwa-mem by 7 other users here used 4 GiB to 6.20 GiB" },
    { { .users = 5,
        .low_bytes = 0x1p30,
        .high_bytes = 0x1p30,
        .program = "bwa-mem",
        .apps = 3,
        .share = 1.5 },
      "x: no recorded run yet; runs of bwa-mem by 5 other users here used 1 GiB; your other "
      "jobs used 150 % of the memory that they requested (median of 3 apps)" },
  };
  ft_policy policy = ft_policy_defaults;
  ft_partition partition = { .def_mem_bytes = 100 << 20 };

  (void)state;
  policy.reject_probability = 0.5;
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    for (size_t m = 0; m < COUNT_OF(modes); m++)
      for (size_t r = 0; r < COUNT_OF(requested_mib); r++) {
        ft_request request = { .mem_unit = requested_mib[r] > 0 ? FT_MEM_NODE : FT_MEM_NONE,
                               .mem_bytes = (uint64_t)(requested_mib[r] * 0x1p20) };
        struct ft_decision_input q = { .mode = modes[m],
                                       .app = "x",
                                       .request = &request,
                                       .policy = &policy,
                                       .partition = &partition,
                                       .memory_is_consumable = true,
                                       .dry_run = true,
                                       .rule = FT_RULE_CGROUP };
        struct ft_explanation said;
        ft_decision without, with;

        decide(&q, &without, NULL);
        q.new_app = &cases[i].known;
        decide(&q, &with, &said);
        assert_memory_equal(&with, &without, sizeof with);
        assert_int_equal(with.action, FT_ACTION_LEAVE);
        assert_int_equal(said.count, 1);
        assert_string_equal(said.line[0], cases[i].line);
      }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_program_is_known_by_the_name_of_its_app),
    cmocka_unit_test(amounts_are_rounded_to_two_digits),
    TEST(requests_are_compared_with_what_their_apps_used),
    TEST(the_files_are_bounded),
    TEST(other_users_are_reported_from_five_on),
    TEST(own_runs_do_not_count),
    TEST(a_site_can_switch_it_off),
    TEST(damaged_files_count_as_missing),
    TEST(the_authors_of_common_programs_are_quoted),
    TEST(figures_are_checked_before_they_are_used),
    cmocka_unit_test(nothing_is_changed_by_it),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
