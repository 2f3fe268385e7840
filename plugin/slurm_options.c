/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "plugin/slurm_options.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/decide/constraint.h"
#include "predictor/request/array.h"

/* POSIX lets dlsym give a function; ISO C does not let it be cast. */
static void find(const char *name, void *function)
{
  void *symbol = dlsym(RTLD_DEFAULT, name);

  memcpy(function, &symbol, sizeof symbol);
}

bool ft_slurm_options_open(struct ft_slurm_options *bridge)
{
  *bridge = (struct ft_slurm_options){ .opt = dlsym(RTLD_DEFAULT, "opt") };
  find("slurm_option_get", &bridge->get);
  find("slurm_option_get_next_set", &bridge->next_set);
  find("slurm_xfree", &bridge->xfree);
  if (!bridge->get || !bridge->next_set || !bridge->xfree)
    bridge->opt = NULL;
  return bridge->opt;
}

/* By enum ft_option; arrays, so that nothing need be relocated where the plugin is loaded. */
static const char option_names[FT_OPTIONS][20] = {
  [FT_OPTION_ACCOUNT] = "account",
  [FT_OPTION_ARRAY] = "array",
  [FT_OPTION_CHDIR] = "chdir",
  [FT_OPTION_CLUSTERS] = "clusters",
  [FT_OPTION_CONSTRAINT] = "constraint",
  [FT_OPTION_CONTAINER] = "container",
  [FT_OPTION_CPUS_PER_GPU] = "cpus-per-gpu",
  [FT_OPTION_CPUS_PER_TASK] = "cpus-per-task",
  [FT_OPTION_DEBUGGER_TEST] = "debugger-test",
  [FT_OPTION_EXCLUDE] = "exclude",
  [FT_OPTION_EXCLUSIVE] = "exclusive",
  [FT_OPTION_EXPORT] = "export",
  [FT_OPTION_EXTERNAL] = "external",
  [FT_OPTION_GPUS] = "gpus",
  [FT_OPTION_GPUS_PER_NODE] = "gpus-per-node",
  [FT_OPTION_GPUS_PER_SOCKET] = "gpus-per-socket",
  [FT_OPTION_GPUS_PER_TASK] = "gpus-per-task",
  [FT_OPTION_GRES] = "gres",
  [FT_OPTION_HINT] = "hint",
  [FT_OPTION_JOBID] = "jobid",
  [FT_OPTION_MEM] = "mem",
  [FT_OPTION_MEM_PER_CPU] = "mem-per-cpu",
  [FT_OPTION_MEM_PER_GPU] = "mem-per-gpu",
  [FT_OPTION_NODEFILE] = "nodefile",
  [FT_OPTION_NODELIST] = "nodelist",
  [FT_OPTION_NODES] = "nodes",
  [FT_OPTION_NTASKS] = "ntasks",
  [FT_OPTION_NTASKS_PER_NODE] = "ntasks-per-node",
  [FT_OPTION_PARTITION] = "partition",
  [FT_OPTION_QOS] = "qos",
  [FT_OPTION_QUIET] = "quiet",
  [FT_OPTION_RESERVATION] = "reservation",
  [FT_OPTION_THREADS_PER_CORE] = "threads-per-core",
  [FT_OPTION_TIME] = "time",
  [FT_OPTION_TRES_PER_TASK] = "tres-per-task",
  [FT_OPTION_UID] = "uid",
  [FT_OPTION_WRAP] = "wrap"
};

void ft_slurm_options_read(struct ft_slurm_options *bridge)
{
  char *name = NULL, *value = NULL;
  size_t state = 0;

  ft_slurm_options_release(bridge);
  while (bridge->next_set(bridge->opt, &name, &value, &state)) {
    for (size_t i = 0; name && i < FT_OPTIONS; i++)
      if (!bridge->value[i] && strcmp(name, option_names[i]) == 0) {
        bridge->value[i] = value;
        value = NULL;
      }
    if (name)
      bridge->xfree((void **)&name);
    if (value)
      bridge->xfree((void **)&value);
  }
}

