/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Energy of the processor packages (RAPL), through the kernel's power PMU
 * (arch/x86/events/rapl.c): unlike /sys/class/powercap it needs no root, only CAP_PERFMON. One
 * event on one CPU of each package counts for the whole context. It measures a package, not a job,
 * so the job's share of the node's busy CPU time is recorded too; their product estimates its part,
 * in which the energy of idle processors is divided like the other. Both are read when a tree gets
 * its first process and when it is closed.
 */
#include "config.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/measure/internal.h"
#include "predictor/core/io.h"

#define POWER_PMU "sys/bus/event_source/devices/power/"

/* Maximum number of packages, or of dies where each has a counter. */
enum { PACKAGES_LIMIT = 64 };
/* Fraction of a run that may pass before the first reading; as that of attach.c. */
#define MISSED_FRACTION 0.02

/* Since an unspecified time, but one for all readings of a context; negative: unknown. */
struct reading {
  double time;         /* ft_io_monotonic */
  double joules;       /* of all packages */
  double busy_seconds; /* CPU time of all processes and of the kernel */
};

struct ft_rapl {
  int fd[PACKAGES_LIMIT];
  size_t count;
  double scale; /* joules per count */
  struct reading latest;
};

struct state {
  bool begun;
  double missed_seconds; /* from the start of the tree's oldest process to the first reading */
  struct reading first;
};

static bool rapl_fails(struct ft_measure_report *report, const char *name, const char *problem)
{
  snprintf(report->why, sizeof report->why, "/" POWER_PMU "%s: %s", name, problem);
  return false;
}

/* Reads the first line of the PMU's file NAME into TEXT. Returns false with the reason in REPORT;
 * MISSING: the reason if there is no such file. */
static bool read_pmu(const struct ft_measure *measure, const char *name, const char *missing,
                     char text[256], struct ft_measure_report *report)
{
  char path[128];
  ssize_t length;

  snprintf(path, sizeof path, POWER_PMU "%s", name);
  length = ft_proc_read(measure->settings.root_fd, path, text, 256);
  if (length < 0 && errno == ENOENT) {
    report->absent = true;
    snprintf(report->why, sizeof report->why, "%s", missing);
    return false;
  }
  if (length < 0)
    return rapl_fails(report, name, strerror(errno));
  text[strcspn(text, "\n")] = '\0';
  return true;
}

/* Opens an event of each CPU in LIST ("0,24", "0-1"). Returns false with the reason in REPORT. */
static bool open_packages(struct ft_measure *measure, struct ft_rapl *rapl,
                          struct perf_event_attr *attr, const char *list,
                          struct ft_measure_report *report)
{
  struct ft_text text = ft_text_from(list);
  uint64_t first, last;

  do {
    if (!ft_text_u64(&text, INT_MAX, &first))
      return rapl_fails(report, "cpumask", "expected a list of CPUs such as 0,24");
    last = first;
    if (ft_text_skip(&text, "-") && (!ft_text_u64(&text, INT_MAX, &last) || last < first))
      return rapl_fails(report, "cpumask", "expected a list of CPUs such as 0,24");
    if (last - first >= PACKAGES_LIMIT - rapl->count)
      return rapl_fails(report, "cpumask", "more than 64 CPUs");
    for (uint64_t cpu = first; cpu <= last; cpu++) {
      int fd = (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

      if (fd < 0) {
        ft_perf_explain(measure, errno, "0", report->why, sizeof report->why);
        return false;
      }
      rapl->fd[rapl->count++] = fd;
    }
  } while (ft_text_skip(&text, ","));
  return !ft_text_left(&text) ||
         rapl_fails(report, "cpumask", "expected a list of CPUs such as 0,24");
}

static bool open_events(struct ft_measure *measure, struct ft_rapl *rapl,
                        struct ft_measure_report *report)
{
  static const char no_event[] = "this machine's power PMU does not measure packages (energy-pkg)";
  struct perf_event_attr attr = { .size = sizeof attr,
                                  .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                 PERF_FORMAT_TOTAL_TIME_RUNNING };
  char text[256], *end;
  struct ft_text type;
  uint64_t number;

