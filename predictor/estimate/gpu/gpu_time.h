/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Relative step time of a network under different settings, by the roofline model (Williams,
 * Waterman and Patterson 2009): an operator takes the longer of its arithmetic and its memory
 * traffic at data-sheet rates. Only ratios are reported: no device reaches these rates.
 */
#ifndef FT_ESTIMATE_GPU_TIME_H
#define FT_ESTIMATE_GPU_TIME_H

#include "predictor/estimate/gpu/gpu_memory.h"

/* A GPU or a MIG slice of it. */
struct ft_gpu_part {
  const struct ft_gpu *gpu; /* NULL: unknown; the first in the table is assumed */
  double compute, memory;   /* fraction of the GPU's compute and bandwidth; 0 as 1 */
};

/*
 * Returns the seconds of one step of GRAPH, run as RUN on PART, and infers the shapes of GRAPH.
 * OFFLOADED bytes are copied to the host and back while the step waits
 * (torch.autograd.graph.save_on_cpu). The gradient exchange of several GPUs overlaps the backward
 * pass. Returns a negative value and fills ERR if the shapes are unknown; 0 if no cost is known.
 */
double ft_gpu_step_seconds(struct ft_graph *graph, const struct ft_gpu_part *part,
                           const struct ft_gpu_run *run, double offloaded, struct ft_error *err);

#endif
