/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "learner/cluster/job_owner.h"

/* A question in Slurm's queue; also one that was dropped. */
struct asked_owner {
  struct ft_job_owner *question; /* NULL: dropped */
  uint32_t job_id;
  uid_t uid;
  TAILQ_ENTRY(asked_owner) link;
};

struct ft_job_owners {
  struct ft_slurm_query *slurm;
  TAILQ_HEAD(, asked_owner) asked;
};

struct ft_job_owners *ft_job_owners_open(struct ft_slurm_query *slurm)
{
  struct ft_job_owners *owners = calloc(1, sizeof *owners);

  if (!owners)
    return NULL;
  owners->slurm = slurm;
  TAILQ_INIT(&owners->asked);
  return owners;
}

static void remove_asked(struct ft_job_owners *owners, struct asked_owner *asked)
{
  TAILQ_REMOVE(&owners->asked, asked, link);
  free(asked);
}

void ft_job_owners_close(struct ft_job_owners *owners)
{
  if (!owners)
    return;
  while (!TAILQ_EMPTY(&owners->asked))
    remove_asked(owners, TAILQ_FIRST(&owners->asked));
  free(owners);
}

void ft_job_owner_ask(struct ft_job_owners *owners, struct ft_job_owner *question)
{
  struct asked_owner *asked;

  if (question->asked)
    return;
  TAILQ_FOREACH(asked, &owners->asked, link)
  {
    if (asked->uid == question->uid)
      return;
  }
  asked = malloc(sizeof *asked);
  if (!asked || ft_slurm_query_submit(owners->slurm, &question->job_id, 1) < 0) {
    free(asked);
    return;
  }
  question->asked = true;
  asked->question = question;
  asked->job_id = question->job_id;
  asked->uid = question->uid;
  TAILQ_INSERT_TAIL(&owners->asked, asked, link);
}

void ft_job_owner_drop(struct ft_job_owners *owners, struct ft_job_owner *question)
{
  struct asked_owner *asked;

  TAILQ_FOREACH(asked, &owners->asked, link)
  {
    if (asked->question == question)
      asked->question = NULL;
  }
}

bool ft_job_owners_reply(struct ft_job_owners *owners, uint32_t job_id, const ft_slurm_job *record)
{
  struct asked_owner *asked;

  TAILQ_FOREACH(asked, &owners->asked, link)
  {
    if (asked->job_id != job_id)
      continue;
    if (asked->question) {
      asked->question->answered = true;
      asked->question->is_owner = record && record->uid == asked->uid;
    }
    remove_asked(owners, asked);
    return true;
  }
  return false;
}
