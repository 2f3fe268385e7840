/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tensors saved for the backward pass of operators that a library decomposes into several: RMSNorm,
 * most forms of GELU. A reader sets the operator's hint `decomposed` to the name of the library's
 * form.
 */
#ifndef FT_GRAPH_DECOMPOSED_H
#define FT_GRAPH_DECOMPOSED_H

#include "predictor/graph/ir/graph.h"

/* Element width of an operator's input and of its weights. */
enum ft_decomposed_width {
  FT_DECOMPOSED_32,   /* fp32 */
  FT_DECOMPOSED_16,   /* 16 bits, both */
  FT_DECOMPOSED_CAST, /* autocast: 16-bit input, fp32 weights */
  FT_DECOMPOSED_WIDTHS
};

/* Saved tensors. */
struct ft_decomposed {
  bool input;     /* the input itself */
  uint8_t narrow; /* number of tensors of the output's shape in the input's width */
  uint8_t wide;   /* number of tensors of the output's shape in fp32 */
};

/* Fills DECOMPOSED with what OP saves at WIDTH. Returns false if OP is one kernel. */
bool ft_decomposed_of(const struct ft_operator *op, enum ft_decomposed_width width,
                      struct ft_decomposed *decomposed);

/* Removes from DECOMPOSED what OP saves only for the gradient of its weight. */
void ft_decomposed_freeze(const struct ft_operator *op, struct ft_decomposed *decomposed);

/* Returns whether OP's output is fp32 under autocast, whatever its input is. */
bool ft_decomposed_widens(const struct ft_operator *op);

/* Returns whether the model's code casts OP's input to fp32 in every precision ("float"). */
bool ft_decomposed_floats(const struct ft_operator *op);

/* Returns whether OP computes in 16 bits under autocast, whatever its input is. */
bool ft_decomposed_narrows(const struct ft_operator *op);

#endif