void ft_slurm_options_release(struct ft_slurm_options *bridge)
{
  for (size_t i = 0; i < FT_OPTIONS; i++)
    if (bridge->value[i])
      bridge->xfree((void **)&bridge->value[i]);
}

bool ft_slurm_options_get(const struct ft_slurm_options *bridge, const char *name, char *out, size_t size)
{
  char *value = bridge->get(bridge->opt, name);

  (void)ft_string_copy(value, out, size);
  if (!value)
    return false;
  bridge->xfree((void **)&value);
  return true;
}

static uint32_t number_of(const char *value)
{
  struct ft_text text = ft_text_from(value);
  uint64_t number;

  return ft_text_u64(&text, UINT32_MAX - 2, &number) ? (uint32_t)number : 0;
}

/*
 * --mem=0, which Slurm shows as "0?", is the whole node. Slurm shows whole
 * multiples of 1024 MiB with a suffix, and MiB without one.
 */
static bool memory_of(const char *value, uint64_t *bytes)
{
  struct ft_text text = ft_text_from(value);

  if (text.end > text.at && text.end[-1] == '?')
    text.end--;
  return value && ft_units_parse_bytes(text, FT_MIB, bytes);
}

static void read_memory(const struct ft_slurm_options *bridge, ft_request *out)
{
  static const struct {
    enum ft_option option;
    ft_mem_unit unit;
  } units[] = { { FT_OPTION_MEM, FT_MEM_NODE },
                { FT_OPTION_MEM_PER_CPU, FT_MEM_CPU },
                { FT_OPTION_MEM_PER_GPU, FT_MEM_GPU } };

  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (!memory_of(bridge->value[units[i].option], &out->mem_bytes))
      continue;
    out->mem_unit = units[i].unit;
    if (!out->mem_bytes)
      out->mem_unit = FT_MEM_ALL;
    return;
  }
}

static ft_command command_of(const struct ft_slurm_options *bridge, bool local)
{
  char value[32];

  if (local)
    return FT_COMMAND_SRUN;
  /* what Slurm answers where an option is sbatch's alone; the first such in its table */
  if (!bridge->value[FT_OPTION_ARRAY] && ft_slurm_options_get(bridge, "array", value, sizeof value) &&
      strcmp(value, "invalid-context") == 0)
    return FT_COMMAND_SALLOC;
  return FT_COMMAND_SBATCH;
}

struct ft_gpu_request ft_slurm_options_gpus(const struct ft_slurm_options *bridge)
{
  char *const *value = bridge->value;

  return (struct ft_gpu_request){ .value = { [FT_GPU_OPTION_NODE] = value[FT_OPTION_GPUS_PER_NODE],
                                            [FT_GPU_OPTION_JOB] = value[FT_OPTION_GPUS],
                                            [FT_GPU_OPTION_GRES] = value[FT_OPTION_GRES],
                                            [FT_GPU_OPTION_TASK] = value[FT_OPTION_GPUS_PER_TASK],
                                            [FT_GPU_OPTION_TRES] = value[FT_OPTION_TRES_PER_TASK],
                                            [FT_GPU_OPTION_SOCKET] = value[FT_OPTION_GPUS_PER_SOCKET] } };
}

/* What of a core the job uses, as Slurm reads it (verify_hint); 0: all of it. */
static uint32_t threads_per_core(const struct ft_slurm_options *bridge)
{
  static const char one[] = "compute_bound,memory_bound,nomultithread";
  const char *hint = bridge->value[FT_OPTION_HINT];
  uint32_t typed = number_of(bridge->value[FT_OPTION_THREADS_PER_CORE]);

  return !typed && hint && ft_text_lists_any_case(ft_text_from(one), ft_text_from(hint)) ? 1
                                                                                          : typed;
}

/*
 * Whether the job gets whole nodes: "allocation", which srun has from 26.05 on, does not hold for its
 * own step. With "user", "mcs" and "topo" it gets no more CPUs than it asks for.
 */
