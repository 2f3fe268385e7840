/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "daemon/log.h"
#include "learner/cluster/job_replies.h"
#include "learner/cluster/slurm_query.h"
#include "learner/metrics/tally.h"
#include "predictor/core/array_grow.h"
#include "predictor/core/io.h"
#include "predictor/core/random.h"

/* slurmctld replies within milliseconds, a busy one within MessageTimeout (slurm.conf(5), 10 s by
 * default). What has not been printed by then is queried again. */
#define DEADLINE_SECONDS 12.0
/* Time between the starts of two commands, so that Slurm gets at most five a second however many
 * jobs end. A part of it, at most JITTER, is random. */
#define INTERVAL_SECONDS 0.25
#define JITTER 0.2

enum {
  BATCH_JOBS = 256,     /* jobs of one command: half a second of a busy slurmctld */
  BATCH_QUERIES = 4096, /* queries that one command answers; nodes of one job each have one */
  QUEUE_LIMIT = 1 << 20 /* 10,000 nodes with 64 jobs (ft_jobs_query) each, and some more */
};

/* A command of Slurm, with the queries that wait for it and those that it is answering. */
struct query_stage {
  struct ft_slurm_query *query;
  int (*start)(struct query_stage *stage, struct ft_error *err);
  char program[PATH_MAX];
  uint32_t *queue; /* job IDs, from FIRST to before END */
  size_t first, end, capacity;
  /* the command that is running: its jobs, and how many queries each answers */
  uint32_t job_id[BATCH_JOBS], queries[BATCH_JOBS];
  size_t count;
  size_t limit;          /* of the jobs of the next command */
  bool busy, warned;     /* a command is running; the current failure is logged */
  double not_before;     /* monotonic; no command starts before */
  struct ft_timer timer; /* of the next command: callbacks never run inside a submission */
};

struct ft_slurm_query {
  struct ft_loop *loop;
  struct ft_subprocesses *children;
  ft_slurm_query_callback *call;
  void *data;
  struct query_stage controller, slurmdbd;
  struct ft_reply_mark mark; /* of the command that is running */
  struct ft_random random;
  bool paused, has_slurmdbd;
  bool sees_all; /* slurmdbd shows this user the jobs of others, despite PrivateData */
};

void ft_slurm_query_program(const char *directory, const char *name, char *out, size_t size)
{
  (void)snprintf(out, size, "%s%s%s", directory, directory[0] ? "/" : "", name);
}

/* ---- queue ---- */

static bool stage_is_paused(const struct query_stage *stage)
{
  return stage == &stage->query->controller && stage->query->paused;
}

static void schedule_stage(struct query_stage *stage)
{
  if (stage->busy || stage->first == stage->end || stage->timer.armed || stage_is_paused(stage))
    return;
  ft_loop_at(stage->query->loop, &stage->timer, stage->not_before);
}

/* Returns 0; -1 if the queue is full. */
static int queue_job(struct query_stage *stage, uint32_t job_id)
{
  uint32_t *grown;

  if (stage->end == stage->capacity && stage->first) {
    memmove(stage->queue, stage->queue + stage->first,
            (stage->end - stage->first) * sizeof *stage->queue);
    stage->end -= stage->first;
    stage->first = 0;
  }
  grown = ft_array_grow(stage->queue, &stage->capacity, stage->end, sizeof *grown, QUEUE_LIMIT);
  if (!grown)
    return -1;
  stage->queue = grown;
  stage->queue[stage->end++] = job_id;
  return 0;
}

/* Returns the index of JOB_ID among the jobs of the command; their number if it is not there. */
static size_t batch_position(const struct query_stage *stage, uint32_t job_id)
{
  size_t i = 0;

  while (i < stage->count && stage->job_id[i] != job_id)
    i++;
  return i;
}

/* Moves queries from the queue into the command. */
static void fill_batch(struct query_stage *stage)
{
  stage->count = 0;
  for (int n = 0; n < BATCH_QUERIES && stage->first < stage->end; n++) {
    uint32_t job_id = stage->queue[stage->first];
    size_t i = batch_position(stage, job_id);

    if (i == stage->limit)
      return;
    if (i == stage->count) {
      stage->job_id[i] = job_id;
      stage->queries[i] = 0;
      stage->count++;
    }
    stage->queries[i]++;
    stage->first++;
  }
}

/* ---- results ---- */

static void warn_once(struct query_stage *stage, const char *why)
{
  if (!stage->warned)
    ft_log(LOG_WARNING, "cannot query job states from Slurm: %s", why);
  stage->warned = true;
}

static const struct ft_slurm_reply no_reply, no_job = { .gone = true };

/* Passes REPLY to each query of the command's job I. */
static void answer_queries(struct query_stage *stage, size_t i, const struct ft_slurm_reply *reply)
{
  struct ft_slurm_query *query = stage->query;

  ft_tally_add(FT_TALLY_JOB_QUERIES, stage->queries[i]);
  ft_tally_add(FT_TALLY_JOB_QUERIES_FAILED, reply->record ? 0 : stage->queries[i]);
  for (uint32_t n = 0; n < stage->queries[i]; n++)
    query->call(stage->job_id[i], reply, query->data);
}

