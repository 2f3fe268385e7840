/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Table of GPUs: memory and peak rates of their data sheets, and the spellings of their names. */
#ifndef FT_ESTIMATE_GPU_TABLE_H
#define FT_ESTIMATE_GPU_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* CUDA context and libraries in MiB. Fitted to 1,760 training runs of 384 networks on an A100-40GB
 * (itu-rad/GPUMemNet) by tests/bench/training_memory. */
enum { FT_GPU_CONTEXT_MIB = 1740 };

struct ft_gpu {
  const char *name;           /* "a100-40gb" */
  const char *families;       /* other names in lower case, separated by spaces: "rtx3090 3090" */
  const char *marks;          /* words that distinguish it from others of its family: "80gb pcie" */
  const char *mig;            /* its name in the table of MIG profiles (mig.h); NULL: `name` */
  double memory_mib;          /* usable by a process, context included */
  double context_mib;         /* CUDA context, cuBLAS, cuDNN and their buffers */
  double untuned_context_mib; /* the same without cuDNN autotuning; 0: not measured */
  bool measured; /* context_mib is fitted to runs on this GPU; else copied from another GPU */
  bool host;     /* the CPU: memory is peak RSS, the context the interpreter and libraries */
  /* peak rates of dense products in 1e12 operations per second: fp32 without tensor cores, TF32,
   * 16 bits with sums in 32 bits */
  double fp32, tf32, half;
  double bandwidth; /* of its memory, in 1e9 bytes per second */
  double link;      /* to the host, in one direction, in 1e9 bytes per second */
  double l2_mib;    /* last cache level */
  double clock_mhz; /* boost clock */
  /* sqrt(base clock / boost clock) of cards of at most 75 W: products run between the two; 0: 1 */
  double sustained;
  double watts;       /* power limit; 0: unknown */
  unsigned sms;       /* streaming multiprocessors, compute units or cores */
  const char *source; /* of these figures */
};

/* Returns row I of the table of GPUs; NULL past the last row. */
const struct ft_gpu *ft_gpu_at(size_t i);

/* Returns the GPU with NAME, in any case and punctuation ("a100-40gb", "NVIDIA A100 40GB"); a
 * static row; NULL: unknown. */
const struct ft_gpu *ft_gpu_find(const char *name);

/*
 * Returns the GPU that NAME, in a user's, Slurm's or a driver's spelling, denotes: "v100",
 * "gpu:3090", "Tesla V100-SXM2-32GB", "nvidia_a100_80gb_pcie". Of several the first row that agrees
 * with the memory size and form factor in NAME. A MIG profile in NAME is ignored. A static row;
 * NULL: unknown.
 */
const struct ft_gpu *ft_gpu_called(const char *name);

/* Returns whether NAME, in these spellings, may denote GPU: "a100" may be a100-40gb or a100-80gb.
 */
bool ft_gpu_may_be(const char *name, const struct ft_gpu *gpu);

/* Returns GPU's name in the table of MIG profiles. */
static inline const char *ft_gpu_mig_name(const struct ft_gpu *gpu)
{
  return gpu->mig ? gpu->mig : gpu->name;
}

#endif
