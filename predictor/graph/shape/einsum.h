/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An Einsum's letters and what they stand for. */
#ifndef FT_GRAPH_EINSUM_H
#define FT_GRAPH_EINSUM_H

#include "predictor/core/text.h"
#include "predictor/graph/shape/infer.h"
#include "predictor/graph/shape/strides.h"

struct ft_einsum {
  ft_dim size[256];  /* of each letter; from 128 on the dimensions of "..." */
  uint8_t seen[128]; /* in how many places */
  int dots;          /* how many dimensions "..." stands for */
  struct ft_text result;
  bool has_arrow; /* "->" and the result's letters follow the inputs (numpy: explicit mode) */
  bool known;     /* all inputs have a shape */
};

/* Read the equation of the operator at work. Returns 0; -1 with the error of a contradiction. */
int ft_einsum_read(struct ft_infer *in, struct ft_einsum *e);

/*
 * An Einsum of two operands as PyTorch computes it (aten/src/ATen/native/Linear.cpp,
 * sumproduct_pair): a batched matrix product of permuted operands with three dimensions, whose
 * result is a permuted view.
 */
struct ft_einsum_product {
  int64_t order[2][FT_GRAPH_RANK]; /* of each operand: its dimensions as they are permuted */
  ft_dim joined[2][3];             /* and then joined */
  struct ft_strides result;
};

/* Fills PRODUCT for the Einsum OP. Returns false if it is another operation: of fewer or more
 * operands, without a sum, with a sum over one operand, broadcast, with a letter twice in a term.
 */
bool ft_einsum_product(const struct ft_graph *graph, const struct ft_operator *op,
                       struct ft_einsum_product *product);

/* How many products it takes in one go: all letters' sizes multiplied. */
ft_dim ft_einsum_products(const struct ft_einsum *e);

#endif
