/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parameters, multiply-accumulates and activations of a graph with inferred shapes: in total and
 * per layer. A layer is an operator that depends on a network input or holds parameters. Operators
 * that only compute sizes are no layers.
 */
#ifndef FT_GRAPH_COST_H
#define FT_GRAPH_COST_H

#include "predictor/graph/ir/graph.h"

enum { FT_COST_UNKNOWNS = 256 }; /* limit of listed types of unknown operators */

struct ft_layer {
  const struct ft_operator *op;
  int64_t parameters;   /* elements; a shared parameter counts at its first use */
  ft_dim macs;          /* multiply-accumulates */
  ft_dim activations;   /* output elements; 0: view, in place, fused, not of input data */
  /* the same, or an upper bound if unknown; unknown: no bound */
  ft_dim macs_at_most, activations_at_most;
  int64_t inside; /* activations of its largest subgraph, times the trip count (1 if unknown) */
  int depth;      /* number of enclosing subgraphs */
};

struct ft_unknown {
  const char *domain, *type;
  uint32_t count;
};

struct ft_cost {
  int64_t parameters;      /* elements of what is learnt; running statistics are none */
  int64_t parameter_bytes; /* of those that are learnt further: not of quantised weights */
  int64_t buffers;         /* elements of constants that are not trainable */
  /* activations: the inputs and the results that are not views */
  int64_t macs;        /* what is known of them */
  int64_t activations; /* elements of the inputs and of all layers, as far as known */
  ft_dim macs_at_most, activations_at_most; /* unknown: no bound */
  /* elements at most that results of unknown size have, and unknown operators may keep for
   * themselves; unknown: no bound */
  ft_dim open_at_most;
  int64_t inside; /* activations within loops whose iterations are counted, not followed */
  uint32_t unbounded_loops; /* such loops of the outermost block whose trip count is not known */
  uint32_t operators;  /* all, constants and what computes sizes included */
  uint32_t unknown;    /* operators of unknown type */
  uint32_t unresolved; /* operators of known type with an output of unknown size */
  struct ft_layer *layers;
  size_t layer_count;
  struct ft_unknown *unknowns; /* distinct types, at most FT_COST_UNKNOWNS */
  size_t unknown_count;
  const bool *learnt;    /* of each tensor of the graph */
  const uint8_t *packed; /* of each: how many quantised weights one of its elements holds; else 0 */
};

/*
 * Sum up GRAPH after ft_graph_infer. What COST points to lives until the next
 * ft_graph_infer or ft_graph_free. Returns 0, or -1 when memory is out.
 */
int ft_graph_cost(struct ft_graph *graph, struct ft_cost *cost, struct ft_error *err);

#endif
