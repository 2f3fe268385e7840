/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/decided.h"
#include "tests/unit/unit.h"

#include "predictor/core/units.h"
#include "predictor/decide/submission.h"
#include "predictor/decide/sizing.h"
#include "predictor/estimate/variant.h"
#include "predictor/learn/distribution.h"

#define MB FT_MIB
#define GB FT_GIB

/* Log-normal about BYTES. */
static struct ft_estimate estimate_with_spread(double bytes, unsigned runs, double log_sd)
{
  struct ft_estimate e = { .runs = runs, .method = "quantiles", .max_value = 1.25 * bytes };

  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    e.quantile[i] = bytes * exp(log_sd * ft_normal_quantile(ft_interval_levels[i]));
  return e;
}

/* 11.2 GiB, 95 % below 12.6 GiB: the job of ARCHITECTURE.md. */
static struct ft_estimate estimate_of(double bytes, unsigned runs)
{
  return estimate_with_spread(bytes, runs, 0.0714);
}

/* COMPLETED comparable runs with peaks up to BYTES and, if DIED_AT is above 0, one killed there
 * after them. */
static struct ft_facts facts_of(unsigned completed, double bytes, double died_at)
{
  struct ft_facts f = { .runs = completed + (died_at > 0), .completed = completed };

  f.comparable_runs = f.runs;
  f.comparable_completed = f.fewest_completed = completed;
  f.fewest_runs = f.runs;
  f.peak_value = f.comparable_peak_value = completed ? bytes : 0;
  f.comparable_min_value = completed >= FT_FACTS_SURE_RUNS ? 0.9 * bytes : 0;
  f.bound_value = f.comparable_bound_value = FT_FACTS_KILLED_FACTOR * died_at;
  f.comparable_killed_value = f.lately_killed_value = died_at;
  f.comparable_killed = f.lately_killed = died_at > 0;
  f.growing_kills = died_at > 0 && !completed;
  return f;
}

/* ---- the limit ---- */

static const ft_partition two_kinds = { .name = "main",
                                        .def_mem_bytes = 1 * GB,
                                        .def_per_cpu = true,
                                        .nodes_count = 2,
                                        .nodes = {
                                            { .count = 9, .cpus = 16, .mem_bytes = 60 * GB },
                                            { .count = 1, .cpus = 64, .mem_bytes = 250 * GB } } };
static const ft_partition per_node = { .name = "main",
                                       .def_mem_bytes = 2 * GB,
                                       .nodes_count = 1,
                                       .nodes = {
                                           { .count = 4, .cpus = 8, .mem_bytes = 100 * GB } } };
static const ft_partition no_default = {
  .name = "main", .nodes_count = 1, .nodes = { { .count = 4, .cpus = 8, .mem_bytes = 100 * GB } }
};
static const ft_partition per_gpu = { .name = "main",
                                      .def_mem_bytes = 2 * GB,
                                      .def_mem_per_gpu_bytes = 10 * GB,
                                      .nodes_count = 1,
                                      .nodes = {
                                          { .count = 4, .cpus = 8, .mem_bytes = 100 * GB } } };
static const ft_partition cpus_per_gpu = {
  .name = "main",
  .def_mem_bytes = 1 * GB,
  .def_per_cpu = true,
  .def_cpus_per_gpu = 4,
  .nodes_count = 1,
  .nodes = { { .count = 4, .cpus = 64, .mem_bytes = 100 * GB } }
};
static const ft_partition alone = { .name = "main",
                                    .exclusive = true,
                                    .def_mem_bytes = 1 * GB,
                                    .def_per_cpu = true,
                                    .nodes_count = 1,
                                    .nodes = {
                                        { .count = 4, .cpus = 32, .mem_bytes = 100 * GB } } };
static const ft_partition hyperthreads = { .name = "main",
                                           .def_mem_bytes = 10 * MB,
                                           .def_per_cpu = true,
                                           .nodes_count = 1,
                                           .nodes = { { .count = 4,
                                                        .cpus = 32,
                                                        .threads_per_core = 2,
                                                        .sockets = 2,
                                                        .mem_bytes = 100 * GB } } };
/* the job may start on either: the node with one thread per core gives the smallest default */
static const ft_partition threads_and_none = {
  .name = "main",
  .def_mem_bytes = 10 * MB,
  .def_per_cpu = true,
  .nodes_count = 2,
  .nodes = { { .cpus = 32, .threads_per_core = 2, .mem_bytes = 100 * GB },
             { .cpus = 16, .threads_per_core = 1, .mem_bytes = 100 * GB } }
};
static const ft_partition at_most_per_cpu = { .name = "main",
                                              .def_mem_bytes = 1 * GB,
                                              .def_per_cpu = true,
                                              .max_mem_bytes = 2 * GB,
                                              .max_per_cpu = true,
                                              .nodes_count = 1,
                                              .nodes = { { .cpus = 8, .mem_bytes = 100 * GB } } };
static const ft_partition at_most = { .name = "main",
                                      .def_mem_bytes = 2 * GB,
                                      .max_mem_bytes = 8 * GB,
                                      .nodes_count = 1,
                                      .nodes = { { .cpus = 8, .mem_bytes = 100 * GB } } };
static const ft_partition tiny = { .name = "main",
                                   .def_mem_bytes = 2 * GB,
                                   .nodes_count = 1,
                                   .nodes = { { .cpus = 8, .mem_bytes = 8 * GB } } };

/* Returns the bytes without foretell on the least favourable node of the job; 0: no known limit. */
static uint64_t limit_without(const struct ft_decision_input *question)
{
  struct ft_decision_input q = *question;
  ft_policy policy = { .mode = FT_MODE_OFF };
  struct ft_sizing plan;

  q.mode = FT_MODE_OFF;
  q.policy = &policy;
  ft_sizing_make(&q, &plan);
  return plan.limit;
}

static void limits_follow_tasks_nodes_and_cpus(void **state)
{
  static const struct {
    ft_request request;
    const ft_partition *partition;
    uint64_t limit;
    bool not_consumable;
  } cases[] = {
    { { .mem_unit = FT_MEM_NODE, .mem_bytes = 4 * GB, .nodes = 3 }, &two_kinds, 4 * GB, 0 },
    { { .mem_unit = FT_MEM_CPU, .mem_bytes = 1 * GB, .cpus_per_task = 4 }, &two_kinds, 4 * GB, 0 },
    /* tasks fill as few nodes as possible, or are spread evenly over the requested number */
    { { .mem_unit = FT_MEM_CPU, .mem_bytes = 1 * GB, .tasks = 8 }, &two_kinds, 8 * GB, 0 },
    { { .mem_unit = FT_MEM_CPU, .mem_bytes = 1 * GB, .tasks = 8, .nodes = 3 },
      &two_kinds,
      2 * GB,
      0 },
    { { .mem_unit = FT_MEM_CPU, .mem_bytes = 1 * GB, .tasks = 2, .nodes = 4 },
      &two_kinds,
      1 * GB,
      0 },
    { { .mem_unit = FT_MEM_CPU,
        .mem_bytes = 1 * GB,
        .tasks = 8,
        .tasks_per_node = 4,
        .cpus_per_task = 2 },
      &two_kinds,
      8 * GB,
      0 },
    { { .mem_unit = FT_MEM_CPU, .mem_bytes = 1 * GB, .tasks = 100 }, &two_kinds, 50 * GB, 0 },
    { { .mem_unit = FT_MEM_CPU, .mem_bytes = 1 * GB, .nodes = 2, .tasks_per_node = 3 },
      NULL,
      3 * GB,
      0 },
    { { .mem_unit = FT_MEM_CPU, .mem_bytes = 1 * GB, .exclusive = true }, &two_kinds, 16 * GB, 0 },
    { { .mem_unit = FT_MEM_GPU, .mem_bytes = 8 * GB, .gpus_per_node = 4 }, &two_kinds, 32 * GB, 0 },
    { { .mem_unit = FT_MEM_GPU, .mem_bytes = 8 * GB }, NULL, 8 * GB, 0 },
    { { .mem_unit = FT_MEM_ALL }, &two_kinds, 60 * GB, 0 },
    { { .mem_unit = FT_MEM_ALL, .cpus_per_task = 32 }, &two_kinds, 250 * GB, 0 },
    { { .mem_unit = FT_MEM_NODE, .mem_bytes = 0 }, &two_kinds, 60 * GB, 0 },
    { { .mem_unit = FT_MEM_ALL }, NULL, 0, 0 },
    { { .mem_unit = FT_MEM_NONE, .cpus_per_task = 4 }, &two_kinds, 4 * GB, 0 },
    { { .mem_unit = FT_MEM_NONE, .exclusive = true }, &two_kinds, 16 * GB, 0 },
    { { .mem_unit = FT_MEM_NONE }, &alone, 32 * GB, 0 },
    { { .mem_unit = FT_MEM_NONE, .tasks = 4 }, &per_node, 2 * GB, 0 },
    { { .mem_unit = FT_MEM_NONE }, &no_default, 100 * GB, 0 },
    { { .mem_unit = FT_MEM_NONE }, &per_gpu, 2 * GB, 0 },
    { { .mem_unit = FT_MEM_NONE, .gpus_per_node = 3 }, &per_gpu, 30 * GB, 0 },
    { { .mem_unit = FT_MEM_NONE, .gpus_per_node = 1, .exclusive = true }, &per_gpu, 100 * GB, 0 },
    { { .mem_unit = FT_MEM_NODE, .mem_bytes = 4 * GB, .gpus_per_node = 3 }, &per_gpu, 4 * GB, 0 },
    { { .mem_unit = FT_MEM_NONE, .gpus_per_node = 2 }, &cpus_per_gpu, 8 * GB, 0 },
    { { .mem_unit = FT_MEM_NONE, .gpus_per_node = 2, .cpus_per_task = 1 },
      &cpus_per_gpu,
      1 * GB,
      0 },
    { { .mem_unit = FT_MEM_NONE, .gpus_per_node = 2, .cpus_per_gpu = 3 },
      &cpus_per_gpu,
      6 * GB,
      0 },
    { { .mem_unit = FT_MEM_NONE, .gpus_per_node = 2, .cpus_per_gpu = 3, .tasks = 7 },
      &cpus_per_gpu,
      7 * GB,
      0 },
    { { .mem_unit = FT_MEM_CPU, .mem_bytes = 2 * GB, .gpus_per_node = 1, .cpus_per_gpu = 3 },
      &cpus_per_gpu,
      6 * GB,
      0 },
    { { .mem_unit = FT_MEM_NONE }, &no_default, 0, true },
    { { .mem_unit = FT_MEM_NONE }, NULL, 0, 0 },
    { { .mem_unit = FT_MEM_CPU, .mem_bytes = UINT64_MAX / 2, .cpus_per_task = 4 },
      NULL,
      UINT64_MAX,
      0 },
    { { .mem_unit = FT_MEM_CPU,
        .mem_bytes = 1,
        .tasks = UINT32_MAX,
        .cpus_per_task = UINT32_MAX,
        .tasks_per_node = UINT32_MAX,
        .nodes = UINT32_MAX },
      &two_kinds,
      UINT32_MAX,
      0 }
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_decision_input q = { .request = &cases[i].request,
                                   .partition = cases[i].partition,
                                   .memory_is_consumable = !cases[i].not_consumable };
    uint64_t limit = limit_without(&q);

    if (limit != cases[i].limit)
      fail_msg("case %zu: %llu MiB, expected %llu", i, (unsigned long long)(limit / MB),
               (unsigned long long)(cases[i].limit / MB));
  }
}

