/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PAPI's preset events, counted for a whole tree: an event set is attached to each thread that
 * exists when a root is added, and later forks inherit it. The sets are multiplexed, which the
 * kernel does only if they exceed the hardware counters. libpapi and libpfm take 3 MiB and are
 * loaded only while a tree is open (measured: memory after dlclose is as before dlopen). For a
 * skipped root (slurmstepd) a second, not inherited set counts what is subtracted.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/measure/attach.h"
#include "agent/measure/papi.h"
#include "predictor/core/io.h"

#ifdef HAVE_PAPI
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <papi.h>
#include <signal.h>
#include <unistd.h>

/* The presets by PAPI's names; FP_INS only if there is no FP_OPS. */
static const struct preset {
  const char *name;
  unsigned code;
  bool may_be_zero; /* even though exercise_counters() causes such events */
  unsigned groups;  /* ft_counter_next_groups */
} presets[] = {
  { "PAPI_TOT_INS", (unsigned)PAPI_TOT_INS, false, FT_COUNTER_GROUPS },
  { "PAPI_TOT_CYC", (unsigned)PAPI_TOT_CYC, false, 1 },
  { "PAPI_LD_INS", (unsigned)PAPI_LD_INS, false, 2 },
  { "PAPI_SR_INS", (unsigned)PAPI_SR_INS, false, 2 },
  { "PAPI_BR_INS", (unsigned)PAPI_BR_INS, false, 4 },
  { "PAPI_BR_MSP", (unsigned)PAPI_BR_MSP, false, 4 },
  { "PAPI_L1_DCM", (unsigned)PAPI_L1_DCM, false, 2 | 1 },
  { "PAPI_L3_TCM", (unsigned)PAPI_L3_TCM, true, 1 },
  { "PAPI_FP_OPS", (unsigned)PAPI_FP_OPS, false, 4 },
  { "PAPI_FP_INS", (unsigned)PAPI_FP_INS, false, 4 },
};

enum { PRESETS = sizeof presets / sizeof *presets, INSTRUCTIONS = 0, FP_OPS = 8, FP_INS = 9 };

/* Target of the links in /proc/self/fd for descriptors of perf_event_open(2). */
#define PERF_LINK "anon_inode:[perf_event]"

/* Memory that exercise_counters() reads, larger than any L1 data cache, and its iterations. */
enum { EXERCISE_BYTES = 512 << 10, EXERCISE_ITERATIONS = 20000 };

/* The functions used, resolved by dlsym. */
#define CALLS(call)                                                                                \
  call(PAPI_library_init) call(PAPI_shutdown) call(PAPI_set_debug) call(PAPI_multiplex_init)       \
      call(PAPI_get_component_index) call(PAPI_get_component_info) call(PAPI_query_event)          \
          call(PAPI_create_eventset) call(PAPI_assign_eventset_component) call(PAPI_set_multiplex) \
              call(PAPI_set_opt) call(PAPI_add_event) call(PAPI_attach) call(PAPI_start)           \
                  call(PAPI_stop) call(PAPI_cleanup_eventset) call(PAPI_destroy_eventset)          \
                      call(PAPI_strerror)

/* Global, because libpapi has one state per process; `users` counts trees. */
static struct {
  void *handle;
  unsigned users;
  int component;
  bool counts[PRESETS];
#define MEMBER(name) __typeof__(&name) name;
  CALLS(MEMBER)
#undef MEMBER
} papi;

/* An event set attached to a thread. */
struct set {
  int id;
  size_t presets[PRESETS]; /* preset of each value */
  int count;
  double sign; /* -1: its counts are subtracted */
};

struct state {
  struct ft_attach attach;
  struct set *sets;
  size_t count;
  bool loaded;
  bool wanted[PRESETS]; /* by this tree */
};

