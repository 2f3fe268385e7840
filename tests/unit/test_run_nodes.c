/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/sql.h"
#include "tests/unit/unit.h"

#include <sqlite3.h>
#include <time.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/history/expire.h"
#include "predictor/history/forget.h"
#include "predictor/history/merge.h"
#include "predictor/history/stale_models.h"
#include "predictor/history/store.h"
#include "predictor/online/online.h"
#include "predictor/rebuild/rebuild.h"

static struct ft_history history;

static char folder[] = "/tmp/foretell-test-XXXXXX";
static char path[64];
static struct ft_store *store;

static void open_store(void)
{
  struct ft_error err = { "" };

  store = ft_store_open(path, true, &err);
  if (!store)
    fail_msg("%s", err.text);
}

static int set_up(void **state)
{
  (void)state;
  strcpy(folder + strlen(folder) - 6, "XXXXXX");
  if (!mkdtemp(folder))
    return -1;
  (void)snprintf(path, sizeof path, "%s/store.db", folder);
  open_store();
  return 0;
}

static void remove_store(void)
{
  static const char *const suffix[] = { "", "-wal", "-shm" };
  char name[96];

  ft_store_close(store);
  store = NULL;
  for (size_t i = 0; i < COUNT_OF(suffix); i++) {
    (void)snprintf(name, sizeof name, "%s%s", path, suffix[i]);
    (void)unlink(name);
  }
}

static int tear_down(void **state)
{
  (void)state;
  remove_store();
  return rmdir(folder);
}

/* Runs TEXT on a connection of its own. Returns the first column of its first row; 0 without one.
 */
static int64_t query(const char *text)
{
  sqlite3_stmt *s = NULL;
  int64_t value = 0;
  sqlite3 *db;

  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_prepare_v2(db, text, -1, &s, NULL) != SQLITE_OK)
    fail_msg("%s: %s", text, sqlite3_errmsg(db));
  if (sqlite3_step(s) == SQLITE_ROW)
    value = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  sqlite3_close(db);
  return value;
}

static void sql(const char *text)
{
  sql_run(path, text);
}

/* The record of node NODE (1, 2, ...) of JOB on NODES nodes. Node N uses N times 100 MB. */
static ft_observation make_record(uint32_t job, unsigned node, uint32_t nodes)
{
  ft_observation o = { .schema = FT_SCHEMA,
                       .job_id = job,
                       .submit_time = 1e9 + 60 * job,
                       .start_time = 1e9 + 60 * job + node,
                       .end_time = 1e9 + 60 * job + 20 + node,
                       .runtime_seconds = 20,
                       .outcome = FT_OUTCOME_COMPLETED,
                       .uid = 1000,
                       .rule = FT_RULE_RSS,
                       .allocated_nodes = nodes,
                       .has_limit_bytes = true,
                       .limit_bytes = UINT64_C(1000000000) + node,
                       .has_rss_bytes = true,
                       .rss_bytes = UINT64_C(100000000) * node,
                       .has_cpu_seconds = true,
                       .cpu_seconds = 10 + node,
                       .cpus = 2,
                       .counters_count = 1,
                       .counters = { { "instructions", 1000 } } };

  strcpy(o.cluster, "c");
  (void)snprintf(o.node, sizeof o.node, "n%u", node);
  strcpy(o.submission.app, "a");
  (void)ft_feature_number(o.submission.features, &o.submission.features_count, 24, "batch",
                          job % 4);
  return o;
}

/* Returns the result of ft_store_put; MERGED may be NULL. */
static int put(const ft_observation *o, ft_observation *merged)
{
  struct ft_error err = { "" };
  int status = ft_store_put(store, o, merged, &err);

  if (status < 0)
    fail_msg("%s", err.text);
  return status;
}

static int put_node(uint32_t job, unsigned node, uint32_t nodes)
{
  ft_observation o = make_record(job, node, nodes);

  return put(&o, NULL);
}

struct seen {
  unsigned count;
  ft_observation last;
};

static bool see(const ft_observation *o, void *data)
{
  struct seen *seen = data;

  seen->count++;
  seen->last = *o;
  return true;
}

static unsigned visit(bool by_node, ft_observation *last)
{
  const struct ft_store_filter filter = { .by_node = by_node };
  static struct seen seen;
  struct ft_error err = { "" };

  seen = (struct seen){ 0 };
  if (ft_store_each(store, &filter, see, &seen, &err) < 0)
    fail_msg("%s", err.text);
  if (last)
    *last = seen.last;
  return seen.count;
}

