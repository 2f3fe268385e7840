/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/subprocess.h"

static struct ft_loop *loop;
static struct ft_subprocess_result answer;
static char text[256];
static int kept;

static void answered(const struct ft_subprocess_result *result, void *data)
{
  (void)data;
  answer = *result;
  (void)snprintf(text, sizeof text, "%.*s", (int)result->length, result->text);
  ft_loop_stop(loop);
}

/* Runs WORK until it ends. */
static void run(ft_subprocess_main *work, double cpu_seconds, double seconds)
{
  static const int signals[] = { SIGTERM, 0 };
  int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct ft_subprocesses *children;
  struct ft_error err;

  kept = dup(folder); /* a descriptor that the child must not inherit */
  loop = ft_loop_open(signals, &err);
  assert_non_null(loop);
  children = ft_subprocesses_open(loop);
  assert_non_null(children);
  assert_int_equal(ft_subprocess_fork(children, "work", work, folder, NULL, cpu_seconds, seconds,
                                      answered, NULL, &err),
                   0);
  assert_int_equal(ft_loop_run(loop, &err), 0);
  ft_subprocesses_close(children);
  ft_loop_close(loop);
  close(kept);
  close(folder);
}

static int look(int fd, void *data)
{
  sigset_t blocked;

  (void)data;
  (void)sigprocmask(SIG_SETMASK, NULL, &blocked);
  printf("%s %s nice %d signals %d", faccessat(fd, "proc", F_OK, 0) == 0 ? "folder" : "nothing",
         fcntl(kept, F_GETFD) < 0 && errno == EBADF ? "closed" : "open",
         getpriority(PRIO_PROCESS, 0), sigismember(&blocked, SIGTERM));
  return fflush(stdout);
}

static int complain(int fd, void *data)
{
  (void)fd;
  (void)data;
  (void)!write(STDERR_FILENO, "it hurts\n", 9);
  return 1;
}

static int sleep_on(int fd, void *data)
{
  (void)fd;
  (void)data;
  return (int)sleep(600);
}

static int spin(int fd, void *data)
{
  (void)fd;
  (void)data;
  for (volatile unsigned i = 1; i; i |= 1)
    continue;
  return 0;
}

static void a_forked_child_inherits_only_the_directory(void **state)
{
  (void)state;
  run(look, 60, 60);
  assert_true(answer.ok);
  assert_string_equal(text, "folder closed nice 19 signals 0");
}

static void the_childs_error_is_reported(void **state)
{
  (void)state;
  run(complain, 60, 60);
  assert_false(answer.ok);
  assert_string_equal(answer.why, "work: exit status 1: it hurts");
}

static void a_child_is_stopped_at_its_limits(void **state)
{
  (void)state;
  run(sleep_on, 60, 0.2);
  assert_false(answer.ok);
  assert_string_equal(answer.why, "work: deadline passed");
  run(spin, 1, 1200); /* at nice 19, a second of a busy processor takes minutes */
  assert_false(answer.ok);
  assert_non_null(strstr(answer.why, "killed by signal"));
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(a_forked_child_inherits_only_the_directory),
                                      cmocka_unit_test(the_childs_error_is_reported),
                                      cmocka_unit_test(a_child_is_stopped_at_its_limits) };

  return cmocka_run_group_tests_name("seek", tests, NULL, NULL);
}
