/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a database server needs of the store: primary keys, and transactions that are small and that
 * a kill -9 may end. Each task runs twice, the second time after a process that was killed in it.
 */
#include "config.h"

#include "tests/unit/sql.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include "predictor/core/io.h"
#include "predictor/history/expire.h"
#include "predictor/history/forget.h"
#include "predictor/history/import.h"
#include "predictor/history/import_batch.h"
#include "predictor/history/node_platforms.h"
#include "predictor/history/stale_models.h"
#include "tests/unit/scratch.h"

enum {
  MAX_CHANGES = 999, /* per transaction */
  OWNER = 1000,      /* of the app "big" and of the run on many nodes */
  BIG_RUNS = 2500,
  NODES = 1500,
  OTHER = 1001, /* the owner of many apps with one run each */
  APPS = 1000,
  REJECTIONS = 1500,
  IMPORTED = 5000
};

#define DAY 86400.0

static char folder[SCRATCH_SIZE], full[64], path[64], table[64];
static int folder_fd;
static double now;
static struct ft_store *store;

/* ---- changed rows per transaction ---- */

static struct connection {
  sqlite3 *db;
  int changes; /* sqlite3_total_changes after the last transaction */
} connections[16];
static size_t connection_count;
static int commits, largest, kill_at;

static int count_changes(void *data)
{
  struct connection *c = data;
  int total = sqlite3_total_changes(c->db);

  if (total - c->changes > largest)
    largest = total - c->changes;
  c->changes = total;
  if (++commits == kill_at)
    (void)kill(getpid(), SIGKILL);
  return 0;
}

/* Observes each new connection. */
static int observe(sqlite3 *db, const char **why, const void *api)
{
  struct connection *c = &connections[connection_count++ % 16];

  (void)why;
  (void)api;
  *c = (struct connection){ .db = db };
  sqlite3_commit_hook(db, count_changes, c);
  return SQLITE_OK;
}

/* ---- the store ---- */

static void must(int status, const struct ft_error *err)
{
  if (status < 0)
    fail_msg("%s", err->text);
}

static void open_store(const char *name)
{
  struct ft_error err;

  store = ft_store_open(name, true, &err);
  if (!store)
    fail_msg("%s", err.text);
}

static int64_t number(const char *text)
{
  return sql_number(path, text);
}

static void put(const ft_observation *o)
{
  static unsigned count;
  struct ft_error err;

  if (count % 64 == 0)
    must(ft_store_begin(store, &err), &err);
  must(ft_store_put(store, o, NULL, &err), &err);
  if (++count % 64 == 0)
    must(ft_store_commit(store, &err), &err);
}

/* Fills a store with runs of one app, one run on many nodes, many apps, and rejections: 5,000 rows
 * of runs, which ended some days ago. */
static int fill_store(void **state)
{
  ft_observation o = {
    .schema = FT_SCHEMA, .uid = OWNER, .source = FT_SOURCE_AGENT, .outcome = FT_OUTCOME_COMPLETED
  };
  struct ft_error err;

  (void)state;
  assert_int_equal(sqlite3_auto_extension((void (*)(void))observe), SQLITE_OK);
  folder_fd = scratch_open(folder);
  (void)snprintf(full, sizeof full, "%s/full.db", folder);
  (void)snprintf(path, sizeof path, "%s/store.db", folder);
  (void)snprintf(table, sizeof table, "%s/runs.csv", folder);
  now = ft_io_now();
  open_store(full);
  (void)snprintf(o.submission.app, sizeof o.submission.app, "big");
  for (uint32_t i = 1; i <= BIG_RUNS; i++) {
    o.job_id = i;
    o.submit_time = o.start_time = now - 5 * DAY + i;
    o.end_time = o.start_time + 1;
    put(&o);
  }
  (void)snprintf(o.submission.app, sizeof o.submission.app, "wide");
  o.job_id = BIG_RUNS + 1;
  o.allocated_nodes = NODES;
  for (uint32_t i = 0; i < NODES; i++) {
    (void)snprintf(o.node, sizeof o.node, "n%u", (unsigned)i);
    put(&o);
  }
  o.node[0] = '\0';
  o.allocated_nodes = 1;
  o.uid = OTHER;
  for (uint32_t i = 0; i < APPS; i++) {
    (void)snprintf(o.submission.app, sizeof o.submission.app, "app%u", (unsigned)i);
    o.job_id++;
    put(&o);
  }
  must(ft_store_commit(store, &err), &err);
  ft_store_close(store);
  store = NULL;
  sql_run(full,
          "UPDATE observation SET put_time = end_time;"
          "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1499)"
          " INSERT INTO rejection SELECT 1000, CASE WHEN i % 2 THEN 'big' ELSE 'app' || i END,"
          " 100 + i, 1 FROM n");
  return 0;
}

