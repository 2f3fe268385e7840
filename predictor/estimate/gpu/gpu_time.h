/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Relative step time of a network under different settings, by the roofline model (Williams,
 * Waterman and Patterson 2009): an operator takes the longer of its arithmetic and its memory
 * traffic at data-sheet rates. Only ratios are reported: no device reaches these rates.
 */
#ifndef FT_ESTIMATE_GPU_TIME_H
#define FT_ESTIMATE_GPU_TIME_H

#include "predictor/estimate/gpu/gpu_memory.h"
#include "predictor/estimate/gpu/mig.h"

/* A GPU or a MIG slice of a GPU. */
struct ft_gpu_part {
  const struct ft_gpu *gpu; /* NULL: unknown; the first GPU of the table is assumed */
  double compute, memory;   /* fractions of the GPU's compute rate and bandwidth; 0 means 1 */
};

/* Return the fractions of the GPU's compute rate and bandwidth that PART has. */
static inline double ft_gpu_part_compute(const struct ft_gpu_part *part)
{
  return part->compute > 0 ? part->compute : 1;
}

static inline double ft_gpu_part_memory(const struct ft_gpu_part *part)
{
  return part->memory > 0 ? part->memory : 1;
}

/* Returns the part of GPU that SLICE, a profile of TABLE for it, has; NULL: all of it. */
struct ft_gpu_part ft_gpu_part_of_slice(const struct ft_gpu *gpu, const struct ft_mig_table *table,
                                        const struct ft_mig_profile *slice);

/* Returns the seconds in which GPUs exchange gradients of PARAMETER_BYTES; 0 for one GPU. */
double ft_gpu_exchange_seconds(const struct ft_gpu *gpu, const struct ft_gpu_run *run,
                               double parameter_bytes);

/*
 * Returns the duration, in seconds, of one step of GRAPH with the settings RUN on PART. Infers the
 * shapes of GRAPH. OFFLOADED bytes are copied to the host and back while the step waits
 * (torch.autograd.graph.save_on_cpu). The gradient exchange between several GPUs overlaps the
 * backward pass. Returns 0 if the cost of no operator is known; a negative value and fills ERR if
 * the shapes cannot be inferred.
 */
double ft_gpu_step_seconds(struct ft_graph *graph, const struct ft_gpu_part *part,
                           const struct ft_gpu_run *run, double offloaded, struct ft_error *err);

#endif
