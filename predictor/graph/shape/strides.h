/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strides of tensors, and whether an operator's output is a view of its input or a copy. */
#ifndef FT_GRAPH_STRIDES_H
#define FT_GRAPH_STRIDES_H

#include "predictor/graph/ir/graph.h"

/* Stride of each dimension, in elements. */
struct ft_strides {
  int64_t step[FT_GRAPH_RANK];
};

/* Sets the strides of a contiguous tensor. */
void ft_strides_dense(const struct ft_tensor *tensor, struct ft_strides *strides);

/* Sets dense strides with the dimensions in FROM's order: the result of an element-wise operator.
 */
void ft_strides_like(const struct ft_tensor *tensor, const struct ft_strides *from,
                     struct ft_strides *strides);

/* Sets the strides of a reshape of TENSOR, whose strides are FROM, to RANK dimensions DIMS. Returns
 * false if the reshape copies (ATen/TensorUtils.cpp, computeStride). */
bool ft_strides_reshape(const struct ft_tensor *tensor, const struct ft_strides *from,
                        const ft_dim *dims, int rank, struct ft_strides *strides);

/* Sets the strides of OP's first output, a view of its first input, whose strides are FROM. Returns
 * false if it is no view. */
bool ft_strides_view(const struct ft_graph *graph, const struct ft_operator *op,
                     const struct ft_strides *from, struct ft_strides *strides);

#endif