static bool is_exclusive(const char *value)
{
  return value && (strcmp(value, "exclusive") == 0 || strcmp(value, "allocation") == 0);
}

void ft_slurm_options_request(const struct ft_slurm_options *bridge, bool local, ft_request *out)
{
  char *const *value = bridge->value;
  struct ft_gpu_request asked = ft_slurm_options_gpus(bridge);

  *out = (ft_request){ .command = command_of(bridge, local) };
  read_memory(bridge, out);
  out->exclusive = is_exclusive(value[FT_OPTION_EXCLUSIVE]);
  out->nodes = number_of(value[FT_OPTION_NODES]);
  out->tasks = number_of(value[FT_OPTION_NTASKS]);
  out->cpus_per_task = number_of(value[FT_OPTION_CPUS_PER_TASK]);
  out->cpus_per_gpu = number_of(value[FT_OPTION_CPUS_PER_GPU]);
  out->tasks_per_node = number_of(value[FT_OPTION_NTASKS_PER_NODE]);
  out->threads_per_core = threads_per_core(bridge);
  (void)ft_string_copy(value[FT_OPTION_PARTITION], out->partition, sizeof out->partition);
  (void)ft_string_copy(value[FT_OPTION_ACCOUNT], out->account, sizeof out->account);
  (void)ft_string_copy(value[FT_OPTION_QOS], out->qos, sizeof out->qos);
  (void)ft_string_copy(value[FT_OPTION_CONSTRAINT], out->constraint, sizeof out->constraint);
  (void)ft_string_copy(value[FT_OPTION_CONTAINER], out->container, sizeof out->container);
  (void)ft_string_copy(value[FT_OPTION_GRES], out->gres, sizeof out->gres);
  out->gpus_per_node = ft_gpu_request_per_node(&asked, out);
  if (value[FT_OPTION_TIME])
    (void)ft_units_parse_seconds(ft_text_from(value[FT_OPTION_TIME]), &out->time_limit_seconds);
  if (out->command == FT_COMMAND_SBATCH && value[FT_OPTION_ARRAY])
    out->array_tasks = ft_array_count(value[FT_OPTION_ARRAY]);
}

static const enum ft_option memory_options[] = { FT_OPTION_MEM, FT_OPTION_MEM_PER_CPU,
                                                 FT_OPTION_MEM_PER_GPU };

enum { MEMORY_OPTIONS = sizeof memory_options / sizeof *memory_options };

/* What stands in place of what the user had written, so that it can be put back. */
static struct {
  enum ft_option which;
  uint64_t bytes;     /* 0: nothing was replaced */
  enum ft_option had; /* FT_OPTIONS: the user had asked for none */
  char theirs[64];
} replaced;

static void note_theirs(const struct ft_slurm_options *bridge)
{
  replaced.had = FT_OPTIONS;
  for (size_t i = 0; i < MEMORY_OPTIONS && replaced.had == FT_OPTIONS; i++)
    if (bridge->value[memory_options[i]]) {
      replaced.had = memory_options[i];
      (void)ft_string_copy(bridge->value[replaced.had], replaced.theirs, sizeof replaced.theirs);
    }
}

static bool set(const struct ft_slurm_options *bridge, enum ft_option option, const char *value)
{
  int (*function)(void *opt, const char *name, const char *value, bool early);

  find("slurm_option_set", &function);
  return function && function(bridge->opt, option_names[option], value, false) == 0;
}

static void reset(const struct ft_slurm_options *bridge, enum ft_option option)
{
  bool (*function)(void *opt, const char *name);

  find("slurm_option_reset", &function);
  if (function)
    (void)function(bridge->opt, option_names[option]);
}

/* A value that Slurm rejects has emptied the option (22.05): the user's own is set again. */
static bool replace(const struct ft_slurm_options *bridge, enum ft_option option, const char *value)
{
  if (set(bridge, option, value))
    return true;
  if (bridge->value[option])
    (void)set(bridge, option, bridge->value[option]);
  return false;
}

