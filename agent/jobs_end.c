/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of a run: its observation is delivered, then corrected by Slurm's record. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/jobs_internal.h"
#include "daemon/log.h"

/* Time after a job's end for which Slurm's record is queried: Slurm removes the record MinJobAge
 * (slurm.conf(5), 300 s by default) after the end. */
#define LAST_QUERY_SECONDS 300.0
/* Maximum interval between two queries. */
#define MAX_QUERY_SECONDS 600.0
/* Failed queries until an observation is delivered without its submit time. */
#define MAX_SUBMIT_TIME_QUERIES 3
/* Time without processes and without Slurm's record until a run counts as ended. */
#define GIVE_UP_SECONDS 3600.0
/* Time for which a job with a final outcome is kept, for late announcements. */
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
  struct job *found = NULL;

  for (struct job *job = jobs->list; job; job = job->next)
    if (job->id == job_id && (!found || job->restart_count > found->restart_count))
      found = job;
  return found;
}

void ft_jobs_remove_journal(struct ft_jobs *jobs, const struct job *job)
{
  if (ft_jobs_find(jobs, job->id) == job)
    jobs->settings.remove_journal(job->id, jobs->settings.data);
}

void ft_jobs_deliver(struct ft_jobs *jobs, struct job *job)
{
  job->phase = PHASE_DELIVERED;
  if (!ft_job_unpack(job)) {
    ft_log(LOG_ERR, "job %" PRIu32 ": observation lost: out of memory", job->id);
    return;
  }
  if (!job->confirmed)
    ft_job_set_restart(job, 0);
  ft_job_resolve_array_task(job->array, job->o);
  free(job->array);
  job->array = NULL;
  job->o->outcome = job->outcome.outcome;
  job->o->censored = job->outcome.outcome != FT_OUTCOME_COMPLETED;
  jobs->settings.finished(job->o, jobs->settings.data);
  ft_jobs_remove_journal(jobs, job);
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
  /* only Slurm's record has the time of suspension */
  job->outcome.final = job->outcome.final && !job->stopped;
  job->query_interval = jobs->settings.query_seconds;
  job->drop_at = now.monotonic + (job->outcome.final ? KEEP_SECONDS : LAST_QUERY_SECONDS);
  if (job->o->submit_time <= 0 && job->failed_queries < MAX_SUBMIT_TIME_QUERIES) {
    job->phase = PHASE_NO_SUBMIT_TIME;
    if (!job->query_pending)
      job->next_query = fmin(job->next_query, now.monotonic);
    return;
  }
  job->next_query = job->outcome.final ? INFINITY : now.monotonic + job->query_interval;
  ft_jobs_deliver(jobs, job);
}

bool ft_jobs_is_idle(const struct job *job)
{
  return !job->steps || !job->tree || !ft_tree_alive(job->tree);
}

/* Returns another run of JOB's job ID, with restart count COUNT, or NULL. */
static struct job *find_restart(struct ft_jobs *jobs, const struct job *job, uint32_t count)
{
  for (struct job *other = jobs->list; other; other = other->next)
    if (other != job && other->id == job->id && other->restart_count == count)
      return other;
  return NULL;
}

/* ---- Slurm's record ---- */

/* Schedules the next query, after twice the previous interval. */
static void query_again_later(struct job *job, struct ft_instant now)
{
  job->next_query = now.monotonic + job->query_interval;
  job->query_interval = fmin(2 * job->query_interval, MAX_QUERY_SECONDS);
}

/* Applies Slurm's record (NULL: none) to JOB, which has ended. */
static void reply_after_end(struct ft_jobs *jobs, struct job *job, const ft_slurm_job *record,
                            struct ft_instant now)
{
  struct ft_run_outcome outcome = job->outcome;
  bool shortened = record && ft_job_apply_suspension(job, record);

  if (record && !outcome.final)
    outcome = ft_outcome_from_slurm(outcome, job->restart_count, record);
  job->outcome = outcome;
  if (job->phase == PHASE_NO_SUBMIT_TIME) {
    if (job->o->submit_time <= 0 && job->failed_queries < MAX_SUBMIT_TIME_QUERIES &&
        !(record && outcome.final)) {
      query_again_later(job, now);
      return;
    }
    ft_jobs_deliver(jobs, job);
  } else if (outcome.outcome != job->o->outcome || shortened) {
    ft_jobs_deliver(jobs, job);
  }
  if (outcome.final) {
    job->next_query = INFINITY;
    job->drop_at = fmin(job->drop_at, now.monotonic + KEEP_SECONDS);
  } else {
    query_again_later(job, now);
  }
}

