/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

#include "plugin/helper.h"
#include "predictor/core/io.h"
#include "predictor/core/rlimits.h"
#include "predictor/record/state_files.h"
#include "predictor/request/helper_protocol.h"

/* fork() without the SIGCHLD: the host neither sees a signal nor an unknown child, but of one that
 * has called exec, which the kernel makes a child like any other (begin_new_exec). */
static pid_t quiet_fork(void)
{
  return (pid_t)syscall(SYS_clone, 0UL, 0UL, 0UL, 0UL, 0UL);
}

/* End PID and take its status, unless it cannot die: then init will. */
static void reap(pid_t pid)
{
  const struct timespec pause = { .tv_nsec = 50000 };

  (void)kill(pid, SIGKILL);
  for (int i = 0; i < 40 && waitpid(pid, NULL, __WALL | WNOHANG) == 0; i++)
    (void)nanosleep(&pause, NULL);
}

/* As openat2(2) with FLAGS, of what the kernel's caches know without a word to any disk or server
 * (RESOLVE_CACHED, Linux 5.12); -1 with errno, EAGAIN where they do not know. */
static int open_cached(const char *path, int flags)
{
#if defined(SYS_openat2) && defined(RESOLVE_CACHED)
  struct open_how how = { .flags = (unsigned)flags, .resolve = RESOLVE_CACHED };
  int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);

  if (fd >= 0 || errno == ENOENT || errno == ENOTDIR || errno == EACCES)
    return fd;
#else
  (void)path;
  (void)flags;
#endif
  errno = EAGAIN;
  return -1;
}

/* A child with every signal blocked, so that none of the host's handlers runs in it. */
static pid_t start_deaf(sigset_t *saved)
{
  sigset_t all;
  pid_t pid;

  (void)sigfillset(&all);
  (void)sigprocmask(SIG_SETMASK, &all, saved);
  pid = quiet_fork();
  if (pid != 0)
    (void)sigprocmask(SIG_SETMASK, saved, NULL);
  return pid;
}

enum look { FAILED, LATE, NO, YES };

/*
 * What LOOK says of PATH in a child that has SECONDS; FAILED, with errno, where none could be made.
 * One that is stuck in the kernel may stay for as long as the disk hangs: it holds nothing of the
 * host's open, least of all the pipe from which somebody reads the job's number.
 */
static enum look look_at(bool (*look)(const char *path), const char *path, double seconds)
{
  double deadline = ft_io_monotonic() + seconds;
  char answer = LATE;
  sigset_t saved;
  int ends[2], why;
  pid_t pid;

  if (pipe2(ends, O_CLOEXEC) < 0)
    return FAILED;
  pid = start_deaf(&saved);
  if (pid == 0) {
    if (dup2(ends[1], STDIN_FILENO) < 0)
      _exit(1);
    ft_io_close_from(1);
    answer = look(path) ? YES : NO;
    _exit(write(STDIN_FILENO, &answer, 1) == 1 ? 0 : 1);
  }
  why = errno;
  close(ends[1]);
  if (pid > 0) {
    if (!ft_io_wait_ready(ends[0], POLLIN, deadline) || read(ends[0], &answer, 1) != 1)
      answer = LATE;
    reap(pid);
  }
  close(ends[0]);
  errno = why;
  return pid < 0 ? FAILED : (enum look)answer;
}

static bool exists(const char *path)
{
  return access(path, F_OK) == 0;
}

bool ft_helper_exists(const char *path, double seconds)
{
  int fd = open_cached(path, O_PATH | O_CLOEXEC);

  if (fd >= 0)
    close(fd);
  return fd >= 0 || (errno == EAGAIN && look_at(exists, path, seconds) == YES);
}

/* Whether what FD is of lies on a disk of this machine: what is not, may hang. No server is asked
 * (AT_STATX_DONT_SYNC). A disk that a process serves (fuseblk) is named by its dev_t, of 20 bits
 * for the minor number, among FUSE's connections (fuse_ctl_add_conn). */
static bool on_disk(int fd)
{
#ifdef AT_STATX_DONT_SYNC
  char disk[64], served[64];
  struct statx st;

  if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) == 0 && st.stx_dev_major) {
    (void)snprintf(disk, sizeof disk, "/sys/dev/block/%u:%u", st.stx_dev_major, st.stx_dev_minor);
    (void)snprintf(served, sizeof served, "/sys/fs/fuse/connections/%u",
                   st.stx_dev_major << 20 | st.stx_dev_minor);
    return access(disk, F_OK) == 0 && access(served, F_OK) < 0;
  }
#else
  (void)fd;
#endif
  return false;
}

