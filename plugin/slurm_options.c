/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and sets Slurm's options in sbatch, salloc and srun, through functions of libslurmfull. */
#include "config.h"

#include <dlfcn.h>
#include <string.h>

#include "plugin/slurm_options.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/decide/constraint.h"
#include "predictor/decide/time_decision.h"
#include "predictor/request/array.h"

/* Stores the address of NAME in *FUNCTION, a function pointer; NULL if it is not exported. POSIX
 * lets dlsym return functions; ISO C does not allow the cast. */
static void find_slurm_function(const char *name, void *function)
{
  void *symbol = dlsym(RTLD_DEFAULT, name);

  memcpy(function, &symbol, sizeof symbol);
}

bool ft_slurm_options_open(struct ft_slurm_options *slurm)
{
  *slurm = (struct ft_slurm_options){ .opt = dlsym(RTLD_DEFAULT, "opt") };
  find_slurm_function("slurm_option_get", &slurm->get);
  find_slurm_function("slurm_option_get_next_set", &slurm->next_set);
  find_slurm_function("slurm_xfree", &slurm->xfree);
  if (!slurm->get || !slurm->next_set || !slurm->xfree)
    slurm->opt = NULL;
  return slurm->opt;
}

/* By enum ft_option. char arrays, not pointers: no relocation when the plugin is loaded. */
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
  [FT_OPTION_TIME_MIN] = "time-min",
  [FT_OPTION_TRES_PER_TASK] = "tres-per-task",
  [FT_OPTION_UID] = "uid",
  [FT_OPTION_WRAP] = "wrap"
};

void ft_slurm_options_read(struct ft_slurm_options *slurm)
{
  char *name = NULL, *value = NULL;
  size_t state = 0;

  ft_slurm_options_release(slurm);
  while (slurm->next_set(slurm->opt, &name, &value, &state)) {
    size_t i = name ? FT_TABLE_FIND_INLINED(option_names, name) : FT_OPTIONS;

    if (i < FT_OPTIONS && !slurm->value[i]) {
      slurm->value[i] = value;
      value = NULL;
    }
    if (name)
      slurm->xfree((void **)&name);
    if (value)
      slurm->xfree((void **)&value);
  }
}

void ft_slurm_options_release(struct ft_slurm_options *slurm)
{
  for (size_t i = 0; i < FT_OPTIONS; i++)
    if (slurm->value[i])
      slurm->xfree((void **)&slurm->value[i]);
}

bool ft_slurm_options_get(const struct ft_slurm_options *slurm, const char *name, char *out,
                          size_t size)
{
  char *value = slurm->get(slurm->opt, name);

  (void)ft_string_copy(value, out, size);
  if (!value)
    return false;
  slurm->xfree((void **)&value);
  return true;
}

static uint32_t parse_option_number(const char *value)
{
  struct ft_text text = ft_text_from(value);
  uint64_t number;

  return ft_text_u64(&text, UINT32_MAX - 2, &number) ? (uint32_t)number : 0;
}

/* Parses a memory option of Slurm: MiB without a suffix; --mem=0, the whole node, is "0?". */
static bool parse_memory(const char *value, uint64_t *bytes)
{
  struct ft_text text = ft_text_from(value);

  if (text.end > text.at && text.end[-1] == '?')
    text.end--;
  return value && ft_units_parse_bytes(text, FT_MIB, bytes);
}

static void read_memory_request(const struct ft_slurm_options *slurm, ft_request *out)
{
  static const struct {
    enum ft_option option;
    ft_mem_unit unit;
  } units[] = { { FT_OPTION_MEM, FT_MEM_NODE },
                { FT_OPTION_MEM_PER_CPU, FT_MEM_CPU },
                { FT_OPTION_MEM_PER_GPU, FT_MEM_GPU } };

  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (!parse_memory(slurm->value[units[i].option], &out->mem_bytes))
      continue;
    out->mem_unit = units[i].unit;
    if (!out->mem_bytes)
      out->mem_unit = FT_MEM_ALL;
    return;
  }
}

