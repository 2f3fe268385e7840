/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/sql.h"
#include "tests/unit/unit.h"

#include <sqlite3.h>
#include <time.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/history/expire.h"
#include "predictor/history/sqlite/schema.h"
#include "predictor/history/stale_models.h"
#include "tests/unit/scratch.h"

#define DAY 86400.0

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

/* Stores a run of UID's APP that ended DAYS ago by the present clock. */
static void store_run(uint32_t uid, const char *app, double days)
{
  static uint32_t job;
  ft_observation o = { .schema = FT_SCHEMA,
                       .job_id = ++job,
                       .uid = uid,
                       .end_time = now - days * DAY,
                       .outcome = FT_OUTCOME_COMPLETED };
  struct ft_error err;

  (void)snprintf(o.submission.app, sizeof o.submission.app, "%s", app);
  if (ft_store_put(store, &o, NULL, &err) < 0)
    fail_msg("%s", err.text);
}

/* Sets the storage time of every run to its end. */
static void put_at_their_end(void)
{
  sql("UPDATE observation SET put_time = end_time");
}

/* Runs a pass of at most STEPS at NOW. Returns the number of steps. */
static int pass(double max_days, uint64_t max_apps, double at, int steps)
{
  struct ft_expiry expire = { .max_age_seconds = max_days * DAY, .max_apps = max_apps };
  struct ft_error err;
  int status, taken = 0;

  if (ft_store_expire_begin(store, &expire, at, &err) < 0)
    fail_msg("%s", err.text);
  do
    status = taken++ < steps ? ft_store_expire_step(store, &expire, &err) : 0;
  while (status > 0);
  if (status < 0)
    fail_msg("%s", err.text);
  return taken;
}

enum { ALL = 1000000 };

static void runs_older_than_max_age_are_removed_and_their_apps_marked(void **state)
{
  (void)state;
  store_run(1, "old", 40);
  store_run(1, "old", 39);
  store_run(1, "both", 35);
  store_run(1, "both", 1);
  store_run(1, "new", 2);
  store_run(2, "old", 3);
  store_run(2, "", 50);
  put_at_their_end();
  (void)pass(30, 0, now, ALL);
  assert_int_equal(number("SELECT COUNT(*) FROM observation"), 3);
  assert_int_equal(number("SELECT COUNT(*) FROM observation WHERE app = 'both'"), 1);
  assert_int_equal(number("SELECT COUNT(*) FROM changed"), 2);
  assert_int_equal(number("SELECT COUNT(*) FROM changed WHERE app = 'old' AND uid = 1"), 1);
  assert_int_equal(number("SELECT COUNT(*) FROM changed WHERE app = 'both' AND uid = 1"), 1);
  assert_int_equal(number("SELECT COUNT(*) FROM app"), 3);
  assert_int_equal(number("SELECT SUM(uid) FROM gone"), 1);
}

static void nothing_is_removed_before_the_oldest_is_older_by_a_sixteenth(void **state)
{
  (void)state;
  store_run(1, "a", 33.9);
  store_run(1, "a", 1);
  put_at_their_end();
  (void)pass(32, 0, now, ALL);
  assert_int_equal(number("SELECT COUNT(*) FROM observation"), 2);
  (void)pass(32, 0, now + 0.2 * DAY, ALL);
  assert_int_equal(number("SELECT COUNT(*) FROM observation"), 1);
}

static void no_limit_removes_nothing(void **state)
{
  (void)state;
  store_run(1, "a", 30000);
  store_run(1, "b", 1);
  put_at_their_end();
  assert_int_equal(pass(0, 0, now, ALL), 1);
  assert_int_equal(number("SELECT COUNT(*) FROM observation"), 2);
}

/* An imported run is kept as long as a run measured at the import; importing it again does not
 * prolong that. */
static void the_age_of_an_imported_run_counts_from_the_import(void **state)
{
  struct ft_error err;
  ft_observation o = {
    .schema = FT_SCHEMA, .job_id = 4711, .uid = 1, .submission.app = "timeless"
  };

  (void)state;
  store_run(1, "imported", 4000);
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  (void)pass(30, 0, now, ALL);
  assert_int_equal(number("SELECT COUNT(*) FROM observation"), 2);
  sql("UPDATE observation SET put_time = put_time - 40 * 86400");
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  store_run(1, "a", 0);
  (void)pass(30, 0, now, ALL);
  assert_int_equal(number("SELECT COUNT(*) FROM observation"), 1);
}

