/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell doctor: how Slurm names the cgroups of running jobs, found from slurmstepd processes
 * and their tasks.
 */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/doctor/doctor.h"
#include "predictor/core/buf.h"
#include "predictor/core/cgroup.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* processes examined on a node, at most */
enum { PIDS_LIMIT = 65536 };

/* State of the search. */
struct jobs {
  int proc; /* descriptor of /proc */
  struct ft_cgroup_mounts mounts;
  bool steps;         /* a slurmstepd has at least one task */
  char job[PATH_MAX]; /* cgroup of a job; "": none found */
};

/* Reads the file NAME of process PID into OUT. */
static bool read_process_file(const struct jobs *jobs, uint64_t pid, const char *name,
                              struct ft_buf *out)
{
  char path[64];

  ft_buf_init(out, FT_LIMIT_PROC);
  (void)snprintf(path, sizeof path, "%llu/%s", (unsigned long long)pid, name);
  return ft_io_read_file(jobs->proc, path, out, NULL) == 0;
}

static bool is_slurmstepd(const struct jobs *jobs, uint64_t pid)
{
  struct ft_buf text;
  bool is = read_process_file(jobs, pid, "comm", &text) &&
            ft_text_starts(ft_text_from(ft_buf_text(&text)), "slurmstepd");

  ft_buf_free(&text);
  return is;
}

/* Returns the parent of PID; 0 if unknown. */
static uint64_t parent_pid(const struct jobs *jobs, uint64_t pid)
{
  struct ft_text rest, line, word;
  struct ft_buf text;
  uint64_t parent = 0;

  if (read_process_file(jobs, pid, "status", &text)) {
    rest = ft_text_of(ft_buf_text(&text), text.length);
    while (!parent && ft_text_line(&rest, &line))
      if (ft_text_word(&line, &word) && ft_text_equals(word, "PPid:") && ft_text_word(&line, &word))
        (void)ft_text_u64(&word, INT32_MAX, &parent);
  }
  ft_buf_free(&text);
  return parent;
}

static bool cgroup_path_of(const struct jobs *jobs, uint64_t pid, char path[PATH_MAX])
{
  struct ft_buf text;
  bool found = read_process_file(jobs, pid, "cgroup", &text) &&
               ft_cgroup_parse_path(ft_text_of(ft_buf_text(&text), text.length), jobs->mounts.v1,
                                    path, PATH_MAX);

  ft_buf_free(&text);
  return found;
}

/* If PID is a task of a job, records its job's cgroup. */
static void inspect_process(struct jobs *jobs, uint64_t pid)
{
  char stepd[PATH_MAX], task[PATH_MAX];
  uint64_t parent = parent_pid(jobs, pid);

  if (!parent || !is_slurmstepd(jobs, parent) || is_slurmstepd(jobs, pid))
    return;
  jobs->steps = true;
  if (cgroup_path_of(jobs, parent, stepd) && cgroup_path_of(jobs, pid, task))
    (void)ft_cgroup_job_of(stepd, task, jobs->mounts.v1, jobs->job, sizeof jobs->job);
}

static bool find_mounts(struct jobs *jobs)
{
  struct ft_buf text;
  bool found;

  ft_buf_init(&text, FT_LIMIT_MOUNTS);
  found = ft_io_read_file(jobs->proc, "self/mountinfo", &text, NULL) == 0 &&
          ft_cgroup_parse_mounts(ft_text_of(ft_buf_text(&text), text.length), &jobs->mounts);
  ft_buf_free(&text);
  return found;
}

static void report_cgroups(struct ft_doctor *doctor, const struct jobs *jobs)
{
  static const char name[] = "job cgroups";
  const char *job = strrchr(jobs->job, '/');

  if (job && ft_text_starts(ft_text_from(job + 1), "job_"))
    ft_doctor_add(doctor, name, FT_FINDING_OK, "%s, named by the job's number", jobs->job);
  else if (job)
    ft_doctor_add(
        doctor, name, FT_FINDING_OK,
        "%s, named by Slurm's identifier (Slurm 26.05; CgroupJobIdPaths=yes in cgroup.conf "
        "restores job_ID)",
        jobs->job);
  else if (jobs->steps && doctor->site.rule == FT_RULE_CGROUP)
    ft_doctor_add(
        doctor, name, FT_FINDING_WARN,
        "a job on this node has no cgroup that accounts memory, although the memory rule is "
        "cgroup; see slurmd's log");
  else if (jobs->steps)
    ft_doctor_add(doctor, name, FT_FINDING_OK,
                  "none: Slurm creates no cgroups that account memory");
  else if (doctor->slurmd_here)
    ft_doctor_add(doctor, name, FT_FINDING_OK,
                  "no job on this node; run this again while a job is running");
}

void ft_doctor_cgroup(struct ft_doctor *doctor)
{
  struct jobs *jobs = calloc(1, sizeof *jobs);
  const struct dirent *entry;
  char path[PATH_MAX];
  int left = PIDS_LIMIT;
  DIR *proc;

  if (!jobs)
    return;
  proc = opendir(ft_doctor_path(doctor, "/proc", path));
  if (!proc)
    goto out;
  jobs->proc = dirfd(proc);
  if (find_mounts(jobs)) {
    while (!jobs->job[0] && left-- && (entry = readdir(proc))) {
      struct ft_text name = ft_text_from(entry->d_name);
      uint64_t pid;

      if (ft_text_u64(&name, INT32_MAX, &pid) && !ft_text_left(&name))
        inspect_process(jobs, pid);
    }
    report_cgroups(doctor, jobs);
  }
  closedir(proc);
out:
  free(jobs);
}