/* Limits that Slurm 22.05 set on a node of two sockets, eight cores, two threads each, with
 * DefMemPerCPU=10; as in tests/slurm/55-threads.sh. */
static void hyperthreads_are_counted_as_in_slurm(void **state)
{
  static const struct {
    ft_request request;
    const ft_partition *partition;
    unsigned cpu, core, one_task, socket; /* MiB, by SelectTypeParameters */
  } cases[] = {
    { { .tasks = 1 }, &hyperthreads, 10, 20, 20, 160 },
    { { .cpus_per_task = 2 }, &hyperthreads, 20, 20, 20, 160 },
    { { .cpus_per_task = 3 }, &hyperthreads, 30, 40, 40, 160 },
    { { .tasks = 2, .cpus_per_task = 3 }, &hyperthreads, 60, 60, 80, 160 },
    { { .threads_per_core = 1 }, &hyperthreads, 10, 10, 10, 80 },
    { { .threads_per_core = 1, .cpus_per_task = 3 }, &hyperthreads, 30, 30, 30, 80 },
    { { .threads_per_core = 1, .tasks = 2, .cpus_per_task = 3 }, &hyperthreads, 60, 60, 60, 80 },
    { { .threads_per_core = 2, .cpus_per_task = 3 }, &hyperthreads, 30, 40, 40, 160 },
    { { .threads_per_core = 4, .cpus_per_task = 3 }, &hyperthreads, 30, 40, 40, 160 },
    { { .exclusive = true }, &hyperthreads, 320, 320, 320, 320 },
    { { .exclusive = true, .threads_per_core = 1 }, &hyperthreads, 160, 160, 160, 160 },
    { { .mem_unit = FT_MEM_CPU, .mem_bytes = 20 * MB, .cpus_per_task = 3 },
      &hyperthreads,
      60,
      80,
      80,
      320 },
    { { .mem_unit = FT_MEM_CPU, .mem_bytes = 20 * MB, .threads_per_core = 1, .cpus_per_task = 3 },
      &hyperthreads,
      60,
      60,
      60,
      160 },
    { { .mem_unit = FT_MEM_NODE, .mem_bytes = 50 * MB }, &hyperthreads, 50, 50, 50, 50 },
    /* more tasks than cores of a node with one thread used per core: two nodes */
    { { .tasks = 20, .threads_per_core = 1 }, &hyperthreads, 100, 100, 100, 160 },
    { { .tasks = 20 }, &hyperthreads, 200, 200, 200, 320 },
    { { .tasks = 1 }, &threads_and_none, 10, 10, 10, 10 },
    { { .cpus_per_task = 17 }, &threads_and_none, 170, 180, 180, 170 }, /* sockets not known */
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const struct {
      ft_cpu_unit unit;
      bool one_task;
      unsigned expected;
    } sites[] = { { FT_CPU_UNIT_CPU, false, cases[i].cpu },
                  { FT_CPU_UNIT_CORE, false, cases[i].core },
                  { FT_CPU_UNIT_CORE, true, cases[i].one_task },
                  { FT_CPU_UNIT_SOCKET, false, cases[i].socket } };

    for (size_t k = 0; k < COUNT_OF(sites); k++) {
      ft_partition partition = *cases[i].partition;
      struct ft_decision_input q = { .request = &cases[i].request,
                                     .partition = &partition,
                                     .memory_is_consumable = true };
      uint64_t limit;

      partition.cpu_unit = sites[k].unit;
      partition.one_task_per_core = sites[k].one_task;
      limit = limit_without(&q);
      if (limit != sites[k].expected * MB)
        fail_msg("case %zu, site %zu: %llu MiB, expected %u", i, k,
                 (unsigned long long)(limit / MB), sites[k].expected);
    }
  }
}

/* ---- decisions and messages ---- */

struct scene {
  const char *name;
  ft_mode mode; /* the user's */
  ft_mode site_mode;
  ft_request request;
  const ft_partition *partition;
  unsigned runs;       /* 0: no estimate */
  unsigned other_runs; /* recorded, and not comparable */
  double need;         /* GiB; 0: 11.2 */
  double used;         /* GiB, at most by the recorded runs; 0: NEED */
  double spread;       /* log-sd of the estimate; 0: 0.0714 */
  double died_at;      /* GiB */
  double oom, reject;
  bool quiet, not_consumable, no_kill, extrapolated, no_force, pooled;
  ft_action action;
  uint64_t mem_bytes;
  const char *line[2];
};

#define NODE(bytes)                                                                                \
  {                                                                                                \
    .mem_unit = FT_MEM_NODE, .mem_bytes = (bytes)                                                  \
  }
#define NEEDS "unet3d needs 11.2 GiB, 95 % below 12.6 GiB (42 runs)"

