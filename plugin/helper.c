/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Child processes with a deadline: checks of paths that may hang, and foretell-helper. */
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

/* fork() without SIGCHLD: Slurm's command gets no signal, and its wait() does not see the child.
 * exec makes it an ordinary child again (the kernel's begin_new_exec). */
static pid_t fork_without_signal(void)
{
  return (pid_t)syscall(SYS_clone, 0UL, 0UL, 0UL, 0UL, 0UL);
}

/* Kills PID and reaps it within about 2 ms; a child stuck in the kernel is left to init. */
static void kill_and_reap(pid_t pid)
{
  const struct timespec pause = { .tv_nsec = 50000 };

  (void)kill(pid, SIGKILL);
  for (int i = 0; i < 40 && waitpid(pid, NULL, __WALL | WNOHANG) == 0; i++)
    (void)nanosleep(&pause, NULL);
}

/* Opens PATH with FLAGS from the kernel's caches only, without disk or server access (openat2(2),
 * RESOLVE_CACHED, Linux 5.12). Returns -1 and sets errno, EAGAIN if PATH is not cached. */
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

/* Forks a child with all signals blocked, so that no handler of Slurm's command runs in it. */
static pid_t fork_with_blocked_signals(sigset_t *saved)
{
  sigset_t all;
  pid_t pid;

  (void)sigfillset(&all);
  (void)sigprocmask(SIG_SETMASK, &all, saved);
  pid = fork_without_signal();
  if (pid != 0)
    (void)sigprocmask(SIG_SETMASK, saved, NULL);
  return pid;
}

/* Result of a check in a child; LATE: none before the deadline. */
enum check_result { FAILED, LATE, NO, YES };

/*
 * Runs CHECK(PATH) in a child and waits for the result for at most SECONDS. Returns FAILED and sets
 * errno if no child can be made. A child stuck in the kernel lives until the disk responds. It
 * therefore keeps no descriptor of Slurm's command open: a script that reads the job ID from a pipe
 * would wait for it.
 */
static enum check_result check_in_child(bool (*check)(const char *path), const char *path,
                                        double seconds)
{
  double deadline = ft_io_monotonic() + seconds;
  char answer = LATE;
  sigset_t saved;
  int ends[2], why;
  pid_t pid;

  if (pipe2(ends, O_CLOEXEC) < 0)
    return FAILED;
  pid = fork_with_blocked_signals(&saved);
  if (pid == 0) {
    if (dup2(ends[1], STDIN_FILENO) < 0)
      _exit(1);
    ft_io_close_from(1);
    answer = check(path) ? YES : NO;
    _exit(write(STDIN_FILENO, &answer, 1) == 1 ? 0 : 1);
  }
  why = errno;
  close(ends[1]);
  if (pid > 0) {
    if (!ft_io_wait_ready(ends[0], POLLIN, deadline) || read(ends[0], &answer, 1) != 1)
      answer = LATE;
    kill_and_reap(pid);
  }
  close(ends[0]);
  errno = why;
  return pid < 0 ? FAILED : (enum check_result)answer;
}

static bool path_exists(const char *path)
{
  return access(path, F_OK) == 0;
}

bool ft_helper_exists(const char *path, double seconds)
{
  int fd = open_cached(path, O_PATH | O_CLOEXEC);

  if (fd >= 0)
    close(fd);
  return fd >= 0 || (errno == EAGAIN && check_in_child(path_exists, path, seconds) == YES);
}

/* Whether FD is on a disk of this machine; other file systems may hang. AT_STATX_DONT_SYNC contacts
 * no server. A process may serve a disk (fuseblk): FUSE then lists its dev_t, with 20 bits of minor
 * number, among its connections (fuse_ctl_add_conn). */
static bool is_on_local_disk(int fd)
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

/* Reads the first byte of the site file, as a submission does: any answer shows that the file
 * system responds. */
