/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries of the records that runs wait for, with a stand-in for Slurm. */
#include "config.h"

#include "tests/unit/scratch.h"

#include "daemon/loop.h"
#include "learner/cluster/joiner.h"
#include "predictor/core/io.h"
#include "predictor/history/waiting.h"

enum { JOBS = 600 };

static struct ft_loop *loop;
static struct ft_joiner *joiner;
static struct ft_store *store;
static uint32_t queried[4 * JOBS];
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

/* The record of each job with an even ID completes its run. */
static void join(struct ft_join_cursor *at, void *data)
{
  ft_observation run = { .schema = FT_SCHEMA };
  struct ft_error err;

  (void)data;
  at->run = &run;
  while (ft_join_next(NULL, at, &err) > 0) {
    assert_non_null(at->job->known);
    if (run.job_id % 2 == 0)
      assert_int_equal(ft_store_end_wait(store, &run, &err), 0);
    joined++;
  }
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
    ft_observation run = { .schema = FT_SCHEMA, .job_id = first + i, .node = "n1" };

    assert_int_equal(ft_store_wait(store, &run, &err), 0);
  }
  assert_int_equal(ft_store_commit(store, &err), 0);
}

static char folder[SCRATCH_SIZE];

static int begin(void **state)
{
  static const int no_signals[] = { 0 };
  struct ft_error err;
  char path[200];

  (void)state;
  (void)close(scratch_open(folder));
  (void)snprintf(path, sizeof path, "%s/store.db", folder);
  store = ft_store_open(path, true, &err);
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
  joiner = ft_joiner_open(loop, NULL, NULL, join, NULL);
  assert_non_null(joiner);
  /* of an earlier process: one query at a time, which all wait for */
  await_queries(1);
  while (replied < JOBS) {
    size_t end = query_count;

    assert_true(end - replied <= 256);
    while (replied < end)
      ft_joiner_replied(joiner, queried[replied++], &silence);
    assert_int_equal(joined, end);
    await_queries(replied < JOBS ? replied + 1 : replied);
  }
  assert_true(largest_query <= 256);
  /* Slurm replies again: all that wait are due at once, whatever their pause */
  query_count = joined = replied = 0;
  ft_joiner_replied(joiner, 1 << 20, &gone);
  await_queries(1);
  while (replied < query_count) {
    ft_joiner_replied(joiner, queried[replied++], &gone);
    if (replied == query_count && joined < JOBS / 2)
      await_queries(replied + 1);
  }
  assert_int_equal(joined, JOBS / 2);
  for (size_t i = 0; i < query_count; i++)
    assert_int_equal(queried[i] % 2, 1);
}

/* What Slurm has replied may be the record of the attempt before. */
static void a_run_that_comes_during_a_query_waits_for_the_next(void **state)
{
  ft_observation later = { .schema = FT_SCHEMA, .job_id = 2, .node = "n1", .start_time = 100 };
  struct ft_error err;

  (void)state;
  add_runs(2, 1);
  joiner = ft_joiner_open(loop, NULL, NULL, join, NULL);
  assert_non_null(joiner);
  await_queries(1);
  assert_int_equal(ft_store_wait(store, &later, &err), 0);
  ft_joiner_query_soon(joiner);
  ft_joiner_replied(joiner, 2, &gone);
  assert_int_equal(joined, 1);
  await_queries(2);
  ft_joiner_replied(joiner, 2, &gone);
  assert_int_equal(joined, 2);
  /* closed with a reply and without one */
  add_runs(3, 2);
  ft_joiner_query_soon(joiner);
  await_queries(4);
  ft_joiner_replied(joiner, 4, &gone);
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
    cmocka_unit_test(a_run_is_queried_less_often_the_longer_it_waits),
  };

  return cmocka_run_group_tests_name("joiner", tests, NULL, NULL);
}