static const struct scene scenes[] = {
  { .name = "set where nothing was asked",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .action = FT_ACTION_SET,
    .mem_bytes = 12900 * MB,
    .line = { NEEDS "; --mem set to 12900M" } },
  { .name = "the site's mode does the same",
    .site_mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .action = FT_ACTION_SET,
    .mem_bytes = 12900 * MB,
    .line = { NEEDS "; --mem set to 12900M" } },
  { .name = "force sets too",
    .mode = FT_MODE_FORCE,
    .partition = &per_node,
    .runs = 42,
    .reject = 0.06,
    .action = FT_ACTION_SET,
    .mem_bytes = 12900 * MB,
    .line = { NEEDS "; --mem set to 12900M" } },
  { .name = "off is off",
    .mode = FT_MODE_OFF,
    .site_mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .request = NODE(1 * GB),
    .action = FT_ACTION_LEAVE },
  { .name = "off is off where nothing is to be rejected",
    .mode = FT_MODE_OFF,
    .partition = &per_node,
    .runs = 42,
    .reject = 0.1,
    .request = NODE(20 * GB),
    .action = FT_ACTION_LEAVE },
  { .name = "off does not step around a rejection",
    .mode = FT_MODE_OFF,
    .partition = &per_node,
    .runs = 42,
    .reject = 0.9,
    .request = NODE(10 * GB),
    .action = FT_ACTION_REJECT,
    .line = { "job rejected: --mem=10G is too small; unet3d needs 11.2 GiB (42 runs), probability "
              "of running out of memory 94.4 %",
              "use --mem=12900M, or override with --predict-mem=force" } },
  { .name = "nor does the site's own off",
    .partition = &per_node,
    .runs = 42,
    .reject = 0.9,
    .request = NODE(10 * GB),
    .no_force = true,
    .action = FT_ACTION_REJECT,
    .line = { "job rejected: --mem=10G is too small; unet3d needs 11.2 GiB (42 runs), probability "
              "of running out of memory 94.4 %",
              "use --mem=12900M" } },
  { .name = "nor does force where the site does not let it",
    .mode = FT_MODE_FORCE,
    .partition = &per_node,
    .runs = 42,
    .reject = 0.9,
    .request = NODE(10 * GB),
    .no_force = true,
    .action = FT_ACTION_REJECT,
    .line = { "job rejected: --mem=10G is too small; unet3d needs 11.2 GiB (42 runs), probability "
              "of running out of memory 94.4 %",
              "use --mem=12900M; this site does not allow --predict-mem=force" } },
  { .name = "no mode at all is off",
    .partition = &per_node,
    .runs = 42,
    .action = FT_ACTION_LEAVE },
  { .name = "quiet still says what changes",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .quiet = true,
    .action = FT_ACTION_SET,
    .mem_bytes = 12900 * MB,
    .line = { NEEDS "; --mem set to 12900M" } },
  { .name = "the explicit user wins",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .request = NODE(16 * GB),
    .action = FT_ACTION_LEAVE,
    .line = { NEEDS "; --mem=16G is enough (probability of running out of memory: under 0.1 %)" } },
  { .name = "no request to foretell, no message",
    .site_mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .request = NODE(16 * GB),
    .action = FT_ACTION_LEAVE },
  { .name = "the site's check reports a request that is enough",
    .site_mode = FT_MODE_CHECK,
    .partition = &per_node,
    .runs = 42,
    .request = NODE(16 * GB),
    .action = FT_ACTION_LEAVE,
    .line = { NEEDS "; --mem=16G is enough (probability of running out of memory: under 0.1 %)" } },
  { .name = "and one that cannot be compared",
    .site_mode = FT_MODE_CHECK,
    .runs = 42,
    .action = FT_ACTION_LEAVE,
    .line = { NEEDS } },
  { .name = "but not quietly",
    .site_mode = FT_MODE_CHECK,
    .partition = &per_node,
    .runs = 42,
    .quiet = true,
    .request = NODE(16 * GB),
    .action = FT_ACTION_LEAVE },
  { .name = "nor without a run",
    .site_mode = FT_MODE_CHECK,
    .partition = &per_node,
    .action = FT_ACTION_LEAVE },
  { .name = "set warns of too little",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .request = NODE(10 * GB),
    .action = FT_ACTION_WARN,
    .line = { NEEDS "; with --mem=10G it would run out of memory (94.4 %); use --mem=12900M" } },
  { .name = "and quietly does not",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .quiet = true,
    .request = NODE(10 * GB),
    .action = FT_ACTION_WARN },
  { .name = "far too much",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .request = NODE(64 * GB),
    .action = FT_ACTION_WARN,
    .line = { "unet3d needs 11.2 GiB (42 runs); --mem=64G is 50 GiB more than any run used" } },
  { .name = "raise raises",
    .mode = FT_MODE_RAISE,
    .partition = &per_node,
    .runs = 42,
    .request = NODE(4 * GB),
    .reject = 0.5,
    .action = FT_ACTION_RAISE,
    .mem_bytes = 12900 * MB,
    .line = { NEEDS "; --mem raised from 4G to 12900M" } },
  { .name = "raise does not lower",
    .mode = FT_MODE_RAISE,
    .partition = &per_node,
    .runs = 42,
    .request = NODE(64 * GB),
    .action = FT_ACTION_WARN,
    .line = { "unet3d needs 11.2 GiB (42 runs); --mem=64G is 50 GiB more than any run used" } },
  { .name = "trim lowers",
    .mode = FT_MODE_TRIM,
    .partition = &per_node,
    .runs = 42,
    .request = NODE(64 * GB),
    .action = FT_ACTION_TRIM,
    .mem_bytes = 13800 * MB,
    .line = { NEEDS "; --mem lowered from 64G to 13800M" } },
  { .name = "trim raises too",
    .mode = FT_MODE_TRIM,
    .partition = &per_node,
    .runs = 42,
    .request = NODE(4 * GB),
    .action = FT_ACTION_RAISE,
    .mem_bytes = 12900 * MB,
    .line = { NEEDS "; --mem raised from 4G to 12900M" } },
  { .name = "no trimming on few runs",
    .mode = FT_MODE_TRIM,
    .partition = &per_node,
    .runs = 19,
    .request = NODE(64 * GB),
    .action = FT_ACTION_WARN,
    .line = { "unet3d needs 11.2 GiB (19 runs); --mem=64G is 50 GiB more than any run used" } },
  { .name = "what other users needed lowers nothing",
    .mode = FT_MODE_TRIM,
    .partition = &per_node,
    .runs = 42,
    .pooled = true,
    .request = NODE(64 * GB),
    .action = FT_ACTION_WARN,
    .line = { "unet3d needs 11.2 GiB (42 runs of all users); --mem=64G is 50 GiB more than any "
              "run used" } },
  { .name = "nor a default",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .need = 0.5,
    .pooled = true,
    .action = FT_ACTION_LEAVE,
    .line = { "unet3d needs 512 MiB, 95 % below 576 MiB (42 runs of all users); the default of "
              "partition main, 2 GiB, is enough (probability of running out of memory: under 0.1 "
              "%)" } },
  { .name = "a whole node can be trimmed",
    .mode = FT_MODE_TRIM,
    .partition = &per_node,
    .runs = 42,
    .request = { .mem_unit = FT_MEM_ALL },
    .action = FT_ACTION_TRIM,
    .mem_bytes = 13800 * MB,
    .line = { NEEDS "; --mem lowered from 0 (a whole node) to 13800M" } },
  { .name = "not an exclusive one",
    .mode = FT_MODE_TRIM,
    .partition = &per_node,
    .runs = 42,
    .request = { .mem_unit = FT_MEM_ALL, .exclusive = true },
    .action = FT_ACTION_LEAVE,
    .line = { NEEDS "; --mem=0, a whole node, 100 GiB, is enough (probability of running out of "
                    "memory: under 0.1 %)" } },
  { .name = "no default is a whole node, which few runs do not make smaller",
    .mode = FT_MODE_SET,
    .partition = &no_default,
    .runs = 19,
    .action = FT_ACTION_LEAVE,
    .line = { "unet3d needs 11.2 GiB, 95 % below 12.6 GiB (19 runs); a whole node, 100 GiB, is "
              "enough (probability of running out of memory: under 0.1 %)" } },
  { .name = "but many do",
    .mode = FT_MODE_SET,
    .partition = &no_default,
    .runs = 42,
    .action = FT_ACTION_SET,
    .mem_bytes = 13800 * MB,
    .line = { NEEDS "; --mem set to 13800M" } },
  { .name = "an exclusive job is not made smaller",
    .mode = FT_MODE_SET,
    .partition = &alone,
    .runs = 42,
    .action = FT_ACTION_LEAVE,
    .line = { NEEDS "; the default of partition main, 32 GiB, is enough (probability of running "
                    "out of memory: under 0.1 %)" } },
  { .name = "an unknown partition may give more",
    .mode = FT_MODE_SET,
    .runs = 19,
    .action = FT_ACTION_LEAVE,
    .line = { "unet3d needs 11.2 GiB, 95 % below 12.6 GiB (19 runs)" } },
  { .name = "per cpu stays per cpu",
    .mode = FT_MODE_RAISE,
    .partition = &two_kinds,
    .runs = 42,
    .request = { .mem_unit = FT_MEM_CPU, .mem_bytes = 1 * GB, .cpus_per_task = 4 },
    .action = FT_ACTION_RAISE,
    .mem_bytes = 3225 * MB,
    .line = { NEEDS "; --mem-per-cpu raised from 1G to 3225M" } },
  { .name = "per gpu stays per gpu",
    .mode = FT_MODE_RAISE,
    .partition = &two_kinds,
    .runs = 42,
    .request = { .mem_unit = FT_MEM_GPU, .mem_bytes = 1 * GB, .gpus_per_node = 2 },
    .action = FT_ACTION_RAISE,
    .mem_bytes = 6450 * MB,
    .line = { NEEDS "; --mem-per-gpu raised from 1G to 6450M" } },
  { .name = "MaxMemPerCPU is never crossed",
    .mode = FT_MODE_RAISE,
    .partition = &at_most_per_cpu,
    .runs = 42,
    .request = { .mem_unit = FT_MEM_CPU, .mem_bytes = 1 * GB, .cpus_per_task = 6 },
    .action = FT_ACTION_RAISE,
    .mem_bytes = 2 * GB,
    .line = { NEEDS "; --mem-per-cpu raised from 1G to 2G, the most that partition main allows; "
                    "probability of running out of memory: 17 %" } },
  { .name = "and is not set where it is less than the likely need",
    .mode = FT_MODE_RAISE,
    .partition = &at_most_per_cpu,
    .runs = 42,
    .request = { .mem_unit = FT_MEM_CPU, .mem_bytes = 1 * GB, .cpus_per_task = 5 },
    .action = FT_ACTION_WARN,
    .line = { NEEDS
              "; with --mem-per-cpu=1G it would run out of memory (over 99.9 %); partition main "
              "allows no more than 10 GiB" } },
  { .name = "nor is MaxMemPerNode",
    .mode = FT_MODE_SET,
    .partition = &at_most,
    .runs = 42,
    .action = FT_ACTION_WARN,
    .line = { NEEDS "; with the default of partition main, 2 GiB, it would run out of memory (over "
                    "99.9 %); partition main allows no more than 8 GiB" } },
  { .name = "nor what has killed the last run there",
    .mode = FT_MODE_SET,
    .partition = &at_most,
    .died_at = 8,
    .action = FT_ACTION_WARN,
    .line = { "unet3d was killed at 8 GiB (1 run, none completed); with the default of partition "
              "main, 2 GiB, it would run out of memory; partition main allows no more than 8 "
              "GiB" } },
  { .name = "no node is large enough",
    .mode = FT_MODE_SET,
    .partition = &tiny,
    .runs = 42,
    .action = FT_ACTION_WARN,
    .line = { NEEDS "; with the default of partition main, 2 GiB, it would run out of memory (over "
                    "99.9 %); no node of partition main has more than 8 GiB" } },
  { .name = "and that is refused",
    .mode = FT_MODE_SET,
    .partition = &tiny,
    .runs = 42,
    .reject = 0.9,
    .action = FT_ACTION_REJECT,
    .line = { "job rejected: unet3d needs 11.2 GiB (42 runs), but no node of partition main has "
              "more than 8 GiB, probability of running out of memory over 99.9 %",
              "override with --predict-mem=force" } },
  { .name = "a maximum too low is refused",
    .mode = FT_MODE_SET,
    .partition = &at_most,
    .runs = 42,
    .reject = 0.9,
    .action = FT_ACTION_REJECT,
    .line = { "job rejected: unet3d needs 11.2 GiB (42 runs), but partition main allows no more "
              "than 8 GiB, probability of running out of memory over 99.9 %",
              "override with --predict-mem=force" } },
  { .name = "too little is refused",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .request = NODE(10 * GB),
    .reject = 0.9,
    .action = FT_ACTION_REJECT,
    .line = { "job rejected: --mem=10G is too small; unet3d needs 11.2 GiB (42 runs), probability "
              "of running out of memory 94.4 %",
              "use --mem=12900M, or override with --predict-mem=force" } },
  { .name = "what is extrapolated warns and does not reject",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .extrapolated = true,
    .request = NODE(10 * GB),
    .reject = 0.9,
    .action = FT_ACTION_WARN,
    .line = { "unet3d may need 11.2 GiB, 95 % below 12.6 GiB (extrapolated from 42 runs); with "
              "--mem=10G "
              "it would run out of memory (94.4 %); use --mem=12900M" } },
  { .name = "not below the site's probability",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .request = NODE(10 * GB),
    .reject = 0.95,
    .action = FT_ACTION_WARN,
    .line = { NEEDS "; with --mem=10G it would run out of memory (94.4 %); use --mem=12900M" } },
  { .name = "force is never refused",
    .mode = FT_MODE_FORCE,
    .partition = &per_node,
    .runs = 42,
    .request = NODE(10 * GB),
    .reject = 0.9,
    .action = FT_ACTION_WARN,
    .line = { NEEDS "; with --mem=10G it would run out of memory (94.4 %); use --mem=12900M" } },
  { .name = "a check does not step around a rejection",
    .mode = FT_MODE_CHECK,
    .partition = &per_node,
    .runs = 42,
    .request = NODE(10 * GB),
    .reject = 0.9,
    .action = FT_ACTION_REJECT,
    .line = { "job rejected: --mem=10G is too small; unet3d needs 11.2 GiB (42 runs), probability "
              "of running out of memory 94.4 %",
              "use --mem=12900M, or override with --predict-mem=force" } },
  { .name = "the site's check refuses a default that is too low",
    .site_mode = FT_MODE_CHECK,
    .partition = &per_node,
    .runs = 42,
    .reject = 0.9,
    .action = FT_ACTION_REJECT,
    .line = { "job rejected: the default of partition main, 2 GiB, is too small; unet3d needs "
              "11.2 GiB (42 runs), probability of running out of memory over 99.9 %",
              "use --mem=12900M, or override with --predict-mem=force" } },
  { .name = "a check changes nothing",
    .mode = FT_MODE_CHECK,
    .partition = &per_node,
    .runs = 42,
    .action = FT_ACTION_WARN,
    .line = { NEEDS "; with the default of partition main, 2 GiB, it would run out of memory (over "
                    "99.9 %); use --mem=12900M" } },
  { .name = "arrays: one and any",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .request = { .array_tasks = 10 },
    .action = FT_ACTION_SET,
    .mem_bytes = 12900 * MB,
    .line = { NEEDS "; --mem set to 12900M; probability of running out of memory: 5.0 % for "
                    "one task, 40 % for any of "
                    "10" } },
  { .name = "no evidence, nothing claimed",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .action = FT_ACTION_LEAVE,
    .line = { "unet3d: no recorded run yet" } },
  { .name = "nor anything said unasked",
    .site_mode = FT_MODE_SET,
    .partition = &per_node,
    .action = FT_ACTION_LEAVE },
  { .name = "few runs give a number, and no claim",
    .mode = FT_MODE_RAISE,
    .partition = &per_node,
    .runs = 4,
    .request = NODE(1 * GB),
    .reject = 0.1,
    .action = FT_ACTION_RAISE,
    .mem_bytes = 12900 * MB,
    .line = { "unet3d may need 11.2 GiB, 95 % below 12.6 GiB (4 runs); --mem raised from 1G to "
              "12900M" } },
  { .name = "runs that are not comparable are counted, not used",
    .mode = FT_MODE_RAISE,
    .partition = &per_node,
    .runs = 1,
    .other_runs = 3,
    .request = NODE(1 * GB),
    .action = FT_ACTION_RAISE,
    .mem_bytes = 12900 * MB,
    .line = { "unet3d may need 11.2 GiB, 95 % below 12.6 GiB (1 run); --mem raised from 1G to "
              "12900M" } },
  { .name = "nothing is set below the likely need",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 19,
    .used = 4,
    .spread = 0.9,
    .action = FT_ACTION_WARN,
    .line = { "unet3d needs 11.2 GiB, 95 % below 49.2 GiB (19 runs); with the default of partition "
              "main, 2 GiB, it would run out of memory (97.2 %); --mem is not set: runs of up to 4 "
              "GiB support at most 5400M, less than the likely need" } },
  { .name = "nor raised to less",
    .mode = FT_MODE_RAISE,
    .partition = &per_node,
    .runs = 19,
    .used = 4,
    .spread = 0.9,
    .request = NODE(4 * GB),
    .action = FT_ACTION_WARN,
    .line = { "unet3d needs 11.2 GiB, 95 % below 49.2 GiB (19 runs); with --mem=4G it would run "
              "out "
              "of memory (87 %); --mem is not raised: runs of up to 4 GiB support at most 5400M, "
              "less than the likely need" } },
  { .name = "a narrow estimate is set beyond the ceiling",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 19,
    .extrapolated = true,
    .used = 4,
    .action = FT_ACTION_SET,
    .mem_bytes = 12900 * MB,
    .line = { "unet3d may need 11.2 GiB, 95 % below 12.6 GiB (extrapolated from 19 runs); --mem "
              "set to "
              "12900M" } },
  { .name = "an estimate far above every run is not believed",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 19,
    .spread = 2,
    .action = FT_ACTION_SET,
    .mem_bytes = 12700 * MB,
    .line = { "unet3d used up to 11.2 GiB (19 runs); the estimate does not fit these runs and is "
              "not "
              "used; --mem set to 12700M, because a comparable run used 11.2 GiB" } },
  { .name = "and rejects nothing",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .spread = 2,
    .request = NODE(1 * GB),
    .reject = 0.5,
    .action = FT_ACTION_WARN,
    .line = { "unet3d used up to 11.2 GiB (42 runs); the estimate does not fit these runs and is "
              "not "
              "used; with --mem=1G it would run out of memory; use --mem=12700M" } },
  { .name = "nor raises",
    .mode = FT_MODE_RAISE,
    .partition = &per_node,
    .runs = 42,
    .spread = 2,
    .request = NODE(20 * GB),
    .action = FT_ACTION_LEAVE,
    .line = { "unet3d used up to 11.2 GiB (42 runs); the estimate does not fit these runs and is "
              "not "
              "used; --mem=20G is unchanged: no evidence that the limit is too small" } },
  { .name = "a limit below an estimate of few runs is doubtful",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 3,
    .used = 4,
    .request = NODE(8 * GB),
    .extrapolated = true,
    .action = FT_ACTION_LEAVE,
    .line = { "unet3d may need 11.2 GiB, 95 % below 12.6 GiB (extrapolated from 3 runs); --mem=8G "
              "may "
              "not be enough, by too few runs to decide" } },
  { .name = "so it is with one above every node",
    .mode = FT_MODE_SET,
    .partition = &tiny,
    .runs = 42,
    .need = 3,
    .spread = 0.6,
    .action = FT_ACTION_SET,
    .mem_bytes = 3400 * MB,
    .line = { "unet3d used up to 3 GiB (42 runs); the estimate does not fit these runs and is not "
              "used; --mem set to 3400M, because a comparable run used 3 GiB" } },
  { .name = "what it was killed at is known at once",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .died_at = 2,
    .action = FT_ACTION_SET,
    .mem_bytes = 5000 * MB,
    .line = { "unet3d was killed at 2 GiB (1 run, none completed); --mem set to 5000M, because a "
              "comparable run ran out of memory at 2 GiB" } },
  { .name = "and may be passed by what was asked",
    .mode = FT_MODE_RAISE,
    .partition = &per_node,
    .died_at = 2,
    .request = NODE(4 * GB),
    .action = FT_ACTION_LEAVE,
    .line = { "unet3d was killed at 2 GiB (1 run, none completed); --mem=4G is unchanged: no "
              "evidence that the limit is too small" } },
  { .name = "or not",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .died_at = 2,
    .reject = 0.01,
    .request = NODE(2 * GB),
    .action = FT_ACTION_WARN,
    .line = { "unet3d was killed at 2 GiB (1 run, none completed); with --mem=2G it would run out "
              "of memory; use --mem=5000M" } },
  { .name = "an amount passes what it lately died at",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .died_at = 20,
    .action = FT_ACTION_SET,
    .mem_bytes = 49200 * MB,
    .line = { NEEDS
              "; --mem set to 49200M, because a comparable run ran out of memory at 20 GiB" } },
  { .name = "nothing kills, but memory is allocated",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .no_kill = true,
    .reject = 0.1,
    .action = FT_ACTION_SET,
    .mem_bytes = 12900 * MB,
    .line = { NEEDS "; --mem set to 12900M" } },
  { .name = "nothing kills and too little was asked",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .no_kill = true,
    .reject = 0.1,
    .request = NODE(1 * GB),
    .action = FT_ACTION_WARN,
    .line = { NEEDS "; --mem=1G is less; use --mem=12900M" } },
  { .name = "nothing kills and raise raises",
    .mode = FT_MODE_RAISE,
    .partition = &per_node,
    .runs = 42,
    .no_kill = true,
    .reject = 0.1,
    .request = NODE(1 * GB),
    .action = FT_ACTION_RAISE,
    .mem_bytes = 12900 * MB,
    .line = { NEEDS "; --mem raised from 1G to 12900M" } },
  { .name = "neither kills nor allocates",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .no_kill = true,
    .not_consumable = true,
    .action = FT_ACTION_LEAVE,
    .line = { NEEDS "; this cluster does not enforce memory limits" } },
  { .name = "kills but does not allocate: no limit is put where there was none",
    .mode = FT_MODE_SET,
    .partition = &no_default,
    .runs = 42,
    .not_consumable = true,
    .action = FT_ACTION_LEAVE,
    .line = { NEEDS } },
  { .name = "kills but does not allocate: a low default is raised",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .not_consumable = true,
    .action = FT_ACTION_SET,
    .mem_bytes = 12900 * MB,
    .line = { NEEDS "; --mem set to 12900M" } },
  { .name = "small needs get the floor",
    .mode = FT_MODE_SET,
    .partition = &no_default,
    .runs = 42,
    .need = 0.01,
    .action = FT_ACTION_SET,
    .mem_bytes = 100 * MB,
    .line = { "unet3d needs 10.2 MiB, 95 % below 11.5 MiB (42 runs); --mem set to 100M" } },
  { .name = "beyond the evidence",
    .mode = FT_MODE_SET,
    .partition = &per_node,
    .runs = 42,
    .extrapolated = true,
    .action = FT_ACTION_SET,
    .mem_bytes = 12900 * MB,
    .line = { "unet3d may need 11.2 GiB, 95 % below 12.6 GiB (extrapolated from 42 runs); --mem "
              "set to 12900M" } },
};

