/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of a job that a program describes through foretell.h. */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/api/job_request.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/request/array.h"
#include "predictor/request/batch_script.h"

enum job_option_type { JOB_TEXT, JOB_ARRAY, JOB_COUNT, JOB_MODE, JOB_BYTES, JOB_SECONDS };

struct job_option {
  const char *name;
  char letter; /* 0: none */
  enum job_option_type type;
  size_t at, size; /* of the member of struct ft_job_request */
};

#define MEMBER(member)                                                                             \
  offsetof(struct ft_job_request, member), sizeof((struct ft_job_request *)NULL)->member

static const struct job_option job_options[] = {
  { "app", 0, JOB_TEXT, MEMBER(app) },
  { "params", 0, JOB_TEXT, MEMBER(params) },
  { "user", 0, JOB_TEXT, MEMBER(user) },
  { "predict-mem", 0, JOB_MODE, MEMBER(mode) },
  { "mem", 0, JOB_BYTES, MEMBER(request.mem_bytes) },
  { "mem-per-cpu", 0, JOB_BYTES, MEMBER(request.mem_bytes) },
  { "mem-per-gpu", 0, JOB_BYTES, MEMBER(request.mem_bytes) },
  { "partition", 'p', JOB_TEXT, MEMBER(request.partition) },
  { "account", 'A', JOB_TEXT, MEMBER(request.account) },
  { "qos", 'q', JOB_TEXT, MEMBER(request.qos) },
  { "constraint", 'C', JOB_TEXT, MEMBER(request.constraint) },
  { "container", 0, JOB_TEXT, MEMBER(request.container) },
  { "nodes", 'N', JOB_COUNT, MEMBER(request.nodes) },
  { "ntasks", 'n', JOB_COUNT, MEMBER(request.tasks) },
  { "ntasks-per-node", 0, JOB_COUNT, MEMBER(request.tasks_per_node) },
  { "cpus-per-task", 'c', JOB_COUNT, MEMBER(request.cpus_per_task) },
  { "time", 't', JOB_SECONDS, MEMBER(request.time_limit_seconds) },
  { "array", 'a', JOB_ARRAY, MEMBER(array) },
  { "job-name", 'J', JOB_TEXT, MEMBER(job_name) },
  { "chdir", 'D', JOB_TEXT, MEMBER(directory) },
  { "export", 0, JOB_TEXT, MEMBER(exported) }
};

ft_job_request *ft_job_request_new(uint32_t uid, struct ft_error *err)
{
  ft_job_request *job = calloc(1, sizeof *job);

  if (!job) {
    ft_error_errno(err, "ft_job_request_new");
    return NULL;
  }
  job->uid = uid;
  job->request.command = FT_COMMAND_SBATCH;
  ft_buf_init(&job->script, FT_LIMIT_SCRIPT);
  (void)snprintf(job->user, sizeof job->user, "%u", (unsigned)uid);
  return job;
}

static void free_script(ft_job_request *job)
{
  for (size_t i = 0; i < job->argument_count; i++)
    free(job->arguments[i]);
  free(job->arguments);
  free(job->script_name);
  job->arguments = NULL;
  job->script_name = NULL;
  job->argument_count = 0;
  ft_buf_free(&job->script);
  ft_buf_init(&job->script, FT_LIMIT_SCRIPT);
}

void ft_job_request_free(ft_job_request *job)
{
  if (job)
    free_script(job);
  free(job);
}

/* Sets the requested memory by OPTION: "mem", "mem-per-cpu" or "mem-per-gpu". */
static int set_job_memory(ft_job_request *job, const char *option, const char *value,
                          struct ft_error *err)
{
  ft_request *r = &job->request;

