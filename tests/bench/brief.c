/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Error of a peak from ten samples a second, for a command with short-lived children. Two contexts
 * watch it at once: one ten times a second like the agent, one every 2 ms as the reference. Prints
 * one line of numbers, in MiB except for SECONDS:
 *
 *   SECONDS SAMPLED PEAK MOST DENSE DENSE_MOST CHARGE
 *
 * SAMPLED is the largest sum at a sample. PEAK includes the certain part of short-lived children,
 * MOST all of them. DENSE and DENSE_MOST are PEAK and MOST of the other context. CHARGE is the
 * kernel's peak for the command's cgroup, 0 without one.
 *
 *   brief FOLDER COMMAND...    FOLDER: an empty cgroup for the command, "" for none
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/measure/internal.h"
#include "predictor/core/io.h"
#include "predictor/core/units.h"

#define COARSE_SECONDS 0.1
#define DENSE_SECONDS 0.002

struct watcher {
  struct ft_measure *measure;
  struct ft_tree *tree;
  double next, sampled, most;
  ft_observation seen;
};

static int watcher_open(struct watcher *watcher, int root_fd, double seconds)
{
  const struct ft_measure_settings settings = { .root_fd = root_fd,
                                                .seconds = seconds,
                                                .rule = FT_RULE_RSS };
  struct ft_error err = { "" };

  watcher->measure = ft_measure_open(&settings, &err);
  watcher->tree = watcher->measure ? ft_tree_open(watcher->measure, &err) : NULL;
  if (!watcher->tree || ft_tree_add_root(watcher->tree, getpid(), true, &err) < 0) {
    fprintf(stderr, "brief: %s\n", err.text);
    return -1;
  }
  return 0;
}

static void take_sample(struct watcher *watcher, double now, double seconds)
{
  if (now < watcher->next)
    return;
  ft_measure_sample(watcher->measure);
  watcher->next = fmax(watcher->next + seconds, now);
}

static void watcher_close(struct watcher *watcher)
{
  struct ft_tree *tree = watcher->tree;

  ft_measure_sample(watcher->measure);
  watcher->sampled = tree->most.rss_bytes;
  watcher->most = tree->may_bytes;
  ft_tree_close(tree, &watcher->seen);
  ft_measure_close(watcher->measure);
}

/* The child waits until it is watched and in its cgroup. */
static pid_t begin(const char *folder, char **command, int *go)
{
  int pair[2];
  char byte;
  pid_t pid;

  if (pipe2(pair, O_CLOEXEC) < 0 || (pid = fork()) < 0)
    return -1;
  if (pid > 0) {
    close(pair[0]);
    *go = pair[1];
    return pid;
  }
  close(pair[1]);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (*folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int procs = openat(fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

    if (procs < 0 || write(procs, "0", 1) != 1)
      _exit(125);
  }
  if (read(pair[0], &byte, 1) != 1)
    _exit(125);
  execvp(command[0], command);
  _exit(127);
}

static double charge_of(const char *folder)
{
  static const char *const names[] = { "memory.max_usage_in_bytes", "memory.peak" };
  int fd = *folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  double value = 0;

  for (size_t i = 0; fd >= 0 && i < 2 && value <= 0; i++) {
    char text[64];

    if (ft_proc_read(fd, names[i], text, sizeof text) > 0)
      (void)ft_proc_number(text, &value);
  }
  if (fd >= 0)
    close(fd);
  return value;
}

int main(int argc, char **argv)
{
  static struct watcher coarse, dense;
  int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), go = -1, status = 0;
  double begun;
  pid_t pid;

  if (argc < 3) {
    fprintf(stderr, "usage: brief FOLDER COMMAND...\n");
    return 2;
  }
  pid = begin(argv[1], argv + 2, &go);
  if (pid < 0 || watcher_open(&coarse, root_fd, COARSE_SECONDS) < 0 ||
      watcher_open(&dense, root_fd, DENSE_SECONDS) < 0)
    return 3;
  ft_measure_sample(coarse.measure);
  ft_measure_sample(dense.measure);
  begun = coarse.next = dense.next = ft_io_monotonic();
  if (write(go, "", 1) != 1)
    return 3;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    const struct timespec pause = { 0, 500000 };
    double now = ft_io_monotonic();

    take_sample(&coarse, now, COARSE_SECONDS);
    take_sample(&dense, now, DENSE_SECONDS);
    nanosleep(&pause, NULL);
  }
  begun = ft_io_monotonic() - begun;
  watcher_close(&coarse);
  watcher_close(&dense);
  printf("%.2f %.1f %.1f %.1f %.1f %.1f %.1f\n", begun, coarse.sampled / (double)FT_MIB,
         (double)coarse.seen.rss_bytes / (double)FT_MIB, coarse.most / (double)FT_MIB,
         (double)dense.seen.rss_bytes / (double)FT_MIB, dense.most / (double)FT_MIB,
         charge_of(argv[1]) / (double)FT_MIB);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
