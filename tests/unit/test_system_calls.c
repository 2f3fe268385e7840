/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The system calls that the agent gives up, in a child for each test. */
#include "config.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/system_calls.h"

/* Whether CALL fails with EPERM in a child that has given up the calls, and in a child of that. */
static bool is_refused(long (*call)(void))
{
  struct ft_error err;
  int status = -1;
  pid_t pid = fork();

  assert_true(pid >= 0);
  if (pid == 0) {
    pid_t inner;

    if (ft_system_calls_give_up(&err) < 0 || call() != -1 || errno != EPERM)
      _exit(1);
    inner = fork();
    if (inner == 0)
      _exit(call() != -1 || errno != EPERM);
    _exit(inner < 0 || waitpid(inner, &status, 0) != inner || status != 0);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return status == 0;
}

static long trace(void)
{
  return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static long read_memory(void)
{
  char from = 1, to = 0;
  struct iovec local = { &to, 1 }, remote = { &from, 1 };

  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
}

static long write_memory(void)
{
  char from = 1, to = 0;
  struct iovec local = { &from, 1 }, remote = { &to, 1 };

  return process_vm_writev(getpid(), &local, 1, &remote, 1, 0);
}

static long take_descriptor(void)
{
  return syscall(SYS_pidfd_getfd, -1, 0, 0);
}

static long open_handle(void)
{
  struct file_handle handle = { .handle_bytes = 0 };

  return open_by_handle_at(-1, &handle, 0);
}

static void a_process_cannot_be_traced(void **state)
{
  (void)state;
  if (!FT_SYSTEM_CALLS_PTRACE)
    skip();
  assert_true(is_refused(trace));
}

static void memory_of_processes_cannot_be_copied(void **state)
{
  (void)state;
  assert_true(is_refused(read_memory));
  assert_true(is_refused(write_memory));
}

static void descriptors_of_processes_cannot_be_copied(void **state)
{
  (void)state;
  assert_true(is_refused(take_descriptor));
}

static void files_cannot_be_opened_by_handle(void **state)
{
  (void)state;
  assert_true(is_refused(open_handle));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_process_cannot_be_traced),
    cmocka_unit_test(memory_of_processes_cannot_be_copied),
    cmocka_unit_test(descriptors_of_processes_cannot_be_copied),
    cmocka_unit_test(files_cannot_be_opened_by_handle),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
