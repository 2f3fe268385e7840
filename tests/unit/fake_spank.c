/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A fake SPANK host: the functions that a Slurm command offers to plugins, an option object, and
 * play_host, which loads the plugin, calls its hooks as Slurm would and prints the results. FAKE_*
 * variables configure it.
 */
#include "config.h"

#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <getopt.h>
#include <sys/wait.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/record/record.h"
#include "tests/unit/fake_spank.h"

#pragma GCC visibility push(default)
#include <slurm/spank.h>

enum { NAMES = 23, EXCLUSIVE = 20, EXTERNAL = 21 };

/* The option object of a command: some options by name, and whether each was set. */
struct fake_opt {
  char *value[NAMES];
  bool set[NAMES];
};

static const char *const option_names[NAMES] = {
  "mem",   "mem-per-cpu",     "mem-per-gpu", "partition", "account",     "job-name", "wrap",
  "chdir", "ntasks",          "nodes",       "time",      "array",       "clusters", "gres",
  "jobid", "container-image", "nodelist",    "exclude",   "reservation", "qos",      "exclusive",
  "external", "debugger-test"
};

extern struct fake_opt opt;
struct fake_opt opt;

static spank_context_t context;
static struct spank_option *registered[12];
static size_t registered_count;
static pid_t task_pid;
static int failing_allocation = -1, allocations;
static const char *rejected; /* the option whose next value is rejected */
static const void *plugin_base;

static int index_of(const char *name)
{
  for (int i = 0; i < NAMES; i++)
    if (strcmp(option_names[i], name) == 0)
      return i;
  return -1;
}

char *slurm_option_get(struct fake_opt *o, const char *name);
int slurm_option_set(struct fake_opt *o, const char *name, const char *value, bool early);
bool slurm_option_get_next_set(struct fake_opt *o, char **name, char **value, size_t *state);
bool slurm_option_reset(struct fake_opt *o, const char *name);
struct option *slurm_option_table_create(struct fake_opt *o, char **letters);
void slurm_option_table_destroy(struct option *table);
void slurm_xfree(void **item);

/* Slurm's allocations have a header in front, so that free() on them is a detectable error. */
void slurm_xfree(void **item)
{
  if (*item)
    free((char *)*item - 16);
  *item = NULL;
}

static char *xstrdup(const char *text)
{
  char *block = text ? malloc(strlen(text) + 17) : NULL;

  return block ? strcpy(block + 16, text) : NULL;
}

char *slurm_option_get(struct fake_opt *o, const char *name)
{
  int i = index_of(name);

  if (strcmp(name, "array") == 0 && getenv("FAKE_SALLOC"))
    return xstrdup("invalid-context");
  return i < 0 ? NULL : xstrdup(o->value[i]);
}

int slurm_option_set(struct fake_opt *o, const char *name, const char *value, bool early)
{
  int i = index_of(name);

  assert_false(early);
  if (i < 0)
    return -1;
  free(o->value[i]);
  o->value[i] = NULL;
  /* as in Slurm 22.05: the old value is lost, and the "set" flag stays as it was */
  if (rejected && strcmp(rejected, name) == 0) {
    rejected = NULL;
    return -1;
  }
  /* as in srun: NO_VAL is no job */
  if (strcmp(name, "jobid") == 0 && value && strcmp(value, "4294967294") == 0)
    value = "unset";
  o->value[i] = strdup(value ? value : i == EXTERNAL ? "set" : "exclusive");
  o->set[i] = true;
  return 0;
}

bool slurm_option_get_next_set(struct fake_opt *o, char **name, char **value, size_t *state)
{
  while (*state < NAMES && !o->set[*state])
    ++*state;
  if (*state == NAMES)
    return false;
  *name = xstrdup(option_names[*state]);
  *value = xstrdup(o->value[*state]);
  ++*state;
  return true;
}

bool slurm_option_reset(struct fake_opt *o, const char *name)
{
  int i = index_of(name);

  if (i < 0)
    return false;
  free(o->value[i]);
  o->value[i] = NULL;
  o->set[i] = false;
  return true;
}

struct option *slurm_option_table_create(struct fake_opt *o, char **letters)
{
  struct option *table = calloc(NAMES + 12, sizeof *table);

  (void)o;
  *letters = xstrdup("+p:n:");
  for (int i = 0; table && i < NAMES; i++)
    table[i] = (struct option){ option_names[i],
                                i == EXCLUSIVE  ? optional_argument
                                : i == EXTERNAL ? no_argument
                                                : required_argument,
                                NULL, 1000 + i };
  for (size_t i = 0; table && i < registered_count; i++)
    table[NAMES + i] =
        (struct option){ registered[i]->name, registered[i]->has_arg, NULL, 2000 + (int)i };
  return table;
}

