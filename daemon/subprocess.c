/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/subprocess.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

enum { MAX_ARGUMENTS = 15 };

struct child {
  struct ft_subprocesses *children;
  struct ft_watch pipe;
  struct ft_timer deadline;
  char name[64];
  pid_t pid;
  bool reaped, output_closed, timed_out;
  int status;
  struct ft_buf output;
  ft_subprocess_callback *call;
  void *data;
  struct child *next;
};

struct ft_subprocesses {
  struct ft_loop *loop;
  char **environment;
  struct child *list;
};

static void free_child(struct child *c)
{
  struct child **at = &c->children->list;

  while (*at != c)
    at = &(*at)->next;
  *at = c->next;
  ft_loop_cancel(c->children->loop, &c->deadline);
  if (c->pipe.fd >= 0) {
    ft_loop_unwatch(c->children->loop, &c->pipe);
    close(c->pipe.fd);
  }
  ft_buf_free(&c->output);
  free(c);
}

/* Returns the last line of OUTPUT that is not blank, where commands print why they failed. */
static struct ft_text last_line(const struct ft_buf *output)
{
  struct ft_text all = ft_text_of(ft_buf_text(output), output->length), line, last = { 0 };

  while (ft_text_line(&all, &line)) {
    line = ft_text_trim(line);
    if (ft_text_left(&line))
      last = line;
  }
  return last;
}

static void describe_failure(const struct child *c, struct ft_subprocess_result *result)
{
  struct ft_text line = last_line(&c->output);
  int length = (int)(ft_text_left(&line) < 160 ? ft_text_left(&line) : 160);

  if (c->timed_out)
    (void)snprintf(result->why, sizeof result->why, "%s: deadline passed", c->name);
  else if (c->output.failed)
    (void)snprintf(result->why, sizeof result->why, "%s: printed more than %zu bytes", c->name,
                   c->output.limit);
  else if (WIFEXITED(c->status))
    (void)snprintf(result->why, sizeof result->why, "%s: exit status %d: %.*s", c->name,
                   WEXITSTATUS(c->status), length, line.at ? line.at : "");
  else
    (void)snprintf(result->why, sizeof result->why, "%s: killed by signal %d", c->name,
                   WTERMSIG(c->status));
}

static void complete_if_done(struct child *c)
{
  struct ft_subprocess_result result = { 0 };
  ft_subprocess_callback *call = c->call;
  void *data = c->data;

  if (!c->reaped || !c->output_closed)
    return;
  result.ok = !c->timed_out && !c->output.failed && WIFEXITED(c->status) && !WEXITSTATUS(c->status);
  result.too_long = c->output.failed;
  result.text = ft_buf_text(&c->output);
  result.length = c->output.length;
  if (!result.ok)
    describe_failure(c, &result);
  call(&result, data);
  free_child(c);
}

static void end_output(struct child *c)
{
  c->output_closed = true;
  ft_loop_unwatch(c->children->loop, &c->pipe);
  close(c->pipe.fd);
  c->pipe.fd = -1;
}

static void kill_group(const struct child *c)
{
  if (!c->reaped)
    (void)kill(-c->pid, SIGKILL);
}

static void output_ready(struct ft_watch *watch)
{
  struct child *c = watch->data;
  char chunk[16384];
  ssize_t got = read(watch->fd, chunk, sizeof chunk);

  if (got < 0 && (errno == EINTR || errno == EAGAIN))
    return;
  if (got > 0 && ft_buf_add(&c->output, chunk, (size_t)got) == 0)
    return;
  if (got > 0)
    kill_group(c);
  end_output(c);
  complete_if_done(c);
}

static void deadline_passed(void *data)
{
  struct child *c = data;

  c->timed_out = true;
  kill_group(c);
  if (!c->output_closed)
    end_output(c);
  complete_if_done(c);
}

static void child_reaped(pid_t pid, int status, void *data)
{
  struct ft_subprocesses *children = data;

  for (struct child *c = children->list; c; c = c->next)
    if (c->pid == pid && !c->reaped) {
      c->reaped = true;
      c->status = status;
      complete_if_done(c);
      return;
    }
}