static void play(const struct scene *s, ft_decision *decision, struct ft_explanation *said)
{
  ft_site site = { .has_policy = true,
                   .policy = { .mode = s->site_mode,
                               .has_oom_probability = true,
                               .oom_probability = s->oom > 0 ? s->oom : 0.05,
                               .has_reject_probability = true,
                               .reject_probability = s->reject,
                               .has_force = true,
                               .force = !s->no_force,
                               .has_quiet = true,
                               .quiet = s->quiet } };
  double need = (s->need > 0 ? s->need : 11.2) * (double)GB, died_at = s->died_at * (double)GB;
  struct ft_estimate e = estimate_with_spread(need, s->runs, s->spread > 0 ? s->spread : 0.0714);
  struct ft_facts facts = facts_of(s->runs, s->used > 0 ? s->used * (double)GB : need, died_at);
  ft_policy policy;
  struct ft_decision_input q = question_about(s->mode, "unet3d", &s->request, s->runs ? &e : NULL,
                                              facts.runs ? &facts : NULL, &policy, s->partition);

  q.pooled = s->pooled;
  q.memory_is_consumable = !s->not_consumable;
  q.rule = s->no_kill ? FT_RULE_NONE : FT_RULE_CGROUP;
  facts.runs += s->other_runs;
  e.bound_value = died_at;
  e.extrapolated = s->extrapolated;
  ft_policy_resolve(&site, NULL, NULL, NULL, &policy);
  if (s->site_mode == FT_MODE_UNSET)
    policy.mode = FT_MODE_OFF;
  decide(&q, decision, said);
}