static void build(ft_model *model)
{
  struct ft_error err;

  assert_int_equal(ft_rebuild_model(store, 1000, "a", FT_RULE_RSS, model, &err), 0);
}

/* Returns the number of runs that a model learns from the store. */
static unsigned learnt(void)
{
  static ft_model model;

  build(&model);
  return model.runs;
}

static int release(double seconds)
{
  struct ft_error err = { "" };
  int status = ft_store_release_waiting(store, ft_io_now() + seconds, &err);

  if (status < 0)
    fail_msg("%s", err.text);
  return status;
}

/* ---- combination ---- */

static ft_observation make_energy(unsigned node, double joules, double share)
{
  ft_observation o = make_record(1, node, 3);

  o.has_package_energy_joules = joules >= 0;
  o.package_energy_joules = joules >= 0 ? joules : 0;
  o.has_package_energy_share = share >= 0;
  o.package_energy_share = share >= 0 ? share : 0;
  return o;
}

static void energy_of_packages_is_the_sum_and_its_share_the_jobs_part(void **state)
{
  ft_observation run = make_energy(1, -1, -1), other = make_energy(2, 300, 0.5);

  (void)state;
  ft_observation_add_node(&run, &other);
  assert_true(run.has_package_energy_joules && run.has_package_energy_share);
  assert_near(run.package_energy_share, 0.5, 1e-12);
  other = make_energy(3, 100, 0.1);
  ft_observation_add_node(&run, &other);
  assert_near(run.package_energy_joules, 400, 1e-12);
  assert_near(run.package_energy_joules * run.package_energy_share, 150 + 10, 1e-12);
  other = make_energy(4, 100, -1);
  ft_observation_add_node(&run, &other);
  assert_near(run.package_energy_joules, 500, 1e-12);
  assert_false(run.has_package_energy_share);
  other = make_energy(5, 100, 0.1);
  ft_observation_add_node(&run, &other);
  assert_false(run.has_package_energy_share);
}

static void the_largest_node_gives_the_peak_and_totals_are_sums(void **state)
{
  ft_observation run = make_record(1, 3, 3), other = make_record(1, 1, 3);

  (void)state;
  ft_observation_add_node(&run, &other);
  other = make_record(1, 2, 3);
  other.has_pss_bytes = true;
  other.pss_bytes = 7;
  ft_observation_add_node(&run, &other);
  assert_int_equal(run.recorded_nodes, 3);
  assert_string_equal(run.node, "n3");
  assert_true(run.rss_bytes == 300000000 && run.limit_bytes == 1000000003 && run.cpus == 2);
  assert_true(run.has_pss_bytes && run.pss_bytes == 7);
  assert_near(run.cpu_seconds, 36, 1e-12);
  assert_int_equal(run.counters_count, 1);
  assert_near(run.counters[0].value, 3000, 1e-12);
  /* from the first start to the last end */
  assert_near(run.start_time, 1e9 + 61, 1e-15);
  assert_near(run.end_time, 1e9 + 83, 1e-15);
  assert_near(run.runtime_seconds, 22, 1e-9);
  other = make_record(1, 2, 4);
  other.counters_count = 0; /* the sum would lack this node's */
  ft_observation_add_node(&run, &other);
  assert_int_equal(run.counters_count, 0);
}

static void the_worst_known_outcome_is_the_runs(void **state)
{
  static const struct {
    ft_outcome one, other, run;
  } cases[] = { { FT_OUTCOME_COMPLETED, FT_OUTCOME_UNKNOWN, FT_OUTCOME_COMPLETED },
                { FT_OUTCOME_COMPLETED, FT_OUTCOME_FAILED, FT_OUTCOME_FAILED },
                { FT_OUTCOME_CANCELLED, FT_OUTCOME_OUT_OF_MEMORY, FT_OUTCOME_OUT_OF_MEMORY },
                { FT_OUTCOME_UNKNOWN, FT_OUTCOME_UNKNOWN, FT_OUTCOME_UNKNOWN },
                { FT_OUTCOME_PREEMPTED, FT_OUTCOME_FAILED, FT_OUTCOME_PREEMPTED },
                { FT_OUTCOME_NODE_FAIL, FT_OUTCOME_CANCELLED, FT_OUTCOME_NODE_FAIL } };

  (void)state;
  for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
    ft_observation run = make_record(1, 2, 2), other = make_record(1, 1, 2);
    bool swap = i % 2;

    run.outcome = swap ? cases[i / 2].other : cases[i / 2].one;
    other.outcome = swap ? cases[i / 2].one : cases[i / 2].other;
    run.censored = run.outcome != FT_OUTCOME_COMPLETED;
    other.censored = other.outcome != FT_OUTCOME_COMPLETED;
    if (other.outcome == FT_OUTCOME_OUT_OF_MEMORY) {
      other.has_killed_at_bytes = true;
      other.killed_at_bytes = 5;
    }
    ft_observation_add_node(&run, &other);
    assert_int_equal(run.outcome, cases[i / 2].run);
    assert_int_equal(run.censored, cases[i / 2].run != FT_OUTCOME_COMPLETED);
    if (other.has_killed_at_bytes)
      assert_true(run.has_killed_at_bytes && run.killed_at_bytes == 5);
  }
}

