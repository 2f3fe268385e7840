/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests that wait for Slurm's records of jobs. */
#ifndef FT_LEARNER_CLUSTER_RECORD_WAIT_H
#define FT_LEARNER_CLUSTER_RECORD_WAIT_H

#include <sys/queue.h>

#include "learner/learner.h"
#include "learner/receiver.h"

/* What a request waits for: the first member of its own struct, on the heap. */
struct ft_record_wait {
  struct ft_received *request;
  uint32_t job_id[FT_EXCHANGE_RUN_LIMIT];
  size_t count; /* of the jobs */
  size_t left;  /* the first of them, whose records have not arrived */
  /* RECORD (NULL: none) of JOB_ID has arrived, as the last one if `left` is 0; then WAIT has been
   * removed from the list */
  void (*arrived)(struct ft_record_wait *wait, uint32_t job_id, const ft_slurm_job *record,
                  void *data);
  TAILQ_ENTRY(ft_record_wait) link;
};

/* In the order in which Slurm replies. */
TAILQ_HEAD(ft_record_waits, ft_record_wait);

/* Queries Slurm about the `count` jobs of WAIT, and adds it to WAITS. Returns 0; -1 if too many
 * queries wait, and then has rejected the request. */
int ft_record_wait_begin(struct ft_record_waits *waits, struct ft_record_wait *wait,
                         struct ft_learner *learner);

/* Passes RECORD of JOB_ID to the first that waits for it, with DATA. */
void ft_record_waits_reply(struct ft_record_waits *waits, uint32_t job_id,
                           const ft_slurm_job *record, void *data);

/* Rejects all requests because of WHY, and frees them. */
void ft_record_waits_close(struct ft_record_waits *waits, const char *why);

#endif
