/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run times on this platform and others, as the plugin reports them. */
#ifndef FT_CLI_PREDICT_PERF_H
#define FT_CLI_PREDICT_PERF_H

#include <jansson.h>

#include "predictor/cli/predict/submission.h"
#include "predictor/decide/placement.h"

struct ft_perf {
  struct ft_placement_evidence evidence;
  struct ft_placement_query question;
  struct ft_placement placement;
  struct ft_placement_choice choice;
  bool table;
};

/*
 * Finds the partitions for user UID's SUBMISSION with the run times TIME in the state directory
 * STATE_FD. MEMORY (NULL:
 * unknown) is its predicted need, NETWORK (NULL: none) would set its GPUs; all are borrowed. If
 * ASKED requests a choice, it becomes SUBMISSION's partition. Returns 0; -1 and fills ERR.
 */
int ft_perf_find(const struct ft_asked *asked, int state_fd, const ft_site *site, uint32_t uid,
                 const struct ft_estimate *memory, const struct ft_time_lookup *time,
                 const ft_network *network, ft_submission *submission, struct ft_perf *perf,
                 struct ft_error *err);

/* Prints the table and the choice, if requested. */
void ft_perf_print(const struct ft_perf *perf);

/* Returns "relative": a list of platforms. */
json_t *ft_perf_relative(const struct ft_perf *perf);

/* Returns "elsewhere": the table of partitions; NULL if not requested. */
json_t *ft_perf_elsewhere(const struct ft_perf *perf);

/* True if TEXT is a value of --choose. */
bool ft_perf_is_choice(const char *text);

#endif