static void every_case_gives_its_decision_and_messages(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT_OF(scenes); i++) {
    const struct scene *s = &scenes[i];
    struct ft_explanation said;
    ft_decision d;

    play(s, &d, &said);
    if (d.action != s->action || d.mem_bytes != s->mem_bytes)
      fail_msg("%s: %s %llu MiB (%s)", s->name, ft_action_name(d.action),
               (unsigned long long)(d.mem_bytes / MB), d.reason);
    for (int l = 0; l < 2; l++)
      if (strcmp(l < said.count ? said.line[l] : "", s->line[l] ? s->line[l] : "") != 0)
        fail_msg("%s: said '%s'", s->name, l < said.count ? said.line[l] : "");
    if (said.error != (s->action == FT_ACTION_REJECT))
      fail_msg("%s: error %d", s->name, said.error);
  }
}

/* ---- the rules, each at its edges ---- */

struct rule_case {
  const char *name;
  ft_mode mode;
  ft_request request;
  struct ft_facts facts;
  double estimate, allocation; /* GiB; 0: none */
  unsigned runs, similar;
  bool site_mode, interactive, extrapolated;
  ft_action action;
  ft_decision_rule rule;
  uint64_t mem_bytes;
};

/* The default is 1 GiB. */
static const struct rule_case rule_cases[] = {
  { "what one run needed is a floor",
    FT_MODE_SET,
    { 0 },
    { .runs = 1,
      .completed = 1,
      .comparable_runs = 1,
      .comparable_completed = 1,
      .peak_value = 2 * GB,
      .comparable_peak_value = 2 * GB },
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    FT_ACTION_SET,
    FT_DECIDED_BY_FLOOR,
    2300 * MB },
  { "that holds above what is needed at a mean",
    FT_MODE_SET,
    { 0 },
    { .runs = 50,
      .completed = 50,
      .comparable_runs = 50,
      .comparable_completed = 50,
      .peak_value = 4 * GB,
      .comparable_peak_value = 4 * GB },
    2,
    0,
    50,
    0,
    0,
    0,
    0,
    FT_ACTION_SET,
    FT_DECIDED_BY_FLOOR,
    4600 * MB },
  { "a death is not forgotten for one success",
    FT_MODE_SET,
    { 0 },
    { .runs = 2,
      .completed = 1,
      .comparable_runs = 2,
      .comparable_completed = 1,
      .peak_value = 2 * GB,
      .comparable_peak_value = 2 * GB,
      .comparable_killed = 1,
      .comparable_killed_value = 1.9 * GB,
      .bound_value = 2.28 * GB,
      .comparable_bound_value = 2.28 * GB },
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    FT_ACTION_SET,
    FT_DECIDED_BY_FLOOR,
    2400 * MB },
  { "runs unlike it count while there are few",
    FT_MODE_SET,
    { 0 },
    { .runs = 4, .completed = 4, .peak_value = 2 * GB },
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    FT_ACTION_SET,
    FT_DECIDED_BY_FLOOR,
    2300 * MB },
  { "and not where there are more",
    FT_MODE_SET,
    { 0 },
    { .runs = 5, .completed = 5, .peak_value = 8 * GB },
    2,
    0,
    5,
    0,
    0,
    0,
    0,
    FT_ACTION_SET,
    FT_DECIDED_BY_ESTIMATE,
    2400 * MB },
  { "few runs set at most twice what they needed",
    FT_MODE_SET,
    { 0 },
    { .runs = 3,
      .completed = 3,
      .comparable_runs = 3,
      .comparable_completed = 3,
      .peak_value = 2 * GB,
      .comparable_peak_value = 2 * GB },
    9,
    0,
    3,
    0,
    0,
    0,
    0,
    FT_ACTION_SET,
    FT_DECIDED_BY_CEILING,
    4100 * MB },
  { "but no ceiling below the median of a narrow estimate",
    FT_MODE_SET,
    { 0 },
    { .runs = 30, .completed = 30, .peak_value = 2 * GB },
    9,
    0,
    30,
    0,
    0,
    0,
    true,
    FT_ACTION_SET,
    FT_DECIDED_BY_ESTIMATE,
    10400 * MB },
  { "without a comparable run, many runs have a ceiling",
    FT_MODE_SET,
    { 0 },
    { .runs = 30, .completed = 30, .peak_value = 2 * GB },
    3.9,
    9,
    30,
    0,
    0,
    0,
    0,
    FT_ACTION_SET,
    FT_DECIDED_BY_CEILING,
    4100 * MB },
  { "four kills at growing limits are no leak",
    FT_MODE_SET,
    { 0 },
    { .runs = 4,
      .comparable_runs = 4,
      .comparable_killed = 4,
      .lately_killed = 4,
      .growing_kills = 4,
      .comparable_killed_value = 2 * GB,
      .lately_killed_value = 2 * GB,
      .bound_value = 2.4 * GB,
      .comparable_bound_value = 2.4 * GB },
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    FT_ACTION_SET,
    FT_DECIDED_BY_FLOOR,
    5000 * MB },
  { "five may be",
    FT_MODE_SET,
    { 0 },
    { .runs = 5,
      .comparable_runs = 5,
      .comparable_killed = 5,
      .lately_killed = 5,
      .growing_kills = 5,
      .comparable_killed_value = 4 * GB,
      .lately_killed_value = 4 * GB,
      .bound_value = 4.8 * GB,
      .comparable_bound_value = 4.8 * GB },
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    FT_ACTION_WARN,
    FT_DECIDED_BY_LEAK,
    0 },
  { "unless the user asks for more",
    FT_MODE_RAISE,
    NODE(4 * GB),
    { .runs = 5,
      .comparable_runs = 5,
      .comparable_killed = 5,
      .lately_killed = 5,
      .growing_kills = 5,
      .comparable_killed_value = 4 * GB,
      .lately_killed_value = 4 * GB,
      .bound_value = 4.8 * GB,
      .comparable_bound_value = 4.8 * GB },
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    FT_ACTION_RAISE,
    FT_DECIDED_BY_FLOOR,
    9900 * MB },
  { "raise raises to what completed",
    FT_MODE_RAISE,
    NODE(1536 * MB),
    { .runs = 2,
      .completed = 1,
      .comparable_runs = 2,
      .comparable_completed = 1,
      .peak_value = 2 * GB,
      .comparable_peak_value = 2 * GB,
      .comparable_killed = 1,
      .comparable_killed_value = 1.2 * GB,
      .bound_value = 1.44 * GB,
      .comparable_bound_value = 1.44 * GB },
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    FT_ACTION_RAISE,
    FT_DECIDED_BY_FLOOR,
    2300 * MB },
  { "the user's request stands in the mode set",
    FT_MODE_SET,
    NODE(1536 * MB),
    { .runs = 1,
      .completed = 1,
      .comparable_runs = 1,
      .comparable_completed = 1,
      .peak_value = 2 * GB,
      .comparable_peak_value = 2 * GB },
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    FT_ACTION_WARN,
    FT_DECIDED_BY_REQUEST,
    0 },
  { "few runs take nothing away",
    FT_MODE_SET,
    { 0 },
    { .runs = 19,
      .completed = 19,
      .comparable_runs = 19,
      .comparable_completed = 19,
      .peak_value = GB / 2,
      .comparable_peak_value = GB / 2 },
    0.5,
    0,
    19,
    0,
    0,
    0,
    0,
    FT_ACTION_LEAVE,
    FT_DECIDED_BY_DEFAULT,
    0 },
  { "nor is what is enough added to",
    FT_MODE_SET,
    { 0 },
    { .runs = 19,
      .completed = 19,
      .comparable_runs = 19,
      .comparable_completed = 19,
      .peak_value = 0.8 * GB,
      .comparable_peak_value = 0.8 * GB },
    0.7,
    1.3,
    19,
    0,
    0,
    0,
    0,
    FT_ACTION_LEAVE,
    FT_DECIDED_BY_DEFAULT,
    0 },
  { "one completed run well within the default leaves it",
    FT_MODE_SET,
    { 0 },
    { .runs = 1,
      .completed = 1,
      .comparable_runs = 1,
      .comparable_completed = 1,
      .peak_value = 0.65 * GB,
      .comparable_peak_value = 0.65 * GB },
    0.7,
    1.25,
    1,
    0,
    0,
    0,
    0,
    FT_ACTION_LEAVE,
    FT_DECIDED_BY_DEFAULT,
    0 },
  { "one that came close to it does not",
    FT_MODE_SET,
    { 0 },
    { .runs = 1,
      .completed = 1,
      .comparable_runs = 1,
      .comparable_completed = 1,
      .peak_value = 0.95 * GB,
      .comparable_peak_value = 0.95 * GB },
    0.95,
    1.25,
    1,
    0,
    0,
    0,
    0,
    FT_ACTION_SET,
    FT_DECIDED_BY_ESTIMATE,
    1300 * MB },
  { "nor does one beside a killed run",
    FT_MODE_SET,
    { 0 },
    { .runs = 2,
      .completed = 1,
      .comparable_runs = 2,
      .comparable_completed = 1,
      .peak_value = 0.65 * GB,
      .comparable_peak_value = 0.65 * GB,
      .comparable_killed = 1,
      .comparable_killed_value = 0.6 * GB,
      .bound_value = 0.72 * GB,
      .comparable_bound_value = 0.72 * GB },
    0.7,
    1.25,
    2,
    0,
    0,
    0,
    0,
    FT_ACTION_SET,
    FT_DECIDED_BY_ESTIMATE,
    1300 * MB },
  { "nor if an extrapolated estimate doubts it",
    FT_MODE_SET,
    { 0 },
    { .runs = 9,
      .completed = 9,
      .comparable_runs = 1,
      .comparable_completed = 1,
      .peak_value = 0.65 * GB,
      .comparable_peak_value = 0.65 * GB },
    0.95,
    1.25,
    9,
    0,
    0,
    0,
    true,
    FT_ACTION_SET,
    FT_DECIDED_BY_ESTIMATE,
    1300 * MB },
  { "where it may not be, it is",
    FT_MODE_SET,
    { 0 },
    { .runs = 19,
      .completed = 19,
      .comparable_runs = 19,
      .comparable_completed = 19,
      .peak_value = 0.9 * GB,
      .comparable_peak_value = 0.9 * GB },
    0.9,
    1.1,
    19,
    0,
    0,
    0,
    0,
    FT_ACTION_SET,
    FT_DECIDED_BY_ESTIMATE,
    1200 * MB },
  { "similar apps are set where the user asked",
    FT_MODE_SET,
    { 0 },
    { 0 },
    2,
    0,
    0,
    1,
    0,
    0,
    0,
    FT_ACTION_SET,
    FT_DECIDED_BY_ESTIMATE,
    2400 * MB },
  { "and only told under the site's mode",
    FT_MODE_SET,
    { 0 },
    { 0 },
    2,
    0,
    0,
    1,
    true,
    0,
    0,
    FT_ACTION_WARN,
    FT_DECIDED_BY_ESTIMATE,
    0 },
  { "so it is with other variants of the app",
    FT_MODE_SET,
    { 0 },
    { .runs = 9, .completed = 9, .borrowed = true, .peak_value = 2 * GB },
    2,
    0,
    9,
    0,
    true,
    0,
    true,
    FT_ACTION_WARN,
    FT_DECIDED_BY_ESTIMATE,
    0 },
  { "a session is not set from history",
    FT_MODE_SET,
    { 0 },
    { .runs = 9,
      .completed = 9,
      .comparable_runs = 9,
      .comparable_completed = 9,
      .peak_value = 2 * GB,
      .comparable_peak_value = 2 * GB },
    2,
    0,
    9,
    0,
    0,
    true,
    0,
    FT_ACTION_LEAVE,
    FT_DECIDED_BY_NONE,
    0 },
  { "runs that only failed say what they used",
    FT_MODE_SET,
    { 0 },
    { .runs = 6,
      .comparable_runs = 6,
      .bound_value = 1.5 * GB,
      .comparable_bound_value = 1.5 * GB },
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    FT_ACTION_SET,
    FT_DECIDED_BY_FLOOR,
    1700 * MB },
  { "similar apps that needed more do not raise the ceiling of its own",
    FT_MODE_SET,
    { 0 },
    { .runs = 2,
      .completed = 2,
      .comparable_runs = 2,
      .comparable_completed = 2,
      .peak_value = 0.8 * GB,
      .comparable_peak_value = 0.8 * GB },
    1.2,
    9,
    2,
    1,
    0,
    0,
    0,
    FT_ACTION_SET,
    FT_DECIDED_BY_CEILING,
    1700 * MB },
};

