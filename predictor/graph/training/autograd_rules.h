/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tensors that PyTorch saves for an operator's backward pass, and the memory of its gradients
 * (tools/autograd/derivatives.yaml, aten/src/ATen/native of 2.x).
 */
#ifndef FT_GRAPH_AUTOGRAD_RULES_H
#define FT_GRAPH_AUTOGRAD_RULES_H

#include "predictor/graph/shape/operators.h"

struct ft_autograd_rule {
  uint16_t saves;   /* FT_SAVES_* */
  uint8_t gradient; /* enum ft_gradient */
  bool in_place;    /* usually called in its in-place form, which saves the result */
};

/* Returns the rule of OP's descriptor. An unknown operator saves its first input and its output. */
struct ft_autograd_rule ft_autograd_rule_of(const struct ft_operator *op);

/* Returns whether OP is a product that saves each operand only for the other's gradient. A
 * convolution saves both for either gradient. */
bool ft_autograd_is_product(const struct ft_operator *op);

/* Returns what OP, whose output needs a gradient, saves of its rule (FT_SAVES_*, without
 * FT_SAVES_BOTH). FIRST and SECOND: its first two inputs need one. */
unsigned ft_autograd_saves(const struct ft_operator *op, bool first, bool second);

/*
 * Returns the number of standard deviations that normalisation OP saves (FT_SAVES_STATISTICS),
 * which is also the number of means, unless it is rms_norm: one for each normalised channel, group
 * or row. Y is OP's output; BATCH multiplies its number of samples. 0: unknown.
 */
int64_t ft_autograd_groups(const struct ft_operator *op, const struct ft_tensor *y, int64_t batch);

enum { FT_AUTOGRAD_EXTRAS = 5 }; /* maximum number of sizes from ft_autograd_extras */

/*
 * Writes into SIZES the bytes of each tensor that OP saves besides its inputs and outputs, by SAVES
 * (FT_SAVES_*): indices of 64 bits, masks of 8, gates and statistics of 32. Y is OP's output; BATCH
 * multiplies its number of samples. Returns their number; 0 also if Y's size is unknown.
 */
unsigned ft_autograd_extras(const struct ft_operator *op, const struct ft_tensor *y, unsigned saves,
                            int64_t batch, int64_t sizes[FT_AUTOGRAD_EXTRAS]);

#endif
