/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GPU memory of a network, from its operator graph. The allocations of forward and backward pass
 * are replayed on a simulation of PyTorch's caching allocator (graph/training/cuda_allocator.h).
 * The memory of context and libraries and the prediction interval are fitted to measured runs.
 */
#ifndef FT_ESTIMATE_GPU_MEMORY_H
#define FT_ESTIMATE_GPU_MEMORY_H

#include "predictor/estimate/estimate.h"
#include "predictor/estimate/gpu/gpu_table.h"
#include "predictor/graph/analyse.h"
#include "predictor/graph/training/schedule.h"

/* Constants fitted to measured runs. */
struct ft_gpu_constants {
  double context_mib;               /* for runs without a known GPU */
  double resident_batches;          /* input batches on the device at the same time, in training */
  struct ft_workspace workspace[3]; /* cuDNN: forward, gradient of the input, of the weight */
  int64_t copied_channels;          /* ft_schedule_options; applies without cuDNN autotuning */
};

/* The default constants. */
extern const struct ft_gpu_constants ft_gpu_constants;

/* Settings with which a network is trained or evaluated. */
struct ft_gpu_run {
  struct ft_graph_sizes sizes;
  bool training;
  enum ft_optimizer optimizer;
  enum ft_precision precision;
  unsigned accumulate;  /* gradient accumulation: passes per optimiser step; 0 means 1 */
  unsigned checkpoints; /* segments of activation checkpointing; 0: none */
  unsigned gpus;        /* data-parallel GPUs; 0 means 1 */
  unsigned summary; /* batch size of a preceding forward pass (torchsummary: 2); 0: no such pass */
  bool sequential;  /* the optimiser steps through the parameters one by one (foreach=False) */
  bool fused;       /* fused optimiser kernel (fused=True), without temporary tensors */
  bool offload;     /* tensors saved for the backward pass are in host memory (save_on_cpu) */
  bool views;       /* gradients are views of buckets (gradient_as_bucket_view) */
  unsigned shard;   /* ZeRO stage: 1 optimiser state, 2 also gradients, 3 also parameters */
  bool plain_attention; /* attention is decomposed into operators, not a fused kernel */
  const struct ft_gpu_constants *constants; /* NULL: ft_gpu_constants */
  bool out_of_place;    /* activation functions are not in place (inplace=False) */
  bool no_autotune;     /* torch.backends.cudnn.benchmark = False: cuDNN selects by heuristics */
  bool precision_given; /* false: inference uses the precision of the stored weights */
  bool keeps_graph;     /* inference without torch.no_grad(): tensors are saved as in training */
};

/* Initialises RUN with common settings: training, SGD with momentum, fp32, batch of 1. */
void ft_gpu_run_init(struct ft_gpu_run *run);

/* Returns the precision of RUN of GRAPH, after ft_graph_cost: run->precision, but without
 * precision_given that of the weights in the file, if they are bf16 or fp16. A recipe (Hugging
 * Face) names that of the stored weights, which counts in inference only. */
enum ft_precision ft_gpu_precision(const struct ft_graph *graph, const struct ft_gpu_run *run);

/* Returns the name of PRECISION: "fp32", "tf32", "amp", "bf16" or "fp16"; a static string. */
const char *ft_precision_name(enum ft_precision precision);

/* Result of ft_gpu_memory. */
struct ft_gpu_memory {
  /* Bytes of one GPU as nvidia-smi shows them, without the peaks of cuDNN autotuning: cuDNN skips
   * an algorithm whose workspace does not fit, so a MIG slice need not hold these peaks. */
  struct ft_estimate estimate;
  double bytes;              /* median of the estimate */
  double min_feasible_bytes; /* smallest device, in bytes, in which the simulation succeeds */
  double min_device_bytes;   /* smallest device, in bytes, in which a run is expected to succeed */
  double network_bytes;      /* `bytes` without the context */
  int64_t context_bytes, parameter_bytes, gradient_bytes, optimizer_bytes;
  int64_t activation_bytes; /* saved at the end of the forward pass; inference: the peak */
  int64_t untrained_bytes;  /* of parameter_bytes: frozen or quantised */
  int64_t offloaded_bytes;  /* copied to the host and back in one step */
  int64_t live_bytes; /* peak of all live tensors, without rounding, workspaces and input batches */
  int64_t cached_bytes;    /* reserved by the allocator above the peak of allocated blocks */
  int64_t loop_bytes;      /* upper bound of what all iterations of counted loops save */
  bool complete;           /* all tensor sizes are known; false: the figures are lower bounds */
  ft_dim unknown_bytes;    /* upper bound of the tensors of unknown size; unknown: unbounded */
  bool thawed;             /* ft_cost.thawed */
  uint32_t restored_norms; /* normalisations that the file's exporter had folded */
  double guess_log_factor; /* added log width of a guessed or approximate network; else 0 */
  bool approximate;        /* ft_graph.approximate */
};

/*
 * Fills MEMORY with the estimate for GRAPH with the settings RUN on GPU (NULL: unlimited memory).
 * Infers the shapes of GRAPH. For autoregressive generation it is the larger of the prompt's and
 * the last token's pass. Returns 0; -1 on error and fills ERR.
 */
int ft_gpu_memory(struct ft_graph *graph, const struct ft_gpu *gpu, const struct ft_gpu_run *run,
                  struct ft_gpu_memory *memory, struct ft_error *err);

/* As ft_gpu_memory, for the one pass of autoregressive generation that run->sizes selects. */
int ft_gpu_memory_pass(struct ft_graph *graph, const struct ft_gpu *gpu,
                       const struct ft_gpu_run *run, struct ft_gpu_memory *memory,
                       struct ft_error *err);

/*
 * Fills the quantiles of memory->estimate around the median memory->bytes. Their log distances from
 * the median are the residual quantiles of held-out network families times SCALE, plus ADDED_LOG.
 * A bounded unknown_bytes widens the upper quantiles; with an unbounded one the estimate covers the
 * tensors of known size only.
 */
void ft_gpu_memory_fill_quantiles(struct ft_gpu_memory *memory, double scale, double added_log);

/* Reduces the median of MEMORY to the memory of GPU (NULL: no limit) if the network fits: a full
 * device makes PyTorch's allocator release cached segments and retry. */
void ft_gpu_memory_cap(struct ft_gpu_memory *memory, const struct ft_gpu *gpu);

/* Added log width of the interval on a GPU without measured runs. */
extern const double ft_gpu_memory_unmeasured;

/* Returns the bytes of the median that no part of MEMORY includes: input batches, workspaces,
 * temporary tensors, constants. Negative if gradients and saved tensors are not all live at the
 * peak. */
double ft_gpu_memory_other(const struct ft_gpu_memory *memory);

/* Returns the probability that a run with MEMORY does not fit on GPU. */
double ft_gpu_memory_p_oom(const struct ft_gpu_memory *memory, const struct ft_gpu *gpu);

#endif
