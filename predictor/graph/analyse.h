/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes, costs and memory of a graph in one call. */
#ifndef FT_GRAPH_ANALYSE_H
#define FT_GRAPH_ANALYSE_H

#include "predictor/graph/training/memory.h"

struct ft_analysis {
  struct ft_cost cost;
  struct ft_memory memory;
  bool scaled; /* the file fixes the batch at 1: figures and layers are multiplied by the batch */
};

/*
 * Infers GRAPH's shapes, costs and memory. If the file fixes the batch at 1, or the requested batch
 * contradicts it and 1 does not, shapes are those of 1 and activations are multiplied by the batch.
 * ANALYSIS points into GRAPH: it is valid until the next call or ft_graph_free. Returns 0; -1 with
 * ERR.
 */
int ft_graph_analyse(struct ft_graph *graph, const struct ft_graph_sizes *sizes,
                     struct ft_analysis *analysis, struct ft_error *err);

#endif
