/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of a run: its observation is delivered. The learner completes it by Slurm's record. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/jobs_internal.h"
#include "daemon/log.h"

/* Time for which a job is kept after its end, for late announcements. */
#define KEEP_SECONDS 60.0

void ft_jobs_close_tree(struct ft_jobs *jobs, struct job *job)
{
  if (!job->tree)
    return;
  job->stopped = job->stopped || ft_tree_was_stopped(job->tree);
  ft_tree_close(job->tree, job->o);
  if (job->o)
    ft_counter_choice_add(&jobs->counters, job->o);
  job->tree = NULL;
  jobs->trees--;
}

void ft_jobs_drop(struct ft_jobs *jobs, struct job *job)
{
  struct job **at = &jobs->list;

  while (*at != job)
    at = &(*at)->next;
  *at = job->next;
  jobs->count--;
  ft_jobs_close_tree(jobs, job);
  ft_job_free(job);
}

struct job *ft_jobs_find(struct ft_jobs *jobs, uint32_t job_id)
{
  struct job *job = jobs->list;

  while (job && job->id != job_id)
    job = job->next;
  return job;
}

void ft_jobs_remove_journal(struct ft_jobs *jobs, const struct job *job)
{
  if (ft_jobs_find(jobs, job->id) == job)
    jobs->settings.remove_journal(job->id, jobs->settings.data);
}

static bool is_declared_app(const struct ft_jobs *jobs, const char *app)
{
  for (size_t i = 0; i < jobs->app_count; i++)
    if (strcmp(jobs->apps[i].name, app) == 0)
      return true;
  return false;
}

void ft_jobs_finish(struct ft_jobs *jobs, struct job *job, struct ft_instant now)
{
  ft_jobs_close_tree(jobs, job);
  ft_job_add_earlier(job, job->o);
  /* for an app that was declared too late to expect its command, command_ran is false */
  job->o->has_command_ran =
      job->o->has_command_ran || is_declared_app(jobs, job->o->submission.app);
  ft_job_free_steps(job);
  if (job->o->rule == FT_RULE_UNKNOWN)
    job->o->rule = jobs->settings.rule;
  job->o->end_time = now.utc;
  job->o->runtime_seconds = now.monotonic - job->started;
  job->o->peak_is_bound = job->o->peak_is_bound || job->replayed;
  if (!job->o->has_limit_bytes && job->step_limit_bytes) {
    job->o->has_limit_bytes = true;
    job->o->limit_bytes = job->step_limit_bytes;
  }
  if (job->nested_kill && !job->o->has_killed_at_bytes) {
    /* what the container's limit allowed is a lower bound of the job's need */
    job->o->has_killed_at_bytes = true;
    job->o->killed_at_bytes = (uint64_t)fmax(ft_observation_peak(job->o, job->o->rule), 0);
  }
  ft_job_infer_outcome(job);
  ft_job_resolve_array_task(job->array, job->o);
  jobs->settings.finished(job->o, jobs->settings.data);
  ft_jobs_remove_journal(jobs, job);
  ft_job_free_observation(job);
  job->drop_at = now.monotonic + KEEP_SECONDS;
}

void ft_jobs_end(struct ft_jobs *jobs, struct job *job, bool replayed, struct ft_instant now)
{
  if (replayed)
    job->end = now;
  else
    ft_jobs_finish(jobs, job, now);
}

bool ft_jobs_is_idle(const struct job *job)
{
  return !job->steps || !job->tree || !ft_tree_alive(job->tree);
}
