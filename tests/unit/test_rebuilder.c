/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/sql.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "learner/rebuilder.h"
#include "learner/recorder.h"
#include "learner/user_cleanup.h"
#include "predictor/core/hash.h"
#include "predictor/history/expire.h"
#include "predictor/history/stale_models.h"
#include "predictor/estimate/quantity.h"
#include "predictor/record/state_files.h"
#include "tests/unit/fixture.h"

static struct ft_history history;

static char folder[SCRATCH_SIZE];
static int state_fd;
static struct ft_store *store;
static struct ft_publisher *publisher;
static struct ft_rebuilder *rebuilder;

static int set_up(void **state)
{
  struct ft_error err;
  char path[96];

  (void)state;
  state_fd = scratch_open(folder);
  (void)snprintf(path, sizeof path, "%s/store.db", folder);
  store = ft_store_open(path, true, &err);
  publisher = ft_publisher_open(state_fd, &err);
  rebuilder = ft_rebuilder_open(publisher, state_fd);
  if (!store || !publisher || !rebuilder)
    return -1;
  ft_rebuilder_set_rule(rebuilder, FT_RULE_RSS);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  ft_rebuilder_close(rebuilder);
  ft_publisher_close(publisher);
  ft_store_close(store);
  return scratch_close(folder, state_fd);
}

static ft_observation put(uint32_t job, const char *app, double end)
{
  ft_observation o = { .schema = FT_SCHEMA,
                       .job_id = job,
                       .uid = (uint32_t)geteuid(),
                       .end_time = end,
                       .outcome = FT_OUTCOME_COMPLETED,
                       .runtime_seconds = 1,
                       .platform = "here",
                       .rss_bytes = 1000000 };
  struct ft_error err = { "" };

  o.has_rss_bytes = true;
  (void)snprintf(o.submission.app, sizeof o.submission.app, "%s", app);
  if (ft_store_put(store, &o, NULL, &err) < 0 ||
      ft_store_mark_stale(store, o.uid, o.submission.app, NULL, &err) < 0)
    fail_msg("%s", err.text);
  return o;
}

/* Returns the number of runs in APP's published model; 0: no model. */
static unsigned published(const char *app)
{
  ft_model *model = malloc(sizeof *model);
  struct ft_error err;
  unsigned runs = 0;

  assert_non_null(model);
  if (ft_state_read_model(state_fd, (uint32_t)geteuid(), app, FT_QUANTITY_MEMORY, model, &history,
                          &err) == 0)
    runs = model->runs;
  free(model);
  return runs;
}

static unsigned steps(void)
{
  unsigned count = 1;

  for (; ft_rebuilder_step(rebuilder, store); count++)
    assert_true(count < 100000);
  return count;
}

/* Runs PASS to its end. Returns the number of its steps. */
static unsigned mark(struct ft_mark_pass *pass)
{
  struct ft_error err = { "" };
  unsigned count = 1;
  int status;

  while ((status = ft_store_mark_step(store, pass, &err)) > 0)
    count++;
  if (status < 0)
    fail_msg("%s", err.text);
  return count;
}

static uint64_t marks_left(const struct ft_mark_pass *pass, int64_t after)
{
  struct ft_error err = { "" };
  uint64_t count = 0;

  if (ft_store_marks_after(store, pass, after, &count, &err) < 0)
    fail_msg("%s", err.text);
  return count;
}

