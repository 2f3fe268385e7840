/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Outcome of a run from the node's evidence. No I/O. */
#ifndef FT_AGENT_OUTCOME_H
#define FT_AGENT_OUTCOME_H

#include <stdbool.h>

#include "predictor/record/record.h"

/* The node's evidence of how a run ended. */
struct ft_exit_evidence {
  bool has_status;
  int status;           /* as of waitpid: the batch script's, else the worst of all tasks */
  bool batch;           /* status is the batch script's, from which Slurm derives the job's state */
  bool has_oom_kills;   /* the kernel counts them */
  uint64_t oom_kills;   /* by the kernel, in all steps */
  double peak_bytes;    /* peak memory by `rule` */
  uint64_t limit_bytes; /* 0: unknown */
  ft_rule rule;
};

struct ft_run_outcome {
  ft_outcome outcome;
  bool final; /* Slurm's record changes it only at the time limit */
};

/*
 * Returns the outcome by the node's evidence alone. A SIGKILL with a peak of at least 90 % of the
 * limit counts as out of memory, although scancel looks the same; not where the kernel enforces the
 * limit and counted no kill.
 */
struct ft_run_outcome ft_outcome_from_node(const struct ft_exit_evidence *evidence);

/* Returns the signal of STATUS, also one that a shell reported as 128 + signal; 0: none. */
int ft_outcome_signal(int status);

#endif
