/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/job.h"
#include "agent/log.h"
#include "predictor/core/hot.h"

/* Between two looks whether anything of a job still lives, where nothing is announced. */
#define LOOK_SECONDS 10.0
/* Slurm forgets a job MinJobAge (300 s by default, slurm.conf(5)) after its end: asking is no use
 * then. */
#define ASK_NO_MORE_SECONDS 300.0
#define ASK_LONGEST_SECONDS 600.0
/* Slurm's failures to answer before an observation is taken without its submit time. */
#define SUBMIT_TIME_TRIES 3
/* Without a process and without an answer, before a run is taken for over. */
#define GIVE_UP_SECONDS 3600.0
/* A job that is complete is known a while longer, for what is announced late. */
#define LINGER_SECONDS 60.0

struct ft_jobs {
  struct ft_jobs_settings settings;
  struct job *list;
  size_t count, watched;
  bool told_full;
  const ft_declared_app *apps; /* the site's */
  size_t app_count;
};

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

/* The latest run of JOB_ID that we know; NULL. */
static struct job *find(struct ft_jobs *jobs, uint32_t job_id)
{
  struct job *found = NULL;

  for (struct job *job = jobs->list; job; job = job->next)
    if (job->id == job_id && (!found || job->restart_count > found->restart_count))
      found = job;
  return found;
}

/* Another entry of JOB's job id that is restart COUNT; NULL. */
static struct job *find_other(struct ft_jobs *jobs, const struct job *job, uint32_t count)
{
  for (struct job *other = jobs->list; other; other = other->next)
    if (other != job && other->id == job->id && other->restart_count == count)
      return other;
  return NULL;
}

static bool is_asked(const struct ft_jobs *jobs, uint32_t job_id)
{
  for (const struct job *job = jobs->list; job; job = job->next)
    if (job->id == job_id && job->asking)
      return true;
  return false;
}

static void close_tree(struct ft_jobs *jobs, struct job *job)
{
  if (!job->tree)
    return;
  job->stopped = job->stopped || ft_tree_was_stopped(job->tree);
  ft_tree_close(job->tree, job->o);
  job->tree = NULL;
  jobs->watched--;
}

static void drop(struct ft_jobs *jobs, struct job *job)
{
  struct job **at = &jobs->list;

  while (*at != job)
    at = &(*at)->next;
  *at = job->next;
  jobs->count--;
  close_tree(jobs, job);
  ft_job_free(job);
}

/* Only of the latest run: the packets of an earlier one of the same job are gone by then. */
static void forget_packets(struct ft_jobs *jobs, const struct job *job)
{
  if (find(jobs, job->id) == job)
    jobs->settings.forget(job->id, jobs->settings.data);
}

void ft_jobs_set_apps(struct ft_jobs *jobs, const ft_declared_app *apps, size_t count)
{
  jobs->apps = apps;
  jobs->app_count = count;
}

void ft_jobs_set_rule(struct ft_jobs *jobs, ft_rule rule)
{
  jobs->settings.rule = rule;
}

FT_HOT size_t ft_jobs_tree_count(const struct ft_jobs *jobs)
{
  return jobs->watched;
}

/* Drop the job, of UID's alone where OF_USER, that was handed over and would be dropped first. */
static bool drop_first(struct ft_jobs *jobs, uint32_t uid, bool of_user)
{
  struct job *first = NULL;

  for (struct job *job = jobs->list; job; job = job->next)
    if (job->phase == PHASE_DONE && (!of_user || job->uid == uid) &&
        (!first || job->drop_at < first->drop_at))
      first = job;
  if (first)
    drop(jobs, first);
  return first != NULL;
}

/* What UID has here: jobs, and the live steps of all of them. */
static void count_of(const struct ft_jobs *jobs, uint32_t uid, size_t *count, size_t *steps)
{
  *count = *steps = 0;
  for (const struct job *job = jobs->list; job; job = job->next)
    if (job->uid == uid) {
      ++*count;
      *steps += job->step_count;
    }
}

static bool has_room(const struct ft_jobs *jobs, uint32_t uid)
{
  size_t count, steps;

  count_of(jobs, uid, &count, &steps);
  return jobs->count < FT_JOBS_LIMIT && count < FT_JOBS_USER_LIMIT;
}

