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

static bool is_query_pending(const struct ft_jobs *jobs, uint32_t job_id)
{
  for (const struct job *job = jobs->list; job; job = job->next)
    if (job->id == job_id && job->query_pending)
      return true;
  return false;
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
    if (job->phase == PHASE_DELIVERED && (!of_user || job->uid == uid) &&
        (!first || job->drop_at < first->drop_at))
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
  job->next_query = now.monotonic; /* to get the submit time */
  job->query_interval = jobs->settings.query_seconds;
  job->drop_at = INFINITY;
  job->next = jobs->list;
  jobs->list = job;
  jobs->count++;
  return job;
}

static bool has_ended(const struct job *job)
{
  return job->phase == PHASE_RUNNING && job->batch_over && !job->steps;
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
                            struct ft_instant now)
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
    ft_jobs_finish(jobs, job, now);
}

static bool handle_job_end(struct ft_jobs *jobs, struct job *job, const ft_announcement *a,
                           struct ft_instant now)
{
  const ft_job_end *end = &a->event.job_end;

  ft_job_apply_submission(job, end->submission.bytes, end->submission.size);
  if (job->phase != PHASE_RUNNING) {
    /* Slurm completes its record soon after this announcement */
    if (!job->outcome.final && !job->query_pending)
      job->next_query = fmin(job->next_query, now.monotonic + jobs->settings.query_seconds);
    return false;
  }
  if (end->has_exit_code && !job->has_status) {
    job->status = end->exit_code;
    job->has_status = true;
  }
  if (!job->tree) {
    /* the job never ran a task on this node */
    ft_jobs_remove_journal(jobs, job);
    ft_jobs_drop(jobs, job);
    return false;
  }
  ft_jobs_finish(jobs, job, now);
  return job->phase != PHASE_DELIVERED;
}

/*
 * Returns JOB if announcement A, with a larger restart count, belongs to JOB's run; NULL: to a new
 * run. The count comes from the job's environment, which a user may change: while JOB has
 * processes, A belongs to JOB until Slurm's record confirms the count (resolve_restart_claim).
 */
static struct job *claimed_run(struct job *job, const ft_announcement *a)
{
  if (job->phase != PHASE_RUNNING)
    return NULL;
  /* the prolog does not know the count: a job without a task so far is this run */
  if (!job->tree)
    ft_job_set_restart(job, a->restart_count);
  return !job->tree || !job->confirmed || !ft_jobs_is_idle(job) ? job : NULL;
}

bool ft_jobs_announce(struct ft_jobs *jobs, const ft_announcement *a, pid_t peer, bool replayed,
                      struct ft_instant now)
{
  struct job *job = ft_jobs_find(jobs, a->job_id);
  bool is_start = a->which_event == ft_announcement_job_start_tag ||
                  a->which_event == ft_announcement_task_start_tag;

  if (job && is_start && a->restart_count > job->restart_count)
    job = claimed_run(job, a);
  if (job && job->phase != PHASE_RUNNING && is_start && !job->steps &&
      a->which_event == ft_announcement_job_start_tag)
    job = NULL; /* Slurm has reused the job ID */
  if (!job && a->which_event == ft_announcement_job_end_tag)
    return false;
  if (!job)
    job = begin_job(jobs, a, replayed, now);
  if (!job)
    return has_job_room(jobs, a->uid); /* out of memory: a restarted agent may have enough */
  if (!ft_job_unpack(job))
    return job->phase != PHASE_DELIVERED && !job->forgotten;
  ft_job_apply_announcement(job, a);
  if (job->phase != PHASE_RUNNING && a->which_event != ft_announcement_job_end_tag)
    return false; /* after the end of the run */
  switch (a->which_event) {
  case ft_announcement_job_start_tag:
    ft_job_apply_submission(job, a->event.job_start.submission.bytes,
                            a->event.job_start.submission.size);
    break;
  case ft_announcement_task_start_tag:
    handle_task_start(jobs, job, a, peer, now);
    break;
  case ft_announcement_task_end_tag:
    handle_task_end(jobs, job, a, now);
    break;
  case ft_announcement_job_end_tag:
    return handle_job_end(jobs, job, a, now) && !job->forgotten;
  default:
    break;
  }
  /* an ended run without submit time is stored nowhere else */
  return job->phase != PHASE_DELIVERED && !job->forgotten;
}

