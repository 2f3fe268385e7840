/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a graph costs whose shapes are known: parameters, multiply-accumulates
 * and activations, in all and for each layer. A layer is an operator that works
 * on what is fed to the network, or that holds parameters; what only computes sizes is none.
 */
#ifndef FT_GRAPH_COST_H
#define FT_GRAPH_COST_H

#include "predictor/graph/ir/graph.h"

enum { FT_COST_UNKNOWNS = 256 }; /* types of unknown operators that are named */

struct ft_layer {
  const struct ft_operator *op;
  int64_t parameters;   /* of those, each is counted where it is used first */
  ft_dim macs;          /* multiply-accumulates */
  ft_dim activations;   /* elements it gives, 0 where it is in its input's place */
  /* the same, or what it can be at most where that is not known; unknown: no bound */
  ft_dim macs_at_most, activations_at_most;
  int64_t inside; /* activations of its blocks, in all iterations that are known of */
  int depth;      /* of blocks around it */
};

struct ft_unknown {
  const char *domain, *type;
  uint32_t count;
};

struct ft_cost {
  int64_t parameters;      /* elements of what is learnt; running statistics are none */
  int64_t parameter_bytes; /* of those that are learnt further: not of quantised weights */
  int64_t buffers;         /* elements of constants that are not learnt */
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
  uint32_t unknown;    /* operators whose type is not known */
  uint32_t unresolved; /* operators of known type whose result's size cannot be told */
  struct ft_layer *layers;
  size_t layer_count;
  struct ft_unknown *unknowns; /* each type once, FT_COST_UNKNOWNS at most */
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