static void each_rule_holds_at_its_boundaries(void **state)
{
  static const ft_partition gigabyte = { .name = "main",
                                         .def_mem_bytes = 1 * GB,
                                         .nodes_count = 1,
                                         .nodes = { { .cpus = 8, .mem_bytes = 100 * GB } } };
  /* what the message says when a rule other than the estimate determined the amount */
  static const char *const reasons[_ft_decision_rule_ARRAYSIZE] = {
    [FT_DECIDED_BY_FLOOR] = ", because a",
    [FT_DECIDED_BY_CEILING] = ", capped at ",
    [FT_DECIDED_BY_MAXIMUM] = ", the most that "
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(rule_cases); i++) {
    const struct rule_case *c = &rule_cases[i];
    struct ft_estimate e = estimate_of(c->estimate * (double)GB, c->runs);
    ft_policy policy = ft_policy_defaults;
    struct ft_facts facts = c->facts;
    struct ft_decision_input q =
        question_about(c->site_mode ? FT_MODE_UNSET : c->mode, "x", &c->request,
                       c->estimate > 0 ? &e : NULL, facts.runs ? &facts : NULL, &policy, &gigabyte);
    struct ft_explanation said;
    ft_decision d;
    char name[32];

    q.similar = c->similar;
    q.interactive = c->interactive;
    facts.fewest_runs = facts.comparable_runs;
    facts.fewest_completed = facts.comparable_completed;
    e.extrapolated = c->extrapolated;
    e.allocation_bytes = c->allocation * (double)GB;
    policy.mode = c->mode;
    policy.oom_probability = 0.05;
    decide(&q, &d, &said);
    if (d.action != c->action || d.rule != c->rule || d.mem_bytes != c->mem_bytes)
      fail_msg("%s: %s by %s, %llu MiB: %s", c->name, ft_action_name(d.action),
               ft_decision_rule_name(d.rule), (unsigned long long)(d.mem_bytes / MB),
               said.count ? said.line[0] : d.reason);
    if (d.action == FT_ACTION_SET && reasons[d.rule] && !strstr(said.line[0], reasons[d.rule]))
      fail_msg("%s: '%s' is missing: %s", c->name, reasons[d.rule], said.line[0]);
    (void)snprintf(name, sizeof name, "(%s)", ft_decision_rule_name(d.rule));
    if (said.count && strstr(said.line[0], name))
      fail_msg("%s: the message has the rule's name: %s", c->name, said.line[0]);
  }
}

/* ---- invariants for every request ---- */

static bool smaller_than_without(const struct ft_decision_input *q, const ft_decision *d)
{
  struct ft_decision_input without = *q;
  uint64_t before = limit_without(&without), after;
  ft_request request = *q->request;

  request.mem_unit = d->mem_unit;
  request.mem_bytes = d->mem_bytes;
  without.request = &request;
  after = limit_without(&without);
  return !before || after < before;
}