void ft_jobs_forget(struct ft_jobs *jobs,
                    bool (*matches)(const ft_observation *observation, void *data), void *data)
{
  for (struct job *job = jobs->list; job; job = job->next) {
    if (job->forgotten || job->phase == PHASE_DELIVERED || !ft_job_unpack(job) ||
        !matches(job->o, data))
      continue;
    job->forgotten = true;
    ft_jobs_remove_journal(jobs, job);
  }
}

/* ---- time ---- */

static void check_processes(struct ft_jobs *jobs, struct job *job, struct ft_instant now)
{
  if (job->phase != PHASE_RUNNING)
    return;
  if (job->steps && job->tree && ft_tree_alive(job->tree))
    job->idle_since = now.monotonic;
  else if (now.monotonic - job->idle_since >= jobs->settings.grace_seconds && !job->query_pending &&
           job->next_query == INFINITY)
    job->next_query = now.monotonic;
}

double ft_jobs_tick(struct ft_jobs *jobs, struct ft_instant now)
{
  double due = INFINITY;
  struct job *next;

  for (struct job *job = jobs->list; job; job = next) {
    next = job->next;
    if (now.monotonic >= job->drop_at) {
      if (job->phase == PHASE_NO_SUBMIT_TIME)
        ft_jobs_deliver(jobs, job);
      ft_jobs_drop(jobs, job);
      continue;
    }
    if (job->phase == PHASE_DELIVERED && job->outcome.final && !job->query_pending)
      ft_job_discard(job);
    else if (job->phase != PHASE_RUNNING)
      ft_job_pack(job);
    check_processes(jobs, job, now);
    if (!job->query_pending && now.monotonic >= job->next_query &&
        !is_query_pending(jobs, job->id)) {
      job->query_pending = true;
      job->next_query = INFINITY;
      jobs->settings.query_slurm(job->id, jobs->settings.data);
    }
    /* an overdue query waits for the pending one about another run of the job */
    due = fmin(due, job->drop_at);
    if (job->next_query > now.monotonic)
      due = fmin(due, job->next_query);
    if (job->phase == PHASE_RUNNING)
      due = fmin(due, now.monotonic + CHECK_SECONDS);
  }
  return due;
}

void ft_jobs_restore(struct ft_jobs *jobs, const ft_observation *observation)
{
  struct job *job = ft_jobs_find(jobs, observation->job_id);

  if (!job || job->earlier || job->restart_count != observation->restart_count)
    return;
  job->earlier = malloc(sizeof *job->earlier);
  if (!job->earlier)
    return;
  *job->earlier = *observation;
  if (job->phase != PHASE_NO_SUBMIT_TIME || !ft_job_unpack(job))
    return;
  /* its end was in the journal; the earlier agent may have measured the whole run */
  if (observation->end_time > 0)
    *job->o = *observation;
  else
    ft_job_add_earlier(job, job->o);
  ft_job_infer_outcome(job);
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
    if (job->phase != PHASE_RUNNING || !job->o || index--)
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

/* Saves the measurements so far. Returns whether a restarted agent will find them. */
static bool save_job_partial(struct ft_jobs *jobs, struct job *job)
{
  return ft_job_unpack(job) && jobs->settings.save_partial(job->o, jobs->settings.data);
}

void ft_jobs_close(struct ft_jobs *jobs)
{
  if (!jobs)
    return;
  while (jobs->list) {
    struct job *job = jobs->list;

    if (job->phase == PHASE_NO_SUBMIT_TIME) {
      /* a restarted agent may get the submit time; without it the run could be stored twice */
      if (job->forgotten || !save_job_partial(jobs, job))
        ft_jobs_deliver(jobs, job);
    } else if (job->phase == PHASE_RUNNING && job->tree) {
      ft_jobs_close_tree(jobs, job);
      ft_job_add_earlier(job, job->o);
      if (!job->forgotten)
        (void)save_job_partial(jobs, job);
    }
    ft_jobs_drop(jobs, job);
  }
  free(jobs);
}
