/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far apart a tensor's elements lie, and so what is a view of it and what has to be copied. */
#ifndef FT_GRAPH_STRIDES_H
#define FT_GRAPH_STRIDES_H

#include "predictor/graph/ir/graph.h"

/* Distances along each dimension, in elements. */
struct ft_strides {
  int64_t step[FT_GRAPH_RANK];
};

/* Those of a tensor whose last dimension lies closest, without gaps. */
void ft_strides_dense(const struct ft_tensor *tensor, struct ft_strides *strides);

/* Without gaps, dimensions in the order of FROM: what an element-wise operator gives. */
void ft_strides_like(const struct ft_tensor *tensor, const struct ft_strides *from,
                     struct ft_strides *strides);

/*
 * Those of DIMS (RANK of them) over the elements of TENSOR, which lies as FROM says. Returns false
 * when the elements do not lie so and a reshape copies them (ATen/TensorUtils.cpp, computeStride).
 */
bool ft_strides_reshape(const struct ft_tensor *tensor, const struct ft_strides *from,
                        const ft_dim *dims, int rank, struct ft_strides *strides);

/*
 * Those of OP's first output as a view of its first input, which lies as FROM says: transposition,
 * slices, one dimension more or less, expansion. Returns false for another operator.
 */
bool ft_strides_view(const struct ft_graph *graph, const struct ft_operator *op,
                     const struct ft_strides *from, struct ft_strides *strides);

#endif
