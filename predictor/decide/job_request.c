/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of a job that a program describes through foretell.h. */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/decide/job_request.h"

enum job_option_type { JOB_TEXT, JOB_COUNT, JOB_MODE, JOB_BYTES, JOB_SECONDS };

struct job_option {
  const char *name;
  enum job_option_type type;
  size_t at, size; /* of the member of struct ft_job_request */
};

#define MEMBER(member)                                                                             \
  offsetof(struct ft_job_request, member), sizeof((struct ft_job_request *)NULL)->member

static const struct job_option job_options[] = {
  { "app", JOB_TEXT, MEMBER(app) },
  { "params", JOB_TEXT, MEMBER(params) },
  { "user", JOB_TEXT, MEMBER(user) },
  { "predict-mem", JOB_MODE, MEMBER(mode) },
  { "mem", JOB_BYTES, MEMBER(request.mem_bytes) },
  { "partition", JOB_TEXT, MEMBER(request.partition) },
  { "account", JOB_TEXT, MEMBER(request.account) },
  { "qos", JOB_TEXT, MEMBER(request.qos) },
  { "constraint", JOB_TEXT, MEMBER(request.constraint) },
  { "nodes", JOB_COUNT, MEMBER(request.nodes) },
  { "ntasks", JOB_COUNT, MEMBER(request.tasks) },
  { "ntasks-per-node", JOB_COUNT, MEMBER(request.tasks_per_node) },
  { "cpus-per-task", JOB_COUNT, MEMBER(request.cpus_per_task) },
  { "time", JOB_SECONDS, MEMBER(request.time_limit_seconds) }
};

ft_job_request *ft_job_request_new(uint32_t uid, struct ft_error *err)
{
  ft_job_request *job = calloc(1, sizeof *job);

  if (!job) {
    ft_error_errno(err, "ft_job_request_new");
    return NULL;
  }
  job->uid = uid;
  (void)snprintf(job->user, sizeof job->user, "%u", (unsigned)uid);
  return job;
}

void ft_job_request_free(ft_job_request *job)
{
  free(job);
}

static int set_job_memory(ft_job_request *job, const char *value, struct ft_error *err)
{
  if (!ft_units_parse_bytes(ft_text_from(value), FT_MIB, &job->request.mem_bytes))
    return ft_error_set(err, "mem: expected a memory size such as 4000M, not \"%.64s\"", value);
  job->request.mem_unit = job->request.mem_bytes ? FT_MEM_NODE : FT_MEM_ALL;
  return 0;
}

int ft_job_request_set(ft_job_request *job, const char *option, const char *value,
                       struct ft_error *err)
{
  size_t i = FT_TABLE_FIND(job_options, option);
  struct ft_text text = ft_text_from(value);
  const struct job_option *o;
  char *member;
  uint64_t count;

  if (i == sizeof job_options / sizeof *job_options)
    return ft_error_set(err, "%.64s: no such option of a job", option);
  o = &job_options[i];
  member = (char *)job + o->at;
  switch (o->type) {
  case JOB_MODE:
    if (ft_mode_from_name(value) <= FT_MODE_UNSET)
      return ft_error_set(err, "%s: expected check, set, raise, trim, off or force, not \"%.64s\"",
                          option, value);
    /* fall through */
  case JOB_TEXT:
    return ft_string_copy(value, member, o->size)
               ? 0
               : ft_error_set(err, "%s: longer than %zu bytes", option, o->size - 1);
  case JOB_COUNT:
    if (!ft_text_u64(&text, UINT32_MAX, &count) || ft_text_left(&text))
      return ft_error_set(err, "%s: expected a number, not \"%.64s\"", option, value);
    *(uint32_t *)(void *)member = (uint32_t)count;
    return 0;
  case JOB_BYTES:
    return set_job_memory(job, value, err);
  case JOB_SECONDS:
    break;
  }
  return ft_units_parse_seconds(text, (double *)(void *)member)
             ? 0
             : ft_error_set(err, "%s: expected minutes, h:min:s or d-h:min:s, not \"%.64s\"",
                            option, value);
}