static void a_suspended_run_has_no_longer_run_time(void **state)
{
  ft_observation run = make_record(1, 2, 2), other = make_record(1, 1, 2);

  (void)state;
  run.end_time += 100;
  other.end_time += 100;
  ft_observation_add_node(&run, &other);
  assert_near(run.runtime_seconds, 21, 1e-9);
}

static void totals_of_sacct_are_not_added_again(void **state)
{
  ft_observation run = make_record(1, 2, 2), job = make_record(1, 1, 2);

  (void)state;
  job.source = FT_SOURCE_SACCT_TOTAL;
  job.cpu_seconds = 500;
  ft_observation_add_node(&run, &job);
  assert_near(run.cpu_seconds, 12, 1e-12);
}

/* ---- the store ---- */

static void any_order_of_arrival_gives_one_run_and_one_model(void **state)
{
  static const unsigned orders[][3] = { { 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 },
                                        { 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 } };
  static ft_observation first, run, merged;
  static ft_model first_model, model, refined;
  struct ft_error err;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(orders); i++) {
    ft_online_init(&refined, &history, "a", 1000, FT_RULE_RSS);
    for (uint32_t job = 1; job <= 12; job++)
      for (size_t k = 0; k < 3; k++) {
        ft_observation o = make_record(job, orders[(i + job) % 6][k], 3);
        int status = put(&o, &merged);

        /* models learn a run once, when its last node has delivered */
        assert_int_equal(status, k < 2 ? 2 : 0);
        if (status == 0)
          assert_int_equal(ft_online_update(&refined, &history, &merged, &err), 1);
      }
    assert_int_equal(visit(false, &run), 12);
    assert_int_equal(visit(true, NULL), 36);
    assert_int_equal(run.recorded_nodes, 3);
    assert_string_equal(run.node, "n3");
    build(&model);
    assert_int_equal(model.runs, 12);
    assert_memory_equal(&model, &refined, sizeof model);
    if (i == 0) {
      first = run;
      first_model = model;
    }
    assert_memory_equal(&run, &first, sizeof run);
    assert_memory_equal(&model, &first_model, sizeof model);
    remove_store();
    open_store();
  }
}

static void a_node_that_delivers_again_changes_nothing(void **state)
{
  static ft_observation before, after;

  (void)state;
  for (int again = 0; again < 2; again++)
    assert_int_equal(put_node(1, 2, 2), 2);
  assert_int_equal(put_node(1, 1, 2), 0);
  (void)visit(false, &before);
  for (unsigned node = 1; node <= 2; node++)
    assert_int_equal(put_node(1, node, 2), 0);
  assert_int_equal(visit(false, &after), 1);
  assert_memory_equal(&before, &after, sizeof before);
  assert_int_equal(visit(true, NULL), 2);
  assert_int_equal(learnt(), 1);
}

/* Stores the records of COUNT nodes of JOB from FIRST on, of NODES. Returns the processor time in
 * seconds. */
static double put_nodes(uint32_t job, unsigned first, unsigned count, uint32_t nodes)
{
  struct timespec begun, done;
  struct ft_error err = { "" };

  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
  assert_int_equal(ft_store_begin(store, &err), 0);
  for (unsigned node = first; node < first + count; node++)
    assert_int_equal(put_node(job, node, nodes), 2);
  assert_int_equal(ft_store_commit(store, &err), 0);
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &done);
  return (double)(done.tv_sec - begun.tv_sec) + 1e-9 * (double)(done.tv_nsec - begun.tv_nsec);
}

/* The records that a run has are neither read nor counted for the next one: of 4,000 nodes the last
 * ones took 8 times as long as the first. */