static ft_command detect_command(const struct ft_slurm_options *slurm, bool local)
{
  char value[32];

  if (local)
    return FT_COMMAND_SRUN;
  /* Slurm returns this for an option of another command; --array is first in its table */
  if (!slurm->value[FT_OPTION_ARRAY] && ft_slurm_options_get(slurm, "array", value, sizeof value) &&
      strcmp(value, "invalid-context") == 0)
    return FT_COMMAND_SALLOC;
  return FT_COMMAND_SBATCH;
}

static const unsigned char gpu_options[FT_GPU_OPTIONS] = {
  [FT_GPU_OPTION_NODE] = FT_OPTION_GPUS_PER_NODE, [FT_GPU_OPTION_JOB] = FT_OPTION_GPUS,
  [FT_GPU_OPTION_GRES] = FT_OPTION_GRES,          [FT_GPU_OPTION_TASK] = FT_OPTION_GPUS_PER_TASK,
  [FT_GPU_OPTION_TRES] = FT_OPTION_TRES_PER_TASK, [FT_GPU_OPTION_SOCKET] = FT_OPTION_GPUS_PER_SOCKET
};

struct ft_gpu_request ft_slurm_options_gpus(const struct ft_slurm_options *slurm)
{
  struct ft_gpu_request request;

  for (size_t i = 0; i < FT_GPU_OPTIONS; i++)
    request.value[i] = slurm->value[gpu_options[i]];
  return request;
}

/* Returns the used threads per core, as Slurm interprets --hint (verify_hint); 0: all. */
static uint32_t read_threads_per_core(const struct ft_slurm_options *slurm)
{
  static const char one[] = "compute_bound,memory_bound,nomultithread";
  const char *hint = slurm->value[FT_OPTION_HINT];
  uint32_t given = parse_option_number(slurm->value[FT_OPTION_THREADS_PER_CORE]);

  return !given && hint && ft_text_lists_any_case(ft_text_from(one), ft_text_from(hint)) ? 1
                                                                                         : given;
}

/* Whether --exclusive=VALUE allocates whole nodes. srun of Slurm 26.05 and later has "allocation".
 * With "user", "mcs" and "topo" the job gets only the CPUs that it requests. */
static bool requests_whole_nodes(const char *value)
{
  return value && (strcmp(value, "exclusive") == 0 || strcmp(value, "allocation") == 0);
}

