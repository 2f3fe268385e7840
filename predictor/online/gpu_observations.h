/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measured runs of neural networks by GPU, of all users, which calibrate estimates from model
 * files. Pure. */
#ifndef FT_ONLINE_GPU_OBSERVATIONS_H
#define FT_ONLINE_GPU_OBSERVATIONS_H

#include <stdbool.h>

#include "predictor/record/record.h"

/* Returns the hash of a GPU's NAME that is stored with a run; 0 for "". */
uint32_t ft_gpu_observations_hash(const char *name);

/*
 * Adds OBSERVATION to GPUS, if its run completed, its submission had a model file and its GPU was
 * measured. GPUS holds the newest 3 runs of each network, and as many of the newest runs of each
 * GPU as there is room. Returns whether GPUS changed.
 */
bool ft_gpu_observations_learn(ft_gpus *gpus, const ft_observation *observation);

/* Removes the run with OBSERVATION's key from GPUS. Returns whether GPUS changed. */
bool ft_gpu_observations_forget(ft_gpus *gpus, const ft_observation *observation);

#endif
