/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <sys/inotify.h>

#include "tests/unit/scratch.h"

#include "predictor/core/text.h"
#include "predictor/estimate/model_lookup.h"
#include "predictor/record/state_files.h"

enum { UID = 1000, MIN_RUNS = 5 };

static char folder[SCRATCH_SIZE];
static int state_fd, models_fd;
static const ft_policy policy = { .min_runs = MIN_RUNS, .failure_price = 1 };
static struct ft_model_lookup evidence;
static struct ft_task_list tasks;
static ft_job_array job_array;
static ft_model model;

/* A model of APP with RUNS of MIB each; DIED: only one OOM kill at MIB. */
static void publish(const char *app, unsigned runs, double mib, bool died)
{
  char name[FT_STATE_NAME_SIZE];
  ft_evaluator *e = &model.evaluator;
  struct ft_error err;

  model = (ft_model){ .schema = FT_SCHEMA, .uid = UID, .completed = runs, .has_evaluator = true };
  (void)ft_string_copy(app, model.app, sizeof model.app);
  e->log_target = true;
  e->intercept = log(mib * 0x1p20);
  e->max_value = mib * 0x1p20;
  e->has_bound_log = died;
  e->residuals_count = 10;
  for (int i = 0; i < 10; i++)
    e->residuals[i] = 0.001 * (i - 5);
  ft_state_model_name(app, name);
  assert_int_equal(ft_model_file_write((const ft_model *const[]){ &model }, 1, NULL, models_fd,
                                       name, 0600, &err),
                   0);
}

/* Adds run times of 7 runs to the model of APP. */
static void publish_times(const char *app)
{
  const ft_model *const models[] = { &model };
  ft_performance *p = calloc(1, sizeof *p);
  struct ft_model_sections sections = { models, 1, .performance = p };
  char name[FT_STATE_NAME_SIZE];
  struct ft_error err;

  assert_int_equal(ft_state_read_own_model(state_fd, UID, app, &model, NULL, &err), 0);
  *p = (ft_performance){ .schema = FT_SCHEMA, .uid = UID, .runs = 7 };
  (void)ft_string_copy(app, p->app, sizeof p->app);
  ft_state_model_name(app, name);
  assert_int_equal(ft_model_sections_write(&sections, models_fd, name, 0600, &err), 0);
  free(p);
}

static const char *ada(void *data)
{
  (void)data;
  return "ada";
}

static void forget(const char *app)
{
  char name[FT_STATE_NAME_SIZE];

  ft_state_model_name(app, name);
  (void)unlinkat(models_fd, name, 0);
}

static void jobs_of_the_same_name_are_used_until_the_app_has_enough_runs(void **state)
{
  static const struct {
    const char *what, *job_name;
    bool named, own_died;
    unsigned own, imported;
    double own_mib, mib; /* 0: no data */
    bool borrowed;
  } cases[] = {
    { "nothing of its own", "train", false, false, 0, 12, 0, 300, true },
    { "one run", "train", false, false, 1, 12, 100, 300, true },
    { "one run that needed more", "train", false, false, 1, 12, 900, 900, false },
    { "it died", "train", false, true, 1, 12, 100, 100, false },
    { "enough of its own", "train", false, false, 5, 12, 100, 100, false },
    { "too few imported", "train", false, false, 0, 4, 0, 0, false },
    { "too few of both", "train", false, false, 2, 4, 100, 100, false },
    { "none imported", "train", false, false, 0, 0, 0, 0, false },
    { "a named app", "train", true, false, 0, 12, 0, 0, false },
    { "no name of its own", "wrap", false, false, 0, 12, 0, 0, false },
    { "no name", "", false, false, 0, 12, 0, 0, false },
    { "another's name", "eval", false, false, 0, 12, 0, 0, false },
  };
  static ft_submission s;
  struct ft_error err;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    double mib;

    s = (ft_submission){ .schema = FT_SCHEMA, .app = "train-1234", .default_app = !cases[i].named };
    (void)ft_string_copy(cases[i].job_name, s.job_name, sizeof s.job_name);
    forget("train-1234");
    forget("ada/train");
    publish("ada/wrap", 12, 300, false);
    publish("ada/", 12, 300, false);
    if (cases[i].own)
      publish("train-1234", cases[i].own, cases[i].own_mib, cases[i].own_died);
    if (cases[i].imported)
      publish("ada/train", cases[i].imported, 300, false);
    tasks.count = 0;
    assert_int_equal(
        ft_model_lookup_read(state_fd, UID, ada, NULL, &s, &tasks, &policy, NULL, &evidence, &err),
        0);
    mib = evidence.estimate ? ft_estimate_quantile(evidence.estimate, 0.5) / 0x1p20 : 0;
    if (fabs(mib - cases[i].mib) > 0.02 * cases[i].mib || evidence.imported != cases[i].borrowed)
      fail_msg("%s: %g MiB, borrowed %d", cases[i].what, mib, evidence.imported);
  }
}