static void apps_are_marked_by_name_by_user_or_all(void **state)
{
  struct ft_mark_pass all = { .app = "" }, one = { .app = "app7" }, none = { .app = "app" },
                      user = { .by_uid = true, .uid = (uint32_t)geteuid() },
                      other = { .by_uid = true, .uid = (uint32_t)geteuid() + 1 };
  struct ft_error err;

  (void)state;
  assert_int_equal(ft_store_begin(store, &err), 0);
  for (uint32_t i = 0; i < 1200; i++) {
    char app[16];

    (void)snprintf(app, sizeof app, "app%u", (unsigned)i);
    put(i + 1, app, i + 1);
  }
  assert_int_equal(ft_store_commit(store, &err), 0);
  assert_int_equal(mark(&all), 5);
  assert_int_equal(all.count, 1200);
  assert_int_equal(marks_left(&all, 0), 1200);
  assert_int_equal(marks_left(&all, all.last - 7), 7);
  assert_int_equal(marks_left(&all, all.last), 0);
  (void)mark(&one);
  assert_int_equal(one.count, 1);
  assert_string_equal(one.last_app, "app7");
  /* a newer mark replaces an older one */
  assert_int_equal(marks_left(&all, 0), 1199);
  assert_int_equal(ft_store_mark_extend(store, &all, &err), 0);
  assert_int_equal(marks_left(&all, 0), 1200);
  (void)mark(&none);
  assert_int_equal(none.count, 0);
  assert_int_equal(marks_left(&none, 0), 0);
  (void)mark(&user);
  assert_int_equal(user.count, 1200);
  (void)mark(&other);
  assert_int_equal(other.count, 0);
}

static void marked_apps_are_published_and_only_they(void **state)
{
  struct stat before, after;
  char name[FT_STATE_NAME_SIZE], path[256];

  (void)state;
  assert_int_equal(steps(), 1);
  put(1, "a", 1);
  put(2, "b", 2);
  (void)steps();
  assert_int_equal(published("a"), 1);
  assert_int_equal(published("b"), 1);
  ft_state_model_name("a", name);
  (void)snprintf(path, sizeof path, "%s/models/%u/%s", folder, (unsigned)geteuid(), name);
  assert_int_equal(stat(path, &before), 0);
  put(3, "b", 3);
  assert_true(steps() >= 2); /* more where another process takes the processor meanwhile */
  assert_int_equal(published("b"), 2);
  assert_int_equal(stat(path, &after), 0);
  assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof before.st_mtim);
}

/* A clock on which no two runs are so close that a model waits for its publication. */
static double slow_clock(void)
{
  static double now;

  return now += 10;
}

/* Adds O, which the store accepts, and publishes its model. Returns whether a model is to be
 * rebuilt. */
static bool add_run(struct ft_recorder *recorder, const ft_observation *o)
{
  bool rebuild, again;
  struct ft_error err;

  ft_recorder_set_clock(recorder, slow_clock);
  assert_int_equal(ft_recorder_add(recorder, o, &rebuild, &err), 0);
  while (isfinite(ft_recorder_publish(recorder, &again)))
    rebuild |= again;
  return rebuild || again;
}

static void an_app_without_runs_has_no_model(void **state)
{
  (void)state;
  put(1, "a", 1);
  (void)steps();
  assert_int_equal(published("a"), 1);
  put(1, "b", 1);
  (void)steps();
  assert_int_equal(published("a"), 0);
  assert_int_equal(published("b"), 1);
}

/* The first run that reports the former name links it; a repetition changes nothing. */
static void a_run_links_the_former_names_of_its_app(void **state)
{
  struct ft_recorder *recorder;
  struct ft_error err;
  ft_observation o;

  (void)state;
  put(1, "job.sh-1", 1);
  put(2, "job.sh-1", 2);
  put(3, "train.py-2", 3);
  put(4, "stays", 4);
  (void)steps();
  assert_int_equal(published("job.sh-1"), 2);
  o = put(5, "train.py-2", 5);
  o.job_id = 6;
  o.submission.former_apps_count = 2;
  strcpy(o.submission.former_apps[0], "none");
  strcpy(o.submission.former_apps[1], "job.sh-1");
  recorder = ft_recorder_open(state_fd, folder, publisher, &err);
  assert_non_null(recorder);
  ft_recorder_set_rule(recorder, FT_RULE_RSS);
  assert_true(add_run(recorder, &o));
  /* killed here: another agent continues */
  ft_recorder_close(recorder);
  (void)steps();
  assert_int_equal(published("job.sh-1"), 0);
  assert_int_equal(published("train.py-2"), 5);
  assert_int_equal(published("stays"), 1);
  recorder = ft_recorder_open(state_fd, folder, publisher, &err);
  assert_non_null(recorder);
  ft_recorder_set_rule(recorder, FT_RULE_RSS);
  o.job_id = 7;
  assert_false(add_run(recorder, &o));
  assert_int_equal(published("train.py-2"), 6);
  ft_recorder_close(recorder);
}

