/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of credentials by a munged that hangs, which is a socket without a server, or is gone.
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

static void take_answer(enum ft_transfer_proof proof, uid_t uid, const struct ft_error *why,
                        void *data)
{
  struct answers *answers = data;

  (void)uid;
  assert_int_equal(proof, FT_TRANSFER_UNKNOWN);
  answers->why = *why;
  if (++answers->count == answers->expected)
    ft_loop_stop(answers->loop);
}

static void take_disproof(enum ft_transfer_proof proof, uid_t uid, const struct ft_error *why,
                          void *data)
{
  struct answers *answers = data;

  (void)uid;
  (void)why;
  assert_int_equal(proof, FT_TRANSFER_DISPROVED);
  ft_loop_stop(answers->loop);
}

static struct ft_loop *open_loop(void)
{
  static const int signals[] = { SIGTERM, 0 };
  struct ft_error err;
  struct ft_loop *loop = ft_loop_open(signals, &err);

  assert_non_null(loop);
  return loop;
}

/* Starts COUNT checks. */
static void start_checks(struct ft_credentials *credentials, struct answers *answers,
                         unsigned count)
{
  const struct ft_transfer_digest digest = { "digest" };
  struct ft_error err;

  answers->expected = count;
  for (unsigned i = 0; i < count; i++)
    assert_int_equal(ft_credentials_check(credentials, FT_TRANSFER_SCHEME "MUNGE:AAAA:", &digest,
                                          "host", take_answer, answers, &err),
                     0);
  assert_int_equal(ft_credentials_waiting(credentials), count);
}

/* Returns a socket in the directory PATH at which nothing answers. */
static int open_hung_munged(const char *path, char socket[SCRATCH_SIZE + 8])
{
  struct ft_error err;
  int fd;

  (void)snprintf(socket, SCRATCH_SIZE + 8, "%s/munge", path);
  fd = ft_socket_listen(socket, SOCK_STREAM, 0600, &err);
  assert_true(fd >= 0);
  return fd;
}

static void checks_end_in_time_though_munged_hangs(void **state)
{
  char path[SCRATCH_SIZE], socket[SCRATCH_SIZE + 8];
  struct answers answers = { .loop = open_loop() };
  int directory = scratch_open(path), munged = open_hung_munged(path, socket);
  struct ft_credentials *credentials;
  struct ft_error err;
  double begun = ft_io_monotonic();

  (void)state;
  credentials = ft_credentials_open(answers.loop, socket, 0.2, &err);
  assert_non_null(credentials);
  start_checks(credentials, &answers, 100);
  assert_int_equal(ft_loop_run(answers.loop, &err), 0);
  assert_int_equal(answers.count, 100);
  assert_true(ft_io_monotonic() - begun >= 0.2);
  assert_non_null(strstr(answers.why.text, "on the learner's host"));
  assert_int_equal(ft_credentials_waiting(credentials), 0);
  ft_credentials_close(credentials);
  ft_loop_close(answers.loop);
  close(munged);
  close(directory);
  scratch_remove(path);
}

static void closing_answers_those_that_wait(void **state)
{
  char path[SCRATCH_SIZE], socket[SCRATCH_SIZE + 8];
  struct answers answers = { .loop = open_loop() };
  int directory = scratch_open(path), munged = open_hung_munged(path, socket);
  struct ft_credentials *credentials;
  struct ft_error err;

  (void)state;
  credentials = ft_credentials_open(answers.loop, socket, 1000, &err);
  assert_non_null(credentials);
  start_checks(credentials, &answers, 100);
  ft_credentials_close(credentials);
  assert_int_equal(answers.count, 100);
  assert_string_equal(answers.why.text, "foretell-learnd is stopping");
  ft_loop_close(answers.loop);
  close(munged);
  close(directory);
  scratch_remove(path);
}

static void too_many_checks_are_refused_at_once(void **state)
{
  char path[SCRATCH_SIZE], socket[SCRATCH_SIZE + 8];
  struct answers answers = { .loop = open_loop(), .expected = UINT32_MAX };
  int directory = scratch_open(path), munged = open_hung_munged(path, socket);
  const struct ft_transfer_digest digest = { "digest" };
  struct ft_credentials *credentials;
  struct ft_error err = { "" };
  unsigned started = 0;

  (void)state;
  credentials = ft_credentials_open(answers.loop, socket, 1000, &err);
  assert_non_null(credentials);
  while (started < 100000 &&
         ft_credentials_check(credentials, FT_TRANSFER_SCHEME "MUNGE:AAAA:", &digest, "host",
                              take_answer, &answers, &err) == 0)
    started++;
  assert_true(started > 1000 && started < 100000);
  assert_non_null(strstr(err.text, "munged on the learner's host is too slow"));
  assert_int_equal(answers.count, 0);
  ft_credentials_close(credentials);
  assert_int_equal(answers.count, started);
  ft_loop_close(answers.loop);
  close(munged);
  close(directory);
  scratch_remove(path);
}

static void a_request_without_a_credential_needs_no_munged(void **state)
{
  const struct ft_transfer_digest digest = { "digest" };
  struct answers answers = { .loop = open_loop() };
  struct ft_credentials *credentials;
  struct ft_error err;

  (void)state;
  credentials = ft_credentials_open(answers.loop, "/nonexistent/munge", 1000, &err);
  assert_non_null(credentials);
  assert_int_equal(
      ft_credentials_check(credentials, NULL, &digest, "host", take_disproof, &answers, &err), 0);
  assert_int_equal(ft_loop_run(answers.loop, &err), 0);
  ft_credentials_close(credentials);
  ft_loop_close(answers.loop);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(checks_end_in_time_though_munged_hangs),
    cmocka_unit_test(closing_answers_those_that_wait),
    cmocka_unit_test(too_many_checks_are_refused_at_once),
    cmocka_unit_test(a_request_without_a_credential_needs_no_munged),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
