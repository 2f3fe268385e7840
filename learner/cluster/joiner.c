/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "daemon/log.h"
#include "learner/cluster/job_check.h"
#include "learner/cluster/joiner.h"
#include "learner/metrics/tally.h"
#include "predictor/core/io.h"
#include "predictor/core/random.h"
#include "predictor/history/waiting.h"

/* Largest number of jobs in a query: that of a command in slurm_query.c. */
enum { QUERY_JOBS = 256 };
/* Time from a run's arrival to the first query, seconds: Slurm's epilog and accounting come first,
 * and the runs of the job's other nodes. By judgement. */
#define FIRST_SECONDS 1.0
/* Longest time between two queries about a run, seconds. By judgement. */
#define MAX_PAUSE_SECONDS 512.0
/* Time until the next try if the store cannot be read, seconds. */
#define STORE_SECONDS 10.0
/* Time after the end of a run for which a missing record is awaited: slurmctld has removed it after
 * MinJobAge (slurm.conf(5), 300 s by default), and slurmdbd may be late. By judgement. */
#define GONE_SECONDS 3600.0
/* The random part of a pause. */
#define JITTER 0.1

struct waiting_job {
  uint32_t id;
  struct ft_known_job *known; /* NULL: Slurm has not replied */
};

struct ft_joiner {
  struct ft_joiner_settings settings;
  struct ft_random random;
  struct ft_timer timer;
  bool soon, again; /* at the end of the pass: begin the next one; with all runs */
  bool silent;      /* Slurm did not reply last */
  /* the pass over all waiting jobs, in the order of their IDs: UTC times */
  bool ended;                         /* it has asked about the last job */
  double begun, last;                 /* of this pass, and of the one before */
  double due;                         /* of the next pass */
  struct waiting_job job[QUERY_JOBS]; /* that are queried now; before `left` without a reply yet */
  size_t count, left;
  int64_t run;                      /* the number of their last run */
  uint32_t asked;                   /* the last job of the pass so far */
  ft_observation complete, waiting; /* the run being joined, and as it waits: large */
};

/* The jobs that are joined, and the run that was read last, of the first of them. */
struct join_cursor {
  const struct waiting_job *job, *end;
  int64_t last; /* the number of the last run that had come before the query */
  ft_observation *run;
};

double ft_joiner_next_age(double age)
{
  if (age < FIRST_SECONDS)
    return FIRST_SECONDS;
  return age < MAX_PAUSE_SECONDS ? exp2(floor(log2(age)) + 1)
                                 : (floor(age / MAX_PAUSE_SECONDS) + 1) * MAX_PAUSE_SECONDS;
}

static bool visit_job(uint32_t job_id, double since, int64_t run, void *data)
{
  struct ft_joiner *joiner = data;

  /* of a run of the future the clock was put back since */
  double age = joiner->begun < since ? MAX_PAUSE_SECONDS : joiner->begun - since;

  joiner->due = fmin(joiner->due, joiner->begun + ft_joiner_next_age(age) - age);
  if (joiner->last > 0 && ft_joiner_next_age(joiner->last - since) > age)
    return true;
  if (joiner->count == QUERY_JOBS) {
    joiner->ended = false;
    return false;
  }
  joiner->job[joiner->count++] = (struct waiting_job){ .id = job_id };
  joiner->asked = job_id;
  joiner->run = run > joiner->run ? run : joiner->run;
  return true;
}

/* Begins a pass in SECONDS, or earlier if it is due then. */
static void schedule_pass(struct ft_joiner *joiner, double seconds)
{
  double due = ft_io_monotonic() + fmax(seconds, 0);

  if (!joiner->timer.armed || joiner->timer.due > due)
    ft_loop_at(joiner->settings.loop, &joiner->timer, due);
}

/* Queries the jobs of the part. Returns 0; -1 if too many queries wait. */
static int query_part(struct ft_joiner *joiner)
{
  uint32_t job_id[QUERY_JOBS];

  for (size_t i = 0; i < joiner->count; i++)
    job_id[i] = joiner->job[i].id;
  joiner->left = joiner->count;
  if (ft_slurm_query_submit(joiner->settings.slurm, job_id, joiner->count) == 0)
    return 0;
  joiner->left = 0;
  return -1;
}