static void check_laws(const struct ft_decision_input *q, const ft_decision *d,
                       const struct ft_explanation *said)
{
  ft_mode mode = q->mode ? q->mode : q->policy->mode;
  bool asked = q->request->mem_unit != FT_MEM_NONE;
  bool changed = d->mem_bytes > 0;

  assert_int_equal(d->mode, mode);
  assert_true(d->reason[0] != '\0');
  assert_true(changed == (d->action == FT_ACTION_SET || d->action == FT_ACTION_RAISE ||
                          d->action == FT_ACTION_TRIM));
  assert_true(said->error == (d->action == FT_ACTION_REJECT));
  for (int l = 0; l < said->count; l++)
    assert_true(said->line[l][0] && strlen(said->line[l]) < FT_MESSAGE_SIZE - 1);
  if (mode == FT_MODE_OFF && d->action != FT_ACTION_REJECT)
    assert_true(d->action == FT_ACTION_LEAVE && !said->count && !d->has_p_oom);
  if (d->overrode)
    assert_true(mode == FT_MODE_FORCE && d->p_oom > q->policy->reject_probability);
  if (mode == FT_MODE_CHECK || (asked && mode != FT_MODE_RAISE && mode != FT_MODE_TRIM))
    assert_false(changed);
  if (changed && asked && q->request->mem_unit != FT_MEM_ALL)
    assert_int_equal(d->mem_unit, q->request->mem_unit);
  if (changed &&
      (!q->estimate || q->estimate->runs < q->policy->trim_runs || q->request->exclusive))
    assert_false(smaller_than_without(q, d));
  if (changed && q->partition && q->partition->max_mem_bytes && q->partition->max_per_cpu &&
      d->mem_unit == FT_MEM_CPU)
    assert_true(d->mem_bytes <= q->partition->max_mem_bytes);
  if (d->has_p_oom)
    assert_true(d->p_oom > 0 && d->p_oom < 1 && q->rule != FT_RULE_NONE);
  if (changed && d->has_p_oom)
    assert_true(d->p_oom <= 0.5);
  if (d->action == FT_ACTION_REJECT) {
    assert_true(d->p_oom > q->policy->reject_probability && q->policy->reject_probability > 0);
    assert_true(mode != FT_MODE_FORCE);
    assert_true(q->estimate->runs >= q->policy->min_runs && q->estimate->runs > 0);
    assert_int_equal(said->count, 2);
    assert_non_null(strstr(said->line[1], "--predict-mem=force"));
  } else {
    assert_true(said->count <= 1);
  }
  if (q->policy->quiet && !changed && d->action != FT_ACTION_REJECT && q->mode != FT_MODE_CHECK)
    assert_int_equal(said->count, 0);
}

static void the_invariants_hold_for_every_combination(void **state)
{
  static const ft_partition *const partitions[] = { NULL,        &two_kinds, &per_node,
                                                    &no_default, &alone,     &at_most_per_cpu,
                                                    &at_most,    &tiny };
  static const uint64_t sizes[] = { 1 * MB, 2 * GB, 13 * GB, 500 * GB };
  static const double reject[] = { 0, 0.02, 0.9 };
  static const unsigned runs[] = { 0, 4, 10, 100 };
  size_t count = 0;

  (void)state;
  for (unsigned n = 0; n < 7 * 5 * 4 * 8 * 3 * 4 * 64; n++) {
    unsigned k = n;
    ft_policy policy;
    ft_request request = { 0 };
    struct ft_estimate e;
    struct ft_facts facts;
    struct ft_decision_input q = { .app = "a", .request = &request, .policy = &policy };
    struct ft_explanation said;
    ft_decision d;

    ft_policy_resolve(NULL, NULL, NULL, NULL, &policy);
    q.mode = (ft_mode)(k % 7), k /= 7;
    request.mem_unit = (ft_mem_unit)(k % 5), k /= 5;
    if (request.mem_unit != FT_MEM_NONE && request.mem_unit != FT_MEM_ALL)
      request.mem_bytes = sizes[k % 4];
    k /= 4;
    q.partition = partitions[k % 8], k /= 8;
    policy.reject_probability = reject[k % 3], k /= 3;
    e = estimate_of(11.2 * (double)GB, runs[k % 4]), k /= 4;
    q.memory_is_consumable = k & 1;
    q.rule = k & 2 ? FT_RULE_NONE : FT_RULE_RSS;
    policy.quiet = k & 4;
    request.exclusive = k & 8;
    policy.mode = k & 16 ? FT_MODE_TRIM : FT_MODE_CHECK;
    request.cpus_per_task = 1 + (k & 8);
    e.bound_value = k & 32 ? 9 * (double)GB : 0;
    request.array_tasks = k & 4 ? 20 : 0;
    q.estimate = e.runs ? &e : NULL;
    facts = facts_of(e.runs, 11.2 * (double)GB, e.bound_value);
    q.facts = facts.runs ? &facts : NULL;
    decide(&q, &d, &said);
    check_laws(&q, &d, &said);
    count++;
  }
  assert_true(count > 100000);
}

/* ---- runs that are alike, kills, and arrays ---- */

/* A job of unet3d on a partition with a default of 2 GiB. */
static const struct question {
  const char *name;
  ft_mode mode;
  ft_request request;
  double need, used, died_at; /* GiB */
  unsigned cohorts;           /* of 42 runs; 0: unknown */
  const ft_partition *partition;
  ft_action action;
  uint64_t mem_bytes;
} questions[] = {
  { "four submissions of arrays lower a request", FT_MODE_TRIM, NODE(64 * GB), 11.2, 11.2, 0, 4,
    &per_node, FT_ACTION_TRIM, 13800 * MB },
  { "an array of a thousand is lowered to what hardly one of them exceeds",
    FT_MODE_TRIM,
    { .mem_unit = FT_MEM_NODE, .mem_bytes = 64 * GB, .array_tasks = 1000 },
    11.2,
    11.2,
    0,
    42,
    &per_node,
    FT_ACTION_TRIM,
    15800 * MB },
  { "one does not", FT_MODE_TRIM, NODE(64 * GB), 11.2, 11.2, 0, 1, &per_node, FT_ACTION_WARN, 0 },
  { "nor is it lowered after a kill", FT_MODE_TRIM, NODE(64 * GB), 11.2, 11.2, 12.6, 42, &per_node,
    FT_ACTION_WARN, 0 },
  { "and a job gets no less than without foretell",
    FT_MODE_SET,
    { 0 },
    11.2,
    11.2,
    12.6,
    42,
    &no_default,
    FT_ACTION_LEAVE,
    0 },
  { "one run is left to the default",
    FT_MODE_SET,
    { 0 },
    1.69,
    1.69,
    0,
    42,
    &per_node,
    FT_ACTION_LEAVE,
    0 },
  { "so is an array whose tasks all fit",
    FT_MODE_SET,
    { .array_tasks = 10 },
    1.5,
    1.69,
    0,
    42,
    &per_node,
    FT_ACTION_LEAVE,
    0 },
  { "one of a thousand runs out, and more is set",
    FT_MODE_RAISE,
    { .mem_unit = FT_MEM_NODE, .mem_bytes = 2 * GB, .array_tasks = 1000 },
    1.69,
    1.9,
    0,
    42,
    &per_node,
    FT_ACTION_RAISE,
    2200 * MB },
};

static void alike_runs_kills_and_arrays_are_weighed(void **state)
{
  static ft_model model;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(questions); i++) {
    const struct question *c = &questions[i];
    struct ft_estimate e = estimate_of(c->need * (double)GB, 42);
    struct ft_facts facts = facts_of(42, c->used * (double)GB, c->died_at * (double)GB);
    ft_policy policy = ft_policy_defaults;
    struct ft_decision_input q =
        question_about(c->mode, "unet3d", &c->request, &e, &facts, &policy, c->partition);
    struct ft_explanation said;
    ft_decision d;

    q.model = &model;
    model.completed = 42;
    model.evaluator.cohorts = c->cohorts;
    policy.oom_probability = 0.05;
    decide(&q, &d, &said);
    if (d.action != c->action || d.mem_bytes != c->mem_bytes)
      fail_msg("%s: %s, %llu MiB: %s", c->name, ft_action_name(d.action),
               (unsigned long long)(d.mem_bytes / MB), said.count ? said.line[0] : d.reason);
  }
}

static void a_message_gives_the_reason_of_a_margin(void **state)
{
  struct ft_estimate e = estimate_with_spread(1.2 * (double)GB, 42, 0.5);
  struct ft_facts facts = facts_of(42, 2.4 * (double)GB, 0);
  ft_policy policy = ft_policy_defaults;
  ft_request request = { .array_tasks = 0 };
  struct ft_decision_input q =
      question_about(FT_MODE_SET, "unet3d", &request, &e, &facts, &policy, &per_node);
  struct ft_explanation said;
  ft_decision d;

  (void)state;
  facts.comparable_min_value = 0.8 * (double)GB;
  policy.oom_probability = 0.05;
  decide(&q, &d, &said);
  assert_string_equal(
      said.line[0],
      "unet3d needs 1.20 GiB, 95 % below 2.73 GiB (42 runs); --mem set to 2800M, which "
      "keeps the probability of running out of memory at 5.0 % for an app whose runs "
      "vary by a factor of 3");
}