/* Returns the daemon's environment with times in UTC and in Slurm's standard form, and untranslated
 * messages. */
static char **make_environment(void)
{
  static char tz[] = "TZ=UTC0", format[] = "SLURM_TIME_FORMAT=standard", locale[] = "LC_ALL=C";
  size_t count = 0, used = 0;
  char **out;

  while (environ[count])
    count++;
  out = calloc(count + 4, sizeof *out);
  if (!out)
    return NULL;
  for (size_t i = 0; i < count; i++)
    if (strncmp(environ[i], "TZ=", 3) != 0 && strncmp(environ[i], "LC_ALL=", 7) != 0 &&
        strncmp(environ[i], "SLURM_TIME_FORMAT=", 18) != 0)
      out[used++] = environ[i];
  out[used++] = tz;
  out[used++] = format;
  out[used] = locale;
  return out;
}

struct ft_subprocesses *ft_subprocesses_open(struct ft_loop *loop)
{
  struct ft_subprocesses *children = calloc(1, sizeof *children);

  if (!children)
    return NULL;
  children->loop = loop;
  children->environment = make_environment();
  if (!children->environment) {
    free(children);
    return NULL;
  }
  ft_loop_on_child(loop, child_reaped, children);
  return children;
}

void ft_subprocesses_close(struct ft_subprocesses *children)
{
  if (!children)
    return;
  while (children->list) {
    kill_group(children->list);
    free_child(children->list);
  }
  ft_loop_on_child(children->loop, NULL, NULL);
  free(children->environment);
  free(children);
}

