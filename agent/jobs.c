/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/jobs_internal.h"
#include "daemon/log.h"
#include "predictor/core/hot.h"

/* Interval of the checks whether a job still has processes. */
#define CHECK_SECONDS 10.0
/* Time without processes and without an announced end until a run counts as ended: longer than the
 * pauses between the steps of most interactive jobs. By judgement. */
#define GIVE_UP_SECONDS 3600.0

struct ft_jobs *ft_jobs_open(const struct ft_jobs_settings *settings, struct ft_error *err)
{
  struct ft_jobs *jobs = calloc(1, sizeof *jobs);

  if (!jobs) {
    ft_error_errno(err, "jobs");
    return NULL;
  }
  jobs->settings = *settings;
  return jobs;
}

void ft_jobs_set_apps(struct ft_jobs *jobs, const ft_declared_app *apps, size_t count)
{
  jobs->apps = apps;
  jobs->app_count = count;
}

void ft_jobs_set_counters(struct ft_jobs *jobs, enum ft_counters mode, uint64_t runs)
{
  jobs->counters.mode = mode;
  jobs->counters.runs = runs;
}

void ft_jobs_set_rule(struct ft_jobs *jobs, ft_rule rule)
{
  jobs->settings.rule = rule;
}

FT_HOT size_t ft_jobs_tree_count(const struct ft_jobs *jobs)
{
  return jobs->trees;
}

/* Drops the delivered job, with OF_USER that of UID, which has the earliest drop_at. Returns
 * whether there was one. */
static bool drop_delivered(struct ft_jobs *jobs, uint32_t uid, bool of_user)
{
  struct job *first = NULL;

  for (struct job *job = jobs->list; job; job = job->next)
    if (!job->o && (!of_user || job->uid == uid) && (!first || job->drop_at < first->drop_at))
      first = job;
  if (first)
    ft_jobs_drop(jobs, first);
  return first != NULL;
}

/* Counts UID's jobs and the running steps of these jobs. */
static void count_user_jobs(const struct ft_jobs *jobs, uint32_t uid, size_t *count, size_t *steps)
{
  *count = *steps = 0;
  for (const struct job *job = jobs->list; job; job = job->next)
    if (job->uid == uid) {
      ++*count;
      *steps += job->step_count;
    }
}

static bool has_job_room(const struct ft_jobs *jobs, uint32_t uid)
{
  size_t count, steps;

  count_user_jobs(jobs, uid, &count, &steps);
  return jobs->count < FT_JOBS_LIMIT && count < FT_JOBS_USER_LIMIT;
}

/* Makes room for another job of UID within the limits. Returns false if there is none. */
static bool make_job_room(struct ft_jobs *jobs, uint32_t uid)
{
  size_t count, steps;

  count_user_jobs(jobs, uid, &count, &steps);
  if (count >= FT_JOBS_USER_LIMIT && !drop_delivered(jobs, uid, true))
    return false;
  return jobs->count < FT_JOBS_LIMIT || drop_delivered(jobs, uid, false);
}

static struct job *begin_job(struct ft_jobs *jobs, const ft_announcement *a, bool replayed,
                             struct ft_instant now)
{
  struct job *job = make_job_room(jobs, a->uid) ? ft_job_new(a->job_id, a->restart_count) : NULL;

  if (!job) {
    if (!jobs->warned_full)
      ft_log(LOG_ERR,
             "job %" PRIu32 " of user %" PRIu32 " is not measured: %zu jobs on this node "
             "(limit %d, per user %d)",
             a->job_id, a->uid, jobs->count, FT_JOBS_LIMIT, FT_JOBS_USER_LIMIT);
    jobs->warned_full = true;
    return NULL;
  }
  jobs->warned_full = false;
  job->uid = a->uid;
  job->o->schema = FT_SCHEMA;
  job->o->rule = jobs->settings.rule;
  job->replayed = replayed;
  job->o->start_time = now.utc;
  job->started = job->idle_since = now.monotonic;
  job->next = jobs->list;
  jobs->list = job;
  jobs->count++;
  return job;
}

static bool has_ended(const struct job *job)
{
  return job->batch_over && !job->steps;
}

/* ---- steps and tasks ---- */

