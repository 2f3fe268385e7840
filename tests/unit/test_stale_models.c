/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/sql.h"
#include "tests/unit/unit.h"

#include <unistd.h>

#include "predictor/history/expire.h"
#include "predictor/history/stale_models.h"
#include "predictor/rebuild/rebuild.h"

static char folder[64], path[96];
static struct ft_store *store;

static int set_up(void **state)
{
  struct ft_error err;

  (void)state;
  (void)snprintf(folder, sizeof folder, "/tmp/foretell-test-XXXXXX");
  if (!mkdtemp(folder))
    return -1;
  (void)snprintf(path, sizeof path, "%s/store.db", folder);
  store = ft_store_open(path, true, &err);
  return store ? 0 : -1;
}

static int tear_down(void **state)
{
  (void)state;
  ft_store_close(store);
  (void)unlink(path);
  return rmdir(folder);
}

static void reopen(void)
{
  struct ft_error err = { "" };

  ft_store_close(store);
  store = ft_store_open(path, true, &err);
  if (!store)
    fail_msg("%s", err.text);
}

static void put(uint32_t job, const char *app, double end)
{
  ft_observation o = { .schema = FT_SCHEMA,
                       .job_id = job,
                       .uid = 1000,
                       .end_time = end,
                       .outcome = FT_OUTCOME_COMPLETED,
                       .rss_bytes = 1000000 + job % 7 };
  struct ft_error err = { "" };

  o.has_rss_bytes = true;
  (void)snprintf(o.submission.app, sizeof o.submission.app, "%s", app);
  if (ft_store_put(store, &o, NULL, &err) < 0)
    fail_msg("%s", err.text);
}

static void mark(const char *app)
{
  struct ft_error err = { "" };

  if (ft_store_mark_stale(store, 1000, app, NULL, &err) < 0)
    fail_msg("%s", err.text);
}

/* Returns the app of the next change after *NUMBER and stores its number there; "": none. */
static const char *next(int64_t *number)
{
  static struct ft_stale_model change;
  struct ft_error err = { "" };
  int status = ft_store_next_stale(store, *number, &change, &err);

  if (status < 0)
    fail_msg("%s", err.text);
  if (!status)
    return "";
  assert_true(change.number > *number);
  assert_int_equal(change.uid, 1000);
  *number = change.number;
  return change.app;
}

static void a_waiting_mark_keeps_its_position(void **state)
{
  int64_t at = 0, number = -1;
  struct ft_error err;

  (void)state;
  mark("a");
  mark("b");
  assert_int_equal(ft_store_mark_stale_after(store, 1000, "a", 0, &number, &err), 0);
  assert_int_equal(number, 0);
  assert_string_equal(next(&at), "a");
  assert_int_equal(ft_store_mark_stale_after(store, 1000, "a", at, &number, &err), 0);
  assert_true(number > at);
  assert_string_equal(next(&at), "b");
  assert_string_equal(next(&at), "a");
  assert_int_equal(at, number);
  assert_string_equal(next(&at), "");
  assert_int_equal(ft_store_mark_stale_after(store, 1000, "", 0, &number, &err), 0);
  assert_int_equal(number, 0);
}

static void marks_come_in_order_and_once(void **state)
{
  int64_t at = 0, first;

  (void)state;
  assert_string_equal(next(&at), "");
  mark("a");
  mark("");
  mark("b");
  mark("b");
  mark("a");
  assert_string_equal(next(&at), "b");
  first = at;
  assert_string_equal(next(&at), "a");
  assert_string_equal(next(&at), "");
  /* a repeated mark is delivered again, even if the file was closed in between */
  reopen();
  mark("a");
  assert_string_equal(next(&at), "a");
  assert_string_equal(next(&at), "");
  assert_string_equal(next(&first), "a");
}

static void marks_are_part_of_the_transaction(void **state)
{
  struct ft_error err;
  int64_t at = 0;

  (void)state;
  assert_int_equal(ft_store_begin(store, &err), 0);
  put(1, "a", 1);
  mark("a");
  reopen();
  assert_string_equal(next(&at), "");
  assert_int_equal(ft_store_begin(store, &err), 0);
  mark("a");
  assert_int_equal(ft_store_commit(store, &err), 0);
  assert_string_equal(next(&at), "a");
}