static int remove_store(void **state)
{
  (void)state;
  sqlite3_reset_auto_extension();
  return scratch_close(folder, folder_fd);
}

/* ---- tasks, each of which goes on with what an earlier process has left ---- */

static void expire(void)
{
  struct ft_expiry pass = { .max_age_seconds = 3600 };
  struct ft_error err;
  int status;

  must(ft_store_expire_begin(store, &pass, now, &err), &err);
  do
    must(status = ft_store_expire_step(store, &pass, &err), &err);
  while (status > 0);
}

static void nothing_is_left(void)
{
  assert_int_equal(number("SELECT COUNT(*) FROM observation"), 0);
  assert_int_equal(number("SELECT COUNT(*) FROM rejection"), 0);
  assert_int_equal(number("SELECT COUNT(*) FROM app"), 0);
  assert_int_equal(number("SELECT COUNT(*) FROM changed"), APPS + 2);
}

static void limit_apps(void)
{
  struct ft_expiry pass = { .max_apps = 1 };
  struct ft_error err;
  int status;

  must(ft_store_expire_begin(store, &pass, now, &err), &err);
  do
    must(status = ft_store_expire_step(store, &pass, &err), &err);
  while (status > 0);
}

static void one_app_of_each_user_is_left(void)
{
  assert_int_equal(number("SELECT COUNT(*) FROM app"), 2);
  assert_int_equal(number("SELECT COUNT(DISTINCT app || uid) FROM observation"), 2);
}

static void remove_forgotten(struct ft_forget_pass *pass)
{
  struct ft_error err;
  int status;

  do
    must(status = ft_store_forget_step(store, pass, &err), &err);
  while (status > 0);
  must(ft_store_forget_end(store, pass, 0, &err), &err);
  ft_forget_pass_free(pass);
}

static void forget(const ft_forget *what)
{
  struct ft_forget_pass pass;
  struct ft_error err;
  int status;

  must(status = ft_store_forget_next(store, &pass, &err), &err);
  /* without an accepted request of a killed process */
  if (status == 0)
    must(ft_store_forget_begin(store, what, now, &pass, &err), &err);
  while ((status = ft_store_forget_next(store, &pass, &err)) > 0)
    remove_forgotten(&pass);
  must(status, &err);
}

static void forget_user(void)
{
  const ft_forget what = { .has_uid = true, .uid = OWNER };

  forget(&what);
}

static void the_user_is_forgotten(void)
{
  assert_int_equal(number("SELECT COUNT(*) FROM observation"), APPS);
  assert_int_equal(number("SELECT COUNT(*) FROM rejection WHERE app > ''"), 0);
  assert_int_equal(number("SELECT sum(count) FROM rejection"), REJECTIONS);
  assert_int_equal(number("SELECT COUNT(*) FROM forgotten WHERE done = 0"), 0);
}

static void forget_app(void)
{
  const ft_forget what = { .has_uid = true, .uid = OWNER, .app = "big" };

  forget(&what);
}

static void the_app_is_forgotten(void)
{
  assert_int_equal(number("SELECT COUNT(*) FROM observation"), APPS + NODES);
  assert_int_equal(number("SELECT COUNT(*) FROM rejection WHERE app = 'big'"), 0);
  /* one for the app, and one for each run */
  assert_int_equal(number("SELECT COUNT(*) FROM forgotten WHERE done = 1"), 1 + BIG_RUNS);
}

