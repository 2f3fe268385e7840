/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CPU cost of PSS readings: a tree of CHILDREN processes shares MEGABYTES of their parent's memory
 * and is sampled ten times a second under the PSS accounting rule, which has the most readings.
 * Prints after each quarter of SECONDS the CPU time above that of as many plain samples (by their
 * median), as a share of a core, beside the goal of 0.1 %; at the end the measured RSS and PSS.
 *
 *   pss [CHILDREN [MEGABYTES [SECONDS]]]    50, 1024 and 60
 */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/measure/measure.h"
#include "predictor/core/io.h"
#include "predictor/core/sort.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"

#define GOAL 0.001
#define SAMPLE_SECONDS 0.1

enum { SAMPLES_LIMIT = 36000 };

struct bench {
  struct ft_measure *measure;
  struct ft_tree *tree;
  double used[SAMPLES_LIMIT]; /* CPU seconds of each sample */
  size_t samples, rounds;     /* so far; and the number of samples with a PSS reading */
  double pss_bytes;
};

static uint64_t argument(int argc, char **argv, int index, uint64_t otherwise)
{
  struct ft_text text = ft_text_from(index < argc ? argv[index] : "");
  uint64_t value;

  return ft_text_u64(&text, 1 << 20, &value) && !ft_text_left(&text) ? value : otherwise;
}

static double cpu_seconds(void)
{
  struct timespec used;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* The tree: a parent with memory that it has written, which its children share by fork. */
static void grow(uint64_t children, uint64_t megabytes, int ready)
{
  size_t size = megabytes * FT_MIB;
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (memory == MAP_FAILED)
    _exit(1);
  /* small pages: a fragmented node has them, and they are the most expensive to count */
  madvise(memory, size, MADV_NOHUGEPAGE);
  memset(memory, 1, size);
  for (uint64_t i = 0; i < children; i++)
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;)
        pause();
    }
  (void)!write(ready, "", 1);
  for (;;)
    pause();
}

static pid_t begin(uint64_t children, uint64_t megabytes)
{
  int ready[2];
  char byte;
  pid_t pid;

  if (pipe(ready) < 0 || (pid = fork()) < 0)
    return -1;
  if (pid == 0)
    grow(children, megabytes, ready[1]);
  close(ready[1]);
  if (read(ready[0], &byte, 1) != 1)
    return -1;
  close(ready[0]);
  return pid;
}

static void take(struct bench *bench)
{
  double before = cpu_seconds();
  const struct ft_sample *sample;

  ft_measure_sample(bench->measure);
  bench->used[bench->samples++] = cpu_seconds() - before;
  sample = ft_tree_latest(bench->tree);
  if (sample->pss_bytes < 0)
    return;
  bench->rounds++;
  bench->pss_bytes = sample->pss_bytes;
}

/* Returns the CPU seconds of all samples above the plain ones. */
static double readings(struct bench *bench)
{
  double median = ft_sort_median(bench->used, bench->samples), sum = 0;

  for (size_t i = 0; i < bench->samples; i++)
    sum += bench->used[i] - median;
  return sum > 0 ? sum : 0;
}

int main(int argc, char **argv)
{
  uint64_t children = argument(argc, argv, 1, 50), megabytes = argument(argc, argv, 2, 1024);
  uint64_t seconds = argument(argc, argv, 3, 60);
  struct ft_measure_settings settings = { .seconds = SAMPLE_SECONDS, .rule = FT_RULE_PSS };
  static struct bench bench;
  size_t samples = (size_t)((double)seconds / SAMPLE_SECONDS);
  struct ft_error err = { "" };
  bool held = true;
  pid_t pid = begin(children, megabytes);

  settings.root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (samples > SAMPLES_LIMIT)
    samples = SAMPLES_LIMIT;
  bench.measure = ft_measure_open(&settings, &err);
  bench.tree = bench.measure ? ft_tree_open(bench.measure, &err) : NULL;
  if (pid < 0 || !bench.tree || ft_tree_add_root(bench.tree, pid, false, &err) < 0) {
    fprintf(stderr, "pss: no tree: %s\n", err.text);
    return 1;
  }
  /* the first sample finds the tree */
  ft_measure_sample(bench.measure);
  printf("%d processes share %d MiB\n", (int)children + 1, (int)megabytes);
  for (size_t i = 1; i <= samples; i++) {
    double above;

    take(&bench);
    usleep((useconds_t)(1e6 * SAMPLE_SECONDS));
    if (i % (samples / 4 ? samples / 4 : 1))
      continue;
    above = readings(&bench);
    held &= above <= GOAL * (double)i * SAMPLE_SECONDS;
    printf("after %3.0f s: %.1f ms, %.4f %% of a core (goal %.1f %%); %zu rounds over all\n",
           (double)i * SAMPLE_SECONDS, 1e3 * above, 100 * above / ((double)i * SAMPLE_SECONDS),
           100 * GOAL, bench.rounds);
  }
  printf("summed RSS %.0f MiB, PSS %.0f MiB\n",
         ft_tree_latest(bench.tree)->rss_bytes / (double)FT_MIB, bench.pss_bytes / (double)FT_MIB);
  ft_tree_close(bench.tree, NULL);
  ft_measure_close(bench.measure);
  close(settings.root_fd);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  return held ? 0 : 1;
}
