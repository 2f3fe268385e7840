/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files of /proc and cgroups: the first byte chooses the file. Results must be sound: paths within
 * their arrays and below the root, numbers finite.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "agent/measure/cgroup.h"
#include "agent/measure/internal.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = FT_LIMIT_PROC + 2;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_stat(struct ft_text text)
{
  struct ft_stat stat;

  if (ft_stat_parse(text.at, ft_text_left(&text), 0.01, &stat) < 0)
    return;
  fuzz_must(memchr(stat.command, '\0', sizeof stat.command) != NULL);
  for (int i = 0; i < FT_TOTALS; i++)
    fuzz_must(isfinite(stat.own[i]) && isfinite(stat.children[i]));
}

static void try_numbers(const char *text)
{
  static const char *const keys[] = { "VmHWM:", "VmSwap:", "Pss:", "total_active_file",
                                      "read_bytes:" };
  double value = 0;

  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (ft_proc_value(text, keys[i], &value))
      fuzz_must(value >= 0 && isfinite(value));
  if (ft_proc_number(text, &value))
    fuzz_must(value >= -1 && isfinite(value));
}

static void try_cgroup(struct ft_text text, bool v1)
{
  static const char stepd[] = "/slurm/uid_1000/job_57/step_0/slurm";
  char path[PATH_MAX], job[PATH_MAX];

  if (!ft_cgroup_parse_path(text, v1, path, sizeof path))
    return;
  fuzz_must(path[0] == '/' && strlen(path) < sizeof path && !strstr(path, "/.."));
  if (ft_cgroup_job_of(path, stepd, v1, job, sizeof job) ||
      ft_cgroup_job_of(stepd, path, v1, job, sizeof job))
    fuzz_must(job[0] == '/' && job[1] && strncmp(stepd, job, strlen(job)) == 0 &&
              strncmp(path, job, strlen(job)) == 0);
}

static void try_mounts(struct ft_text text)
{
  struct ft_cgroup_mounts mounts;
  char folder[PATH_MAX];

  if (!ft_cgroup_parse_mounts(text, &mounts))
    return;
  fuzz_must(strlen(mounts.point) < sizeof mounts.point && strlen(mounts.root) < sizeof mounts.root);
  if (ft_cgroup_directory_of(&mounts, "/slurm/uid_1000/job_57", folder, sizeof folder))
    fuzz_must(strlen(folder) < sizeof folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct ft_text text;
  char *copy;

  if (!size)
    return 0;
  copy = malloc(size);
  fuzz_must(copy != NULL);
  memcpy(copy, data + 1, size - 1);
  copy[size - 1] = '\0';
  text = ft_text_of(copy, size - 1);
  switch (data[0] % 5) {
  case 0:
    try_stat(text);
    break;
  case 1:
    try_numbers(copy);
    break;
  case 2:
    try_cgroup(text, true);
    break;
  case 3:
    try_cgroup(text, false);
    break;
  default:
    try_mounts(text);
  }
  free(copy);
  return 0;
}
