/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/sql.h"
#include "tests/unit/scratch.h"

#include <sqlite3.h>

#include "predictor/core/io.h"
#include "predictor/core/random.h"
#include "predictor/history/expire.h"
#include "predictor/history/forget.h"
#include "predictor/history/stale_models.h"

#define DAY 86400.0

enum { ADA = 1001, BOB = 1002, ALL = 1000000 };

static char folder[SCRATCH_SIZE], path[96];
static int folder_fd;
static struct ft_store *store;
static double now;

static void open_store(void)
{
  struct ft_error err;

  ft_store_close(store);
  store = ft_store_open(path, true, &err);
  if (!store)
    fail_msg("%s", err.text);
}

static int set_up(void **state)
{
  (void)state;
  folder_fd = scratch_open(folder);
  (void)snprintf(path, sizeof path, "%s/store.db", folder);
  now = ft_io_now();
  open_store();
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  ft_store_close(store);
  store = NULL;
  return scratch_close(folder, folder_fd);
}

static void sql(const char *text)
{
  sql_run(path, text);
}

/* Returns the first number of the query TEXT. */
static int64_t number(const char *text)
{
  return sql_number(path, text);
}

static int64_t runs(void)
{
  return number("SELECT COUNT(*) FROM observation");
}

/* A run of one hour that ended DAYS ago, submitted an hour before its start. */
static ft_observation run_of(uint32_t uid, const char *app, uint32_t job, double days)
{
  ft_observation o = { .schema = FT_SCHEMA,
                       .job_id = job,
                       .uid = uid,
                       .node = "node1",
                       .end_time = now - days * DAY,
                       .runtime_seconds = 3600,
                       .outcome = FT_OUTCOME_COMPLETED,
                       .has_rss_bytes = true,
                       .rss_bytes = 1000 };

  o.start_time = o.end_time - 3600;
  o.submit_time = floor(o.start_time - 3600);
  (void)snprintf(o.submission.app, sizeof o.submission.app, "%s", app);
  (void)snprintf(o.submission.job_name, sizeof o.submission.job_name, "job-of-%s", app);
  return o;
}

/* Returns the result of ft_store_put. */
static int store_run(ft_observation o)
{
  struct ft_error err;
  int status = ft_store_put(store, &o, NULL, &err);

  if (status < 0)
    fail_msg("%s", err.text);
  return status;
}

static void begin_pass(ft_forget what, struct ft_forget_pass *pass)
{
  struct ft_error err;

  if (ft_store_forget_begin(store, &what, now, pass, &err) < 0)
    fail_msg("%s", err.text);
}

/* Runs at most STEPS of PASS. Returns whether more remain. */
static bool steps(struct ft_forget_pass *pass, int count)
{
  struct ft_error err;
  int status = 1;

  while (status > 0 && count-- > 0)
    status = ft_store_forget_step(store, pass, &err);
  if (status < 0)
    fail_msg("%s", err.text);
  return status > 0;
}

static struct ft_forget_pass forget(ft_forget what)
{
  struct ft_forget_pass pass;
  struct ft_error err;

  begin_pass(what, &pass);
  assert_false(steps(&pass, ALL));
  if (ft_store_forget_end(store, &pass, 1 << 20, &err) < 0)
    fail_msg("%s", err.text);
  ft_forget_pass_free(&pass);
  return pass;
}

static void an_apps_runs_are_removed_and_it_is_marked(void **state)
{
  struct ft_forget_pass pass;

  (void)state;
  for (uint32_t job = 1; job <= 30; job++)
    assert_int_equal(store_run(run_of(job % 3 ? ADA : BOB, job % 2 ? "a" : "b", job, 1)), 0);
  begin_pass((ft_forget){ .app = "a", .has_uid = true, .uid = ADA }, &pass);
  assert_false(steps(&pass, ALL));
  assert_int_equal(pass.runs, 10);
  assert_int_equal(pass.app_count, 1);
  assert_int_equal(pass.models, 1);
  ft_forget_pass_free(&pass);
  assert_int_equal(runs(), 20);
  assert_int_equal(number("SELECT COUNT(*) FROM observation WHERE app = 'a'"), 5);
  assert_int_equal(number("SELECT COUNT(*) FROM changed WHERE app = 'a' AND uid = 1001"), 1);
  assert_int_equal(number("SELECT uid FROM gone"), ADA);
  pass = forget((ft_forget){ .app = "a" });
  assert_int_equal(pass.runs, 5);
  assert_int_equal(number("SELECT COUNT(DISTINCT app) FROM observation"), 1);
}

