/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What only GPU memory has: the size of a run's GPU, and runs with a model file. */
#ifndef FT_ONLINE_GPU_MODEL_H
#define FT_ONLINE_GPU_MODEL_H

#include "predictor/record/run_columns.h"

/*
 * Returns the memory in bytes of the GPU or MIG slice of OBSERVATION's run: NVIDIA's size of the
 * profile reported by NVML, else of the profile in --gres, else of the whole GPU. Returns 0 if the
 * size is unknown, if no GPU was measured, or if the run neither completed nor failed.
 */
double ft_gpu_model_limit(const ft_observation *observation);

/* Returns the largest GPU memory in bytes that a completed run of HISTORY filled, if every
 * completed run filled its GPU; else 0. */
double ft_gpu_model_filled(const struct ft_history *history);

/*
 * Completes GPU, a model of GPU memory fitted to HISTORY (quantity_models.h). gpu->held_bytes
 * becomes the memory of the largest GPU or slice with a completed run, if every completed run used
 * nearly its whole GPU: such an app allocates all memory, and its peaks do not show how much it
 * requires. Otherwise it is 0. gpu->gpu_runs become the newest completed runs with a model file.
 */
void ft_gpu_model_complete(ft_model *gpu, const struct ft_history *history);

#endif
