/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include <slurm/spank.h>

#include "plugin/messages.h"
#include "predictor/core/text.h"

static bool is_quiet;

void ft_print_set_quiet(bool quiet)
{
  is_quiet = quiet;
}

/* Prints LINE as an error or as information, followed by WHY unless WHY is "". */
static void print_message(bool error, const char *line, const char *why)
{
  const char *but = *why ? "; but " : "";

  if (error)
    slurm_error("foretell: %s%s%s", line, but, why);
  else if (!is_quiet)
    slurm_info("foretell: %s%s%s", line, but, why);
}

bool ft_print_decision(const struct ft_submission_decision *decision, const char *why)
{
  struct ft_explanation explanation;

  ft_submission_explain(decision, &explanation);
  for (int i = 0; i < explanation.count; i++)
    print_message(explanation.error, explanation.line[i], i ? "" : why);
  return explanation.count > 0;
}

void ft_print_time_decision(const struct ft_time_decision *decision)
{
  struct ft_explanation explanation;

  ft_time_explain(decision, &explanation);
  for (int i = 0; i < explanation.count; i++)
    print_message(explanation.error, explanation.line[i], "");
}

void ft_print_line(const char *line)
{
  print_message(false, line, "");
}

void ft_print_failure(bool requested, const struct ft_error *why)
{
  static char last_failure[sizeof why->text]; /* components of a job fail for the same reason */

  if (!requested || is_quiet || strcmp(last_failure, why->text) == 0)
    return;
  (void)ft_string_copy(why->text, last_failure, sizeof last_failure);
  slurm_info("foretell: no prediction: %s", why->text);
}

bool ft_print_network(const ft_network *network, const char *why)
{
  for (pb_size_t i = 0; i < network->lines_count; i++)
    print_message(network->action == FT_ACTION_REJECT, network->lines[i], i ? "" : why);
  return network->lines_count > 0;
}
