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
  int64_t parameters; /* elements; a shared parameter counts at its first use */
  ft_dim macs;        /* multiply-accumulates */
  ft_dim activations; /* output elements; 0: view, in place, fused, not of input data */
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
  int64_t parameters;      /* elements of the weights; without running statistics */
  int64_t doubtful;        /* of these, those that may be buffers, or written out of fewer */
  int64_t written_out;     /* elements of constants counted as tables beyond those of the tables */
  int64_t parameter_bytes; /* of the trainable ones: without quantised weights */
  int64_t buffers;         /* elements of constants that are not trainable */
  /* activations: network inputs, and outputs that are not views */
  int64_t macs;        /* of operators whose multiply-accumulates are known */
  int64_t activations; /* elements of the inputs and of all layers, where known */
  ft_dim macs_at_most, activations_at_most; /* unknown: no bound */
  /* upper bound of the elements of outputs of unknown size, and of tensors inside unknown
   * operators; unknown: no bound */
  ft_dim open_at_most;
  int64_t inside;           /* activations in loops of the outermost block, for all iterations */
  uint32_t unbounded_loops; /* number of these loops whose trip count is unknown */
  uint32_t operators;       /* all, also constants and operators that only compute sizes */
  uint32_t unknown;         /* operators of unknown type */
  uint32_t unresolved;      /* operators of known type with an output of unknown size */
  struct ft_layer *layers;
  size_t layer_count;
  struct ft_unknown *unknowns; /* distinct types, at most FT_COST_UNKNOWNS */
  size_t unknown_count;
  bool thawed;     /* the file marks no parameter as trained: all of them can be */
  bool *trainable; /* of each tensor of the graph */
  bool *frozen;    /* of each tensor: a parameter that is not trained and not quantised */
  /* of each tensor: elements of the table of relative positions that the exporter wrote out into
   * it; 0: it is no such constant */
  const int64_t *tables;
  const uint8_t *packed; /* of each tensor: number of quantised weights in one of its elements;
                          * else 0 */
};

/* Fills COST for GRAPH, after ft_graph_infer. COST's arrays belong to GRAPH and live until the next
 * ft_graph_infer or ft_graph_free. Returns 0; -1 without memory and fills ERR. */
int ft_graph_cost(struct ft_graph *graph, struct ft_cost *cost, struct ft_error *err);

/* Returns the bytes of the parameter TENSOR of GRAPH; 0: unknown. */
int64_t ft_parameter_bytes(const struct ft_graph *graph, const struct ft_cost *cost,
                           uint32_t tensor);

#endif
