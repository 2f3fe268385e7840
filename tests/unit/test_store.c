/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/sql.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/history/expire.h"
#include "predictor/history/pages.h"
#include "predictor/history/rejections.h"
#include "predictor/history/store.h"
#include "predictor/history/waiting.h"

static char folder[] = "/tmp/foretell-test-XXXXXX";
static char path[64];

static int set_up(void **state)
{
  (void)state;
  strcpy(folder + strlen(folder) - 6, "XXXXXX");
  if (!mkdtemp(folder))
    return -1;
  (void)snprintf(path, sizeof path, "%s/store.db", folder);
  return 0;
}

static int tear_down(void **state)
{
  static const char *const suffix[] = { "", "-wal", "-shm", "-journal" };
  char name[96];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(suffix); i++) {
    (void)snprintf(name, sizeof name, "%s%s", path, suffix[i]);
    (void)unlink(name);
  }
  return rmdir(folder);
}

static struct ft_store *must_open(bool create)
{
  struct ft_error err = { "" };
  struct ft_store *store = ft_store_open(path, create, &err);

  if (!store)
    fail_msg("%s", err.text);
  return store;
}

/* the error is one line that names the file and contains EXPECTED */
static void assert_line(const struct ft_error *err, const char *expected)
{
  if (!strstr(err->text, expected) || !strstr(err->text, path) || strchr(err->text, '\n'))
    fail_msg("'%s', expected '%s'", err->text, expected);
}

static ft_observation make_run(uint32_t job, const char *app, uint64_t rss)
{
  ft_observation o = { .schema = FT_SCHEMA,
                       .job_id = job,
                       .submit_time = 1e9 + job,
                       .start_time = 1e9 + job,
                       .end_time = 1e9 + job + 10,
                       .runtime_seconds = 10,
                       .outcome = FT_OUTCOME_COMPLETED,
                       .uid = 1000,
                       .rule = FT_RULE_RSS,
                       .has_rss_bytes = true,
                       .rss_bytes = rss };

  strcpy(o.cluster, "c");
  strcpy(o.node, "n1");
  strcpy(o.user, "alice");
  strcpy(o.submission.app, app);
  return o;
}

static ft_observation everything(void)
{
  ft_observation o = make_run(42, "unet3d", 12000);

  o.het_offset = 1;
  o.array_job_id = 40;
  o.array_task_id = 2;
  o.restart_count = 3;
  o.exit_code = -1;
  o.signal = 9;
  assert_true(
      ft_feature_number(o.submission.features, &o.submission.features_count, 24, "batch", 32));
  assert_true(
      ft_feature_number(o.submission.features, &o.submission.features_count, 24, "rate", 0.1));
  assert_true(ft_feature_category(o.submission.features, &o.submission.features_count, 24, "ar\"ch",
                                  "res'net;\\50"));
  o.counters_count = 2;
  strcpy(o.counters[0].name, "instructions");
  o.counters[0].value = 12000015;
  strcpy(o.counters[1].name, "PAPI_L1_DCM");
  o.counters[1].value = 1.5e20;
  o.submission.script_hash = 0xfedcba98;
  o.submission.directory_hash = 7;
  o.submission.has_request = o.submission.has_decision = true;
  o.submission.request.command = FT_COMMAND_SRUN;
  o.submission.request.mem_unit = FT_MEM_CPU;
  o.submission.request.mem_bytes = UINT64_C(1) << 40;
  o.submission.request.exclusive = true;
  strcpy(o.submission.request.partition, "a,b");
  o.submission.decision.action = FT_ACTION_RAISE;
  o.submission.decision.mode = FT_MODE_RAISE;
  o.submission.decision.rule = FT_DECIDED_BY_FLOOR;
  o.submission.decision.has_p_oom = true;
  o.submission.decision.p_oom = 0.013;
  strcpy(o.submission.decision.reason, "asked for too little");
  o.has_limit_bytes = true;
  o.limit_bytes = 0;
  o.has_swap_bytes = true;
  o.swap_bytes = INT64_MAX;
  o.has_gpu_utilisation = true;
  o.gpu_utilisation = 0.25;
  strcpy(o.fingerprint, "AMD EPYC 7763; 2 packages");
  o.samples = 100;
  o.sample_seconds = 0.1;
  return o;
}

struct seen {
  unsigned count;
  unsigned stop_at;
  uint32_t first, last;
  ft_observation one;
};

