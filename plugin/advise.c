/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <slurm/spank.h>

#include "plugin/advise.h"

bool ft_advise_decision(const struct ft_question *question, const ft_decision *decision,
                        const char *why)
{
  struct ft_explanation say;

  ft_explain(question, decision, &say);
  for (int i = 0; i < say.count; i++) {
    const char *aside = i ? "" : why, *but = *aside ? "; but " : "";

    if (say.error)
      slurm_error("foretell: %s%s%s", say.line[i], but, aside);
    else
      slurm_info("foretell: %s%s%s", say.line[i], but, aside);
  }
  return say.count > 0;
}

void ft_advise_line(const char *line)
{
  slurm_info("foretell: %s", line);
}

void ft_advise_failure(bool asked, const struct ft_error *why)
{
  if (asked)
    slurm_info("foretell: no prediction: %s", why->text);
}

void ft_advise_network(const ft_network *network)
{
  for (pb_size_t i = 0; i < network->lines_count; i++) {
    if (network->action == FT_ACTION_REJECT)
      slurm_error("foretell: %s", network->lines[i]);
    else
      slurm_info("foretell: %s", network->lines[i]);
  }
}