int ft_slurm_options_set_memory(const struct ft_slurm_options *bridge, ft_mem_unit unit, uint64_t bytes)
{
  enum ft_option which = unit == FT_MEM_CPU   ? FT_OPTION_MEM_PER_CPU
                         : unit == FT_MEM_GPU ? FT_OPTION_MEM_PER_GPU
                                              : FT_OPTION_MEM;
  char value[32];

  if (!bytes)
    return -1;
  note_theirs(bridge);
  ft_units_slurm_bytes(bytes, value, sizeof value);
  if (!replace(bridge, which, value))
    return -1;
  for (size_t i = 0; i < MEMORY_OPTIONS; i++)
    if (memory_options[i] != which && bridge->value[memory_options[i]])
      reset(bridge, memory_options[i]);
  replaced.which = which;
  (void)memory_of(value, &replaced.bytes);
  return 0;
}

/* Likewise of what is asked of GPUs. */
static struct {
  enum ft_option which;
  bool had;
  char ours[256], theirs[256]; /* "": nothing was replaced */
} gpus;

int ft_slurm_options_set_gpus(const struct ft_slurm_options *bridge, const char *name, const char *value)
{
  static const enum ft_option where[] = { FT_OPTION_GRES, FT_OPTION_GPUS, FT_OPTION_GPUS_PER_NODE };
  size_t i = 0;

  while (i < sizeof where / sizeof *where && strcmp(name, option_names[where[i]]) != 0)
    i++;
  if (i == sizeof where / sizeof *where || !value[0] ||
      value[strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                          "_.:,=+-/()")] != '\0')
    return -1;
  gpus.which = where[i];
  gpus.had = bridge->value[gpus.which];
  if (!ft_string_copy(bridge->value[gpus.which], gpus.theirs, sizeof gpus.theirs) ||
      !ft_string_copy(value, gpus.ours, sizeof gpus.ours) ||
      !replace(bridge, gpus.which, value)) {
    gpus.ours[0] = '\0';
    return -1;
  }
  return 0;
}

/* Whether Slurm has NOW where OURS was set. */
static bool shows(const char *now, const char *ours)
{
  struct ft_text left = ft_text_from(now), right = ft_text_from(ours), a, b;

  while (ft_text_until(&right, ',', &b)) {
    if (!ft_text_until(&left, ',', &a))
      return false;
    if (!ft_text_same(ft_gres_skip_prefix(a), b))
      return false;
  }
  return !ft_text_left(&left);
}

static void restore_gpus(struct ft_slurm_options *bridge)
{
  const char *now = bridge->value[gpus.which];

  if (gpus.ours[0] && now && shows(now, gpus.ours)) {
    reset(bridge, gpus.which);
    if (gpus.had)
      (void)set(bridge, gpus.which, gpus.theirs);
    ft_slurm_options_read(bridge);
  }
  gpus.ours[0] = '\0';
}

/* And of the partition. */
static struct {
  bool had;
  char ours[1024], theirs[1024]; /* "": nothing was replaced */
} partition;

int ft_slurm_options_set_partition(const struct ft_slurm_options *bridge, const char *list)
{
  const char *now = bridge->value[FT_OPTION_PARTITION];

  partition.had = now;
  if (!list[0] || !ft_string_copy(now, partition.theirs, sizeof partition.theirs) ||
      !ft_string_copy(list, partition.ours, sizeof partition.ours) ||
      !replace(bridge, FT_OPTION_PARTITION, list)) {
    partition.ours[0] = '\0';
    return -1;
  }
  return 0;
}

static void restore_partition(struct ft_slurm_options *bridge)
{
  const char *now = bridge->value[FT_OPTION_PARTITION];

  if (partition.ours[0] && now && strcmp(now, partition.ours) == 0) {
    reset(bridge, FT_OPTION_PARTITION);
    if (partition.had)
      (void)set(bridge, FT_OPTION_PARTITION, partition.theirs);
    ft_slurm_options_read(bridge);
  }
  partition.ours[0] = '\0';
}

