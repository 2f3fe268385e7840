/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell predict: reads a submission from options, the script and its #SBATCH lines. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/cli/predict/submission.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/request/array.h"
#include "predictor/request/batch_script.h"

#define NOT_GIVEN UINT64_MAX

enum {
  TABLE = 56,           /* capacity of the option table, terminator included */
  DIRECTIVE_WORDS = 256 /* arguments read from #SBATCH lines */
};

static void fill_table(struct ft_asked *a, struct ft_option table[TABLE])
{
  const struct ft_option options[] = {
    { 0, "app", "NAME", "the app, as --predict-app", FT_OPTION_STRING, &a->app },
    { 0, "params", "LIST", "features, name=value,..., as --predict-params", FT_OPTION_STRING,
      &a->params },
    { 0, "mode", "MODE",
      "check, set, raise, trim, off or force; with --model training or inference", FT_OPTION_STRING,
      &a->mode },
    { 0, "predict-time", "MODE", "time limit: check, set (without a MODE), raise, trim or off",
      FT_OPTION_OPTIONAL, &a->time_mode },
    { 0, "model", "FILE", "GPU memory of the network in this model file", FT_OPTION_STRING,
      &a->model },
    { 0, "input", "SIZES", "the network's input, CxHxW, if the file does not fix it",
      FT_OPTION_STRING, &a->input },
    { 0, "device", "GPU", "the GPU: a100-40gb, rtx3090, ...; all: a table", FT_OPTION_STRING, &a->device },
    { 0, "optimizer", "NAME", "sgd, momentum, adam, adamw, adam8bit, rmsprop, ...",
      FT_OPTION_STRING, &a->optimizer },
    { 0, "precision", "NAME", "fp32, tf32, amp, bf16 or fp16", FT_OPTION_STRING, &a->precision },
    { 0, "mig-file", "FILE", "more MIG profiles", FT_OPTION_STRING, &a->mig_file },
    { 0, "mem", "SIZE", "memory per node", FT_OPTION_BYTES, &a->mem },
    { 0, "mem-per-cpu", "SIZE", "memory per CPU", FT_OPTION_BYTES, &a->mem_per_cpu },
    { 0, "mem-per-gpu", "SIZE", "memory per GPU", FT_OPTION_BYTES, &a->mem_per_gpu },
    { 'p', "partition", "NAME", "partition", FT_OPTION_STRING, &a->partition },
    { 'A', "account", "NAME", "account", FT_OPTION_STRING, &a->account },
    { 'q', "qos", "NAME", "quality of service", FT_OPTION_STRING, &a->qos },
    { 'C', "constraint", "LIST", "features of nodes", FT_OPTION_STRING, &a->constraint },
    { 0, "gres", "LIST", "generic resources", FT_OPTION_STRING,
      &a->gpus.value[FT_GPU_OPTION_GRES] },
    { 'G', "gpus", "N", "GPUs", FT_OPTION_STRING, &a->gpus.value[FT_GPU_OPTION_JOB] },
    { 0, "gpus-per-node", "N", "GPUs per node", FT_OPTION_STRING,
      &a->gpus.value[FT_GPU_OPTION_NODE] },
    { 0, "gpus-per-socket", "N", "GPUs per socket", FT_OPTION_STRING,
      &a->gpus.value[FT_GPU_OPTION_SOCKET] },
    { 0, "gpus-per-task", "N", "GPUs per task", FT_OPTION_STRING,
      &a->gpus.value[FT_GPU_OPTION_TASK] },
    { 0, "tres-per-task", "LIST", "trackable resources per task", FT_OPTION_STRING,
      &a->gpus.value[FT_GPU_OPTION_TRES] },
    { 'N', "nodes", "N", "nodes", FT_OPTION_STRING, &a->nodes },
    { 'w', "nodelist", "LIST", "nodes that the job must have", FT_OPTION_STRING, &a->nodelist },
    { 'F', "nodefile", "FILE", "a file of nodes that the job must have", FT_OPTION_STRING,
      &a->nodefile },
    { 'x', "exclude", "LIST", "nodes that the job must not have", FT_OPTION_STRING, &a->exclude },
    { 0, "reservation", "NAME", "a reservation", FT_OPTION_STRING, &a->reservation },
    { 'n', "ntasks", "N", "tasks", FT_OPTION_COUNT, &a->tasks },
    { 'c', "cpus-per-task", "N", "CPUs per task", FT_OPTION_COUNT, &a->cpus_per_task },
    { 0, "cpus-per-gpu", "N", "CPUs per GPU", FT_OPTION_COUNT, &a->cpus_per_gpu },
    { 0, "ntasks-per-node", "N", "tasks per node", FT_OPTION_COUNT, &a->tasks_per_node },
    { 0, "threads-per-core", "N", "threads per core", FT_OPTION_COUNT, &a->threads_per_core },
    { 0, "exclusive", NULL, "whole nodes", FT_OPTION_FLAG, &a->exclusive },
    { 't', "time", "TIME", "time limit", FT_OPTION_STRING, &a->time },
    { 0, "time-min", "TIME", "minimum time limit", FT_OPTION_STRING, &a->time_min },
    { 'a', "array", "LIST", "tasks of a job array", FT_OPTION_STRING, &a->array },
    { 'J', "job-name", "NAME", "job name", FT_OPTION_STRING, &a->job_name },
    { 'D', "chdir", "DIR", "working directory; default: the current one", FT_OPTION_STRING,
      &a->directory },
    { 0, "container", "PATH", "container image", FT_OPTION_STRING, &a->container },
    { 0, "export", "LIST", "variables that the job gets, as for sbatch", FT_OPTION_STRING,
      &a->exported },
    { 0, "wrap", "COMMAND", "a command line instead of a script", FT_OPTION_STRING, &a->wrap },
    { 0, "srun", NULL, "SCRIPT is a command, as for srun or salloc", FT_OPTION_FLAG, &a->srun },
    { 0, "user", "USER", "owner of the app; default: you", FT_OPTION_STRING, &a->user },
    { 0, "state", "DIR", "state directory; default: as configured", FT_OPTION_STRING, &a->state },
    { 0, "perf", NULL, "run time in each partition, as --predict-perf", FT_OPTION_FLAG, &a->perf },
    { 0, "choose", "WHICH",
      "choose a partition: fastest, cheapest or greenest[:LIST], as --predict-partition",
      FT_OPTION_STRING, &a->choose },
    { 0, "explain", NULL, "show the basis of the estimate: method, features and runs",
      FT_OPTION_FLAG, &a->explain },
    { 0, "json", NULL, "print one JSON object", FT_OPTION_FLAG, &a->json },
    { 0 },
  };
  _Static_assert(sizeof options / sizeof *options <= TABLE, "the table is too small");

  memcpy(table, options, sizeof options);
}