static void expect_declared_command(const struct ft_jobs *jobs, const struct job *job)
{
  for (size_t i = 0; i < jobs->app_count; i++)
    if (strcmp(jobs->apps[i].name, job->o->submission.app) == 0)
      ft_tree_expect_command(job->tree, jobs->apps[i].command);
}

static bool open_job_tree(struct ft_jobs *jobs, struct job *job, struct ft_instant now)
{
  char mark[32];
  struct ft_error err;

  if (job->tree)
    return true;
  job->tree = ft_tree_open(jobs->settings.measure, &err);
  if (!job->tree) {
    ft_log(LOG_ERR, "job %" PRIu32 ": not measured: %s", job->id, err.text);
    return false;
  }
  /* processes that left the tree (setsid, parent ended) still have Slurm's environment variable */
  (void)snprintf(mark, sizeof mark, "SLURM_JOB_ID=%" PRIu32, job->id);
  ft_tree_set_mark(job->tree, mark, job->o->uid);
  expect_declared_command(jobs, job);
  ft_tree_set_counted(job->tree, ft_counter_choice_wants(&jobs->counters, job->o));
  jobs->trees++;
  job->started = now.monotonic;
  job->o->start_time = now.utc;
  return true;
}

static struct step *begin_job_step(struct ft_jobs *jobs, struct job *job, uint32_t id)
{
  size_t count, steps;

  count_user_jobs(jobs, job->uid, &count, &steps);
  return steps < FT_JOBS_USER_STEP_LIMIT ? ft_job_begin_step(job, id) : ft_job_find_step(job, id);
}

static void handle_task_start(struct ft_jobs *jobs, struct job *job, const ft_announcement *a,
                              pid_t peer, struct ft_instant now)
{
  const ft_task_start *start = &a->event.task_start;
  struct ft_error err;
  struct step *step;

  ft_job_apply_submission(job, start->submission.bytes, start->submission.size);
  if (a->step_id == FT_STEP_EXTERN)
    return;
  if (start->limit_bytes > job->step_limit_bytes)
    job->step_limit_bytes = start->limit_bytes;
  step = begin_job_step(jobs, job, a->step_id);
  if (step && start->tasks > step->tasks)
    step->tasks = start->tasks;
  if (step && start->limit_bytes > step->limit_bytes)
    step->limit_bytes = start->limit_bytes;
  if (!open_job_tree(jobs, job, now) || !start->pid || start->pid > INT32_MAX)
    return;
  /* a process that announces its own pid is slurmstepd, whose memory does not belong to the job */
  if (ft_tree_add_root(job->tree, (pid_t)start->pid, start->start_ticks, (pid_t)start->pid == peer,
                       &err) < 0)
    ft_log(LOG_DEBUG, "job %" PRIu32 ": %s", job->id, err.text);
}

/*
 * Records the kernel's OOM kills in STEP (NULL: unknown) and the limit that was too small: the
 * step's limit if the job's own cgroup reached its limit or that is unknown; 0 if only an ancestor
 * (a node without free memory) did. A container's own limit is no limit of the job.
 */
static void record_oom_kill(struct job *job, const struct step *step, const ft_task_end *end)
{
  bool own_hit = end->has_limit_hits && end->limit_hits,
       ancestor_hit = end->has_limit_hits && !own_hit;
  uint64_t limit = end->has_cgroup_limit_bytes ? end->cgroup_limit_bytes : 0;

  job->has_oom_kills = job->has_oom_kills || end->has_oom_kills;
  if (!end->oom_kills)
    return;
  job->oom_kills += end->oom_kills;
  if (!own_hit && end->has_nested_limit_hits && end->nested_limit_hits) {
    job->nested_kill = true;
    return;
  }
  if (step && step->limit_bytes && (!limit || (!own_hit && step->limit_bytes < limit)))
    limit = step->limit_bytes;
  if (ancestor_hit)
    limit = 0;
  if ((!limit && !ancestor_hit) ||
      (job->o->has_killed_at_bytes && limit <= job->o->killed_at_bytes))
    return;
  job->o->has_killed_at_bytes = true;
  job->o->killed_at_bytes = limit;
}