/* Queries the next jobs of the pass, or ends it. */
static void query_next(struct ft_joiner *joiner)
{
  struct ft_error err;
  struct ft_store *store = ft_recorder_store(joiner->settings.recorder, &err);

  joiner->count = 0;
  joiner->run = 0;
  if (!joiner->ended) {
    joiner->ended = true;
    if (!store || ft_store_each_waiting_job(store, joiner->asked, visit_job, joiner, &err) < 0) {
      ft_log(LOG_WARNING, "runs wait for Slurm's records: %s", err.text);
      joiner->count = 0;
      joiner->due = joiner->begun + STORE_SECONDS;
    }
  }
  if (joiner->count) {
    if (query_part(joiner) == 0)
      return;
    joiner->ended = true;
    joiner->due = joiner->begun + MAX_PAUSE_SECONDS;
  }
  joiner->last = joiner->again ? 0 : joiner->begun;
  joiner->again = false;
  if (joiner->soon)
    schedule_pass(joiner, joiner->last > 0 ? FIRST_SECONDS : 0);
  else if (joiner->due < INFINITY)
    schedule_pass(joiner,
                  (joiner->due - ft_io_now()) * (1 + JITTER * ft_random_double(&joiner->random)));
}

static void begin_join_pass(void *data)
{
  struct ft_joiner *joiner = data;

  joiner->begun = ft_io_now();
  joiner->due = INFINITY;
  joiner->soon = joiner->ended = false;
  joiner->count = 0;
  joiner->asked = 0;
  query_next(joiner);
}

void ft_joiner_query_soon(struct ft_joiner *joiner)
{
  joiner->soon = true;
  if (!joiner->left)
    schedule_pass(joiner, FIRST_SECONDS);
}

/* ---- joining ---- */

/* Reads the next waiting run. AT's run has an empty node before. Returns 1; 0 at the end; -1 and
 * ERR. */
static int read_next(struct ft_joiner *joiner, struct join_cursor *at, struct ft_error *err)
{
  struct ft_store *store = ft_recorder_store(joiner->settings.recorder, err);

  if (!store)
    return -1;
  while (at->job < at->end) {
    int status;

    at->run->job_id = at->job->id;
    status = ft_store_next_waiting(store, at->run, at->last, err);
    if (status)
      return status;
    at->job++;
    at->run->node[0] = '\0';
  }
  return 0;
}

/* Joins AT's run with Slurm's record: stores it, refuses it, or lets it wait on. Returns as
 * ft_recorder_add. */
static int join_run(struct ft_joiner *joiner, const struct join_cursor *at, struct ft_error *err)
{
  struct ft_store *store = ft_recorder_store(joiner->settings.recorder, err);
  ft_observation *run = at->run, *o = &joiner->complete;
  struct ft_error why;
  int status;

  if (!store)
    return -1;
  *o = *run;
  o->unsettled = o->unsettled || o->outcome == FT_OUTCOME_UNKNOWN;
  switch (ft_known_job_join(at->job->known, o, &why)) {
  case FT_JOB_UNKNOWN:
    if (o->submit_time == run->submit_time)
      return 0;
    run->submit_time = o->submit_time;
    return ft_store_wait(store, run, err);
  case FT_JOB_DIFFERS:
    joiner->settings.refuse(&why, joiner->settings.data);
    return ft_store_end_wait(store, run, err);
  case FT_JOB_GONE:
    if (ft_io_now() - run->end_time < GONE_SECONDS)
      return 0;
    o->unsettled = false;
    ft_tally_add(FT_TALLY_RUNS_UNCHECKED, 1);
    break;
  case FT_JOB_MATCHES:
    break;
  }
  status = joiner->settings.store(o, joiner->settings.data, err);
  if (status)
    return status;
  ft_log(LOG_DEBUG, "job %" PRIu32 ": %s, %s in %.1f s by Slurm's record", o->job_id,
         o->submission.app[0] ? o->submission.app : "no app", ft_outcome_name(o->outcome),
         o->runtime_seconds);
  return ft_store_end_wait(store, run, err);
}