/* Another model may not distinguish the tasks of an array: the app's own one then does again. */
static void the_tasks_of_an_array_outlast_another_model(void **state)
{
  static ft_submission s;
  ft_task_values *values = &job_array.values[0];
  char name[FT_STATE_NAME_SIZE];
  struct ft_error err;

  (void)state;
  s = (ft_submission){
    .schema = FT_SCHEMA, .app = "train-1234", .job_name = "train", .default_app = true
  };
  job_array.values_count = 1;
  tasks.array = &job_array;
  (void)ft_string_copy("size", values->feature, sizeof values->feature);
  for (uint32_t i = 0; i < 3; i++) {
    values->index[values->index_count++] = i;
    values->value[values->value_count++] = (float)(i + 1);
  }
  publish("ada/train", 4, 300, false); /* too few runs */
  publish("train-1234", 2, 100, false);
  model.columns_count = 1;
  (void)ft_string_copy("size", model.columns[0].name, sizeof model.columns[0].name);
  ft_state_model_name("train-1234", name);
  assert_int_equal(ft_model_file_write((const ft_model *const[]){ &model }, 1, NULL, models_fd,
                                       name, 0600, &err),
                   0);
  tasks.count = 3;
  for (uint32_t i = 0; i < 3; i++)
    tasks.index[i] = i;
  assert_int_equal(
      ft_model_lookup_read(state_fd, UID, ada, NULL, &s, &tasks, &policy, NULL, &evidence, &err),
      0);
  assert_non_null(evidence.estimate);
  assert_false(evidence.imported);
  assert_int_equal(evidence.candidate->tasks.count, 3);
  forget("ada/train");
  forget("train-1234");
}

/* Returns how often files of the user's models were opened since the last call. */
static int count_opened(int watch)
{
  char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
  ssize_t length = read(watch, events, sizeof events);
  int opened = 0;

  for (ssize_t at = 0; at < length;) {
    const struct inotify_event *e = (const struct inotify_event *)(events + at);

    opened += e->len > 0;
    at += (ssize_t)(sizeof *e + e->len);
  }
  return opened;
}

/* Each model has a place of its own: none is read again because another one took its place. */
static void each_model_is_read_once(void **state)
{
  static ft_submission s = {
    .schema = FT_SCHEMA, .app = "train-1234", .job_name = "train", .default_app = true
  };
  int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  char path[SCRATCH_SIZE + 32];
  struct ft_error err;

  (void)state;
  publish("ada/train", 4, 300, false); /* too few runs */
  publish("train-1234", 2, 100, false);
  (void)snprintf(path, sizeof path, "%s/models/1000", folder);
  assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
  assert_int_equal(
      ft_model_lookup_read(state_fd, UID, ada, NULL, &s, &tasks, &policy, NULL, &evidence, &err),
      0);
  assert_true(evidence.candidate == &evidence.own);
  assert_string_equal(evidence.own.model.app, "train-1234");
  assert_string_equal(evidence.shared.model.app, "ada/train");
  assert_int_equal(count_opened(watch), 2);
  close(watch);
  forget("ada/train");
  forget("train-1234");
}

/* The run times that the placement and the time limit need are in the files that memory is read
 * from: of the app, of a former name, or imported. */
