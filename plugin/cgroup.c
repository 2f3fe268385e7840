/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/cgroup.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* A file of /proc or of a cgroup, whole; empty where it cannot be read. */
static struct ft_text slurp(const char *path, struct ft_buf *out)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);

  ft_buf_init(out, FT_LIMIT_RECORD);
  if (fd >= 0) {
    (void)ft_io_read_fd(fd, out, NULL);
    close(fd);
  }
  return ft_text_of(out->data, out->length);
}

/*
 * Where the memory controller is mounted (proc(5), mountinfo): v1's folder with
 * the option "memory", or else v2's. ROOT is the part of the hierarchy mounted there.
 */
static bool find_mount(const char *proc, bool unified, char *point, char *root, size_t size)
{
  struct ft_text text, line;
  struct ft_buf data;
  char path[64];
  bool found = false;

  (void)snprintf(path, sizeof path, "%s/self/mountinfo", proc);
  text = slurp(path, &data);
  while (!found && ft_text_line(&text, &line)) {
    struct ft_text word, from = { 0 }, where = { 0 }, type = { 0 }, options = { 0 };
    int n = 0, after = -1;

    while (ft_text_word(&line, &word)) {
      n++;
      if (n == 4)
        from = word;
      else if (n == 5)
        where = word;
      else if (after < 0 && n > 6 && ft_text_equals(word, "-"))
        after = n;
      else if (after > 0 && n == after + 1)
        type = word;
      else if (after > 0 && n == after + 3)
        options = word;
    }
    if (unified ? ft_text_equals(type, "cgroup2")
                : ft_text_equals(type, "cgroup") && ft_text_lists(options, "memory"))
      found = ft_text_copy(where, point, size) && ft_text_copy(from, root, size);
  }
  ft_buf_free(&data);
  return found;
}

/* The path of PID in the hierarchy of the memory controller; v1's where it has one. */
static bool find_path(const char *proc, pid_t pid, bool *unified, char *out, size_t size)
{
  struct ft_text text, line;
  struct ft_buf data;
  char path[64];
  bool found = false;

  (void)snprintf(path, sizeof path, "%s/%ld/cgroup", proc, (long)pid);
  text = slurp(path, &data);
  while (ft_text_line(&text, &line)) {
    struct ft_text number, controllers = { 0 };
    bool v1;

    if (!ft_text_until(&line, ':', &number) || !ft_text_until(&line, ':', &controllers))
      continue;
    v1 = ft_text_lists(controllers, "memory");
    if (!v1 && !(ft_text_equals(number, "0") && controllers.at == controllers.end))
      continue;
    *unified = !v1;
    found = ft_text_copy(line, out, size);
    if (v1)
      break;
  }
  ft_buf_free(&data);
  return found;
}

bool ft_cgroup_find(const char *proc, pid_t pid, uint32_t job_id, struct ft_cgroup *out)
{
  enum { PART = PATH_MAX / 4 };
  char point[PART], root[PART], path[2 * PART], full[PATH_MAX], folder[32];
  const char *below = path, *job;
  size_t length;

  *out = (struct ft_cgroup){ 0 };
  if (!find_path(proc, pid, &out->unified, path, sizeof path) ||
      !find_mount(proc, out->unified, point, root, PART))
    return false;
  length = strlen(root);
  if (length > 1 && strncmp(path, root, length) == 0)
    below = path + length;
  (void)snprintf(full, sizeof full, "%s%s", point, below);
  length = (size_t)snprintf(folder, sizeof folder, "/job_%" PRIu32, job_id);
  job = strstr(full, folder);
  if (!job || (job[length] != '/' && job[length] != '\0'))
    return false;
  out->job_length = (size_t)(job - full) + length;
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

/* The number after KEY, or the first one where KEY is NULL, in a file of FOLDER. */
static bool read_number(const char *folder, const char *name, const char *key, uint64_t *out)
{
  struct ft_text text, line, word;
  char path[PATH_MAX + 64];
  struct ft_buf data;
  bool found = false;

  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  text = slurp(path, &data);
  while (!found && ft_text_line(&text, &line)) {
    if (key && !(ft_text_word(&line, &word) && ft_text_equals(word, key)))
      continue;
    found = ft_text_word(&line, &word) && ft_text_u64(&word, UINT64_MAX, out);
  }
  ft_buf_free(&data);
  return found;
}

void ft_cgroup_read(const struct ft_cgroup *cgroup, ft_task_end *out)
{
  /* v1 says "no limit" as the largest multiple of a page, v2 as "max" */
  const uint64_t unlimited = UINT64_C(1) << 60;
  const char *peak = cgroup->unified ? "memory.peak" : "memory.max_usage_in_bytes";
  const char *most = cgroup->unified ? "memory.max" : "memory.limit_in_bytes";
  const char *events = cgroup->unified ? "memory.events" : "memory.oom_control";
  char folder[PATH_MAX];
  uint64_t value;

  if (!cgroup->path)
    return;
  (void)ft_string_copy(cgroup->path, folder, sizeof folder);
  for (size_t length = strlen(folder); length >= cgroup->job_length;) {
    folder[length] = '\0';
    if (read_number(folder, peak, NULL, &value) &&
        (!out->has_charge_bytes || value > out->charge_bytes)) {
      out->has_charge_bytes = true;
      out->charge_bytes = value;
    }
    if (read_number(folder, most, NULL, &value) && value < unlimited &&
        (!out->has_cgroup_limit_bytes || value < out->cgroup_limit_bytes)) {
      out->has_cgroup_limit_bytes = true;
      out->cgroup_limit_bytes = value;
    }
    /* v1 counts a kill where the process was, v2 on the way up as well */
    if (read_number(folder, events, "oom_kill", &value)) {
      out->has_oom_kills = true;
      out->oom_kills = cgroup->unified ? value : out->oom_kills + value;
    }
    while (length && folder[--length] != '/')
      ;
  }
}
