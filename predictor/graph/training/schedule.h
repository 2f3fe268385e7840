/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One pass of a network as PyTorch runs it, as the series of requests to its allocator: parameters;
 * forward pass; in training backward pass in reverse and the gradients. What the optimiser holds
 * is the player's (estimate/gpu/gpu_memory.c).
 */
#ifndef FT_GRAPH_SCHEDULE_H
#define FT_GRAPH_SCHEDULE_H

#include "predictor/graph/cost/cost.h"

enum ft_precision {
  FT_PRECISION_FP32,
  FT_PRECISION_TF32, /* products in 19 bits, memory as fp32 */
  FT_PRECISION_AMP,  /* autocast: products in 16 bits, weights and normalisation in 32 */
  FT_PRECISION_BF16, /* everything */
  FT_PRECISION_FP16,
  FT_PRECISIONS
};

enum ft_event_kind {
  FT_EVENT_ALLOCATE,
  FT_EVENT_WORK, /* a workspace is taken: without room cuDNN's next choice needs less (Conv_v8.cpp)
                  */
  FT_EVENT_FREE,
  FT_EVENT_TUNED /* a convolution's first run: cuDNN's trials are followed by an empty cache */
};

struct ft_event {
  int64_t bytes;   /* of what is taken */
  uint32_t buffer; /* counted from 0 */
  uint8_t kind;
};

/*
 * Bytes of workspace for each byte of what a convolution reads and gives (cuDNN's copies of them
 * with channels last, and parts of copies), by its kind, and of what it learns.
 */
struct ft_workspace {
  double spatial;   /* a kernel of more than one element */
  double pointwise; /* of one */
  double grouped;
  double weight;
  double odd; /* more of what it reads and gives where channels are not in fours: padded copies */
};

struct ft_schedule_options {
  bool training;        /* else one forward pass */
  bool saves;           /* that pass keeps what a backward pass would need; training does */
  bool out_of_place;    /* activation functions never take their input's place */
  bool fused_attention; /* no probabilities are kept (scaled_dot_product_attention) */
  bool keep_gradients;  /* they are there all the time: accumulation over several passes */
  bool offload; /* what is kept waits in the host's memory (torch.autograd.graph.save_on_cpu) */
  enum ft_precision precision;
  unsigned gpus;     /* that train together, each with its part of the batch; 0 as 1 */
  unsigned shard;    /* of what they share out, as ft_gpu_run has it */
  bool views;        /* gradients are views of the buckets in which they are exchanged */
  unsigned segments; /* of activation checkpointing; below 2: none */
  int64_t batch;     /* times what the shapes say (ft_analysis.scaled), else 1 */
  struct ft_workspace workspace[3]; /* forward, gradient of the input, of the weight */
  /* a spatial convolution with at least this number of channels on both sides copies its inputs
   * and results, in both directions; 0: none does */
  int64_t copied_channels;
};

/* Returns the bytes of each GPU when BYTES are sharded over GPUS. */
static inline int64_t ft_share(int64_t bytes, unsigned gpus)
{
  return gpus > 1 ? bytes / gpus + (bytes % gpus != 0) : bytes;
}

struct ft_schedule {
  struct ft_event *events;
  size_t count;
  size_t parameters; /* events before this one: parameters and statistics, once */
  size_t forward;    /* from PARAMETERS to here */
  size_t backward;   /* from FORWARD to here; then the gradients are given back */
  uint32_t buffers;
  uint32_t learnt_count;
  int64_t *learnt;                   /* bytes of each tensor that is learnt */
  int64_t learnt_bytes, learnt_most; /* of them all, and of the largest */
  int64_t packed_bytes;              /* of quantised weights, which nothing learns */
  int64_t fed_bytes;                 /* of the inputs */
  int64_t saved_bytes;               /* kept at the end of the forward pass */
  int64_t offloaded_bytes;           /* that travel to the host, and back again */
  int64_t peak_bytes;                /* requested at once, rounding apart */
  int64_t peak_no_workspace_bytes;   /* the same without workspaces */
};

/*
 * Write GRAPH's pass down, after ft_graph_infer and ft_graph_cost. What SCHEDULE points to lives as
 * long as COST. Returns 0; -1 with ERR.
 */
int ft_schedule_make(struct ft_graph *graph, const struct ft_cost *cost,
                     const struct ft_schedule_options *options, struct ft_schedule *schedule,
                     struct ft_error *err);

#endif