/* The last kill is named: as the reason of the amount of the next attempt, else beside the runs. */
static void the_last_kill_is_named(void **state)
{
  static const struct {
    ft_mode mode;
    double need_mib, killed_mib, mem_mib;
    unsigned completed; /* comparable runs, before the kill */
    const char *line;
  } cases[] = {
    { FT_MODE_CHECK, 80, 100, 110, 0,
      "solve was killed at 100 MiB (1 run, none completed); with --mem=110M it may run out of "
      "memory;"
      " use --mem=" },
    { FT_MODE_RAISE, 80, 100, 90, 0,
      "solve was killed at 100 MiB (1 run, none completed); --mem raised from 90M to 300M, because "
      "a"
      " comparable run ran out of memory at 100 MiB" },
    { FT_MODE_CHECK, 80, 60, 100, 6,
      "solve needs 80 MiB, 95 % below 90.0 MiB (6 runs; the last comparable one was killed at"
      " 60 MiB); --mem=100M" },
    { FT_MODE_CHECK, 80, 0, 100, 6,
      "solve needs 80 MiB, 95 % below 90.0 MiB (6 runs); --mem=100M" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_request request = { .mem_unit = cases[i].mem_mib > 0 ? FT_MEM_NODE : FT_MEM_NONE,
                           .mem_bytes = (uint64_t)(cases[i].mem_mib * (double)MB) };
    struct ft_estimate e = estimate_of(cases[i].need_mib * (double)MB, 6);
    struct ft_facts facts = facts_of(cases[i].completed, cases[i].need_mib * (double)MB,
                                     cases[i].killed_mib * (double)MB);
    ft_policy policy = ft_policy_defaults;
    struct ft_decision_input q =
        question_about(cases[i].mode, "solve", &request, &e, &facts, &policy, &per_node);
    struct ft_explanation said;
    ft_decision d;

    decide(&q, &d, &said);
    if (strncmp(said.line[0], cases[i].line, strlen(cases[i].line)) != 0)
      fail_msg("case %zu: %s", i, said.line[0]);
  }
}

/* After an edit the runs of the new text count, from the first on: an estimate that is still that
 * of the old text is not told. */
static void an_estimate_of_another_text_is_not_told(void **state)
{
  const ft_request request = { .mem_unit = FT_MEM_NODE, .mem_bytes = 120 * MB };
  struct ft_estimate e = estimate_of(52 * (double)MB, 7);
  struct ft_facts facts = facts_of(1, 197 * (double)MB, 0);
  ft_policy policy = ft_policy_defaults;
  struct ft_decision_input q =
      question_about(FT_MODE_CHECK, "solve", &request, &e, &facts, &policy, &per_node);
  struct ft_explanation said;
  ft_decision d;

  (void)state;
  facts.runs = facts.completed = 7;
  facts.other_texts = true;
  decide(&q, &d, &said);
  assert_non_null(strstr(said.line[0], "solve used up to 197 MiB (1 comparable run of 7); "));
  e = estimate_of(190 * (double)MB, 7);
  decide(&q, &d, &said);
  assert_non_null(strstr(said.line[0], "solve needs 190 MiB"));
}

/* What changed since the last run is told in a line of its own. The figures of another text of the
 * program lower nothing and reject nothing; those of an edited script do. */
static void changes_are_told_and_weighed(void **state)
{
  static const struct {
    unsigned changes, runs;
    ft_mode mode;
    double mem_gib;
    ft_action action;
    const char *line;
  } cases[] = {
    { 0, 0, FT_MODE_TRIM, 64, FT_ACTION_TRIM, NULL },
    { FT_CHANGED_SCRIPT, 0, FT_MODE_TRIM, 64, FT_ACTION_TRIM,
      "your script changed since the last run; runs from before may not be comparable" },
    { FT_CHANGED_CODE, 0, FT_MODE_TRIM, 64, FT_ACTION_LEAVE,
      "sim.py changed since the last run; runs from before may not be comparable" },
    { FT_CHANGED_SCRIPT | FT_CHANGED_CODE, 0, FT_MODE_TRIM, 64, FT_ACTION_LEAVE,
      "your script and sim.py changed since the last run; runs from before may not be comparable" },
    { FT_CHANGED_PROGRAM, 0, FT_MODE_TRIM, 64, FT_ACTION_LEAVE,
      "the last runs of unet3d ran another program; their memory may say nothing of this job" },
    { 0, 0, FT_MODE_CHECK, 4, FT_ACTION_REJECT, NULL },
    { FT_CHANGED_SCRIPT, 0, FT_MODE_CHECK, 4, FT_ACTION_REJECT,
      "your script changed since the last run; runs from before may not be comparable" },
    { FT_CHANGED_CODE, 0, FT_MODE_CHECK, 4, FT_ACTION_WARN,
      "sim.py changed since the last run; runs from before may not be comparable" },
    { FT_CHANGED_CODE, 1, FT_MODE_CHECK, 12, FT_ACTION_WARN,
      "sim.py changed before the last run; runs from before may not be comparable" },
    { FT_CHANGED_SCRIPT, 2, FT_MODE_CHECK, 12, FT_ACTION_WARN,
      "your script changed before the last 2 runs; runs from before may not be comparable" },
    { FT_CHANGED_CODE, 2, FT_MODE_CHECK, 64, FT_ACTION_WARN,
      "sim.py changed before the last 2 runs; runs from before may not be comparable" },
  };
  struct ft_estimate e = estimate_of(11.2 * GB, 42);
  struct ft_facts facts = facts_of(42, 11.2 * GB, 0);
  ft_policy policy;

  (void)state;
  ft_policy_resolve(NULL, NULL, NULL, NULL, &policy);
  policy.reject_probability = 0.5;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_request request = { .mem_unit = FT_MEM_NODE,
                           .mem_bytes = (uint64_t)(cases[i].mem_gib * (double)GB) };
    struct ft_decision_input q =
        question_about(cases[i].mode, "unet3d", &request, &e, &facts, &policy, &per_node);
    struct ft_explanation said;
    ft_decision d;

    q.changes = cases[i].changes;
    q.changed_runs = cases[i].runs;
    q.code_files = "sim.py";
    decide(&q, &d, &said);
    if (d.action != cases[i].action)
      fail_msg("case %zu: %s", i, ft_action_name(d.action));
    if (cases[i].runs)
      assert_non_null(strstr(said.line[0], "unet3d may need"));
    if (cases[i].line)
      assert_string_equal(said.line[said.count - 1], cases[i].line);
    else
      assert_null(strstr(said.line[said.count - 1], "changed"));
  }
}

static void long_names_are_truncated(void **state)
{
  char app[128];
  struct scene s = scenes[0];
  struct ft_estimate e = estimate_of(11.2 * (double)GB, 42);
  struct ft_facts facts = facts_of(42, 11.2 * (double)GB, 0);
  struct ft_explanation said;
  ft_partition partition = tiny;
  ft_policy policy;
  ft_decision d;
  struct ft_decision_input q =
      question_about(FT_MODE_SET, app, &s.request, &e, NULL, &policy, &partition);

  (void)state;
  q.rule = FT_RULE_RSS;
  memset(app, 'a', sizeof app - 1);
  app[sizeof app - 1] = '\0';
  memset(partition.name, 'p', sizeof partition.name - 1);
  s.request.array_tasks = UINT32_MAX;
  q.facts = &facts;
  ft_policy_resolve(NULL, NULL, NULL, NULL, &policy);
  policy.reject_probability = 0.5;
  decide(&q, &d, &said);
  assert_int_equal(said.count, 2);
  assert_true(strlen(said.line[0]) < FT_MESSAGE_SIZE - 1);
}

static void runs_that_outvote_a_model_file_are_named(void **state)
{
  static struct ft_submission_knowledge known;
  static ft_submission submission = { .app = "x" };
  static ft_network network = { .subject = "training of batch 64 of net.onnx",
                                .quantiles_count = FT_ESTIMATE_LEVELS };
  static ft_site of_site;
  struct ft_submission_query query = { .site = &of_site,
                                       .submission = &submission,
                                       .known = &known,
                                       .mode = FT_MODE_CHECK,
                                       .network = &network };
  struct ft_submission_decision decided;
  struct ft_explanation said;

  (void)state;
  known.policy = ft_policy_defaults;
  for (unsigned runs = 1; runs <= 42; runs += 41) {
    struct ft_estimate e = estimate_of(1e9, runs);
    bool named = false;

    memcpy(network.quantiles, e.quantile, sizeof network.quantiles);
    known.evidence.estimate = &e;
    ft_submission_decide(&query, &decided);
    ft_submission_explain(&decided, &said);
    for (int i = 0; i < said.count; i++)
      named |= strstr(said.line[i], "net.onnx: not estimated from the model file, the recorded runs"
                                    " of x count more") != NULL;
    if (named != (runs == 42))
      fail_msg("%u runs: %s", runs, said.line[said.count - 1]);
  }
}

static void exceedance_and_quantile_are_inverse(void **state)
{
  struct ft_estimate e = estimate_of(1e9, 10);
  static const double p[] = { 1e-5, 0.001, 0.04, 0.3, 0.5, 0.8, 0.97, 0.9999, 0.999999 };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(p); i++)
    assert_near(ft_estimate_exceeds(&e, ft_estimate_quantile(&e, p[i])), 1 - p[i], 1e-6);
  assert_true(ft_estimate_exceeds(&e, 0) == 1);
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    e.quantile[i] = 5;
  assert_true(ft_estimate_exceeds(&e, 6) < 0.001 && ft_estimate_exceeds(&e, 4) > 0.999);
  /* the highest of equal quantiles: nothing in the evidence is above it */
  e = estimate_of(1e9, 10);
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    e.quantile[i] = fmin(e.quantile[i], ft_estimate_quantile(&e, 0.95));
  assert_true(ft_estimate_exceeds(&e, ft_estimate_quantile(&e, 0.995)) < 0.00501);
}

static void levels_have_their_normal_scores(void **state)
{
  (void)state;
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    assert_true(fabs(ft_interval_scores[i] - ft_normal_quantile(ft_interval_levels[i])) < 1e-13);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(levels_have_their_normal_scores),
    cmocka_unit_test(limits_follow_tasks_nodes_and_cpus),
    cmocka_unit_test(hyperthreads_are_counted_as_in_slurm),
    cmocka_unit_test(every_case_gives_its_decision_and_messages),
    cmocka_unit_test(each_rule_holds_at_its_boundaries),
    cmocka_unit_test(the_invariants_hold_for_every_combination),
    cmocka_unit_test(alike_runs_kills_and_arrays_are_weighed),
    cmocka_unit_test(a_message_gives_the_reason_of_a_margin),
    cmocka_unit_test(the_last_kill_is_named),
    cmocka_unit_test(an_estimate_of_another_text_is_not_told),
    cmocka_unit_test(changes_are_told_and_weighed),
    cmocka_unit_test(long_names_are_truncated),
    cmocka_unit_test(runs_that_outvote_a_model_file_are_named),
    cmocka_unit_test(exceedance_and_quantile_are_inverse),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
