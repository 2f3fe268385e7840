/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries of the records that runs wait for, with a stand-in for Slurm. */
#include "config.h"

#include "tests/unit/scratch.h"
#include "tests/unit/sql.h"

#include <inttypes.h>

#include "daemon/loop.h"
#include "learner/cluster/joiner.h"
#include "predictor/core/io.h"
#include "predictor/history/waiting.h"

enum { JOBS = 600 };

static struct ft_loop *loop;
static struct ft_joiner *joiner;
static struct ft_store *store;
static uint32_t queried[8 * JOBS];
static size_t query_count, largest_query, joined;
static const struct ft_slurm_reply silence, gone = { .gone = true };

/* ---- stand-ins ---- */

struct ft_store *ft_recorder_store(struct ft_recorder *recorder, struct ft_error *err)
{
  (void)recorder;
  (void)err;
  return store;
}

int ft_slurm_query_submit(struct ft_slurm_query *query, const uint32_t *job_id, size_t count)
{
  (void)query;
  assert_true(query_count + count <= COUNT_OF(queried));
  memcpy(queried + query_count, job_id, count * sizeof *job_id);
  query_count += count;
  largest_query = count > largest_query ? count : largest_query;
  return 0;
}

static int begin_transaction(void *data, struct ft_error *err)
{
  (void)data;
  return ft_store_begin(store, err);
}

static int end_transaction(bool commit, void *data, struct ft_error *err)
{
  (void)data;
  if (commit)
    return ft_store_commit(store, err);
  ft_store_rollback(store);
  return 0;
}

static int put(ft_observation *run, void *data, struct ft_error *err)
{
  (void)data;
  joined++;
  return ft_store_put(store, run, NULL, err) < 0 ? -1 : 0;
}

static void refuse(const struct ft_error *why, void *data)
{
  (void)data;
  fail_msg("%s", why->text);
}

static void open_joiner(void)
{
  joiner = ft_joiner_open(&(struct ft_joiner_settings){ .loop = loop,
                                                        .begin = begin_transaction,
                                                        .end = end_transaction,
                                                        .store = put,
                                                        .refuse = refuse });
  assert_non_null(joiner);
}

/* Replies about JOB_ID: jobs with even IDs have completed, the others have no record. */
static void reply_about(uint32_t job_id)
{
  static const ft_slurm_job record = { .final = true, .outcome = FT_OUTCOME_COMPLETED };

  ft_joiner_replied(joiner, job_id,
                    job_id % 2 ? &gone : &(struct ft_slurm_reply){ .record = &record });
}

/* ---- tests ---- */

static void stop_loop(void *data)
{
  ft_loop_stop(data);
}

static void run_loop(double seconds)
{
  struct ft_timer timer = { .fire = stop_loop, .data = loop };
  struct ft_error err;

  ft_loop_at(loop, &timer, ft_io_monotonic() + seconds);
  assert_int_equal(ft_loop_run(loop, &err), 0);
}

/* Waits until COUNT jobs have been queried. */
static void await_queries(size_t count)
{
  for (int i = 0; i < 6000 && query_count < count; i++)
    run_loop(0.01);
  assert_true(query_count >= count);
}

static void add_runs(uint32_t first, uint32_t count)
{
  struct ft_error err;

  assert_int_equal(ft_store_begin(store, &err), 0);
  for (uint32_t i = 0; i < count; i++) {
    ft_observation run = {
      .schema = FT_SCHEMA, .job_id = first + i, .node = "n1", .end_time = ft_io_now()
    };

    assert_int_equal(ft_store_wait(store, &run, &err), 0);
  }
  assert_int_equal(ft_store_commit(store, &err), 0);
}

static char folder[SCRATCH_SIZE], store_path[200];

static int begin(void **state)
{
  static const int no_signals[] = { 0 };
  struct ft_error err;

  (void)state;
  (void)close(scratch_open(folder));
  (void)snprintf(store_path, sizeof store_path, "%s/store.db", folder);
  store = ft_store_open(store_path, true, &err);
  loop = ft_loop_open(no_signals, &err);
  query_count = largest_query = joined = 0;
  return store && loop ? 0 : -1;
}

