/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * perf_event_open(2): the kernel's software events (task clock, context switches, CPU migrations,
 * page faults) and, without PAPI, hardware events. Events are opened on the threads that exist when
 * a root is added; later forks inherit them. Nothing is read before the tree closes. Counters have
 * the names of perf(1); "task-clock" is in nanoseconds, the others are counts.
 */
#include "config.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/measure/attach.h"

#define CACHE_READ_MISS(cache)                                                                     \
  ((cache) | (PERF_COUNT_HW_CACHE_OP_READ << 8) | (PERF_COUNT_HW_CACHE_RESULT_MISS << 16))

enum event_kind {
  EVENT_USER,   /* software, counted in user mode too */
  EVENT_KERNEL, /* software, occurs in the kernel: zero without permission to count there */
  EVENT_HARDWARE
};

static const struct event {
  const char *name;
  uint32_t type;
  uint64_t config;
  enum event_kind kind;
  unsigned groups; /* of a hardware event (ft_counter_next_groups): ratios need both in one tree */
} events[] = {
  { "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, EVENT_USER, FT_COUNTER_GROUPS },
  { "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, EVENT_KERNEL,
    FT_COUNTER_GROUPS },
  { "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, EVENT_KERNEL,
    FT_COUNTER_GROUPS },
  { "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, EVENT_KERNEL,
    FT_COUNTER_GROUPS },
  { "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, EVENT_KERNEL,
    FT_COUNTER_GROUPS },
  { "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, EVENT_HARDWARE,
    FT_COUNTER_GROUPS },
  { "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, EVENT_HARDWARE, 1 },
  { "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, EVENT_HARDWARE, 2 },
  { "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, EVENT_HARDWARE, 2 },
  { "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, CACHE_READ_MISS(PERF_COUNT_HW_CACHE_L1D),
    EVENT_HARDWARE, 4 },
  { "LLC-load-misses", PERF_TYPE_HW_CACHE, CACHE_READ_MISS(PERF_COUNT_HW_CACHE_LL), EVENT_HARDWARE,
    4 },
};

enum { EVENTS = sizeof events / sizeof *events, TASK_CLOCK = 0, MINOR = 1, MAJOR = 2 };

/* Descriptors of one attached thread, one per event; -1: none. */
struct thread {
  int fd[EVENTS];
};

struct state {
  struct ft_attach attach;
  struct ft_measure *measure;
  struct thread *threads;
  size_t count;
  unsigned groups;
};

/* Results of the probe, the same for all contexts of this process. */
static struct {
  bool opens[EVENTS];
  bool user_only;
} works;

/*
 * Opens EVENT on TID (0: the caller), inherited by forks. SKIPPED: TID itself is not counted,
 * programs that it forks and executes are. Returns a descriptor; -1 with errno.
 */
static int event_open(const struct event *event, pid_t tid, bool skipped)
{
  struct perf_event_attr attr = { .size = sizeof attr,
                                  .type = event->type,
                                  .config = event->config,
                                  .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                 PERF_FORMAT_TOTAL_TIME_RUNNING,
                                  .inherit = 1,
                                  .exclude_hv = 1,
                                  .disabled = skipped,
                                  .enable_on_exec = skipped };

  attr.exclude_kernel = event->kind == EVENT_HARDWARE || works.user_only;
  return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void ft_perf_explain(const struct ft_measure *measure, int error, const char *level, char *why,
                     size_t size)
{
  char text[4096];
  struct ft_text paranoid;
  ssize_t length;
  double seccomp = 0;

  length = ft_proc_read_pid(measure, getpid(), "status", text, sizeof text);
  if (length > 0)
    ft_proc_value(text, "Seccomp:", &seccomp);
  length = ft_proc_read(measure->proc_fd, "sys/kernel/perf_event_paranoid", text, sizeof text);
  paranoid = ft_text_trim(ft_text_of(text, length > 0 ? (size_t)length : 0));
  if (error == ENOSYS || length < 0)
    snprintf(why, size, "this kernel is built without perf events (CONFIG_PERF_EVENTS)");
  else if (error != EACCES && error != EPERM)
    snprintf(why, size, "perf_event_open: %s", strerror(error));
  else if (seccomp > 0)
    snprintf(why, size,
             "perf_event_open is refused by a seccomp filter; allow it in the container's profile "
             "and add CAP_PERFMON (docker run --cap-add PERFMON)");
  else
    snprintf(why, size,
             "perf_event_open is refused; give the agent CAP_PERFMON (CAP_SYS_ADMIN before Linux "
             "5.8) or set kernel.perf_event_paranoid, now %.*s, to %s",
             (int)ft_text_left(&paranoid), paranoid.at, level);
}

static bool try_event(size_t i)
{
  int fd = event_open(&events[i], 0, false);

  if (fd >= 0)
    close(fd);
  works.opens[i] = fd >= 0;
  return fd >= 0;
}

static bool papi_serves(const struct ft_measure *measure)
{
  for (size_t i = 0; i < measure->report_count; i++)
    if (measure->reports[i].works && strcmp(measure->reports[i].name, "papi") == 0)
      return true;
  return false;
}

/* Probes the hardware events, unless PAPI counts them; describes the result in TEXT. */
static void probe_hardware(const struct ft_measure *measure, char *text, size_t size)
{
  size_t used = 0, found = 0;
  int error = ENOENT;

  if (papi_serves(measure)) {
    snprintf(text, size, "hardware counters through PAPI");
    return;
  }
  text[0] = 0;
  for (size_t i = 0; i < EVENTS; i++) {
    int length;

    if (events[i].kind != EVENT_HARDWARE)
      continue;
    if (!try_event(i)) {
      error = errno;
      continue;
    }
    length = snprintf(text + used, size - used, "%s%s", found++ ? ", " : "", events[i].name);
    if (length > 0 && (size_t)length < size - used)
      used += (size_t)length;
  }
  if (!found)
    snprintf(text, size, "no hardware counters: %s",
             error == ENOENT || error == ENODEV || error == EOPNOTSUPP
                 ? "this processor, or this virtual machine, has none"
                 : strerror(error));
}

static bool perf_probe(struct ft_measure *measure, struct ft_measure_report *report)
{
  char hardware[130]; /* fits, with its prefix, into the report's 200 bytes */

  memset(&works, 0, sizeof works);
  if (!measure->own_proc) {
    snprintf(report->why, sizeof report->why, "the processes are not of this system");
    return false;
  }
  if (!try_event(TASK_CLOCK)) {
    int error = errno;

    works.user_only = true;
    if (!try_event(TASK_CLOCK)) {
      ft_perf_explain(measure, error, "1", report->why, sizeof report->why);
      return false;
    }
  }
  for (size_t i = 0; i < EVENTS; i++)
    if (events[i].kind == EVENT_KERNEL && !works.user_only)
      try_event(i);
  probe_hardware(measure, hardware, sizeof hardware);
  snprintf(report->why, sizeof report->why, "%s; %s",
           works.user_only ? "task clock; faults and switches need kernel.perf_event_paranoid 1"
                           : "task clock, switches, faults",
           hardware);
  return true;
}

static int attach_perf_thread(void *data, pid_t tid, bool skipped)
{
  struct state *state = data;
  struct thread *threads = realloc(state->threads, (state->count + 1) * sizeof *threads);
  struct thread *thread;

  if (!threads)
    return -1;
  state->threads = threads;
  thread = &threads[state->count];
  for (size_t i = 0; i < EVENTS; i++)
    thread->fd[i] = -1;
  state->count++;
  for (size_t i = 0; i < EVENTS; i++) {
    if (!works.opens[i] || !(events[i].groups & state->groups))
      continue;
    if (!ft_proc_may_keep_open(state->measure)) {
      errno = EMFILE;
      return -1;
    }
    thread->fd[i] = event_open(&events[i], tid, skipped);
    if (thread->fd[i] < 0)
      return -1;
    state->measure->descriptors++;
  }
  return 0;
}

static int perf_open(struct ft_measure *measure, struct ft_tree *tree, void *data)
{
  struct state *state = data;

  (void)tree;
  state->measure = measure;
  state->groups = ft_counter_next_groups(measure);
  return 0;
}

static void close_events(struct ft_measure *measure, struct state *state)
{
  for (size_t t = 0; t < state->count; t++)
    for (size_t i = 0; i < EVENTS; i++)
      if (state->threads[t].fd[i] >= 0) {
        close(state->threads[t].fd[i]);
        measure->descriptors--;
      }
  free(state->threads);
  state->threads = NULL;
  state->count = 0;
  ft_attach_free(&state->attach);
}

static void perf_added(struct ft_measure *measure, struct ft_tree *tree, void *data)
{
  struct state *state = data;

  if (!tree->counted)
    close_events(measure, state);
  else
    ft_attach_tree(&state->attach, measure, tree, attach_perf_thread, state);
}

static void perf_sample(struct ft_measure *measure, struct ft_tree *tree, void *data,
                        struct ft_sample *sample)
{
  (void)sample;
  perf_added(measure, tree, data);
}

/* Returns event I over all threads; negative if too little was counted. */
static double total_of_event(const struct state *state, size_t i)
{
  struct ft_counter_sum sum = { 0 };

  for (size_t t = 0; t < state->count; t++) {
    struct {
      uint64_t value, enabled, running;
    } one;

    if (state->threads[t].fd[i] >= 0 &&
        read(state->threads[t].fd[i], &one, sizeof one) == (ssize_t)sizeof one)
      ft_counter_sum_add(&sum, one.value, one.enabled, one.running);
  }
  return ft_counter_sum_whole(&sum);
}

/* Sets FAULTS to the maximum of COUNT and the value from /proc, which lacks short-lived
 * processes. */
static void put_faults(double count, bool *has, uint64_t *faults)
{
  if (count < 0 || (*has && (double)*faults >= count))
    return;
  *has = true;
  *faults = (uint64_t)count;
}

static void perf_close(struct ft_measure *measure, struct ft_tree *tree, void *data,
                       ft_observation *out)
{
  struct state *state = data;
  double counts[EVENTS];

  for (size_t i = 0; i < EVENTS; i++)
    counts[i] = total_of_event(state, i);
  if (ft_attach_is_whole(&state->attach, 1e-9 * counts[TASK_CLOCK])) {
    put_faults(counts[MINOR], &out->has_minor_faults, &out->minor_faults);
    put_faults(counts[MAJOR], &out->has_major_faults, &out->major_faults);
    for (size_t i = 0; i < EVENTS; i++)
      if (i != MINOR && i != MAJOR && counts[i] >= 0)
        ft_counter_add(out, events[i].name, counts[i]);
  }
  if (tree->uses_counters)
    ft_counter_add(out, "own-counters", 1);
  close_events(measure, state);
}

const struct ft_sampler ft_sampler_perf = { .name = "perf",
                                            .state_size = sizeof(struct state),
                                            .by_members = true,
                                            .probe = perf_probe,
                                            .open = perf_open,
                                            .added = perf_added,
                                            .sample = perf_sample,
                                            .close = perf_close };
