/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Upper bounds of results of unknown size. A result is assumed to be at most as large as the
 * largest input of its operator, weights included, or the product of the first input with a weight
 * whose dimension matches. A Concat is as large as all its inputs. Operators that enlarge by
 * unknown values (Expand, Pad, Resize) have no bound, nor has a compiled network within the graph
 * (TensorFlow's XlaCallModule, which JAX exports). An input of unknown size counts by its own
 * bound, so one unknown operator does not make all later results unbounded.
 */
#ifndef FT_GRAPH_SIZE_BOUND_H
#define FT_GRAPH_SIZE_BOUND_H

#include "predictor/graph/ir/graph.h"

/* Returns whether OP, an unknown operator, contains a network or a program, which has no bound. */
bool ft_size_bound_holds_network(const struct ft_operator *op);

/*
 * Returns the upper bound of the largest input or captured tensor of OP, in elements; unknown: no
 * bound. BOUNDS has one entry per tensor of GRAPH: the upper bound in elements of a tensor of
 * unknown size, initially unknown.
 */
ft_dim ft_size_bound_inputs(const struct ft_graph *graph, const struct ft_operator *op,
                            const ft_dim *bounds);

/* Returns the upper bound of an output of OP, in elements; unknown: no bound. */
ft_dim ft_size_bound_result(const struct ft_graph *graph, const struct ft_operator *op,
                            const ft_dim *bounds);

/*
 * Returns the upper bound of multiplications for each element of OP's result: a side of a matrix, a
 * filter, or all elements of another tensor among the further inputs; unknown: no bound.
 */
ft_dim ft_size_bound_products(const struct ft_graph *graph, const struct ft_operator *op,
                              const ft_dim *bounds);

/* Stores the upper bounds of OP's outputs in BOUNDS. Call in the order of the operators. */
void ft_size_bound_results(const struct ft_graph *graph, const struct ft_operator *op,
                           ft_dim *bounds);

#endif
