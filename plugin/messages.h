/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the user is told, through Slurm's own log: "sbatch: foretell: ...". */
#ifndef FT_PLUGIN_MESSAGES_H
#define FT_PLUGIN_MESSAGES_H

#include "predictor/core/error.h"
#include "predictor/decide/submission.h"

/* With QUIET only errors are said from now on: srun heeds its own --quiet only later. */
void ft_print_set_quiet(bool quiet);

/*
 * Say what was decided, and behind it WHY something that the user said does not count ("": nothing
 * such). Returns false when there was nothing to say.
 */
bool ft_print_decision(const struct ft_submission_decision *decision, const char *why);

/* Say what the child decided about GPUs, likewise. */
bool ft_print_network(const ft_network *network, const char *why);

/* Say LINE. */
void ft_print_line(const char *line);

/* Say in one line why there is no prediction, to a user who has ASKED for one; once. */
void ft_print_failure(bool asked, const struct ft_error *why);

#endif