static void a_record_costs_the_same_on_any_number_of_nodes(void **state)
{
  enum { NODES = 4000, TOGETHER = 200 };
  double first, last = 0;

  (void)state;
  (void)put_nodes(1, 1, TOGETHER, NODES);
  first = put_nodes(2, 1, TOGETHER, NODES);
  for (unsigned node = 1 + TOGETHER; node + TOGETHER <= NODES; node += TOGETHER)
    last = put_nodes(2, node, TOGETHER, NODES);
  if (last > 3 * first)
    fail_msg("%g ms for the first records, %g for the last", 1e3 * first, 1e3 * last);
}

static void a_restart_and_another_job_are_other_runs(void **state)
{
  ft_observation o = make_record(1, 1, 2);

  (void)state;
  o.outcome = FT_OUTCOME_PREEMPTED;
  o.censored = true;
  assert_int_equal(put(&o, NULL), 2);
  o = make_record(1, 2, 2);
  o.outcome = FT_OUTCOME_PREEMPTED;
  o.censored = true;
  assert_int_equal(put(&o, NULL), 0);
  for (unsigned node = 3; node <= 4; node++) {
    o = make_record(1, node, 2);
    o.restart_count = 1;
    o.submit_time += 30;
    assert_int_equal(put(&o, NULL), node == 3 ? 2 : 0);
  }
  assert_int_equal(put_node(2, 1, 1), 0);
  assert_int_equal(visit(false, NULL), 3);
  assert_int_equal(learnt(), 3);
}

static void a_run_with_lost_nodes_is_learnt_after_a_minute(void **state)
{
  static ft_observation run;
  struct ft_stale_model stale;
  struct ft_error err;

  (void)state;
  assert_int_equal(put_node(1, 1, 3), 2);
  assert_int_equal(put_node(1, 3, 3), 2);
  assert_int_equal(release(30), 0);
  assert_int_equal(learnt(), 0);
  assert_int_equal(visit(false, &run), 1);
  assert_int_equal(run.recorded_nodes, 2);
  assert_int_equal(ft_store_next_stale(store, 0, &stale, &err), 0);
  assert_int_equal(release(90), 0);
  assert_int_equal(ft_store_next_stale(store, 0, &stale, &err), 1);
  assert_string_equal(stale.app, "a");
  assert_int_equal(learnt(), 1);
  (void)visit(false, &run);
  assert_true(run.peak_is_bound); /* the lost node may have used more */
  /* the late node completes the run, which is not counted twice */
  assert_int_equal(put_node(1, 2, 3), 0);
  assert_int_equal(visit(false, &run), 1);
  assert_int_equal(run.recorded_nodes, 3);
  assert_false(run.peak_is_bound);
  assert_near(run.cpu_seconds, 36, 1e-12);
  assert_int_equal(learnt(), 1);
  /* a clock that was ahead does not make a run wait longer */
  assert_int_equal(put_node(2, 1, 3), 2);
  assert_int_equal(release(-7200), 0);
  assert_int_equal(learnt(), 2);
  (void)visit(false, &run);
  assert_true(run.job_id == 2 && run.peak_is_bound);
}

static void a_late_node_replaces_the_run_in_the_model(void **state)
{
  static ft_observation merged;
  static ft_model model;
  struct ft_error err;

  (void)state;
  ft_online_init(&model, &history, "a", 1000, FT_RULE_RSS);
  /* without Slurm the number of nodes is unknown */
  for (unsigned node = 1; node <= 3; node++) {
    ft_observation o = make_record(1, node, 0);

    assert_int_equal(put(&o, &merged), 0);
    assert_int_equal(ft_online_update(&model, &history, &merged, &err), 1);
    assert_int_equal(model.runs, 1);
    assert_near(history.run[0].bytes, 1e8 * node, 1e-12);
  }
}

static void a_record_of_sacct_completes_and_never_waits(void **state)
{
  ft_observation o = make_record(1, 2, 2);
  static ft_observation run;

  (void)state;
  o.source = FT_SOURCE_SACCT;
  assert_int_equal(put(&o, NULL), 0);
  assert_int_equal(put_node(1, 2, 0), 0);
  assert_int_equal(put_node(1, 1, 0), 0);
  assert_int_equal(visit(false, &run), 1);
  assert_int_equal(run.recorded_nodes, 2);
  assert_int_equal(run.allocated_nodes, 2);
}

