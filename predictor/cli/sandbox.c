/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a function in a child process with resource limits and a time limit. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/sandbox.h"
#include "predictor/core/io.h"
#include "predictor/core/rlimits.h"

/*
 * Fills STATUS. A child blocked on a file system that does not respond cannot be killed and is not
 * waited for.
 */
static int reap_sandbox_child(pid_t pid, bool ended, int *status)
{
  const struct timespec pause = { .tv_nsec = 1000000 };

  if (!ended)
    (void)kill(pid, SIGKILL);
  for (int i = 0; i < 1000; i++) {
    pid_t got = waitpid(pid, status, ended ? 0 : WNOHANG);

    if (got == pid)
      return 0;
    if (got < 0 && errno != EINTR)
      return -1;
    (void)nanosleep(&pause, NULL);
  }
  return -1;
}

/*
 * Prints why the child ended. If a user's signal or SIGPIPE ended it, this process ends the same
 * way.
 */
static int print_child_failure(const char *command, const char *file, int status)
{
  int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

  if (number == SIGPIPE || number == SIGINT || number == SIGTERM) {
    (void)signal(number, SIG_DFL);
    (void)raise(number);
  }
  if (number == SIGXCPU)
    return ft_print_error(command, FT_EXIT_USAGE,
                          "%s: reading the file exceeded the limit of CPU time", file);
  return ft_print_error(command, FT_EXIT_USAGE,
                        "%s: the process that read the file was killed by signal %d (%s)", file,
                        number, strsignal(number));
}

int ft_sandbox(const char *command, const char *file, double seconds, int (*work)(void *data),
               void *data)
{
  int ends[2], status = 0;
  bool in_time, known;
  pid_t pid;

  (void)fflush(NULL);
  if (pipe2(ends, O_CLOEXEC) < 0)
    return ft_print_error(command, FT_EXIT_SYSTEM, "%s: %s", file, strerror(errno));
  pid = fork();
  if (pid == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    ft_rlimits_set((unsigned)ceil(seconds));
    exit(work(data));
  }
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return ft_print_error(command, FT_EXIT_SYSTEM, "%s: %s", file, strerror(errno));
  }
  /* the pipe closes when the child ends, because only the child has the other end */
  in_time = ft_io_wait_ready(ends[0], POLLIN, ft_io_monotonic() + seconds);
  known = reap_sandbox_child(pid, in_time, &status) == 0;
  close(ends[0]);
  if (!in_time)
    return ft_print_error(command, FT_EXIT_USAGE, "%s: not read within %g s", file, seconds);
  return known && WIFEXITED(status) ? WEXITSTATUS(status)
                                    : print_child_failure(command, file, status);
}

bool ft_sandbox_end(void (*look)(const char *path), const char *path, double seconds)
{
  int ends[2], status;
  bool in_time;
  pid_t pid;

  if (pipe2(ends, O_CLOEXEC) < 0)
    return true;
  pid = fork();
  if (pid == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(ends[1], STDIN_FILENO) < 0)
      _exit(1);
    ft_io_close_from(1);
    look(path);
    _exit(0);
  }
  close(ends[1]);
  in_time = pid < 0 || ft_io_wait_ready(ends[0], POLLIN, ft_io_monotonic() + seconds);
  if (pid > 0)
    (void)reap_sandbox_child(pid, in_time, &status);
  close(ends[0]);
  return in_time;
}
