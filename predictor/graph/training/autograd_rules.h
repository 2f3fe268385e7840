/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What PyTorch keeps of an operator for its backward pass, and how the gradient goes back
 * (tools/autograd/derivatives.yaml, aten/src/ATen/native of 2.x).
 */
#ifndef FT_GRAPH_AUTOGRAD_RULES_H
#define FT_GRAPH_AUTOGRAD_RULES_H

#include "predictor/graph/ir/graph.h"

enum {
  FT_SAVES_NOTHING = 0,
  FT_SAVES_FIRST = 1,  /* its first input */
  FT_SAVES_SECOND = 2, /* its second, where the first is learnt or fed */
  FT_SAVES_RESULT = 4,
  FT_SAVES_INDICES = 8,     /* where the largest were: 8 bytes for each result */
  FT_SAVES_MASK = 16,       /* a byte for each result */
  FT_SAVES_STATISTICS = 32, /* mean and deviation of each group */
  FT_SAVES_BOTH = 64,       /* of two operands each for the other's gradient */
  FT_SAVES_GATES = 128,     /* a recurrence: gates and cell of each step */
  FT_SAVES_THIRD = 256      /* its third: the values of attention */
};

/* How the gradient of an operator's inputs comes about. */
enum ft_gradient {
  FT_GRADIENT_NEW,    /* memory of its own for each input */
  FT_GRADIENT_PASSES, /* the result's own gradient, or a part of it */
  FT_GRADIENT_STOPS   /* there is none: comparisons, rounding, positions */
};

struct ft_autograd_rule {
  uint16_t saves;
  uint8_t gradient; /* enum ft_gradient */
  bool in_place;    /* mostly computed in its input's place, whose backward then needs the result */
};

/* An operator without a rule keeps what goes in and, where it is unknown, what comes out. */
struct ft_autograd_rule ft_autograd_rule_of(const struct ft_operator *op);

/*
 * How many means and deviations normalisation OP keeps (FT_SAVES_STATISTICS), whose result is Y:
 * one a channel, group, or place that is normalised. Y stands for BATCH times as many samples.
 * Returns 0 where that is not known.
 */
int64_t ft_autograd_groups(const struct ft_operator *op, const struct ft_tensor *y, int64_t batch);

#endif