static bool collect_run(const ft_observation *o, void *data)
{
  struct seen *seen = data;

  if (!seen->count++)
    seen->first = o->job_id;
  seen->last = o->job_id;
  seen->one = *o;
  return seen->count != seen->stop_at;
}

/* Returns the number of runs, with BY_NODE that of the records of nodes. */
static unsigned count_stored(struct ft_store *store, bool by_node)
{
  struct ft_store_filter filter = { .by_node = by_node };
  struct seen seen = { 0 };
  struct ft_error err = { "" };

  if (ft_store_each(store, &filter, collect_run, &seen, &err) < 0)
    fail_msg("%s", err.text);
  return seen.count;
}

static unsigned count(struct ft_store *store)
{
  return count_stored(store, false);
}

static void a_stored_run_is_read_back_completely(void **state)
{
  ft_observation in = everything(), merged;
  struct ft_store *store = must_open(true);
  struct ft_store_filter filter = { .job_id = 42 };
  struct seen seen = { 0 };
  struct ft_error err;
  struct stat st;

  (void)state;
  assert_int_equal(ft_store_put(store, &in, &merged, &err), 0);
  assert_memory_equal(&in, &merged, sizeof in);
  ft_store_close(store);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  store = must_open(false);
  assert_int_equal(ft_store_each(store, &filter, collect_run, &seen, &err), 0);
  assert_int_equal(seen.count, 1);
  assert_int_equal(seen.one.submission.features_count, 3);
  assert_string_equal(ft_feature_find(seen.one.submission.features, 3, "ar\"ch")->category,
                      "res'net;\\50");
  assert_true(ft_feature_find(seen.one.submission.features, 3, "rate")->number == 0.1);
  for (size_t i = 0; i < sizeof in; i++)
    if (((char *)&in)[i] != ((char *)&seen.one)[i])
      fail_msg("byte %zu of the observation differs", i);
  ft_store_close(store);
}

static void the_same_run_is_one_row(void **state)
{
  struct ft_store *store = must_open(true);
  ft_observation o = make_run(1, "a", 100), merged;
  struct ft_error err;

  (void)state;
  o.outcome = FT_OUTCOME_UNKNOWN;
  o.censored = true;
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  o = make_run(1, "guess", 50);
  o.source = FT_SOURCE_SACCT;
  o.submit_time += 0.25;
  assert_int_equal(ft_store_put(store, &o, &merged, &err), 0);
  assert_int_equal(count(store), 1);
  assert_string_equal(merged.submission.app, "a");
  assert_true(merged.rss_bytes == 100 && !merged.censored);
  o.restart_count = 1;
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  strcpy(o.node, "n2");
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  o.array_task_id = 5;
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  strcpy(o.cluster, "");
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  assert_int_equal(count(store), 4);
  assert_int_equal(count_stored(store, true), 5);
  ft_store_close(store);
}

/* Slurm may reply only after the agent has stopped waiting, or to the next agent. */
static void a_later_submit_time_makes_no_second_run(void **state)
{
  struct ft_store *store = must_open(true);
  ft_observation o = make_run(1, "a", 100), merged;
  double submitted = o.submit_time;
  struct ft_error err;

  (void)state;
  o.start_time = submitted + 10;
  o.end_time = submitted + 20;
  o.submit_time = 0;
  o.cluster[0] = '\0';
  o.outcome = FT_OUTCOME_FAILED;
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  o = make_run(1, "a", 100);
  o.start_time = submitted + 10.5; /* as the next agent computes it from the packets */
  o.end_time = submitted + 20;
  o.outcome = FT_OUTCOME_TIMEOUT;
  assert_int_equal(ft_store_put(store, &o, &merged, &err), 0);
  assert_int_equal(merged.outcome, FT_OUTCOME_TIMEOUT);
  assert_true(merged.submit_time == floor(submitted));
  assert_string_equal(merged.cluster, o.cluster);
  assert_int_equal(count(store), 1);
  /* from the previous agent's spool */
  o.submit_time = 0;
  assert_int_equal(ft_store_put(store, &o, &merged, &err), 0);
  assert_true(merged.submit_time == floor(submitted));
  assert_int_equal(count(store), 1);
  /* the next job of that number, another user's, on another node, and an imported run */
  o.start_time += 1e6;
  o.end_time += 1e6;
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  o.uid++;
  o.submit_time = submitted + 1e6;
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  o.uid--;
  o.submit_time = submitted;
  strcpy(o.node, "n2");
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  o.submit_time = 0;
  o.source = FT_SOURCE_TRACE;
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  assert_int_equal(count_stored(store, true), 5);
  ft_store_close(store);
}

