/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "learner/cluster/job_check.h"
#include "learner/cluster/node_list.h"

struct ft_known_job {
  bool known; /* Slurm has `record` */
  bool gone, absent;
  ft_slurm_job record;
  char nodes[]; /* the list */
};

struct ft_known_job *ft_known_job_new(const struct ft_slurm_reply *reply)
{
  size_t list = ft_text_left(&reply->nodes);
  struct ft_known_job *job = calloc(1, sizeof *job + list + 1);

  if (!job)
    return NULL;
  job->gone = reply->gone;
  job->absent = reply->absent;
  job->known = reply->record != NULL;
  if (job->known)
    job->record = *reply->record;
  if (list)
    memcpy(job->nodes, reply->nodes.at, list);
  return job;
}

/* Whether NAME is a user's name: a host that finds none prints the uid. */
static bool is_user_name(const char *name)
{
  return name[strspn(name, "0123456789")] != '\0';
}

/* Fills ERR if RUN differs from the record JOB. Returns 0; -1 and ERR. Of a job that has been
 * requeued since, Slurm may name the nodes of the later attempt only. */
static int compare_record(const struct ft_known_job *job, const ft_observation *run,
                          struct ft_error *err)
{
  const char *user = job->record.user, *nodes = job->nodes;

  if (run->uid != job->record.uid)
    return ft_error_set(err, "job %" PRIu32 " of node %s: user %" PRIu32 ", Slurm has %" PRIu32,
                        run->job_id, run->node, run->uid, job->record.uid);
  if (is_user_name(run->user) && is_user_name(user) && strcmp(run->user, user) != 0)
    return ft_error_set(err, "job %" PRIu32 " of node %s: user %s, Slurm has %s", run->job_id,
                        run->node, run->user, user);
  if (nodes[0] && !job->record.ending && !ft_slurm_job_is_later(&job->record, run) &&
      !ft_node_list_has(ft_text_from(nodes), run->node))
    return ft_error_set(err, "job %" PRIu32 " of node %s: Slurm has the nodes %.64s", run->job_id,
                        run->node, nodes);
  return 0;
}

enum ft_job_match ft_known_job_join(const struct ft_known_job *job, ft_observation *run,
                                    struct ft_error *err)
{
  if (job && job->absent) {
    (void)ft_error_set(err, "job %" PRIu32 " of node %s: Slurm has no such job", run->job_id,
                       run->node);
    return FT_JOB_DIFFERS;
  }
  if (!job || !job->known)
    return job && job->gone ? FT_JOB_GONE : FT_JOB_UNKNOWN;
  if (compare_record(job, run, err) < 0)
    return FT_JOB_DIFFERS;
  return ft_slurm_job_complete(&job->record, run) ? FT_JOB_MATCHES : FT_JOB_UNKNOWN;
}
