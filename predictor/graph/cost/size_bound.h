/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How large at most what is whose size cannot be told. A result is held to be no larger than the
 * largest of its operator's inputs, weights included, and than what a product of its first input
 * with one of its weights gives where their sides fit; that of a Concat is as large as all it
 * takes, and what enlarges by values that are not known (Expand, Pad, Resize) has no bound, nor has
 * what holds a compiled network itself (TensorFlow's XlaCallModule, which JAX exports). An
 * input that is not known itself counts by its own bound, so that one unknown operator does not
 * leave open all that comes after it.
 */
#ifndef FT_GRAPH_SIZE_BOUND_H
#define FT_GRAPH_SIZE_BOUND_H

#include "predictor/graph/ir/graph.h"

/*
 * Returns the size of the largest input of OP, in elements; unknown: no bound. MOST has one entry
 * per tensor of GRAPH: the upper bound in elements of a tensor of unknown size, initially unknown.
 */
ft_dim ft_size_bound_inputs(const struct ft_graph *graph, const struct ft_operator *op,
                            const ft_dim *most);

/* Returns the upper bound of an output of OP, in elements; unknown: no bound. */
ft_dim ft_size_bound_result(const struct ft_graph *graph, const struct ft_operator *op,
                            const ft_dim *most);

/*
 * How many multiplications one element of its result can take: one side of a matrix among the
 * further inputs, one of their filters, all of one that is not known; unknown: no bound.
 */
ft_dim ft_size_bound_products(const struct ft_graph *graph, const struct ft_operator *op,
                              const ft_dim *most);

/* Stores the upper bounds of OP's outputs in MOST. Call in the order of the operators. */
void ft_size_bound_results(const struct ft_graph *graph, const struct ft_operator *op,
                           ft_dim *most);

#endif
