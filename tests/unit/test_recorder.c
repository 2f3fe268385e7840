/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include <sys/wait.h>
#include <unistd.h>

#include "learner/recorder.h"
#include "predictor/core/text.h"
#include "predictor/estimate/quantity.h"
#include "predictor/record/state_files.h"
#include "tests/unit/fixture.h"

static struct ft_history history;

static char folder[SCRATCH_SIZE];
static int state_fd;
static struct ft_publisher *publisher;
static struct ft_recorder *recorder;
static uint32_t next_job;

/* The clock of the recorder. A publication takes `publication_seconds` of it. */
static double now, publication_seconds;
static unsigned publications;

static double fake_clock(void)
{
  return now;
}

static void model_was_published(const struct ft_app_models *models, void *data)
{
  (void)models;
  (void)data;
  publications++;
  now += publication_seconds;
}

static void maintain(void)
{
  for (unsigned steps = 0; ft_recorder_maintain(recorder); steps++)
    assert_true(steps < 100000);
}

static void open_recorder(void)
{
  struct ft_error err;

  publisher = ft_publisher_open(state_fd, &err);
  assert_non_null(publisher);
  ft_publisher_on(publisher, FT_QUANTITY_MEMORY, model_was_published, NULL);
  recorder = ft_recorder_open(state_fd, folder, publisher, &err);
  assert_non_null(recorder);
  ft_recorder_set_clock(recorder, fake_clock);
  ft_recorder_set_rule(recorder, FT_RULE_RSS);
  /* a new rule makes all models stale */
  maintain();
}

static void close_recorder(void)
{
  ft_recorder_close(recorder);
  ft_publisher_close(publisher);
}

static int set_up(void **state)
{
  (void)state;
  state_fd = scratch_open(folder);
  next_job = 1;
  now = 1000;
  publication_seconds = 0.001;
  publications = 0;
  open_recorder();
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  close_recorder();
  return scratch_close(folder, state_fd);
}

static ft_observation run_of(const char *app)
{
  ft_observation o = { .schema = FT_SCHEMA,
                       .job_id = next_job,
                       .uid = (uint32_t)geteuid(),
                       .end_time = next_job,
                       .outcome = FT_OUTCOME_COMPLETED,
                       .runtime_seconds = 1,
                       .platform = "here",
                       .has_rss_bytes = true,
                       .rss_bytes = 1000000 };

  next_job++;
  (void)snprintf(o.submission.app, sizeof o.submission.app, "%s", app);
  return o;
}

/* Adds a run of APP, which the store accepts. Returns whether a model is to be rebuilt. */
static bool add(const char *app)
{
  ft_observation o = run_of(app);
  struct ft_error err;
  bool rebuild;

  assert_int_equal(ft_recorder_add(recorder, &o, &rebuild, &err), 0);
  return rebuild;
}

/* Returns the number of runs in the published model of UID's APP; 0: no model. */
static unsigned published_of(uint32_t uid, const char *app)
{
  ft_model *model = malloc(sizeof *model);
  unsigned runs = 0;

  assert_non_null(model);
  if (ft_state_read_own_model(state_fd, uid, app, model, &history, NULL) == 0)
    runs = model->runs;
  free(model);
  return runs;
}

static unsigned published(const char *app)
{
  return published_of((uint32_t)geteuid(), app);
}

/* Publishes what is due now. Returns as ft_recorder_publish. */
static double publish(void)
{
  bool rebuild;
  double due = ft_recorder_publish(recorder, &rebuild);

  assert_false(rebuild);
  assert_true(due == ft_recorder_publish_due(recorder));
  return due;
}

static void a_model_is_published_at_once_and_then_once_a_second(void **state)
{
  (void)state;
  assert_true(isinf(publish()));
  add("a");
  assert_true(ft_recorder_publish_due(recorder) <= now);
  assert_true(isinf(publish()));
  assert_int_equal(published("a"), 1);
  for (int i = 0; i < 5; i++) {
    now += 0.1;
    add("a");
    (void)publish();
    assert_int_equal(published("a"), 1);
  }
  assert_near(publish(), 1001.001, 1e-9);
  now = 1001.5;
  assert_true(isinf(publish()));
  assert_int_equal(published("a"), 6);
  assert_int_equal(publications, 2);
  now += 1.5;
  add("a");
  (void)publish();
  assert_int_equal(published("a"), 7);
}

