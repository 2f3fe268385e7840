/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slurm's record of a job, and how it completes a run that a node has measured. No I/O. */
#ifndef FT_LEARNER_CLUSTER_SLURM_JOB_H
#define FT_LEARNER_CLUSTER_SLURM_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/record/record.h"

typedef struct {
  bool known; /* of a reply of sacct: the job has ended, and the rest is filled in */
  uint32_t restart_count, uid;
  char user[64], account[64], partition[64], name[128];
  bool final;  /* the state is final and the record complete */
  bool ending; /* Slurm ends an attempt: the restart count may be that of the next one already, and
                  the start of now, and the nodes are those that have not finished */
  ft_outcome outcome;          /* if final */
  double submit_time;          /* of the latest attempt, as the next two; UTC seconds; 0: unknown */
  double start_time, end_time; /* end_time: if final */
  double time_limit_seconds;   /* 0: unlimited or unknown */
  double suspended_seconds; /* if final: time between start and end that is no run time; integer */
  uint32_t nodes;           /* allocated; 0: unknown */
  bool identified;          /* the record states the next three */
  uint32_t het_offset;
  uint32_t array_job_id; /* 0: no job array */
  uint32_t array_task_id;
} ft_slurm_job;

/*
 * Adds what RECORD says of RUN: identity, attempt, submit time, account, partition, name, time of
 * suspension, and the outcome if the node could not determine it. If the node did not see the end
 * of RUN, it ends with the job. Returns whether RUN is complete; otherwise RUN may have got its
 * submit time, and has to wait for a later record.
 */
bool ft_slurm_job_complete(const ft_slurm_job *record, ft_observation *run);

/* Whether RUN belongs to an earlier attempt of the job than RECORD's: Slurm has requeued it. The
 * restart count of RUN, which its user may have changed, decides only if the times do not. */
bool ft_slurm_job_is_later(const ft_slurm_job *record, const ft_observation *run);

#endif