static void run_times_are_read_with_memory(void **state)
{
  static const struct {
    const char *app, *timed; /* the app with runs, and the one with run times */
    unsigned runs;           /* of the app: below MIN_RUNS the imported ones are read, too */
    int opened;
  } cases[] = { { "train-1234", "train-1234", 12, 1 },
                { "train-1234", "train-1234", 2, 2 },
                { "train-1", "train-1", 12, 1 },
                { "train-1234", "ada/train", 2, 2 },
                { "train-1234", "", 12, 2 } };
  static ft_submission s = { .schema = FT_SCHEMA,
                             .app = "train-1234",
                             .job_name = "train",
                             .default_app = true,
                             .former_apps_count = 1,
                             .former_apps = { "train-1" } };
  static struct ft_time_lookup time;
  char path[SCRATCH_SIZE + 32];
  struct ft_error err;

  (void)state;
  tasks.count = 0;
  (void)snprintf(path, sizeof path, "%s/models/1000", folder);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    bool timed = cases[i].timed[0], imported = strcmp(cases[i].timed, "ada/train") == 0;
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), opened;

    publish("ada/train", 4, 300, false);
    publish(cases[i].app, cases[i].runs, 100, false);
    if (timed)
      publish_times(cases[i].timed);
    assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
    ft_time_lookup_clear(&time);
    assert_int_equal(
        ft_model_lookup_read(state_fd, UID, ada, NULL, &s, &tasks, &policy, &time, &evidence, &err),
        0);
    assert_non_null(evidence.estimate);
    for (int again = 0; again < 2; again++)
      assert_int_equal(ft_time_lookup_read(state_fd, UID, ada, NULL, &s, &time, &err),
                       timed ? 0 : -1);
    assert_int_equal(time.performance.runs, timed ? 7 : 0);
    assert_int_equal(time.imported, imported);
    opened = count_opened(watch);
    if (opened != cases[i].opened)
      fail_msg("row %zu: %d files were opened", i, opened);
    close(watch);
    forget("ada/train");
    forget(cases[i].app);
  }
}

/* A former name of the app is no similar app, and a pooled model without an estimate stays one. */
static void no_model_is_read_under_two_names(void **state)
{
  static ft_submission s = { .schema = FT_SCHEMA,
                             .app = "declared",
                             .program = "train",
                             .former_apps_count = 1,
                             .former_apps = { "train-1234" } };
  static ft_similar_apps similar = { .schema = FT_SCHEMA,
                                     .apps_count = 1,
                                     .apps = { { .app = "train-1234", .updated = 1 } } };
  const ft_policy borrowing = { .min_runs = MIN_RUNS, .failure_price = 1, .borrow = true };
  int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), site_fd;
  char path[SCRATCH_SIZE + 32], name[FT_STATE_NAME_SIZE];
  struct ft_error err;

  (void)state;
  publish("train-1234", 3, 100, false);
  assert_true(ft_state_similarity(FT_SIMILAR_PROGRAM, NULL, s.program, similar.similarity_key));
  ft_state_similar_apps_name(similar.similarity_key, name);
  assert_int_equal(ft_record_write(FT_RECORD_SIMILAR_APPS, &similar, models_fd, name, 0600, &err),
                   0);
  (void)mkdirat(state_fd, "models/site", 0755);
  site_fd = openat(state_fd, "models/site", O_RDONLY | O_DIRECTORY);
  model = (ft_model){ .schema = FT_SCHEMA, .app = "declared", .uid = FT_STATE_POOLED };
  ft_state_model_name("declared", name);
  assert_int_equal(
      ft_model_file_write((const ft_model *const[]){ &model }, 1, NULL, site_fd, name, 0600, &err),
      0);
  (void)snprintf(path, sizeof path, "%s/models/1000", folder);
  assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
  (void)snprintf(path, sizeof path, "%s/models/site", folder);
  assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
  tasks.count = 0;
  assert_int_equal(
      ft_model_lookup_read(state_fd, UID, ada, NULL, &s, &tasks, &borrowing, NULL, &evidence, &err),
      0);
  assert_string_equal(evidence.own.model.app, "train-1234");
  assert_int_equal(evidence.similar, 0);
  /* pooled and former model, and the list of similar apps */
  assert_int_equal(count_opened(watch), 3);
  close(watch);
  (void)unlinkat(site_fd, name, 0);
  close(site_fd);
  forget("train-1234");
}