static void a_run_that_moves_to_another_app_marks_the_first(void **state)
{
  int64_t at = 0;

  (void)state;
  put(1, "alice/train", 1);
  put(1, "alice/train", 2);
  assert_string_equal(next(&at), "");
  put(1, "unet3d", 2);
  assert_string_equal(next(&at), "alice/train");
  assert_string_equal(next(&at), "");
}

static unsigned runs_of(uint32_t uid, const char *app)
{
  ft_model *model = malloc(sizeof *model);
  struct ft_error err;
  unsigned runs;

  assert_non_null(model);
  assert_int_equal(ft_rebuild_model(store, uid, app, FT_RULE_RSS, model, &err), 0);
  runs = model->runs;
  free(model);
  return runs;
}

static void a_renamed_app_takes_its_runs_along(void **state)
{
  struct ft_error err;
  uint32_t uid = 0;
  int64_t at = 0;

  (void)state;
  put(1, "job.sh-1", 1);
  put(2, "job.sh-1", 2);
  put(3, "train.py-2", 3);
  put(4, "other", 4);
  assert_int_equal(ft_store_rename_app(store, 1000 + 1, "job.sh-1", "train.py-2", &err), 0);
  assert_int_equal(ft_store_rename_app(store, 1000, "none", "train.py-2", &err), 0);
  assert_int_equal(ft_store_rename_app(store, 1000, "other", "other", &err), 0);
  assert_int_equal(ft_store_rename_app(store, 1000, "other", "", &err), 0);
  assert_int_equal(ft_store_rename_app(store, 1000, "", "other", &err), 0);
  assert_string_equal(next(&at), "");
  assert_int_equal(ft_store_rename_app(store, 1000, "job.sh-1", "train.py-2", &err), 1);
  reopen();
  assert_int_equal(ft_store_next_cleanup_user(store, &uid, &err), 1);
  assert_int_equal(uid, 1000);
  assert_int_equal(runs_of(1000, "job.sh-1"), 0);
  assert_int_equal(runs_of(1000, "train.py-2"), 3);
  assert_int_equal(runs_of(1000, "other"), 1);
  assert_string_equal(next(&at), "job.sh-1");
  assert_string_equal(next(&at), "train.py-2");
  assert_string_equal(next(&at), "");
  assert_int_equal(ft_store_rename_app(store, 1000, "job.sh-1", "train.py-2", &err), 0);
  assert_string_equal(next(&at), "");
}

static void published_marks_are_recorded(void **state)
{
  struct ft_error err;
  int64_t number = 1;

  (void)state;
  assert_int_equal(ft_store_published(store, &number, &err), 0);
  assert_int_equal(number, 0);
  assert_int_equal(ft_store_set_published(store, INT64_MAX, &err), 0);
  reopen();
  assert_int_equal(ft_store_published(store, &number, &err), 0);
  assert_true(number == INT64_MAX);
}

static void a_new_accounting_rule_marks_every_app_once(void **state)
{
  struct ft_error err;
  int64_t at = 0;

  (void)state;
  put(1, "a", 1);
  put(2, "b", 2);
  put(3, "a", 3);
  put(4, "", 4);
  assert_int_equal(ft_store_set_rule(store, FT_RULE_RSS, &err), 1);
  assert_string_equal(next(&at), "a");
  assert_string_equal(next(&at), "b");
  assert_string_equal(next(&at), "");
  reopen();
  assert_int_equal(ft_store_set_rule(store, FT_RULE_RSS, &err), 0);
  assert_string_equal(next(&at), "");
  assert_int_equal(ft_store_set_rule(store, FT_RULE_CGROUP, &err), 1);
  assert_string_equal(next(&at), "a");
}

static void sql(const char *text)
{
  sql_run(path, text);
}

static void a_store_of_schema_1_is_upgraded(void **state)
{
  struct ft_error err;
  int64_t at = 0;

  (void)state;
  put(1, "a", 1);
  ft_store_close(store);
  sql(SQL_TO_SCHEMA_1);
  assert_null(ft_store_open(path, false, &err));
  assert_non_null(strstr(err.text, "older schema"));
  store = ft_store_open(path, true, &err);
  assert_non_null(store);
  /* the content of its published models is unknown */
  assert_int_equal(ft_store_set_rule(store, FT_RULE_RSS, &err), 1);
  assert_string_equal(next(&at), "a");
}