static void handle_task_end(struct ft_jobs *jobs, struct job *job, const ft_announcement *a,
                            bool replayed, struct ft_instant now)
{
  const ft_task_end *end = &a->event.task_end;
  struct step *step = ft_job_find_step(job, a->step_id);

  if (a->step_id == FT_STEP_EXTERN)
    return;
  record_oom_kill(job, step, end);
  if (!step && !job->has_status)
    job->replayed = true; /* its start was not announced to this agent */
  if (open_job_tree(jobs, job, now))
    ft_tree_add_end(job->tree, end);
  if (end->has_cgroup_limit_bytes && end->cgroup_limit_bytes > job->step_limit_bytes)
    job->step_limit_bytes = end->cgroup_limit_bytes;
  ft_job_apply_status(job, a->step_id, end->status);
  if (step)
    step->ended++;
  if (!step || end->last || (step->tasks && step->ended >= step->tasks))
    ft_job_end_step(job, a->step_id, now);
  if (has_ended(job))
    ft_jobs_end(jobs, job, replayed, now);
}

static void handle_job_end(struct ft_jobs *jobs, struct job *job, const ft_announcement *a,
                           bool replayed, struct ft_instant now)
{
  const ft_job_end *end = &a->event.job_end;

  ft_job_apply_submission(job, end->submission.bytes, end->submission.size);
  if (end->has_exit_code && !job->has_status) {
    job->status = end->exit_code;
    job->has_status = true;
  }
  if (!job->tree) {
    /* the job never ran a task on this node */
    ft_jobs_remove_journal(jobs, job);
    ft_jobs_drop(jobs, job);
    return;
  }
  ft_jobs_end(jobs, job, replayed, now);
}

/*
 * Whether announcement A, of a start, begins another run of JOB's job ID: after JOB's end, or with
 * another batch script. The restart count comes from the job's environment, which a user may
 * change. While JOB runs, it counts only if the end of JOB may have gone to an earlier agent.
 */
static bool begins_run(struct job *job, const ft_announcement *a)
{
  bool restarted = a->restart_count > job->restart_count;

  if (a->which_event == ft_announcement_task_start_tag && a->step_id == FT_STEP_BATCH &&
      (job->batch_over || (restarted && ft_job_find_step(job, FT_STEP_BATCH))))
    return true;
  if (!job->o)
    return restarted || a->which_event == ft_announcement_job_start_tag;
  /* the prolog does not know the count: a job without a task so far is this run */
  if (restarted && !job->tree)
    ft_job_set_restart(job, a->restart_count);
  return restarted && job->tree && job->replayed && ft_jobs_is_idle(job);
}

bool ft_jobs_announce(struct ft_jobs *jobs, const ft_announcement *a, pid_t peer, bool replayed,
                      struct ft_instant now)
{
  struct job *job = ft_jobs_find(jobs, a->job_id);
  bool is_start = a->which_event == ft_announcement_job_start_tag ||
                  a->which_event == ft_announcement_task_start_tag;

  if (job && is_start && begins_run(job, a)) {
    if (job->o && job->tree)
      ft_jobs_finish(jobs, job, now);
    job = NULL;
  }
  if (!job && a->which_event == ft_announcement_job_end_tag)
    return false;
  if (!job)
    job = begin_job(jobs, a, replayed, now);
  if (!job)
    return has_job_room(jobs, a->uid); /* out of memory: a restarted agent may have enough */
  if (!job->o)
    return false; /* after the end of the run */
  ft_job_apply_announcement(job, a);
  switch (a->which_event) {
  case ft_announcement_job_start_tag:
    ft_job_apply_submission(job, a->event.job_start.submission.bytes,
                            a->event.job_start.submission.size);
    break;
  case ft_announcement_task_start_tag:
    handle_task_start(jobs, job, a, peer, now);
    break;
  case ft_announcement_task_end_tag:
    handle_task_end(jobs, job, a, replayed, now);
    break;
  case ft_announcement_job_end_tag:
    handle_job_end(jobs, job, a, replayed, now);
    return false;
  default:
    break;
  }
  return job->o && !job->forgotten;
}