static void a_record_that_gets_its_submit_time_leaves_no_run_behind(void **state)
{
  (void)state;
  for (unsigned node = 1; node <= 2; node++) {
    ft_observation o = make_record(1, node, 0);

    o.submit_time = 0;
    (void)put(&o, NULL);
  }
  assert_int_equal(visit(false, NULL), 1);
  for (unsigned node = 1; node <= 2; node++)
    (void)put_node(1, node, 0);
  assert_int_equal(visit(false, NULL), 1);
  assert_int_equal(visit(true, NULL), 2);
  assert_int_equal(learnt(), 1);
}

static void a_record_without_a_submit_time_joins_its_run(void **state)
{
  (void)state;
  for (unsigned order = 0; order < 4; order++) {
    for (unsigned i = 0; i < 3; i++) {
      unsigned node = order & 1 ? 3 - i : i + 1;
      ft_observation o = make_record(1, node, order & 2 ? 0 : 3);

      /* the agents of the nodes 1 and 3 had no record of Slurm */
      if (node != 2) {
        o.submit_time = 0;
        o.cluster[0] = '\0';
        o.allocated_nodes = 0;
      }
      (void)put(&o, NULL);
    }
    assert_int_equal(visit(true, NULL), 3);
    assert_int_equal(visit(false, NULL), 1);
    /* a later job of this number is another */
    ft_observation later = make_record(1, 4, 1);

    later.submit_time = 0;
    later.start_time += 1e6;
    later.end_time += 1e6;
    later.outcome = FT_OUTCOME_FAILED;
    (void)put(&later, NULL);
    assert_int_equal(visit(false, NULL), 2);
    remove_store();
    open_store();
  }
}

static void records_without_a_job_are_never_grouped(void **state)
{
  (void)state;
  for (unsigned node = 1; node <= 2; node++)
    assert_int_equal(put_node(0, node, 2), 0);
  assert_int_equal(visit(false, NULL), 2);
  assert_int_equal(learnt(), 2);
}

static bool keep_app(const struct ft_store_app *app, void *data)
{
  *(struct ft_store_app *)data = *app;
  return true;
}

static void the_summary_of_an_app_counts_runs(void **state)
{
  struct ft_store_app app = { .runs = 0 };
  struct ft_error err;

  (void)state;
  for (uint32_t job = 1; job <= 2; job++)
    for (unsigned node = 1; node <= job + 1; node++)
      (void)put_node(job, node, job + 1);
  assert_int_equal(ft_store_each_app(store, keep_app, &app, &err), 0);
  assert_int_equal(app.runs, 2);
  assert_int_equal(app.completed, 2);
  /* the peak of a run is that of its largest node */
  assert_near(app.min_bytes, 2e8, 1e-12);
  assert_near(app.max_bytes, 3e8, 1e-12);
}

/* ---- removal ---- */

static void runs_are_removed_with_all_their_nodes(void **state)
{
  const ft_forget what = { .job_id = 2 };
  struct ft_expiry limits = { .max_apps = 1 };
  struct ft_forget_pass pass;
  struct ft_error err;

  (void)state;
  for (uint32_t job = 1; job <= 4; job++)
    for (unsigned node = 1; node <= 3; node++)
      (void)put_node(job, node, 3);
  /* forget */
  assert_int_equal(ft_store_forget_begin(store, &what, ft_io_now(), &pass, &err), 0);
  while (ft_store_forget_step(store, &pass, &err) > 0)
    ;
  assert_int_equal(pass.runs, 1);
  ft_forget_pass_free(&pass);
  assert_int_equal(query("SELECT COUNT(*) FROM observation"), 9);
  assert_int_equal(put_node(2, 1, 3), 1);
  /* the newest two runs stay */
  while (ft_store_trim(store, 2, &err) > 0)
    ;
  assert_int_equal(visit(false, NULL), 2);
  assert_int_equal(query("SELECT COUNT(*) FROM observation"), 6);
  /* an app that is no longer among the user's most recent ones */
  sql("UPDATE observation SET app = 'b' WHERE job_id = 4");
  sql("INSERT INTO app VALUES (1000, 'b', 2e9)");
  assert_int_equal(ft_store_expire_begin(store, &limits, ft_io_now(), &err), 0);
  while (ft_store_expire_step(store, &limits, &err) > 0)
    ;
  assert_int_equal(limits.runs, 1);
  assert_int_equal(query("SELECT COUNT(*) FROM observation"), 3);
  /* age: the records of one run are removed with the oldest */
  limits = (struct ft_expiry){ .max_age_seconds = 86400 };
  sql("UPDATE observation SET put_time = 1e9, end_time = 1e9 WHERE node = 'n1'");
  assert_int_equal(ft_store_expire_begin(store, &limits, ft_io_now(), &err), 0);
  while (ft_store_expire_step(store, &limits, &err) > 0)
    ;
  assert_int_equal(limits.runs, 1);
  assert_int_equal(query("SELECT COUNT(*) FROM observation"), 0);
}

