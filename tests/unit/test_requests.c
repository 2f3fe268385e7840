/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of agents, with stand-ins for the learner, the receiver and getent. */
#include "config.h"

#include "tests/unit/scratch.h"

#include "daemon/loop.h"
#include "learner/access/user_lookup.h"
#include "learner/recorder.h"
#include "learner/requests.h"
#include "predictor/core/io.h"

enum { REQUESTS = 10, REFUSED_JOB = 1000 };

static struct ft_loop *loop;
static struct ft_subprocesses *children;
static struct ft_requests *requests;
static struct ft_received received[REQUESTS];
static size_t received_count;

/* What the requests were answered, in order of RECEIVED. */
static struct {
  bool replied, rejected, malformed;
  ft_verdicts verdicts;
  ft_host host;
} answer[REQUESTS];

static unsigned settings_replies;
static uint64_t settings_number; /* of the last reply */

static bool in_transaction;
static unsigned added, added_at_once, most_at_once, commits, rollbacks;

/* ---- stand-ins ---- */

void ft_learner_settings_of_nodes(const struct ft_learner *learner, ft_settings *settings)
{
  (void)learner;
  (void)settings;
}

bool ft_learner_is_forgotten(struct ft_learner *learner, const ft_observation *observation)
{
  (void)learner;
  (void)observation;
  return false;
}

int ft_learner_begin(struct ft_learner *learner, struct ft_error *err)
{
  (void)learner;
  (void)err;
  assert_false(in_transaction);
  in_transaction = true;
  added_at_once = 0;
  return 0;
}

int ft_learner_add(struct ft_learner *learner, const ft_observation *observation,
                   struct ft_error *err)
{
  (void)learner;
  if (observation->job_id == REFUSED_JOB)
    return ft_error_set(err, "refused") < 0 && in_transaction ? -1 : 1;
  added_at_once++;
  added += !in_transaction;
  return 0;
}

int ft_learner_commit(struct ft_learner *learner, struct ft_error *err)
{
  (void)learner;
  (void)err;
  assert_true(in_transaction);
  in_transaction = false;
  commits++;
  added += added_at_once;
  if (added_at_once > most_at_once)
    most_at_once = added_at_once;
  return 0;
}

void ft_learner_rollback(struct ft_learner *learner)
{
  (void)learner;
  assert_true(in_transaction);
  in_transaction = false;
  rollbacks++;
}

void ft_receiver_reply(struct ft_received *request, enum ft_record record, const void *message)
{
  size_t i = (size_t)(request - received);

  assert_false(answer[i].replied || answer[i].rejected);
  answer[i].replied = true;
  if (record == FT_RECORD_HOST)
    answer[i].host = *(const ft_host *)message;
  else if (record == FT_RECORD_SETTINGS) {
    settings_replies++;
    settings_number = ((const ft_settings *)message)->number;
  } else {
    assert_int_equal(record, FT_RECORD_VERDICTS);
    answer[i].verdicts = *(const ft_verdicts *)message;
  }
}

void ft_receiver_reject(struct ft_received *request, bool malformed, const char *why)
{
  size_t i = (size_t)(request - received);

  (void)why;
  assert_false(answer[i].replied || answer[i].rejected);
  answer[i].rejected = true;
  answer[i].malformed = malformed;
}

/* ---- tests ---- */

static int set_up(void **state)
{
  static const int no_signals[] = { 0 };
  struct ft_error err;

  (void)state;
  memset(answer, 0, sizeof answer);
  received_count = 0;
  added = most_at_once = commits = rollbacks = 0;
  loop = ft_loop_open(no_signals, &err);
  assert_non_null(loop);
  children = ft_subprocesses_open(loop);
  assert_non_null(children);
  requests = ft_requests_open(loop, children, NULL);
  assert_non_null(requests);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  ft_requests_close(requests);
  for (size_t i = 0; i < received_count; i++)
    ft_buf_free(&received[i].body);
  ft_subprocesses_close(children);
  ft_loop_close(loop);
  return 0;
}