static int resolve_papi(struct ft_error *err)
{
#define RESOLVE(name)                                                                              \
  *(void **)&papi.name = dlsym(papi.handle, #name);                                                \
  if (!papi.name)                                                                                  \
    return ft_error_set(err, "libpapi has no %s", #name);
  CALLS(RESOLVE)
#undef RESOLVE
  return 0;
}

/* Initialises PAPI and finds the perf_event component. Returns 0; -1 and ERR. */
static int initialise_papi(struct ft_error *err)
{
  const PAPI_component_info_t *info;
  int version = papi.PAPI_library_init(PAPI_VER_CURRENT);

  if (version != PAPI_VER_CURRENT)
    return ft_error_set(err, "PAPI_library_init: %s",
                        version > 0 ? "another version than this was built with"
                                    : papi.PAPI_strerror(version));
  papi.PAPI_set_debug(PAPI_QUIET);
  papi.component = papi.PAPI_get_component_index("perf_event");
  info = papi.component < 0 ? NULL : papi.PAPI_get_component_info(papi.component);
  if (!info || info->disabled) {
    const char *reason = info && info->disabled_reason[0] ? info->disabled_reason : "not built in";

    /* PAPI checks only the setting, not the process's capabilities (7.0, perf_event.c) */
    return ft_error_set(err, "PAPI's perf_event component is disabled: %s%s", reason,
                        strstr(reason, "paranoid") ? "; set kernel.perf_event_paranoid to 2" : "");
  }
  if (papi.PAPI_multiplex_init() != PAPI_OK)
    return ft_error_set(err, "PAPI cannot multiplex here");
  return 0;
}

static void release_papi(void)
{
  if (papi.users && --papi.users)
    return;
  if (papi.PAPI_shutdown)
    papi.PAPI_shutdown();
#ifndef __SANITIZE_ADDRESS__
  /* where libpfm4 does not know the processor PAPI 7.0.1 leaves 208 KiB behind, a leak once nothing
   * refers to them; to stay loaded would cost 3 MiB */
  if (papi.handle)
    dlclose(papi.handle);
#endif
  papi.handle = NULL;
  papi.PAPI_shutdown = NULL;
}

/*
 * Loads LIBRARY, or counts one more user of it. NULL: the library of papi.h, because the soname
 * changes with each minor version. Returns 0; -1 and ERR, and nothing is loaded.
 */
static int load_papi(const char *library, struct ft_error *err)
{
  const int major = PAPI_VERSION_MAJOR(PAPI_VERSION), minor = PAPI_VERSION_MINOR(PAPI_VERSION);
  char name[32];

  if (papi.users) {
    papi.users++;
    return 0;
  }
  snprintf(name, sizeof name, "libpapi.so.%d.%d", major, minor);
  library = library ? library : name;
  papi.handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!papi.handle)
    return ft_error_set(err, "%s; on Debian: apt-get install libpapi%d.%d", dlerror(), major,
                        minor);
  papi.users = 1;
  if (resolve_papi(err) == 0 && initialise_papi(err) == 0)
    return 0;
  release_papi();
  return -1;
}

static void set_free(struct set *set)
{
  papi.PAPI_cleanup_eventset(set->id);
  papi.PAPI_destroy_eventset(&set->id);
}

/* Creates a multiplexed set of the WANTED presets; INHERIT: forks inherit it. Returns 0 or -1. */
static int set_make(struct set *set, const bool *wanted, bool inherit)
{
  PAPI_option_t option;

  set->id = PAPI_NULL;
  set->count = 0;
  set->sign = inherit ? 1 : -1;
  if (papi.PAPI_create_eventset(&set->id) != PAPI_OK)
    return -1;
  memset(&option, 0, sizeof option);
  option.inherit.eventset = set->id;
  option.inherit.inherit = inherit ? PAPI_INHERIT_ALL : PAPI_INHERIT_NONE;
  if (papi.PAPI_assign_eventset_component(set->id, papi.component) != PAPI_OK ||
      papi.PAPI_set_multiplex(set->id) != PAPI_OK ||
      papi.PAPI_set_opt(PAPI_INHERIT, &option) != PAPI_OK) {
    set_free(set);
    return -1;
  }
  for (size_t i = 0; i < PRESETS; i++)
    if (wanted[i] && papi.PAPI_add_event(set->id, (int)presets[i].code) == PAPI_OK)
      set->presets[set->count++] = i;
  if (set->count)
    return 0;
  set_free(set);
  return -1;
}

/* Causes cache misses, stores, unpredictable branches and floating-point additions. */
static void exercise_counters(void)
{
  volatile unsigned char *memory = malloc(EXERCISE_BYTES);
  volatile double sum = 0;
  uint32_t random = 2463534242; /* xorshift32, Marsaglia 2003 */

  for (unsigned i = 0; memory && i < EXERCISE_ITERATIONS; i++) {
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    if (random & 64)
      sum = sum + 1.5;
    memory[random % EXERCISE_BYTES]++;
  }
  free((void *)memory);
}

/*
 * Whether preset I counts, tested on this process: the kernel also opens events that a processor or
 * an emulator lacks, and they stay at zero.
 */
static bool try_preset(size_t i)
{
  bool wanted[PRESETS] = { false };
  long long values[PRESETS] = { 0 };
  struct set set;
  bool works;

  if (papi.PAPI_query_event((int)presets[i].code) != PAPI_OK)
    return false;
  wanted[i] = true;
  if (set_make(&set, wanted, true) < 0)
    return false;
  works = papi.PAPI_start(set.id) == PAPI_OK;
  if (works) {
    exercise_counters();
    works = papi.PAPI_stop(set.id, values) == PAPI_OK && (values[0] > 0 || presets[i].may_be_zero);
  }
  set_free(&set);
  return works;
}

/* Writes "A, B and C", the presets that work (WHICH) or do not, to OUT. Returns their number. */
static size_t list_presets(bool which, char *out, size_t size)
{
  size_t count = 0, total = 0, used = 0;

  for (size_t i = 0; i < PRESETS; i++)
    total += papi.counts[i] == which;
  out[0] = 0;
  for (size_t i = 0; i < PRESETS; i++) {
    int length;

    if (papi.counts[i] != which)
      continue;
    length = snprintf(out + used, size - used, "%s%s",
                      !count               ? ""
                      : count + 1 == total ? " and "
                                           : ", ",
                      presets[i].name);
    used += length > 0 && (size_t)length < size - used ? (size_t)length : 0;
    count++;
  }
  return total;
}

bool ft_papi_probe(const char *library, struct ft_measure_report *report)
{
  struct ft_error err;
  char missing[160];
  size_t absent, works;

  memset(papi.counts, 0, sizeof papi.counts);
  if (load_papi(library, &err) < 0) {
    ft_string_copy(err.text, report->why, sizeof report->why);
    return false;
  }
  for (size_t i = 0; i < PRESETS; i++)
    papi.counts[i] = try_preset(i);
  release_papi();
  absent = list_presets(false, missing, sizeof missing);
  if (papi.counts[FP_OPS])
    papi.counts[FP_INS] = false;
  works = PRESETS - absent;
  report->absent = !works;
  if (!works)
    snprintf(report->why, sizeof report->why,
             "none of PAPI's presets is available on this processor, or in this virtual machine");
  else if (!absent)
    snprintf(report->why, sizeof report->why, "all presets are counted");
  else
    snprintf(report->why, sizeof report->why, "%s %s not available on this processor", missing,
             absent == 1 ? "is" : "are");
  return works > 0;
}

static int attach_set(struct state *state, pid_t tid, bool inherit)
{
  struct set *sets = realloc(state->sets, (state->count + 1) * sizeof *sets);
  struct set set;

  errno = ENOMEM;
  if (!sets)
    return -1;
  state->sets = sets;
  errno = EIO;
  if (set_make(&set, state->wanted, inherit) < 0)
    return -1;
  if (papi.PAPI_attach(set.id, (unsigned long)tid) != PAPI_OK ||
      papi.PAPI_start(set.id) != PAPI_OK) {
    set_free(&set);
    errno = kill(tid, 0) < 0 && errno == ESRCH ? ESRCH : EIO;
    return -1;
  }
  sets[state->count++] = set;
  return 0;
}

static int attach_papi_thread(void *data, pid_t tid, bool skipped)
{
  return attach_set(data, tid, true) < 0 || (skipped && attach_set(data, tid, false) < 0) ? -1 : 0;
}

/* Loads the library for the tree of STATE, and chooses the presets. */
static bool open_counters(struct ft_measure *measure, struct state *state)
{
  unsigned groups;

  if (state->loaded)
    return true;
  if (load_papi(NULL, NULL) < 0)
    return false;
  groups = ft_counter_next_groups(measure);
  for (size_t i = 0; i < PRESETS; i++)
    state->wanted[i] = papi.counts[i] && presets[i].groups & groups;
  return state->loaded = true;
}

/* Frees all sets, adds their values to SUMS, and releases the library. Returns whether all could be
 * read. */
static bool close_counters(struct state *state, double *sums)
{
  bool whole = true;

  for (size_t s = 0; s < state->count; s++) {
    long long values[PRESETS] = { 0 };

    if (papi.PAPI_stop(state->sets[s].id, values) != PAPI_OK)
      whole = false;
    for (int i = 0; i < state->sets[s].count; i++)
      sums[state->sets[s].presets[i]] += state->sets[s].sign * (double)values[i];
    set_free(&state->sets[s]);
  }
  free(state->sets);
  state->sets = NULL;
  state->count = 0;
  ft_attach_free(&state->attach);
  if (state->loaded)
    release_papi();
  state->loaded = false;
  return whole;
}

/* Sets close-on-exec on PAPI's descriptors. */
static void set_close_on_exec(const struct ft_measure *measure)
{
  DIR *dir = ft_io_open_directory(measure->proc_fd, "self/fd");
  struct dirent *entry;

  while (dir && (entry = readdir(dir))) {
    struct ft_text name = ft_text_from(entry->d_name);
    char link[32];
    uint64_t number;

    if (!ft_text_u64(&name, INT32_MAX, &number) || fcntl((int)number, F_GETFD) != 0)
      continue;
    if (readlinkat(dirfd(dir), entry->d_name, link, sizeof link) == sizeof PERF_LINK - 1 &&
        memcmp(link, PERF_LINK, sizeof PERF_LINK - 1) == 0)
      fcntl((int)number, F_SETFD, FD_CLOEXEC);
  }
  if (dir)
    closedir(dir);
}

static void papi_added(struct ft_measure *measure, struct ft_tree *tree, void *data)
{
  struct state *state = data;
  size_t before = state->count;
  double ignored[PRESETS] = { 0 };

  if (!tree->counted)
    (void)close_counters(state, ignored);
  else if (open_counters(measure, state))
    ft_attach_tree(&state->attach, measure, tree, attach_papi_thread, state);
  if (state->count > before)
    set_close_on_exec(measure);
}

static void papi_sample(struct ft_measure *measure, struct ft_tree *tree, void *data,
                        struct ft_sample *sample)
{
  (void)sample;
  papi_added(measure, tree, data);
}

static void papi_close(struct ft_measure *measure, struct ft_tree *tree, void *data,
                       ft_observation *out)
{
  struct state *state = data;
  double sums[PRESETS] = { 0 };
  bool whole = ft_attach_is_whole(&state->attach, out->has_cpu_seconds ? out->cpu_seconds : -1);

  (void)measure;
  whole &= close_counters(state, sums) && !tree->uses_counters;
  whole = whole && (sums[INSTRUCTIONS] > 0 || !state->wanted[INSTRUCTIONS]);
  for (size_t i = 0; i < PRESETS; i++)
    if (whole && state->wanted[i])
      ft_counter_add(out, presets[i].name, sums[i] > 0 ? sums[i] : 0);
}

#else

bool ft_papi_probe(const char *library, struct ft_measure_report *report)
{
  (void)library;
  snprintf(report->why, sizeof report->why,
           "built without PAPI; on Debian: apt-get install libpapi-dev, then configure again");
  return false;
}

#endif

static bool papi_probe(struct ft_measure *measure, struct ft_measure_report *report)
{
  if (measure->own_proc)
    return ft_papi_probe(NULL, report);
  snprintf(report->why, sizeof report->why, "the processes are not of this system");
  return false;
}

const struct ft_sampler ft_sampler_papi = { .name = "papi",
                                            .by_members = true,
                                            .probe = papi_probe,
#ifdef HAVE_PAPI
                                            .state_size = sizeof(struct state),
                                            .added = papi_added,
                                            .sample = papi_sample,
                                            .close = papi_close
#endif
};
