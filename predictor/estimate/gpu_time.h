/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a change of how a network is run costs in time: every operator takes as long as its
 * multiplications or what it reads and writes, whichever is slower there (the roofline of Williams
 * et al. 2009). Only quotients of such times are told: no device reaches its maker's figures.
 */
#ifndef FT_ESTIMATE_GPU_TIME_H
#define FT_ESTIMATE_GPU_TIME_H

#include "predictor/estimate/gpu_memory.h"

/* A device, or the slice of it that a job has. */
struct ft_gpu_part {
  const struct ft_gpu *gpu; /* NULL: not known, taken as the first that is */
  double compute, memory;   /* of the whole; 0 as 1 */
};

/*
 * Seconds of a step of GRAPH run as RUN says on PART; infers its shapes. OFFLOADED bytes travel to
 * the host and back, which waits for them (torch.autograd.graph.save_on_cpu); of several GPUs'
 * gradients the exchange goes on beside the backward pass. Negative with ERR when the shapes cannot
 * be told; 0 where nothing is known to be done.
 */
double ft_gpu_step_seconds(struct ft_graph *graph, const struct ft_gpu_part *part,
                           const struct ft_gpu_run *run, double offloaded, struct ft_error *err);

#endif
