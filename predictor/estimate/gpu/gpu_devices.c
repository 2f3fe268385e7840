/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of GPUs: names, memory, context. */
#include "config.h"

#include "predictor/estimate/gpu/mig_gres.h"

enum {
  /* Context and libraries in MiB of PyTorch 2.11 with CUDA 13 on an H100 and an H200, which share
   * the chip, without cuDNN autotuning: 740 to 762 in most networks (tests/bench/gpu_training). */
  HOPPER_CONTEXT_MIB = 760,
  /* The same of PyTorch 2.6 with CUDA 12.4 on an RTX 4060, at most: its memory less the largest
   * amount without context that a run had on it; of an RTX 3060 303 (tests/bench/xmem). */
  GEFORCE_CONTEXT_MIB = 283,
  /* RSS of the interpreter with PyTorch in MiB (tests/bench/cpu_training) */
  HOST_MIB = 290
};

#define GEFORCE                                                                                    \
  .context_mib = FT_GPU_CONTEXT_MIB, .untuned_context_mib = GEFORCE_CONTEXT_MIB, .slow_tf32 = true
#define HOPPER .context_mib = FT_GPU_CONTEXT_MIB, .untuned_context_mib = HOPPER_CONTEXT_MIB

/* memory_mib: the total that nvidia-smi shows, minus the memory reserved by the driver. */
static const struct ft_gpu gpus[] = {
  { .name = "a100-40gb", .memory_mib = 40448, .context_mib = FT_GPU_CONTEXT_MIB, .measured = true },
  { .name = "a100-80gb", .memory_mib = 81050, .context_mib = FT_GPU_CONTEXT_MIB },
  { .name = "a30", .memory_mib = 24060, .context_mib = FT_GPU_CONTEXT_MIB },
  { .name = "h100-80gb", .memory_mib = 81090, HOPPER },
  { .name = "h100-94gb", .memory_mib = 95320, HOPPER },
  { .name = "h100-96gb", .memory_mib = 96800, HOPPER },
  { .name = "gh200", .memory_mib = 96800, HOPPER },
  { .name = "h200", .memory_mib = 143160, HOPPER },
  { .name = "b200", .memory_mib = 182780, .context_mib = FT_GPU_CONTEXT_MIB },
  { .name = "gb200", .memory_mib = 188890, .context_mib = FT_GPU_CONTEXT_MIB },
  { .name = "rtx-pro-6000", .memory_mib = 97250, .context_mib = FT_GPU_CONTEXT_MIB },
  { .name = "rtx-3060", .memory_mib = 12037, GEFORCE },
  { .name = "rtx-3090", .memory_mib = 24260, GEFORCE },
  { .name = "rtx-4060", .memory_mib = 7933, GEFORCE },
  { .name = "rtx-4090", .memory_mib = 24210, GEFORCE },
  { .name = "cpu", .context_mib = HOST_MIB, .measured = true, .host = true },
};

const struct ft_gpu *ft_gpu_at(size_t i)
{
  return i < sizeof gpus / sizeof *gpus ? &gpus[i] : NULL;
}

const struct ft_gpu *ft_gpu_find(const char *name)
{
  for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
    if (ft_mig_same_gpu(name, gpus[i].name))
      return &gpus[i];
  return NULL;
}

const struct ft_gpu *ft_mig_gpu_called(const struct ft_mig_table *table, const char *name)
{
  const struct ft_gpu *gpu = ft_gpu_find(name);

  if (gpu || !ft_mig_names_gpu(table, name))
    return gpu;
  for (size_t i = 0; (gpu = ft_gpu_at(i)); i++)
    if (!gpu->host && ft_mig_may_be(table, name, gpu->name))
      return gpu;
  return NULL;
}
