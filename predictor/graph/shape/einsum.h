/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An Einsum's letters and what they stand for. */
#ifndef FT_GRAPH_EINSUM_H
#define FT_GRAPH_EINSUM_H

#include "predictor/core/text.h"
#include "predictor/graph/shape/infer.h"

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

/* How many products it takes in one go: all letters' sizes multiplied. */
ft_dim ft_einsum_products(const struct ft_einsum *e);

#endif
