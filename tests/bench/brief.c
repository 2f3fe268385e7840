/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measures the error of a peak from ten samples a second, for a command with short-lived children;
 * run by tests/bench/brief_children. Two samplers watch the command: one ten times a second like
 * the agent, one every 2 ms as the reference. Prints one line, in MiB except for SECONDS:
 *
 *   SECONDS SAMPLED PEAK MOST DENSE DENSE_MOST CHARGE
 *
 * SAMPLED is the largest sum at a sample. PEAK adds the lower bound of short-lived children's
 * memory, MOST the upper bound. DENSE and DENSE_MOST are PEAK and MOST of the reference. CHARGE is
 * the kernel's peak of the command's cgroup, 0 without one.
 *
 *   brief FOLDER COMMAND...    FOLDER: directory of an empty cgroup for the command, "" for none
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

/* Seconds between samples: the agent's default (sample_hz = 10); the reference's, by judgement. */
#define COARSE_SECONDS 0.1
#define DENSE_SECONDS 0.002

struct sampler {
  struct ft_measure *measure;
  struct ft_tree *tree;
  double next;                /* monotonic time of the next sample, seconds */
  double sampled, upper;      /* largest sum at a sample and upper bound of the peak, bytes */
  ft_observation observation; /* with the reported peak */
};

/* Opens a sampler of this process's children. Returns 0; -1 after an error message. */
static int sampler_open(struct sampler *sampler, int root_fd, double seconds)
{
  const struct ft_measure_settings settings = { .root_fd = root_fd,
                                                .seconds = seconds,
                                                .rule = FT_RULE_RSS };
  struct ft_error err = { "" };

  sampler->measure = ft_measure_open(&settings, &err);
  sampler->tree = sampler->measure ? ft_tree_open(sampler->measure, &err) : NULL;
  if (!sampler->tree || ft_tree_add_root(sampler->tree, getpid(), 0, true, &err) < 0) {
    fprintf(stderr, "brief: %s\n", err.text);
    return -1;
  }
  return 0;
}

/* Takes a sample if one is due at NOW. */
static void take_sample(struct sampler *sampler, double now, double seconds)
{
  if (now < sampler->next)
    return;
  ft_measure_sample(sampler->measure);
  sampler->next = fmax(sampler->next + seconds, now);
}

static void sampler_close(struct sampler *sampler)
{
  struct ft_tree *tree = sampler->tree;

  ft_measure_sample(sampler->measure);
  sampler->sampled = tree->max.rss_bytes;
  sampler->upper = tree->spike_bound_bytes;
  ft_tree_close(tree, &sampler->observation);
  ft_measure_close(sampler->measure);
}

/* Starts COMMAND in the cgroup FOLDER; it waits for a byte in *GO, which the caller writes when the
 * samplers are open. Returns the process ID; -1 on error. */
static pid_t start_command(const char *folder, char **command, int *go)
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

/* Returns the peak of the cgroup FOLDER in bytes; 0 without one. */
static double read_cgroup_peak(const char *folder)
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
  static struct sampler coarse, dense;
  int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), go = -1, status = 0;
  double seconds;
  pid_t pid;

  if (argc < 3) {
    fprintf(stderr, "usage: brief FOLDER COMMAND...\n");
    return 2;
  }
  pid = start_command(argv[1], argv + 2, &go);
  if (pid < 0 || sampler_open(&coarse, root_fd, COARSE_SECONDS) < 0 ||
      sampler_open(&dense, root_fd, DENSE_SECONDS) < 0)
    return 3;
  ft_measure_sample(coarse.measure);
  ft_measure_sample(dense.measure);
  seconds = coarse.next = dense.next = ft_io_monotonic();
  if (write(go, "", 1) != 1)
    return 3;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    const struct timespec pause = { 0, 500000 };
    double now = ft_io_monotonic();

    take_sample(&coarse, now, COARSE_SECONDS);
    take_sample(&dense, now, DENSE_SECONDS);
    nanosleep(&pause, NULL);
  }
  seconds = ft_io_monotonic() - seconds;
  sampler_close(&coarse);
  sampler_close(&dense);
  printf("%.2f %.1f %.1f %.1f %.1f %.1f %.1f\n", seconds, coarse.sampled / (double)FT_MIB,
         (double)coarse.observation.rss_bytes / (double)FT_MIB, coarse.upper / (double)FT_MIB,
         (double)dense.observation.rss_bytes / (double)FT_MIB, dense.upper / (double)FT_MIB,
         read_cgroup_peak(argv[1]) / (double)FT_MIB);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
