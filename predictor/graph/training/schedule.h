/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One pass of a network in PyTorch, as the series of requests to its allocator: parameters, forward
 * pass, and in training the backward pass with its gradients. The simulation
 * (estimate/gpu/gpu_memory.c) adds the optimiser state.
 */
#ifndef FT_GRAPH_SCHEDULE_H
#define FT_GRAPH_SCHEDULE_H

#include "predictor/graph/cost/cost.h"

enum ft_precision {
  FT_PRECISION_FP32,
  FT_PRECISION_TF32, /* 19-bit matrix products, memory as fp32 */
  FT_PRECISION_AMP,  /* autocast: 16-bit matrix products, fp32 weights and normalisation */
  FT_PRECISION_BF16, /* all tensors */
  FT_PRECISION_FP16, /* all tensors */
  FT_PRECISIONS
};

enum ft_event_kind {
  FT_EVENT_ALLOCATE,
  FT_EVENT_WORK, /* allocate a workspace; if full, cuDNN uses a smaller algorithm (Conv_v8.cpp) */
  FT_EVENT_FREE,
  FT_EVENT_TUNED /* cuDNN autotuning of a convolution's first run, which then empties the cache */
};

struct ft_event {
  int64_t bytes;   /* of ALLOCATE and WORK; else 0 */
  uint32_t buffer; /* from 0; TUNED: 0 */
  uint8_t kind;    /* enum ft_event_kind */
};

/*
 * Workspace of a convolution: bytes for each byte of its input and output, by the convolution's
 * kind, plus bytes for each byte of its weights. cuDNN's channels-last copies, or parts of them.
 */
struct ft_workspace {
  double spatial;   /* kernel of more than one element */
  double pointwise; /* kernel of one element */
  double grouped;   /* more than one group */
  double weight;    /* for each byte of weights */
  double odd;       /* added to the first three if channels are no multiple of 4: padded copies */
};

struct ft_schedule_options {
  bool training;        /* false: one forward pass */
  bool saves;           /* save for a backward pass also in inference; implied by training */
  bool out_of_place;    /* activation functions are never in place */
  bool fused_attention; /* scaled_dot_product_attention: saves no probabilities */
  bool keep_gradients;  /* gradients stay allocated: accumulation over several passes */
  bool offload;         /* saved tensors are in host memory (torch.autograd.graph.save_on_cpu) */
  enum ft_precision precision;
  unsigned gpus;     /* data-parallel GPUs, each with a part of the batch; 0 as 1 */
  unsigned shard;    /* ZeRO stage: 1 optimiser state, 2 also gradients, 3 also parameters */
  bool views;        /* gradients are views of DistributedDataParallel's buckets */
  unsigned segments; /* of activation checkpointing; 0 or 1: none */
  int64_t batch;     /* factor of all activations if the shapes have a fixed batch of 1; else 1 */
  struct ft_workspace workspace[3]; /* forward pass, gradient of the input, of the weights */
  /* a spatial convolution with at least this number of input and of output channels copies its
   * inputs and outputs, in both passes; 0: none copies */
  int64_t copied_channels;
};

/* Returns the bytes on each GPU if BYTES are sharded over GPUS, rounded up; 0 GPUs as 1. */
static inline int64_t ft_share(int64_t bytes, unsigned gpus)
{
  return gpus > 1 ? bytes / gpus + (bytes % gpus != 0) : bytes;
}

struct ft_schedule {
  struct ft_event *events;
  size_t count;
  size_t parameters;        /* end of the events that allocate parameters and statistics, once */
  size_t forward;           /* end of the forward pass */
  size_t backward;          /* end of the backward pass; the rest frees the gradients */
  uint32_t buffers;         /* number of different buffers */
  uint32_t trainable_count; /* number of trainable tensors */
  const struct ft_tensor **trainable_tensors;
  int64_t *trainable_sizes;               /* bytes of each */
  int64_t trainable_bytes, trainable_max; /* sum and maximum of trainable_sizes */
  int64_t frozen_bytes;                   /* parameters that are not trained */
  int64_t packed_bytes;                   /* quantised weights, which are not trainable */
  int64_t input_bytes;                    /* network inputs; no event allocates them */
  int64_t saved_bytes;             /* live at the end of the forward pass, beyond parameters */
  int64_t offloaded_bytes;         /* copied to the host, and back in the backward pass */
  int64_t peak_bytes;              /* maximum of the live bytes, without rounding */
  int64_t peak_no_workspace_bytes; /* the same without workspaces */
};

/*
 * Fills SCHEDULE with one pass of GRAPH, after ft_graph_infer and ft_graph_cost. SCHEDULE's arrays
 * belong to GRAPH and live as long as COST. Returns 0; -1 without memory and fills ERR.
 */
int ft_schedule_make(struct ft_graph *graph, const struct ft_cost *cost,
                     const struct ft_schedule_options *options, struct ft_schedule *schedule,
                     struct ft_error *err);

#endif