/* Hands over a delivery of COUNT runs from job FIRST on. Returns its place in `answer`. */
static size_t deliver(uint32_t first, uint32_t count)
{
  struct ft_received *request = &received[received_count];
  ft_observation o = { .schema = FT_SCHEMA };
  struct ft_error err;

  *request = (struct ft_received){ .exchange = FT_EXCHANGE_RUNS };
  ft_buf_init(&request->body, FT_EXCHANGE_BYTES);
  for (uint32_t i = 0; i < count; i++) {
    o.job_id = first + i;
    assert_int_equal(ft_exchange_add(&request->body, &o, &err), 0);
  }
  ft_requests_handle(request, requests);
  return received_count++;
}

static void stop_loop(void *data)
{
  ft_loop_stop(data);
}

enum { PATIENCE = 1200 /* waits of 50 ms for what a busy machine does late */ };

static void run_loop(double seconds)
{
  struct ft_timer timer = { .fire = stop_loop, .data = loop };
  struct ft_error err;

  ft_loop_at(loop, &timer, ft_io_monotonic() + seconds);
  assert_int_equal(ft_loop_run(loop, &err), 0);
}

/* Runs the loop until nothing is due, which takes longer on a busy machine. */
static void settle(void)
{
  size_t before;

  do {
    before = added + commits + rollbacks;
    run_loop(0.05);
  } while (added + commits + rollbacks > before);
}

/* An agent asks for settings that differ from the last ones it got. */
static void ask_settings(void)
{
  struct ft_received *request = &received[received_count++];
  const ft_settings_query query = { .schema = FT_SCHEMA, .number = settings_number };

  *request = (struct ft_received){ .exchange = FT_EXCHANGE_SETTINGS };
  ft_buf_init(&request->body, FT_EXCHANGE_BYTES);
  assert_int_equal(ft_record_encode(FT_RECORD_SETTINGS_QUERY, &query, &request->body, NULL), 0);
  ft_requests_handle(request, requests);
}

/* A user who repeats a request to forget must not keep all agents busy. */
static void requests_to_forget_are_announced_together(void **state)
{
  double begun = ft_io_monotonic();

  (void)state;
  settings_replies = 0;
  settings_number = 0;
  ask_settings();
  assert_int_equal(settings_replies, 1);
  /* the first at once, those of the second round a second later */
  for (unsigned round = 0; round < 2; round++) {
    ask_settings();
    for (int i = 0; i < 100; i++)
      ft_requests_settings_changed(requests, true);
    for (int i = 0; i < PATIENCE && settings_replies < 2 + round; i++)
      run_loop(0.05);
    assert_int_equal(settings_replies, 2 + round);
  }
  assert_true(ft_io_monotonic() - begun >= 1);
  ask_settings();
  ft_requests_settings_changed(requests, true);
  ft_requests_settings_changed(requests, false);
  assert_int_equal(settings_replies, 4);
}

static void deliveries_of_several_nodes_are_one_transaction(void **state)
{
  (void)state;
  for (uint32_t i = 0; i < 3; i++)
    (void)deliver(1 + 2 * i, 2);
  settle();
  assert_int_equal(commits, 1);
  assert_int_equal(added, 6);
  for (size_t i = 0; i < 3; i++) {
    assert_true(answer[i].replied);
    assert_int_equal(answer[i].verdicts.verdict.size, 2);
    assert_int_equal(answer[i].verdicts.verdict.bytes[1], FT_VERDICT_ACCEPTED);
  }
}

static void transactions_are_limited(void **state)
{
  (void)state;
  for (uint32_t i = 0; i < REQUESTS; i++)
    (void)deliver(1 + 50 * i, 50);
  settle();
  assert_int_equal(added, 50 * REQUESTS);
  assert_true(most_at_once <= FT_RECORDER_TOGETHER);
  assert_int_equal(commits, REQUESTS / 2);
}

static void a_refused_run_is_refused_alone(void **state)
{
  size_t good = deliver(1, 2), bad = deliver(REFUSED_JOB - 1, 3);

  (void)state;
  settle();
  assert_int_equal(rollbacks, 1);
  assert_int_equal(added, 4);
  assert_int_equal(answer[good].verdicts.verdict.bytes[1], FT_VERDICT_ACCEPTED);
  assert_int_equal(answer[bad].verdicts.verdict.size, 3);
  assert_int_equal(answer[bad].verdicts.verdict.bytes[0], FT_VERDICT_ACCEPTED);
  assert_int_equal(answer[bad].verdicts.verdict.bytes[1], FT_VERDICT_REFUSED);
  assert_int_equal(answer[bad].verdicts.verdict.bytes[2], FT_VERDICT_ACCEPTED);
}

