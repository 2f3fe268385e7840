/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/slurm_query.h"
#include "agent/log.h"
#include "predictor/core/io.h"

/* slurmctld answers within milliseconds; a busy one within its MessageTimeout (10 s by default,
 * slurm.conf(5)). */
#define DEADLINE_SECONDS 12.0
enum { AT_ONCE = 4, QUEUE = 8192 };

struct question {
  struct ft_slurm_query *asker;
  uint32_t job_id;
  bool running;
};

struct ft_slurm_query {
  struct ft_loop *loop;
  struct ft_subprocesses *children;
  char program[PATH_MAX];
  ft_slurm_query_callback *call;
  void *data;
  struct question question[AT_ONCE];
  struct ft_timer next; /* answers never come from inside ft_slurm_query_submit */
  uint32_t queue[QUEUE];
  unsigned first, count;
  bool silent; /* said that nobody answers */
  bool held;
};

void ft_slurm_query_program(const char *folder, char *out, size_t size)
{
  (void)snprintf(out, size, "%s%sscontrol", folder, folder[0] ? "/" : "");
}

static void next(void *data);

static void later(struct ft_slurm_query *asker)
{
  if (!asker->next.armed)
    ft_loop_at(asker->loop, &asker->next, ft_io_monotonic());
}

static void complain(struct ft_slurm_query *asker, const char *why)
{
  if (!asker->silent)
    ft_log(LOG_WARNING, "Slurm does not say how jobs end: %s", why);
  asker->silent = true;
}

static void answered(const struct ft_subprocess_result *result, void *data)
{
  struct question *q = data;
  struct ft_slurm_query *asker = q->asker;
  uint32_t job_id = q->job_id;
  struct ft_slurm_job job;
  struct ft_error err;
  bool known = false;

  q->running = false;
  if (!result->ok) {
    complain(asker, result->why);
  } else if (ft_scontrol_job(ft_text_of(result->text, result->length), job_id, &job, &err) < 0) {
    complain(asker, err.text);
  } else {
    known = true;
    asker->silent = false;
  }
  asker->call(job_id, known ? &job : NULL, asker->data);
  later(asker);
}

static struct question *spare(struct ft_slurm_query *asker)
{
  for (int i = 0; i < AT_ONCE; i++)
    if (!asker->question[i].running)
      return &asker->question[i];
  return NULL;
}

static int start(struct ft_slurm_query *asker, struct question *q, uint32_t job_id)
{
  char id[16];
  const char *argv[] = { asker->program, "show", "job", "-o", id, NULL };
  struct ft_error err;

  (void)snprintf(id, sizeof id, "%" PRIu32, job_id);
  *q = (struct question){ asker, job_id, true };
  if (ft_subprocess_run(asker->children, argv, DEADLINE_SECONDS, answered, q, &err) == 0)
    return 0;
  complain(asker, err.text);
  q->running = false;
  return -1;
}

static void next(void *data)
{
  struct ft_slurm_query *asker = data;
  struct question *q;

  while (!asker->held && asker->count && (q = spare(asker))) {
    uint32_t job_id = asker->queue[asker->first];

    asker->first = (asker->first + 1) % QUEUE;
    asker->count--;
    if (start(asker, q, job_id) < 0)
      asker->call(job_id, NULL, asker->data);
  }
}

struct ft_slurm_query *ft_slurm_query_open(struct ft_loop *loop, struct ft_subprocesses *children,
                                           ft_slurm_query_callback *call, void *data)
{
  struct ft_slurm_query *asker = calloc(1, sizeof *asker);

  if (!asker)
    return NULL;
  asker->loop = loop;
  asker->children = children;
  asker->call = call;
  asker->data = data;
  asker->next = (struct ft_timer){ .fire = next, .data = asker };
  ft_slurm_query_set_directory(asker, "");
  return asker;
}

void ft_slurm_query_close(struct ft_slurm_query *asker)
{
  if (!asker)
    return;
  ft_loop_cancel(asker->loop, &asker->next);
  free(asker);
}

void ft_slurm_query_set_directory(struct ft_slurm_query *asker, const char *folder)
{
  ft_slurm_query_program(folder, asker->program, sizeof asker->program);
}

void ft_slurm_query_pause(struct ft_slurm_query *asker, bool held)
{
  asker->held = held;
  later(asker);
}

void ft_slurm_query_submit(struct ft_slurm_query *asker, uint32_t job_id)
{
  /* jobs are at most FT_JOBS_LIMIT and each asks once at a time: the queue cannot be full */
  if (asker->count < QUEUE)
    asker->queue[(asker->first + asker->count++) % QUEUE] = job_id;
  later(asker);
}