  if (!measure->own_proc)
    return snprintf(report->why, sizeof report->why, "the processes are not of this system"), false;
  if (!read_pmu(measure, "type", "this machine has no power PMU", text, report))
    return false;
  type = ft_text_from(text);
  if (!ft_text_u64(&type, UINT32_MAX, &number) || ft_text_left(&type))
    return rapl_fails(report, "type", "expected a number");
  attr.type = (uint32_t)number;
  if (!read_pmu(measure, "events/energy-pkg", no_event, text, report))
    return false;
  if (strncmp(text, "event=0x", 8) != 0)
    return rapl_fails(report, "events/energy-pkg", "expected event=0x and a number");
  attr.config = strtoull(text + 8, &end, 16);
  if (end == text + 8 || *end)
    return rapl_fails(report, "events/energy-pkg", "expected event=0x and a number");
  if (!read_pmu(measure, "events/energy-pkg.unit", no_event, text, report))
    return false;
  if (strcmp(text, "Joules") != 0)
    return rapl_fails(report, "events/energy-pkg.unit", "expected Joules");
  if (!read_pmu(measure, "events/energy-pkg.scale", no_event, text, report))
    return false;
  if (!ft_text_is_double(ft_text_from(text), &rapl->scale) ||
      !(rapl->scale > 0 && rapl->scale <= 1))
    return rapl_fails(report, "events/energy-pkg.scale", "expected joules per count, at most 1");
  return read_pmu(measure, "cpumask", no_event, text, report) &&
         open_packages(measure, rapl, &attr, text, report);
}

void ft_rapl_free(struct ft_measure *measure)
{
  if (!measure->rapl)
    return;
  while (measure->rapl->count)
    close(measure->rapl->fd[--measure->rapl->count]);
  free(measure->rapl);
  measure->rapl = NULL;
}

static bool rapl_probe(struct ft_measure *measure, struct ft_measure_report *report)
{
  measure->rapl = calloc(1, sizeof *measure->rapl);
  if (!measure->rapl) {
    snprintf(report->why, sizeof report->why, "out of memory");
    return false;
  }
  if (!open_events(measure, measure->rapl, report)) {
    ft_rapl_free(measure);
    return false;
  }
  snprintf(report->why, sizeof report->why, "energy of %zu package%s, by the power PMU",
           measure->rapl->count, ft_plural(measure->rapl->count));
  return true;
}

/* Returns the energy of all packages; negative if one was not counted the whole time. */
static double read_joules(const struct ft_rapl *rapl)
{
  double sum = 0;

  for (size_t i = 0; i < rapl->count; i++) {
    struct {
      uint64_t value, enabled, running;
    } one;

    if (read(rapl->fd[i], &one, sizeof one) != (ssize_t)sizeof one || one.running < one.enabled)
      return -1;
    sum += rapl->scale * (double)one.value;
  }
  return sum;
}

/* Returns the busy seconds of all CPUs since boot, by proc_stat(5)'s first line; negative if it is
 * malformed. */
static double read_busy_seconds(const struct ft_measure *measure)
{
  enum { IDLE = 3, IOWAIT = 4, GUEST = 8 }; /* columns; guest is part of user */
  char text[512];
  ssize_t length = ft_proc_read(measure->proc_fd, "stat", text, sizeof text);
  struct ft_text line = ft_text_of(text, length > 0 ? (size_t)length : 0), word;
  double ticks = 0, value;

  if (!ft_text_word(&line, &word) || !ft_text_equals(word, "cpu"))
    return -1;
  for (int column = 0; column < GUEST; column++) {
    if (!ft_text_word(&line, &word) || !ft_text_is_double(word, &value))
      return -1;
    if (column != IDLE && column != IOWAIT)
      ticks += value;
  }
  return ticks * measure->tick_seconds;
}

/* Returns the current reading. On a node with many CPUs /proc/stat takes a fraction of a
 * millisecond, so trees that begin or end together share one reading. */
static struct reading read_all(const struct ft_measure *measure)
{
  struct reading *latest = &measure->rapl->latest;
  double now = ft_io_monotonic();

  if (!(latest->time > 0 && now - latest->time < measure->settings.seconds))
    *latest = (struct reading){ now, read_joules(measure->rapl), read_busy_seconds(measure) };
  return *latest;
}

static void rapl_added(struct ft_measure *measure, struct ft_tree *tree, void *data)
{
  struct state *state = data;
  uint64_t now = ft_proc_ticks(measure);

  if (state->begun)
    return;
  state->begun = true;
  state->first = read_all(measure);
  for (size_t i = 0; i < tree->count; i++)
    if (ft_member_lives(&tree->members[i]) && tree->members[i].start < now)
      ft_update_max(&state->missed_seconds,
                    measure->tick_seconds * (double)(now - tree->members[i].start));
}

static void rapl_sample(struct ft_measure *measure, struct ft_tree *tree, void *data,
                        struct ft_sample *sample)
{
  (void)measure, (void)tree, (void)data, (void)sample;
}

static void rapl_close(struct ft_measure *measure, struct ft_tree *tree, void *data,
                       ft_observation *out)
{
  const struct state *state = data;
  struct reading first = state->first, last;
  double busy;

  (void)tree;
  if (!state->begun)
    return;
  last = read_all(measure);
  if (first.joules < 0 || last.joules < 0 || last.time <= first.time ||
      state->missed_seconds > MISSED_FRACTION * (last.time - first.time))
    return;
  out->has_package_energy_joules = true;
  out->package_energy_joules = last.joules - first.joules;
  busy = last.busy_seconds - first.busy_seconds;
  if (first.busy_seconds >= 0 && busy > 0 && out->has_cpu_seconds) {
    out->has_package_energy_share = true;
    out->package_energy_share = fmin(out->cpu_seconds / busy, 1);
  }
}

const struct ft_sampler ft_sampler_rapl = { .name = "rapl",
                                            .state_size = sizeof(struct state),
                                            .by_members = true,
                                            .probe = rapl_probe,
                                            .added = rapl_added,
                                            .sample = rapl_sample,
                                            .close = rapl_close };