/* Room for another job of UID: no user takes that of all others. */
static bool make_room(struct ft_jobs *jobs, uint32_t uid)
{
  size_t count, steps;

  count_of(jobs, uid, &count, &steps);
  if (count >= FT_JOBS_USER_LIMIT && !drop_first(jobs, uid, true))
    return false;
  return jobs->count < FT_JOBS_LIMIT || drop_first(jobs, uid, false);
}

static struct job *begin(struct ft_jobs *jobs, const ft_announcement *a, bool resumed,
                         struct ft_instant now)
{
  struct job *job = make_room(jobs, a->uid) ? ft_job_new(a->job_id, a->restart_count) : NULL;

  if (!job) {
    if (!jobs->told_full)
      ft_log(LOG_ERR,
             "job %" PRIu32 " of user %" PRIu32 " and others are not measured: %zu are known "
             "already, of one user at most %d",
             a->job_id, a->uid, jobs->count, FT_JOBS_USER_LIMIT);
    jobs->told_full = true;
    return NULL;
  }
  jobs->told_full = false;
  job->uid = a->uid;
  job->o->schema = FT_SCHEMA;
  job->o->rule = jobs->settings.rule;
  job->resumed = resumed;
  job->o->start_time = now.utc;
  job->started = job->idle_since = now.monotonic;
  job->next_ask = now.monotonic; /* for the submit time */
  job->ask_interval = jobs->settings.ask_seconds;
  job->drop_at = INFINITY;
  job->next = jobs->list;
  jobs->list = job;
  jobs->count++;
  return job;
}

/* ---- the end ---- */

static void hand_over(struct ft_jobs *jobs, struct job *job)
{
  job->phase = PHASE_DONE;
  if (!ft_job_unpack(job)) {
    ft_log(LOG_ERR, "job %" PRIu32 ": its observation is lost: out of memory", job->id);
    return;
  }
  if (!job->confirmed)
    ft_job_set_restart(job, 0);
  job->o->outcome = job->verdict.outcome;
  job->o->censored = job->verdict.outcome != FT_OUTCOME_COMPLETED;
  jobs->settings.finished(job->o, jobs->settings.data);
  forget_packets(jobs, job);
}

static bool is_declared(const struct ft_jobs *jobs, const char *app)
{
  for (size_t i = 0; i < jobs->app_count; i++)
    if (strcmp(jobs->apps[i].name, app) == 0)
      return true;
  return false;
}

static void finish(struct ft_jobs *jobs, struct job *job, struct ft_instant now)
{
  close_tree(jobs, job);
  ft_job_add_earlier(job, job->o);
  /* an app that was named too late to look for its command was not seen to run it */
  job->o->has_command_ran = job->o->has_command_ran || is_declared(jobs, job->o->submission.app);
  ft_job_free_steps(job);
  if (job->o->rule == FT_RULE_UNKNOWN)
    job->o->rule = jobs->settings.rule;
  job->o->end_time = now.utc;
  job->o->runtime_seconds = now.monotonic - job->started;
  job->o->peak_is_bound = job->o->peak_is_bound || job->resumed;
  if (!job->o->has_limit_bytes && job->step_limit_bytes) {
    job->o->has_limit_bytes = true;
    job->o->limit_bytes = job->step_limit_bytes;
  }
  ft_job_resolve_array_task(job->o);
  ft_job_infer_outcome(job);
  /* for how long it was suspended Slurm alone knows */
  job->verdict.settled = job->verdict.settled && !job->stopped;
  job->ask_interval = jobs->settings.ask_seconds;
  job->drop_at = now.monotonic + (job->verdict.settled ? LINGER_SECONDS : ASK_NO_MORE_SECONDS);
  if (job->o->submit_time <= 0 && job->failures < SUBMIT_TIME_TRIES) {
    job->phase = PHASE_UNKEYED;
    if (!job->asking)
      job->next_ask = fmin(job->next_ask, now.monotonic);
    return;
  }
  job->next_ask = job->verdict.settled ? INFINITY : now.monotonic + job->ask_interval;
  hand_over(jobs, job);
}

static bool over(const struct job *job)
{
  return job->phase == PHASE_LIVE && job->batch_over && !job->steps;
}

/* ---- steps and tasks ---- */