static void a_job_completes_once(void **state)
{
  struct ft_store *store = must_open(true);
  ft_observation o = make_run(1, "a", 100);
  struct ft_error err;

  (void)state;
  /* killed, restarted, and completed; nodes of one run have records of their own */
  o.outcome = FT_OUTCOME_REQUEUED;
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  o.outcome = FT_OUTCOME_COMPLETED;
  o.restart_count = 1;
  o.submit_time += 100;
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  strcpy(o.node, "n2");
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  assert_int_equal(count(store), 2);
  assert_int_equal(count_stored(store, true), 3);
  /* scontrol requeue after its end, also to another node; or a restart without confirmation */
  o.restart_count = 2;
  o.submit_time += 100;
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 1);
  strcpy(o.node, "n3");
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 1);
  o.restart_count = 1;
  o.submit_time = 0;
  o.start_time += 100;
  o.end_time += 100;
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 1);
  o.restart_count = 2;
  o.outcome = FT_OUTCOME_OUT_OF_MEMORY;
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  o.uid = UINT32_MAX; /* all users */
  assert_int_equal(ft_store_put(store, &o, NULL, &err), -1);
  assert_line(&err, "is reserved");
  /* the next job of that number is another job, and so is another task */
  o = make_run(1, "a", 100);
  o.submit_time += 1e6;
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  o.restart_count = 3;
  o.array_task_id = 4;
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  assert_int_equal(count(store), 5);
  ft_store_close(store);
}

static void filters_restrict(void **state)
{
  static const struct {
    struct ft_store_filter filter;
    unsigned count;
    uint32_t first, last;
  } cases[] = {
    { { 0 }, 20, 1, 20 },
    { { .app = "odd" }, 10, 1, 19 },
    { { .app = "none" }, 0, 0, 0 },
    { { .by_uid = true, .uid = 0 }, 0, 0, 0 },
    { { .by_uid = true, .uid = 1000 }, 20, 1, 20 },
    { { .since = 1e9 + 25 }, 6, 15, 20 },
    { { .limit = 3 }, 3, 20, 18 },
    { { .app = "even", .limit = 2, .since = 5, .by_uid = true, .uid = 1000 }, 2, 20, 18 },
    { { .job_id = 7 }, 1, 7, 7 },
    { { .job_id = 7, .by_task = true }, 0, 0, 0 },
    { { .job_id = 18 }, 3, 18, 20 },
    { { .job_id = 19 }, 1, 19, 19 },
    { { .job_id = 18, .by_task = true, .task_id = 2 }, 1, 19, 19 }
  };
  struct ft_store *store = must_open(true);
  struct ft_error err;

  (void)state;
  assert_int_equal(ft_store_begin(store, &err), 0);
  for (uint32_t job = 20; job; job--) {
    ft_observation o = make_run(job, job % 2 ? "odd" : "even", job * 100);

    if (job >= 18) {
      o.array_job_id = 18;
      o.array_task_id = job - 17;
    }
    assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  }
  assert_int_equal(ft_store_commit(store, &err), 0);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct seen seen = { 0 };

    assert_int_equal(ft_store_each(store, &cases[i].filter, collect_run, &seen, &err), 0);
    if (seen.count != cases[i].count || seen.first != cases[i].first || seen.last != cases[i].last)
      fail_msg("case %zu: %u from %u to %u", i, seen.count, seen.first, seen.last);
  }
  ft_store_close(store);
}

static bool look_at_two(const ft_observation *o, void *data)
{
  struct seen *seen = data;

  return seen->count < 2 && collect_run(o, data);
}

