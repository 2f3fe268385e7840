/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measures the cost of --predict-perf and --predict-partition inside sbatch, from the files of the
 * state directory to the choice and the table. Data: run times of an app with 100 runs on each of
 * two platforms and transferred estimates for the other 14, 3 or 64 partitions.
 *
 *   placement
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/core/sort.h"
#include "predictor/core/text.h"
#include "predictor/decide/placement.h"
#include "predictor/online/performance.h"
#include "predictor/record/state_files.h"
#include "tests/unit/platforms.h"
#include "tests/unit/simulate.h"

enum { RUNS = 200, REPEATS = 2000, PARTITIONS = 64 };

static void fail(const char *what)
{
  (void)fprintf(stderr, "placement: %s: %s\n", what, strerror(errno));
  exit(1);
}

/* Writes the run-time model: runs on two platforms, transferred estimates for the others. */
static void write_runtimes(int folder_fd)
{
  static ft_performance p;
  static struct ft_runtimes runs;
  struct ft_random random;
  char name[FT_STATE_NAME_SIZE];
  struct ft_error err;

  ft_random_seed(&random, 1);
  ft_performance_init(&p, &runs, "app", getuid());
  for (unsigned run = 0; run < RUNS; run++) {
    ft_observation o = {
      .schema = 1, .job_id = run + 1, .end_time = run + 1.0, .outcome = FT_OUTCOME_COMPLETED
    };

    o.runtime_seconds = run_linear(&random, run, &o) / 1e8;
    category(&o, "arch", run % 3 ? "resnet50" : "vgg16");
    (void)snprintf(o.platform, sizeof o.platform, "platform-%u", run % 2);
    if (ft_performance_update(&p, &runs, &o, &err) <= 0)
      fail("run times");
  }
  for (unsigned i = 2; i < FT_RUNTIME_PLATFORMS; i++) {
    char platform[32];

    (void)snprintf(platform, sizeof platform, "platform-%u", i);
    ft_performance_set_transfer(&p, &runs, platform, 0.1 * i - 0.7, 0.1);
  }
  ft_state_model_name(p.app, name);
  if (ft_model_sections_write(&(struct ft_model_sections){ .performance = &p, .runtimes = &runs },
                              folder_fd, name, 0600, &err) < 0)
    fail(err.text);
}

static void write_partitions(int state_fd)
{
  ft_platforms platforms = some_platforms();
  struct ft_error err;
  static ft_partition partitions[PARTITIONS];
  int fd;

  for (unsigned i = 0; i < platforms.platforms_count; i++)
    (void)snprintf(platforms.platforms[i].name, sizeof platforms.platforms[i].name, "platform-%u",
                   i);
  if (ft_record_write(FT_RECORD_PLATFORMS, &platforms, state_fd, FT_STATE_PLATFORMS, 0644, &err) <
      0)
    fail(err.text);
  if (mkdirat(state_fd, FT_STATE_PARTITIONS, 0755) < 0 ||
      (fd = openat(state_fd, FT_STATE_PARTITIONS, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
    fail(FT_STATE_PARTITIONS);
  for (unsigned i = 0; i < PARTITIONS; i++) {
    char name[32], file[FT_STATE_NAME_SIZE], platform[32];

    (void)snprintf(name, sizeof name, "p%u", i);
    (void)snprintf(platform, sizeof platform, "platform-%u", i % FT_RUNTIME_PLATFORMS);
    partitions[i] = some_partition(name, platform, 8000);
    ft_state_partition_name(name, file);
    if (ft_record_write(FT_RECORD_PARTITION, &partitions[i], fd, file, 0644, &err) < 0)
      fail(err.text);
  }
  if (ft_record_write_list(FT_RECORD_PARTITION, partitions, sizeof *partitions, PARTITIONS, fd,
                           FT_STATE_PARTITION_LIST, 0644, &err) < 0)
    fail(err.text);
  (void)close(fd);
}

static void count_line(const char *line, void *data)
{
  *(size_t *)data += strlen(line);
}

/* Prints the median time of a decision over the partitions of LIST (NULL: all). */
static void measure(int state_fd, const char *list, const char *what)
{
  static struct ft_placement_evidence evidence;
  static struct ft_placement placement;
  static double took[REPEATS], reading[REPEATS];
  static ft_submission s = { .app = "app" };
  static struct ft_time_lookup time;
  static ft_site site = { .default_partition = "p0" };
  struct ft_placement_query q = { .submission = &s, .evidence = &evidence, .now = 1e9 };
  struct ft_placement_choice choice;
  size_t bytes = 0;
  struct ft_error err;

  for (int i = 0; i < REPEATS; i++) {
    double begin = ft_io_monotonic(), read;

    ft_time_lookup_clear(&time);
    if (ft_time_lookup_read(state_fd, getuid(), NULL, NULL, &s, &time, &err) < 0 ||
        ft_placement_read(state_fd, &site, getuid(), &s, list, &time, &evidence, &err) < 0)
      fail(err.text);
    read = ft_io_monotonic();
    ft_placement_evaluate(&q, &placement);
    ft_placement_choose(&q, &placement, FT_PLACEMENT_GOAL_FASTEST, "p0,p1,p2", true, &choice);
    ft_placement_table(&q, &placement, count_line, &bytes);
    took[i] = 1e6 * (ft_io_monotonic() - begin);
    reading[i] = 1e6 * (read - begin);
  }
  if (!placement.runtime_count || !choice.line[0])
    fail("the table is empty");
  printf("%s: %.0f us, of it reading %.0f us; the table has %zu bytes\n", what,
         ft_sort_median(took, REPEATS), ft_sort_median(reading, REPEATS), bytes / REPEATS);
}

int main(void)
{
  char directory[] = "/tmp/foretell-bench-XXXXXX", path[96], command[128];
  int state_fd, folder_fd;
  struct ft_error err;

  if (!mkdtemp(directory))
    fail("mkdtemp");
  (void)snprintf(path, sizeof path, "%s/" FT_STATE_MODELS "/%u", directory, (unsigned)getuid());
  if (ft_io_make_path(path, 0700, &err) < 0)
    fail(err.text);
  state_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  folder_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (state_fd < 0 || folder_fd < 0)
    fail(directory);
  write_runtimes(folder_fd);
  write_partitions(state_fd);
  measure(state_fd, "p0,p1,p2", "three partitions named");
  measure(state_fd, NULL, "all of 64 partitions");
  (void)close(folder_fd);
  (void)close(state_fd);
  (void)snprintf(command, sizeof command, "rm -rf %s", directory);
  return system(command) != 0;
}