/* One step of publishing does not reach all apps of a burst. */
static void all_apps_of_a_burst_are_published(void **state)
{
  enum { APPS = 60 };
  double begin, due;
  char app[16];

  (void)state;
  for (int i = 0; i < 2 * APPS; i++) {
    (void)snprintf(app, sizeof app, "app%d", i % APPS);
    add(app);
  }
  begin = now;
  while (isfinite(due = publish())) {
    assert_true(due > now && due <= now + 1);
    now = due;
  }
  assert_int_equal(publications, APPS);
  for (int i = 0; i < APPS; i++) {
    (void)snprintf(app, sizeof app, "app%d", i);
    assert_int_equal(published(app), 2);
  }
  /* a quarter of the time is for publishing, the pause after the last step not counted */
  assert_true(now - begin >= 4 * (APPS - 20) * publication_seconds);
}

/* Apps that are changed without pause and cannot all be published in time wait equally long. */
static void the_app_that_waits_longest_is_published_first(void **state)
{
  enum { APPS = 40, ROUNDS = 200 };
  unsigned least = ROUNDS;
  char app[16];

  (void)state;
  publication_seconds = 0.02;
  for (int round = 0; round < ROUNDS; round++) {
    (void)snprintf(app, sizeof app, "app%d", round % APPS);
    add(app);
    (void)publish();
    now += 0.08;
  }
  for (int i = 0; i < APPS; i++) {
    (void)snprintf(app, sizeof app, "app%d", i);
    if (published(app) < least)
      least = published(app);
  }
  assert_true(least >= ROUNDS / APPS - 1);
}

