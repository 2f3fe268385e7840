/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "plugin/bridge.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"

/* POSIX lets dlsym give a function; ISO C does not let it be cast. */
static void find(const char *name, void *function)
{
  void *symbol = dlsym(RTLD_DEFAULT, name);

  memcpy(function, &symbol, sizeof symbol);
}

bool ft_bridge_open(struct ft_bridge *bridge)
{
  *bridge = (struct ft_bridge){ .opt = dlsym(RTLD_DEFAULT, "opt") };
  find("slurm_option_get", &bridge->get);
  find("slurm_option_set", &bridge->set);
  find("slurm_option_isset", &bridge->isset);
  find("slurm_option_reset", &bridge->reset);
  find("slurm_xfree", &bridge->xfree);
  find("slurm_option_table_create", &bridge->table_create);
  find("slurm_option_table_destroy", &bridge->table_destroy);
  if (!bridge->get || !bridge->set || !bridge->isset || !bridge->reset || !bridge->xfree)
    bridge->opt = NULL;
  return bridge->opt;
}

bool ft_bridge_isset(const struct ft_bridge *bridge, const char *name)
{
  return bridge->opt && bridge->isset(bridge->opt, name);
}

bool ft_bridge_get(const struct ft_bridge *bridge, const char *name, char *out, size_t size)
{
  char *value = bridge->opt ? bridge->get(bridge->opt, name) : NULL;

  (void)ft_string_copy(value, out, size);
  if (!value)
    return false;
  bridge->xfree((void **)&value);
  return true;
}

/* The value of an option that was set; false where it was not. */
static bool value_of(const struct ft_bridge *bridge, const char *name, char *out, size_t size)
{
  *out = '\0';
  return ft_bridge_isset(bridge, name) && ft_bridge_get(bridge, name, out, size);
}

static uint32_t number_of(const struct ft_bridge *bridge, const char *name)
{
  char value[64];
  struct ft_text text;
  uint64_t number;

  if (!value_of(bridge, name, value, sizeof value))
    return 0;
  text = ft_text_from(value);
  return ft_text_u64(&text, UINT32_MAX - 2, &number) ? (uint32_t)number : 0;
}

/* GPUs a node: the sum of "gpu", "gpu:2", "gpu:a100:2" among gres, or a list of "a100:2" or "2". */
static uint32_t gpus_in(const char *value, bool gres)
{
  struct ft_text text = ft_text_from(value), piece, part;
  uint64_t total = 0;

  while (ft_text_until(&text, ',', &piece)) {
    uint64_t count = 1;

    (void)ft_text_skip(&piece, "gres:");
    if (gres && !ft_text_skip(&piece, "gpu"))
      continue;
    while (ft_text_until(&piece, ':', &part)) {
      uint64_t number;

      if (ft_text_u64(&part, 100000, &number) && part.at == part.end)
        count = number;
    }
    total += count;
  }
  return total > 100000 ? 100000 : (uint32_t)total;
}

/*
 * --mem=0, which Slurm shows as "0?", is the whole node. Slurm shows whole
 * multiples of 1024 MiB with a suffix, and MiB without one.
 */
static void read_memory(const struct ft_bridge *bridge, ft_request *out)
{
  static const struct {
    const char *name;
    ft_mem_unit unit;
  } units[] = { { "mem", FT_MEM_NODE },
                { "mem-per-cpu", FT_MEM_CPU },
                { "mem-per-gpu", FT_MEM_GPU } };
  char value[64];

  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    struct ft_text text;

    if (!value_of(bridge, units[i].name, value, sizeof value))
      continue;
    text = ft_text_from(value);
    if (text.end > text.at && text.end[-1] == '?')
      text.end--;
    if (!ft_units_bytes(text, FT_MIB, &out->mem_bytes))
      continue;
    out->mem_unit = units[i].unit;
    if (!out->mem_bytes)
      out->mem_unit = FT_MEM_ALL;
    return;
  }
}

static ft_command command_of(const struct ft_bridge *bridge, bool local)
{
  char value[32];

  if (local)
    return FT_COMMAND_SRUN;
  /* what Slurm answers where an option is not the command's own */
  if (ft_bridge_get(bridge, "wrap", value, sizeof value) && strcmp(value, "invalid-context") == 0)
    return FT_COMMAND_SALLOC;
  return FT_COMMAND_SBATCH;
}

void ft_bridge_request(const struct ft_bridge *bridge, bool local, ft_request *out)
{
  char value[1024];
  uint32_t gpus;

  *out = (ft_request){ .command = command_of(bridge, local) };
  read_memory(bridge, out);
  out->exclusive =
      value_of(bridge, "exclusive", value, sizeof value) && strcmp(value, "exclusive") == 0;
  out->nodes = number_of(bridge, "nodes");
  out->tasks = number_of(bridge, "ntasks");
  out->cpus_per_task = number_of(bridge, "cpus-per-task");
  out->tasks_per_node = number_of(bridge, "ntasks-per-node");
  out->threads_per_core = number_of(bridge, "threads-per-core");
  (void)value_of(bridge, "partition", out->partition, sizeof out->partition);
  (void)value_of(bridge, "account", out->account, sizeof out->account);
  (void)value_of(bridge, "qos", out->qos, sizeof out->qos);
  (void)value_of(bridge, "constraint", out->constraint, sizeof out->constraint);
  (void)value_of(bridge, "container", out->container, sizeof out->container);
  if (value_of(bridge, "gres", out->gres, sizeof out->gres))
    out->gpus_per_node = gpus_in(out->gres, true);
  if (value_of(bridge, "gpus-per-node", value, sizeof value))
    out->gpus_per_node = gpus_in(value, false);
  if (!out->gpus_per_node && value_of(bridge, "gpus", value, sizeof value)) {
    gpus = gpus_in(value, false);
    out->gpus_per_node = out->nodes ? (gpus + out->nodes - 1) / out->nodes : gpus;
  }
  if (value_of(bridge, "time", value, sizeof value))
    (void)ft_units_seconds(ft_text_from(value), &out->time_limit_seconds);
}