static const char usage[] = "[OPTION]... [--] [SCRIPT [ARGUMENT]...]";
static const char summary[] = "Shows what a submission would need and the plugin's decision on it.";

static void init_asked(struct ft_asked *asked)
{
  *asked =
      (struct ft_asked){ .mem = NOT_GIVEN, .mem_per_cpu = NOT_GIVEN, .mem_per_gpu = NOT_GIVEN };
}

/* Returns the option of TABLE that WORD ("--name=x", "-Nx") names, NULL if none. Sets WHOLE to
 * true if WORD contains the argument. */
static const struct ft_option *find_option(const struct ft_option *table, const char *word,
                                           bool *whole)
{
  size_t length = strcspn(word, "=");

  for (const struct ft_option *o = table; o->name; o++) {
    if (strncmp(word, "--", 2) == 0 && strlen(o->name) == length - 2 &&
        strncmp(word + 2, o->name, length - 2) == 0) {
      *whole = word[length] == '=';
      return o;
    }
    if (o->letter && word[0] == '-' && word[1] == o->letter) {
      *whole = word[2] != '\0';
      return o;
    }
  }
  return NULL;
}

/* Translates the plugin's option names, used in scripts, to those of this command. */
static char *local_option_name(char *word)
{
  static const struct {
    const char *there, *here;
  } names[] = { { "--predict-mem=", "--mode=" },
                { "--predict-app=", "--app=" },
                { "--predict-params=", "--params=" },
                { "--predict-perf", "--perf" },
                { "--predict-partition", "--choose" } };
  static char set[] = "--mode=set";

  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t there = strlen(names[i].there), shorter = strlen(names[i].here);

    if (strncmp(word, names[i].there, there) == 0)
      return memcpy(word + there - shorter, names[i].here, shorter);
  }
  return strcmp(word, "--predict-mem") == 0 ? set : word;
}

/* Parses the script's network options, which this command lacks. AFTER follows WORD, or is NULL.
 * Returns the number of arguments consumed, 0 to 2. */
static int parse_network_option(struct ft_asked *asked, const char *word, const char *after)
{
  struct ft_text text = ft_text_from(word);

  if (strcmp(word, "--predict-mig") == 0) {
    asked->mig = "";
    return 1;
  }
  if (ft_text_skip(&text, "--predict-mig=")) {
    asked->mig = text.at;
    return 1;
  }
  if (ft_text_skip(&text, "--predict-model=")) {
    asked->network = text.at;
    return 1;
  }
  if (strcmp(word, "--predict-model") != 0 || !after)
    return 0;
  asked->network = after;
  return 2;
}