static bool count_run(const ft_observation *o, void *data)
{
  (void)o;
  return ++*(unsigned *)data;
}

/* Returns the number of stored runs of APP. */
static unsigned stored(const char *app)
{
  const struct ft_store_filter filter = { .app = app };
  struct ft_error err;
  unsigned count = 0;

  if (ft_store_each(store, &filter, count_run, &count, &err) < 0)
    fail_msg("%s", err.text);
  return count;
}

/* The rename takes several transactions. */
static void a_long_rename_loses_no_run_that_is_stored_with_it(void **state)
{
  struct ft_recorder *recorder;
  struct ft_error err;
  ft_observation o = { 0 };
  bool rebuild;

  (void)state;
  assert_int_equal(ft_store_begin(store, &err), 0);
  for (uint32_t i = 1; i <= 600; i++)
    o = put(i, "job.sh-1", i);
  assert_int_equal(ft_store_commit(store, &err), 0);
  recorder = ft_recorder_open(state_fd, folder, publisher, &err);
  assert_non_null(recorder);
  ft_recorder_set_rule(recorder, FT_RULE_RSS);
  assert_int_equal(ft_recorder_begin(recorder, &err), 0);
  for (unsigned i = 0; i < 3; i++) {
    o.job_id = 1000 + i;
    (void)snprintf(o.submission.app, sizeof o.submission.app, i == 1 ? "train.py-2" : "other");
    o.submission.former_apps_count = i == 1;
    strcpy(o.submission.former_apps[0], "job.sh-1");
    assert_int_equal(ft_recorder_add(recorder, &o, &rebuild, &err), 0);
  }
  assert_int_equal(ft_recorder_commit(recorder, &rebuild, &err), 0);
  assert_true(rebuild);
  ft_recorder_close(recorder);
  assert_int_equal(stored("job.sh-1"), 0);
  assert_int_equal(stored("train.py-2"), 601);
  assert_int_equal(stored("other"), 2);
  (void)steps();
  assert_int_equal(published("job.sh-1"), 0);
  assert_int_equal(published("other"), 2);
}

static void sql(const char *text)
{
  char path[96];

  (void)snprintf(path, sizeof path, "%s/store.db", folder);
  sql_run(path, text);
}

static int rename_app(const char *from, const char *to)
{
  struct ft_error err;

  return ft_store_rename_app(store, (uint32_t)geteuid(), from, to, &err);
}

static bool count_shared_run(const ft_observation *o, void *data)
{
  *(unsigned *)data += !o->has_command_ran || o->command_ran;
  return true;
}

/* Former names come from the submission, which its user can make. */
static void renamed_runs_do_not_count_for_others(void **state)
{
  const struct ft_store_filter filter = { .app = "blast" };
  struct ft_error err;
  unsigned count = 0;

  (void)state;
  put(1, "mine", 1);
  put(2, "other", 2);
  sql("UPDATE observation SET command_ran = 1 WHERE app = 'other'");
  put(3, "blast", 3);
  assert_int_equal(rename_app("mine", "blast"), 1);
  assert_int_equal(rename_app("other", "blast"), 1);
  assert_int_equal(stored("blast"), 3);
  assert_true(ft_store_each(store, &filter, count_shared_run, &count, &err) >= 0);
  assert_int_equal(count, 1);
}