static void runs_come_in_pages(void **state)
{
  struct ft_store_cursor cursor = { INFINITY, 0 };
  struct ft_store *store = must_open(true);
  char app[128] = "";
  uint32_t uid = 0;
  struct ft_error err;
  unsigned pages = 0;
  struct seen seen = { 0 };

  (void)state;
  for (uint32_t job = 1; job <= 20; job++) {
    ft_observation o = make_run(job, job % 4 ? "odd" : "even", job * 100);

    o.end_time = 1e9 + job / 2; /* two with each time */
    o.uid = job % 4 == 3 ? 7 : 1000;
    assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  }
  while (ft_store_page(store, 1000, "odd", 0, false, &cursor, 3, collect_run, &seen, &err) > 0)
    pages++;
  assert_int_equal(seen.count, 10);
  assert_int_equal(pages, 4);
  assert_true(seen.first == 18 && seen.last == 1);
  cursor = (struct ft_store_cursor){ INFINITY, 0 };
  seen = (struct seen){ 0 };
  /* rows that the callback declines are delivered again */
  assert_int_equal(
      ft_store_page(store, 1000, "odd", 0, false, &cursor, 9, look_at_two, &seen, &err), 2);
  assert_int_equal(
      ft_store_page(store, 1000, "odd", 0, false, &cursor, 1, collect_run, &seen, &err), 1);
  assert_true(seen.count == 3 && seen.last == 14);
  cursor = (struct ft_store_cursor){ INFINITY, 0 };
  seen = (struct seen){ 0 };
  assert_int_equal(
      ft_store_page(store, 7, "odd", 1e9 + 5, false, &cursor, 9, collect_run, &seen, &err), 3);
  assert_int_equal(ft_store_page(store, 8, "odd", 0, false, &cursor, 9, collect_run, &seen, &err),
                   0);

  assert_int_equal(ft_store_next_app(store, false, &uid, app, &err), 1);
  assert_true(uid == 7 && strcmp(app, "odd") == 0);
  assert_int_equal(ft_store_next_app(store, false, &uid, app, &err), 1);
  assert_true(uid == 1000 && strcmp(app, "even") == 0);
  assert_int_equal(ft_store_next_app(store, false, &uid, app, &err), 1);
  assert_int_equal(ft_store_next_app(store, false, &uid, app, &err), 0);
  uid = 7;
  app[0] = '\0';
  assert_int_equal(ft_store_next_app(store, true, &uid, app, &err), 1);
  assert_int_equal(ft_store_next_app(store, true, &uid, app, &err), 0);
  assert_int_equal(ft_store_find_job(store, 4, true, &uid, app, &err), 0);
  assert_int_equal(ft_store_find_job(store, 4, false, &uid, app, &err), 1);
  assert_true(uid == 1000 && strcmp(app, "even") == 0);
  assert_int_equal(ft_store_find_job(store, 21, false, &uid, app, &err), 0);
  ft_store_close(store);
}

/* Rejected submissions, by user, app and day. */
static void rejections_are_counted_and_outlive_their_app(void **state)
{
  struct ft_store *store = must_open(true);
  struct ft_rejections row = { .uid = 0 };
  struct ft_error err;
  char app[32];

  (void)state;
  for (unsigned i = 0; i < 3; i++)
    assert_int_equal(ft_store_count_rejection(store, 1000, "sorter", 1e9 + i * 86400.0, &err), 0);
  assert_int_equal(ft_store_count_rejection(store, 7, "sorter", 1e9, &err), 0);
  assert_int_equal(ft_store_count_rejection(store, 1000, "", 1e9, &err), 0);
  assert_int_equal(ft_store_next_rejections(store, false, 0, &row, &err), 1);
  assert_true(row.uid == 7 && row.count == 1 && strcmp(row.app, "sorter") == 0);
  assert_int_equal(ft_store_next_rejections(store, false, 0, &row, &err), 1);
  assert_true(row.uid == 1000 && row.count == 1 && strcmp(row.app, "") == 0);
  assert_int_equal(ft_store_next_rejections(store, false, 0, &row, &err), 1);
  assert_true(row.uid == 1000 && row.count == 3 && strcmp(row.app, "sorter") == 0);
  assert_int_equal(ft_store_next_rejections(store, false, 0, &row, &err), 0);
  /* of one user in the last two days */
  row = (struct ft_rejections){ .uid = 1000 };
  assert_int_equal(ft_store_next_rejections(store, true, 1e9 + 86400, &row, &err), 1);
  assert_true(row.uid == 1000 && row.count == 2);
  assert_int_equal(ft_store_next_rejections(store, true, 1e9 + 86400, &row, &err), 0);

  /* a user who reports rejections under ever new names displaces no other user's */
  for (unsigned i = 0; i < 3 * FT_REJECTED_APPS; i++) {
    (void)snprintf(app, sizeof app, "forged-%u", i);
    assert_int_equal(ft_store_count_rejection(store, 9, app, 1e9, &err), 0);
  }
  row = (struct ft_rejections){ .uid = 9 };
  assert_int_equal(ft_store_next_rejections(store, true, 0, &row, &err), 1);
  assert_true(row.count >= 2 * FT_REJECTED_APPS && !row.app[0]);

  /* a forgotten run's rejections stay without their app */
  assert_int_equal(ft_store_begin(store, &err), 0);
  assert_int_equal(ft_store_forget_rejections(
                       store, &(ft_forget){ .has_uid = true, .uid = 1000, .app = "sorter" }, &err),
                   0);
  assert_int_equal(ft_store_commit(store, &err), 0);
  row = (struct ft_rejections){ .uid = 1000 };
  assert_int_equal(ft_store_next_rejections(store, true, 0, &row, &err), 1);
  assert_true(row.uid == 1000 && row.count == 4 && !row.app[0]);
  assert_int_equal(ft_store_next_rejections(store, true, 0, &row, &err), 0);
  row = (struct ft_rejections){ .uid = 7 };
  assert_int_equal(ft_store_next_rejections(store, true, 0, &row, &err), 1);
  assert_true(strcmp(row.app, "sorter") == 0);
  ft_store_close(store);
}