static void a_clock_that_is_ahead_advances_expiry_by_a_day_a_pass(void **state)
{
  (void)state;
  for (int day = 0; day < 40; day++)
    store_run(1, "a", day);
  put_at_their_end();
  (void)pass(32, 0, now, ALL);
  assert_int_equal(number("SELECT COUNT(*) FROM observation"), 33);
  for (int hour = 0; hour < 5; hour++)
    (void)pass(32, 0, now + 3650 * DAY, ALL);
  assert_in_range(number("SELECT COUNT(*) FROM observation"), 26, 33);
  /* the clock is corrected: the earlier wrong time delays no expiry */
  (void)pass(32, 0, now, ALL);
  assert_in_range(number("SELECT COUNT(*) FROM observation"), 26, 33);
  /* a clock that is behind removes nothing */
  (void)pass(32, 0, 1000, ALL);
  assert_in_range(number("SELECT COUNT(*) FROM observation"), 26, 33);
  /* the years that really passed count in the end */
  for (int hour = 0; hour < 70; hour++)
    (void)pass(32, 0, now + 3650 * DAY, ALL);
  assert_int_equal(number("SELECT COUNT(*) FROM observation"), 0);
}

static void a_clock_that_was_never_right_does_not_stop_it(void **state)
{
  (void)state;
  (void)pass(32, 0, 1000, ALL); /* an empty store, before the clock was set */
  store_run(1, "a", 40);
  store_run(1, "a", 0);
  put_at_their_end();
  (void)pass(32, 0, now, ALL);
  assert_int_equal(number("SELECT COUNT(*) FROM observation"), 1);
}

static void the_least_recently_run_apps_of_a_user_are_removed(void **state)
{
  char name[16];

  (void)state;
  for (int app = 0; app < 12; app++)
    for (int run = 0; run < 40; run++) {
      (void)snprintf(name, sizeof name, "app%d", app);
      store_run(1, name, app + run);
    }
  for (int app = 0; app < 5; app++) {
    (void)snprintf(name, sizeof name, "app%d", app);
    store_run(2, name, 100);
  }
  sql("DELETE FROM changed");
  (void)pass(0, 5, now, ALL);
  assert_int_equal(number("SELECT COUNT(DISTINCT app) FROM observation WHERE uid = 1"), 5);
  assert_int_equal(number("SELECT COUNT(*) FROM observation WHERE uid = 1"), 200);
  assert_int_equal(number("SELECT COUNT(*) FROM observation WHERE uid = 2"), 5);
  for (int app = 0; app < 5; app++) {
    char query[96];

    (void)snprintf(query, sizeof query,
                   "SELECT COUNT(*) FROM observation WHERE uid = 1 AND app = 'app%d'", app);
    assert_int_equal(number(query), 40);
  }
  assert_int_equal(number("SELECT COUNT(*) FROM changed"), 7);
  assert_int_equal(number("SELECT COUNT(*) FROM app"), 10);
  assert_int_equal(number("SELECT SUM(uid) FROM gone"), 1);
}

/* An app that lost its last run to another does not count any more. */
static void an_app_without_runs_is_not_counted(void **state)
{
  ft_observation o = { .schema = FT_SCHEMA, .job_id = 4711, .uid = 1, .submission.app = "first" };
  struct ft_error err;

  (void)state;
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  strcpy(o.submission.app, "second");
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  assert_int_equal(number("SELECT COUNT(*) FROM app WHERE app = 'second'"), 1);
  assert_int_equal(number("SELECT COUNT(*) FROM app"), 1);
  assert_int_equal(number("SELECT SUM(uid) FROM gone"), 1);
}

static void an_interrupted_pass_is_completed_by_the_next(void **state)
{
  int whole = 1;

  (void)state;
  for (int steps = 0; steps < whole; steps++) {
    sql("DELETE FROM observation; DELETE FROM app; DELETE FROM changed; DELETE FROM gone");
    for (int run = 0; run < 90; run++)
      store_run(1 + (uint32_t)run % 2, run % 3 ? "a" : "b", run);
    for (int run = 0; run < 40; run++)
      store_run(3, run % 2 ? "c" : "d", 60);
    put_at_their_end();
    if (steps > 0)
      (void)pass(32, 1, now, steps - 1);
    open_store();
    whole = steps == 0 ? pass(32, 1, now, ALL) : (pass(32, 1, now, ALL), whole);
    assert_int_equal(number("SELECT COUNT(DISTINCT uid || app) FROM observation"), 2);
    assert_int_equal(number("SELECT COUNT(*) FROM app"), 2);
    assert_int_equal(number("SELECT COUNT(*) FROM changed"), 6);
    assert_int_equal(number("SELECT COUNT(*) FROM gone"), 3);
    assert_true(number("SELECT MIN(end_time) FROM observation") >= (int64_t)(now - 34 * DAY));
  }
  assert_true(whole > 8);
}