static int end(void **state)
{
  (void)state;
  ft_joiner_close(joiner);
  ft_loop_close(loop);
  ft_store_close(store);
  return scratch_remove(folder);
}

static void every_waiting_job_is_queried_in_parts(void **state)
{
  size_t replied = 0;

  (void)state;
  add_runs(1, JOBS);
  open_joiner();
  /* of an earlier process: one query at a time, which all wait for */
  await_queries(1);
  while (replied < JOBS) {
    size_t end = query_count;

    assert_true(end - replied <= 256);
    while (replied < end)
      ft_joiner_replied(joiner, queried[replied++], &silence);
    assert_int_equal(joined, 0);
    await_queries(replied < JOBS ? replied + 1 : replied);
  }
  assert_true(largest_query <= 256);
  /* Slurm replies again: all that wait are due at once, whatever their pause */
  query_count = replied = 0;
  ft_joiner_replied(joiner, 1 << 20, &gone);
  while (replied < JOBS) {
    await_queries(replied + 1);
    while (replied < query_count)
      reply_about(queried[replied++]);
  }
  assert_int_equal(joined, JOBS / 2);
}

/* What Slurm has replied may be the record of the attempt before. */
static void a_run_that_comes_during_a_query_waits_for_the_next(void **state)
{
  ft_observation later = { .schema = FT_SCHEMA, .job_id = 2, .node = "n1", .start_time = 100 };
  struct ft_error err;

  (void)state;
  add_runs(2, 1);
  open_joiner();
  await_queries(1);
  assert_int_equal(ft_store_wait(store, &later, &err), 0);
  ft_joiner_query_soon(joiner);
  reply_about(2);
  assert_int_equal(joined, 1);
  await_queries(2);
  reply_about(2);
  assert_int_equal(joined, 2);
  /* closed with a reply and without one */
  add_runs(3, 2);
  ft_joiner_query_soon(joiner);
  await_queries(4);
  reply_about(4);
}

/* ---- the attempts of a job of two nodes, which Slurm requeues ---- */

/* What scontrol prints of the job, in this order. Of an attempt that ends it prints the nodes that
 * have not finished. */
static const struct record {
  double submit_time, start_time;
  uint32_t restart_count;
  bool ending, final;
  const char *nodes;
} phases[] = {
  { 5000, 5010, 0, true, false, "n2" },     { 5000, 5010, 1, true, false, "n1" },
  { 5000, 5101, 1, true, false, "n2" },     { 5102, 5222, 1, false, false, "(null)" },
  { 5102, 0, 1, false, false, "(null)" },   { 5102, 5230, 1, false, false, "n[1-2]" },
  { 5102, 5230, 1, true, false, "n2" },     { 5102, 5230, 1, true, false, "n1" },
  { 5102, 5230, 1, false, true, "n[1-2]" },
};

enum {
  PHASES = COUNT_OF(phases),
  SECOND_ENDS = 6, /* the phase in which the second attempt ends */
  SECOND_PHASES = PHASES - SECOND_ENDS,
  REQUEUED_JOBS = PHASES * PHASES * SECOND_PHASES * SECOND_PHASES
};

/* Adds the runs of job I that its nodes send in PHASE. The batch script is on n1, so that n2 does
 * not know the outcome. Each other job's script catches the SIGTERM of the first attempt. */
static void add_attempts(uint32_t i, uint32_t phase)
{
  const uint32_t sent[] = { i % PHASES, i / PHASES % PHASES,
                            SECOND_ENDS + i / PHASES / PHASES % SECOND_PHASES,
                            SECOND_ENDS + i / PHASES / PHASES / SECOND_PHASES };

  for (size_t part = 0; part < COUNT_OF(sent); part++) {
    bool second = part >= 2, on_n2 = part % 2, catches = i % 2 && !on_n2;
    ft_observation run = { .schema = FT_SCHEMA,
                           .job_id = 1 + i,
                           .source = FT_SOURCE_AGENT,
                           .uid = 1000,
                           .node = "n1",
                           .restart_count = second,
                           .start_time = second ? 5230.5 : 5010.5,
                           .end_time = second ? 5240.5 : 5100.5,
                           .runtime_seconds = second ? 10 : 90,
                           .outcome = second    ? FT_OUTCOME_COMPLETED
                                      : catches ? FT_OUTCOME_FAILED
                                                : FT_OUTCOME_UNKNOWN,
                           .censored = !second,
                           .unsettled = on_n2 || (!second && !catches) };
    struct ft_error err;

    run.node[1] = on_n2 ? '2' : '1';
    if (sent[part] == phase)
      assert_int_equal(ft_store_wait(store, &run, &err), 0);
  }
}