static void expect_command(const struct ft_jobs *jobs, const struct job *job)
{
  for (size_t i = 0; i < jobs->app_count; i++)
    if (strcmp(jobs->apps[i].name, job->o->submission.app) == 0)
      ft_tree_expect(job->tree, jobs->apps[i].command);
}

static bool open_tree(struct ft_jobs *jobs, struct job *job, struct ft_instant now)
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
  /* what a job leaves behind (setsid, and its parent ended) has Slurm's variable still */
  (void)snprintf(mark, sizeof mark, "SLURM_JOB_ID=%" PRIu32, job->id);
  ft_tree_set_mark(job->tree, mark, job->o->uid);
  expect_command(jobs, job);
  jobs->watched++;
  job->started = now.monotonic;
  job->o->start_time = now.utc;
  return true;
}

static struct step *begin_step(struct ft_jobs *jobs, struct job *job, uint32_t id)
{
  size_t count, steps;

  count_of(jobs, job->uid, &count, &steps);
  return steps < FT_JOBS_USER_STEP_LIMIT ? ft_job_begin_step(job, id) : ft_job_find_step(job, id);
}

static void task_start(struct ft_jobs *jobs, struct job *job, const ft_announcement *a, pid_t peer,
                       struct ft_instant now)
{
  const ft_task_start *start = &a->event.task_start;
  struct ft_error err;
  struct step *step;

  ft_job_apply_submission(job, start->submission.bytes, start->submission.size);
  if (a->step_id == FT_STEP_EXTERN)
    return;
  if (start->limit_bytes > job->step_limit_bytes)
    job->step_limit_bytes = start->limit_bytes;
  step = begin_step(jobs, job, a->step_id);
  if (step && start->tasks > step->tasks)
    step->tasks = start->tasks;
  if (step && start->limit_bytes > step->limit_bytes)
    step->limit_bytes = start->limit_bytes;
  if (!open_tree(jobs, job, now) || !start->pid || start->pid > INT32_MAX)
    return;
  /* who announces his own pid is slurmstepd, whose memory is not the job's */
  if (ft_tree_add_root(job->tree, (pid_t)start->pid, (pid_t)start->pid == peer, &err) < 0)
    ft_log(LOG_DEBUG, "job %" PRIu32 ": %s", job->id, err.text);
}

/*
 * The kernel has killed in STEP (NULL: not known). Where that was at a limit of the job's own, or
 * nothing is known of it, what the step had is what was too little; else no limit was: 0.
 */
static void note_kill(struct job *job, const struct step *step, const ft_task_end *end)
{
  bool hit = end->has_limit_hits && end->limit_hits, starved = end->has_limit_hits && !hit;
  uint64_t limit = end->has_cgroup_limit_bytes ? end->cgroup_limit_bytes : 0;

  job->has_oom_kills = job->has_oom_kills || end->has_oom_kills;
  if (!end->oom_kills)
    return;
  job->oom_kills += end->oom_kills;
  if (step && step->limit_bytes && (!limit || (!hit && step->limit_bytes < limit)))
    limit = step->limit_bytes;
  if (starved)
    limit = 0;
  if ((!limit && !starved) || (job->o->has_killed_at_bytes && limit <= job->o->killed_at_bytes))
    return;
  job->o->has_killed_at_bytes = true;
  job->o->killed_at_bytes = limit;
}

static void task_end(struct ft_jobs *jobs, struct job *job, const ft_announcement *a,
                     struct ft_instant now)
{
  const ft_task_end *end = &a->event.task_end;
  struct step *step = ft_job_find_step(job, a->step_id);

  if (a->step_id == FT_STEP_EXTERN)
    return;
  note_kill(job, step, end);
  if (!step && !job->has_status)
    job->resumed = true; /* its start was told to nobody */
  if (open_tree(jobs, job, now))
    ft_tree_note_end(job->tree, end);
  if (end->has_cgroup_limit_bytes && end->cgroup_limit_bytes > job->step_limit_bytes)
    job->step_limit_bytes = end->cgroup_limit_bytes;
  ft_job_apply_status(job, a->step_id, end->status);
  if (step)
    step->ended++;
  if (!step || end->last || (step->tasks && step->ended >= step->tasks))
    ft_job_end_step(job, a->step_id, now);
  if (over(job))
    finish(jobs, job, now);
}

static bool job_end(struct ft_jobs *jobs, struct job *job, const ft_announcement *a,
                    struct ft_instant now)
{
  const ft_job_end *end = &a->event.job_end;