void ft_slurm_options_restore(struct ft_slurm_options *bridge)
{
  uint64_t bytes;

  restore_gpus(bridge);
  restore_partition(bridge);
  if (!replaced.bytes)
    return;
  if (memory_of(bridge->value[replaced.which], &bytes) && bytes == replaced.bytes) {
    reset(bridge, replaced.which);
    if (replaced.had < FT_OPTIONS)
      (void)set(bridge, replaced.had, replaced.theirs);
    ft_slurm_options_read(bridge);
  }
  replaced.bytes = 0;
}

/*
 * How many words the option at WORD is, told without Slurm's table, which takes 60
 * microseconds to make; 0 where only the table knows. The same in sbatch, salloc and
 * srun of every release.
 */
static int words_of_option(const char *word, struct ft_command_line_facts *typed)
{
  static const char *const flags[] = { "exclusive", "hold",    "parsable",    "predict-mem",
                                       "predict-mig", "predict-perf",
                                       "quiet", "requeue", "verbose", NULL };
  static const char *const valued[] = { "account", "array",       "constraint",  "cpus-per-task",
                                        "error",   "export",      "gres",        "job-name",
                                        "mem",     "mem-per-cpu", "nodes",       "ntasks",
                                        "output",  "partition",   "predict-app", "predict-params",
                                        "predict-model", "predict-partition", "qos", "time", "wrap",
                                        NULL };
  static const char letters[] = "nNcptJoeAqwxDCG";

  if (word[1] == '-') {
    struct ft_text text = ft_text_from(word);

    if (ft_text_skip(&text, "--container-image="))
      typed->image = text.at;
    if (strchr(word, '=')) {
      /* no other option begins so: it may be cut short */
      typed->chdir |= strncmp(word, "--ch", 4) == 0;
      return 1;
    }
    return ft_string_listed(flags, word + 2) ? 1 : ft_string_listed(valued, word + 2) ? 2 : 0;
  }
  if (!strchr(letters, word[1]))
    return 0;
  typed->chdir |= word[1] == 'D';
  return word[2] ? 1 : 2;
}

/* The first word that is no option; -1 where only Slurm's table can tell. */
static int quick_operands(int argc, char **argv, struct ft_command_line_facts *typed)
{
  int at = 1;

  while (at < argc && argv[at][0] == '-' && argv[at][1]) {
    int words;

    if (strcmp(argv[at], "--") == 0)
      return at + 1;
    words = words_of_option(argv[at], typed);
    if (!words)
      return -1;
    at += words;
  }
  return at < argc ? at : argc;
}

int ft_slurm_options_operands(const struct ft_slurm_options *bridge, int argc, char **argv,
                       struct ft_command_line_facts *typed)
{
  int saved_optind = optind, saved_opterr = opterr, saved_optopt = optopt;
  char *saved_optarg = optarg, *letters = NULL;
  struct option *table, *(*create)(void *opt, char **opt_string);
  void (*destroy)(struct option *table);
  int letter, index = -1, first = quick_operands(argc, argv, typed);

  if (first >= 0)
    return first;
  find("slurm_option_table_create", &create);
  find("slurm_option_table_destroy", &destroy);
  if (!create || !destroy)
    return -1;
  table = create(bridge->opt, &letters);
  if (!table || !letters)
    goto out;
  opterr = 0;
  optind = 0;
  while ((letter = getopt_long(argc, argv, letters, table, &index)) != -1) {
    const char *name = index >= 0 ? table[index].name : "";

    if (optarg && strcmp(name, "container-image") == 0)
      typed->image = optarg;
    typed->chdir |= letter == 'D' || strcmp(name, "chdir") == 0;
    index = -1;
  }
  first = optind;
  optind = saved_optind;
  opterr = saved_opterr;
  optopt = saved_optopt;
  optarg = saved_optarg;
out:
  if (table)
    destroy(table);
  if (letters)
    bridge->xfree((void **)&letters);
  return first;
}