struct apps {
  unsigned count;
  struct ft_store_app app[4];
};

static bool note_app(const struct ft_store_app *app, void *data)
{
  struct apps *apps = data;

  apps->app[apps->count++] = *app;
  return apps->count < 4;
}

static void apps_are_counted_and_trimmed(void **state)
{
  struct ft_store *store = must_open(true);
  struct apps apps = { 0 };
  struct ft_error err;

  (void)state;
  for (uint32_t job = 1; job <= 12; job++) {
    ft_observation o = make_run(job, job <= 4 ? "old" : "new", job * 100);

    if (job == 12)
      o.uid = 1001;
    if (job % 2)
      o.outcome = FT_OUTCOME_FAILED;
    o.censored = job % 2;
    assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  }
  assert_int_equal(ft_store_each_app(store, note_app, &apps, &err), 0);
  assert_int_equal(apps.count, 3);
  assert_int_equal(apps.app[0].uid, 1001);
  assert_string_equal(apps.app[1].app, "new");
  assert_string_equal(apps.app[1].user, "alice");
  assert_true(apps.app[1].runs == 7 && apps.app[1].completed == 3 && apps.app[1].censored == 4);
  assert_true(apps.app[1].min_bytes == 600 && apps.app[1].max_bytes == 1100 &&
              apps.app[1].last_time == 1e9 + 21);
  assert_string_equal(apps.app[2].app, "old");
  assert_int_equal(ft_store_trim(store, 0, &err), 0);
  assert_int_equal(count(store), 12);
  for (int app = 0; app < 3; app++)
    assert_int_equal(ft_store_trim(store, 2, &err), 1);
  assert_int_equal(count(store), 5);
  assert_int_equal(ft_store_trim(store, 2, &err), 0);
  assert_int_equal(ft_store_trim(store, 1, &err), 1);
  assert_int_equal(count(store), 4);
  ft_store_close(store);
}

static void unfinished_transaction_is_undone(void **state)
{
  struct ft_store *store = must_open(true);
  ft_observation o = make_run(1, "a", 1);
  struct ft_error err;

  (void)state;
  assert_int_equal(ft_store_commit(store, &err), -1);
  assert_line(&err, "commit without begin");
  assert_int_equal(ft_store_begin(store, &err), 0);
  assert_int_equal(ft_store_begin(store, &err), -1);
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  ft_store_close(store);
  store = must_open(false);
  assert_int_equal(count(store), 0);
  assert_int_equal(ft_store_put(store, &o, NULL, &err), -1);
  assert_line(&err, "read-only");
  ft_store_close(store);
}

static void sql(const char *text)
{
  sql_run(path, text);
}

/* SQLite's VFS with lock files has no shared memory, like some network file systems. */
static void a_file_system_without_shared_memory_keeps_the_store(void **state)
{
  sqlite3_vfs *usual = sqlite3_vfs_find(NULL);

  (void)state;
  assert_int_equal(sqlite3_vfs_register(sqlite3_vfs_find("unix-dotfile"), 1), SQLITE_OK);
  ft_store_close(must_open(true));
  ft_store_close(must_open(false));
  assert_int_equal(sqlite3_vfs_register(usual, 1), SQLITE_OK);
}