/* What a submission reads first. That an answer came says more than the answer. */
static bool has_site(const char *path)
{
  int dirfd = open(path, O_PATH | O_DIRECTORY);
  int fd = dirfd < 0 ? -1 : openat(dirfd, FT_STATE_SITE, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  char byte;

  return fd >= 0 && read(fd, &byte, 1) == 1;
}

int ft_helper_open_state(const char *path, double seconds, struct ft_error *err)
{
  static bool late; /* a job of many components waits once */
  int flags = O_PATH | O_DIRECTORY | O_CLOEXEC, fd = open_cached(path, flags);

  if (fd >= 0 && on_disk(fd))
    return fd;
  if (fd < 0 && errno != EAGAIN)
    return ft_error_errno(err, "%s", path);
  if (fd >= 0)
    close(fd);
  if (!late) {
    enum look found = look_at(has_site, path, seconds);

    if (found == FAILED)
      return ft_error_errno(err, "%s", path);
    late = found == LATE;
  }
  if (late)
    return ft_error_set(err, "%s: no answer within %.0f ms", path, seconds * 1000);
  fd = open(path, flags);
  return fd < 0 ? ft_error_errno(err, "%s", path) : fd;
}

/* In the child, after quiet_fork: only what is safe there. Does not return. */
static void become_helper(const struct ft_helper *helper, int end)
{
  char milliseconds[24];
  char *const argv[] = { (char *)"helper",
                         (char *)"--state",
                         (char *)helper->state,
                         (char *)"--milliseconds",
                         milliseconds,
                         helper->user_apps ? (char *)"--user-apps" : NULL,
                         NULL };
  sigset_t none;
  int fd;

  (void)snprintf(milliseconds, sizeof milliseconds, "%u", helper->milliseconds);
  for (int s = 1; s < NSIG; s++)
    (void)signal(s, SIG_DFL);
  (void)sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
  end = fcntl(end, F_DUPFD, 3);
  fd = open("/dev/null", O_WRONLY);
  if (end < 0 || dup2(end, STDIN_FILENO) < 0 || dup2(end, STDOUT_FILENO) < 0 ||
      (fd >= 0 && fd != STDERR_FILENO && dup2(fd, STDERR_FILENO) < 0))
    _exit(127);
  ft_io_close_from(3);
  ft_rlimits_set(1 + helper->milliseconds / 1000);
  execv(helper->path, argv);
  _exit(127);
}

static pid_t start(const struct ft_helper *helper, int end)
{
  sigset_t saved;
  pid_t pid = start_deaf(&saved);

  if (pid == 0)
    become_helper(helper, end);
  return pid;
}

static int put(int fd, const struct ft_buf *frame, double deadline)
{
  size_t done = 0;

  while (done < frame->length) {
    ssize_t n = send(fd, frame->data + done, frame->length - done, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n > 0)
      done += (size_t)n;
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
      return -1;
    else if (!ft_io_wait_ready(fd, POLLOUT, deadline))
      return -1;
  }
  return shutdown(fd, SHUT_WR);
}

static int get(int fd, struct ft_buf *answer, double deadline)
{
  char chunk[4096];

  for (;;) {
    ssize_t n = recv(fd, chunk, sizeof chunk, MSG_DONTWAIT);

    if (n == 0)
      return 0;
    if (n > 0 && ft_buf_add(answer, chunk, (size_t)n) < 0)
      return -1;
    if (n < 0 && errno != EAGAIN && errno != EINTR)
      return -1;
    if (n < 0 && !ft_io_wait_ready(fd, POLLIN, deadline))
      return -1;
  }
}

/* The answer to what is asked, whole, or why there is none. */
static int receive(const struct ft_helper *helper, const struct ft_buf *frame,
                   struct ft_buf *answer, struct ft_error *err)
{
  double deadline = ft_io_monotonic() + helper->milliseconds / 1000.0;
  int ends[2], status = -1;
  pid_t pid;

  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
    return ft_error_errno(err, "%s", helper->path);
  pid = start(helper, ends[1]);
  if (pid < 0)
    ft_error_errno(err, "%s", helper->path);
  close(ends[1]);
  if (pid > 0) {
    if (put(ends[0], frame, deadline) == 0 && get(ends[0], answer, deadline) == 0 && answer->length)
      status = 0;
    else if (ft_io_monotonic() < deadline)
      ft_error_set(err, "%s: ended without an answer", helper->path);
    else
      ft_error_set(err, "%s: no answer within %u ms", helper->path, helper->milliseconds);
    reap(pid);
  }
  close(ends[0]);
  return status;
}

int ft_helper_describe(const struct ft_helper *helper, const struct ft_description *what,
                       const ft_request *request, const struct ft_network_request *asked,
                       ft_submission *out, ft_network **network, struct ft_error *err)
{
  ft_answer *described = malloc(sizeof *described);
  struct ft_buf frame, answer;
  int status = -1;

  ft_buf_init(&frame, FT_LIMIT_FRAME);
  ft_buf_init(&answer, FT_LIMIT_ENVIRONMENT);
  *network = NULL;
  if (!described)
    ft_error_errno(err, "%s", helper->path);
  else if (ft_helper_message_write(what, request, asked, &frame, err) == 0 &&
           receive(helper, &frame, &answer, err) == 0)
    status =
        ft_record_decode(FT_RECORD_ANSWER, ft_buf_text(&answer), answer.length, described, err);
  if (status == 0) {
    *out = described->submission;
    if (asked && described->has_network && (*network = malloc(sizeof **network)))
      **network = described->network;
    if (described->error[0])
      status = ft_error_set(err, "%s", described->error);
  }
  free(described);
  ft_buf_free(&frame);
  ft_buf_free(&answer);
  return status;
}
