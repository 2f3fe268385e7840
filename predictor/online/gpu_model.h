/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An app's model of GPU memory, made of the runs that its model of host memory remembers. */
#ifndef FT_ONLINE_GPU_MODEL_H
#define FT_ONLINE_GPU_MODEL_H

#include "predictor/core/error.h"
#include "predictor/record/record.h"

/*
 * The memory, in bytes, of the GPU or slice that the run of OBSERVATION had: what NVIDIA lists for
 * the profile that NVML named, else for the one in --gres, else for the whole GPU. 0 where that is
 * not known, no GPU was measured, or the run neither completed nor failed.
 */
double ft_gpu_model_limit(const ft_observation *observation);

/*
 * Whether RUN ran out of GPU memory. No program reports that: it did if its outcome is failed (not
 * cancelled, timed out or out of host memory) and 0.8 of the GPU's memory was in use. Of several
 * GPUs the mean counts: that one of them alone ran out is not known.
 */
bool ft_gpu_model_ran_out(const ft_run *run);

/*
 * Turns MODEL, with its whole history, into one of the memory of one GPU in bytes: runs without a
 * measured peak leave it, columns stay. Estimate and facts are then found as those of host memory.
 * Sets HELD_BYTES to the memory of the largest GPU or slice in which a run completed, if each that
 * completed had nearly all of its GPU in use: such an app takes what there is, and its peaks do not
 * show what it needs; else to 0. Returns how many runs remain, or -1 with ERR out of memory.
 */
int ft_gpu_model_convert(ft_model *model, double *held_bytes, struct ft_error *err);

#endif
