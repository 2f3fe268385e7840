/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "agent/job.h"
#include "daemon/log.h"
#include "predictor/core/hash.h"
#include "predictor/core/text.h"

struct job *ft_job_new(uint32_t id, uint32_t restart_count)
{
  struct job *job = calloc(1, sizeof *job);

  if (job)
    job->o = calloc(1, sizeof *job->o);
  if (!job || !job->o) {
    free(job);
    return NULL;
  }
  job->id = job->o->job_id = id;
  ft_job_set_restart(job, restart_count);
  return job;
}

void ft_job_free_observation(struct job *job)
{
  free(job->o);
  free(job->earlier);
  free(job->array);
  job->o = job->earlier = NULL;
  job->array = NULL;
}

void ft_job_free(struct job *job)
{
  if (!job)
    return;
  ft_job_free_steps(job);
  ft_job_free_observation(job);
  free(job);
}

void ft_job_set_restart(struct job *job, uint32_t restart_count)
{
  job->restart_count = job->o->restart_count = restart_count;
}

static void set_once(const char *from, char *to, size_t size)
{
  if (!to[0])
    (void)ft_string_copy(from, to, size);
}

void ft_job_apply_submission(struct job *job, const void *data, size_t length)
{
  ft_observation *o = job->o;
  ft_submission s;
  ft_job_array *array;
  struct ft_error err;

  /* the schema of a decoded record is never 0 */
  if (!length || o->submission.schema)
    return;
  array = malloc(sizeof *array);
  if (!array)
    return;
  if (ft_submission_decode(data, length, &s, array, &err) < 0) {
    if (!job->warned)
      ft_log(LOG_WARNING, "job %" PRIu32 ": invalid submission record, ignored: %s", job->id,
             err.text);
    job->warned = true;
    free(array);
    return;
  }
  o->submission = s;
  (void)ft_string_copy(s.request.container, o->container, sizeof o->container);
  o->threads_per_core = s.request.threads_per_core;
  if (array->values_count || array->predictions.index_count)
    job->array = array;
  else
    free(array);
}

void ft_job_resolve_array_task(const ft_job_array *array, ft_observation *o)
{
  ft_submission *s = &o->submission;
  const uint32_t *index = o->array_job_id ? &o->array_task_id : NULL;

  ft_features_of_task(s->features, &s->features_count, sizeof s->features / sizeof *s->features,
                      array, index);
  if (array && index)
    ft_prediction_of_task(&array->predictions, *index, &s->decision);
}

void ft_job_apply_announcement(struct job *job, const ft_announcement *a)
{
  ft_observation *o = job->o;

  o->uid = a->uid;
  if (a->array_job_id) {
    o->array_job_id = a->array_job_id;
    o->array_task_id = a->array_task_id;
  }
  if (a->cpus)
    o->cpus = a->cpus;
  if (a->alloc_mem_bytes) {
    o->has_limit_bytes = true;
    o->limit_bytes = a->alloc_mem_bytes;
  }
  set_once(a->node, o->node, sizeof o->node);
  set_once(a->partition, o->partition, sizeof o->partition);
  set_once(a->account, o->account, sizeof o->account);
}

struct step *ft_job_find_step(struct job *job, uint32_t id)
{
  for (struct step *step = job->steps; step; step = step->next)
    if (step->id == id)
      return step;
  return NULL;
}

void ft_job_end_step(struct job *job, uint32_t id, struct ft_instant now)
{
  for (struct step **at = &job->steps; *at; at = &(*at)->next)
    if ((*at)->id == id) {
      struct step *step = *at;

      *at = step->next;
      free(step);
      job->step_count--;
      break;
    }
  if (!job->steps)
    job->idle_since = now.monotonic;
}

struct step *ft_job_begin_step(struct job *job, uint32_t id)
{
  struct step *step = ft_job_find_step(job, id);

  if (step || job->step_count >= FT_JOBS_STEP_LIMIT)
    return step;
  step = calloc(1, sizeof *step);
  if (!step)
    return NULL;
  step->id = id;
  step->next = job->steps;
  job->steps = step;
  job->step_count++;
  return step;
}

void ft_job_free_steps(struct job *job)
{
  while (job->steps) {
    struct step *step = job->steps;

    job->steps = step->next;
    free(step);
  }
  job->step_count = 0;
}

static void max_u64(bool *has, uint64_t *value, bool other_has, uint64_t other)
{
  if (other_has && (!*has || other > *value))
    *value = other;
  *has = *has || other_has;
}