void slurm_option_table_destroy(struct option *table)
{
  free(table);
}

static void say(const char *kind, const char *format, va_list ap)
{
  printf("%s: ", kind);
  vprintf(format, ap);
  printf("\n");
}

void slurm_info(const char *format, ...)
{
  va_list ap;

  va_start(ap, format);
  say("info", format, ap);
  va_end(ap);
}

void slurm_error(const char *format, ...)
{
  va_list ap;

  va_start(ap, format);
  say("error", format, ap);
  va_end(ap);
}

spank_context_t spank_context(void)
{
  return context;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
  (void)spank;
  registered[registered_count++] = option;
  return ESPANK_SUCCESS;
}

spank_err_t spank_job_control_setenv(spank_t spank, const char *name, const char *value,
                                     int overwrite)
{
  static ft_submission s;
  static ft_job_array array;

  (void)spank;
  (void)overwrite;
  if (failing_allocation >= 0)
    return ESPANK_SUCCESS;
  if (getenv("FAKE_RAW"))
    printf("raw %s\n", value);
  printf("carried %s", name);
  if (ft_submission_from_text(value, &s, &array, NULL) < 0)
    printf(" broken");
  printf(": %s het=%u", s.app, (unsigned)s.het_offset);
  for (size_t i = 0; i < s.features_count; i++)
    if (s.features[i].has_number)
      printf(" %s=%g", s.features[i].name, s.features[i].number);
    else
      printf(" %s=%s", s.features[i].name, s.features[i].category);
  printf("\n");
  return ESPANK_SUCCESS;
}

spank_err_t spank_job_control_unsetenv(spank_t spank, const char *name)
{
  (void)spank;
  if (failing_allocation < 0)
    printf("taken back %s\n", name);
  return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *value, int size)
{
  const char *found = getenv(name);

  (void)spank;
  if (!found)
    return ESPANK_ENV_NOEXIST;
  return ft_string_copy(found, value, (size_t)size) ? ESPANK_SUCCESS : ESPANK_NOSPACE;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
  spank_err_t status = ESPANK_SUCCESS;
  va_list ap;

  (void)spank;
  va_start(ap, item);
  switch (item) {
  case S_JOB_ID:
    *va_arg(ap, uint32_t *) = 77;
    break;
  case S_JOB_STEPID:
    *va_arg(ap, uint32_t *) = 3;
    break;
  case S_JOB_UID:
    *va_arg(ap, uid_t *) = 1000;
    break;
  case S_JOB_NCPUS:
    *va_arg(ap, uint16_t *) = 4;
    break;
  case S_JOB_ALLOC_MEM:
    *va_arg(ap, uint64_t *) = 2000;
    break;
  case S_STEP_ALLOC_MEM:
    *va_arg(ap, uint64_t *) = 1000;
    break;
  case S_JOB_LOCAL_TASK_COUNT:
    *va_arg(ap, uint32_t *) = 1;
    break;
  case S_JOB_ARRAY_TASK_ID:
    *va_arg(ap, uint32_t *) = UINT32_C(0xfffffffe);
    break;
  case S_TASK_PID:
    *va_arg(ap, pid_t *) = task_pid;
    break;
  case S_TASK_EXIT_STATUS:
    *va_arg(ap, int *) = 256;
    break;
  default:
    status = ESPANK_NOT_AVAIL;
  }
  va_end(ap);
  return status;
}

#ifndef SANITIZED
/* While this is above 0, the n-th allocation by the plugin's own code fails. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

static bool fails(const void *caller)
{
  Dl_info info;

  return failing_allocation >= 0 && dladdr(caller, &info) && info.dli_fbase == plugin_base &&
         ++allocations == failing_allocation;
}

void *malloc(size_t size)
{
  return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
  return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
  return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(block, size);
}
#endif

#pragma GCC visibility pop

typedef int hook(spank_t spank, int ac, char **av);

static hook *find_hook(void *plugin, const char *name)
{
  hook *function = NULL;
  void *symbol = dlsym(plugin, name);

  memcpy(&function, &symbol, sizeof function);
  return function;
}

/* Parses like sbatch: its own options into opt, the plugin's options through their callbacks. */
static int play_options(int argc, char **argv)
{
  char *letters = NULL;
  struct option *table = slurm_option_table_create(&opt, &letters);
  const char *chdir_in_script = getenv("FAKE_CHDIR");
  int which, status = 0;

  if (chdir_in_script)
    (void)slurm_option_set(&opt, "chdir", chdir_in_script, false);
  if (context == S_CTX_LOCAL && getenv("SLURM_JOB_ID"))
    (void)slurm_option_set(&opt, "jobid", getenv("SLURM_JOB_ID"), false);
  optind = 0;
  while (status == 0 && (which = getopt_long(argc, argv, letters, table, NULL)) != -1) {
    if (which >= 2000)
      status = registered[which - 2000]->cb(registered[which - 2000]->val, optarg, 0);
    else if (which >= 1000)
      status = slurm_option_set(&opt, option_names[which - 1000], optarg, false);
  }
  slurm_option_table_destroy(table);
  slurm_xfree((void **)&letters);
  return status;
}

