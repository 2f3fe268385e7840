/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measures the CPU cost of PSS readings. CHILDREN processes share MEGABYTES of their parent's
 * memory. They are sampled ten times a second under the PSS accounting rule, which reads most.
 * Prints after each quarter of SECONDS the CPU time above that of samples without PSS (their
 * median), as a share of a core, with the goal of 0.1 %; at the end the measured RSS and PSS.
 * Exits with 1 if the goal is missed.
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

/* CPU time of PSS readings as a share of a core. */
#define GOAL 0.001
/* Seconds between samples: the agent's default (sample_hz = 10). */
#define SAMPLE_SECONDS 0.1

enum { SAMPLES_LIMIT = 36000 }; /* an hour */

struct bench {
  struct ft_measure *measure;
  struct ft_tree *tree;
  double used[SAMPLES_LIMIT]; /* CPU seconds of each sample */
  size_t samples, rounds;     /* number of samples; of samples with PSS of all processes */
  double pss_bytes;           /* the latest PSS */
};

/* Returns argument INDEX as a number, or FALLBACK without one. */
static uint64_t parse_argument(int argc, char **argv, int index, uint64_t fallback)
{
  struct ft_text text = ft_text_from(index < argc ? argv[index] : "");
  uint64_t value;

  return ft_text_u64(&text, 1 << 20, &value) && !ft_text_left(&text) ? value : fallback;
}

static double cpu_seconds(void)
{
  struct timespec used;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* Runs the parent: writes its memory, forks the children that share it, and writes a byte to READY.
 * Does not return. */
static void run_parent(uint64_t children, uint64_t megabytes, int ready)
{
  size_t size = megabytes * FT_MIB;
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (memory == MAP_FAILED)
    _exit(1);
  /* Small pages are the most expensive to count; a fragmented node has them. */
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

/* Starts the tree and waits until it is complete. Returns the parent's ID; -1 on error. */
static pid_t start_tree(uint64_t children, uint64_t megabytes)
{
  int ready[2];
  char byte;
  pid_t pid;

  if (pipe(ready) < 0 || (pid = fork()) < 0)
    return -1;
  if (pid == 0)
    run_parent(children, megabytes, ready[1]);
  close(ready[1]);
  if (read(ready[0], &byte, 1) != 1)
    return -1;
  close(ready[0]);
  return pid;
}

static void take_sample(struct bench *bench)
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

/* Returns the CPU seconds of all samples above their median, the cost of one without PSS. */
static double pss_cpu_seconds(struct bench *bench)
{
  double median = ft_sort_median(bench->used, bench->samples), sum = 0;

  for (size_t i = 0; i < bench->samples; i++)
    sum += bench->used[i] - median;
  return sum > 0 ? sum : 0;
}

int main(int argc, char **argv)
{
  uint64_t children = parse_argument(argc, argv, 1, 50),
           megabytes = parse_argument(argc, argv, 2, 1024);
  uint64_t seconds = parse_argument(argc, argv, 3, 60);
  struct ft_measure_settings settings = { .seconds = SAMPLE_SECONDS, .rule = FT_RULE_PSS };
  static struct bench bench;
  size_t samples = (size_t)((double)seconds / SAMPLE_SECONDS);
  struct ft_error err = { "" };
  bool goal_met = true;
  pid_t pid = start_tree(children, megabytes);

  settings.root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (samples > SAMPLES_LIMIT)
    samples = SAMPLES_LIMIT;
  bench.measure = ft_measure_open(&settings, &err);
  bench.tree = bench.measure ? ft_tree_open(bench.measure, &err) : NULL;
  if (pid < 0 || !bench.tree || ft_tree_add_root(bench.tree, pid, 0, false, &err) < 0) {
    fprintf(stderr, "pss: no tree: %s\n", err.text);
    return 1;
  }
  /* The first sample discovers the tree. */
  ft_measure_sample(bench.measure);
  printf("%d processes share %d MiB\n", (int)children + 1, (int)megabytes);
  for (size_t i = 1; i <= samples; i++) {
    double above;

    take_sample(&bench);
    usleep((useconds_t)(1e6 * SAMPLE_SECONDS));
    if (i % (samples / 4 ? samples / 4 : 1))
      continue;
    above = pss_cpu_seconds(&bench);
    goal_met &= above <= GOAL * (double)i * SAMPLE_SECONDS;
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
  return goal_met ? 0 : 1;
}
