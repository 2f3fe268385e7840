/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What foretell predict tells of run times, here and elsewhere: as the plugin would. */
#ifndef FT_CLI_PREDICT_PERF_H
#define FT_CLI_PREDICT_PERF_H

#include <jansson.h>

#include "predictor/cli/predict/submission.h"
#include "predictor/decide/placement.h"

struct ft_perf {
  struct ft_placement_evidence evidence;
  struct ft_placement_question question;
  struct ft_placement placement;
  struct ft_placement_choice choice;
  bool table;
};

/*
 * Look at what the state folder STATE_FD knows of user UID's SUBMISSION, which needs MEMORY (NULL:
 * not known) and for whose GPUs NETWORK (NULL: nothing) would be set; all are borrowed. Where ASKED
 * has a choice made, SUBMISSION's partition becomes that. Returns 0; -1 with ERR.
 */
int ft_perf_find(const struct ft_asked *asked, int state_fd, const ft_site *site, uint32_t uid,
                 const struct ft_estimate *memory, const ft_network *network,
                 ft_submission *submission, struct ft_perf *perf, struct ft_error *err);

/* The table and the choice, where they were asked for. */
void ft_perf_print(const struct ft_perf *perf);

/* "runtime_seconds": quantiles where the job goes, or null. */
json_t *ft_perf_runtime(const struct ft_perf *perf);

/* "relative": a list of platforms. */
json_t *ft_perf_relative(const struct ft_perf *perf);

/* "elsewhere": what the table says; NULL: it was not asked for. */
json_t *ft_perf_elsewhere(const struct ft_perf *perf);

/* Whether TEXT is something that --choose takes. */
bool ft_perf_is_choice(const char *text);

#endif