/* Applies the script's directives; skips those without effect here. Returns 0; -1 on error and
 * sets STATUS. */
static int apply_directives(struct ft_asked *asked, const struct ft_option *table, char *name,
                            int *status)
{
  char *argv[DIRECTIVE_WORDS + 2] = { name };
  char *word;
  size_t count;
  int argc = 1;

  asked->lines = malloc(asked->script.length + 1);
  if (!asked->lines) {
    *status = ft_print_error(name, FT_EXIT_SYSTEM, "out of memory");
    return -1;
  }
  count = ft_batch_script_directives(ft_buf_text(&asked->script), asked->lines);
  word = asked->lines;
  for (size_t i = 0; i < count && argc < DIRECTIVE_WORDS; i++, word += strlen(word) + 1) {
    bool whole = false;
    int taken = parse_network_option(asked, word, i + 1 < count ? word + strlen(word) + 1 : NULL);
    char *known = local_option_name(word);
    const struct ft_option *option = find_option(table, known, &whole);

    if (taken == 2) {
      word += strlen(word) + 1;
      i++;
    }
    if (taken || !option || strcmp(option->name, "json") == 0 ||
        strcmp(option->name, "explain") == 0 || strcmp(option->name, "state") == 0 ||
        strcmp(option->name, "user") == 0 || (option->type == FT_OPTION_FLAG && whole))
      continue;
    argv[argc++] = known;
    if (option->type != FT_OPTION_FLAG && option->type != FT_OPTION_OPTIONAL && !whole &&
        i + 1 < count) {
      word += strlen(word) + 1;
      argv[argc++] = word;
      i++;
    }
  }
  return ft_options_parse(table, usage, summary, FT_OPERANDS_COMMAND, argc, argv, status) < 0 ? -1
                                                                                              : 0;
}

/* Reads the script from the operands. Returns 0; -1 on error and fills ERR. */
static int parse_script_operands(struct ft_asked *asked, int argc, char **argv, int first,
                                 struct ft_error *err)
{
  ft_buf_init(&asked->script, FT_LIMIT_SCRIPT);
  if (!asked->srun && !asked->wrap && first < argc)
    asked->script_name = argv[first++];
  asked->arguments = (const char *const *)argv + first;
  asked->argument_count = (size_t)(argc - first);
  if (asked->wrap)
    return ft_buf_printf(&asked->script, "%s", asked->wrap);
  if (asked->script_name)
    return ft_batch_script_read(asked->script_name, &asked->script, err);
  if (asked->app || asked->model || asked->argument_count)
    return 0;
  if (asked->srun || isatty(STDIN_FILENO))
    return ft_error_set(err, "expected a script, --app=NAME or --wrap=COMMAND");
  return ft_batch_script_read(NULL, &asked->script, err);
}

static bool memory_given(const struct ft_asked *asked)
{
  return asked->mem != NOT_GIVEN || asked->mem_per_cpu != NOT_GIVEN ||
         asked->mem_per_gpu != NOT_GIVEN;
}

int ft_asked_parse(struct ft_asked *asked, int argc, char **argv, int *status)
{
  struct ft_option table[TABLE];
  struct ft_error err;
  bool given;
  int first;

  init_asked(asked);
  fill_table(asked, table);
  first = ft_options_parse(table, usage, summary, FT_OPERANDS_COMMAND, argc, argv, status);
  if (first < 0)
    return -1;
  if (parse_script_operands(asked, argc, argv, first, &err) < 0) {
    *status = ft_print_error(argv[0], FT_EXIT_USAGE, "%s", err.text);
    return -1;
  }
  if (!asked->script_name && asked->wrap)
    return 0;

  /* directives first, then the command line again, which takes precedence */
  given = memory_given(asked);
  if (apply_directives(asked, table, argv[0], status) < 0)
    return -1;
  if (given)
    asked->mem = asked->mem_per_cpu = asked->mem_per_gpu = NOT_GIVEN;
  return ft_options_parse(table, usage, summary, FT_OPERANDS_COMMAND, argc, argv, status) < 0 ? -1
                                                                                              : 0;
}

void ft_asked_free(struct ft_asked *asked)
{
  ft_buf_free(&asked->script);
  free(asked->lines);
}

static int count_array_tasks(const char *list, uint32_t *count, struct ft_error *err)
{
  *count = ft_array_count(list);
  if (*count)
    return 0;
  return ft_error_set(err, "--array=%s: expected a list such as 0-9:2,20%%4", list);
}

