/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What measured runs of networks tell of the GPUs they ran on, whoever ran them. Pure. */
#ifndef FT_ONLINE_GPU_OBSERVATIONS_H
#define FT_ONLINE_GPU_OBSERVATIONS_H

#include <stdbool.h>

#include "predictor/record/record.h"

/* What stands for a GPU's name in a run; 0 for "". */
uint32_t ft_gpu_observations_hash(const char *name);

/*
 * Put what OBSERVATION tells among GPUS: a completed run whose submission had a model file and
 * whose GPU was measured. Of a network's runs the last few stay, of a GPU's the last many. Returns
 * whether anything has changed.
 */
bool ft_gpu_observations_learn(ft_gpus *gpus, const ft_observation *observation);

/* Remove from GPUS what the run of OBSERVATION's key told. Returns whether anything has changed. */
bool ft_gpu_observations_forget(ft_gpus *gpus, const ft_observation *observation);

#endif