  ft_job_apply_submission(job, end->submission.bytes, end->submission.size);
  if (job->phase != PHASE_LIVE) {
    /* Slurm's record is complete about now */
    if (!job->verdict.settled && !job->asking)
      job->next_ask = fmin(job->next_ask, now.monotonic + jobs->settings.ask_seconds);
    return false;
  }
  if (end->has_exit_code && !job->has_status) {
    job->status = end->exit_code;
    job->has_status = true;
  }
  if (!job->tree) {
    /* nothing of it ever ran here */
    forget_packets(jobs, job);
    drop(jobs, job);
    return false;
  }
  finish(jobs, job, now);
  return job->phase != PHASE_DONE;
}

/* Whether nothing of JOB that is known lives. */
static bool idle(const struct job *job)
{
  return !job->steps || !job->tree || !ft_tree_alive(job->tree);
}

/*
 * The run of JOB's job id that A, which says that it is a later restart, belongs to; NULL: a new
 * one. The count comes from the job's own environment: it ends no run here, and what says it while
 * something of JOB lives is JOB's. Slurm's record decides (settle_claim).
 */
static struct job *claimed(struct job *job, const ft_announcement *a)
{
  if (job->phase != PHASE_LIVE)
    return NULL;
  /* the prolog does not know the count: what only it has announced is this run */
  if (!job->tree)
    ft_job_set_restart(job, a->restart_count);
  return !job->tree || !job->confirmed || !idle(job) ? job : NULL;
}

bool ft_jobs_announce(struct ft_jobs *jobs, const ft_announcement *a, pid_t peer, bool resumed,
                      struct ft_instant now)
{
  struct job *job = find(jobs, a->job_id);
  bool begins = a->which_event == ft_announcement_job_start_tag ||
                a->which_event == ft_announcement_task_start_tag;

  if (job && begins && a->restart_count > job->restart_count)
    job = claimed(job, a);
  if (job && job->phase != PHASE_LIVE && begins && !job->steps &&
      a->which_event == ft_announcement_job_start_tag)
    job = NULL; /* a job id that has come round again */
  if (!job && a->which_event == ft_announcement_job_end_tag)
    return false;
  if (!job)
    job = begin(jobs, a, resumed, now);
  if (!job)
    return has_room(jobs, a->uid); /* out of memory: the next agent may have some */
  if (!ft_job_unpack(job))
    return job->phase != PHASE_DONE && !job->forgotten;
  ft_job_apply_announcement(job, a);
  if (job->phase != PHASE_LIVE && a->which_event != ft_announcement_job_end_tag)
    return false; /* too late to count */
  switch (a->which_event) {
  case ft_announcement_job_start_tag:
    ft_job_apply_submission(job, a->event.job_start.submission.bytes,
                            a->event.job_start.submission.size);
    break;
  case ft_announcement_task_start_tag:
    task_start(jobs, job, a, peer, now);
    break;
  case ft_announcement_task_end_tag:
    task_end(jobs, job, a, now);
    break;
  case ft_announcement_job_end_tag:
    return job_end(jobs, job, a, now) && !job->forgotten;
  default:
    break;
  }
  /* what is over but lacks its submit time is nowhere yet but here */
  return job->phase != PHASE_DONE && !job->forgotten;
}

void ft_jobs_forget(struct ft_jobs *jobs,
                    bool (*matches)(const ft_observation *observation, void *data), void *data)
{
  for (struct job *job = jobs->list; job; job = job->next) {
    if (job->forgotten || job->phase == PHASE_DONE || !ft_job_unpack(job) || !matches(job->o, data))
      continue;
    job->forgotten = true;
    forget_packets(jobs, job);
  }
}

/* ---- Slurm's record ---- */

static void ask_later(struct job *job, struct ft_instant now)
{
  job->next_ask = now.monotonic + job->ask_interval;
  job->ask_interval = fmin(2 * job->ask_interval, ASK_LONGEST_SECONDS);
}

static void answer_done(struct ft_jobs *jobs, struct job *job, const struct ft_slurm_job *answer,
                        struct ft_instant now)
{
  struct ft_run_outcome verdict = job->verdict;
  bool shorter = answer && ft_job_apply_suspension(job, answer);