/* Joins the next runs in one transaction. Returns as read_next; if it fails, AT stays. */
static int join_together(struct ft_joiner *joiner, struct join_cursor *at, struct ft_error *err)
{
  const struct join_cursor before = *at;
  const double start_time = at->run->start_time;
  char node[sizeof at->run->node];
  int more = 1, status = joiner->settings.begin(joiner->settings.data, err);

  if (status < 0)
    return -1;
  memcpy(node, at->run->node, sizeof node);
  for (int i = 0; i < FT_RECORDER_TOGETHER / 2 && status == 0 && more > 0; i++) {
    more = read_next(joiner, at, err);
    if (more > 0)
      status = join_run(joiner, at, err);
  }
  if (status == 0 && more >= 0)
    status = joiner->settings.end(true, joiner->settings.data, err);
  else
    (void)joiner->settings.end(false, joiner->settings.data, NULL);
  if (status == 0 && more >= 0)
    return more;
  *at = before;
  at->run->start_time = start_time;
  memcpy(at->run->node, node, sizeof node);
  return -1;
}

/* Joins the next run in a transaction of its own. Removes it if the store refuses it. Returns as
 * read_next. */
static int join_alone(struct ft_joiner *joiner, struct join_cursor *at, struct ft_error *err)
{
  int more = read_next(joiner, at, err), status;

  if (more <= 0)
    return more;
  status = join_run(joiner, at, err);
  if (status <= 0)
    return status < 0 ? -1 : 1;
  joiner->settings.refuse(err, joiner->settings.data);
  return ft_store_end_wait(ft_recorder_store(joiner->settings.recorder, err), at->run, err) < 0 ? -1
                                                                                                : 1;
}

static void join_jobs(struct ft_joiner *joiner, struct join_cursor *at)
{
  struct ft_error err;
  int more;

  at->run = &joiner->waiting;
  at->run->node[0] = '\0';
  do {
    more = join_together(joiner, at, &err);
    for (int i = 0; i < FT_RECORDER_TOGETHER && more && (i || more < 0); i++)
      more = join_alone(joiner, at, &err);
  } while (more > 0);
  if (more < 0)
    ft_log(LOG_WARNING, "runs wait to be stored: %s", err.text);
}

/* Joins the runs of the part. Slurm has replied about all its jobs. */
static void join_part(struct ft_joiner *joiner)
{
  struct join_cursor at = { .job = joiner->job,
                            .end = joiner->job + joiner->count,
                            .last = joiner->run };

  join_jobs(joiner, &at);
  for (size_t i = 0; i < joiner->count; i++)
    free(joiner->job[i].known);
}

void ft_joiner_replied(struct ft_joiner *joiner, uint32_t job_id,
                       const struct ft_slurm_reply *reply)
{
  bool answered = reply->record || reply->gone;
  size_t i = 0;

  if (answered && joiner->silent) {
    joiner->again = joiner->soon = true;
    joiner->last = 0;
    if (!joiner->left)
      schedule_pass(joiner, 0);
  }
  joiner->silent = !answered;
  while (i < joiner->left && joiner->job[i].id != job_id)
    i++;
  if (i == joiner->left)
    return;
  joiner->left--;
  joiner->job[i] = joiner->job[joiner->left];
  joiner->job[joiner->left] = (struct waiting_job){ job_id, ft_known_job_new(reply) };
  if (joiner->left)
    return;
  join_part(joiner);
  query_next(joiner);
}

struct ft_joiner *ft_joiner_open(const struct ft_joiner_settings *settings)
{
  struct ft_joiner *joiner = calloc(1, sizeof *joiner);

  if (!joiner)
    return NULL;
  joiner->settings = *settings;
  joiner->timer = (struct ft_timer){ .fire = begin_join_pass, .data = joiner };
  ft_random_seed(&joiner->random, (uint64_t)(1e6 * ft_io_now()));
  schedule_pass(joiner, 0);
  return joiner;
}

void ft_joiner_close(struct ft_joiner *joiner)
{
  if (!joiner)
    return;
  ft_loop_cancel(joiner->settings.loop, &joiner->timer);
  for (size_t i = joiner->left; joiner->left && i < joiner->count; i++)
    free(joiner->job[i].known);
  free(joiner);
}
