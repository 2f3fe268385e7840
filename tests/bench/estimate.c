/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measures the time from an app's name to its estimate, through its model file, in directories of
 * 10, 1,000 and 100,000 models: the time must not depend on their number. Also measures the cost of
 * one observation, the size of an app's model, and the longest equations of each kind. Data:
 * simulated runs. Needs space for 100,000 directory entries in /tmp.
 *
 *   estimate
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/estimate/allocation.h"
#include "predictor/estimate/equation.h"
#include "predictor/estimate/memory.h"
#include "predictor/online/online.h"
#include "predictor/online/performance.h"
#include "predictor/record/state_files.h"
#include "tests/unit/simulate.h"

static struct ft_history history;

enum {
  REAL = 50,       /* models that are read; the others are hard links */
  ROUNDS = 40,     /* readings of each */
  LEARNED = 10000, /* runs of the app whose updates are timed */
  LINKS = 10000    /* hard links to one file, below the limit of file systems */
};

static int compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* Sorts VALUE and returns its quantile PART, 0 to 1. */
static double quantile(double *value, size_t count, double part)
{
  qsort(value, count, sizeof *value, compare_doubles);
  return value[(size_t)(part * (double)(count - 1))];
}

static void fail(const char *what)
{
  (void)fprintf(stderr, "estimate: %s: %s\n", what, strerror(errno));
  exit(1);
}

