/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Real processes of this machine under the samplers: children to watch, and pipes that hold them.
 */
#ifndef FT_TESTS_UNIT_WATCH_H
#define FT_TESTS_UNIT_WATCH_H

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/measure/internal.h"
#include "predictor/core/io.h"
#include "predictor/core/units.h"

struct watch {
  int root_fd;
  struct ft_measure *measure;
  struct ft_tree *tree;
  ft_observation seen;
};

static inline void watch_open(struct watch *watch)
{
  struct ft_measure_settings settings = { .seconds = 0.1, .rule = FT_RULE_RSS };
  struct ft_error err = { "" };

  memset(watch, 0, sizeof *watch);
  watch->root_fd = settings.root_fd = open("/", O_RDONLY | O_DIRECTORY);
  watch->measure = ft_measure_open(&settings, &err);
  if (!watch->measure)
    fail_msg("%s", err.text);
  watch->tree = ft_tree_open(watch->measure, &err);
  assert_non_null(watch->tree);
  assert_int_equal(ft_tree_add_root(watch->tree, getpid(), 0, true, &err), 0);
  ft_measure_sample(watch->measure);
}

static inline void watch_close(struct watch *watch)
{
  ft_tree_close(watch->tree, &watch->seen);
  ft_measure_close(watch->measure);
  close(watch->root_fd);
}

/* Samples until TEST holds, 2 min at most, on a busy machine. */
static inline void sample_until(struct watch *watch, bool (*test)(struct watch *watch))
{
  struct timespec pause = { 0, 20000000 };

  for (int i = 0; i < 6000; i++) {
    ft_measure_sample(watch->measure);
    if (test(watch))
      return;
    nanosleep(&pause, NULL);
  }
  fail_msg("it never came to be: %u processes, %.1f MiB", ft_tree_latest(watch->tree)->processes,
           ft_tree_latest(watch->tree)->rss_bytes / (double)FT_MIB);
}

/* Children wait for a byte each on one pipe and report on the other. */
static struct {
  int go[2], told[2];
} gates;

static inline void hold(size_t mib)
{
  char *memory = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (memory == MAP_FAILED)
    _exit(9);
  memset(memory, 1, mib << 20);
}

static inline void open_gates(void)
{
  assert_int_equal(pipe(gates.go), 0);
  assert_int_equal(pipe(gates.told), 0);
}

static inline void close_gates(void)
{
  for (int i = 0; i < 2; i++) {
    close(gates.go[i]);
    close(gates.told[i]);
  }
}

/* Starts a child that runs BODY and then ends. Returns its pid. */
static inline pid_t begin(void (*body)(void))
{
  pid_t pid = fork();

  assert_true(pid >= 0);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    body();
    _exit(0);
  }
  return pid;
}

static inline void end(pid_t pid)
{
  kill(pid, SIGKILL);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static inline void hold_64(void)
{
  hold(64);
  pause();
}

static inline bool has_64(struct watch *watch)
{
  return ft_tree_latest(watch->tree)->rss_bytes >= 64.0 * FT_MIB;
}

static inline void doze(double seconds)
{
  struct timespec pause = { (time_t)seconds, (long)((seconds - floor(seconds)) * 1e9) };

  while (nanosleep(&pause, &pause) < 0 && errno == EINTR)
    ;
}

static inline void sample_for(struct watch *watch, double seconds, int samples)
{
  for (int i = 0; i < samples; i++) {
    ft_measure_sample(watch->measure);
    doze(seconds / samples);
  }
}

#endif
