/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the peak, limit and kills of a task's memory cgroup, v1 and v2. */
#include "config.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/cgroup.h"
#include "predictor/core/cgroup.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Reads a file of /proc or of a cgroup into OUT; empty if it cannot be read. */
static struct ft_text read_whole_file(const char *path, struct ft_buf *out)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);

  ft_buf_init(out, FT_LIMIT_MOUNTS);
  if (fd >= 0) {
    (void)ft_io_read_fd(fd, out, NULL);
    close(fd);
  }
  return ft_text_of(out->data, out->length);
}

static bool find_cgroup_mounts(const char *proc, struct ft_cgroup_mounts *mounts)
{
  struct ft_buf data;
  char path[64];
  bool found;

  (void)snprintf(path, sizeof path, "%s/self/mountinfo", proc);
  found = ft_cgroup_parse_mounts(read_whole_file(path, &data), mounts);
  ft_buf_free(&data);
  return found;
}

/* Finds the cgroup path of WHO, a process ID or "self". */
static bool find_cgroup_path(const char *proc, const char *who, bool v1, char *out, size_t size)
{
  struct ft_buf data;
  char path[64];
  bool found;

  (void)snprintf(path, sizeof path, "%s/%s/cgroup", proc, who);
  found = ft_cgroup_parse_path(read_whole_file(path, &data), v1, out, size);
  ft_buf_free(&data);
  return found;
}

bool ft_cgroup_find(const char *proc, pid_t pid, struct ft_cgroup *out)
{
  struct ft_cgroup_mounts mounts;
  char stepd[PATH_MAX], task[PATH_MAX], job[PATH_MAX], full[PATH_MAX] = "/", number[24];

  *out = (struct ft_cgroup){ 0 };
  (void)snprintf(number, sizeof number, "%ld", (long)pid);
  /* "self": a SPANK callback may run in a child of slurmstepd (contain_spank) */
  if (!find_cgroup_mounts(proc, &mounts) ||
      !find_cgroup_path(proc, "self", mounts.v1, stepd, sizeof stepd) ||
      !find_cgroup_path(proc, number, mounts.v1, task, sizeof task) ||
      !ft_cgroup_job_of(stepd, task, mounts.v1, job, sizeof job) ||
      !ft_cgroup_directory_of(&mounts, job, full + 1, sizeof full - 1))
    return false;
  out->job_length = strlen(full);
  if (!ft_cgroup_directory_of(&mounts, task, full + 1, sizeof full - 1))
    return false;
  out->unified = !mounts.v1;
  out->path = strdup(full);
  return out->path;
}

void ft_cgroup_free(struct ft_cgroup *cgroup)
{
  if (!cgroup)
    return;
  free(cgroup->path);
  cgroup->path = NULL;
}

/* Reads the number after KEY (NULL: the first number) from the file NAME of FOLDER. */
static bool read_cgroup_number(const char *folder, const char *name, const char *key, uint64_t *out)
{
  struct ft_text text, line, word;
  char path[PATH_MAX + 64];
  struct ft_buf data;
  bool found = false;

  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  text = read_whole_file(path, &data);
  while (!found && ft_text_line(&text, &line)) {
    if (key && !(ft_text_word(&line, &word) && ft_text_equals(word, key)))
      continue;
    found = ft_text_word(&line, &word) && ft_text_u64(&word, UINT64_MAX, out);
  }
  ft_buf_free(&data);
  return found;
}

/*
 * Reads how many allocations the limit of FOLDER refused in cgroup v1 (SWAP: the limit of memory
 * plus swap). The kernel's count includes refusals that reclaim resolved, and for swap it can stay
 * 0. A refusal that led to a kill leaves the peak within one allocation of the limit; the kernel
 * kills for allocations of up to 8 pages (PAGE_ALLOC_COSTLY_ORDER). Returns false without the
 * files.
 */
static bool read_refusals(const char *folder, bool swap, uint64_t *out)
{
  uint64_t limit, bytes, page = (uint64_t)sysconf(_SC_PAGESIZE);

  if (!read_cgroup_number(folder, swap ? "memory.memsw.failcnt" : "memory.failcnt", NULL, out) ||
      !read_cgroup_number(folder,
                          swap ? "memory.memsw.max_usage_in_bytes" : "memory.max_usage_in_bytes",
                          NULL, &bytes) ||
      !read_cgroup_number(folder, swap ? "memory.memsw.limit_in_bytes" : "memory.limit_in_bytes",
                          NULL, &limit))
    return false;
  if (bytes + 8 * page < limit)
    *out = 0;
  else if (swap && !*out)
    *out = 1;
  return true;
}