/* Each rename writes all runs of an app. */
static void runs_do_not_get_back_a_former_name(void **state)
{
  static const char *const names[] = { "a", "b", "c", "d", "e" };

  (void)state;
  put(1, "a", 1);
  for (size_t i = 1; i < 5; i++) {
    for (size_t back = 0; back + 1 < i; back++)
      assert_int_equal(rename_app(names[i - 1], names[back]), 0);
    assert_int_equal(rename_app(names[i - 1], names[i]), 1);
    assert_int_equal(rename_app(names[i - 1], names[i]), 0);
  }
  assert_int_equal(rename_app("e", "f"), 0);
  assert_int_equal(stored("e"), 1);
}

/* No other connection is open, so files of a killed agent are absent. */
static struct ft_recorder *open_recorder(void)
{
  struct ft_recorder *recorder;
  struct ft_error err;

  ft_store_close(store);
  store = NULL;
  recorder = ft_recorder_open(state_fd, folder, publisher, &err);
  assert_non_null(recorder);
  ft_recorder_set_rule(recorder, FT_RULE_RSS);
  return recorder;
}

/* A full disk may have room for a run's row, but not for its model's file or its mark. */
static void no_run_is_stored_without_its_models_mark(void **state)
{
  ft_observation o = put(1, "a", 1);
  struct ft_recorder *recorder = open_recorder();
  struct ft_error err;
  char models[96];
  bool rebuild;

  (void)state;
  while (ft_recorder_maintain(recorder))
    continue;
  assert_int_equal(published("a"), 1);
  (void)snprintf(models, sizeof models, "%s/models/%u", folder, (unsigned)geteuid());
  ft_publish_remove_model(publisher, o.uid, "a");
  ft_publish_remove_user_file(publisher, o.uid, FT_STATE_USAGE);
  ft_publish_remove_user(publisher, o.uid);
  fixture_put(folder, models + strlen(folder) + 1, "", 0);
  sql("CREATE TRIGGER full BEFORE INSERT ON changed BEGIN SELECT RAISE(ABORT, 'full'); END");
  o.job_id = 2;
  assert_int_equal(ft_recorder_add(recorder, &o, &rebuild, &err), 1);
  sql("DROP TRIGGER full");
  ft_recorder_close(recorder);
  assert_int_equal(unlink(models), 0);
  recorder = open_recorder();
  (void)add_run(recorder, &o);
  while (ft_recorder_maintain(recorder))
    continue;
  assert_int_equal(published("a"), 2);
  ft_recorder_close(recorder);
}

/* A model published together with its run is not rebuilt by this agent or the next. */
static void a_model_published_with_its_run_is_not_rebuilt(void **state)
{
  ft_observation o = put(1, "a", 1);
  struct ft_recorder *recorder = open_recorder();
  struct stat before, after;
  char name[FT_STATE_NAME_SIZE], path[256];

  (void)state;
  while (ft_recorder_maintain(recorder))
    continue;
  for (o.job_id = 2; o.job_id < 5; o.job_id++)
    assert_false(add_run(recorder, &o));
  assert_int_equal(published("a"), 4);
  ft_state_model_name("a", name);
  (void)snprintf(path, sizeof path, "%s/models/%u/%s", folder, (unsigned)geteuid(), name);
  assert_int_equal(stat(path, &before), 0);
  assert_false(ft_recorder_maintain(recorder));
  ft_recorder_close(recorder);
  recorder = open_recorder();
  while (ft_recorder_maintain(recorder))
    continue;
  ft_recorder_close(recorder);
  assert_int_equal(stat(path, &after), 0);
  assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof before.st_mtim);
}

