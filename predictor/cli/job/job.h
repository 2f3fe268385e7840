/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What foretell job shows of a job. */
#ifndef FT_CLI_JOB_H
#define FT_CLI_JOB_H

#include "predictor/cli/job/job_next.h"
#include "predictor/cli/job/job_nodes.h"
#include "predictor/cli/store_access.h"

struct ft_job {
  const char *name; /* of the command, for messages */
  const char *word; /* the operand */
  const char *state;
  bool json;
  struct ft_store_filter filter;
  struct ft_store_access records;
  unsigned runs, completed, out_of_memory;
  double min_peak, max_peak; /* over the runs, in bytes; 0: not measured */
  ft_observation shown;      /* of the running runs, else of all, the one with the highest peak */
  unsigned running;
  double now_bytes; /* current use of the shown run if it is running; negative: not measured */
  struct ft_job_nodes nodes; /* of the shown run */
  unsigned silent_agents;    /* their running jobs are unknown */
  struct ft_next next;
  bool has_next;
  struct ft_error no_next; /* why there is no recommendation */
};

/* Prints JOB as one JSON object. Returns an exit status. */
int ft_job_print_json(const struct ft_job *job);

#endif