static void a_damaged_list_is_rejected_alone(void **state)
{
  static const char damage[] = "\377\377\377\377";
  size_t bad = received_count++, good;

  (void)state;
  received[bad] = (struct ft_received){ .exchange = FT_EXCHANGE_RUNS };
  ft_buf_init(&received[bad].body, FT_EXCHANGE_BYTES);
  assert_int_equal(ft_buf_add(&received[bad].body, damage, sizeof damage), 0);
  ft_requests_handle(&received[bad], requests);
  good = deliver(1, 2);
  settle();
  assert_true(answer[bad].rejected && answer[bad].malformed);
  assert_true(answer[good].replied);
  assert_int_equal(added, 2);
}

static void deliveries_are_rejected_at_the_end(void **state)
{
  size_t last = deliver(1, 2);

  (void)state;
  ft_requests_close(requests);
  requests = NULL;
  assert_true(answer[last].rejected && !answer[last].malformed);
  assert_int_equal(added, 0);
}

/* ---- a slow name service ---- */

static char bin[SCRATCH_SIZE], *path_before;

/* Puts a getent before PATH that waits for a file "go" next to it. */
static int add_getent(void **state)
{
  static const char script[] = "#!/bin/sh\n"
                               "here=${0%/*}\n"
                               "[ \"$1 $2\" = '-- passwd' ] || exit 3\n"
                               "shift 2\n"
                               "echo \"$*\" >\"$here/asked\"\n"
                               "while [ ! -e \"$here/go\" ]; do sleep 0.02; done\n"
                               "echo 'getent: a warning: of: 7'\n"
                               "echo 'ada:x:1815:100::/home/ada:/bin/sh'\n"
                               "echo 'ada:x:1815:100::/home/ada:/bin/sh'\n"
                               "echo 'slurm:x:64030:64030:::'\n"
                               "exit 2\n";
  int fd = scratch_open(bin), file = openat(fd, "getent", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
  char path[4096];

  assert_true(file >= 0);
  assert_int_equal(write(file, script, sizeof script - 1), sizeof script - 1);
  close(file);
  close(fd);
  path_before = strdup(getenv("PATH"));
  assert_non_null(path_before);
  (void)snprintf(path, sizeof path, "%s:%s", bin, path_before);
  assert_int_equal(setenv("PATH", path, 1), 0);
  return set_up(state);
}

static int remove_getent(void **state)
{
  assert_int_equal(setenv("PATH", path_before, 1), 0);
  free(path_before);
  assert_int_equal(tear_down(state), 0);
  /* a getent that was killed may still end a write */
  for (int i = 0; i < 6000 && access(bin, F_OK) == 0; i++)
    if (scratch_remove(bin) != 0)
      (void)usleep(10000);
  assert_int_not_equal(access(bin, F_OK), 0);
  return 0;
}

/* Lets getent reply. */
static void release_getent(void)
{
  char path[SCRATCH_SIZE + 8];
  int fd;

  (void)snprintf(path, sizeof path, "%s/go", bin);
  fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  assert_true(fd >= 0);
  close(fd);
}

/* Returns whether the last getent was asked about USERS. */
static bool was_asked(const char *users)
{
  char path[SCRATCH_SIZE + 8], got[256] = "";
  FILE *file;

  (void)snprintf(path, sizeof path, "%s/asked", bin);
  file = fopen(path, "r");
  if (!file)
    return false;
  if (!fgets(got, sizeof got, file))
    got[0] = '\0';
  (void)fclose(file);
  got[strcspn(got, "\n")] = '\0';
  return strcmp(got, users) == 0;
}

static size_t ask_host(const char *user)
{
  struct ft_received *request = &received[received_count];
  ft_host_query query = { .schema = FT_SCHEMA, .user_count = 1 };
  struct ft_error err;

  *request = (struct ft_received){ .exchange = FT_EXCHANGE_HOST };
  (void)snprintf(query.user[0], sizeof query.user[0], "%s", user);
  ft_buf_init(&request->body, FT_EXCHANGE_BYTES);
  assert_int_equal(ft_record_encode(FT_RECORD_HOST_QUERY, &query, &request->body, &err), 0);
  ft_requests_handle(request, requests);
  return received_count++;
}

static void a_slow_name_service_delays_no_run(void **state)
{
  double asked = ft_io_now(), replied;
  char users[32];
  size_t host = ask_host("--help"), run = deliver(1, 2);

  (void)state;
  (void)snprintf(users, sizeof users, "--help %u", (unsigned)geteuid());
  for (int i = 0; i < PATIENCE && !was_asked(users); i++)
    run_loop(0.05);
  assert_true(was_asked(users));
  for (int i = 0; i < PATIENCE && !answer[run].replied; i++)
    run_loop(0.05);
  run_loop(0.3);
  assert_true(answer[run].replied);
  assert_false(answer[host].replied || answer[host].rejected);
  release_getent();
  for (int i = 0; i < PATIENCE && !answer[host].replied; i++)
    run_loop(0.05);
  replied = ft_io_now();
  assert_true(answer[host].replied);
  assert_int_equal(answer[host].host.user_count, 2);
  assert_string_equal(answer[host].host.user[0].name, "ada");
  assert_int_equal(answer[host].host.user[0].uid, 1815);
  assert_string_equal(answer[host].host.user[1].name, "slurm");
  assert_true(answer[host].host.time > asked && answer[host].host.time < replied - 0.1);
}

static void a_host_without_getent_answers(void **state)
{
  size_t host;

  (void)state;
  assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
  host = ask_host("ada");
  for (int i = 0; i < PATIENCE && !answer[host].replied; i++)
    run_loop(0.05);
  assert_true(answer[host].replied);
  assert_int_equal(answer[host].host.user_count, 0);
  assert_true(answer[host].host.time > 0);
}

static void a_query_of_the_host_is_rejected_at_the_end(void **state)
{
  size_t host = ask_host("ada");

  (void)state;
  ft_requests_close(requests);
  requests = NULL;
  assert_true(answer[host].rejected && !answer[host].malformed);
}

static void names_of_users_are_found_later(void **state)
{
  struct ft_user_names *names = ft_user_names_open(children);

  (void)state;
  assert_non_null(names);
  assert_string_equal(ft_user_names_find(names, 1815), "");
  assert_string_equal(ft_user_names_find(names, 7), "");
  release_getent();
  for (int i = 0; i < PATIENCE && !ft_user_names_find(names, 1815)[0]; i++)
    run_loop(0.05);
  assert_string_equal(ft_user_names_find(names, 1815), "ada");
  assert_true(was_asked("1815"));
  assert_string_equal(ft_user_names_find(names, 1815 + 64), "");
  assert_string_equal(ft_user_names_find(names, 1815), "");
  ft_user_names_close(names);
}

static void a_user_who_replaces_another_is_looked_up(void **state)
{
  struct ft_user_names *names = ft_user_names_open(children);

  (void)state;
  assert_non_null(names);
  assert_string_equal(ft_user_names_find(names, 1815), "");
  assert_string_equal(ft_user_names_find(names, 1815 + 64), "");
  release_getent();
  for (int i = 0; i < PATIENCE && !was_asked("1879"); i++) {
    assert_string_equal(ft_user_names_find(names, 1815 + 64), "");
    run_loop(0.05);
  }
  assert_true(was_asked("1879"));
  assert_string_equal(ft_user_names_find(names, 1815), "");
  ft_user_names_close(names);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define NAME_TEST(name) cmocka_unit_test_setup_teardown(name, add_getent, remove_getent)

int main(void)
{
  const struct CMUnitTest tests[] = {
    TEST(requests_to_forget_are_announced_together),
    TEST(deliveries_of_several_nodes_are_one_transaction),
    TEST(transactions_are_limited),
    TEST(a_refused_run_is_refused_alone),
    TEST(a_damaged_list_is_rejected_alone),
    TEST(deliveries_are_rejected_at_the_end),
    NAME_TEST(a_slow_name_service_delays_no_run),
    NAME_TEST(a_host_without_getent_answers),
    NAME_TEST(a_query_of_the_host_is_rejected_at_the_end),
    NAME_TEST(names_of_users_are_found_later),
    NAME_TEST(a_user_who_replaces_another_is_looked_up),
  };

  return cmocka_run_group_tests_name("requests", tests, NULL, NULL);
}