/* Parses the minimum of "2" or "2-4". Slurm's suffixes K and M are not accepted. */
static int parse_min_nodes(const char *text, uint32_t *nodes, struct ft_error *err)
{
  struct ft_text cursor = ft_text_from(text);
  uint64_t low, high;

  if (!ft_text_u64(&cursor, UINT32_MAX, &low) ||
      (ft_text_skip(&cursor, "-") && !ft_text_u64(&cursor, UINT32_MAX, &high)) ||
      ft_text_left(&cursor))
    return ft_error_set(err, "--nodes=%s: expected a number or a range", text);
  *nodes = (uint32_t)low;
  return 0;
}

static int fill_gpu_request(const struct ft_asked *asked, ft_request *request, struct ft_error *err)
{
  for (enum ft_gpu_option i = 0; i < FT_GPU_OPTIONS; i++) {
    uint64_t count;

    if (!ft_gpu_request_count(i, asked->gpus.value[i], &count))
      return ft_error_set(err, "--%s=%s: expected a number or TYPE:NUMBER", ft_gpu_option_name(i),
                          asked->gpus.value[i]);
  }
  request->gpus_per_node = ft_gpu_request_per_node(&asked->gpus, request);
  return 0;
}

static int fill_memory_request(const struct ft_asked *asked, ft_request *request,
                               struct ft_error *err)
{
  if ((asked->mem != NOT_GIVEN) + (asked->mem_per_cpu != NOT_GIVEN) +
          (asked->mem_per_gpu != NOT_GIVEN) >
      1)
    return ft_error_set(err, "--mem, --mem-per-cpu and --mem-per-gpu exclude one another");
  if (asked->mem != NOT_GIVEN) {
    request->mem_unit = asked->mem ? FT_MEM_NODE : FT_MEM_ALL;
    request->mem_bytes = asked->mem;
  } else if (asked->mem_per_cpu != NOT_GIVEN) {
    request->mem_unit = FT_MEM_CPU;
    request->mem_bytes = asked->mem_per_cpu;
  } else if (asked->mem_per_gpu != NOT_GIVEN) {
    request->mem_unit = FT_MEM_GPU;
    request->mem_bytes = asked->mem_per_gpu;
  }
  return 0;
}

static uint32_t clamp_to_uint32(unsigned long number)
{
  return number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

bool ft_asked_is_unlimited(const struct ft_asked *asked)
{
  static const char names[] = "unlimited,infinite,0,-1";

  return asked->time && ft_text_lists_any_case(ft_text_from(names), ft_text_from(asked->time));
}

int ft_asked_request(const struct ft_asked *a, ft_request *r, struct ft_error *err)
{
  const struct {
    const char *name, *text;
    char *out;
    size_t size;
  } words[] = { { "partition", a->partition, r->partition, sizeof r->partition },
                { "account", a->account, r->account, sizeof r->account },
                { "qos", a->qos, r->qos, sizeof r->qos },
                { "constraint", a->constraint, r->constraint, sizeof r->constraint },
                { "gres", a->gpus.value[FT_GPU_OPTION_GRES], r->gres, sizeof r->gres },
                { "container", a->container, r->container, sizeof r->container } };

  *r = (ft_request){ .command = a->srun ? FT_COMMAND_SRUN : FT_COMMAND_SBATCH,
                     .exclusive = a->exclusive,
                     .tasks = clamp_to_uint32(a->tasks),
                     .cpus_per_task = clamp_to_uint32(a->cpus_per_task),
                     .cpus_per_gpu = clamp_to_uint32(a->cpus_per_gpu),
                     .tasks_per_node = clamp_to_uint32(a->tasks_per_node),
                     .threads_per_core = clamp_to_uint32(a->threads_per_core) };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (words[i].text && !ft_string_copy(words[i].text, words[i].out, words[i].size))
      return ft_error_set(err, "--%s: longer than %zu bytes", words[i].name, words[i].size - 1);
  if (a->time && !ft_asked_is_unlimited(a) &&
      !ft_units_parse_seconds(ft_text_from(a->time), &r->time_limit_seconds))
    return ft_error_set(err, "--time=%s: expected minutes, h:min:s, d-h:min:s or UNLIMITED",
                        a->time);
  if ((a->nodes && parse_min_nodes(a->nodes, &r->nodes, err) < 0) ||
      (a->array && count_array_tasks(a->array, &r->array_tasks, err) < 0) ||
      fill_gpu_request(a, r, err) < 0)
    return -1;
  return fill_memory_request(a, r, err);
}