/* CPU seconds of this process, so that other load is not counted. */
static double cpu_now(void)
{
  struct timespec t;

  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the size of MODEL's file in bytes. */
static size_t file_size(const ft_model *model)
{
  const ft_model *const section = model;
  struct ft_error err;
  struct ft_buf out;
  size_t size;

  ft_buf_init(&out, FT_LIMIT_RECORD);
  if (ft_model_file_encode(&section, 1, &history, &out, &err) < 0)
    fail(err.text);
  size = out.length;
  ft_buf_free(&out);
  return size;
}

/* Prints the COUNT costs of one kind of step in microseconds, with the GOAL and the cost that Sizey
 * (Bader and others, 2024) reports. */
static void print_cost(const char *what, double *cost, size_t count, double goal, double sizey)
{
  double sum = 0;

  for (size_t i = 0; i < count; i++)
    sum += cost[i] / (double)count;
  printf(
      "%s: mean %.1f us of CPU (%.0f), median %.1f us, 99 %% %.1f us, most %.0f us; Sizey's %.1f "
      "ms is x %.0f\n",
      what, sum, goal, quantile(cost, count, 0.5), quantile(cost, count, 0.99),
      quantile(cost, count, 1), sizey / 1e3, sizey / sum);
}

/* Makes MODEL from 10,000 runs with features. Prints the cost of learning and of estimating over
 * the last half, and the size of the model. */
static void time_updates(ft_model *model)
{
  static double cost[LEARNED / 2], query_cost[LEARNED / 2];
  struct ft_random random;

  ft_random_seed(&random, 1);
  ft_online_init(model, &history, "app", getuid(), FT_RULE_RSS);
  for (unsigned run = 0; run < LEARNED; run++) {
    ft_observation o = { .schema = 1,
                         .job_id = run + 1,
                         .end_time = run + 1.0,
                         .runtime_seconds = 100 + run % 17,
                         .outcome = FT_OUTCOME_COMPLETED,
                         .has_rss_bytes = true };
    unsigned at = run % (LEARNED / 2);
    struct ft_estimate estimate;
    double start, bytes;

    o.rss_bytes = (uint64_t)run_linear(&random, run, &o);
    category(&o, "arch", run % 2 ? "resnet50" : "vgg16");
    start = cpu_now();
    if (run)
      (void)ft_allocate_memory(model, o.submission.features, o.submission.features_count, 0, 1,
                               &estimate, &bytes, NULL);
    query_cost[at] = 1e6 * (cpu_now() - start);
    start = cpu_now();
    (void)ft_online_update(model, &history, &o, NULL);
    cost[at] = 1e6 * (cpu_now() - start);
    if (run + 1 == 100 || run + 1 == 1000 || run + 1 == LEARNED)
      printf("after %5u runs, %d columns: the model file has %zu bytes, of the memory %zu KiB\n",
             run + 1, (int)model->columns_count, file_size(model),
             (sizeof *model + sizeof history) / 1024);
  }
  print_cost("update at 10,000 runs", cost, LEARNED / 2, 50, 17.5e3);
  print_cost("prediction and allocation", query_cost, LEARNED / 2, 20, 1.09e6);
}

/* Prints the cost of updating the run-time model of an app on two platforms. */
static void time_runtime_updates(void)
{
  enum { RUNS = 1500, FIRST = 500 };
  static const char *const platform[] = { "old", "new" };
  static double cost[RUNS - FIRST];
  static ft_performance p;
  static struct ft_runtimes runs;
  struct ft_random random;
  double sum = 0;

  ft_random_seed(&random, 1);
  ft_performance_init(&p, &runs, "app", getuid());
  for (unsigned run = 0; run < RUNS; run++) {
    ft_observation o = {
      .schema = 1, .job_id = run + 1, .end_time = run + 1.0, .outcome = FT_OUTCOME_COMPLETED
    };
    double start;

    o.runtime_seconds = run_linear(&random, run, &o) / (run % 2 ? 2e8 : 1e8);
    category(&o, "arch", run % 3 ? "resnet50" : "vgg16");
    (void)ft_string_copy(platform[run % 2], o.platform, sizeof o.platform);
    start = cpu_now();
    if (ft_performance_update(&p, &runs, &o, NULL) <= 0)
      fail("run times");
    if (run >= FIRST)
      cost[run - FIRST] = 1e6 * (cpu_now() - start);
  }
  for (size_t i = 0; i < RUNS - FIRST; i++)
    sum += cost[i] / (RUNS - FIRST);
  printf("run times, update: mean %.1f us, median %.1f us, 99 %% %.1f us, most %.0f us\n", sum,
         quantile(cost, RUNS - FIRST, 0.5), quantile(cost, RUNS - FIRST, 0.99),
         quantile(cost, RUNS - FIRST, 1));
}

static void name_app(ft_model *model, unsigned n)
{
  (void)snprintf(model->app, sizeof model->app, "project-%u-train", n);
}

/* Adds models FROM to COUNT. The first REAL are files, the others hard links that are not read. */
static void add_models(int folder_fd, ft_model *model, unsigned from, unsigned count)
{
  const ft_model *const section = model;
  char name[FT_STATE_NAME_SIZE], first[sizeof name] = "";
  struct ft_error err;

  for (unsigned n = from; n < count; n++) {
    name_app(model, n);
    ft_state_model_name(model->app, name);
    if (n < REAL || n % LINKS == 0 || !first[0]) {
      if (ft_model_file_write(&section, 1, &history, folder_fd, name, 0600, &err) < 0)
        fail(err.text);
      (void)memcpy(first, name, sizeof name);
    } else if (linkat(folder_fd, first, folder_fd, name, 0) < 0) {
      fail(name);
    }
  }
}

/* Prints the time of an estimate among COUNT models. Returns its median in microseconds. */
static double time_estimates(int state_fd, unsigned count)
{
  static double cost[REAL * ROUNDS], evaluate[REAL * ROUNDS];
  static ft_model model, name;
  struct ft_estimate estimate;
  ft_observation o = { 0 };
  struct ft_error err;
  unsigned apps = count < REAL ? count : REAL, total = apps * ROUNDS;
  double median;

  feature(&o, "batch", 16);
  category(&o, "arch", "vgg16");
  for (unsigned n = 0; n < total; n++) {
    double start = ft_io_monotonic(), read;

    name_app(&name, n * 7 % apps);
    if (ft_state_read_evaluator(state_fd, getuid(), name.app, &model, &err) < 0)
      fail(err.text);
    read = ft_io_monotonic();
    if (ft_estimate_memory(&model, o.submission.features, o.submission.features_count, &estimate,
                           &err) < 0)
      fail(err.text);
    evaluate[n] = 1e6 * (ft_io_monotonic() - read);
    cost[n] = 1e6 * (ft_io_monotonic() - start);
  }
  median = quantile(cost, total, 0.5);
  printf("%7u apps: open to estimate median %.1f us, 99 %% %.1f us; evaluation alone %.1f us\n",
         count, median, quantile(cost, total, 0.99), quantile(evaluate, total, 0.5));
  return median;
}

/* Returns an equation of FIRST, then AROUND until a model file is full; x is a variable, c a huge
 * constant. */
static ft_equation longest_equation(const char *first, const char *around)
{
  ft_equation q = { .intercept = 1e9,
                    .slope = 1,
                    .columns_count = 3,
                    .levels_count = 3,
                    .scales_count = 3,
                    .columns = { 0, 1, 2 },
                    .scales = { 60, 6, 2 } };
  static const char letters[FT_SYMBOLS + 1] = "c.+*su-/qlioem"; /* one letter per symbol */
  const char *p = first;

  while (*p || q.code.size + strlen(around) <= sizeof q.code.bytes) {
    if (!*p)
      p = around;
    if (*p == 'x')
      q.code.bytes[q.code.size] = (pb_byte_t)(32 + q.code.size % 3);
    else
      q.code.bytes[q.code.size] = (pb_byte_t)(strchr(letters, *p) - letters);
    if (*p++ == 'c')
      q.constants[q.constants_count++] = 1e200;
    q.code.size++;
  }
  return q;
}

/* Prints the time to unpack and evaluate the longest equations of a model file, one per symbol. */
static void time_equations(void)
{
  enum { TIMES = 1000, ROUNDS_EACH = 60 };
  static const struct {
    const char *what, *first, *around;
  } cases[] = { { "sums", "x", "x+" },          { "products", "x", "x*" },
                { "quotients", "x", "x/" },     { "squares and quotients", "x", "xs/" },
                { "cubes", "x", "xu-" },        { "minima", "x", "xm" },
                { "roots", "xq", "q" },         { "logarithms", "xl", "l" },
                { "sines", "xi", "i" },         { "cosines", "xo", "o" },
                { "exponentials", "xi", "ei" }, { "sines of 1e200", "x", "c*i" } };
  static const float x[3] = { 96, 16, 3 };
  double most = 0;

  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    ft_equation q = longest_equation(cases[k].first, cases[k].around);
    struct ft_law law;
    double least = INFINITY, sum = 0;

    for (int round = 0; round < ROUNDS_EACH; round++) {
      double start = cpu_now();

      for (int i = 0; i < TIMES; i++) {
        q.intercept += 1;
        if (ft_equation_open(&q, &law))
          sum += ft_law_log(&law, x, 3);
      }
      least = fmin(least, 1e9 * (cpu_now() - start) / TIMES);
    }
    printf("equation of %d symbols, %s: %.0f ns from the model file's bytes to its value (%g)\n",
           (int)q.code.size, cases[k].what, least, sum / TIMES / ROUNDS_EACH);
    most = fmax(most, least);
  }
  printf("the slowest of them: %.0f ns, of 1000\n", most);
}