static void forgotten_runs_do_not_return(void **state)
{
  ft_observation late = run_of(ADA, "a", 7, 3), other, again;

  (void)state;
  assert_int_equal(store_run(run_of(ADA, "a", 1, 2)), 0);
  (void)forget((ft_forget){ .app = "a", .has_uid = true, .uid = ADA });
  assert_int_equal(store_run(run_of(ADA, "a", 1, 2)), 1);
  /* a run that was not recorded before */
  assert_int_equal(store_run(late), 1);
  /* an import contains the job under another name of its app */
  other = run_of(ADA, "ada/train", 1, 2);
  other.node[0] = '\0';
  assert_int_equal(store_run(other), 1);
  other.job_id = 7;
  assert_int_equal(store_run(other), 1);
  assert_int_equal(runs(), 0);
  /* other users' runs and other apps' runs */
  assert_int_equal(store_run(run_of(BOB, "a", 1, 2)), 0);
  assert_int_equal(store_run(run_of(ADA, "b", 2, 2)), 0);
  /* later runs, also of a job whose number is reused */
  again = run_of(ADA, "a", 1, -1);
  assert_int_equal(store_run(again), 0);
  assert_int_equal(runs(), 3);
  /* running at the request: started before it */
  again = run_of(ADA, "a", 9, -0.01);
  assert_int_equal(store_run(again), 1);
}

static void a_run_without_a_time_is_forgotten(void **state)
{
  ft_observation o = { .schema = FT_SCHEMA, .job_id = 4, .uid = ADA, .submission.app = "a" };

  (void)state;
  assert_int_equal(store_run(o), 0);
  (void)forget((ft_forget){ .app = "a" });
  assert_int_equal(runs(), 0);
  assert_int_equal(store_run(o), 1);
}

static void a_job_is_all_its_array_tasks_or_one(void **state)
{
  ft_observation o;

  (void)state;
  for (uint32_t task = 1; task <= 4; task++) {
    o = run_of(ADA, "a", task == 4 ? 139 : 139 + task, 1);
    o.array_job_id = 139;
    o.array_task_id = task;
    assert_int_equal(store_run(o), 0);
  }
  assert_int_equal(store_run(run_of(ADA, "a", 150, 1)), 0);
  (void)forget((ft_forget){ .job_id = 139, .has_array_task_id = true, .array_task_id = 2 });
  assert_int_equal(runs(), 4);
  assert_int_equal(number("SELECT COUNT(*) FROM observation WHERE array_task_id = 2"), 0);
  (void)forget((ft_forget){ .job_id = 139, .has_uid = true, .uid = BOB });
  assert_int_equal(runs(), 4);
  (void)forget((ft_forget){ .job_id = 139, .has_uid = true, .uid = ADA });
  assert_int_equal(runs(), 1);
  /* a task that was still pending: the same submission */
  o = run_of(ADA, "a", 160, -1);
  o.array_job_id = 139;
  o.array_task_id = 5;
  o.submit_time = floor(now - DAY);
  assert_int_equal(store_run(o), 1);
  o.submit_time = ceil(now + 10);
  assert_int_equal(store_run(o), 0);
}

static void one_array_task_of_an_app_does_not_cover_its_array(void **state)
{
  ft_observation o = run_of(ADA, "a", 139, 1);

  (void)state;
  /* the last task has the array's own number */
  o.array_job_id = 139;
  o.array_task_id = 4;
  assert_int_equal(store_run(o), 0);
  (void)forget((ft_forget){ .app = "a" });
  o = run_of(ADA, "b", 140, 1);
  o.array_job_id = 139;
  o.array_task_id = 1;
  assert_int_equal(store_run(o), 0);
}