/* Starts ARGV with standard input from INPUT (-1: empty). Returns 0; an errno. */
static int spawn_command(struct child *c, const char *const *argv, int input, int output)
{
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  char *arguments[MAX_ARGUMENTS + 1] = { 0 };
  sigset_t none, broken_pipe;
  int status;

  for (int i = 0; i < MAX_ARGUMENTS && argv[i]; i++)
    arguments[i] = (char *)(uintptr_t)argv[i];
  sigemptyset(&none);
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  if (input < 0)
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  else
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigdefault(&attributes, &broken_pipe);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  status = posix_spawnp(&c->pid, arguments[0], &actions, &attributes, arguments,
                        c->children->environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return status;
}

/*
 * Watches C's output, the pipe ENDS, and arms the deadline SECONDS from now. STATUS is the errno of
 * the start, or 0. Takes ownership of C and ENDS. Returns 0; -1 and ERR.
 */
static int register_child(struct child *c, const int *ends, int status, double seconds,
                          struct ft_error *err)
{
  close(ends[1]);
  c->pipe = (struct ft_watch){ ends[0], output_ready, c };
  if (status || ft_loop_watch(c->children->loop, &c->pipe) < 0) {
    errno = status ? status : errno;
    status = ft_error_errno(err, "%s", c->name);
    if (c->pid > 0)
      (void)kill(-c->pid, SIGKILL);
    close(ends[0]);
    free(c);
    return status;
  }
  ft_buf_init(&c->output, FT_LIMIT_COMMAND);
  c->deadline = (struct ft_timer){ .fire = deadline_passed, .data = c };
  ft_loop_at(c->children->loop, &c->deadline, ft_io_monotonic() + seconds);
  c->next = c->children->list;
  c->children->list = c;
  return 0;
}

static struct child *new_child(struct ft_subprocesses *children, const char *name, int *ends,
                               ft_subprocess_callback *call, void *data, struct ft_error *err)
{
  struct child *c = calloc(1, sizeof *c);

  if (!c || pipe2(ends, O_CLOEXEC) < 0) {
    ft_error_errno(err, "%s", name);
    free(c);
    return NULL;
  }
  (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
  *c = (struct child){ .children = children, .call = call, .data = data };
  (void)ft_string_copy(name, c->name, sizeof c->name);
  return c;
}

int ft_subprocess_run(struct ft_subprocesses *children, const char *const *argv, double seconds,
                      ft_subprocess_callback *call, void *data, struct ft_error *err)
{
  int ends[2];
  struct child *c = new_child(children, argv[0], ends, call, data, err);

  return c ? register_child(c, ends, spawn_command(c, argv, -1, ends[1]), seconds, err) : -1;
}

/* Returns a descriptor of a file in memory with LENGTH bytes of INPUT; -1 with errno. */
static int open_input(const char *input, size_t length)
{
  int fd = memfd_create("input", MFD_CLOEXEC), why;

  if (fd < 0 || (ft_io_write_all(fd, input, length) == 0 && lseek(fd, 0, SEEK_SET) == 0))
    return fd;
  why = errno;
  close(fd);
  errno = why;
  return -1;
}

int ft_subprocess_run_input(struct ft_subprocesses *children, const char *const *argv,
                            const char *input, size_t length, double seconds,
                            ft_subprocess_callback *call, void *data, struct ft_error *err)
{
  int ends[2], status, in = open_input(input, length);
  struct child *c;

  if (in < 0)
    return ft_error_errno(err, "%s: standard input", argv[0]);
  c = new_child(children, argv[0], ends, call, data, err);
  status = c ? register_child(c, ends, spawn_command(c, argv, in, ends[1]), seconds, err) : -1;
  close(in);
  return status;
}

/* Moves FD to descriptor 3 and closes the daemon's other descriptors: its lock and sockets. */
static int close_all_but(int fd, int output)
{
  int directory = fcntl(fd, F_DUPFD, 3), in = open("/dev/null", O_RDONLY);

  if (directory < 0 || in < 0 || dup2(output, STDOUT_FILENO) < 0 ||
      dup2(output, STDERR_FILENO) < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(directory, 3) < 0)
    return -1;
  ft_io_close_from(4);
  return 0;
}

/* Limits the memory that the calling process may take in addition to what it has. */
static void limit_memory(void)
{
  struct rlimit limit;
  struct ft_buf text;
  struct ft_text line, word = { 0 };
  uint64_t pages = 0; /* of data, the sixth number by statm(5) */
  int words = 0;

  ft_buf_init(&text, FT_LIMIT_PROC);
  (void)ft_io_read_file(AT_FDCWD, "/proc/self/statm", &text, NULL);
  line = ft_text_of(ft_buf_text(&text), text.length);
  while (words < 6 && ft_text_word(&line, &word))
    words++;
  if (words == 6 && ft_text_u64(&word, UINT32_MAX, &pages)) {
    limit.rlim_cur = limit.rlim_max =
        pages * (rlim_t)sysconf(_SC_PAGESIZE) + FT_SUBPROCESS_FORK_BYTES;
    (void)setrlimit(RLIMIT_DATA, &limit);
  }
  ft_buf_free(&text);
}

/* Limits the calling process: it runs while a processor is idle, for CPU_SECONDS, with little
 * memory, writes no core file, and is killed if the daemon ends. */
static void limit_child(double cpu_seconds)
{
  const struct sched_param idle = { 0 };
  rlim_t seconds = (rlim_t)ceil(cpu_seconds);
  struct rlimit cpu = { seconds, seconds }, core = { 0, 0 };
  sigset_t none;

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)setpgid(0, 0);
  (void)setpriority(PRIO_PROCESS, 0, 19);
  (void)sched_setscheduler(0, SCHED_IDLE, &idle);
  limit_memory();
  (void)setrlimit(RLIMIT_CPU, &cpu);
  (void)setrlimit(RLIMIT_CORE, &core);
  (void)signal(SIGPIPE, SIG_DFL);
  sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

int ft_subprocess_fork(struct ft_subprocesses *children, const char *name,
                       ft_subprocess_main *entry, int fd, void *entry_data, double cpu_seconds,
                       double seconds, ft_subprocess_callback *call, void *data,
                       struct ft_error *err)
{
  int ends[2], status = 0;
  struct child *c = new_child(children, name, ends, call, data, err);

  if (!c)
    return -1;
  c->pid = fork();
  if (c->pid == 0) {
    limit_child(cpu_seconds);
    _exit(close_all_but(fd, ends[1]) < 0 ? 125 : entry(3, entry_data));
  }
  if (c->pid < 0)
    status = errno;
  else
    (void)setpgid(c->pid, c->pid); /* in both processes: either may run first */
  return register_child(c, ends, status, seconds, err);
}
