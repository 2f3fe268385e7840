/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell doctor: the capabilities of the running agent. The samplers of doctor itself show what
 * this host can measure; the agent, which is not root, measures no more than these permit.
 */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/measure/measure.h"
#include "predictor/cli/doctor/doctor.h"
#include "predictor/core/buf.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

#ifndef CAP_PERFMON /* before Linux 5.8 */
#define CAP_PERFMON 38
#endif

/* Capabilities of which the agent needs one, and what it does not measure without it. */
static const struct need {
  uint64_t any;
  const char *name, *lost;
} needs[] = {
  { FT_CAPABILITY(CAP_SYS_PTRACE), "CAP_SYS_PTRACE",
    "PSS, bytes read and written, and open files of users' processes" },
  { FT_CAPABILITY(CAP_DAC_READ_SEARCH) | FT_CAPABILITY(CAP_DAC_OVERRIDE), "CAP_DAC_READ_SEARCH",
    "bytes read and written, open files, and processes without their parents that no cgroup "
    "shows" },
  { FT_CAPABILITY(CAP_NET_ADMIN), "CAP_NET_ADMIN",
    "the memory of processes that end between two samples" },
};

/* Reads a number below /proc/sys/kernel; returns OTHERWISE if there is none. */
static int kernel_setting(int proc, const char *name, int otherwise)
{
  char path[64];
  struct ft_buf text;
  struct ft_text rest;
  uint64_t value;

  ft_buf_init(&text, FT_LIMIT_PROC);
  (void)snprintf(path, sizeof path, "sys/kernel/%s", name);
  if (ft_io_read_file(proc, path, &text, NULL) == 0) {
    rest = ft_text_of(ft_buf_text(&text), text.length);
    if (ft_text_u64(&rest, INT32_MAX, &value))
      otherwise = (int)value;
  }
  ft_buf_free(&text);
  return otherwise;
}

/* Reports which counters an agent with the capabilities SET cannot read. Returns whether it lacks
 * any. */
static bool report_counters(struct ft_doctor *doctor, int proc, uint64_t set)
{
  int paranoid = kernel_setting(proc, "perf_event_paranoid", 2);
  const char *lost = paranoid > 2 ? "no hardware counter and no task clock"
                                  : "no context switch, migration and page fault";

  if (set & (FT_CAPABILITY(CAP_PERFMON) | FT_CAPABILITY(CAP_SYS_ADMIN)) || paranoid < 2)
    return false;
  if (kernel_setting(proc, "cap_last_cap", CAP_PERFMON) < CAP_PERFMON)
    ft_doctor_add(doctor, "privileges", FT_FINDING_WARN,
                  "this kernel has no CAP_PERFMON (Linux 5.8): %s is counted; set "
                  "kernel.perf_event_paranoid, now %d, to 1",
                  lost, paranoid);
  else
    ft_doctor_add(doctor, "privileges", FT_FINDING_WARN,
                  "foretelld has no CAP_PERFMON: %s is counted; add it to AmbientCapabilities= of "
                  "its unit, or set kernel.perf_event_paranoid, now %d, to 1",
                  lost, paranoid);
  return true;
}

void ft_doctor_privileges(struct ft_doctor *doctor, pid_t agent)
{
  int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const struct passwd *user;
  bool lacks = false;
  char process[16];
  uint64_t set;
  struct stat st;

  (void)snprintf(process, sizeof process, "%d", (int)agent);
  if (proc < 0 || fstatat(proc, process, &st, 0) < 0 ||
      !ft_measure_capabilities(proc, process, &set))
    goto out;
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
    if (set & needs[i].any)
      continue;
    lacks = true;
    ft_doctor_add(doctor, "privileges", FT_FINDING_WARN,
                  "foretelld has no %s: it does not measure %s; add it to AmbientCapabilities= of "
                  "its unit",
                  needs[i].name, needs[i].lost);
  }
  lacks |= report_counters(doctor, proc, set);
  user = getpwuid(st.st_uid);
  if (!lacks)
    ft_doctor_add(doctor, "privileges", FT_FINDING_OK,
                  "foretelld runs as %s (uid %u) and has what its samplers need",
                  user ? user->pw_name : "a user without a name", (unsigned)st.st_uid);
out:
  if (proc >= 0)
    close(proc);
}
