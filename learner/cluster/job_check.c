/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "learner/cluster/job_check.h"
#include "learner/cluster/node_list.h"

/* Jobs that are remembered, about 200 bytes each: of 5,000 nodes with six each. */
enum { JOBS_LIMIT = 1 << 15 };
/* Age from which a record that differs is queried again: job IDs begin again after MaxJobId, and a
 * job may get further nodes. */
#define FRESH_SECONDS 30.0

struct known_job {
  uint32_t job_id; /* first: the key of the tree */
  bool known;      /* Slurm has a record, from which the rest comes */
  bool absent;
  double time; /* of the reply, monotonic */
  uint32_t uid, restart_count, node_count;
  bool identified;
  uint32_t het_offset, array_job_id, array_task_id;
  TAILQ_ENTRY(known_job) link;
  size_t user_size; /* of the user's name with its NUL, at the beginning of `text` */
  char text[];      /* after it the list of nodes */
};

struct ft_job_checks {
  void *tree;                   /* of tsearch, by job ID */
  TAILQ_HEAD(, known_job) jobs; /* the oldest first */
  size_t count;
};

/* Order of jobs by ID; A and B are jobs, or IDs. */
static int compare_job_ids(const void *a, const void *b)
{
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

  return (x > y) - (x < y);
}

static struct known_job *find_known_job(const struct ft_job_checks *checks, uint32_t job_id)
{
  struct known_job *const *node = tfind(&job_id, &checks->tree, compare_job_ids);

  return node ? *node : NULL;
}

static void remove_known_job(struct ft_job_checks *checks, struct known_job *job)
{
  (void)tdelete(job, &checks->tree, compare_job_ids);
  TAILQ_REMOVE(&checks->jobs, job, link);
  checks->count--;
  free(job);
}

struct ft_job_checks *ft_job_checks_open(void)
{
  struct ft_job_checks *checks = calloc(1, sizeof *checks);

  if (checks)
    TAILQ_INIT(&checks->jobs);
  return checks;
}

void ft_job_checks_close(struct ft_job_checks *checks)
{
  if (!checks)
    return;
  while (!TAILQ_EMPTY(&checks->jobs))
    remove_known_job(checks, TAILQ_FIRST(&checks->jobs));
  free(checks);
}

/* Returns a job from REPLY; NULL out of memory. */
static struct known_job *new_known_job(uint32_t job_id, const struct ft_slurm_reply *reply)
{
  const ft_slurm_job *record = reply->record;
  const char *user = record ? record->user : "";
  size_t user_size = strlen(user) + 1, list = ft_text_left(&reply->nodes);
  struct known_job *job = calloc(1, sizeof *job + user_size + list + 1);

  if (!job)
    return NULL;
  job->job_id = job_id;
  job->absent = reply->absent;
  job->user_size = user_size;
  memcpy(job->text, user, user_size);
  if (list)
    memcpy(job->text + user_size, reply->nodes.at, list);
  if (!record)
    return job;
  job->known = true;
  job->uid = record->uid;
  job->restart_count = record->restart_count;
  job->node_count = record->nodes;
  job->identified = record->identified;
  job->het_offset = record->het_offset;
  job->array_job_id = record->array_job_id;
  job->array_task_id = record->array_task_id;
  return job;
}

void ft_job_checks_add(struct ft_job_checks *checks, uint32_t job_id,
                       const struct ft_slurm_reply *reply, double now)
{
  struct known_job *before = find_known_job(checks, job_id), *job = new_known_job(job_id, reply);

  if (before)
    remove_known_job(checks, before);
  if (checks->count == JOBS_LIMIT)
    remove_known_job(checks, TAILQ_FIRST(&checks->jobs));
  if (!job || !tsearch(job, &checks->tree, compare_job_ids)) {
    free(job);
    return;
  }
  job->time = now;
  TAILQ_INSERT_TAIL(&checks->jobs, job, link);
  checks->count++;
}

/* Whether NAME is a user's name: a host that finds none prints the uid. */
static bool is_user_name(const char *name)
{
  return name[strspn(name, "0123456789")] != '\0';
}

/* Fills ERR if RUN differs from the record JOB. Returns 0; -1 and ERR. Of a job that has been
 * requeued since, Slurm may name the nodes of the later attempt only. */
static int compare_record(const struct known_job *job, const ft_observation *run,
                          struct ft_error *err)
{
  const char *user = job->text, *nodes = job->text + job->user_size;

  if (run->uid != job->uid)
    return ft_error_set(err, "job %" PRIu32 " of node %s: user %" PRIu32 ", Slurm has %" PRIu32,
                        run->job_id, run->node, run->uid, job->uid);
  if (is_user_name(run->user) && is_user_name(user) && strcmp(run->user, user) != 0)
    return ft_error_set(err, "job %" PRIu32 " of node %s: user %s, Slurm has %s", run->job_id,
                        run->node, run->user, user);
  if (nodes[0] && run->restart_count >= job->restart_count &&
      !ft_node_list_has(ft_text_from(nodes), run->node))
    return ft_error_set(err, "job %" PRIu32 " of node %s: Slurm has the nodes %.64s", run->job_id,
                        run->node, nodes);
  return 0;
}

enum ft_job_match ft_job_checks_compare(const struct ft_job_checks *checks,
                                        const ft_observation *run, bool asked, double now,
                                        struct ft_error *err)
{
  const struct known_job *job = find_known_job(checks, run->job_id);
  bool old = !job || now - job->time > FRESH_SECONDS;

  if (!run->job_id) {
    (void)ft_error_set(err, "a run of node %s has no job", run->node);
    return FT_JOB_DIFFERS;
  }
  if (job && job->known && (asked || run->restart_count <= job->restart_count) &&
      compare_record(job, run, err) == 0)
    return FT_JOB_MATCHES;
  if (!asked && (old || (job->known && run->restart_count > job->restart_count)))
    return FT_JOB_UNASKED;
  if (!job || (!job->known && !job->absent))
    return FT_JOB_UNKNOWN;
  if (job->absent)
    (void)ft_error_set(err, "job %" PRIu32 " of node %s: Slurm has no such job", run->job_id,
                       run->node);
  return FT_JOB_DIFFERS;
}

void ft_job_checks_complete(const struct ft_job_checks *checks, ft_observation *run)
{
  const struct known_job *job = find_known_job(checks, run->job_id);

  if (!job || !job->known)
    return;
  if (job->identified) {
    run->het_offset = job->het_offset;
    run->array_job_id = job->array_job_id;
    run->array_task_id = job->array_task_id;
  }
  if (job->node_count && run->restart_count == job->restart_count)
    run->allocated_nodes = job->node_count;
}