static void a_killed_learner_publishes_what_was_stored(void **state)
{
  pid_t pid;
  int status;

  (void)state;
  add("a");
  (void)publish();
  close_recorder();
  pid = fork();
  if (pid == 0) {
    struct ft_error err;
    ft_observation o;
    bool rebuild;

    open_recorder();
    for (int i = 0; i < 3; i++) {
      add("a");
      now += 0.1;
      (void)publish();
      add("b");
    }
    /* the mark of what is published must not cover what is queued */
    maintain();
    if (ft_recorder_begin(recorder, &err) == 0)
      for (int i = 0; i < 3; i++) {
        o = run_of("c");
        (void)ft_recorder_add(recorder, &o, &rebuild, &err);
      }
    (void)ft_recorder_commit(recorder, &rebuild, &err);
    _exit(published("a") == 2 && published("b") == 1 && !published("c") ? 0 : 1);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  open_recorder();
  maintain();
  assert_int_equal(published("a"), 4);
  assert_int_equal(published("b"), 3);
  assert_int_equal(published("c"), 3);
}

static void a_closed_recorder_has_published_all(void **state)
{
  (void)state;
  for (int i = 0; i < 3; i++) {
    add("a");
    add("b");
  }
  close_recorder();
  assert_int_equal(published("a"), 3);
  assert_int_equal(published("b"), 3);
  publications = 0;
  open_recorder();
  maintain();
  assert_int_equal(publications, 0);
}

/* None of the runs of a transaction is stored if one is refused; each is stored alone then. */
static void a_refused_run_does_not_lose_the_others(void **state)
{
  ft_observation o[3] = { run_of("a"), run_of("a"), run_of("a") };
  struct ft_error err;
  bool rebuild;

  (void)state;
  o[1].uid = FT_STATE_POOLED;
  assert_int_equal(ft_recorder_begin(recorder, &err), 0);
  assert_int_equal(ft_recorder_add(recorder, &o[0], &rebuild, &err), 0);
  assert_int_equal(ft_recorder_add(recorder, &o[1], &rebuild, &err), -1);
  ft_recorder_rollback(recorder);
  assert_true(isinf(publish()));
  for (int i = 0; i < 3; i++)
    assert_int_equal(ft_recorder_add(recorder, &o[i], &rebuild, &err), i == 1);
  (void)publish();
  assert_int_equal(published("a"), 2);
}

/* A later run of a transaction moves the app of an earlier one. */
static void an_app_is_renamed_within_a_transaction(void **state)
{
  ft_observation o[2] = { run_of("old"), run_of("new") };
  struct ft_error err;
  bool rebuild;

  (void)state;
  o[1].submission.former_apps_count = 1;
  (void)strcpy(o[1].submission.former_apps[0], "old");
  assert_int_equal(ft_recorder_begin(recorder, &err), 0);
  for (int i = 0; i < 2; i++)
    assert_int_equal(ft_recorder_add(recorder, &o[i], &rebuild, &err), 0);
  assert_int_equal(ft_recorder_commit(recorder, &rebuild, &err), 0);
  assert_true(rebuild);
  (void)publish();
  maintain();
  assert_int_equal(published("old"), 0);
  assert_int_equal(published("new"), 2);
  now += 10;
  assert_true(isinf(publish()));
  assert_int_equal(published("old"), 0);
}

/* Jobs that rename a run back and forth make the learner rebuild a long model once a minute. */
static void a_name_takes_renamed_runs_once_a_minute(void **state)
{
  struct ft_error err;
  bool rebuild;

  (void)state;
  for (unsigned i = 0; i < 8; i++) {
    ft_observation o = run_of(i % 2 ? "a" : "b");

    o.submission.former_apps_count = 1;
    (void)strcpy(o.submission.former_apps[0], i % 2 ? "b" : "a");
    assert_int_equal(ft_recorder_add(recorder, &o, &rebuild, &err), 0);
    /* the runs of b become those of a, at first and after a minute; never back */
    assert_int_equal(rebuild, i == 1 || i == 7);
    maintain();
    now += i == 5 ? 60 : 1;
  }
  while (isfinite(ft_recorder_publish(recorder, &rebuild)))
    now += 1;
  assert_int_equal(published("a"), 8);
  assert_int_equal(published("b"), 0);
}

static void a_forgotten_run_does_not_return_from_memory(void **state)
{
  struct ft_forget_report reports[2];
  ft_forget what = { .job_id = 2 };
  struct ft_error err;

  (void)state;
  memset(reports, 0, sizeof reports);
  for (int i = 0; i < 4; i++)
    add("a");
  add("b");
  (void)publish();
  assert_int_equal(ft_recorder_forget(recorder, &what, &reports[0], &err), 0);
  add("a"); /* queued while the run is removed */
  maintain();
  assert_true(reports[0].done);
  assert_int_equal(published("a"), 4);
  now += 10;
  (void)publish();
  assert_int_equal(published("a"), 4);
  add("a");
  (void)publish();
  assert_int_equal(published("a"), 5);
  what = (ft_forget){ .app = "b" };
  assert_int_equal(ft_recorder_forget(recorder, &what, &reports[1], &err), 0);
  maintain();
  assert_int_equal(published("b"), 0);
  close_recorder();
  assert_int_equal(published("b"), 0);
  open_recorder();
}

static void a_model_that_cannot_be_published_is_published_later(void **state)
{
  char models[96];
  bool rebuild;

  (void)state;
  (void)snprintf(models, sizeof models, "%s/models/%u", folder, (unsigned)geteuid());
  fixture_put(folder, models + strlen(folder) + 1, "", 0);
  add("a");
  assert_true(isinf(ft_recorder_publish(recorder, &rebuild)));
  assert_true(rebuild);
  maintain();
  assert_int_equal(unlink(models), 0);
  maintain();
  assert_int_equal(published("a"), 1);
  assert_false(add("a"));
  (void)publish();
  assert_int_equal(published("a"), 2);
}

static void a_pooled_model_follows_each_users_runs(void **state)
{
  const ft_declared_app declared = { .name = "a" };
  struct ft_error err;
  bool rebuild;

  (void)state;
  ft_recorder_set_shared(recorder, &declared, 1);
  for (int i = 0; i < 6; i++) {
    ft_observation o = run_of("a");

    o.has_command_ran = o.command_ran = true;
    o.uid += (uint32_t)i % 3;
    assert_int_equal(ft_recorder_add(recorder, &o, &rebuild, &err), 0);
  }
  while (isfinite(ft_recorder_publish(recorder, &rebuild)))
    now += 1;
  assert_int_equal(published("a"), 2);
  assert_int_equal(published_of(FT_STATE_POOLED, "a"), 6);
  add("a");
  ft_recorder_set_shared(recorder, NULL, 0);
  now += 10;
  (void)publish();
  assert_int_equal(published("a"), 3);
  assert_int_equal(published_of(FT_STATE_POOLED, "a"), 0);
}

/* Returns the number of runs on PLATFORM in the run times of UID's APP. */
static unsigned runs_on(uint32_t uid, const char *app, const char *platform)
{
  ft_performance *performance = malloc(sizeof *performance);
  unsigned runs = 0;

  assert_non_null(performance);
  if (ft_state_read_own_performance(state_fd, uid, app, performance, NULL, NULL) == 0)
    for (size_t i = 0; i < performance->platforms_count; i++)
      if (strcmp(performance->platforms[i].platform, platform) == 0)
        runs = performance->platforms[i].runs;
  free(performance);
  return runs;
}

/* foretell.conf names the platform of a node that has runs already; those of other nodes, and those
 * that were measured under another name, stay. */
static void a_new_name_of_a_platform_takes_the_runs_along(void **state)
{
  const struct ft_config_platform section = { .name = "milan", .nodes = "c*" };
  const ft_declared_app declared = { .name = "a" };
#define LONG_CHIP                                                                                  \
  "Intel(R) Xeon(R) Platinum 8480+; 2 packages, 112 cores, 2 threads a core; L3 105 MiB"
  static const struct {
    const char *node, *platform, *fingerprint;
    bool named;
  } cases[] = {
    { "c1", "chip", "chip", true },       { "c2", "chip", "chip", true },
    { "d1", "chip", "chip", false },      { "c1", "rome", "chip", false },
    { "c2", "milan", "chip", true },      { "", "chip", "chip", false },
    { "c1", LONG_CHIP, LONG_CHIP, true }, { "c1", "Intel(R) Xeon(R)", LONG_CHIP, false }
  };
#undef LONG_CHIP
  struct ft_platform_map *map = ft_platform_map_open();
  uint32_t uid = (uint32_t)geteuid();
  struct ft_error err;
  unsigned named = 0; /* of one user */
  bool rebuild;

  (void)state;
  assert_non_null(map);
  ft_recorder_set_shared(recorder, &declared, 1);
  for (size_t i = 0; i < 3 * COUNT_OF(cases); i++) {
    ft_observation o = run_of("a");

    o.has_command_ran = o.command_ran = true;
    o.uid += (uint32_t)i % 3;
    (void)strcpy(o.node, cases[i / 3].node);
    (void)ft_string_copy(cases[i / 3].platform, o.platform, sizeof o.platform);
    (void)strcpy(o.fingerprint, cases[i / 3].fingerprint);
    named += i % 3 == 0 && cases[i / 3].named;
    assert_int_equal(ft_recorder_add(recorder, &o, &rebuild, &err), 0);
  }
  while (isfinite(ft_recorder_publish(recorder, &rebuild)))
    now += 1;
  maintain();
  assert_int_equal(runs_on(uid, "a", "milan"), 1);
  ft_platform_map_set(map, &section, 1);
  for (int i = 1; i <= 2; i++)
    ft_platform_map_assign(map, ft_text_from(i == 1 ? "c1" : "c2"), ft_text_from(""));
  publications = 0;
  for (int times = 0; times < 2; times++) {
    ft_recorder_name_platforms(recorder, map);
    maintain();
    assert_int_equal(runs_on(uid, "a", "milan"), named);
    assert_int_equal(runs_on(uid, "a", "chip"), 2);
    assert_int_equal(runs_on(uid, "a", "rome"), 1);
    assert_int_equal(runs_on(FT_STATE_POOLED, "a", "milan"), 3 * named);
  }
  assert_int_equal(publications, 4); /* three users' models and the pooled one, once */
  ft_platform_map_close(map);
}

/* The memory for models holds about a thousand apps. */
static void apps_beyond_the_memory_are_published_first(void **state)
{
  enum { APPS = 1200, TOGETHER = 60 };
  struct ft_error err;
  unsigned total = 0;
  char app[16];
  bool rebuild;

  (void)state;
  for (int i = 0; i < APPS; i++) {
    ft_observation o;

    (void)snprintf(app, sizeof app, "app%d", i);
    o = run_of(app);
    if (i % TOGETHER == 0)
      assert_int_equal(ft_recorder_begin(recorder, &err), 0);
    assert_int_equal(ft_recorder_add(recorder, &o, &rebuild, &err), 0);
    if (i % TOGETHER == TOGETHER - 1)
      assert_int_equal(ft_recorder_commit(recorder, &rebuild, &err), 0);
  }
  assert_true(publications > 0 && publications < APPS / 2);
  assert_int_equal(published("app0"), 1);
  assert_int_equal(published("app1199"), 0);
  add("app0");
  close_recorder();
  for (int i = 0; i < APPS; i++) {
    (void)snprintf(app, sizeof app, "app%d", i);
    total += published(app);
  }
  assert_int_equal(total, APPS + 1);
  open_recorder();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
    TEST(a_model_is_published_at_once_and_then_once_a_second),
    TEST(all_apps_of_a_burst_are_published),
    TEST(the_app_that_waits_longest_is_published_first),
    TEST(a_killed_learner_publishes_what_was_stored),
    TEST(a_closed_recorder_has_published_all),
    TEST(a_refused_run_does_not_lose_the_others),
    TEST(an_app_is_renamed_within_a_transaction),
    TEST(a_name_takes_renamed_runs_once_a_minute),
    TEST(a_forgotten_run_does_not_return_from_memory),
    TEST(a_model_that_cannot_be_published_is_published_later),
    TEST(a_pooled_model_follows_each_users_runs),
    TEST(a_new_name_of_a_platform_takes_the_runs_along),
    TEST(apps_beyond_the_memory_are_published_first),
  };

  return cmocka_run_group_tests_name("recorder", tests, NULL, NULL);
}
