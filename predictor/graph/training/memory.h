/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory of a network's tensors, from shapes only. Excludes the framework's overhead: context,
 * workspaces, rounding of its allocator.
 */
#ifndef FT_GRAPH_MEMORY_H
#define FT_GRAPH_MEMORY_H

#include "predictor/graph/cost/cost.h"
#include "predictor/graph/training/optimizer.h"

/* An operator of the outermost block that allocates or saves memory. */
struct ft_memory_layer {
  int64_t live_bytes;  /* inference: activations live while it runs */
  int64_t saved_bytes; /* training: saved for the backward pass by no earlier operator */
};

/* All in bytes. */
struct ft_memory {
  int64_t weight_bytes;          /* parameters and constants */
  int64_t parameter_bytes;       /* trainable weights */
  int64_t activation_peak_bytes; /* inference, by liveness in the file's order of operators */
  int64_t inference_peak_bytes;  /* weights and activation peak */
  int64_t gradient_bytes;
  int64_t optimizer_bytes[FT_OPTIMIZERS];
  int64_t saved_bytes; /* activations saved for the backward pass */
  /* part of saved_bytes: attention probabilities; a fused kernel saves none */
  int64_t attention_bytes;
  int64_t loop_bytes; /* part of saved_bytes: upper bound for all iterations of loops */
  bool complete;      /* every size is known; otherwise all bytes are lower bounds */
  struct ft_memory_layer *layers;
  size_t layer_count;
};

/*
 * Fills MEMORY for GRAPH, after ft_graph_infer and ft_graph_cost. MEMORY's arrays belong to GRAPH
 * and live as long as COST. Returns 0; -1 without memory and fills ERR.
 */
int ft_graph_memory(struct ft_graph *graph, const struct ft_cost *cost, struct ft_memory *memory,
                    struct ft_error *err);

#endif