/* Returns how many allocations failed at a limit of FOLDER; 0 if unknown. If the limits of memory
 * and of memory plus swap are equal, v1 counts failures only at the latter. Before Linux 5.2, v2
 * includes failures in descendants. */
static uint64_t read_limit_hits(const char *folder, bool unified, ft_task_end *out)
{
  uint64_t memory = 0, swap = 0;

  if (unified)
    out->has_limit_hits |= read_cgroup_number(folder, "memory.events.local", "oom", &memory) ||
                           read_cgroup_number(folder, "memory.events", "oom", &memory);
  else {
    out->has_limit_hits |= read_refusals(folder, false, &memory);
    out->has_limit_hits |= read_refusals(folder, true, &swap);
  }
  return memory + swap;
}

/* Records in OUT the smallest limit; if any limit was hit, the smallest that was hit. */
static void record_limit(const char *folder, bool unified, ft_task_end *out)
{
  /* bytes; without a limit v1 has the largest multiple of a page, v2 "max" */
  const uint64_t unlimited = UINT64_C(1) << 60;
  uint64_t hits = read_limit_hits(folder, unified, out), value;

  if (read_cgroup_number(folder, unified ? "memory.max" : "memory.limit_in_bytes", NULL, &value) &&
      value < unlimited &&
      (!out->has_cgroup_limit_bytes || (hits && !out->limit_hits) ||
       ((hits || !out->limit_hits) && value < out->cgroup_limit_bytes))) {
    out->has_cgroup_limit_bytes = true;
    out->cgroup_limit_bytes = value;
  }
  out->limit_hits += hits;
}

/* Adds the OOM kills that FOLDER counts to OUT. v1 counts a kill only in the process's own cgroup,
 * v2 also in its ancestors. In v2 the job's own directory (IS_JOB) includes kills of other steps,
 * which their own announcements report. */
static void record_kills(const char *folder, bool unified, bool is_job, ft_task_end *out)
{
  uint64_t value;

  if (!read_cgroup_number(folder, unified ? "memory.events" : "memory.oom_control", "oom_kill",
                          &value))
    return;
  if (!unified)
    out->oom_kills += value;
  else if (value > out->oom_kills && !(is_job && out->has_oom_kills))
    out->oom_kills = value;
  out->has_oom_kills = true;
}

/*
 * Sets OUT's nested_limit_hits from FOLDER, a cgroup of v2 below the job's: failures that the kernel
 * counts there but neither at FOLDER's own limit nor at those of the cgroups between FOLDER and the
 * task, whose sum is OWN. Adds FOLDER's own to OWN. Since Linux 5.2.
 */
static void record_nested_hits(const char *folder, uint64_t *own, ft_task_end *out)
{
  uint64_t local, all;

  if (!read_cgroup_number(folder, "memory.events.local", "oom", &local) ||
      !read_cgroup_number(folder, "memory.events", "oom", &all))
    return;
  *own += local;
  out->has_nested_limit_hits = true;
  out->nested_limit_hits = all > *own ? all - *own : 0;
}

void ft_cgroup_read(const struct ft_cgroup *cgroup, ft_task_end *out)
{
  const char *peak = cgroup->unified ? "memory.peak" : "memory.max_usage_in_bytes";
  char folder[PATH_MAX];
  uint64_t value, own_hits = 0;

  if (!cgroup->path)
    return;
  (void)ft_string_copy(cgroup->path, folder, sizeof folder);
  for (size_t length = strlen(folder); length >= cgroup->job_length;) {
    folder[length] = '\0';
    if (read_cgroup_number(folder, peak, NULL, &value) &&
        (!out->has_charge_bytes || value > out->charge_bytes)) {
      out->has_charge_bytes = true;
      out->charge_bytes = value;
    }
    record_limit(folder, cgroup->unified, out);
    record_kills(folder, cgroup->unified, length == cgroup->job_length, out);
    if (cgroup->unified && length > cgroup->job_length)
      record_nested_hits(folder, &own_hits, out);
    while (length && folder[--length] != '/')
      ;
  }
}
