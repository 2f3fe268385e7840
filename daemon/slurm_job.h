/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slurm's record of a job: what "scontrol show job -o ID" prints. */
#ifndef FT_DAEMON_SLURM_JOB_H
#define FT_DAEMON_SLURM_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/record/record.h"

struct ft_slurm_job {
  uint32_t restart_count;
  uint32_t uid;
  char user[64], account[64], partition[64], name[128];
  bool running;
  bool final;                /* the state is final and the record complete */
  ft_outcome outcome;        /* if final */
  double submit_time;        /* UTC seconds; 0: unknown */
  double end_time;           /* if final, UTC seconds; 0: unknown */
  double time_limit_seconds; /* 0: unlimited or unknown */
  double suspended_seconds;  /* if final: time between start and end that is no run time; integer */
};

/* RECORD is Slurm's record of JOB_ID, valid during the call; NULL if the query failed. */
typedef void ft_slurm_query_callback(uint32_t job_id, const struct ft_slurm_job *record,
                                     void *data);

#endif