static void a_user_and_a_time_are_enough(void **state)
{
  (void)state;
  for (uint32_t job = 1; job <= 10; job++) {
    assert_int_equal(store_run(run_of(ADA, "a", job, job)), 0);
    assert_int_equal(store_run(run_of(BOB, "a", 100 + job, job)), 0);
  }
  (void)forget((ft_forget){ .before = now - 6.5 * DAY });
  assert_int_equal(runs(), 12);
  (void)forget((ft_forget){ .before = now - 3.5 * DAY, .has_uid = true, .uid = ADA });
  assert_int_equal(runs(), 9);
  assert_int_equal(store_run(run_of(ADA, "a", 50, 4)), 1);
  assert_int_equal(store_run(run_of(BOB, "a", 50, 4)), 0);
  assert_int_equal(store_run(run_of(BOB, "a", 51, 7)), 1);
  (void)forget((ft_forget){ .has_uid = true, .uid = BOB });
  assert_int_equal(number("SELECT COUNT(*) FROM observation WHERE uid = 1002"), 0);
  assert_int_equal(number("SELECT COUNT(*) FROM observation WHERE uid = 1001"), 3);
}

static void former_names_are_forgotten_too(void **state)
{
  struct ft_error err;

  (void)state;
  assert_int_equal(store_run(run_of(ADA, "oldest", 1, 9)), 0);
  assert_int_equal(ft_store_rename_app(store, ADA, "oldest", "old", &err), 1);
  assert_int_equal(ft_store_rename_app(store, ADA, "old", "new", &err), 1);
  (void)forget((ft_forget){ .app = "new", .has_uid = true, .uid = ADA });
  assert_int_equal(store_run(run_of(ADA, "oldest", 2, 8)), 1);
  assert_int_equal(store_run(run_of(ADA, "old", 3, 8)), 1);
  assert_int_equal(store_run(run_of(BOB, "old", 4, 8)), 0);
  assert_int_equal(store_run(run_of(ADA, "older", 5, 8)), 0);
}

static ft_observation override(uint32_t job)
{
  ft_observation o = run_of(ADA, "secret", job, 1);

  o.submission.has_decision = true;
  o.submission.decision = (ft_decision){ .action = FT_ACTION_WARN,
                                         .mode = FT_MODE_FORCE,
                                         .overrode = true,
                                         .has_p_oom = true,
                                         .p_oom = 0.99,
                                         .reason = "secret needs more" };
  o.submission.has_request = true;
  o.submission.request.mem_bytes = 1 << 20;
  o.submission.request.mem_unit = FT_MEM_NODE;
  (void)ft_feature_category(o.submission.features, &o.submission.features_count, 24, "file",
                            "secret.txt");
  return o;
}

#define SECRETS                                                                                    \
  "SELECT COUNT(*) FROM observation WHERE app || job_name || features || decision_reason > ''"     \
  " OR peak_bytes > 0 OR rss_bytes > 0"

static void only_the_record_of_an_overridden_policy_remains(void **state)
{
  struct ft_forget_pass pass;
  ft_observation forced = override(4); /* by its mode, but the policy would not have rejected it */

  (void)state;
  forced.submission.decision.overrode = false;
  assert_int_equal(store_run(override(1)), 0);
  assert_int_equal(store_run(forced), 0);
  assert_int_equal(store_run(run_of(ADA, "secret", 2, 1)), 0);
  pass = forget((ft_forget){ .has_uid = true, .uid = ADA });
  assert_int_equal(pass.runs, 2);
  assert_int_equal(pass.stripped, 1);
  assert_int_equal(pass.models, 1);
  assert_int_equal(runs(), 1);
  assert_int_equal(number(SECRETS), 0);
  assert_int_equal(number("SELECT uid FROM observation WHERE decision_overrode = 1"), ADA);
  assert_int_equal(number("SELECT request_mem_bytes FROM observation"), 1 << 20);
  /* requested twice, recorded twice, seen for the first time */
  pass = forget((ft_forget){ .has_uid = true, .uid = ADA });
  assert_int_equal(pass.runs + pass.stripped, 0);
  assert_int_equal(store_run(override(1)), 1);
  assert_int_equal(runs(), 1);
  assert_int_equal(store_run(override(3)), 1);
  assert_int_equal(runs(), 2);
  assert_int_equal(number(SECRETS), 0);
}

