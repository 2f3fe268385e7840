/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell profile: runs a command and measures it with the agent's samplers, without the agent.
 * Prints the command's use as one line or as JSON and writes the samples to a file for mprof plot.
 * The exit status is the command's.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "predictor/cli/profile.h"
#include "predictor/core/hot.h"
#include "predictor/core/io.h"
#include "predictor/core/units.h"

/* Range of the time between two samples, in seconds: below it sampling takes all of a CPU. */
#define MIN_SECONDS 0.001
#define MAX_SECONDS 3600.0

/* Exit status of a shell: not executable, not found, offset of signals (POSIX 2.8.2). */
enum { EXIT_NOT_RUN = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128 };

struct options {
  double seconds;
  const char *output;
  bool no_output, json, quiet;
};

/* Samples that are written together: formatting takes a fifth of the time of a sample. */
enum { WAITING_LIMIT = 64 };

struct waiting {
  double rss_bytes, time; /* seconds of UTC */
};

struct profile {
  struct options options;
  char **command;
  char name[80]; /* default name of the output */
  FILE *output;  /* NULL: none */
  struct ft_measure *measure;
  struct ft_tree *tree;
  int go_fd;    /* a byte written here starts the command */
  int error_fd; /* the command's errno if exec failed */
  pid_t pid;
  bool ended;
  int status; /* as of waitpid */
  double begun, runtime;
  double max_rss_bytes; /* as sampled so far */
  struct waiting waiting[WAITING_LIMIT];
  size_t waiting_count;
  double next_flush; /* of output */
  bool progress;     /* standard error is a terminal */
  bool shown;        /* the progress line is on the terminal */
  double next_show;
  sigset_t signals, inherited;
};

/* ---- the file ---- */

/* Seconds of samples that are lost if foretell is killed. */
#define FLUSH_SECONDS 1.0

/* Writes the command as one line, which mprof shows as the plot's title. */
static void write_command(FILE *file, char **command)
{
  fputs("CMDLINE", file);
  for (char **word = command; *word; word++) {
    fputc(' ', file);
    for (const char *p = *word; *p; p++)
      fputc((unsigned char)*p < ' ' ? '?' : *p, file);
  }
  fputc('\n', file);
}

enum { MAX_AT_ONCE = 10000 }; /* default outputs of one second */

/*
 * Creates the default output, with the time in its name, and sets PROFILE's name. A number keeps
 * the files of tasks that start in the same second apart. Returns its descriptor; -1 with errno.
 */
static int create_output(struct profile *profile)
{
  time_t now = time(NULL);
  struct tm parts;
  char day[32];
  int fd = -1;

  if (!localtime_r(&now, &parts) || !strftime(day, sizeof day, "%Y%m%d%H%M%S", &parts)) {
    errno = EOVERFLOW;
    return -1;
  }
  for (int i = 1; fd < 0 && i < MAX_AT_ONCE; i++) {
    char which[16] = "";

    if (i > 1)
      (void)snprintf(which, sizeof which, "-%d", i);
    (void)snprintf(profile->name, sizeof profile->name, "foretell_profile_%.20s%.8s.dat", day,
                   which);
    fd = open(profile->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0 && errno != EEXIST)
      break;
  }
  return fd;
}

static int open_output(struct profile *profile)
{
  const char *name = profile->options.output;
  int fd;

  if (profile->options.no_output)
    return 0;
  if (name) {
    fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
  } else {
    fd = create_output(profile);
    name = profile->options.output = profile->name;
  }
  profile->output = fd < 0 ? NULL : fdopen(fd, "w");
  if (!profile->output) {
    int saved = errno;

    if (fd >= 0)
      close(fd);
    return ft_print_error("profile", -1, "%s: %s; --no-output writes no file",
                          *name ? name : "foretell_profile", strerror(saved));
  }
  write_command(profile->output, profile->command);
  return 0;
}

/* A write error such as a full disk ends the file, not the command. */
static void write_samples(struct profile *profile)
{
  if (!profile->output)
    return;
  for (size_t i = 0; i < profile->waiting_count; i++)
    fprintf(profile->output, "MEM %.6f %.4f\n", profile->waiting[i].rss_bytes / (double)FT_MIB,
            profile->waiting[i].time);
  profile->waiting_count = 0;
  (void)fflush(profile->output);
  if (!ferror(profile->output))
    return;
  ft_print_error("profile", 0, "%s: %s; measuring continues without the file",
                 profile->options.output, strerror(errno));
  fclose(profile->output);
  profile->output = NULL;
}

