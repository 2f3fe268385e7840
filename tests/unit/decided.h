/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A decision from its input to the messages. */
#ifndef FT_TESTS_DECIDED_H
#define FT_TESTS_DECIDED_H

#include "predictor/decide/messages.h"

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
