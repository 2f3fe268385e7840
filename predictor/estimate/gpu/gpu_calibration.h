/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Corrects the estimate of a network's GPU memory by measured runs of the site. The memory of
 * context and libraries is estimated from runs of all networks on the same type of GPU, the
 * network's ratio of measured to simulated memory from runs of the same app. Pure.
 */
#ifndef FT_ESTIMATE_GPU_CALIBRATION_H
#define FT_ESTIMATE_GPU_CALIBRATION_H

#include <stdbool.h>

#include "predictor/estimate/gpu/gpu_memory.h"
#include "predictor/record/record.h"

/* Linear model of a type of GPU: measured bytes = context_bytes + slope * simulated bytes. */
struct ft_gpu_device {
  double context_bytes; /* CUDA context and libraries */
  double slope;         /* measured bytes per simulated byte */
  double deviation;     /* standard error of the line at the network's size, in bytes */
};

/* Returns whether the simulated sizes of A and B are those of one network at one batch size. */
bool ft_gpu_same_network(const ft_network_run *a, const ft_network_run *b);

/*
 * Fits DEVICE to COUNT RUNS by robust Bayesian regression with CONTEXT_BYTES and slope 1 as the
 * prior mean. All runs of one network together have the weight of one run. Outliers, such as a
 * sampled cuDNN autotuning peak or a second process, have small weights (Student's t).
 * device->deviation is computed at NETWORK_BYTES.
 */
void ft_gpu_device_fit(const ft_network_run *runs, size_t count, double context_bytes,
                       double network_bytes, struct ft_gpu_device *device);

/*
 * Corrects median, minimum device sizes and interval width of MEMORY, which was simulated for GPU
 * (NULL: unknown). DEVICE is fitted by ft_gpu_device_fit to runs on GPU. APP is the app's section
 * of GPU memory, of which gpu_runs count; NULL: none. The context of such a run is that of DEVICE
 * if the run's GPU is one of the COUNT HASHES, else that of MEMORY.
 */
void ft_gpu_calibrate(struct ft_gpu_memory *memory, const struct ft_gpu *gpu,
                      const struct ft_gpu_device *device, const ft_model *app,
                      const uint32_t *hashes, size_t count);

#endif
