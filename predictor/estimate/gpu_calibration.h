/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A network's estimate made better by what a site has measured: runs of other networks on such
 * GPUs tell what context and libraries take there; runs of the same app how far its network lies
 * from what its operators say. Pure.
 */
#ifndef FT_ESTIMATE_GPU_CALIBRATION_H
#define FT_ESTIMATE_GPU_CALIBRATION_H

#include "predictor/estimate/gpu_memory.h"
#include "predictor/record/record.h"

/* What is known of a kind of GPU. */
struct ft_gpu_device {
  double context_bytes; /* beside the network, */
  double slope;         /* and bytes for each that its operators say */
  double deviation;     /* of a network as large as the one asked about, in bytes */
};

/*
 * Fit RUNS, COUNT of them, around CONTEXT_BYTES, which is known within a few hundred MiB. Each
 * network counts once however often it has run; runs far from the others (cuDNN's trials seen by
 * the sampler, a second process) count little. DEVIATION is for NETWORK_BYTES.
 */
void ft_gpu_device_fit(const ft_network_run *runs, size_t count, double context_bytes,
                       double network_bytes, struct ft_gpu_device *device);

/*
 * Refine MEMORY, played for GPU (NULL: not known): the middle, the least and the width of the
 * estimate. DEVICE: as fitted. MODEL: of the app with its history, NULL for none; its runs on GPUs
 * that HASHES (COUNT of them) name are read with DEVICE, others with the context that MEMORY has.
 */
void ft_gpu_calibrate(struct ft_gpu_memory *memory, const struct ft_gpu *gpu,
                      const struct ft_gpu_device *device, const ft_model *model,
                      const uint32_t *hashes, size_t count);

#endif