/* Applies Slurm's record (NULL: none) to JOB, which may have ended unnoticed. */
static void reply_while_running(struct ft_jobs *jobs, struct job *job, const ft_slurm_job *record,
                                struct ft_instant now)
{
  bool is_idle = ft_jobs_is_idle(job);
  bool ended = record && (record->final || record->restart_count > job->restart_count);

  /* Slurm has removed the job's record, or is not running */
  if (!record && now.monotonic - job->idle_since >= GIVE_UP_SECONDS)
    ended = true;
  /* the announcement of a task's end, which may be unread, has more than Slurm's record */
  if (is_idle && ended && job->steps && !job->replayed && record &&
      record->restart_count == job->restart_count &&
      now.monotonic - job->idle_since < jobs->settings.grace_seconds)
    ended = false;
  if (is_idle && ended && !job->tree) {
    ft_jobs_remove_journal(jobs, job);
    ft_jobs_drop(jobs, job);
    return;
  }
  if (is_idle && ended) {
    ft_jobs_finish(jobs, job, now);
    ft_job_apply_end(job, record);
    if (job->phase != PHASE_RUNNING)
      reply_after_end(jobs, job, record, now);
    return;
  }
  /* ft_jobs_tick queries again after grace_seconds without a process */
  if (job->o->submit_time > 0 &&
      !(is_idle && now.monotonic - job->idle_since >= jobs->settings.grace_seconds))
    job->next_query = INFINITY;
  else
    query_again_later(job, now);
}

/*
 * Compares JOB's restart count with that of Slurm's record, if the query was sent after JOB began.
 * If JOB's count is larger, JOB is the run of that record: it gets Slurm's count, or is merged
 * with the run that has this count.
 */
static void resolve_restart_claim(struct ft_jobs *jobs, struct job *job, const ft_slurm_job *record)
{
  struct job *same;

  if (!job->query_pending || job->confirmed)
    return;
  job->confirmed = true;
  if (job->restart_count <= record->restart_count)
    return;
  same = find_restart(jobs, job, record->restart_count);
  if (!same) {
    if (ft_job_unpack(job))
      ft_job_set_restart(job, record->restart_count);
    return;
  }
  if (same->phase == PHASE_RUNNING && ft_job_unpack(job)) {
    ft_jobs_close_tree(jobs, same);
    ft_job_merge(same, job);
    if (job->phase != PHASE_RUNNING)
      ft_jobs_finish(
          jobs, same,
          (struct ft_instant){ job->started + job->o->runtime_seconds, job->o->end_time });
  } else {
    ft_log(LOG_DEBUG, "job %" PRIu32 ": no restart %" PRIu32 " in Slurm's record", job->id,
           job->restart_count);
  }
  ft_jobs_drop(jobs, job);
}

static void resolve_restart_claims(struct ft_jobs *jobs, uint32_t job_id,
                                   const ft_slurm_job *record)
{
  struct job *next;

  for (struct job *job = jobs->list; job; job = next) {
    next = job->next;
    if (job->id == job_id)
      resolve_restart_claim(jobs, job, record);
  }
}

void ft_jobs_slurm_reply(struct ft_jobs *jobs, uint32_t job_id, const ft_slurm_job *record,
                         struct ft_instant now)
{
  struct job *next;

  if (record)
    resolve_restart_claims(jobs, job_id, record);
  for (struct job *job = jobs->list; job; job = next) {
    next = job->next;
    /* a record queried before the run began does not describe it */
    if (job->id != job_id || (record && !job->query_pending && !job->confirmed))
      continue;
    job->query_pending = false;
    if (!ft_job_unpack(job))
      continue;
    /* the batch script may have unset the variable with the restart count */
    if (record && job->phase == PHASE_RUNNING && job->steps && record->running &&
        record->restart_count > job->restart_count && ft_jobs_find(jobs, job_id) == job)
      ft_job_set_restart(job, record->restart_count);
    if (record)
      ft_job_apply_record(job, record);
    else
      job->failed_queries++;
    if (job->phase == PHASE_RUNNING)
      reply_while_running(jobs, job, record, now);
    else
      reply_after_end(jobs, job, record, now);
  }
}
