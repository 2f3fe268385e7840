/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses settings of a network's run, such as "batch=64" or "optimizer=adam". */
#ifndef FT_ESTIMATE_GPU_PARAMS_H
#define FT_ESTIMATE_GPU_PARAMS_H

#include "predictor/core/text.h"
#include "predictor/estimate/gpu/gpu_memory.h"

/* Names of the settings, for messages. */
#define FT_GPU_PARAMS                                                                              \
  "batch, mode, optimizer, precision, new_tokens, accumulate, checkpoint, gpus, shard, "           \
  "trainable, "                                                                                    \
  "lora, lora_layers, quantized, attention, cache, inplace, benchmark, foreach, fused, grad, "     \
  "offload, summary or views"

/* Sets the setting NAME of RUN to VALUE. Returns 1; 0 if there is no setting NAME; -1 if VALUE is
 * invalid. */
int ft_gpu_params_set(struct ft_gpu_run *run, struct ft_text name, struct ft_text value);

/* Returns the values that the setting NAME accepts, for messages; a static string. */
const char *ft_gpu_params_expected(struct ft_text name);

#endif
