/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a run ended: from what its node saw, then from what Slurm says. Pure. */
#ifndef FT_AGENT_ENDING_H
#define FT_AGENT_ENDING_H

#include <stdbool.h>

#include "agent/scontrol.h"
#include "predictor/record/record.h"

/* What the node saw. */
struct ft_exit_evidence {
  bool has_status;
  int status;           /* of the batch script, else the worst of all tasks; as of waitpid */
  bool batch;           /* status is the batch script's: Slurm's state follows from it */
  bool has_oom_kills;   /* the kernel counts them */
  uint64_t oom_kills;   /* by the kernel, all steps */
  double peak_bytes;    /* that counts under rule */
  uint64_t limit_bytes; /* 0: none known */
  ft_rule rule;
  double runtime_seconds;
  double time_limit_seconds; /* 0: not known */
};

struct ft_run_outcome {
  ft_outcome outcome;
  bool settled; /* Slurm need not be asked */
};

/*
 * Judge by what the node saw. A SIGKILL with the peak at 90 % of the limit or
 * more is taken for the limit's enforcement, which on the node looks the same as scancel, but where
 * the kernel enforces limits and counts no kill.
 */
struct ft_run_outcome ft_outcome_from_node(const struct ft_exit_evidence *ending);

/*
 * Correct VERDICT of the run RESTART_COUNT by Slurm's record JOB. Not settled
 * while the job is not over there. What the kernel told is never given up for "failed" or
 * "cancelled".
 */
struct ft_run_outcome ft_outcome_from_slurm(struct ft_run_outcome verdict, uint32_t restart_count,
                                            const struct ft_slurm_job *job);

/* The signal behind STATUS, also when a shell passed it on as 128 + signal; 0: none. */
int ft_outcome_signal(int status);

#endif