static void foreign_files_are_rejected_in_one_line(void **state)
{
  static const struct {
    const char *sql, *expected;
  } cases[] = {
    { "PRAGMA user_version = 99", "schema 99; this version of foretell supports 1 to 16" },
    { "PRAGMA user_version = -1", "schema -1" },
    { "PRAGMA application_id = 1", "not a store of foretell" },
  };
  struct ft_error err;
  int fd;

  (void)state;
  assert_null(ft_store_open(path, false, &err));
  assert_line(&err, "No such file");
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_store_close(must_open(true));
    sql(cases[i].sql);
    assert_null(ft_store_open(path, true, &err));
    assert_line(&err, cases[i].expected);
    assert_null(ft_store_open(path, false, &err));
    assert_line(&err, cases[i].expected);
    unlink(path);
  }
  fd = open(path, O_CREAT | O_WRONLY, 0600);
  assert_null(ft_store_open(path, false, &err));
  assert_line(&err, "empty file");
  assert_int_equal(write(fd,
                         "this is no SQLite file, although it is as long as its header would "
                         "have to be, which is one hundred bytes",
                         105),
                   105);
  close(fd);
  assert_null(ft_store_open(path, true, &err));
  assert_line(&err, "damaged");
  unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_null(ft_store_open(path, true, &err));
  assert_line(&err, "not a regular file");
}

