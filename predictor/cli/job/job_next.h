/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recommends the next request for a job that has run, by the rules of a submission. */
#ifndef FT_CLI_JOB_NEXT_H
#define FT_CLI_JOB_NEXT_H

#include <jansson.h>

#include "predictor/cli/state_dir.h"
#include "predictor/decide/grounds.h"
#include "predictor/decide/time_decision.h"

struct ft_next {
  ft_site site;
  ft_apps apps;
  ft_submission submission;
  struct ft_submission_knowledge known;
  struct ft_submission_decision decided;
  struct ft_explanation said, time_said;
  struct ft_grounds grounds;
  struct ft_job_time time;
  struct ft_time_decision timed;
  /* the runs give a recommendation that differs from the current request: of memory, of time */
  bool advised, time_advised;
};

/*
 * Fills NEXT for a submission like OBSERVATION's from the state directory STATE_FD, as foretell
 * predict --mode=check does. NEXT contains pointers into itself: do not copy it. Returns 0; -1 and
 * fills ERR.
 */
int ft_next_find(const char *command, int state_fd, const struct ft_config *config,
                 const ft_observation *observation, struct ft_next *next, struct ft_error *err);

/* Format the recommendation as an option, "--mem=6300M", or "--time=10". Return OUT. */
const char *ft_next_option(const struct ft_next *next, char out[48]);
const char *ft_next_time_option(const struct ft_next *next, char out[48]);

/* Returns a new object with mem_bytes, option, p_oom, lines, time_seconds, time_option and
 * p_timeout. */
json_t *ft_next_json(const struct ft_next *next);

#endif