/* Queues the queries of the command's job I for STAGE; they fail if there is no room. */
static void requeue_queries(const struct query_stage *from, size_t i, struct query_stage *stage)
{
  struct ft_slurm_query *query = stage->query;

  for (uint32_t n = 0; n < from->queries[i]; n++)
    if (queue_job(stage, from->job_id[i]) < 0)
      query->call(from->job_id[i], &no_reply, query->data);
}

static void end_query_batch(struct query_stage *stage)
{
  stage->busy = false;
  schedule_stage(stage);
}

/* Whether slurmctld limits the requests of this user (rl_enable), or did some minutes ago. */
static bool is_limited(const struct ft_slurm_query *query)
{
  return query->controller.limit < BATCH_JOBS;
}

/* Fails the command's jobs from FIRST on; or only that one, and the others are queried AGAIN. If
 * slurmctld has too few replies for all, slurmdbd is queried instead. */
static void fail_jobs(struct query_stage *stage, size_t first, bool again)
{
  for (size_t i = first; i < stage->count; i++)
    if (again && stage->query->has_slurmdbd)
      requeue_queries(stage, i, &stage->query->slurmdbd);
    else if (again && i > first)
      requeue_queries(stage, i, stage);
    else
      answer_queries(stage, i, &no_reply);
}

/*
 * Sets the number of jobs of the next command from the REPLIES to the last one. If slurmctld did
 * not reply about all jobs in time, it limits requests (rl_enable), and the number is REPLIES;
 * otherwise it grows by one.
 */
static void limit_batch(struct query_stage *stage, size_t replies)
{
  if (replies < stage->count)
    stage->limit = replies ? replies : 1;
  else if (stage->limit < BATCH_JOBS)
    stage->limit++;
}

static void scontrol_finished(const struct ft_subprocess_result *result, void *data)
{
  struct query_stage *stage = data;
  struct ft_slurm_query *query = stage->query;
  struct ft_text output = ft_text_of(result->text, result->length), text;
  size_t i = 0, found = 0;
  ft_slurm_job record;
  struct ft_slurm_reply reply = { .record = &record };
  struct ft_error err;

  for (; i < stage->count && ft_job_reply_next(&output, &query->mark, &text); i++) {
    if (ft_scontrol_job(text, stage->job_id[i], &record, &reply.nodes, &err) == 0) {
      found++;
      answer_queries(stage, i, &reply);
    } else if (query->has_slurmdbd) {
      requeue_queries(stage, i, &query->slurmdbd);
    } else {
      answer_queries(stage, i, ft_job_reply_none(text) ? &no_job : &no_reply);
    }
  }
  limit_batch(stage, i);
  if (i < stage->count)
    warn_once(stage, result->ok ? "scontrol: expected a reply to each command" : result->why);
  else if (!found &&
           ft_job_reply_error(ft_text_of(result->text, result->length), err.text, sizeof err.text))
    warn_once(stage, err.text);
  else
    stage->warned = false;
  /* a job with an endless record, or without a reply of slurmctld, delays no other job */
  fail_jobs(stage, i, i > 0 || result->too_long);
  schedule_stage(&query->slurmdbd);
  end_query_batch(stage);
}

static void sacct_finished(const struct ft_subprocess_result *result, void *data)
{
  struct query_stage *stage = data;
  struct ft_slurm_query *query = stage->query;
  ft_slurm_job *record = result->ok ? calloc(stage->count, sizeof *record) : NULL;
  struct ft_text nodes[BATCH_JOBS];
  struct ft_slurm_reply reply;

  if (!record) {
    warn_once(stage, result->ok ? "out of memory" : result->why);
    fail_jobs(stage, 0, false);
  } else {
    stage->warned = false;
    ft_sacct_jobs(ft_text_of(result->text, result->length), stage->job_id, stage->count, record,
                  nodes);
    for (size_t i = 0; i < stage->count; i++)
      query->sees_all = query->sees_all || (record[i].known && record[i].uid != geteuid());
    for (size_t i = 0; i < stage->count; i++) {
      reply = (struct ft_slurm_reply){ .record = record[i].known ? &record[i] : NULL,
                                       .nodes = nodes[i],
                                       .gone = !nodes[i].at && !query->controller.warned &&
                                               !is_limited(query) };
      reply.absent = reply.gone && query->sees_all;
      answer_queries(stage, i, &reply);
    }
  }
  free(record);
  end_query_batch(stage);
}

/* ---- commands ---- */