void ft_slurm_options_request(const struct ft_slurm_options *slurm, bool local, ft_request *out)
{
  char *const *value = slurm->value;
  struct ft_gpu_request asked = ft_slurm_options_gpus(slurm);

  *out = (ft_request){ .command = detect_command(slurm, local) };
  read_memory_request(slurm, out);
  out->exclusive = requests_whole_nodes(value[FT_OPTION_EXCLUSIVE]);
  out->nodes = parse_option_number(value[FT_OPTION_NODES]);
  out->tasks = parse_option_number(value[FT_OPTION_NTASKS]);
  out->cpus_per_task = parse_option_number(value[FT_OPTION_CPUS_PER_TASK]);
  out->cpus_per_gpu = parse_option_number(value[FT_OPTION_CPUS_PER_GPU]);
  out->tasks_per_node = parse_option_number(value[FT_OPTION_NTASKS_PER_NODE]);
  out->threads_per_core = read_threads_per_core(slurm);
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

/* What foretell set of each kind, and the user's value to restore. */
enum replaced_kind {
  REPLACED_GPUS,
  REPLACED_PARTITION,
  REPLACED_MEMORY,
  REPLACED_TIME,
  REPLACED_KINDS
};
static struct {
  enum ft_option option, user_option;     /* FT_OPTIONS: the user set none */
  char set_value[1024], user_value[1024]; /* SET_VALUE "": nothing was replaced */
} replaced[REPLACED_KINDS];

static bool set_option(const struct ft_slurm_options *slurm, enum ft_option option,
                       const char *value)
{
  int (*function)(void *opt, const char *name, const char *value, bool early);

  find_slurm_function("slurm_option_set", &function);
  return function && function(slurm->opt, option_names[option], value, false) == 0;
}

static void reset_option(const struct ft_slurm_options *slurm, enum ft_option option)
{
  bool (*function)(void *opt, const char *name);

  find_slurm_function("slurm_option_reset", &function);
  if (function)
    (void)function(slurm->opt, option_names[option]);
}

/* Sets OPTION to VALUE instead of USER_OPTION, which Slurm may not allow beside it, and remembers
 * both. Returns 0; -1 if Slurm rejects VALUE; the user's value is then unchanged. */
static int replace_option(const struct ft_slurm_options *slurm, enum replaced_kind kind,
                          enum ft_option option, enum ft_option user_option, const char *value)
{
  const char *user_value = slurm->value[user_option];
  bool is_set;

  replaced[kind].option = option;
  replaced[kind].user_option = user_value ? user_option : FT_OPTIONS;
  is_set =
      ft_string_copy(user_value, replaced[kind].user_value, sizeof replaced[kind].user_value) &&
      ft_string_copy(value, replaced[kind].set_value, sizeof replaced[kind].set_value);
  if (is_set && !set_option(slurm, option, value)) {
    is_set = false;
    /* Slurm 22.05 has cleared it */
    if (slurm->value[option])
      (void)set_option(slurm, option, slurm->value[option]);
  }
  if (!is_set)
    replaced[kind].set_value[0] = '\0';
  return is_set ? 0 : -1;
}

int ft_slurm_options_set_memory(const struct ft_slurm_options *slurm, ft_mem_unit unit,
                                uint64_t bytes)
{
  static const unsigned char options[] = { FT_OPTION_MEM, FT_OPTION_MEM_PER_CPU,
                                           FT_OPTION_MEM_PER_GPU };
  enum ft_option which = unit == FT_MEM_CPU   ? FT_OPTION_MEM_PER_CPU
                         : unit == FT_MEM_GPU ? FT_OPTION_MEM_PER_GPU
                                              : FT_OPTION_MEM;
  char value[32];
  size_t user = 0;

  while (user < sizeof options - 1 && !slurm->value[options[user]])
    user++;
  ft_units_slurm_bytes(bytes, value, sizeof value);
  if (!bytes || replace_option(slurm, REPLACED_MEMORY, which, options[user], value) < 0)
    return -1;
  for (size_t i = 0; i < sizeof options; i++)
    if (options[i] != which && slurm->value[options[i]])
      reset_option(slurm, options[i]);
  return 0;
}

int ft_slurm_options_set_gpus(const struct ft_slurm_options *slurm, const char *name,
                              const char *value)
{
  enum ft_gpu_option option = ft_gpu_option_from_name(name);

  if (option == FT_GPU_OPTIONS || !ft_gpu_option_is_settable(option) || !value[0] ||
      value[strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                          "_.:,=+-/()")] != '\0')
    return -1;
  return replace_option(slurm, REPLACED_GPUS, gpu_options[option], gpu_options[option], value);
}

int ft_slurm_options_set_partition(const struct ft_slurm_options *slurm, const char *list)
{
  enum ft_option option = FT_OPTION_PARTITION;

  return list[0] ? replace_option(slurm, REPLACED_PARTITION, option, option, list) : -1;
}

int ft_slurm_options_set_time(const struct ft_slurm_options *slurm, double seconds)
{
  char value[FT_TIME_VALUE];

  return replace_option(slurm, REPLACED_TIME, FT_OPTION_TIME, FT_OPTION_TIME,
                        ft_time_value(seconds, value));
}

double ft_slurm_options_time_min(const struct ft_slurm_options *slurm)
{
  double seconds = 0;

  if (slurm->value[FT_OPTION_TIME_MIN])
    (void)ft_units_parse_seconds(ft_text_from(slurm->value[FT_OPTION_TIME_MIN]), &seconds);
  return seconds;
}

/* Whether NOW, the value that Slurm returns, is SET_VALUE: the same amount of memory or time, or
 * the same list. Names in NOW may have a "gres:" prefix. */
static bool is_same_value(enum replaced_kind kind, const char *now, const char *set_value)
{
  struct ft_text left = ft_text_from(now), right = ft_text_from(set_value), a, b;
  uint64_t bytes, set_bytes;
  double seconds, set_seconds;

  if (kind == REPLACED_MEMORY)
    return parse_memory(now, &bytes) && parse_memory(set_value, &set_bytes) && bytes == set_bytes;
  if (kind == REPLACED_TIME)
    return ft_units_parse_seconds(left, &seconds) && ft_units_parse_seconds(right, &set_seconds) &&
           seconds == set_seconds;
  while (ft_text_until(&right, ',', &b))
    if (!ft_text_until(&left, ',', &a) || !ft_text_same(ft_gres_skip_prefix(a), b))
      return false;
  return !ft_text_left(&left);
}