FT_HOT static void keep_sample(struct profile *profile, const struct ft_sample *sample)
{
  if (!profile->output)
    return;
  profile->waiting[profile->waiting_count++] = (struct waiting){ sample->rss_bytes, ft_io_now() };
  if (sample->time < profile->next_flush && profile->waiting_count < WAITING_LIMIT)
    return;
  write_samples(profile);
  profile->next_flush = sample->time + FLUSH_SECONDS;
}

/* ---- the command ---- */

/* In the child: waits until it is measured, then executes the command. */
static void exec_command(const struct profile *profile, int go_fd, int error_fd)
{
  char byte;
  ssize_t got;

  do
    got = read(go_fd, &byte, 1);
  while (got < 0 && errno == EINTR);
  if (got != 1)
    _exit(EXIT_NOT_RUN); /* foretell ended before it began */
  sigprocmask(SIG_SETMASK, &profile->inherited, NULL);
  execvp(profile->command[0], profile->command);
  (void)!write(error_fd, &errno, sizeof errno);
  _exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}

/* Forks the command's process, which waits before its exec. Returns 0; -1 after an error message.
 */
static int fork_command(struct profile *profile)
{
  int go[2] = { -1, -1 }, error[2] = { -1, -1 };

  if (pipe2(go, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0)
    goto fail;
  profile->pid = fork();
  if (profile->pid < 0)
    goto fail;
  if (profile->pid == 0) {
    close(go[1]);
    exec_command(profile, go[0], error[1]);
  }
  close(go[0]);
  close(error[1]);
  profile->go_fd = go[1];
  profile->error_fd = error[0];
  return 0;

fail:
  for (int i = 0; i < 2; i++) {
    if (go[i] >= 0)
      close(go[i]);
    if (error[i] >= 0)
      close(error[i]);
  }
  return ft_print_error("profile", -1, "cannot start the command: %s", strerror(errno));
}

/* Starts the command. Returns 0; if its exec failed, the exit status 126 or 127 after an error
 * message. */
static int release_command(struct profile *profile)
{
  int code = 0;
  ssize_t got;

  profile->begun = ft_io_monotonic();
  (void)!write(profile->go_fd, "", 1);
  close(profile->go_fd);
  profile->go_fd = -1;
  do
    got = read(profile->error_fd, &code, sizeof code);
  while (got < 0 && errno == EINTR);
  if (got != sizeof code)
    return 0;
  ft_print_error("profile", 0, "%s: %s", profile->command[0], strerror(code));
  return code == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

/*
 * Reaps ended children: the command, and processes that it left behind, because this process is
 * their subreaper.
 */
static void reap_children(struct profile *profile)
{
  int status;
  pid_t pid;

  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid != profile->pid)
      continue;
    profile->ended = true;
    profile->status = status;
    profile->runtime = ft_io_monotonic() - profile->begun;
  }
}