static void long_rebuilds_run_in_steps_and_learn_new_runs(void **state)
{
  struct ft_error err;
  ft_observation o;

  (void)state;
  assert_int_equal(ft_store_begin(store, &err), 0);
  for (uint32_t job = 1; job <= 1000; job++)
    put(job, "a", 1000 + job);
  assert_int_equal(ft_store_commit(store, &err), 0);
  assert_true(ft_rebuilder_step(rebuilder, store));
  assert_int_equal(published("a"), 0);
  o = put(5000, "a", 1); /* before all runs learned so far */
  ft_rebuilder_add_run(rebuilder, &o);
  o.rss_bytes = 0; /* nothing of another app's run is learned */
  o.uid++;
  ft_rebuilder_add_run(rebuilder, &o);
  while (!published("a"))
    assert_true(ft_rebuilder_step(rebuilder, store));
  assert_int_equal(published("a"), 1001);
  (void)steps();
  assert_int_equal(published("a"), 1001);
}

/* An imported run may have a time from a clock that was ahead. */
static void no_run_that_is_published_has_ended_in_the_future(void **state)
{
  uint32_t uid = (uint32_t)geteuid();
  ft_performance *performance = malloc(sizeof *performance);
  struct ft_runtimes *runs = malloc(sizeof *runs);
  ft_model *model = malloc(sizeof *model);
  struct ft_error err;
  double now;

  (void)state;
  assert_true(model && performance && runs);
  put(1, "a", 1);
  put(2, "a", (double)time(NULL) + 1e6);
  (void)steps();
  now = (double)time(NULL);
  assert_int_equal(
      ft_state_read_model(state_fd, uid, "a", FT_QUANTITY_MEMORY, model, &history, &err), 0);
  assert_int_equal(model->runs, 2);
  assert_int_equal((int)history.run[0].time, 1);
  assert_true(history.run[1].time <= now && model->updated <= now);
  assert_int_equal(ft_state_read_own_performance(state_fd, uid, "a", performance, runs, &err), 0);
  assert_int_equal(runs->count, 2);
  assert_true(runs->run[1].time <= now && performance->updated <= now);
  free(runs);
  free(performance);
  free(model);
}

static void a_new_accounting_rule_restarts_the_models(void **state)
{
  struct ft_error err;
  ft_model *model = malloc(sizeof *model);

  (void)state;
  assert_non_null(model);
  put(1, "a", 1);
  put(2, "b", 2);
  assert_true(ft_rebuilder_step(rebuilder, store));
  ft_rebuilder_set_rule(rebuilder, FT_RULE_CGROUP);
  (void)steps();
  for (const char *app = "a"; app; app = *app == 'a' ? "b" : NULL) {
    assert_int_equal(ft_state_read_model(state_fd, (uint32_t)geteuid(), app, FT_QUANTITY_MEMORY,
                                         model, &history, &err),
                     0);
    assert_int_equal(model->rule, FT_RULE_CGROUP);
  }
  free(model);
}

/* Replaces APP's model file by one of the release before the sections, without runs. */
static void put_model_before(const char *app, ft_model *model)
{
  char path[64], name[FT_STATE_NAME_SIZE];
  struct ft_error err;
  int fd;

  (void)snprintf(path, sizeof path, "models/%u", (unsigned)geteuid());
  fd = openat(state_fd, path, O_RDONLY | O_DIRECTORY);
  ft_state_model_name(app, name);
  assert_int_equal(ft_model_file_read(fd, name, FT_QUANTITY_MEMORY, model, NULL, &err), 0);
  assert_int_equal(ft_record_write(FT_RECORD_MODEL, model, fd, name, 0600, &err), 0);
  close(fd);
}

