/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory of a network's tensors, from shapes alone: what a framework adds
 * (context, workspace, rounding of its allocator) is not in it.
 */
#ifndef FT_GRAPH_MEMORY_H
#define FT_GRAPH_MEMORY_H

#include "predictor/graph/cost/cost.h"

enum ft_optimizer {
  FT_OPTIMIZER_SGD,
  FT_OPTIMIZER_MOMENTUM,
  FT_OPTIMIZER_ADAM,
  FT_OPTIMIZER_ADAMW,
  FT_OPTIMIZER_ADAM8, /* moments in 8 bits */
  FT_OPTIMIZERS
};

const char *ft_optimizer_name(enum ft_optimizer optimizer);

/* One operator of the outermost block that allocates memory or keeps some. */
struct ft_memory_layer {
  int64_t live_bytes;  /* inference: activations that are there while it runs */
  int64_t saved_bytes; /* training: saved for the backward pass, and not by an operator before it */
};

struct ft_memory {
  int64_t weight_bytes;          /* parameters and constants */
  int64_t parameter_bytes;       /* what is learnt of them */
  int64_t activation_peak_bytes; /* inference, by liveness over the file's order */
  int64_t inference_peak_bytes;  /* weights and that */
  int64_t gradient_bytes;
  int64_t optimizer_bytes[FT_OPTIMIZERS];
  int64_t saved_bytes; /* activations kept for the backward pass */
  /* of those, the probabilities between the two products of attention: a fused kernel keeps none */
  int64_t attention_bytes;
  int64_t loop_bytes; /* of those at most what the iterations of loops keep, which are counted */
  bool complete;      /* every size could be told: else these are lower bounds */
  struct ft_memory_layer *layers;
  size_t layer_count;
};

/*
 * Follow GRAPH's tensors after ft_graph_infer and ft_graph_cost. What MEMORY points to lives as
 * long as COST. Returns 0, or -1 when memory is out.
 */
int ft_graph_memory(struct ft_graph *graph, const struct ft_cost *cost, struct ft_memory *memory,
                    struct ft_error *err);

#endif
