/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model file cannot crash or hang the command: it prints one line and ends. */
#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/sandbox.h"
#include "predictor/core/io.h"
#include "predictor/core/rlimits.h"

static int answers(void *data)
{
  return *(int *)data;
}

static int sleeps(void *data)
{
  (void)data;
  while (pause() == -1)
    continue;
  return 0;
}

static int turns(void *data)
{
  volatile unsigned *count = data;

  while (++*count || true)
    continue;
  return 0;
}

static int is_killed(void *data)
{
  (void)data;
  (void)signal(SIGSEGV, SIG_DFL);
  (void)raise(SIGSEGV);
  return 0;
}

/* Allocates until no memory is left. */
static int hoards(void *data)
{
  size_t taken = 0;

  (void)data;
  while (taken < (size_t)4 << 30) {
    char *more = malloc(16 << 20);

    if (!more)
      return ft_print_error("test", FT_EXIT_USAGE, "net.onnx: out of memory");
    *(volatile char *)more = 1;
    taken += 16 << 20;
  }
  return FT_EXIT_DONE;
}

/* Runs WORK in ft_sandbox and writes its standard error into SAID. Returns its status. */
static int guarded(double seconds, int (*work)(void *), void *data, char said[256])
{
  int saved = dup(STDERR_FILENO), ends[2], status;
  ssize_t length;

  assert_true(saved >= 0 && pipe2(ends, O_CLOEXEC) == 0);
  assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
  status = ft_sandbox("test", "net.onnx", seconds, work, data);
  (void)dup2(saved, STDERR_FILENO);
  close(saved);
  close(ends[1]);
  length = read(ends[0], said, 255);
  said[length > 0 ? length : 0] = '\0';
  close(ends[0]);
  return status;
}

static void the_status_is_the_return_value_of_the_work(void **state)
{
  char said[256];

  (void)state;
  for (int i = 0; i < 4; i++) {
    assert_int_equal(guarded(600, answers, &i, said), i);
    assert_string_equal(said, "");
  }
}

static void endless_work_is_stopped_with_one_line(void **state)
{
  static unsigned count;
  const struct {
    int (*work)(void *);
    double seconds;
    const char *line;
  } cases[] = {
    { sleeps, 0.2, "foretell test: net.onnx: not read within 0.2 s\n" },
    { turns, 0.2, "foretell test: net.onnx: not read within 0.2 s\n" },
    { is_killed, 600,
      "foretell test: net.onnx: the process that read the file was killed by signal 11" },
    { hoards, 600, "foretell test: net.onnx: out of memory\n" },
  };

  (void)state;
  /* the last one allocates without end */
  for (size_t i = 0; i < COUNT_OF(cases) - !FT_RLIMITS_MEMORY; i++) {
    char said[256];

    /* without a limit the first two would not end */
    assert_int_equal(guarded(cases[i].seconds, cases[i].work, &count, said), FT_EXIT_USAGE);
    if (strncmp(said, cases[i].line, strlen(cases[i].line)) != 0 ||
        strchr(said, '\n') != said + strlen(said) - 1)
      fail_msg("case %zu: %s", i, said);
  }
}

static void no_child_is_left(void **state)
{
  char said[256];

  (void)state;
  (void)guarded(0.05, sleeps, NULL, said);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_status_is_the_return_value_of_the_work),
    cmocka_unit_test(endless_work_is_stopped_with_one_line),
    cmocka_unit_test(no_child_is_left),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
