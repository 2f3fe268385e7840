/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Seconds of one step of a network on a GPU. A kernel takes its start plus a smooth maximum of two
 * times: its arithmetic in whole tiles on all multiprocessors, and its memory traffic (the roofline
 * of Williams, Waterman and Patterson 2009), each at a fraction of the data sheet's rate that is
 * learnt for its class. The host starts the kernels; a step takes the longer of both.
 */
#ifndef FT_ESTIMATE_STEP_TIME_H
#define FT_ESTIMATE_STEP_TIME_H

#include "predictor/estimate/gpu/gpu_time.h"
#include "predictor/estimate/step/kernels.h"
#include "predictor/estimate/step/step_energy.h"

/* Returns the seconds of KERNEL on PART, from its start to the next kernel's. */
double ft_kernel_seconds(const struct ft_kernel *kernel, const struct ft_gpu_part *part,
                         enum ft_precision precision);

struct ft_step_time {
  double forward, backward, optimizer; /* seconds of the GPU, or of the host if it takes longer */
  double step;                         /* their sum */
  bool host_bound;                     /* the GPU waits for the host most of the time */
  bool measured;                       /* rates of this GPU are fitted to runs on it */
  bool incomplete;                     /* operators of unknown size or kind are left out */
  struct ft_estimate estimate;         /* of `step`, in seconds */
  struct ft_step_energy energy;        /* of `step` */
};

/* Fills TIME for one step of GRAPH with the settings RUN on PART; part->gpu is not NULL. Infers the
 * shapes of GRAPH. Returns 0; -1 on error and fills ERR. */
int ft_step_time(struct ft_graph *graph, const struct ft_gpu_part *part,
                 const struct ft_gpu_run *run, struct ft_step_time *time, struct ft_error *err);

#endif