static void marks_of_published_apps_do_not_accumulate(void **state)
{
  struct ft_error err;
  char name[16];
  int64_t last;

  (void)state;
  for (int app = 0; app < 1000; app++) {
    (void)snprintf(name, sizeof name, "app%d", app);
    assert_int_equal(ft_store_mark_stale(store, 1, name, &last, &err), 0);
  }
  assert_int_equal(ft_store_set_published(store, last - 3, &err), 0);
  (void)pass(0, 0, now, ALL);
  assert_int_equal(number("SELECT COUNT(*) FROM changed"), 3);
}

static void an_older_store_is_upgraded(void **state)
{
  (void)state;
  store_run(1, "a", 50);
  store_run(1, "b", 40);
  store_run(2, "a", 3);
  store_run(2, "", 3);
  ft_store_close(store);
  store = NULL;
  sql(SQL_TO_SCHEMA_5);
  open_store();
  assert_int_equal(number("SELECT COUNT(*) FROM app"), 3);
  (void)pass(45, 0, now, ALL);
  assert_int_equal(number("SELECT COUNT(*) FROM observation"), 3);
  assert_int_equal(number("SELECT COUNT(*) FROM app"), 2);
}

static void a_store_with_a_second_writer_stays_consistent(void **state)
{
  struct ft_expiry expire = { .max_age_seconds = 30 * DAY };
  struct ft_error err;
  sqlite3 *db;

  (void)state;
  store_run(1, "a", 50);
  store_run(1, "a", 1);
  put_at_their_end();
  ft_store_set_wait(store, 0);
  assert_int_equal(ft_store_expire_begin(store, &expire, now, &err), 0);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(ft_store_expire_step(store, &expire, &err), -1);
  assert_non_null(strstr(err.text, "locked"));
  sqlite3_close(db);
  while (ft_store_expire_step(store, &expire, &err) > 0)
    continue;
  assert_int_equal(number("SELECT COUNT(*) FROM observation"), 1);
}

static void every_query_has_an_index(void **state)
{
  static const char *const queries[] = {
    "SELECT id, uid, app FROM observation WHERE " FT_SCHEMA_AGE_TIME " > 0 AND " FT_SCHEMA_AGE_TIME
    " < 5 ORDER BY " FT_SCHEMA_AGE_TIME,
    "SELECT " FT_SCHEMA_AGE_TIME " FROM observation ORDER BY " FT_SCHEMA_AGE_TIME " DESC LIMIT 1",
    "SELECT uid FROM app WHERE uid > 5 ORDER BY uid LIMIT 1",
    "SELECT app FROM app WHERE uid = 1 ORDER BY last DESC, app DESC LIMIT 1 OFFSET 5",
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(queries); i++) {
    char text[400];
    sqlite3_stmt *s;
    sqlite3 *db;

    (void)snprintf(text, sizeof text, "EXPLAIN QUERY PLAN %s", queries[i]);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &s, NULL), SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW) {
      const char *plan = (const char *)sqlite3_column_text(s, 3);

      if (!strstr(plan, "INDEX") && !strstr(plan, "PRIMARY KEY"))
        fail_msg("%s: %s", queries[i], plan);
      assert_null(strstr(plan, "TEMP B-TREE"));
    }
    sqlite3_finalize(s);
    sqlite3_close(db);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
    TEST(runs_older_than_max_age_are_removed_and_their_apps_marked),
    TEST(nothing_is_removed_before_the_oldest_is_older_by_a_sixteenth),
    TEST(no_limit_removes_nothing),
    TEST(the_age_of_an_imported_run_counts_from_the_import),
    TEST(a_clock_that_is_ahead_advances_expiry_by_a_day_a_pass),
    TEST(a_clock_that_was_never_right_does_not_stop_it),
    TEST(the_least_recently_run_apps_of_a_user_are_removed),
    TEST(an_app_without_runs_is_not_counted),
    TEST(an_interrupted_pass_is_completed_by_the_next),
    TEST(marks_of_published_apps_do_not_accumulate),
    TEST(an_older_store_is_upgraded),
    TEST(a_store_with_a_second_writer_stays_consistent),
    TEST(every_query_has_an_index),
  };

  return cmocka_run_group_tests_name("expire", tests, NULL, NULL);
}