static int count_record(const ft_observation *record, void *data, struct ft_error *err)
{
  (void)record;
  (void)err;
  ++*(int *)data;
  return 0;
}

static void forgetting_counts_runs_and_announces_each_record(void **state)
{
  ft_forget what = { .app = "a", .dry_run = true };
  struct ft_forget_pass pass;
  struct ft_error err;
  int announced = 0;

  (void)state;
  for (uint32_t job = 1; job <= 2; job++)
    for (unsigned node = 1; node <= 3; node++) {
      ft_observation o = make_record(job, node, 3);

      o.submission.has_decision = job == 2;
      o.submission.decision.mode = FT_MODE_FORCE;
      o.submission.decision.overrode = true;
      (void)put(&o, NULL);
    }
  for (int dry = 1; dry >= 0; dry--) {
    what.dry_run = dry;
    assert_int_equal(ft_store_forget_begin(store, &what, ft_io_now(), &pass, &err), 0);
    pass.before_removal = count_record;
    pass.data = &announced;
    while (ft_store_forget_step(store, &pass, &err) > 0)
      ;
    assert_int_equal(pass.runs, 1);
    assert_int_equal(pass.stripped, 1);
    ft_forget_pass_free(&pass);
  }
  assert_int_equal(announced, 6);
  /* of the run that overrode the policy one row stays */
  assert_int_equal(query("SELECT COUNT(*) FROM observation"), 1);
  assert_int_equal(query("SELECT COUNT(*) FROM observation WHERE app > '' OR rss_bytes > 0"), 0);
}

/* ---- older stores ---- */

static void records_of_an_older_store_become_runs(void **state)
{
  static ft_observation run;
  struct ft_stale_model stale;
  struct ft_error err;

  (void)state;
  for (unsigned node = 1; node <= 3; node++)
    (void)put_node(1, node, 0);
  (void)put_node(2, 1, 0);
  ft_store_close(store);
  store = NULL;
  sql(SQL_TO_SCHEMA_10 "DELETE FROM changed");
  open_store();
  assert_int_equal(visit(true, NULL), 4);
  assert_int_equal(visit(false, &run), 2);
  assert_int_equal(learnt(), 2);
  assert_int_equal(query("SELECT records FROM observation WHERE job_id = 1 AND node = 'n3'"), 3);
  assert_int_equal(query("SELECT COUNT(*) FROM observation WHERE records = 0"), 2);
  assert_int_equal(query("SELECT COUNT(*) FROM observation WHERE records IS NULL"), 1);
  /* models are rebuilt, because they identified runs by node */
  assert_int_equal(ft_store_set_rule(store, FT_RULE_RSS, &err), 1);
  assert_int_equal(ft_store_next_stale(store, 0, &stale, &err), 1);
  assert_string_equal(stale.app, "a");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
    TEST(the_largest_node_gives_the_peak_and_totals_are_sums),
    TEST(energy_of_packages_is_the_sum_and_its_share_the_jobs_part),
    TEST(the_worst_known_outcome_is_the_runs),
    TEST(a_suspended_run_has_no_longer_run_time),
    TEST(totals_of_sacct_are_not_added_again),
    TEST(any_order_of_arrival_gives_one_run_and_one_model),
    TEST(a_node_that_delivers_again_changes_nothing),
    TEST(a_record_costs_the_same_on_any_number_of_nodes),
    TEST(a_restart_and_another_job_are_other_runs),
    TEST(a_run_with_lost_nodes_is_learnt_after_a_minute),
    TEST(a_late_node_replaces_the_run_in_the_model),
    TEST(a_record_of_sacct_completes_and_never_waits),
    TEST(a_record_that_gets_its_submit_time_leaves_no_run_behind),
    TEST(a_record_without_a_submit_time_joins_its_run),
    TEST(records_without_a_job_are_never_grouped),
    TEST(the_summary_of_an_app_counts_runs),
    TEST(runs_are_removed_with_all_their_nodes),
    TEST(forgetting_counts_runs_and_announces_each_record),
    TEST(records_of_an_older_store_become_runs)
  };

  return cmocka_run_group_tests_name("run_nodes", tests, NULL, NULL);
}
