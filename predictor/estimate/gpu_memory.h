/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a network needs of a GPU's memory, from its operator graph: its passes are played on
 * PyTorch's allocator (graph/schedule.h, graph/cuda_allocator.h); context, libraries and the spread
 * around it are learnt from measured runs.
 */
#ifndef FT_ESTIMATE_GPU_MEMORY_H
#define FT_ESTIMATE_GPU_MEMORY_H

#include "predictor/estimate/estimate.h"
#include "predictor/graph/analyse.h"
#include "predictor/graph/training/schedule.h"

struct ft_gpu {
  const char *name;
  double memory_mib;  /* that a process can use of it, context included */
  double context_mib; /* CUDA context, cuBLAS, cuDNN and what they keep */
  bool measured;      /* that is fitted to runs on it, and not taken from another */
  bool host;          /* "cpu": peak RSS; context is the interpreter with its libraries */
};

/* The GPU that a person means: "a100-40gb", "NVIDIA A100 40GB"; NULL when not known. */
const struct ft_gpu *ft_gpu_find(const char *name);
/* The Ith known one, NULL past the last. */
const struct ft_gpu *ft_gpu_at(size_t i);

/* What is learnt from measured runs. */
struct ft_gpu_constants {
  double context_mib;               /* as of a GPU that has none of its own */
  double resident_batches;          /* batches that are on the device at once */
  struct ft_workspace workspace[3]; /* of cuDNN: forward, gradient of the input, of the weight */
  int64_t copied_channels;          /* ft_schedule_options, where cuDNN picks by rule */
};

extern const struct ft_gpu_constants ft_gpu_constants;

/* How a network is run. */
struct ft_gpu_run {
  struct ft_graph_sizes sizes;
  bool training;
  enum ft_optimizer optimizer;
  enum ft_precision precision;
  unsigned accumulate;  /* passes for one step of the optimiser; 0 as 1 */
  unsigned checkpoints; /* segments of activation checkpointing; 0: none */
  unsigned gpus;        /* data-parallel; 0 as 1 */
  unsigned summary;     /* samples of a forward pass before all others; 0: none (torchsummary: 2) */
  bool fused;           /* the optimiser's step is one kernel, not one a list (fused=True) */
  bool offload;         /* what the backward pass needs waits in the host's memory */
  bool views;           /* their gradients are views of buckets (gradient_as_bucket_view) */
  unsigned shard;       /* 1: optimiser state, 2: gradients too, 3: parameters too (ZeRO) */
  bool plain_attention; /* softmax is spelt out, not one kernel */
  const struct ft_gpu_constants *constants; /* NULL: those above */
  bool out_of_place;   /* no activation function takes its input's place (inplace=False) */
  bool no_autotune;    /* cuDNN picks by rule (torch.backends.cudnn.benchmark = False) */
  bool precision_given; /* else inference takes the one that weights are stored in */
  bool keeps_graph;    /* inference without torch.no_grad(): what training keeps stays */
};

/* As most scripts run: training, SGD with momentum, fp32; a batch of 1. */
void ft_gpu_run_init(struct ft_gpu_run *run);

/* The precision that RUN of GRAPH has: RUN's own, or where it was not said, in inference, the one
 * that the file says its weights have. */
enum ft_precision ft_gpu_precision(const struct ft_graph *graph, const struct ft_gpu_run *run);

const char *ft_precision_name(enum ft_precision precision);

struct ft_gpu_memory {
  /* bytes that a slice has to hold: what nvidia-smi shows but for moments in which cuDNN tries a
   * workspace, as one that does not fit is not tried */
  struct ft_estimate estimate;
  double bytes;          /* its middle */
  double min_feasible_bytes; /* the least that it was played in */
  double min_device_bytes;   /* with less than this of a device it runs out */
  double network_bytes;  /* of the middle what the device's context does not take */
  int64_t context_bytes, parameter_bytes, gradient_bytes, optimizer_bytes;
  int64_t activation_bytes; /* kept at the end of the forward pass; inference: the peak */
  int64_t offloaded_bytes;  /* of a step, that travel to the host and back */
  int64_t live_bytes;       /* of tensors at once; without rounding, workspaces and what is fed */
  int64_t cached_bytes;     /* what the allocator holds beyond what is requested at once */
  int64_t loop_bytes;       /* of those at most what the turns of counted loops keep */
  bool complete;            /* every tensor's size is known: else lower bounds */
  int64_t unknown_bytes;    /* and what is not known takes at most so much more; -1: no bound */
  double guess_log_factor;  /* parameters are guessed: so much wider, of a logarithm */
};

/*
 * What GRAPH needs on GPU (NULL: one without an end) run as RUN says; infers its shapes. Returns 0;
 * -1 with ERR.
 */
int ft_gpu_memory(struct ft_graph *graph, const struct ft_gpu *gpu, const struct ft_gpu_run *run,
                  struct ft_gpu_memory *memory, struct ft_error *err);

/* The same of one pass alone where words are made: the one that RUN->sizes says. */
int ft_gpu_memory_pass(struct ft_graph *graph, const struct ft_gpu *gpu,
                       const struct ft_gpu_run *run, struct ft_gpu_memory *memory,
                       struct ft_error *err);

/*
 * Give MEMORY the quantiles around its middle: as wide as families that took no part lie, times
 * NARROW, and by MORE of a logarithm wider on either side; above the middle by unknown_bytes too,
 * where these have a bound: else the upper quantiles are of the known part alone.
 */
void ft_gpu_memory_fill_quantiles(struct ft_gpu_memory *memory, double narrow, double more);

/* Not more than GPU (NULL: any) has, where it would run there: the allocator gives back and tries
 * again. */
void ft_gpu_memory_cap(struct ft_gpu_memory *memory, const struct ft_gpu *gpu);

/* How much wider the estimate is, of a logarithm, on a GPU that no run is known of. */
extern const double ft_gpu_memory_unmeasured;

/* The probability that it runs out on GPU. */
double ft_gpu_memory_p_oom(const struct ft_gpu_memory *memory, const struct ft_gpu *gpu);

#endif