static void max_double(bool *has, double *value, bool other_has, double other)
{
  if (other_has && (!*has || other > *value))
    *value = other;
  *has = *has || other_has;
}

/* Merges the measurements of E into O. Totals of the kernel continue across agents, so the maximum
 * of both is a lower bound, as it is for peaks. */
static void merge_measurements(const ft_observation *e, ft_observation *o)
{
#define MAX(field) max_u64(&o->has_##field, &o->field, e->has_##field, e->field)
  MAX(rss_bytes);
  MAX(pss_bytes);
  MAX(charge_bytes);
  MAX(charge_less_cache_bytes);
  MAX(swap_bytes);
  MAX(hugetlb_bytes);
  MAX(shmem_bytes);
  MAX(largest_process_bytes);
  MAX(read_bytes);
  MAX(write_bytes);
  MAX(minor_faults);
  MAX(major_faults);
  MAX(gpu_memory_bytes);
  MAX(gpu_transfer_bytes);
#undef MAX
  max_double(&o->has_cpu_seconds, &o->cpu_seconds, e->has_cpu_seconds, e->cpu_seconds);
  max_double(&o->has_system_seconds, &o->system_seconds, e->has_system_seconds, e->system_seconds);
  o->has_command_ran = o->has_command_ran || e->has_command_ran;
  o->command_ran = o->command_ran || e->command_ran;
  o->samples += e->samples;
}

void ft_job_add_earlier(const struct job *job, ft_observation *o)
{
  if (job->earlier)
    merge_measurements(job->earlier, o);
}

void ft_job_infer_outcome(struct job *job)
{
  ft_observation *o = job->o;
  struct ft_exit_evidence ending = { .has_status = job->has_status,
                                     .status = job->status,
                                     .batch = job->batch_over,
                                     .has_oom_kills = job->has_oom_kills,
                                     .oom_kills = job->oom_kills,
                                     .peak_bytes = ft_observation_peak(o, o->rule),
                                     .limit_bytes = o->limit_bytes,
                                     .rule = o->rule };
  struct ft_run_outcome outcome = ft_outcome_from_node(&ending);

  o->outcome = outcome.outcome;
  o->censored = outcome.outcome != FT_OUTCOME_COMPLETED;
  /* only Slurm's record has the time of suspension */
  o->unsettled = !outcome.final || job->stopped;
  if (job->has_status && WIFEXITED(job->status))
    o->exit_code = WEXITSTATUS(job->status);
  if (job->has_status && WIFSIGNALED(job->status))
    o->signal = WTERMSIG(job->status);
}

/* Returns the worse of two wait statuses: a signal before a nonzero exit status before 0. */
static int worse_status(int a, int b)
{
  if (ft_outcome_signal(a) || ft_outcome_signal(b))
    return ft_outcome_signal(a) ? a : b;
  return a ? a : b;
}

void ft_job_apply_status(struct job *job, uint32_t step_id, int status)
{
  if (step_id == FT_STEP_BATCH) {
    job->batch_over = true;
    job->status = status;
  } else if (!job->batch_over) {
    job->status = job->has_status ? worse_status(job->status, status) : status;
  }
  job->has_status = true;
}

/* ---- counters ---- */

/* Of LATER_RUNS runs of an app that has enough counted ones, one is counted; by judgement. */
enum { LATER_RUNS = 50 };

/* Returns the index of O's app in `counted`. */
static size_t slot_of(const struct ft_counter_choice *choice, const ft_observation *o)
{
  const char *app = o->submission.app;
  uint64_t hash = ft_hash64(FT_HASH_SEED, &o->uid, sizeof o->uid);

  return ft_hash64(hash, app, strlen(app)) % (sizeof choice->counted / sizeof *choice->counted);
}

bool ft_counter_choice_wants(const struct ft_counter_choice *choice, const ft_observation *o)
{
  if (choice->mode != FT_COUNTERS_NEW)
    return choice->mode == FT_COUNTERS_ALWAYS;
  /* nothing is learnt of a job without an app */
  if (!o->submission.app[0])
    return false;
  return (o->submission.app_runs < choice->runs &&
          choice->counted[slot_of(choice, o)] < choice->runs) ||
         ft_hash64(FT_HASH_SEED, &o->job_id, sizeof o->job_id) % LATER_RUNS == 0;
}

void ft_counter_choice_add(struct ft_counter_choice *choice, const ft_observation *o)
{
  uint16_t *counted = &choice->counted[slot_of(choice, o)];

  *counted += o->counters_count > 0 && *counted < UINT16_MAX;
}