static void trim(void)
{
  struct ft_error err;
  int status;

  do
    must(status = ft_store_trim(store, 100, &err), &err);
  while (status > 0);
}

static void some_runs_are_left(void)
{
  int64_t left = number("SELECT COUNT(*) FROM observation WHERE app = 'big'");

  /* a process that was killed may leave 1/64 more */
  assert_in_range(left, 100, 101);
  assert_int_equal(number("SELECT COUNT(*) FROM observation"), left + APPS + NODES);
  assert_int_equal(number("SELECT max(job_id) FROM observation WHERE app = 'big'"), BIG_RUNS);
}

static void rename_app(void)
{
  struct ft_error err;
  int status;

  do
    must(status = ft_store_rename_app(store, OWNER, "big", "new", &err), &err);
  while (status > 0);
}

static void the_app_is_renamed(void)
{
  assert_int_equal(number("SELECT COUNT(*) FROM observation WHERE app = 'new'"), BIG_RUNS);
  assert_int_equal(number("SELECT COUNT(*) FROM observation WHERE app = 'big'"), 0);
  assert_int_equal(number("SELECT COUNT(*) FROM app WHERE app IN ('new', 'big')"), 1);
  assert_int_equal(number("SELECT COUNT(*) FROM changed WHERE app IN ('new', 'big')"), 2);
}

static void change_rule(void)
{
  struct ft_error err;

  must(ft_store_set_rule(store, FT_RULE_PSS, &err), &err);
}

static void all_models_are_stale(void)
{
  assert_int_equal(number("SELECT COUNT(*) FROM changed"), APPS + 2);
  assert_int_equal(number("SELECT COUNT(*) FROM meta WHERE key = 'rule' AND value = 'pss'"), 1);
}

static void name_platform(void)
{
  struct ft_error err;
  int status;

  do
    must(status = ft_store_name_platform(store, "here", "milan", &err), &err);
  while (status > 0);
}

static void the_platform_is_named(void)
{
  assert_int_equal(number("SELECT COUNT(*) FROM observation WHERE platform = 'milan'"), BIG_RUNS);
  assert_int_equal(number("SELECT COUNT(*) FROM observation WHERE platform = 'chip'"), APPS);
  assert_int_equal(number("SELECT COUNT(*) FROM changed WHERE app = 'big'"), 1);
}

static int find_uid(const char *user, uint32_t *uid, void *data)
{
  (void)user;
  (void)data;
  *uid = 7;
  return 0;
}

static int add_run(const ft_observation *o, void *data, struct ft_error *err)
{
  return ft_import_batch_add(data, o, err);
}

static int ignore_stored(const ft_observation *o, void *data, struct ft_error *err)
{
  (void)o;
  (void)data;
  (void)err;
  return 0;
}

static void import(void)
{
  struct ft_import_batch batch = { .store = store, .stored = ignore_stored };
  struct ft_import import = {
    .name = "runs", .user = "user", .find_uid = find_uid, .put = add_run, .data = &batch
  };
  FILE *file = fopen(table, "w");
  struct ft_error err;

  assert_non_null(file);
  fputs("app,job_id,peak_mib,runtime,end\n", file);
  for (int i = 0; i < IMPORTED; i++)
    (void)fprintf(file, "imported%d,%d,100,60,%d\n", i % 50, 10000 + i, 1700000000 + i);
  assert_int_equal(fclose(file), 0);
  import.fd = open(table, O_RDONLY | O_CLOEXEC);
  must(ft_import_csv(&import, &err), &err);
  must(ft_import_batch_store(&batch, &err), &err);
  ft_import_batch_free(&batch);
  close(import.fd);
}

static void all_runs_are_imported_once(void)
{
  assert_int_equal(number("SELECT COUNT(*) FROM observation WHERE uid = 7"), IMPORTED);
  assert_int_equal(number("SELECT COUNT(*) FROM changed WHERE uid = 7"), 50);
}

/* Nothing to do: the store is upgraded when it is opened. */
static void upgrade(void)
{
}

