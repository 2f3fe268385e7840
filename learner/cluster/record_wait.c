/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "learner/cluster/record_wait.h"

int ft_record_wait_begin(struct ft_record_waits *waits, struct ft_record_wait *wait,
                         struct ft_learner *learner)
{
  if (ft_learner_query_slurm(learner, wait->job_id, wait->count) < 0) {
    ft_receiver_reject(wait->request, false, "too many queries wait for Slurm");
    return -1;
  }
  wait->left = wait->count;
  TAILQ_INSERT_TAIL(waits, wait, link);
  return 0;
}

/* Removes JOB_ID from the jobs that WAIT waits for. Returns false if it is none of them. */
static bool end_waiting(struct ft_record_wait *wait, uint32_t job_id)
{
  for (size_t i = 0; i < wait->left; i++)
    if (wait->job_id[i] == job_id) {
      wait->job_id[i] = wait->job_id[--wait->left];
      return true;
    }
  return false;
}

void ft_record_waits_reply(struct ft_record_waits *waits, uint32_t job_id,
                           const ft_slurm_job *record, void *data)
{
  struct ft_record_wait *wait;

  TAILQ_FOREACH(wait, waits, link)
  {
    if (end_waiting(wait, job_id))
      break;
  }
  if (!wait)
    return;
  if (!wait->left)
    TAILQ_REMOVE(waits, wait, link);
  wait->arrived(wait, job_id, record, data);
}

void ft_record_waits_close(struct ft_record_waits *waits, const char *why)
{
  struct ft_record_wait *wait;

  while ((wait = TAILQ_FIRST(waits))) {
    TAILQ_REMOVE(waits, wait, link);
    ft_receiver_reject(wait->request, false, why);
    free(wait);
  }
}