static void a_broken_own_model_is_an_error_but_not_one_of_a_similar_app(void **state)
{
  static ft_submission s = {
    .schema = FT_SCHEMA, .app = "a", .job_name = "b", .default_app = true
  };
  char name[FT_STATE_NAME_SIZE];
  struct ft_error err;

  (void)state;
  publish("ada/b", 12, 300, false);
  ft_state_model_name("ada/b", name);
  assert_int_equal(ftruncate(openat(models_fd, name, O_WRONLY), 40), 0);
  tasks.count = 0;
  assert_int_equal(
      ft_model_lookup_read(state_fd, UID, ada, NULL, &s, &tasks, &policy, NULL, &evidence, &err),
      0);
  assert_null(evidence.estimate);
  publish("a", 3, 100, false);
  assert_int_equal(
      ft_model_lookup_read(state_fd, UID, ada, NULL, &s, &tasks, &policy, NULL, &evidence, &err),
      0);
  assert_non_null(evidence.estimate);
  assert_int_equal(evidence.estimate->runs, 3);
  ft_state_model_name("a", name);
  assert_int_equal(ftruncate(openat(models_fd, name, O_WRONLY), 40), 0);
  assert_int_equal(
      ft_model_lookup_read(state_fd, UID, ada, NULL, &s, &tasks, &policy, NULL, &evidence, &err),
      -1);
}

static void long_names_stay_distinct(void **state)
{
  char name[300], a[128], b[128];

  (void)state;
  memset(name, 'n', sizeof name);
  name[120] = '\0';
  ft_state_imported_app("alice", 1, name, a);
  name[119] = 'm';
  ft_state_imported_app("alice", 1, name, b);
  assert_string_not_equal(a, b);
  assert_true(strlen(a) < 128);
  ft_state_imported_app("", 77, "train", a);
  assert_string_equal(a, "77/train");
}

static void jobs_of_a_workflow_are_imported_by_task(void **state)
{
  static const char *const names[][2] = {
    { "nf-ALIGN_(NA1287x)", "a/nf-ALIGN" },
    { "nf-ALIGN_(a_(b))", "a/nf-ALIGN" },
    { "nf-ALIGN", "a/nf-ALIGN" },
    { "nf-core_run", "a/nf-core_run" },
    { "snakejob.align_1.6.sh", "a/snakejob.align_1" },
    { "snakejob_align_1_16", "a/snakejob_align_1" },
    { "snakejob_6", "a/snakejob" },
    { "snakejob_", "a/snakejob_" },
    { "toil_job_3_align", "a/toil_job_align" },
    { "toil_job_x", "a/toil_job_x" },
    { "cromwell_1b671a64_align", "a/cromwell_align" },
    { "cromwell_server", "a/cromwell_server" },
    { "train_5", "a/train_5" },
    { "", "a/" },
  };
  char app[128];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    ft_state_imported_app("a", 1, names[i][0], app);
    assert_string_equal(app, names[i][1]);
  }
}

static int set_up(void **state)
{
  (void)state;
  state_fd = scratch_open(folder);
  (void)mkdirat(state_fd, "models", 0755);
  (void)mkdirat(state_fd, "models/1000", 0755);
  models_fd = openat(state_fd, "models/1000", O_RDONLY | O_DIRECTORY);
  return models_fd < 0;
}

static int tear_down(void **state)
{
  (void)state;
  close(models_fd);
  return scratch_close(folder, state_fd);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(jobs_of_the_same_name_are_used_until_the_app_has_enough_runs),
    cmocka_unit_test(the_tasks_of_an_array_outlast_another_model),
    cmocka_unit_test(each_model_is_read_once),
    cmocka_unit_test(run_times_are_read_with_memory),
    cmocka_unit_test(no_model_is_read_under_two_names),
    cmocka_unit_test(a_broken_own_model_is_an_error_but_not_one_of_a_similar_app),
    cmocka_unit_test(long_names_stay_distinct),
    cmocka_unit_test(jobs_of_a_workflow_are_imported_by_task)
  };

  return cmocka_run_group_tests_name("evidence", tests, set_up, tear_down);
}