static void damaged_rows_are_named(void **state)
{
  static const struct {
    const char *sql, *expected;
  } cases[] = {
    { "UPDATE observation SET outcome = 'exploded'", "row 1: column outcome" },
    { "UPDATE observation SET uid = -5", "row 1: column uid" },
    { "UPDATE observation SET runtime_seconds = 'long'", "row 1: column runtime_seconds" },
    { "UPDATE observation SET features = '{\"x\":'", "row 1: column features" },
    { "UPDATE observation SET features = '{\"x\":[]}'", "row 1: column features" },
    { "UPDATE observation SET counters = '7'", "row 1: column counters" },
    { "UPDATE observation SET app = hex(zeroblob(200))", "row 1: column app" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_store *store = must_open(true);
    struct ft_store_filter filter = { 0 };
    ft_observation o = everything();
    struct seen seen = { 0 };
    struct ft_error err;

    assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
    sql(cases[i].sql);
    assert_int_equal(ft_store_each(store, &filter, collect_run, &seen, &err), -1);
    assert_line(&err, cases[i].expected);
    ft_store_close(store);
    unlink(path);
  }
}

static void damaged_pages_do_not_crash(void **state)
{
  unsigned char page[4096];
  struct ft_error err;

  (void)state;
  for (off_t damaged = 0; damaged < 12; damaged++) {
    struct ft_store *store = must_open(true);
    ft_observation o;
    int fd;

    for (uint32_t job = 1; job <= 50; job++) {
      o = make_run(job, "a", job);
      assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
    }
    ft_store_close(store);
    fd = open(path, O_RDWR);
    memset(page, 0xa5, sizeof page);
    assert_int_equal(
        pwrite(fd, page, damaged ? sizeof page : 3000, damaged ? damaged * 4096 : 1096),
        damaged ? (ssize_t)sizeof page : 3000);
    close(fd);
    store = ft_store_open(path, true, &err);
    if (store) {
      struct ft_store_filter filter = { 0 };
      struct seen seen = { 0 };

      if (ft_store_each(store, &filter, collect_run, &seen, &err) < 0)
        assert_line(&err, "");
      if (ft_store_put(store, &o, NULL, &err) < 0)
        assert_line(&err, "");
    } else {
      assert_line(&err, "");
    }
    ft_store_close(store);
    unlink(path);
  }
}

/* Runs BODY in a child process; exit status 0: all assertions held. */
static void in_child(int (*body)(void))
{
  int status;
  pid_t child = fork();

  if (child == 0)
    _exit(body());
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

/* stores until the file may not grow; the last run must be rejected and leave no trace */
static int fill_up(void)
{
  struct rlimit limit = { 400 << 10, 400 << 10 };
  struct ft_error err;
  struct ft_store *store = ft_store_open(path, true, &err);
  uint32_t job = 0;
  unsigned kept;

  signal(SIGXFSZ, SIG_IGN);
  if (!store || setrlimit(RLIMIT_FSIZE, &limit) < 0)
    return 1;
  for (; job < 10000; job++) {
    ft_observation o = make_run(job + 1, "a", 100);

    if (ft_store_put(store, &o, NULL, &err) < 0)
      break;
  }
  if (job == 0 || job == 10000 || !strstr(err.text, path) || strchr(err.text, '\n'))
    return 2;
  kept = count(store);
  ft_store_close(store);
  return kept == job ? 0 : 3;
}

static void a_file_at_its_size_limit_keeps_its_runs(void **state)
{
  struct ft_error err;
  struct ft_store *store;
  ft_observation o = make_run(99999, "b", 5);
  unsigned before;

  (void)state;
  in_child(fill_up);
  store = must_open(true);
  before = count(store);
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  assert_int_equal(count(store), before + 1);
  ft_store_close(store);
}

static void a_full_disk_keeps_the_stored_runs(void **state)
{
  struct ft_store *store;
  struct ft_error err = { "" };
  uint32_t job = 0;

  (void)state;
  if (mount("foretell-test", folder, "tmpfs", 0, "size=1m") < 0)
    skip();
  store = must_open(true);
  for (; job < 10000; job++) {
    ft_observation o = make_run(job + 1, "a", 100);

    if (ft_store_put(store, &o, NULL, &err) < 0)
      break;
  }
  assert_true(job > 0 && job < 10000);
  assert_line(&err, "the disk is full");
  assert_int_equal(count(store), job);
  ft_store_close(store);
  store = must_open(false);
  assert_int_equal(count(store), job);
  ft_store_close(store);
  assert_int_equal(umount(folder), 0);
}

static void a_full_disk_leaves_no_new_file(void **state)
{
  struct ft_error err = { "" };
  char other[96];
  int fd;

  (void)state;
  if (mount("foretell-test", folder, "tmpfs", 0, "size=16k") < 0)
    skip();
  (void)snprintf(other, sizeof other, "%s/other", folder);
  fd = open(other, O_CREAT | O_WRONLY, 0600);
  while (write(fd, other, sizeof other) > 0)
    continue;
  close(fd);
  assert_null(ft_store_open(path, true, &err));
  assert_line(&err, "full");
  assert_int_equal(access(path, F_OK), -1);
  assert_int_equal(umount(folder), 0);
}

static void a_read_only_disk_is_reported(void **state)
{
  struct ft_error err = { "" };
  struct ft_store *store;
  ft_observation o = make_run(1, "a", 100);

  (void)state;
  if (mount("foretell-test", folder, "tmpfs", 0, "size=1m") < 0)
    skip();
  store = must_open(true);
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  ft_store_close(store);
  assert_int_equal(mount("foretell-test", folder, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL), 0);
  store = ft_store_open(path, true, &err);
  assert_null(store);
  assert_line(&err, "Read-only file system");
  assert_int_equal(umount(folder), 0);
}

static void a_locked_store_is_reported_and_then_works(void **state)
{
  struct ft_store *store = must_open(true), *other = must_open(true);
  ft_observation o = make_run(1, "a", 100);
  struct ft_error err;

  (void)state;
  assert_int_equal(ft_store_begin(other, &err), 0);
  assert_int_equal(ft_store_put(other, &o, NULL, &err), 0);
  assert_int_equal(count(store), 0);
  assert_int_equal(ft_store_put(store, &o, NULL, &err), -1);
  assert_line(&err, "locked by another process");
  assert_int_equal(ft_store_commit(other, &err), 0);
  assert_int_equal(ft_store_put(store, &o, NULL, &err), 0);
  assert_int_equal(count(store), 1);
  ft_store_close(other);
  ft_store_close(store);
}

/* a process that is killed after storing a run */
static int put_and_die(void)
{
  struct ft_error err;
  struct ft_store *store = ft_store_open(path, true, &err);

  for (uint32_t job = 1; store && job <= 10; job++) {
    ft_observation o = make_run(job, "a", job);

    if (ft_store_put(store, &o, NULL, &err) < 0)
      return 1;
  }
  return store ? 0 : 2;
}

static void a_stored_run_survives_its_process(void **state)
{
  struct ft_store *store;

  (void)state;
  in_child(put_and_die);
  store = must_open(false);
  assert_int_equal(count(store), 10);
  ft_store_close(store);
}

static void closing_null_is_allowed(void **state)
{
  (void)state;
  ft_store_close(NULL);
}

/* ---- runs that wait for Slurm's record ---- */

struct waiting_jobs {
  uint32_t job_id[4];
  size_t count;
  int64_t last_run; /* of the first of them */
};

static bool note_waiting(uint32_t job_id, double since, int64_t run, void *data)
{
  struct waiting_jobs *jobs = data;

  assert_true(since > 0 && run > 0 && jobs->count < COUNT_OF(jobs->job_id));
  if (!jobs->count)
    jobs->last_run = run;
  jobs->job_id[jobs->count++] = job_id;
  return true;
}

static struct waiting_jobs waiting_jobs(struct ft_store *store)
{
  struct waiting_jobs jobs = { .count = 0 };
  struct ft_error err;

  assert_int_equal(ft_store_each_waiting_job(store, 0, note_waiting, &jobs, &err), 0);
  return jobs;
}

static bool note_run(const ft_observation *o, void *data)
{
  (void)o;
  ++*(unsigned *)data;
  return true;
}

static void a_run_waits_for_slurms_record(void **state)
{
  static const struct ft_store_filter all;
  struct ft_store *store = must_open(true);
  /* two attempts of one job in an outage have one restart count */
  ft_observation first = make_run(7, "a", 1), second = first, other = make_run(8, "b", 2), run;
  struct ft_error err;
  unsigned stored = 0;
  int64_t last;

  (void)state;
  second.start_time += 1000;
  second.rss_bytes = 3;
  assert_int_equal(ft_store_wait(store, &second, &err), 0);
  assert_int_equal(ft_store_wait(store, &first, &err), 0);
  assert_int_equal(ft_store_wait(store, &first, &err), 0);
  assert_int_equal(ft_store_wait(store, &other, &err), 0);
  ft_store_close(store);
  store = must_open(true);
  assert_int_equal(waiting_jobs(store).count, 2);
  assert_int_equal(ft_store_each(store, &all, note_run, &stored, &err), 0);
  assert_int_equal(stored, 0);
  last = waiting_jobs(store).last_run;
  run = (ft_observation){ .job_id = 7 };
  assert_int_equal(ft_store_next_waiting(store, &run, last - 1, &err), 1);
  assert_int_equal(run.rss_bytes, 3); /* the other one came later */
  run = (ft_observation){ .job_id = 7 };
  assert_int_equal(ft_store_next_waiting(store, &run, last, &err), 1);
  assert_int_equal(run.rss_bytes, 1);
  assert_int_equal(ft_store_next_waiting(store, &run, last, &err), 1);
  assert_int_equal(run.rss_bytes, 3);
  assert_int_equal(ft_store_next_waiting(store, &run, last, &err), 0);
  assert_int_equal(ft_store_end_wait(store, &first, &err), 0);
  assert_int_equal(ft_store_end_wait(store, &second, &err), 0);
  assert_int_equal(waiting_jobs(store).count, 1);
  assert_int_equal(waiting_jobs(store).job_id[0], 8);
  assert_int_equal(ft_store_expire_waiting(store, 1e9, &err), 0);
  assert_int_equal(waiting_jobs(store).count, 1);
  assert_int_equal(ft_store_expire_waiting(store, 1e12, &err), 0);
  assert_int_equal(waiting_jobs(store).count, 0);
  ft_store_close(store);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = { TEST(runs_come_in_pages),
                                      TEST(rejections_are_counted_and_outlive_their_app),
                                      TEST(a_stored_run_is_read_back_completely),
                                      TEST(the_same_run_is_one_row),
                                      TEST(a_later_submit_time_makes_no_second_run),
                                      TEST(a_job_completes_once),
                                      TEST(filters_restrict),
                                      TEST(apps_are_counted_and_trimmed),
                                      TEST(unfinished_transaction_is_undone),
                                      TEST(a_file_system_without_shared_memory_keeps_the_store),
                                      TEST(foreign_files_are_rejected_in_one_line),
                                      TEST(damaged_rows_are_named),
                                      TEST(damaged_pages_do_not_crash),
                                      TEST(a_file_at_its_size_limit_keeps_its_runs),
                                      TEST(a_full_disk_keeps_the_stored_runs),
                                      TEST(a_full_disk_leaves_no_new_file),
                                      TEST(a_read_only_disk_is_reported),
                                      TEST(a_locked_store_is_reported_and_then_works),
                                      TEST(a_stored_run_survives_its_process),
                                      TEST(a_run_waits_for_slurms_record),
                                      cmocka_unit_test(closing_null_is_allowed) };

  return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
