/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds an app's model of GPU memory from its runs. */
#ifndef FT_ONLINE_GPU_MODEL_H
#define FT_ONLINE_GPU_MODEL_H

#include "predictor/core/error.h"
#include "predictor/record/run_columns.h"

/*
 * Returns the memory in bytes of the GPU or MIG slice of OBSERVATION's run: NVIDIA's size of the
 * profile reported by NVML, else of the profile in --gres, else of the whole GPU. Returns 0 if the
 * size is unknown, if no GPU was measured, or if the run neither completed nor failed.
 */
double ft_gpu_model_limit(const ft_observation *observation);

/*
 * Sets GPU to a copy of MODEL, an app's model of host memory, that is fitted to the memory of one
 * GPU that those runs of HISTORY needed that have a measured one; the columns stay. Estimates and
 * facts then work as for host memory. gpu->held_bytes becomes the memory of the largest GPU or
 * slice with a completed run, if every completed run used nearly its whole GPU: such an app
 * allocates all memory, and its peaks do not show how much it requires. Otherwise it is 0. Returns
 * the number of runs with a measured GPU peak, with 0 GPU is undefined; -1 out of memory and fills
 * ERR.
 */
int ft_gpu_model_fit(const ft_model *model, const struct ft_history *history, ft_model *gpu,
                     struct ft_error *err);

#endif