static bool has_site_file(const char *path)
{
  int dirfd = open(path, O_PATH | O_DIRECTORY);
  int fd = dirfd < 0 ? -1 : openat(dirfd, FT_STATE_SITE, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  char byte;

  return fd >= 0 && read(fd, &byte, 1) == 1;
}

int ft_helper_open_state(const char *path, double seconds, struct ft_error *err)
{
  static bool late; /* all components of a job wait only once */
  int flags = O_PATH | O_DIRECTORY | O_CLOEXEC, fd = open_cached(path, flags);

  if (fd >= 0 && is_on_local_disk(fd))
    return fd;
  if (fd < 0 && errno != EAGAIN)
    return ft_error_errno(err, "%s", path);
  if (fd >= 0)
    close(fd);
  if (!late) {
    enum check_result found = check_in_child(has_site_file, path, seconds);

    if (found == FAILED)
      return ft_error_errno(err, "%s", path);
    late = found == LATE;
  }
  if (late)
    return ft_error_set(err, "%s: no answer within %.0f ms", path, seconds * 1000);
  fd = open(path, flags);
  return fd < 0 ? ft_error_errno(err, "%s", path) : fd;
}

/* Executes the helper in the child, with the socket END as standard input and output. Calls only
 * functions that are safe after fork. Does not return. */
static void exec_helper(const struct ft_helper *helper, int end)
{
  char milliseconds[24];
  char *const argv[] = { (char *)"helper",         (char *)"--state", (char *)helper->state,
                         (char *)"--milliseconds", milliseconds,      NULL };
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

/* Sends the question. Returns 0; -1 on error or after the deadline. */
static int send_to_helper(const struct ft_helper *helper)
{
  const struct ft_buf *question = &helper->question;
  size_t done = 0;

  while (done < question->length) {
    ssize_t n = send(helper->fd, question->data + done, question->length - done,
                     MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n > 0)
      done += (size_t)n;
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
      return -1;
    else if (!ft_io_wait_ready(helper->fd, POLLOUT, helper->deadline))
      return -1;
  }
  return 0;
}

/* Returns the length of the whole answer that begins with the received bytes. */
static size_t answer_length(const struct ft_buf *reply)
{
  return FT_HELPER_HEADER + (reply->length < FT_HELPER_HEADER ? 0 : ft_helper_length(reply->data));
}

/* Receives one answer. Returns 0; -1 on error, after the deadline or over the limit. */
static int receive_answer(struct ft_helper *helper)
{
  struct ft_buf *reply = &helper->reply;
  char chunk[4096];
  size_t left;

  ft_buf_free(reply);
  while ((left = answer_length(reply) - reply->length) > 0) {
    ssize_t n = recv(helper->fd, chunk, left < sizeof chunk ? left : sizeof chunk, MSG_DONTWAIT);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
      return -1;
    if (n > 0 && (ft_buf_add(reply, chunk, (size_t)n) < 0 || answer_length(reply) > reply->limit))
      return -1;
    if (n < 0 && !ft_io_wait_ready(helper->fd, POLLIN, helper->deadline))
      return -1;
  }
  return 0;
}

static void note_helper_failure(struct ft_helper *helper, const struct ft_error *err)
{
  if (!helper->why.text[0])
    helper->why = *err;
}

/* Starts the helper process. Returns 0; -1 and fills ERR. */
static int start_helper(struct ft_helper *helper, struct ft_error *err)
{
  sigset_t saved;
  int ends[2];

  helper->deadline = ft_io_monotonic() + helper->milliseconds / 1000.0;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
    return ft_error_errno(err, "%s", helper->path);
  helper->pid = fork_with_blocked_signals(&saved);
  if (helper->pid == 0)
    exec_helper(helper, ends[1]);
  if (helper->pid < 0)
    ft_error_errno(err, "%s", helper->path);
  close(ends[1]);
  helper->fd = ends[0];
  return helper->pid < 0 ? -1 : 0;
}

/* Sends the question, which is complete unless STATUS is -1 (ERR: the reason), and receives the
 * answer. After a failure there are no more questions. Returns 0; -1 and notes the failure. */
static int query_helper(struct ft_helper *helper, int status, struct ft_error *err)
{
  if (helper->pid && helper->fd < 0)
    return -1;
  if (status == 0 && !helper->pid)
    status = start_helper(helper, err);
  if (status == 0 && (send_to_helper(helper) < 0 || receive_answer(helper) < 0)) {
    status =
        ft_io_monotonic() < helper->deadline
            ? ft_error_set(err, "%s: ended without an answer", helper->path)
            : ft_error_set(err, "%s: no answer within %u ms", helper->path, helper->milliseconds);
    close(helper->fd);
    helper->fd = -1;
  }
  ft_buf_free(&helper->question);
  if (status < 0)
    note_helper_failure(helper, err);
  return status;
}

/* Decodes the answer. Returns 0; -1 and notes the failure; an error in the answer is noted as well.
 */
static int read_answer(struct ft_helper *helper, ft_answer *answer, ft_apps *apps,
                       struct ft_text *text)
{
  const struct ft_buf *reply = &helper->reply;
  struct ft_error err;
  int status = ft_helper_answer_read(reply->data + FT_HELPER_HEADER,
                                     reply->length - FT_HELPER_HEADER, answer, apps, text, &err);

  if (status == 0 && answer->error[0])
    (void)ft_error_set(&err, "%s", answer->error);
  if (status < 0 || answer->error[0])
    note_helper_failure(helper, &err);
  return status;
}

static bool read_file(void *data, const char *path, struct ft_text *text)
{
  struct ft_helper *helper = data;
  ft_answer *answer = malloc(sizeof *answer);
  struct ft_error err;
  bool done =
      answer &&
      query_helper(helper, ft_helper_ask_text(path, helper->directory, &helper->question, &err),
                   &err) == 0 &&
      read_answer(helper, answer, NULL, text) == 0 && text->at;

  free(answer);
  return done;
}

void ft_helper_init(struct ft_helper *helper)
{
  helper->why.text[0] = '\0';
  helper->reader = (struct ft_file_reader){ read_file, helper };
  helper->pid = 0;
  helper->fd = -1;
  ft_buf_init(&helper->question, FT_LIMIT_FRAME);
  ft_buf_init(&helper->reply, FT_LIMIT_FRAME);
}

void ft_helper_end(struct ft_helper *helper)
{
  if (helper->pid > 0)
    kill_and_reap(helper->pid);
  if (helper->fd >= 0)
    close(helper->fd);
  ft_buf_free(&helper->question);
  ft_buf_free(&helper->reply);
}

int ft_helper_query_apps(struct ft_helper *helper, ft_apps *apps)
{
  ft_answer *answer = malloc(sizeof *answer);
  struct ft_error err;
  int status = -1;

  if (answer && query_helper(helper, ft_helper_ask_apps(&helper->question, &err), &err) == 0)
    status = read_answer(helper, answer, apps, NULL);
  free(answer);
  return status;
}

int ft_helper_query_files(struct ft_helper *helper, const struct ft_file_queries *files,
                          const char *array, ft_file_facts *facts, ft_job_array *tasks)
{
  ft_answer *answer = malloc(sizeof *answer);
  struct ft_error err;
  int status = -1;

  if (answer &&
      query_helper(helper,
                   ft_helper_ask_files(files, helper->directory, array, &helper->question, &err),
                   &err) == 0)
    status = read_answer(helper, answer, NULL, NULL);
  if (status == 0) {
    *facts = answer->facts;
    *tasks = answer->array;
  }
  free(answer);
  return status;
}

int ft_helper_query_network(struct ft_helper *helper, const struct ft_network_request *request,
                            ft_submission *submission, const ft_job_array *tasks,
                            ft_network **network)
{
  ft_answer *answer = malloc(sizeof *answer);
  struct ft_error err;
  int status = -1;

  *network = NULL;
  if (answer &&
      query_helper(helper,
                   ft_helper_ask_network(request, submission, tasks, &helper->question, &err),
                   &err) == 0)
    status = read_answer(helper, answer, NULL, NULL);
  if (status == 0) {
    ft_helper_add_features(answer, submission);
    if (answer->has_network && (*network = malloc(sizeof **network)))
      **network = answer->network;
  }
  free(answer);
  return status;
}
