/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A decision from its input to the messages. */
#ifndef FT_TESTS_DECIDED_H
#define FT_TESTS_DECIDED_H

#include "predictor/decide/messages.h"

/* Returns the question about APP's job on PARTITION in MODE, where Slurm allocates memory and kills
 * above it by cgroup. NULL: none. */
static inline struct ft_decision_input
question_about(ft_mode mode, const char *app, const ft_request *request,
               const struct ft_estimate *estimate, const struct ft_facts *facts,
               const ft_policy *policy, const ft_partition *partition)
{
  return (struct ft_decision_input){ .mode = mode,
                                     .app = app,
                                     .request = request,
                                     .estimate = estimate,
                                     .facts = facts,
                                     .code_files = "",
                                     .policy = policy,
                                     .partition = partition,
                                     .memory_is_consumable = true,
                                     .rule = FT_RULE_CGROUP };
}

/* Fills SAID (NULL: not needed) with the message. */
static inline void decide(const struct ft_decision_input *q, ft_decision *d,
                          struct ft_explanation *said)
{
  struct ft_sizing plan;

  ft_sizing_make(q, &plan);
  ft_decide(q, &plan, d);
  if (said)
    ft_explain(q, &plan, d, said);
}

#endif
