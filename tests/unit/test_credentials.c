/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Credentials of a munged that hangs, which is a socket without a server, or is gone.
 */
#include "config.h"

#include "tests/unit/scratch.h"

#include <signal.h>
#include <sys/socket.h>

#include "daemon/socket.h"
#include "learner/access/credentials.h"
#include "predictor/core/io.h"

struct answers {
  struct ft_loop *loop;
  unsigned expected, count;
  struct ft_error why;
};

static char path[SCRATCH_SIZE], munge_socket[SCRATCH_SIZE + 8];
static int directory, munged;
static struct answers answers;
static struct ft_credentials *credentials;

static int set_up(void **state)
{
  static const int signals[] = { SIGTERM, 0 };
  struct ft_error err;

  (void)state;
  answers = (struct answers){ .loop = ft_loop_open(signals, &err) };
  assert_non_null(answers.loop);
  directory = scratch_open(path);
  (void)snprintf(munge_socket, sizeof munge_socket, "%s/munge", path);
  munged = ft_socket_listen(munge_socket, SOCK_STREAM, 0600, &err);
  assert_true(munged >= 0);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  ft_credentials_close(credentials);
  credentials = NULL;
  ft_loop_close(answers.loop);
  close(munged);
  return scratch_close(path, directory);
}

/* Opens `credentials`, whose checks wait for SECONDS. */
static void open_credentials(const char *socket, double seconds)
{
  struct ft_error err;

  credentials = ft_credentials_open(answers.loop, socket, seconds, &err);
  assert_non_null(credentials);
}

static void take_answer(const struct ft_credentials_result *result, void *data)
{
  (void)data;
  assert_int_equal(result->proof, FT_TRANSFER_UNKNOWN);
  assert_null(result->authorization);
  answers.why = *result->why;
  if (++answers.count == answers.expected)
    ft_loop_stop(answers.loop);
}

/* Starts a check, or a signature. Returns as ft_credentials_check. */
static int start_check(bool sign, struct ft_error *err)
{
  static const struct ft_transfer_digest digest = { "digest" };

  return sign ? ft_credentials_sign(credentials, &digest, take_answer, NULL, err)
              : ft_credentials_check(credentials, FT_TRANSFER_SCHEME "MUNGE:AAAA:", "host",
                                     take_answer, NULL, err);
}

/* Starts COUNT checks. */
static void start_checks(unsigned count)
{
  struct ft_error err;

  answers.expected = count;
  for (unsigned i = 0; i < count; i++)
    assert_int_equal(start_check(i % 2, &err), 0);
  assert_int_equal(ft_credentials_waiting(credentials), count);
}

static void checks_end_in_time_though_munged_hangs(void **state)
{
  struct ft_error err;
  double begun = ft_io_monotonic();

  (void)state;
  open_credentials(munge_socket, 0.2);
  start_checks(100);
  assert_int_equal(ft_loop_run(answers.loop, &err), 0);
  assert_int_equal(answers.count, 100);
  assert_true(ft_io_monotonic() - begun >= 0.2);
  assert_non_null(strstr(answers.why.text, "on the learner's host"));
  assert_int_equal(ft_credentials_waiting(credentials), 0);
}

static void closing_answers_those_that_wait(void **state)
{
  (void)state;
  open_credentials(munge_socket, 1000);
  start_checks(100);
  ft_credentials_close(credentials);
  credentials = NULL;
  assert_int_equal(answers.count, 100);
  assert_string_equal(answers.why.text, "foretell-learnd is stopping");
}

static void too_many_checks_are_refused_at_once(void **state)
{
  struct ft_error err = { "" };
  unsigned started = 0;

  (void)state;
  answers.expected = UINT32_MAX;
  open_credentials(munge_socket, 1000);
  while (started < 100000 && start_check(started % 2, &err) == 0)
    started++;
  assert_true(started > 1000 && started < 100000);
  assert_non_null(strstr(err.text, "munged on the learner's host is too slow"));
  assert_int_equal(answers.count, 0);
  ft_credentials_close(credentials);
  credentials = NULL;
  assert_int_equal(answers.count, started);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
    TEST(checks_end_in_time_though_munged_hangs),
    TEST(closing_answers_those_that_wait),
    TEST(too_many_checks_are_refused_at_once),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