void ft_jobs_forget(struct ft_jobs *jobs,
                    bool (*matches)(const ft_observation *observation, void *data), void *data)
{
  for (struct job *job = jobs->list; job; job = job->next) {
    if (job->forgotten || !job->o || !matches(job->o, data))
      continue;
    job->forgotten = true;
    ft_jobs_remove_journal(jobs, job);
  }
}

/* ---- time ---- */

/* Ends JOB, which has had no process for too long: its end was not announced. If an earlier agent
 * measured it, its end is unknown here. */
static void end_silent_job(struct ft_jobs *jobs, struct job *job, struct ft_instant now)
{
  if (!job->tree) {
    ft_jobs_remove_journal(jobs, job);
    ft_jobs_drop(jobs, job);
    return;
  }
  if (!job->replayed) {
    now.utc -= now.monotonic - job->idle_since;
    now.monotonic = job->idle_since;
  }
  ft_jobs_finish(jobs, job, now);
}

double ft_jobs_tick(struct ft_jobs *jobs, struct ft_instant now)
{
  double due = INFINITY;
  struct job *next;

  for (struct job *job = jobs->list; job; job = next) {
    next = job->next;
    if (job->o && job->end.monotonic)
      ft_jobs_finish(jobs, job, job->end);
    if (job->o && job->steps && job->tree && ft_tree_alive(job->tree))
      job->idle_since = now.monotonic;
    /* the script's end was announced to no agent; a job without one may pause between its steps */
    if (job->o &&
        now.monotonic - job->idle_since >=
            (ft_job_find_step(job, FT_STEP_BATCH) ? jobs->settings.grace_seconds : GIVE_UP_SECONDS))
      end_silent_job(jobs, job, now);
    else if (!job->o && now.monotonic >= job->drop_at)
      ft_jobs_drop(jobs, job);
    else
      due = fmin(due, job->o ? now.monotonic + CHECK_SECONDS : job->drop_at);
  }
  return due;
}

void ft_jobs_restore(struct ft_jobs *jobs, const ft_observation *observation)
{
  struct job *job = ft_jobs_find(jobs, observation->job_id);

  if (!job || !job->o || job->earlier || job->restart_count != observation->restart_count)
    return;
  job->earlier = malloc(sizeof *job->earlier);
  if (!job->earlier)
    return;
  *job->earlier = *observation;
  /* the earlier agent, of the previous release, has measured the whole run */
  job->replayed = job->replayed && !(job->end.monotonic && observation->end_time > 0);
}

/* Returns the current memory in bytes by the job's rule; negative: not measured. */
static double current_memory(const struct job *job)
{
  const struct ft_sample *sample = job->tree ? ft_tree_latest(job->tree) : NULL;

  if (!sample)
    return -1;
  if (job->o->rule == FT_RULE_CGROUP && sample->charge_less_cache_bytes >= 0)
    return sample->charge_less_cache_bytes;
  if (job->o->rule == FT_RULE_PSS && sample->pss_bytes >= 0)
    return sample->pss_bytes;
  return sample->rss_bytes;
}

bool ft_jobs_running(struct ft_jobs *jobs, unsigned index, struct ft_instant now,
                     ft_observation *out, double *now_bytes)
{
  for (struct job *job = jobs->list; job; job = job->next) {
    if (!job->o || index--)
      continue;
    *out = *job->o;
    if (job->tree)
      ft_tree_observe(job->tree, out);
    ft_job_add_earlier(job, out);
    ft_job_resolve_array_task(job->array, out);
    if (!out->has_limit_bytes && job->step_limit_bytes) {
      out->has_limit_bytes = true;
      out->limit_bytes = job->step_limit_bytes;
    }
    if (out->rule == FT_RULE_UNKNOWN)
      out->rule = jobs->settings.rule;
    out->runtime_seconds = now.monotonic - job->started;
    *now_bytes = current_memory(job);
    return true;
  }
  return false;
}

void ft_jobs_close(struct ft_jobs *jobs)
{
  if (!jobs)
    return;
  while (jobs->list) {
    struct job *job = jobs->list;

    if (job->tree) {
      ft_jobs_close_tree(jobs, job);
      ft_job_add_earlier(job, job->o);
      if (!job->forgotten)
        (void)jobs->settings.save_partial(job->o, jobs->settings.data);
    }
    ft_jobs_drop(jobs, job);
  }
  free(jobs);
}
