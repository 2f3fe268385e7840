/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/measure/supervised.h"
#include "predictor/core/io.h"

/* The pause before the next child, at first and at most; it is doubled each time. By judgement. */
#define PAUSE_FIRST_SECONDS 5.0
#define PAUSE_LONGEST_SECONDS 600.0

/* A busy node may let the child wait for most of a second; a driver may take many seconds to load.
 */
struct ft_supervised_limits ft_supervised_limits = { .wait_seconds = 1, .stuck_seconds = 10 };

double ft_supervised_cpu_seconds(void)
{
  struct timespec used = { 0 };

  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* Serves the requests until the caller closes the socket FD, or ends. Its signals stay blocked: a
 * service manager sends them to this process, too. */
static _Noreturn void serve_requests(const struct ft_supervised *child, int fd)
{
  int kept = child->descriptor < 0 ? -1 : fcntl(child->descriptor, F_DUPFD, FT_SUPERVISED_FD + 1);
  int own = fcntl(fd, F_DUPFD, FT_SUPERVISED_FD + 1);
  char byte;

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (own < 0 || dup2(own, 3) < 0 || (kept >= 0 && dup2(kept, FT_SUPERVISED_FD) < 0))
    _exit(1);
  /* the lock of the state directory and the sockets are the caller's */
  ft_io_close_from(kept < 0 ? FT_SUPERVISED_FD : FT_SUPERVISED_FD + 1);
  while (recv(3, &byte, 1, 0) == 1) {
    child->serve(child->shared, child);
    if (send(3, &byte, 1, MSG_NOSIGNAL) != 1)
      break;
  }
  _exit(0);
}

void ft_supervised_close(struct ft_supervised *child)
{
  if (child->pid) {
    (void)kill(child->pid, SIGKILL);
    /* one that is stuck in the kernel may not end */
    (void)waitpid(child->pid, NULL, child->busy ? WNOHANG : 0);
    close(child->fd);
  }
  if (child->shared)
    (void)munmap(child->shared, child->size);
  child->shared = NULL;
  child->pid = 0;
  child->busy = false;
}

/* Ends the child, which has failed; the next one is started after a pause. */
static void give_up(struct ft_supervised *child)
{
  double pause = fmax(child->retry_seconds, PAUSE_FIRST_SECONDS);

  ft_supervised_close(child);
  child->retry_at = ft_io_monotonic() + pause;
  child->retry_seconds = fmin(2 * pause, PAUSE_LONGEST_SECONDS);
}

static int start_supervised(struct ft_supervised *child)
{
  int ends[2];

  child->shared =
      mmap(NULL, child->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (child->shared == MAP_FAILED) {
    child->shared = NULL;
    return -1;
  }
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    return -1;
  child->pid = fork();
  if (child->pid == 0)
    serve_requests(child, ends[1]);
  close(ends[1]);
  child->fd = ends[0];
  if (child->pid > 0)
    return 0;
  child->pid = 0;
  close(ends[0]);
  return -1;
}

/* Receives the reply within SECONDS. Returns 0; -1 with errno. */
static int await_child_reply(struct ft_supervised *child, double seconds)
{
  double until = ft_io_monotonic() + seconds, left = seconds;
  struct pollfd ready = { .fd = child->fd, .events = POLLIN };
  char byte;
  int found;

  while ((found = poll(&ready, 1, (int)ceil(1e3 * left))) < 0 && errno == EINTR)
    left = fmax(until - ft_io_monotonic(), 0);
  if (found == 0) {
    errno = ETIMEDOUT;
    return -1;
  }
  if (found > 0 && recv(child->fd, &byte, 1, MSG_DONTWAIT) == 1) {
    child->busy = false;
    child->retry_seconds = 0;
    return 0;
  }
  give_up(child);
  errno = EIO;
  return -1;
}

void *ft_supervised_begin(struct ft_supervised *child)
{
  double now = ft_io_monotonic();

  if (child->pid && child->busy && await_child_reply(child, 0) < 0) {
    if (child->pid && now - child->asked >= ft_supervised_limits.stuck_seconds) {
      child->replaced++;
      give_up(child);
    }
    return NULL;
  }
  if (child->pid)
    return child->shared;
  if (now < child->retry_at)
    return NULL;
  if (start_supervised(child) == 0)
    return child->shared;
  give_up(child);
  return NULL;
}

int ft_supervised_finish(struct ft_supervised *child, double seconds)
{
  char byte = 0;

  child->busy = true;
  child->asked = ft_io_monotonic();
  if (send(child->fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
    return await_child_reply(child, seconds);
  give_up(child);
  errno = EIO;
  return -1;
}

bool ft_supervised_is_blocked(const struct ft_supervised *child)
{
  return child->busy || child->retry_seconds > 0;
}