  if (answer && !verdict.settled)
    verdict = ft_outcome_from_slurm(verdict, job->restart_count, answer);
  job->verdict = verdict;
  if (job->phase == PHASE_UNKEYED) {
    if (job->o->submit_time <= 0 && job->failures < SUBMIT_TIME_TRIES &&
        !(answer && verdict.settled)) {
      ask_later(job, now);
      return;
    }
    hand_over(jobs, job);
  } else if (verdict.outcome != job->o->outcome || shorter) {
    hand_over(jobs, job);
  }
  if (verdict.settled) {
    job->next_ask = INFINITY;
    job->drop_at = fmin(job->drop_at, now.monotonic + LINGER_SECONDS);
  } else {
    ask_later(job, now);
  }
}

static void answer_live(struct ft_jobs *jobs, struct job *job, const struct ft_slurm_job *answer,
                        struct ft_instant now)
{
  bool still = idle(job);
  bool over = answer && (answer->over || answer->restart_count > job->restart_count);

  /* nobody can say any more: Slurm has forgotten the job, or is gone */
  if (!answer && now.monotonic - job->idle_since >= GIVE_UP_SECONDS)
    over = true;
  /* a task's end that the agent has yet to read tells more than Slurm does */
  if (still && over && job->steps && !job->resumed && answer &&
      answer->restart_count == job->restart_count &&
      now.monotonic - job->idle_since < jobs->settings.grace_seconds)
    over = false;
  if (still && over && !job->tree) {
    forget_packets(jobs, job);
    drop(jobs, job);
    return;
  }
  if (still && over) {
    finish(jobs, job, now);
    ft_job_apply_end(job, answer);
    if (job->phase != PHASE_LIVE)
      answer_done(jobs, job, answer, now);
    return;
  }
  /* ft_jobs_tick asks again when nothing has lived for a while */
  if (job->o->submit_time > 0 &&
      !(still && now.monotonic - job->idle_since >= jobs->settings.grace_seconds))
    job->next_ask = INFINITY;
  else
    ask_later(job, now);
}

/*
 * An answer to a question asked since JOB began says of how many restarts Slurm knows: where JOB
 * said more it is the run that Slurm knows, together with what else we have of that one.
 */
static void settle_claim(struct ft_jobs *jobs, struct job *job, const struct ft_slurm_job *answer)
{
  struct job *same;

  if (!job->asking || job->confirmed)
    return;
  job->confirmed = true;
  if (job->restart_count <= answer->restart_count)
    return;
  same = find_other(jobs, job, answer->restart_count);
  if (!same) {
    if (ft_job_unpack(job))
      ft_job_set_restart(job, answer->restart_count);
    return;
  }
  if (same->phase == PHASE_LIVE && ft_job_unpack(job)) {
    close_tree(jobs, same);
    ft_job_merge(same, job);
    if (job->phase != PHASE_LIVE)
      finish(jobs, same,
             (struct ft_instant){ job->started + job->o->runtime_seconds, job->o->end_time });
  } else {
    ft_log(LOG_DEBUG, "job %" PRIu32 ": Slurm knows of no restart %" PRIu32, job->id,
           job->restart_count);
  }
  drop(jobs, job);
}

static void settle_claims(struct ft_jobs *jobs, uint32_t job_id, const struct ft_slurm_job *answer)
{
  struct job *next;

  for (struct job *job = jobs->list; job; job = next) {
    next = job->next;
    if (job->id == job_id)
      settle_claim(jobs, job, answer);
  }
}

void ft_jobs_slurm_reply(struct ft_jobs *jobs, uint32_t job_id, const struct ft_slurm_job *answer,
                         struct ft_instant now)
{
  struct job *next;

  if (answer)
    settle_claims(jobs, job_id, answer);
  for (struct job *job = jobs->list; job; job = next) {
    next = job->next;
    /* what was asked before a run began is not about it */
    if (job->id != job_id || (answer && !job->asking && !job->confirmed))
      continue;
    job->asking = false;
    if (!ft_job_unpack(job))
      continue;
    /* the batch script may have lost the variable that counts */
    if (answer && job->phase == PHASE_LIVE && job->steps && answer->running &&
        answer->restart_count > job->restart_count && find(jobs, job_id) == job)
      ft_job_set_restart(job, answer->restart_count);
    if (answer)
      ft_job_apply_record(job, answer);
    else
      job->failures++;
    if (job->phase == PHASE_LIVE)
      answer_live(jobs, job, answer, now);
    else
      answer_done(jobs, job, answer, now);
  }
}

