/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds an app's model of GPU memory from the history of its host-memory model. */
#ifndef FT_ONLINE_GPU_MODEL_H
#define FT_ONLINE_GPU_MODEL_H

#include "predictor/core/error.h"
#include "predictor/record/record.h"

/*
 * Returns the memory in bytes of the GPU or MIG slice of OBSERVATION's run: NVIDIA's size of the
 * profile reported by NVML, else of the profile in --gres, else of the whole GPU. Returns 0 if the
 * size is unknown, if no GPU was measured, or if the run neither completed nor failed.
 */
double ft_gpu_model_limit(const ft_observation *observation);

/*
 * Fits MODEL to the memory of one GPU that the runs of its history needed. Runs without a
 * measured GPU peak are removed; the columns stay. Estimates and facts then work as for host
 * memory. HELD_BYTES becomes the memory of the largest GPU or slice with a completed run, if every
 * completed run used nearly its whole GPU: such an app allocates all memory, and its peaks do not
 * show how much it requires. Otherwise HELD_BYTES is 0. Returns the number of runs left; -1 out of
 * memory and fills ERR.
 */
int ft_gpu_model_convert(ft_model *model, double *held_bytes, struct ft_error *err);

#endif
