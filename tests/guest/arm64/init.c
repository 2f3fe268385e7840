/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The first and only program of the arm64 guest: an agent that measures unrelated
 * process trees with agent/measure. Their instructions are known, because their
 * work is a loop in assembler. Run as PID 1 it mounts /proc, runs the checks with
 * libpapi, again without it, prints TAP lines after "TAP " and powers off.
 */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/measure/measure.h"

/* Instructions of one iteration of loop(), and the iterations of one process's work. */
#define LOOP_INSTRUCTIONS 6
#define LOOP_ITERATIONS 4000000

/* Loops of the program that measure_skipped() starts: its dynamic linker takes 95,000 instructions.
 */
#define PROGRAM_LOOPS 10

/* Tolerance of a count in instructions: forking and waiting take a few thousand. */
#define TOLERANCE 1e-3

static unsigned tests;
static bool failed;

static void check(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void check(bool ok, const char *format, ...)
{
  va_list args;

  printf("TAP %sok %u - ", ok ? "" : "not ", ++tests);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  printf("\n");
  fflush(stdout);
  failed = failed || !ok;
}

static void loop(uint64_t iterations)
{
  __asm__ volatile("1: nop\n nop\n nop\n nop\n subs %0, %0, #1\n b.ne 1b\n"
                   : "+r"(iterations)
                   :
                   : "cc");
}

/* A tree that works on request: its root, the descriptors that start it, its number of loops. */
struct worker {
  pid_t pid;
  int start; /* a byte each for the process and for its existing child */
  unsigned loops;
};

static void wait_for_start(int fd)
{
  char byte;

  if (read(fd, &byte, 1) != 1)
    _exit(1);
}

/* Loops, forks a child that does the same to DEPTH, waits for it, loops again. */
static void work(unsigned depth)
{
  pid_t child;

  loop(LOOP_ITERATIONS);
  if (!depth)
    return;
  child = fork();
  if (child == 0) {
    work(depth - 1);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  loop(LOOP_ITERATIONS);
}

static unsigned loops_of(unsigned depth)
{
  return depth ? 2 + loops_of(depth - 1) : 1;
}

/* Starts a tree, with a child that existed before the measurement; neither works yet. */
static struct worker start_tree(unsigned depth)
{
  struct worker worker = { .loops = loops_of(depth) + 1 };
  int start[2], ready[2];
  char byte;

  if (pipe(start) < 0 || pipe(ready) < 0)
    abort();
  worker.start = start[1];
  worker.pid = fork();
  if (worker.pid == 0) {
    pid_t old = fork();

    if (old == 0) {
      if (write(ready[1], "r", 1) != 1)
        _exit(1);
      wait_for_start(start[0]);
      loop(LOOP_ITERATIONS);
      _exit(0);
    }
    wait_for_start(start[0]);
    work(depth);
    waitpid(old, NULL, 0);
    _exit(0);
  }
  if (read(ready[0], &byte, 1) != 1)
    abort();
  close(start[0]);
  close(ready[0]);
  close(ready[1]);
  return worker;
}

static double counter(const ft_observation *observation, const char *name)
{
  for (pb_size_t i = 0; i < observation->counters_count; i++)
    if (strcmp(observation->counters[i].name, name) == 0)
      return observation->counters[i].value;
  return -1;
}

static void check_count(const ft_observation *observation, const char *name, unsigned loops)
{
  double expected = (double)LOOP_INSTRUCTIONS * LOOP_ITERATIONS * loops,
         counted = counter(observation, name);

  check(fabs(counted - expected) <= TOLERANCE * expected,
        "%s counted %.0f of %.0f (%+.4f %%) in a tree that forks", name, counted, expected,
        100 * (counted / expected - 1));
}

/*
 * A root whose own work does not count (slurmstepd): it loops itself, then starts
 * a program that loops.
 */
static void measure_skipped(struct ft_measure *measure, const char *instructions)
{
  ft_observation *seen = calloc(1, sizeof *seen);
  struct ft_tree *tree;
  struct ft_error err;
  int start[2];
  pid_t root;

  if (pipe(start) < 0)
    abort();
  root = fork();
  if (root == 0) {
    wait_for_start(start[0]);
    loop(LOOP_ITERATIONS);
    if (fork() == 0)
      execl("/proc/self/exe", "init", "loop", NULL);
    wait(NULL);
    loop(LOOP_ITERATIONS);
    _exit(0);
  }
  tree = ft_tree_open(measure, &err);
  if (!tree || ft_tree_add_root(tree, root, 0, true, &err) < 0 || write(start[1], "g", 1) != 1)
    check(false, "%s", err.text);
  waitpid(root, NULL, 0);
  ft_tree_close(tree, seen);
  check_count(seen, instructions, PROGRAM_LOOPS);
  close(start[0]);
  close(start[1]);
  free(seen);
}

/* The programs that an agent executes do not inherit its counters. */
static void check_descriptors(void)
{
  unsigned counters = 0, kept = 0;

  for (int fd = 3; fd < 256; fd++) {
    char name[32], link[64] = "";

    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if (readlink(name, link, sizeof link - 1) <= 0 || !strstr(link, "perf_event"))
      continue;
    counters++;
    kept += fcntl(fd, F_GETFD) == FD_CLOEXEC;
  }
  check(counters > 0 && kept == counters, "%u of %u counters are closed on exec", kept, counters);
}

/* Measures two trees at once, attached from outside. */
static void measure_trees(struct ft_measure *measure, const char *instructions, const char *cycles)
{
  ft_observation *seen = calloc(2, sizeof *seen);
  struct worker workers[2] = { start_tree(1), start_tree(2) };
  struct ft_tree *trees[2];
  struct ft_error err;

  for (int i = 0; i < 2; i++) {
    trees[i] = ft_tree_open(measure, &err);
    if (!trees[i] || ft_tree_add_root(trees[i], workers[i].pid, 0, false, &err) < 0)
      check(false, "%s", err.text);
  }
  ft_measure_sample(measure);
  check_descriptors();
  for (int i = 0; i < 2; i++)
    if (write(workers[i].start, "go", 2) != 2)
      check(false, "a worker does not start");
  for (int i = 0; i < 2; i++) {
    while (waitpid(workers[i].pid, NULL, WNOHANG) == 0) {
      ft_measure_sample(measure);
      usleep(20000);
    }
    ft_tree_close(trees[i], &seen[i]);
    close(workers[i].start);
    check_count(&seen[i], instructions, workers[i].loops);
    check_count(&seen[i], cycles, workers[i].loops);
    check(counter(&seen[i], "context-switches") >= 1, "context-switches counted too: %.0f",
          counter(&seen[i], "context-switches"));
  }
  free(seen);
}

static const struct ft_measure_report *report_of(const struct ft_measure *measure, const char *name)
{
  size_t count;
  const struct ft_measure_report *reports = ft_measure_reports(measure, &count);

  for (size_t i = 0; i < count; i++)
    if (strcmp(reports[i].name, name) == 0)
      return &reports[i];
  abort();
}

static void check_perf(struct ft_measure *measure)
{
  const struct ft_measure_report *perf = report_of(measure, "perf");

  check(perf->works && strstr(perf->why, "instructions"), "perf counts instead: %s", perf->why);
  measure_trees(measure, "instructions", "cycles");
  measure_skipped(measure, "instructions");
}

static struct ft_measure *open_measure(void)
{
  struct ft_measure_settings settings = { .root_fd = open("/", O_RDONLY | O_DIRECTORY),
                                          .seconds = 0.1 };
  struct ft_error err;
  struct ft_measure *measure = ft_measure_open(&settings, &err);

  if (!measure)
    check(false, "%s", err.text);
  return measure;
}

/* Debian's kernels start with kernel.perf_event_paranoid at 3, at which PAPI offers no counters,
 * not even to root. */
static void papi_disabled(void)
{
  struct ft_measure *measure = open_measure();
  const struct ft_measure_report *papi = report_of(measure, "papi");

  check(!papi->works && strstr(papi->why, "set kernel.perf_event_paranoid to 2"),
        "PAPI disabled: %s", papi->why);
  check_perf(measure);
  ft_measure_close(measure);
}

static void papi_works(void)
{
  struct ft_measure *measure = open_measure();
  const struct ft_measure_report *papi = report_of(measure, "papi");

  check(papi->works, "PAPI counts: %s", papi->why);
  check(strstr(papi->why, "PAPI_L3_TCM") && strstr(papi->why, "not available on this processor"),
        "presets that this processor lacks are named");
  check(!strstr(papi->why, "PAPI_TOT_INS"), "those it has are not");
  measure_trees(measure, "PAPI_TOT_INS", "PAPI_TOT_CYC");
  measure_skipped(measure, "PAPI_TOT_INS");
  measure_trees(measure, "PAPI_TOT_INS", "PAPI_TOT_CYC");
  ft_measure_close(measure);
}

static void papi_missing(void)
{
  struct ft_measure *measure = open_measure();
  const struct ft_measure_report *papi = report_of(measure, "papi");

  check(!papi->works && strstr(papi->why, "libpapi"), "PAPI missing: %s", papi->why);
  check_perf(measure);
  ft_measure_close(measure);
}

static void set_paranoid(const char *level)
{
  int fd = open("/proc/sys/kernel/perf_event_paranoid", O_WRONLY);

  if (fd < 0 || write(fd, level, strlen(level)) < 0)
    check(false, "kernel.perf_event_paranoid cannot be set");
  close(fd);
}

static void run_agent(void)
{
  set_paranoid("3");
  papi_disabled();
  set_paranoid("2");
  papi_works();
  rename("/lib/papi", "/lib/no-papi");
  papi_missing();
  printf("TAP 1..%u\n", tests);
  fflush(stdout);
}

int main(int argc, char **argv)
{
  pid_t agent;
  int status = 0;

  if (argc > 1 && strcmp(argv[1], "loop") == 0) {
    for (int i = 0; i < PROGRAM_LOOPS; i++)
      loop(LOOP_ITERATIONS);
    return 0;
  }
  mount("proc", "/proc", "proc", 0, NULL);
  mount("sysfs", "/sys", "sysfs", 0, NULL);
  agent = fork();
  if (agent == 0) {
    run_agent();
    _exit(failed);
  }
  if (waitpid(agent, &status, 0) != agent || !WIFEXITED(status))
    printf("TAP Bail out! the agent ended by signal %d\n", WTERMSIG(status));
  fflush(stdout);
  sync();
  reboot(RB_POWER_OFF);
  return 0;
}