static int start_scontrol(struct query_stage *stage, struct ft_error *err)
{
  struct ft_slurm_query *query = stage->query;
  const char *argv[] = { stage->program, "-o", NULL };
  struct ft_buf commands;
  uint64_t secret;
  int status;

  if (getrandom(&secret, sizeof secret, 0) != sizeof secret)
    return ft_error_errno(err, "getrandom");
  ft_reply_mark_set(&query->mark, secret);
  ft_buf_init(&commands, FT_LIMIT_RECORD);
  status = ft_job_commands(stage->job_id, stage->count, &query->mark, &commands);
  if (status < 0)
    (void)ft_error_set(err, "out of memory");
  else
    status = ft_subprocess_run_input(query->children, argv, ft_buf_text(&commands), commands.length,
                                     DEADLINE_SECONDS, scontrol_finished, stage, err);
  ft_buf_free(&commands);
  return status;
}

static int start_sacct(struct query_stage *stage, struct ft_error *err)
{
  char jobs[BATCH_JOBS * sizeof "4294967295,"];
  const char *argv[] = { stage->program, FT_SACCT_OPTIONS, FT_SACCT_COLUMNS, "-j", jobs, NULL };
  size_t used = 0;

  for (size_t i = 0; i < stage->count; i++)
    used += (size_t)snprintf(jobs + used, sizeof jobs - used, "%s%" PRIu32, i ? "," : "",
                             stage->job_id[i]);
  return ft_subprocess_run(stage->query->children, argv, DEADLINE_SECONDS, sacct_finished, stage,
                           err);
}

/* Moves the queries that would wait for a slurmctld that limits them to slurmdbd, which has one
 * request for many jobs. */
static void relieve_controller(struct ft_slurm_query *query)
{
  struct query_stage *stage = &query->controller;

  if (!query->has_slurmdbd || !is_limited(query))
    return;
  while (stage->first < stage->end && queue_job(&query->slurmdbd, stage->queue[stage->first]) == 0)
    stage->first++;
  schedule_stage(&query->slurmdbd);
}

static void start_stage(void *data)
{
  struct query_stage *stage = data;
  struct ft_slurm_query *query = stage->query;
  struct ft_error err;

  if (stage->busy || stage->first == stage->end || stage_is_paused(stage))
    return;
  fill_batch(stage);
  if (stage == &query->controller)
    relieve_controller(query);
  stage->busy = true;
  stage->not_before =
      ft_io_monotonic() + INTERVAL_SECONDS * (1 - JITTER * ft_random_double(&query->random));
  if (stage->start(stage, &err) == 0)
    return;
  warn_once(stage, err.text);
  fail_jobs(stage, 0, false);
  end_query_batch(stage);
}

/* ---- opening ---- */

static void open_stage(struct ft_slurm_query *query, struct query_stage *stage,
                       int (*start)(struct query_stage *, struct ft_error *))
{
  stage->query = query;
  stage->start = start;
  stage->limit = BATCH_JOBS;
  stage->timer = (struct ft_timer){ .fire = start_stage, .data = stage };
}

static void close_stage(struct query_stage *stage)
{
  ft_loop_cancel(stage->query->loop, &stage->timer);
  free(stage->queue);
}

struct ft_slurm_query *ft_slurm_query_open(struct ft_loop *loop, struct ft_subprocesses *children,
                                           ft_slurm_query_callback *call, void *data)
{
  struct ft_slurm_query *query = calloc(1, sizeof *query);

  if (!query)
    return NULL;
  query->loop = loop;
  query->children = children;
  query->call = call;
  query->data = data;
  query->sees_all = geteuid() == 0;
  ft_random_seed(&query->random, (uint64_t)(1e6 * ft_io_now()));
  open_stage(query, &query->controller, start_scontrol);
  open_stage(query, &query->slurmdbd, start_sacct);
  ft_slurm_query_set_directory(query, "");
  return query;
}

void ft_slurm_query_close(struct ft_slurm_query *query)
{
  if (!query)
    return;
  close_stage(&query->controller);
  close_stage(&query->slurmdbd);
  free(query);
}

void ft_slurm_query_set_directory(struct ft_slurm_query *query, const char *directory)
{
  ft_slurm_query_program(directory, "scontrol", query->controller.program,
                         sizeof query->controller.program);
  ft_slurm_query_program(directory, "sacct", query->slurmdbd.program,
                         sizeof query->slurmdbd.program);
}

void ft_slurm_query_set_slurmdbd(struct ft_slurm_query *query, bool slurmdbd)
{
  query->has_slurmdbd = slurmdbd;
}

void ft_slurm_query_pause(struct ft_slurm_query *query, bool paused)
{
  query->paused = paused;
  schedule_stage(&query->controller);
}

int ft_slurm_query_submit(struct ft_slurm_query *query, const uint32_t *job_id, size_t count)
{
  struct query_stage *stage = &query->controller;
  size_t queued = 0;

  while (queued < count && queue_job(stage, job_id[queued]) == 0)
    queued++;
  if (queued < count) {
    stage->end -= queued;
    return -1;
  }
  schedule_stage(stage);
  return 0;
}
