/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Corrects a network's GPU memory estimate by measured runs of the site. Runs of other networks on
 * the same type of GPU give the memory of context and libraries. Runs of the same app give the
 * network's ratio of measured to simulated memory. Pure.
 */
#ifndef FT_ESTIMATE_GPU_CALIBRATION_H
#define FT_ESTIMATE_GPU_CALIBRATION_H

#include "predictor/estimate/gpu/gpu_memory.h"
#include "predictor/record/record.h"

/* Linear model of a type of GPU: measured = context_bytes + slope * simulated. */
struct ft_gpu_device {
  double context_bytes; /* CUDA context and libraries */
  double slope;         /* measured bytes per simulated byte */
  double deviation;     /* standard deviation of the line at NETWORK_BYTES, in bytes */
};

/*
 * Fits DEVICE to COUNT RUNS by robust Bayesian regression around CONTEXT_BYTES. A network counts
 * once however often it ran. Outliers, such as a sampled cuDNN autotuning peak or a second process,
 * count little. device->deviation is at NETWORK_BYTES.
 */
void ft_gpu_device_fit(const ft_network_run *runs, size_t count, double context_bytes,
                       double network_bytes, struct ft_gpu_device *device);

/*
 * Corrects MEMORY, which was simulated for GPU (NULL: unknown): median, minima and width. DEVICE is
 * fitted by ft_gpu_device_fit. MODEL is the app's model with its history; NULL: none. Its runs on
 * the GPUs with one of COUNT HASHES use DEVICE, others the context of MEMORY.
 */
void ft_gpu_calibrate(struct ft_gpu_memory *memory, const struct ft_gpu *gpu,
                      const struct ft_gpu_device *device, const ft_model *model,
                      const uint32_t *hashes, size_t count);

#endif