static void after_an_update_models_are_rebuilt_without_a_new_run(void **state)
{
  ft_observation o = put(1, "a", 1);
  ft_model *model = malloc(sizeof *model);
  char path[96];
  struct ft_error err;

  (void)state;
  assert_non_null(model);
  (void)snprintf(path, sizeof path, "%s/store.db", folder);
  o.has_gpu_memory_bytes = true;
  o.gpu_memory_bytes = 4 << 20;
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  (void)steps();
  put_model_before("a", model);
  for (int updated = 0; updated < 2; updated++) {
    if (updated)
      sql_run(path, "DELETE FROM meta WHERE key = 'model_format'");
    ft_rebuilder_close(rebuilder);
    rebuilder = ft_rebuilder_open(publisher, state_fd);
    ft_rebuilder_set_rule(rebuilder, FT_RULE_RSS);
    (void)steps();
    assert_int_equal(
        ft_state_read_model(state_fd, o.uid, "a", FT_QUANTITY_GPU_MEMORY, model, NULL, &err),
        updated - 1);
  }
  assert_true(model->evaluator.max_value == 0x1p22);
  free(model);
}

/* Whether APP has an entry in the similarity file of LIKENESS. */
static bool noted(const char *similarity_key, const char *app)
{
  struct ft_error err;
  ft_similar_apps kin;

  if (ft_state_read_similar_apps(state_fd, (uint32_t)geteuid(), similarity_key, &kin, &err) < 0)
    return false;
  for (pb_size_t i = 0; i < kin.apps_count; i++)
    if (strcmp(kin.apps[i].app, app) == 0)
      return true;
  return false;
}

static void note(const char *similarity_key, const char *app, const char *other)
{
  ft_similar_apps kin = { .schema = FT_SCHEMA, .apps_count = other ? 2 : 1 };
  char name[FT_STATE_NAME_SIZE];
  struct ft_error err;

  (void)snprintf(kin.similarity_key, sizeof kin.similarity_key, "%s", similarity_key);
  (void)snprintf(kin.apps[0].app, sizeof kin.apps[0].app, "%s", app);
  (void)snprintf(kin.apps[1].app, sizeof kin.apps[1].app, "%s", other ? other : "");
  ft_state_similar_apps_name(similarity_key, name);
  assert_int_equal(ft_publish_user_file(publisher, (uint32_t)geteuid(), FT_RECORD_SIMILAR_APPS,
                                        &kin, name, &err),
                   0);
}

/* The site-wide prior of COUNT apps, the first being the user's APP. */
static void put_prior(const char *app, pb_size_t count)
{
  uint32_t uid = (uint32_t)geteuid();
  ft_prior prior = { .schema = FT_SCHEMA, .known_count = count };
  struct ft_error err;

  for (pb_size_t i = 0; i < count; i++)
    prior.known[i] = (ft_prior_app){ .key = i, .log_bytes = i, .user = i % 5 };
  prior.known[0].key =
      ft_hash64(ft_hash64(FT_HASH_SEED, app, strlen(app)), (const char *)&uid, sizeof uid);
  assert_int_equal(
      ft_record_write(FT_RECORD_PRIOR, &prior, state_fd, FT_STATE_PRIOR_APPS, 0600, &err), 0);
  assert_int_equal(ft_record_write(FT_RECORD_PRIOR, &prior, state_fd, FT_STATE_PRIOR, 0644, &err),
                   0);
}

static void expire_and_sweep(const struct ft_expiry *limits)
{
  struct ft_user_cleanup *cleanup = ft_user_cleanup_open(publisher, state_fd);
  struct ft_expiry expire = *limits;
  struct ft_error err;

  assert_non_null(cleanup);
  assert_int_equal(ft_store_expire_begin(store, &expire, (double)time(NULL), &err), 0);
  while (ft_store_expire_step(store, &expire, &err) > 0)
    continue;
  (void)steps();
  while (ft_user_cleanup_step(cleanup, store, &err) > 0)
    continue;
  ft_user_cleanup_close(cleanup);
}

