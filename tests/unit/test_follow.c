/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/follow.h"
#include "agent/ledger.h"
#include "predictor/history/changes.h"
#include "predictor/record/layout.h"
#include "tests/unit/fixture.h"

static char folder[SCRATCH_SIZE];
static int state_fd;
static struct ft_store *store;
static struct ft_publisher *publisher;
static struct ft_follow *follow;

static int set_up(void **state)
{
  struct ft_error err;
  char path[96];

  (void)state;
  state_fd = scratch_open(folder);
  (void)snprintf(path, sizeof path, "%s/store.db", folder);
  store = ft_store_open(path, true, &err);
  publisher = ft_publisher_open(state_fd, &err);
  follow = ft_follow_open(publisher);
  if (!store || !publisher || !follow)
    return -1;
  ft_follow_set_rule(follow, FT_RULE_RSS);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  ft_follow_close(follow);
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
      ft_store_mark(store, o.uid, o.submission.app, NULL, &err) < 0)
    fail_msg("%s", err.text);
  return o;
}

/* How many runs APP's published model knows; 0: there is none. */
static unsigned published(const char *app)
{
  ft_model *model = malloc(sizeof *model);
  struct ft_error err;
  unsigned runs = 0;

  assert_non_null(model);
  if (ft_layout_read_model(state_fd, (uint32_t)geteuid(), app, model, &err) == 0)
    runs = model->runs;
  free(model);
  return runs;
}

static unsigned steps(void)
{
  unsigned count = 1;

  for (; ft_follow_step(follow, store); count++)
    assert_true(count < 100000);
  return count;
}

static void marked_apps_are_published_and_only_they(void **state)
{
  struct stat before, after;
  char name[FT_LAYOUT_NAME_SIZE], path[256];

  (void)state;
  assert_int_equal(steps(), 1);
  put(1, "a", 1);
  put(2, "b", 2);
  (void)steps();
  assert_int_equal(published("a"), 1);
  assert_int_equal(published("b"), 1);
  ft_layout_model_name("a", name);
  (void)snprintf(path, sizeof path, "%s/models/%u/%s", folder, (unsigned)geteuid(), name);
  assert_int_equal(stat(path, &before), 0);
  put(3, "b", 3);
  assert_int_equal(steps(), 2);
  assert_int_equal(published("b"), 2);
  assert_int_equal(stat(path, &after), 0);
  assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof before.st_mtim);
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

/* By the first run that tells of the former name; once more changes nothing. */
static void a_run_links_its_apps_former_names(void **state)
{
  struct ft_ledger *ledger;
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
  ledger = ft_ledger_open(state_fd, folder, publisher, &err);
  assert_non_null(ledger);
  ft_ledger_set_rule(ledger, FT_RULE_RSS);
  assert_true(ft_ledger_take(ledger, &o));
  /* killed here: another agent goes on */
  ft_ledger_close(ledger);
  (void)steps();
  assert_int_equal(published("job.sh-1"), 0);
  assert_int_equal(published("train.py-2"), 5);
  assert_int_equal(published("stays"), 1);
  ledger = ft_ledger_open(state_fd, folder, publisher, &err);
  assert_non_null(ledger);
  ft_ledger_set_rule(ledger, FT_RULE_RSS);
  o.job_id = 7;
  assert_false(ft_ledger_take(ledger, &o));
  assert_int_equal(published("train.py-2"), 6);
  ft_ledger_close(ledger);
}

static void long_work_is_done_in_steps_and_learns_what_comes_meanwhile(void **state)
{
  struct ft_error err;
  ft_observation o;

  (void)state;
  assert_int_equal(ft_store_begin(store, &err), 0);
  for (uint32_t job = 1; job <= 1000; job++)
    put(job, "a", 1000 + job);
  assert_int_equal(ft_store_commit(store, &err), 0);
  assert_true(ft_follow_step(follow, store));
  assert_int_equal(published("a"), 0);
  o = put(5000, "a", 1); /* before all that were learnt by now */
  ft_follow_learn(follow, &o);
  o.rss_bytes = 0; /* no more is learnt of another's */
  o.uid++;
  ft_follow_learn(follow, &o);
  while (!published("a"))
    assert_true(ft_follow_step(follow, store));
  assert_int_equal(published("a"), 1001);
  (void)steps();
  assert_int_equal(published("a"), 1001);
}

/* What foretell import takes from elsewhere may be of a clock that was ahead. */
static void no_run_that_is_published_has_ended_in_the_future(void **state)
{
  uint32_t uid = (uint32_t)geteuid();
  ft_performance *performance = malloc(sizeof *performance);
  ft_model *model = malloc(sizeof *model);
  struct ft_error err;
  double now;

  (void)state;
  assert_true(model && performance);
  put(1, "a", 1);
  put(2, "a", (double)time(NULL) + 1e6);
  (void)steps();
  now = (double)time(NULL);
  assert_int_equal(ft_layout_read_model(state_fd, uid, "a", model, &err), 0);
  assert_int_equal(model->runs, 2);
  assert_int_equal((int)model->history[0].time, 1);
  assert_true(model->history[1].time <= now && model->updated <= now);
  assert_int_equal(ft_layout_read_own_performance(state_fd, uid, "a", performance, &err), 0);
  assert_int_equal(performance->history_count, 2);
  assert_true(performance->history[1].time <= now && performance->updated <= now);
  free(performance);
  free(model);
}

static void another_rule_begins_anew(void **state)
{
  struct ft_error err;
  ft_model *model = malloc(sizeof *model);

  (void)state;
  assert_non_null(model);
  put(1, "a", 1);
  put(2, "b", 2);
  assert_true(ft_follow_step(follow, store));
  ft_follow_set_rule(follow, FT_RULE_CGROUP);
  (void)steps();
  for (const char *app = "a"; app; app = *app == 'a' ? "b" : NULL) {
    assert_int_equal(ft_layout_read_model(state_fd, (uint32_t)geteuid(), app, model, &err), 0);
    assert_int_equal(model->rule, FT_RULE_CGROUP);
  }
  free(model);
}

static void a_folder_that_cannot_be_written_is_tried_again(void **state)
{
  char models[96];

  (void)state;
  put(1, "a", 1);
  put(2, "b", 2);
  (void)snprintf(models, sizeof models, "%s/models/%u", folder, (unsigned)geteuid());
  /* a file where the user's folder should be */
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

static void a_row_that_cannot_be_read_holds_up_no_other_app(void **state)
{
  struct ft_error err;

  (void)state;
  put(1, "a", 1);
  put(2, "b", 2);
  ft_store_close(store);
  {
    char path[96];
    sqlite3 *db;

    (void)snprintf(path, sizeof path, "%s/store.db", folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "UPDATE observation SET features = '7' WHERE app = 'a'", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    store = ft_store_open(path, true, &err);
    assert_non_null(store);
  }
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
    TEST(a_run_links_its_apps_former_names),
    TEST(long_work_is_done_in_steps_and_learns_what_comes_meanwhile),
    TEST(no_run_that_is_published_has_ended_in_the_future),
    TEST(another_rule_begins_anew),
    TEST(a_folder_that_cannot_be_written_is_tried_again),
    TEST(a_row_that_cannot_be_read_holds_up_no_other_app),
  };

  return cmocka_run_group_tests_name("follow", tests, NULL, NULL);
}
