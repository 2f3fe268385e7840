/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recommends the next request for a job that has run, by the rules of a submission. */
#ifndef FT_CLI_JOB_NEXT_H
#define FT_CLI_JOB_NEXT_H

#include <jansson.h>

#include "predictor/cli/state_dir.h"
#include "predictor/decide/grounds.h"

struct ft_next {
  ft_site site;
  ft_apps apps;
  ft_submission submission;
  struct ft_submission_knowledge known;
  struct ft_submission_decision decided;
  struct ft_explanation said;
  struct ft_grounds grounds;
  bool advised; /* the runs give a recommendation that differs from the current request */
};

/*
 * Fills NEXT for a submission like OBSERVATION's from the state directory STATE_FD, as foretell
 * predict --mode=check does. NEXT contains pointers into itself: do not copy it. Returns 0; -1 and
 * fills ERR.
 */
int ft_next_find(const char *command, int state_fd, const struct ft_config *config,
                 const ft_observation *observation, struct ft_next *next, struct ft_error *err);

/* Formats the recommendation as an option, "--mem=6300M". Returns OUT. */
const char *ft_next_option(const struct ft_next *next, char out[48]);

/* Returns a new object with mem_bytes, option, p_oom, rule and lines. */
json_t *ft_next_json(const struct ft_next *next);

#endif