static void another_writer_is_waited_for_up_to_the_limit(void **state)
{
  struct ft_error err;
  struct ft_store *other = ft_store_open(path, true, &err);

  (void)state;
  assert_non_null(other);
  assert_int_equal(ft_store_begin(other, &err), 0);
  ft_store_set_wait(store, 1);
  assert_int_equal(ft_store_set_published(store, 1, &err), -1);
  assert_non_null(strstr(err.text, "locked by another process"));
  assert_int_equal(ft_store_set_rule(store, FT_RULE_PSS, &err), -1);
  assert_int_equal(ft_store_commit(other, &err), 0);
  assert_int_equal(ft_store_set_published(store, 1, &err), 0);
  assert_int_equal(ft_store_set_rule(store, FT_RULE_PSS, &err), 1);
  ft_store_close(other);
}

static void a_new_failure_cost_marks_every_app_once(void **state)
{
  struct ft_error err;

  (void)state;
  put(1, "a", 1);
  assert_int_equal(ft_store_set_failure_cost(store, 1, &err), 0);
  assert_int_equal(ft_store_set_failure_cost(store, 4, &err), 1);
  assert_int_equal(ft_store_set_failure_cost(store, 4, &err), 0);
  assert_int_equal(ft_store_set_failure_cost(store, 1, &err), 1);
}

static void a_new_format_of_model_files_marks_every_app_once(void **state)
{
  struct ft_error err;

  (void)state;
  put(1, "a", 1);
  assert_int_equal(ft_store_set_model_format(store, 2, &err), 1);
  assert_int_equal(ft_store_set_model_format(store, 2, &err), 0);
  assert_int_equal(ft_store_set_model_format(store, 3, &err), 1);
}

static void a_model_made_in_steps_is_the_same(void **state)
{
  static const unsigned runs[] = { 1, 7, 60, 1000 };
  struct ft_rebuild *rebuild = malloc(sizeof *rebuild);
  ft_model *whole = malloc(sizeof *whole);
  struct ft_error err;

  (void)state;
  assert_non_null(rebuild);
  assert_non_null(whole);
  /* many with equal times, unordered */
  for (uint32_t job = 60; job > 0; job--)
    put(job, "a", 10 - job % 3);
  put(61, "b", 1);
  assert_int_equal(ft_rebuild_model(store, 1000, "a", FT_RULE_RSS, whole, &err), 0);
  assert_int_equal(whole->runs, 60);
  for (size_t i = 0; i < COUNT_OF(runs); i++) {
    unsigned steps = 1;
    int status;

    ft_rebuild_init(rebuild, 1000, "a", FT_RULE_RSS);
    while ((status = ft_rebuild_step(rebuild, store, runs[i], &err)) == 0)
      steps++;
    assert_int_equal(status, 1);
    assert_int_equal(steps, 60 / runs[i] + 1);
    assert_int_equal(rebuild->models.model.runs, whole->runs);
    assert_int_equal(rebuild->models.history.count, 60);
    for (size_t r = 1; r < 60; r++)
      assert_true(rebuild->models.history.run[r].time >= rebuild->models.history.run[r - 1].time);
    assert_memory_equal(&rebuild->models.model.evaluator, &whole->evaluator,
                        sizeof whole->evaluator);
  }
  free(whole);
  free(rebuild);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = { TEST(a_waiting_mark_keeps_its_position),
                                      TEST(marks_come_in_order_and_once),
                                      TEST(marks_are_part_of_the_transaction),
                                      TEST(a_run_that_moves_to_another_app_marks_the_first),
                                      TEST(a_renamed_app_takes_its_runs_along),
                                      TEST(published_marks_are_recorded),
                                      TEST(a_new_accounting_rule_marks_every_app_once),
                                      TEST(a_new_failure_cost_marks_every_app_once),
                                      TEST(a_new_format_of_model_files_marks_every_app_once),
                                      TEST(a_store_of_schema_1_is_upgraded),
                                      TEST(another_writer_is_waited_for_up_to_the_limit),
                                      TEST(a_model_made_in_steps_is_the_same) };

  return cmocka_run_group_tests_name("changes", tests, NULL, NULL);
}
