/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What PyTorch keeps of an operator for its backward pass, and how the gradient goes back
 * (tools/autograd/derivatives.yaml, aten/src/ATen/native of 2.x).
 */
#ifndef FT_GRAPH_AUTOGRAD_RULES_H
#define FT_GRAPH_AUTOGRAD_RULES_H

#include "predictor/graph/shape/operators.h"

struct ft_autograd_rule {
  uint16_t saves;   /* FT_SAVES_* */
  uint8_t gradient; /* enum ft_gradient */
  bool in_place;    /* mostly computed in its input's place, whose backward then needs the result */
};

/* OP's rule, from its descriptor. An unknown operator keeps what goes in and what comes out. */
struct ft_autograd_rule ft_autograd_rule_of(const struct ft_operator *op);

/*
 * How many means and deviations normalisation OP keeps (FT_SAVES_STATISTICS), whose result is Y:
 * one a channel, group, or place that is normalised. Y stands for BATCH times as many samples.
 * Returns 0 where that is not known.
 */
int64_t ft_autograd_groups(const struct ft_operator *op, const struct ft_tensor *y, int64_t batch);

#endif