static const char *const memory_names[] = { "mem", "mem-per-cpu", "mem-per-gpu" };

enum { MEMORY_NAMES = sizeof memory_names / sizeof *memory_names };

/* What stands in place of what the user had written, so that it can be put back. */
static struct {
  size_t which;
  char ours[64]; /* empty: nothing was replaced */
  size_t had;    /* MEMORY_NAMES: the user had asked for none */
  char theirs[64];
} replaced;

static void note_theirs(const struct ft_bridge *bridge)
{
  replaced.ours[0] = '\0';
  for (replaced.had = 0; replaced.had < MEMORY_NAMES; replaced.had++)
    if (value_of(bridge, memory_names[replaced.had], replaced.theirs, sizeof replaced.theirs))
      break;
}

int ft_bridge_set_memory(const struct ft_bridge *bridge, ft_mem_unit unit, uint64_t bytes)
{
  size_t which = unit == FT_MEM_CPU ? 1 : unit == FT_MEM_GPU ? 2 : 0;
  char value[32];

  if (!bytes)
    return -1;
  note_theirs(bridge);
  for (size_t i = 0; i < MEMORY_NAMES; i++)
    if (i != which && ft_bridge_isset(bridge, memory_names[i]))
      (void)bridge->reset(bridge->opt, memory_names[i]);
  ft_units_slurm_bytes(bytes, value, sizeof value);
  if (bridge->set(bridge->opt, memory_names[which], value, false) != 0)
    return -1;
  replaced.which = which;
  (void)value_of(bridge, memory_names[which], replaced.ours, sizeof replaced.ours);
  return 0;
}

void ft_bridge_restore_memory(const struct ft_bridge *bridge)
{
  char value[64];

  if (replaced.ours[0] && value_of(bridge, memory_names[replaced.which], value, sizeof value) &&
      strcmp(value, replaced.ours) == 0) {
    (void)bridge->reset(bridge->opt, memory_names[replaced.which]);
    if (replaced.had < MEMORY_NAMES)
      (void)bridge->set(bridge->opt, memory_names[replaced.had], replaced.theirs, false);
  }
  replaced.ours[0] = '\0';
}

/*
 * How many words the option at WORD is, told without Slurm's table, which takes 60
 * microseconds to make; 0 where only the table knows. The same in sbatch, salloc and
 * srun of every release.
 */
static int words_of_option(const char *word, const char **image)
{
  static const char *const flags[] = { "exclusive", "hold",    "parsable", "predict-mem",
                                       "quiet",     "requeue", "verbose",  NULL };
  static const char *const valued[] = { "account", "array",       "constraint",  "cpus-per-task",
                                        "error",   "export",      "gres",        "job-name",
                                        "mem",     "mem-per-cpu", "nodes",       "ntasks",
                                        "output",  "partition",   "predict-app", "predict-params",
                                        "qos",     "time",        "wrap",        NULL };
  static const char letters[] = "nNcptJoeAqwxDCG";

  if (word[1] == '-') {
    struct ft_text text = ft_text_from(word);

    if (ft_text_skip(&text, "--container-image="))
      *image = text.at;
    if (strchr(word, '='))
      return 1;
    return ft_string_listed(flags, word + 2) ? 1 : ft_string_listed(valued, word + 2) ? 2 : 0;
  }
  if (!strchr(letters, word[1]))
    return 0;
  return word[2] ? 1 : 2;
}

/* The first word that is no option; -1 where only Slurm's table can tell. */
static int quick_operands(int argc, char **argv, const char **image)
{
  int at = 1;

  while (at < argc && argv[at][0] == '-' && argv[at][1]) {
    int words;

    if (strcmp(argv[at], "--") == 0)
      return at + 1;
    words = words_of_option(argv[at], image);
    if (!words)
      return -1;
    at += words;
  }
  return at < argc ? at : argc;
}

int ft_bridge_operands(const struct ft_bridge *bridge, int argc, char **argv, const char **image)
{
  int saved_optind = optind, saved_opterr = opterr, saved_optopt = optopt;
  char *saved_optarg = optarg, *letters = NULL;
  struct option *table;
  int letter, index = -1, first = quick_operands(argc, argv, image);

  if (first >= 0)
    return first;
  if (!bridge->opt || !bridge->table_create || !bridge->table_destroy)
    return -1;
  table = bridge->table_create(bridge->opt, &letters);
  if (!table || !letters)
    goto out;
  opterr = 0;
  optind = 0;
  while ((letter = getopt_long(argc, argv, letters, table, &index)) != -1) {
    if (index >= 0 && optarg && strcmp(table[index].name, "container-image") == 0)
      *image = optarg;
    index = -1;
  }
  first = optind;
  optind = saved_optind;
  opterr = saved_opterr;
  optopt = saved_optopt;
  optarg = saved_optarg;
out:
  if (table)
    bridge->table_destroy(table);
  if (letters)
    bridge->xfree((void **)&letters);
  return first;
}