static void a_dry_run_counts_and_changes_nothing(void **state)
{
  struct ft_forget_pass pass;

  (void)state;
  for (uint32_t job = 1; job <= 20; job++)
    assert_int_equal(store_run(run_of(ADA, job % 2 ? "a" : "b", job, 1)), 0);
  assert_int_equal(store_run(override(99)), 0);
  pass = forget((ft_forget){ .has_uid = true, .uid = ADA, .dry_run = true });
  assert_int_equal(pass.runs, 20);
  assert_int_equal(pass.stripped, 1);
  assert_int_equal(runs(), 21);
  assert_int_equal(number("SELECT COUNT(*) FROM forgotten"), 0);
  assert_int_equal(number("SELECT COUNT(*) FROM changed"), 0);
}

static void an_interrupted_pass_continues(void **state)
{
  struct ft_forget_pass pass;
  struct ft_error err;

  (void)state;
  for (uint32_t job = 1; job <= 50; job++)
    assert_int_equal(store_run(run_of(ADA, "a", job, 1)), 0);
  begin_pass((ft_forget){ .app = "a" }, &pass);
  assert_true(steps(&pass, 2));
  ft_forget_pass_free(&pass);
  assert_in_range(runs(), 1, 49);
  open_store();
  /* runs after the request are not covered */
  assert_int_equal(store_run(run_of(ADA, "a", 60, -1)), 0);
  assert_int_equal(ft_store_forget_next(store, &pass, &err), 1);
  assert_false(steps(&pass, ALL));
  assert_int_equal(runs(), 1);
  assert_int_equal(ft_store_forget_end(store, &pass, 1 << 20, &err), 0);
  ft_forget_pass_free(&pass);
  assert_int_equal(ft_store_forget_next(store, &pass, &err), 0);
}

static int leaves(const ft_observation *o, void *data, struct ft_error *err)
{
  unsigned *left = data;

  assert_int_equal(o->rss_bytes, 1000);
  return ++*left == 3 ? ft_error_set(err, "no room") : 0;
}

static void a_callback_may_stop_the_pass(void **state)
{
  struct ft_forget_pass pass;
  struct ft_error err;
  unsigned left = 0;

  (void)state;
  for (uint32_t job = 1; job <= 5; job++)
    assert_int_equal(store_run(run_of(ADA, "a", job, 1)), 0);
  begin_pass((ft_forget){ .app = "a" }, &pass);
  pass.before_removal = leaves;
  pass.data = &left;
  assert_int_equal(ft_store_forget_step(store, &pass, &err), -1);
  assert_string_equal(err.text, "no room");
  assert_int_equal(runs(), 5);
  assert_int_equal(pass.runs, 0);
  assert_false(steps(&pass, ALL));
  assert_int_equal(left, 8);
  assert_int_equal(pass.runs, 5);
  assert_int_equal(runs(), 0);
  ft_forget_pass_free(&pass);
}

/* How often TEXT occurs in the files of the store. */
static unsigned count_in_files(const char *text)
{
  static const char *const suffix[] = { "", "-wal", "-shm" };
  unsigned count = 0;

  for (size_t i = 0; i < COUNT_OF(suffix); i++) {
    char name[128];
    struct ft_buf file;

    (void)snprintf(name, sizeof name, "%s%s", path, suffix[i]);
    ft_buf_init(&file, FT_LIMIT_COMMAND);
    if (ft_io_read_file(AT_FDCWD, name, &file, NULL) == 0)
      for (const char *at = file.data;
           (at = memmem(at, (size_t)(file.data + file.length - at), text, strlen(text))); at++)
        count++;
    ft_buf_free(&file);
  }
  return count;
}