static int play_submission(void *plugin, int argc, char **argv, int ac, char **av)
{
  const char *failing = getenv("FAKE_FAILING");
  int status;

  context = strcmp(getenv("FAKE_HOST"), "srun") == 0 ? S_CTX_LOCAL : S_CTX_ALLOCATOR;
  slurm_option_set(&opt, "job-name", "job.sh", false);
  opt.set[index_of("job-name")] = false;
  status = find_hook(plugin, "slurm_spank_init")(NULL, ac, av);
  if (status == 0)
    status = play_options(argc, argv);
  if (status) {
    printf("options %d\n", status);
    return 0;
  }
  if (failing) {
    Dl_info info;

    if (!dladdr(dlsym(plugin, "plugin_name"), &info))
      return 1;
    plugin_base = info.dli_fbase;
    failing_allocation = (int)strtol(failing, NULL, 10);
  }
  rejected = getenv("FAKE_REJECTED");
  status = find_hook(plugin, "slurm_spank_init_post_opt")(NULL, ac, av);
  if (failing && allocations < failing_allocation)
    printf("all done\n");
  failing_allocation = -1;
  printf("post_opt %d\n", status);
  for (int i = 0; i < 4; i++)
    if (opt.set[i])
      printf("%s=%s\n", option_names[i], opt.value[i] ? opt.value[i] : "lost");
  return 0;
}

/* Calls a hook; with FAKE_TIMED, prints its duration in microseconds. */
static int call(void *plugin, const char *name, int ac, char **av)
{
  hook *function = find_hook(plugin, name);
  double began = ft_io_monotonic();
  int status = function(NULL, ac, av);

  if (getenv("FAKE_TIMED"))
    printf("%s %.1f\n", name, 1e6 * (ft_io_monotonic() - began));
  return status;
}

/* Plays a job of one task, in the order of slurmd and slurmstepd. */
static int play_step(void *plugin, int ac, char **av)
{
  int gate[2];
  char byte;

  context = S_CTX_JOB_SCRIPT;
  printf("prolog %d\n", call(plugin, "slurm_spank_job_prolog", ac, av));
  context = S_CTX_REMOTE;
  if (find_hook(plugin, "slurm_spank_init")(NULL, ac, av) != 0 || pipe(gate) < 0)
    return 1;
  (void)fflush(stdout);
  task_pid = fork();
  if (task_pid == 0) {
    /* like the tasks of slurmstepd, it waits until it has been announced */
    close(gate[1]);
    _exit(read(gate[0], &byte, 1) == 0 ? 1 : 2);
  }
  close(gate[0]);
  (void)call(plugin, "slurm_spank_task_post_fork", ac, av);
  close(gate[1]);
  (void)waitpid(task_pid, NULL, 0);
  (void)call(plugin, "slurm_spank_task_exit", ac, av);
  context = S_CTX_JOB_SCRIPT;
  printf("epilog %d\n", call(plugin, "slurm_spank_job_epilog", ac, av));
  return 0;
}

int fake_spank_play(int argc, char **argv)
{
  char *av[] = { getenv("FAKE_STATE"), getenv("FAKE_SOCKET"), getenv("FAKE_HELPER"), NULL };
  void *plugin = dlopen(getenv("FAKE_PLUGIN"), RTLD_LAZY);
  int status;

  if (!plugin) {
    printf("%s\n", dlerror());
    return 1;
  }
  if (strcmp(getenv("FAKE_HOST"), "slurmstepd") == 0)
    status = play_step(plugin, 3, av);
  else
    status = play_submission(plugin, argc, argv, 3, av);
  (void)find_hook(plugin, "slurm_spank_exit")(NULL, 3, av);
  for (int i = 0; i < NAMES; i++)
    free(opt.value[i]);
  dlclose(plugin);
  return status;
}