/* Slurm replies with RECORD about every job of which runs wait. */
static void reply_all(const struct record *record)
{
  const ft_slurm_job job = { .uid = 1000,
                             .submit_time = record->submit_time,
                             .start_time = record->start_time,
                             .restart_count = record->restart_count,
                             .ending = record->ending,
                             .final = record->final,
                             .outcome = FT_OUTCOME_COMPLETED,
                             .nodes = 2 };
  const struct ft_slurm_reply reply = { .record = &job, .nodes = ft_text_from(record->nodes) };
  size_t left = (size_t)sql_number(store_path, "SELECT count(DISTINCT job_id) FROM waiting");
  bool answered[REQUEUED_JOBS + 1] = { false };
  size_t replied = 0;

  query_count = 0;
  ft_joiner_replied(joiner, 1 << 20, &silence);
  ft_joiner_replied(joiner, 1 << 20, &gone);
  while (left) {
    await_queries(replied + 1);
    for (; replied < query_count; replied++) {
      left -= !answered[queried[replied]];
      answered[queried[replied]] = true;
      ft_joiner_replied(joiner, queried[replied], &reply);
    }
  }
}

static void each_attempt_is_one_run_whenever_its_nodes_send_it(void **state)
{
  static const struct {
    const char *what;
    int64_t expected;
  } counts[] = {
    { "FROM waiting", 0 },
    { "FROM observation", 4 * REQUEUED_JOBS },
    { "FROM (SELECT DISTINCT job_id, restart_count, submit_time FROM observation)",
      2 * REQUEUED_JOBS },
    { "FROM observation WHERE restart_count = 0 AND outcome IN ('requeued', 'failed') AND censored",
      2 * REQUEUED_JOBS },
    { "FROM observation WHERE restart_count = 1 AND outcome = 'completed' AND NOT censored"
      " AND submit_time = 5102",
      2 * REQUEUED_JOBS },
  };
  struct ft_error err;

  (void)state;
  open_joiner();
  for (uint32_t phase = 0; phase < PHASES; phase++) {
    assert_int_equal(ft_store_begin(store, &err), 0);
    for (uint32_t i = 0; i < REQUEUED_JOBS; i++)
      add_attempts(i, phase);
    assert_int_equal(ft_store_commit(store, &err), 0);
    reply_all(&phases[phase]);
  }
  for (size_t i = 0; i < COUNT_OF(counts); i++) {
    char sql[256];

    (void)snprintf(sql, sizeof sql, "SELECT count(*) %s", counts[i].what);
    if (sql_number(store_path, sql) != counts[i].expected)
      fail_msg("%s: %" PRId64 ", expected %" PRId64, sql, sql_number(store_path, sql),
               counts[i].expected);
  }
}

static void a_run_is_queried_less_often_the_longer_it_waits(void **state)
{
  double age = 0;
  int queries = 0;

  (void)state;
  for (; age < 86400; queries++) {
    double next = ft_joiner_next_age(age);

    assert_true(next > age && next - age <= 512);
    age = next;
  }
  assert_true(queries > 100 && queries < 200);
  assert_true(ft_joiner_next_age(0.2) == 1 && ft_joiner_next_age(1) == 2 &&
              ft_joiner_next_age(5) == 8 && ft_joiner_next_age(512) == 1024);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(every_waiting_job_is_queried_in_parts, begin, end),
    cmocka_unit_test_setup_teardown(a_run_that_comes_during_a_query_waits_for_the_next, begin, end),
    cmocka_unit_test_setup_teardown(each_attempt_is_one_run_whenever_its_nodes_send_it, begin, end),
    cmocka_unit_test(a_run_is_queried_less_often_the_longer_it_waits),
  };

  return cmocka_run_group_tests_name("joiner", tests, NULL, NULL);
}