static void nothing_remains_of_an_expired_app(void **state)
{
  static const struct ft_expiry one_app = { .max_apps = 1 }, none = { .max_age_seconds = 86400 };
  const double now = (double)time(NULL);
  struct ft_error err;
  ft_prior prior;
  char path[96];
  sqlite3 *db;

  (void)state;
  put(1, "a", now - 9e6);
  put(2, "b", now - 8e6);
  (void)steps();
  note("name:both", "a", "b");
  note("program:one", "a", NULL);
  put_prior("a", 21);
  expire_and_sweep(&one_app);
  assert_int_equal(published("a"), 0);
  assert_int_equal(published("b"), 1);
  assert_true(noted("name:both", "b") && !noted("name:both", "a"));
  assert_false(noted("program:one", "a"));
  assert_int_equal(ft_record_read(FT_RECORD_PRIOR, state_fd, FT_STATE_PRIOR_APPS, &prior, &err), 0);
  assert_int_equal(prior.known_count, 20);
  assert_int_equal(ft_record_read(FT_RECORD_PRIOR, state_fd, FT_STATE_PRIOR, &prior, &err), 0);
  assert_int_equal(prior.apps, 20);

  /* its last app is gone, and one app is too few for the site-wide prior to hide users */
  put_prior("b", 20);
  (void)snprintf(path, sizeof path, "%s/store.db", folder);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "UPDATE observation SET put_time = 0", NULL, NULL, NULL), 0);
  sqlite3_close(db);
  put(3, "", now);
  expire_and_sweep(&none);
  assert_int_equal(faccessat(state_fd, FT_STATE_PRIOR, F_OK, 0), -1);
  (void)snprintf(path, sizeof path, FT_STATE_MODELS "/%u", (unsigned)geteuid());
  assert_int_equal(faccessat(state_fd, path, F_OK, 0), -1);

  /* after a return the history starts again */
  put(4, "b", now);
  (void)steps();
  assert_int_equal(published("b"), 1);
}

static void a_directory_that_cannot_be_written_is_retried(void **state)
{
  char models[96];

  (void)state;
  put(1, "a", 1);
  put(2, "b", 2);
  (void)snprintf(models, sizeof models, "%s/models/%u", folder, (unsigned)geteuid());
  /* a file in place of the user's directory */
  fixture_put(folder, models + strlen(folder) + 1, "", 0);
  (void)steps();
  assert_int_equal(published("a"), 0);
  (void)steps();
  assert_int_equal(unlink(models), 0);
  (void)steps();
  assert_int_equal(published("a"), 1);
  assert_int_equal(published("b"), 1);
  assert_int_equal(steps(), 1);
}

static void an_unreadable_row_delays_no_other_app(void **state)
{
  struct ft_error err;
  char path[96];

  (void)state;
  put(1, "a", 1);
  put(2, "b", 2);
  ft_store_close(store);
  sql("UPDATE observation SET features = '7' WHERE app = 'a'");
  (void)snprintf(path, sizeof path, "%s/store.db", folder);
  store = ft_store_open(path, true, &err);
  assert_non_null(store);
  (void)steps();
  assert_int_equal(published("a"), 0);
  assert_int_equal(published("b"), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
    TEST(marked_apps_are_published_and_only_they),
    TEST(an_app_without_runs_has_no_model),
    TEST(apps_are_marked_by_name_by_user_or_all),
    TEST(a_run_links_the_former_names_of_its_app),
    TEST(a_long_rename_loses_no_run_that_is_stored_with_it),
    TEST(renamed_runs_do_not_count_for_others),
    TEST(runs_do_not_get_back_a_former_name),
    TEST(no_run_is_stored_without_its_models_mark),
    TEST(a_model_published_with_its_run_is_not_rebuilt),
    TEST(long_rebuilds_run_in_steps_and_learn_new_runs),
    TEST(no_run_that_is_published_has_ended_in_the_future),
    TEST(a_new_accounting_rule_restarts_the_models),
    TEST(after_an_update_models_are_rebuilt_without_a_new_run),
    TEST(nothing_remains_of_an_expired_app),
    TEST(a_directory_that_cannot_be_written_is_retried),
    TEST(an_unreadable_row_delays_no_other_app),
  };

  return cmocka_run_group_tests_name("follow", tests, NULL, NULL);
}