static void no_byte_of_a_forgotten_run_stays_in_the_files(void **state)
{
  struct ft_random random;
  struct ft_forget_pass pass;
  struct ft_error err;
  int64_t last = 0;

  (void)state;
  ft_random_seed(&random, 17);
  assert_int_equal(ft_store_begin(store, &err), 0);
  for (uint32_t i = 0; i < 3000; i++) {
    ft_observation o = run_of(ADA + i % 3, i % 7 ? "other" : "PLANTED", 1 + i % 1500, 1);

    /* rows that grow and move */
    (void)snprintf(o.submission.job_name, sizeof o.submission.job_name, "%.60s%.*s",
                   o.submission.app, (int)ft_random_below(&random, 60),
                   "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    assert_int_equal(store_run(o), 0);
    assert_int_equal(ft_store_mark_stale(store, o.uid, o.submission.app, &last, &err), 0);
  }
  assert_int_equal(ft_store_commit(store, &err), 0);
  assert_true(count_in_files("PLANTED") > 100);
  /* before the agent has published */
  begin_pass((ft_forget){ .app = "PLANTED" }, &pass);
  assert_false(steps(&pass, ALL));
  assert_true(pass.runs > 100);
  while (ft_store_next_stale(store, last, &(struct ft_stale_model){ 0 }, &err) > 0)
    last++;
  assert_int_equal(ft_store_set_published(store, last, &err), 0);
  assert_int_equal(ft_store_forget_end(store, &pass, 64 << 20, &err), 0);
  ft_forget_pass_free(&pass);
  assert_int_equal(count_in_files("PLANTED"), 0);
  assert_true(count_in_files("other") > 100);
}

static void a_reader_is_waited_for(void **state)
{
  struct ft_forget_pass pass;
  struct ft_error err;
  sqlite3 *reader;

  (void)state;
  assert_int_equal(store_run(run_of(ADA, "a", 1, 1)), 0);
  ft_store_set_wait(store, 0);
  assert_int_equal(sqlite3_open(path, &reader), SQLITE_OK);
  assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT * FROM observation", NULL, NULL, NULL),
                   SQLITE_OK);
  begin_pass((ft_forget){ .app = "a" }, &pass);
  assert_false(steps(&pass, ALL));
  assert_int_equal(ft_store_forget_end(store, &pass, 0, &err), -1);
  assert_non_null(strstr(err.text, "another process"));
  sqlite3_close(reader);
  assert_int_equal(ft_store_forget_end(store, &pass, 0, &err), 0);
  ft_forget_pass_free(&pass);
  assert_int_equal(number("SELECT COUNT(*) FROM meta WHERE key = 'scrub'"), 1);
  assert_int_equal(ft_store_scrub(store, 4096, &err), 1);
  assert_int_equal(ft_store_scrub(store, 1 << 20, &err), 0);
  assert_int_equal(number("SELECT COUNT(*) FROM meta WHERE key = 'scrub'"), 0);
}

/* Every new run is compared with the tombstones, however many users have made some. */
static void tombstones_are_found_by_an_index(void **state)
{
  sqlite3_stmt *s;
  sqlite3 *db;

  (void)state;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db,
                                      "EXPLAIN QUERY PLAN SELECT * FROM forgotten WHERE job_id = 0"
                                      " AND array_task_id = -1 AND cluster = '' AND uid IN (-1, 5)"
                                      " UNION ALL SELECT * FROM forgotten"
                                      " WHERE job_id IN (7, 8) AND job_id > 0",
                                      -1, &s, NULL),
                   SQLITE_OK);
  while (sqlite3_step(s) == SQLITE_ROW)
    assert_null(strstr((const char *)sqlite3_column_text(s, 3), "SCAN"));
  sqlite3_finalize(s);
  sqlite3_close(db);
}

static void the_number_of_tombstones_of_a_user_is_bounded(void **state)
{
  ft_forget what = { .has_uid = true, .uid = ADA };
  struct ft_forget_pass pass;
  struct ft_error err;

  (void)state;
  sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
      " INSERT INTO forgotten (job_id, array_task_id, cluster, uid, app, before, told, done)"
      " SELECT 0, -1, '', 1001, i, 0, 0, 1 FROM n");
  assert_int_equal(ft_store_forget_begin(store, &what, now, &pass, &err), -1);
  assert_non_null(strstr(err.text, "1000 things"));
  what.job_id = 5;
  assert_int_equal(ft_store_forget_begin(store, &what, now, &pass, &err), 0);
  sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)"
      " INSERT INTO forgotten (job_id, array_task_id, cluster, uid, app, before, told, done)"
      " SELECT 1000 + i, -1, CASE WHEN i < 10000 THEN '' ELSE 'c' END, 1001, 0, 0, 0, 1 FROM n");
  what.job_id = 6;
  assert_int_equal(ft_store_forget_begin(store, &what, now, &pass, &err), -1);
  assert_non_null(strstr(err.text, "10000 things"));
  what = (ft_forget){ .has_uid = true, .uid = BOB };
  assert_int_equal(ft_store_forget_begin(store, &what, now, &pass, &err), 0);
}

