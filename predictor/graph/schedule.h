/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One training step of a network as PyTorch runs it, as the series of requests to its allocator:
 * parameters, forward pass, backward pass in reverse, the optimiser.
 */
#ifndef FT_GRAPH_SCHEDULE_H
#define FT_GRAPH_SCHEDULE_H

#include "predictor/graph/cost.h"

enum ft_event_kind {
  FT_EVENT_TAKE,
  FT_EVENT_GIVE,
  FT_EVENT_TRIED, /* a convolution's first run, after which cuDNN's trials are given back */
};

struct ft_event {
  int64_t bytes;   /* of FT_EVENT_TAKE */
  uint32_t buffer; /* counted from 0 */
  uint8_t kind;
};

/* Bytes of workspace for each byte of what a convolution reads, gives and learns. */
struct ft_workspace {
  double input, output, weight;
};

struct ft_schedule_options {
  bool fused_attention; /* no probabilities are kept (scaled_dot_product_attention) */
  unsigned segments;    /* of activation checkpointing; 0: none */
  int64_t batch;        /* times what the shapes say (ft_analysis.scaled), else 1 */
  unsigned parameter_bytes_per_element, activation_bytes_per_element;
  struct ft_workspace workspace[3]; /* forward, gradient of the input, of the weight */
};

struct ft_schedule {
  struct ft_event *events;
  size_t count;
  size_t parameters; /* events before this one: parameters and statistics, once */
  size_t forward;    /* from PARAMETERS to here */
  size_t backward;   /* from FORWARD to here; then the gradients are given back */
  uint32_t buffers;
  uint32_t tensors_learnt;
  int64_t learnt_bytes;
  int64_t saved_bytes;   /* kept at the end of the forward pass */
  int64_t peak_bytes;    /* requested at once, rounding apart */
  int64_t *learnt_sizes; /* of each parameter tensor */
};

int ft_schedule_training(struct ft_graph *graph, const struct ft_cost *cost,
                         const struct ft_schedule_options *options, struct ft_schedule *schedule,
                         struct ft_error *err);

#endif