static void the_store_is_upgraded(void)
{
  assert_int_equal(number("SELECT COUNT(*) FROM app"), APPS + 2);
  assert_int_equal(number("SELECT COUNT(*) FROM app WHERE last > 0"), APPS + 2);
  assert_int_equal(number("SELECT COUNT(*) FROM observation WHERE records = 1500"), 1);
  assert_int_equal(number("SELECT COUNT(*) FROM observation WHERE records = 0"), NODES - 1);
  assert_int_equal(number("SELECT COUNT(*) FROM observation WHERE records IS NULL"),
                   BIG_RUNS + APPS);
  assert_int_equal(number("SELECT COUNT(*) FROM meta WHERE key LIKE 'upgrade%'"), 0);
}

struct task {
  void (*work)(void);
  void (*check)(void);
  int killed_at; /* commit */
  const char *prepare;
};

/* Starts with the full store. */
static void copy_store(const char *prepare)
{
  char text[256];

  for (size_t i = 0; i < 3; i++) {
    (void)snprintf(text, sizeof text, "%s%s", path, (const char *[]){ "", "-wal", "-shm" }[i]);
    (void)unlink(text);
  }
  (void)snprintf(text, sizeof text, "VACUUM INTO '%s'", path);
  sql_run(full, text);
  if (prepare)
    sql_run(path, prepare);
}

static void run_task(const struct task *task)
{
  largest = commits = 0;
  open_store(path);
  task->work();
  ft_store_close(store);
  store = NULL;
}

/* Runs TASK in a process that is killed in it. */
static void run_killed(const struct task *task)
{
  int status;
  pid_t child = fork();

  assert_true(child >= 0);
  if (child == 0) {
    kill_at = task->killed_at;
    run_task(task);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void no_transaction_is_large_and_a_killed_one_is_continued(void **state)
{
  const struct task *task = *state;

  for (int killed = 0; killed < 2; killed++) {
    copy_store(task->prepare);
    if (killed)
      run_killed(task);
    run_task(task);
    assert_in_range(largest, 1, MAX_CHANGES);
    /* there was a transaction to be killed in */
    assert_true(killed || commits > task->killed_at);
    task->check();
  }
}

static void every_table_has_a_primary_key(void **state)
{
  (void)state;
  copy_store(NULL);
  assert_true(number("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table'") > 7);
  /* SQLite's own tables hold no data of the store */
  assert_int_equal(
      number("SELECT COUNT(*) FROM sqlite_master AS t WHERE type = 'table' AND name NOT LIKE"
             " 'sqlite_%' AND NOT EXISTS (SELECT 1 FROM pragma_table_info(t.name)"
             " WHERE pk > 0)"),
      0);
}

#define TASK(name, ...)                                                                            \
  {                                                                                                \
#name, no_transaction_is_large_and_a_killed_one_is_continued, NULL, NULL, &(struct task)       \
    {                                                                                              \
      name, __VA_ARGS__                                                                            \
    }                                                                                              \
  }

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_table_has_a_primary_key),
    TASK(expire, nothing_is_left, 300, NULL),
    TASK(limit_apps, one_app_of_each_user_is_left, 300, NULL),
    TASK(forget_user, the_user_is_forgotten, 3, NULL),
    TASK(forget_user, the_user_is_forgotten, 200, NULL),
    TASK(forget_app, the_app_is_forgotten, 200, NULL),
    TASK(trim, some_runs_are_left, 20, NULL),
    TASK(rename_app, the_app_is_renamed, 5, NULL),
    TASK(change_rule, all_models_are_stale, 3, NULL),
    TASK(name_platform, the_platform_is_named, 3,
         "UPDATE observation SET node = CASE app WHEN 'big' THEN 'here' ELSE 'there' END,"
         " platform = 'chip', fingerprint = 'chip' WHERE app <> 'wide'"),
    TASK(import, all_runs_are_imported_once, 40, NULL),
    TASK(upgrade, the_store_is_upgraded, 5, SQL_TO_SCHEMA_5),
    TASK(upgrade, the_store_is_upgraded, 15, SQL_TO_SCHEMA_5),
  };

  return cmocka_run_group_tests_name("transactions", tests, fill_store, remove_store);
}