static void tombstones_expire_with_the_runs(void **state)
{
  struct ft_expiry expiry = { .max_age_seconds = 86400 };
  struct ft_error err;
  int status;

  (void)state;
  sql("INSERT INTO meta VALUES ('age_clock', '1700000000')");
  sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
      " INSERT INTO forgotten (job_id, array_task_id, cluster, uid, app, before, told, done)"
      " SELECT i, -1, '', 1001, 0, 0, 1700000000 - 86400 * (i % 2), i <> 11 FROM n");
  assert_int_equal(ft_store_expire_begin(store, &expiry, 1700000000.0 + 60, &err), 0);
  while ((status = ft_store_expire_step(store, &expiry, &err)) > 0)
    continue;
  assert_int_equal(status, 0);
  assert_int_equal(number("SELECT COUNT(*) FROM forgotten"), 501); /* with one unfinished */
}

static void a_stored_job_is_known_by_its_owner(void **state)
{
  ft_observation o = run_of(ADA, "a", 7, 1);
  struct ft_error err;

  (void)state;
  o.array_job_id = 5;
  o.array_task_id = 2;
  assert_int_equal(store_run(o), 0);
  assert_int_equal(ft_store_has_job(store, 7, ADA, &err), 1);
  assert_int_equal(ft_store_has_job(store, 5, ADA, &err), 1);
  assert_int_equal(ft_store_has_job(store, 7, BOB, &err), 0);
  assert_int_equal(ft_store_has_job(store, 6, ADA, &err), 0);
}

static void the_previous_stores_schema_is_upgraded(void **state)
{
  struct ft_error err;

  (void)state;
  assert_int_equal(store_run(run_of(ADA, "a", 1, 1)), 0);
  ft_store_close(store);
  store = NULL;
  sql(SQL_TO_SCHEMA_6);
  assert_null(ft_store_open(path, false, &err));
  assert_non_null(strstr(err.text, "older schema"));
  open_store();
  /* rows removed by the previous release are still in the file */
  assert_int_equal(number("SELECT COUNT(*) FROM meta WHERE key = 'scrub'"), 1);
  assert_int_equal(runs(), 1);
  (void)forget((ft_forget){ .app = "a" });
  assert_int_equal(runs(), 0);
  assert_int_equal(store_run(run_of(ADA, "a", 1, 1)), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = { TEST(an_apps_runs_are_removed_and_it_is_marked),
                                      TEST(forgotten_runs_do_not_return),
                                      TEST(a_run_without_a_time_is_forgotten),
                                      TEST(a_job_is_all_its_array_tasks_or_one),
                                      TEST(one_array_task_of_an_app_does_not_cover_its_array),
                                      TEST(a_user_and_a_time_are_enough),
                                      TEST(former_names_are_forgotten_too),
                                      TEST(only_the_record_of_an_overridden_policy_remains),
                                      TEST(a_dry_run_counts_and_changes_nothing),
                                      TEST(an_interrupted_pass_continues),
                                      TEST(a_callback_may_stop_the_pass),
                                      TEST(no_byte_of_a_forgotten_run_stays_in_the_files),
                                      TEST(a_reader_is_waited_for),
                                      TEST(tombstones_are_found_by_an_index),
                                      TEST(the_number_of_tombstones_of_a_user_is_bounded),
                                      TEST(tombstones_expire_with_the_runs),
                                      TEST(a_stored_job_is_known_by_its_owner),
                                      TEST(the_previous_stores_schema_is_upgraded) };

  return cmocka_run_group_tests_name("forget", tests, NULL, NULL);
}
