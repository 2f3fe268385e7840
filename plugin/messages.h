/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints messages to the user through Slurm's log: "sbatch: foretell: ...". */
#ifndef FT_PLUGIN_MESSAGES_H
#define FT_PLUGIN_MESSAGES_H

#include "predictor/core/error.h"
#include "predictor/decide/submission.h"

/* QUIET: print only errors from now on. srun applies its --quiet after the plugin runs. */
void ft_print_set_quiet(bool quiet);

/* Prints the message about DECISION, then WHY a setting of the user is ignored ("": none is).
 * Returns false if there is no message. */
bool ft_print_decision(const struct ft_submission_decision *decision, const char *why);

/* The same for NETWORK, the helper's decision about GPUs. */
bool ft_print_network(const ft_network *network, const char *why);

/* Prints the message about DECISION, on the time limit. */
void ft_print_time_decision(const struct ft_time_decision *decision);

/* Prints LINE as information. */
void ft_print_line(const char *line);

/* Prints WHY there is no prediction, if the user REQUESTED one. Prints the same text only once. */
void ft_print_failure(bool requested, const struct ft_error *why);

#endif