void ft_slurm_options_restore(struct ft_slurm_options *slurm)
{
  for (enum replaced_kind kind = 0; kind < REPLACED_KINDS; kind++) {
    enum ft_option option = replaced[kind].option, user_option = replaced[kind].user_option;

    if (replaced[kind].set_value[0] && slurm->value[option] &&
        is_same_value(kind, slurm->value[option], replaced[kind].set_value)) {
      reset_option(slurm, option);
      if (user_option < FT_OPTIONS)
        (void)set_option(slurm, user_option, replaced[kind].user_value);
      ft_slurm_options_read(slurm);
    }
    replaced[kind].set_value[0] = '\0';
  }
}

/* Returns how many arguments the option WORD occupies, itself included; 0 if only Slurm's table
 * shows it. Creating that table takes 60 microseconds. The options listed here are the same in
 * sbatch, salloc and srun of every release. */
static int count_option_arguments(const char *word, struct ft_command_line_facts *facts)
{
  static const char *const flags[] = { "exclusive",   "hold",        "parsable",
                                       "predict-mem", "predict-mig", "predict-perf",
                                       "predict-time", "quiet",      "requeue",
                                       "verbose",     NULL };
  static const char *const valued[] = { "account",       "array",
                                        "constraint",    "cpus-per-task",
                                        "error",         "export",
                                        "gres",          "job-name",
                                        "mem",           "mem-per-cpu",
                                        "nodes",         "ntasks",
                                        "output",        "partition",
                                        "predict-app",   "predict-params",
                                        "predict-model", "predict-partition",
                                        "qos",           "time",
                                        "wrap",          NULL };
  static const char letters[] = "nNcptJoeAqwxDCG";

  if (word[1] == '-') {
    struct ft_text text = ft_text_from(word);

    if (ft_text_skip(&text, "--container-image="))
      facts->image = text.at;
    if (strchr(word, '=')) {
      /* no other option begins with --ch, and getopt accepts abbreviations */
      facts->chdir |= strncmp(word, "--ch", 4) == 0;
      return 1;
    }
    return ft_string_listed(flags, word + 2) ? 1 : ft_string_listed(valued, word + 2) ? 2 : 0;
  }
  if (!strchr(letters, word[1]))
    return 0;
  facts->chdir |= word[1] == 'D';
  return word[2] ? 1 : 2;
}

/* Returns the index of the first operand; -1 if only Slurm's table shows it. */
static int find_operands_without_table(int argc, char **argv, struct ft_command_line_facts *facts)
{
  int at = 1;

  while (at < argc && argv[at][0] == '-' && argv[at][1]) {
    int words;

    if (strcmp(argv[at], "--") == 0)
      return at + 1;
    words = count_option_arguments(argv[at], facts);
    if (!words)
      return -1;
    at += words;
  }
  return at < argc ? at : argc;
}

int ft_slurm_options_operands(const struct ft_slurm_options *slurm, int argc, char **argv,
                              struct ft_command_line_facts *facts)
{
  int saved_optind = optind, saved_opterr = opterr, saved_optopt = optopt;
  char *saved_optarg = optarg, *letters = NULL;
  struct option *table, *(*create)(void *opt, char **opt_string);
  void (*destroy)(struct option *table);
  int letter, index = -1, first = find_operands_without_table(argc, argv, facts);

  if (first >= 0)
    return first;
  find_slurm_function("slurm_option_table_create", &create);
  find_slurm_function("slurm_option_table_destroy", &destroy);
  if (!create || !destroy)
    return -1;
  table = create(slurm->opt, &letters);
  if (!table || !letters)
    goto out;
  opterr = 0;
  optind = 0;
  while ((letter = getopt_long(argc, argv, letters, table, &index)) != -1) {
    const char *name = index >= 0 ? table[index].name : "";

    if (optarg && strcmp(name, "container-image") == 0)
      facts->image = optarg;
    facts->chdir |= letter == 'D' || strcmp(name, "chdir") == 0;
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
    slurm->xfree((void **)&letters);
  return first;
}
