/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Joules of one step of a network on a GPU: the GPU's power while it waits, for the time of the
 * step, and the joules that each kernel adds, for its arithmetic on either pipe and for its memory
 * traffic. The mean power cannot pass the power limit.
 */
#ifndef FT_ESTIMATE_STEP_ENERGY_H
#define FT_ESTIMATE_STEP_ENERGY_H

#include "predictor/estimate/gpu/gpu_time.h"
#include "predictor/estimate/step/kernels.h"

struct ft_step_energy {
  double watts;  /* mean power of all GPUs of the run; 0: a GPU's power limit is unknown */
  bool measured; /* the joules of kernels are fitted to runs on this GPU */
  struct ft_estimate joules; /* of a step, on all GPUs of the run */
};

/* Returns the joules that KERNEL adds to those of waiting on PART. */
double ft_kernel_joules(const struct ft_kernel *kernel, const struct ft_gpu_part *part,
                        enum ft_precision precision);

/* Fills ENERGY for a step of SECONDS on GPUS times PART, whose kernels add JOULES on each. A slice
 * has its share of the power limit and of the power of waiting. */
void ft_step_energy(const struct ft_gpu_part *part, double gpus, double joules, double seconds,
                    struct ft_step_energy *energy);

#endif