  if (!ft_units_parse_bytes(ft_text_from(value), FT_MIB, &r->mem_bytes))
    return ft_error_set(err, "%s: expected a memory size such as 4000M, not \"%.64s\"", option,
                        value);
  r->mem_unit = strcmp(option, "mem-per-cpu") == 0   ? FT_MEM_CPU
                : strcmp(option, "mem-per-gpu") == 0 ? FT_MEM_GPU
                : r->mem_bytes                       ? FT_MEM_NODE
                                                     : FT_MEM_ALL;
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
  case JOB_ARRAY:
    job->request.array_tasks = ft_array_count(value);
    if (!job->request.array_tasks)
      return ft_error_set(err, "%s: expected a list such as 0-9:2,20%%4, not \"%.64s\"", option,
                          value);
    return ft_string_copy(value, member, o->size)
               ? 0
               : ft_error_set(err, "%s: longer than %zu bytes", option, o->size - 1);
  case JOB_MODE:
    job->plain = !value[0];
    if (value[0] && ft_mode_from_name(value) <= FT_MODE_UNSET)
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
    return set_job_memory(job, option, value, err);
  case JOB_SECONDS:
    break;
  }
  return ft_units_parse_seconds(text, (double *)(void *)member)
             ? 0
             : ft_error_set(err, "%s: expected minutes, h:min:s or d-h:min:s, not \"%.64s\"",
                            option, value);
}

/* ---- the script ---- */

/* Returns the option that WORD, "--name", "--name=value" or "-Nvalue", names; NULL: none. Sets
 * VALUE to the value in WORD; NULL: the next word has it. */
static const struct job_option *find_directive(const char *word, const char **value)
{
  const char *name = word + 2;
  size_t length;

  if (strncmp(name, "predict-app", 11) == 0 || strncmp(name, "predict-params", 14) == 0)
    name += strlen("predict-");
  length = strcspn(name, "=");
  for (size_t i = 0; word[0] == '-' && i < sizeof job_options / sizeof *job_options; i++) {
    const struct job_option *o = &job_options[i];

    if (word[1] == '-' && strlen(o->name) == length && strncmp(name, o->name, length) == 0) {
      *value = name[length] ? name + length + 1 : NULL;
      return o;
    }
    if (word[1] == o->letter && o->letter) {
      *value = word[2] ? word + 2 : NULL;
      return o;
    }
  }
  return NULL;
}

/* Sets option O of a #SBATCH line to VALUE. Of --nodes=2-4 the smaller number counts. */
static int set_directive(ft_job_request *job, const struct job_option *o, const char *value,
                         struct ft_error *err)
{
  char low[16];
  size_t digits = strspn(value, "0123456789");

  if (o->at != offsetof(struct ft_job_request, request.nodes) || value[digits] != '-' ||
      digits >= sizeof low)
    return ft_job_request_set(job, o->name, value, err);
  (void)snprintf(low, sizeof low, "%.*s", (int)digits, value);
  return ft_job_request_set(job, o->name, low, err);
}

/* Sets what the #SBATCH lines of JOB's script request; options without effect here are skipped. */
static int set_directives(ft_job_request *job, struct ft_error *err)
{
  char *words = malloc(job->script.length + 1), *word = words;
  size_t count = words ? ft_batch_script_directives(ft_buf_text(&job->script), words) : 0;
  int status = words ? 0 : ft_error_errno(err, "%s", job->script_name);
  struct ft_error why;

  for (size_t i = 0; status == 0 && i < count; i++, word += strlen(word) + 1) {
    const char *value = NULL;
    const struct job_option *o = find_directive(word, &value);

    if (o && !value && o->type == JOB_MODE) {
      value = "set"; /* the mode is optional */
    } else if (o && !value && i + 1 < count) {
      word += strlen(word) + 1;
      value = word;
      i++;
    }
    if (o && value && set_directive(job, o, value, &why) < 0)
      status = ft_error_set(err, "%s: %s", job->script_name, why.text);
  }
  free(words);
  return status;
}

static int copy_arguments(ft_job_request *job, const char *const *arguments, size_t count,
                          struct ft_error *err)
{
  job->arguments = calloc(count + 1, sizeof *job->arguments);
  for (size_t i = 0; job->arguments && i < count; i++) {
    job->arguments[i] = strdup(arguments[i]);
    if (!job->arguments[i])
      return ft_error_errno(err, "%s", job->script_name);
    job->argument_count++;
  }
  return job->arguments ? 0 : ft_error_errno(err, "%s", job->script_name);
}

int ft_job_request_set_script(ft_job_request *job, const char *path, const char *const *arguments,
                              size_t count, struct ft_error *err)
{
  free_script(job);
  job->script_name = strdup(path);
  if (!job->script_name)
    return ft_error_errno(err, "%s", path);
  if (ft_batch_script_read(path, &job->script, err) == 0 &&
      copy_arguments(job, arguments, count, err) == 0 && set_directives(job, err) == 0)
    return 0;
  free_script(job);
  return -1;
}