static void remove_directory(const char *directory)
{
  pid_t child;
  int status;

  child = fork();
  if (child == 0) {
    (void)execlp("rm", "rm", "-rf", directory, (char *)NULL);
    _exit(127);
  }
  if (child > 0)
    (void)waitpid(child, &status, 0);
}

int main(void)
{
  static const unsigned counts[] = { 10, 1000, 100000 };
  static ft_model model;
  char directory[] = "/tmp/foretell-bench-XXXXXX", models[64];
  struct ft_error err;
  double median[3];
  unsigned have = 0;
  int state_fd, folder_fd;

  if (!mkdtemp(directory))
    fail("mkdtemp");
  (void)snprintf(models, sizeof models, "%s/" FT_STATE_MODELS "/%u", directory, (unsigned)getuid());
  if (ft_io_make_path(models, 0700, &err) < 0)
    fail(err.text);
  state_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  folder_fd = open(models, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (state_fd < 0 || folder_fd < 0)
    fail(directory);
  time_equations();
  time_updates(&model);
  time_runtime_updates();
  for (int i = 0; i < 3; i++) {
    add_models(folder_fd, &model, have, counts[i]);
    have = counts[i];
    median[i] = time_estimates(state_fd, counts[i]);
  }
  printf("ratio of 1,000 to 10: %.2f, of 100,000 to 10: %.2f\n", median[1] / median[0],
         median[2] / median[0]);
  (void)close(folder_fd);
  (void)close(state_fd);
  remove_directory(directory);
  return 0;
}