static void record_end(struct profile *profile)
{
  struct rusage usage;
  ft_task_end end = ft_task_end_init_zero;

  if (getrusage(RUSAGE_CHILDREN, &usage) < 0)
    return;
  end.pid = (uint32_t)getpid();
  end.status = profile->status;
  end.has_largest_process_bytes = end.has_cpu_seconds = true;
  end.has_minor_faults = end.has_major_faults = end.has_system_seconds = true;
  end.largest_process_bytes = (uint64_t)usage.ru_maxrss * FT_KIB;
  end.system_seconds = (double)usage.ru_stime.tv_sec + 1e-6 * (double)usage.ru_stime.tv_usec;
  end.cpu_seconds =
      (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec + end.system_seconds;
  end.minor_faults = (uint64_t)usage.ru_minflt;
  end.major_faults = (uint64_t)usage.ru_majflt;
  end.last = true;
  ft_tree_add_end(profile->tree, &end);
}

/*
 * Forwards a signal to the command. The kernel has already sent signals of the terminal to its
 * whole foreground process group.
 */
static void forward_signal(const struct profile *profile, const siginfo_t *info)
{
  if (info->si_code != SI_KERNEL && !profile->ended)
    kill(profile->pid, info->si_signo);
}

/* ---- sampling ---- */

FT_HOT static void show_progress(struct profile *profile, const struct ft_sample *sample)
{
  char elapsed[32], rss[32], peak[32];

  if (!profile->progress || sample->time < profile->next_show)
    return;
  ft_units_show_seconds(sample->time - profile->begun, elapsed, sizeof elapsed);
  ft_units_show_bytes((uint64_t)fmax(sample->rss_bytes, 0), rss, sizeof rss);
  ft_units_show_bytes((uint64_t)fmax(profile->max_rss_bytes, 0), peak, sizeof peak);
  fprintf(stderr, "\r\033[K%s  now %s  peak %s  %u processes", elapsed, rss, peak,
          sample->processes);
  fflush(stderr);
  profile->shown = true;
  profile->next_show = sample->time + 0.1;
}

FT_HOT static void take_sample(struct profile *profile)
{
  const struct ft_sample *sample;

  ft_measure_sample(profile->measure);
  sample = ft_tree_latest(profile->tree);
  profile->max_rss_bytes = fmax(profile->max_rss_bytes, sample->rss_bytes);
  keep_sample(profile, sample);
  show_progress(profile, sample);
}

/* Waits until TIME, or until the command has ended. */
FT_HOT static void wait_until(struct profile *profile, double time)
{
  while (!profile->ended) {
    double left = time - ft_io_monotonic();
    struct timespec timeout;
    siginfo_t info;
    int signal;

    if (left <= 0)
      return;
    timeout.tv_sec = (time_t)left;
    timeout.tv_nsec = (long)((left - (double)timeout.tv_sec) * 1e9);
    signal = sigtimedwait(&profile->signals, &info, &timeout);
    if (signal == SIGCHLD)
      reap_children(profile);
    else if (signal > 0)
      forward_signal(profile, &info);
  }
}

/* Samples at fixed times until the command ends; skips samples that a busy node has delayed. */
FT_HOT static void watch(struct profile *profile)
{
  double next = profile->begun;

  for (;;) {
    double now = ft_io_monotonic();

    next += profile->options.seconds;
    if (next < now)
      next = now;
    wait_until(profile, next);
    if (profile->ended)
      return;
    take_sample(profile);
  }
}

/* RSS counts a shared page once per process. The summary has PSS, too, if it is lower by at least
 * this fraction. */
#define SHARED_PART 0.1

static void print_summary(const struct profile *profile, const ft_observation *seen)
{
  char peak[32], runtime[32], once[32], shared[96] = "";

  if (profile->shown)
    fputs("\r\033[K", stderr);
  if (profile->options.quiet)
    return;
  ft_units_show_bytes(seen->has_rss_bytes ? seen->rss_bytes : 0, peak, sizeof peak);
  ft_units_show_seconds(profile->runtime, runtime, sizeof runtime);
  if (seen->has_pss_bytes &&
      (double)seen->pss_bytes < (1 - SHARED_PART) * (double)seen->rss_bytes) {
    ft_units_show_bytes(seen->pss_bytes, once, sizeof once);
    snprintf(shared, sizeof shared, "; shared pages counted once (PSS) %s", once);
  }
  fprintf(stderr, "foretell: peak %s%s (RSS%s) in %s, %u samples%s%s\n",
          seen->peak_is_bound ? "at least " : "", peak, shared, runtime, seen->samples,
          profile->output ? ", in " : "", profile->output ? profile->options.output : "");
}

static int print_profile_json(const struct profile *profile, const ft_observation *seen)
{
  const struct ft_profile known = { .command = profile->command,
                                    .measure = profile->measure,
                                    .output = profile->output ? profile->options.output : NULL,
                                    .status = profile->status,
                                    .runtime = profile->runtime,
                                    .seconds = profile->options.seconds };

  return ft_json_print(ft_profile_json(&known, seen));
}

/* ---- the run ---- */

static int start_measure(struct profile *profile)
{
  struct ft_measure_settings settings = { .seconds = profile->options.seconds };
  struct ft_error err;

  settings.root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (settings.root_fd < 0)
    return ft_print_error("profile", -1, "/: %s", strerror(errno));
  profile->measure = ft_measure_open(&settings, &err);
  profile->tree = profile->measure ? ft_tree_open(profile->measure, &err) : NULL;
  return profile->tree ? 0 : ft_print_error("profile", -1, "%s", err.text);
}

/* Blocks signals that would end foretell, so that it forwards them and outlives the command. */
static void block_signals(struct profile *profile)
{
  static const int wanted[] = { SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 };

  sigemptyset(&profile->signals);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    sigaddset(&profile->signals, wanted[i]);
  sigprocmask(SIG_BLOCK, &profile->signals, &profile->inherited);
}

static int run_profile(struct profile *profile)
{
  struct ft_error err;
  ft_observation *seen = calloc(1, sizeof *seen);
  int status = FT_EXIT_SYSTEM, failed;

  if (!seen)
    return ft_print_error("profile", FT_EXIT_SYSTEM, "out of memory");
  /* orphans of the command become children of this process and are still measured */
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  block_signals(profile);
  if (fork_command(profile) < 0)
    goto out;
  if (ft_tree_add_root(profile->tree, getpid(), 0, true, &err) < 0) {
    ft_print_error("profile", 0, "%s", err.text);
    goto out;
  }
  /* sampled before it starts, so that the counters cover the whole command */
  ft_measure_sample(profile->measure);
  failed = release_command(profile);
  if (failed) {
    status = failed;
    goto out;
  }
  profile->progress = !profile->options.quiet && isatty(STDERR_FILENO);
  watch(profile);
  write_samples(profile);
  record_end(profile);
  ft_tree_close(profile->tree, seen);
  profile->tree = NULL;
  print_summary(profile, seen);
  status = WIFSIGNALED(profile->status) ? EXIT_SIGNAL + WTERMSIG(profile->status)
                                        : WEXITSTATUS(profile->status);
  if (profile->options.json && print_profile_json(profile, seen) != FT_EXIT_DONE)
    status = FT_EXIT_SYSTEM;

out:
  free(seen);
  return status;
}

int ft_command_profile(int argc, char **argv)
{
  struct profile profile = { .options.seconds = 0.1, .go_fd = -1, .error_fd = -1 };
  struct options *options = &profile.options;
  const struct ft_option table[] = {
    { 'i', "interval", "SECONDS", "time between two samples (0.1)", FT_OPTION_DOUBLE,
      &options->seconds },
    { 'o', "output", "FILE", "file of the samples, for mprof plot (foretell_profile_TIME.dat)",
      FT_OPTION_STRING, &options->output },
    { 0, "no-output", NULL, "write no file", FT_OPTION_FLAG, &options->no_output },
    { 0, "json", NULL, "print the measurements as one JSON object, after the command's output",
      FT_OPTION_FLAG, &options->json },
    { 'q', "quiet", NULL, "show no progress and no summary", FT_OPTION_FLAG, &options->quiet },
    { 0 }
  };
  int status = FT_EXIT_USAGE;
  int first = ft_options_parse(table, "[OPTION]... [--] COMMAND [ARGUMENT]...",
                               "Runs COMMAND and measures it as the agent measures a job.",
                               FT_OPERANDS_COMMAND, argc, argv, &status);

  if (first < 0)
    return status;
  if (first >= argc)
    return ft_print_error("profile", FT_EXIT_USAGE, "missing command; see foretell profile --help");
  if (!(options->seconds >= MIN_SECONDS && options->seconds <= MAX_SECONDS))
    return ft_print_error("profile", FT_EXIT_USAGE, "--interval=%g: expected %g to %g seconds",
                          options->seconds, MIN_SECONDS, MAX_SECONDS);
  if (options->output && options->no_output)
    return ft_print_error("profile", FT_EXIT_USAGE, "--output and --no-output exclude one another");
  profile.command = argv + first;
  if (open_output(&profile) < 0)
    return FT_EXIT_USAGE;
  status = start_measure(&profile) < 0 ? FT_EXIT_SYSTEM : run_profile(&profile);
  ft_tree_close(profile.tree, NULL);
  ft_measure_close(profile.measure);
  if (profile.output && fclose(profile.output) != 0)
    ft_print_error("profile", 0, "%s: %s", options->output, strerror(errno));
  if (profile.go_fd >= 0)
    close(profile.go_fd);
  if (profile.error_fd >= 0)
    close(profile.error_fd);
  return status;
}
