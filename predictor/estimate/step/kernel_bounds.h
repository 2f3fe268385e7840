/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seconds of a kernel's arithmetic and of its memory traffic at the data sheet's rates. */
#ifndef FT_ESTIMATE_KERNEL_BOUNDS_H
#define FT_ESTIMATE_KERNEL_BOUNDS_H

#include "predictor/estimate/gpu/gpu_time.h"
#include "predictor/estimate/step/kernels.h"

enum ft_pipe { FT_PIPE_SIMD, FT_PIPE_TENSOR, FT_PIPES };

/* What a kernel takes at the data sheet's rates. */
struct ft_kernel_bounds {
  double compute, memory; /* seconds; compute of whole tiles on all multiprocessors */
  enum ft_pipe pipe;      /* that does its products */
};

void ft_kernel_bound(const struct ft_kernel *kernel, const struct ft_gpu_part *part,
                     enum ft_precision precision, struct ft_kernel_bounds *bounds);

#endif
