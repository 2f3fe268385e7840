/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is kept for the backward pass of an operation that a library spells out in several where
 * another has one kernel: normalisation by the root mean square, most forms of GELU. A reader that
 * knows how its library writes one says so in the operator's hint `decomposed`.
 */
#ifndef FT_GRAPH_DECOMPOSED_H
#define FT_GRAPH_DECOMPOSED_H

#include "predictor/graph/ir/graph.h"

/* How real numbers come in and what is computed with them. */
enum ft_decomposed_width {
  FT_DECOMPOSED_32,   /* 32 bits */
  FT_DECOMPOSED_16,   /* 16 bits, weights too */
  FT_DECOMPOSED_CAST, /* 16 bits under autocast, weights in 32 */
  FT_DECOMPOSED_WIDTHS
};

struct ft_decomposed {
  bool input;     /* what comes in */
  uint8_t narrow; /* tensors as large as the result, in the width that comes in; */
  uint8_t wide;   /* the same in 32 bits */
};

/* False where OP is one kernel. */
bool ft_decomposed_of(const struct ft_operator *op, enum ft_decomposed_width width,
                      struct ft_decomposed *decomposed);

/* Whether OP gives 32 bits under autocast whatever comes in. */
bool ft_decomposed_widens(const struct ft_operator *op);

/* Whether the code casts what OP takes to 32 bits, in every precision ("float"). */
bool ft_decomposed_floats(const struct ft_operator *op);

/* Whether OP works in 16 bits under autocast whatever comes in. */
bool ft_decomposed_narrows(const struct ft_operator *op);

#endif
