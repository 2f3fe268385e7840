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
 * Returns whether RUN is assumed to have run out of GPU memory, which no program reports: its
 * outcome was failed (not cancelled, timeout or out_of_memory) with at least 0.8 of the GPU's
 * memory in use. Of several GPUs the mean counts; one full GPU among them is not detected.
 */
bool ft_gpu_model_ran_out(const ft_run *run);

/*
 * Converts MODEL with its history to the memory of one GPU, in bytes. Runs without a measured GPU
 * peak are removed; the columns stay. Estimates and facts then work as for host memory. HELD_BYTES
 * becomes the memory of the largest GPU or slice with a completed run, if every completed run used
 * nearly its whole GPU: such an app allocates all memory, and its peaks do not show how much it
 * requires. Otherwise HELD_BYTES is 0. Returns the number of runs left; -1 out of memory and fills
 * ERR.
 */
int ft_gpu_model_convert(ft_model *model, double *held_bytes, struct ft_error *err);

#endif
