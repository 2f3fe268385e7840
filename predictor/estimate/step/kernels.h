/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernels that PyTorch starts for one step of a network, in order, with their sizes: operators
 * after fusion, and for training their gradients and the optimiser. Views start none.
 */
#ifndef FT_ESTIMATE_STEP_KERNELS_H
#define FT_ESTIMATE_STEP_KERNELS_H

#include "predictor/estimate/gpu/gpu_memory.h"

enum ft_kernel_class {
  FT_KERNEL_PRODUCT,     /* matrix product with a weight */
  FT_KERNEL_BATCHED,     /* products of many matrices of the batch */
  FT_KERNEL_POINTWISE,   /* convolution with one element for each channel */
  FT_KERNEL_CONVOLUTION, /* with several */
  FT_KERNEL_GROUPED,     /* convolution in groups of channels */
  FT_KERNEL_DEPTHWISE,   /* with one channel in each group */
  FT_KERNEL_ATTENTION,   /* fused */
  FT_KERNEL_ELEMENTWISE,
  FT_KERNEL_BATCH_NORM,
  FT_KERNEL_NORM, /* layer, group and other normalisations */
  FT_KERNEL_SOFTMAX,
  FT_KERNEL_REDUCTION, /* sums, means, pooling */
  FT_KERNEL_COPY,      /* concatenation, padding, conversion, gathering */
  FT_KERNEL_OPTIMIZER,
  FT_KERNEL_OTHER, /* unknown operators, recurrences, loops */
  FT_KERNEL_CLASSES
};

enum ft_kernel_pass {
  FT_PASS_FORWARD,
  FT_PASS_INPUT_GRADIENT,
  FT_PASS_WEIGHT_GRADIENT,
  FT_PASS_OPTIMIZER,
  FT_PASSES
};

struct ft_kernel {
  const struct ft_operator *op; /* NULL: the optimiser */
  enum ft_kernel_class class;
  enum ft_kernel_pass pass;
  /* of a product: BATCH matrices of M x K times K x N; N 0: no product */
  double batch, m, n, k;
  double macs;
  double bytes;  /* read and written */
  double starts; /* number of kernels that run one after the other; 1, but for loops */
};

struct ft_kernels {
  struct ft_kernel *list; /* in the graph's arena; until the next ft_graph_infer */
  size_t count;
  double parameter_bytes; /* of the trained ones */
  double operators;       /* started by the host in the forward pass, views included */
  enum ft_precision precision;
  bool incomplete; /* operators of unknown size or kind are left out */
};

/* Fills KERNELS with those of one step of GRAPH with the settings RUN. Infers the shapes of GRAPH.
 * Returns 0; -1 on error and fills ERR. */
int ft_kernels_list(struct ft_graph *graph, const struct ft_gpu_run *run,
                    struct ft_kernels *kernels, struct ft_error *err);

/* Returns the name of a class, such as "convolution". */
const char *ft_kernel_class_name(enum ft_kernel_class class);

#endif
