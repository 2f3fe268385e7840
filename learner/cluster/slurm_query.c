/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/log.h"
#include "learner/cluster/slurm_query.h"
#include "learner/metrics/tally.h"
#include "predictor/core/io.h"

/* slurmctld replies within milliseconds, a busy one within MessageTimeout (slurm.conf(5), 10 s by
 * default). */
#define DEADLINE_SECONDS 12.0
enum {
  MAX_RUNNING = 4,  /* chosen by judgement: few, to spare slurmctld */
  MAX_QUEUED = 8192 /* twice FT_JOBS_LIMIT */
};

struct job_query {
  struct ft_slurm_query *query;
  uint32_t job_id;
  bool busy;
};

struct ft_slurm_query {
  struct ft_loop *loop;
  struct ft_subprocesses *children;
  char program[PATH_MAX];
  ft_slurm_query_callback *call;
  void *data;
  struct job_query slot[MAX_RUNNING];
  struct ft_timer start_timer; /* callbacks never run inside ft_slurm_query_submit */
  uint32_t queue[MAX_QUEUED];
  unsigned first, count;
  bool warned; /* that queries fail */
  bool paused;
};

void ft_slurm_query_program(const char *directory, char *out, size_t size)
{
  (void)snprintf(out, size, "%s%sscontrol", directory, directory[0] ? "/" : "");
}

static void start_queued(void *data);

static void schedule_start(struct ft_slurm_query *query)
{
  if (!query->start_timer.armed)
    ft_loop_at(query->loop, &query->start_timer, ft_io_monotonic());
}

static void warn_once(struct ft_slurm_query *query, const char *why)
{
  if (!query->warned)
    ft_log(LOG_WARNING, "cannot query job states from Slurm: %s", why);
  query->warned = true;
}

static void query_finished(const struct ft_subprocess_result *result, void *data)
{
  struct job_query *q = data;
  struct ft_slurm_query *query = q->query;
  uint32_t job_id = q->job_id;
  ft_slurm_job job;
  struct ft_error err;
  bool valid = false;

  q->busy = false;
  if (!result->ok) {
    warn_once(query, result->why);
  } else if (ft_scontrol_job(ft_text_of(result->text, result->length), job_id, &job, &err) < 0) {
    warn_once(query, err.text);
  } else {
    valid = true;
    query->warned = false;
  }
  ft_tally_add(FT_TALLY_JOB_QUERIES, 1);
  ft_tally_add(FT_TALLY_JOB_QUERIES_FAILED, !valid);
  query->call(job_id, valid ? &job : NULL, query->data);
  schedule_start(query);
}

static struct job_query *free_slot(struct ft_slurm_query *query)
{
  for (int i = 0; i < MAX_RUNNING; i++)
    if (!query->slot[i].busy)
      return &query->slot[i];
  return NULL;
}

static int start_query(struct ft_slurm_query *query, struct job_query *q, uint32_t job_id)
{
  char id[16];
  const char *argv[] = { query->program, "show", "job", "-o", id, NULL };
  struct ft_error err;

  (void)snprintf(id, sizeof id, "%" PRIu32, job_id);
  *q = (struct job_query){ query, job_id, true };
  if (ft_subprocess_run(query->children, argv, DEADLINE_SECONDS, query_finished, q, &err) == 0)
    return 0;
  warn_once(query, err.text);
  q->busy = false;
  return -1;
}

static void start_queued(void *data)
{
  struct ft_slurm_query *query = data;
  struct job_query *q;

  while (!query->paused && query->count && (q = free_slot(query))) {
    uint32_t job_id = query->queue[query->first];

    query->first = (query->first + 1) % MAX_QUEUED;
    query->count--;
    if (start_query(query, q, job_id) < 0)
      query->call(job_id, NULL, query->data);
  }
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
  query->start_timer = (struct ft_timer){ .fire = start_queued, .data = query };
  ft_slurm_query_set_directory(query, "");
  return query;
}

void ft_slurm_query_close(struct ft_slurm_query *query)
{
  if (!query)
    return;
  ft_loop_cancel(query->loop, &query->start_timer);
  free(query);
}

void ft_slurm_query_set_directory(struct ft_slurm_query *query, const char *directory)
{
  ft_slurm_query_program(directory, query->program, sizeof query->program);
}

void ft_slurm_query_pause(struct ft_slurm_query *query, bool paused)
{
  query->paused = paused;
  schedule_start(query);
}

void ft_slurm_query_submit(struct ft_slurm_query *query, uint32_t job_id)
{
  /* at most FT_JOBS_LIMIT jobs exist, each with one query at a time: the queue cannot be full */
  if (query->count < MAX_QUEUED)
    query->queue[(query->first + query->count++) % MAX_QUEUED] = job_id;
  schedule_start(query);
}