/* ---- time ---- */

static void look(struct ft_jobs *jobs, struct job *job, struct ft_instant now)
{
  if (job->phase != PHASE_LIVE)
    return;
  if (job->steps && job->tree && ft_tree_alive(job->tree))
    job->idle_since = now.monotonic;
  else if (now.monotonic - job->idle_since >= jobs->settings.grace_seconds && !job->asking &&
           job->next_ask == INFINITY)
    job->next_ask = now.monotonic;
}

double ft_jobs_tick(struct ft_jobs *jobs, struct ft_instant now)
{
  double due = INFINITY;
  struct job *next;

  for (struct job *job = jobs->list; job; job = next) {
    next = job->next;
    if (now.monotonic >= job->drop_at) {
      if (job->phase == PHASE_UNKEYED)
        hand_over(jobs, job);
      drop(jobs, job);
      continue;
    }
    if (job->phase == PHASE_DONE && job->verdict.settled && !job->asking)
      ft_job_discard(job);
    else if (job->phase != PHASE_LIVE)
      ft_job_pack(job);
    look(jobs, job, now);
    if (!job->asking && now.monotonic >= job->next_ask && !is_asked(jobs, job->id)) {
      job->asking = true;
      job->next_ask = INFINITY;
      jobs->settings.ask(job->id, jobs->settings.data);
    }
    /* what is overdue waits for the answer about another run of the job */
    due = fmin(due, job->drop_at);
    if (job->next_ask > now.monotonic)
      due = fmin(due, job->next_ask);
    if (job->phase == PHASE_LIVE)
      due = fmin(due, now.monotonic + LOOK_SECONDS);
  }
  return due;
}

void ft_jobs_restore(struct ft_jobs *jobs, const ft_observation *observation)
{
  struct job *job = find(jobs, observation->job_id);

  if (!job || job->earlier || job->restart_count != observation->restart_count)
    return;
  job->earlier = malloc(sizeof *job->earlier);
  if (!job->earlier)
    return;
  *job->earlier = *observation;
  if (job->phase != PHASE_UNKEYED || !ft_job_unpack(job))
    return;
  /* its end was among the packets; the agent before us may have seen all of the run */
  if (observation->end_time > 0)
    *job->o = *observation;
  else
    ft_job_add_earlier(job, job->o);
  ft_job_infer_outcome(job);
}

/* By the rule under which the job's memory is limited. */
static double memory_now(const struct job *job)
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

bool ft_jobs_running(struct ft_jobs *jobs, unsigned number, struct ft_instant now,
                     ft_observation *out, double *now_bytes)
{
  for (struct job *job = jobs->list; job; job = job->next) {
    if (job->phase != PHASE_LIVE || !job->o || number--)
      continue;
    *out = *job->o;
    if (job->tree)
      ft_tree_observe(job->tree, out);
    ft_job_add_earlier(job, out);
    ft_job_resolve_array_task(out);
    if (!out->has_limit_bytes && job->step_limit_bytes) {
      out->has_limit_bytes = true;
      out->limit_bytes = job->step_limit_bytes;
    }
    if (out->rule == FT_RULE_UNKNOWN)
      out->rule = jobs->settings.rule;
    out->runtime_seconds = now.monotonic - job->started;
    *now_bytes = memory_now(job);
    return true;
  }
  return false;
}

static bool suspend(struct ft_jobs *jobs, struct job *job)
{
  return ft_job_unpack(job) && jobs->settings.suspend(job->o, jobs->settings.data);
}

void ft_jobs_close(struct ft_jobs *jobs)
{
  if (!jobs)
    return;
  while (jobs->list) {
    struct job *job = jobs->list;

    if (job->phase == PHASE_UNKEYED) {
      /* the next agent may learn the key: without it the run might be put twice */
      if (job->forgotten || !suspend(jobs, job))
        hand_over(jobs, job);
    } else if (job->phase == PHASE_LIVE && job->tree) {
      close_tree(jobs, job);
      ft_job_add_earlier(job, job->o);
      if (!job->forgotten)
        (void)suspend(jobs, job);
    }
    drop(jobs, job);
  }
  free(jobs);
}
