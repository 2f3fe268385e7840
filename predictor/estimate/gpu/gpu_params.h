/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses settings of a network's run, such as "batch=64" or "optimizer=adam". */
#ifndef FT_ESTIMATE_GPU_PARAMS_H
#define FT_ESTIMATE_GPU_PARAMS_H

#include "predictor/core/text.h"
#include "predictor/estimate/gpu/gpu_memory.h"

/* An entry of a list such as "batch=64,mode=inference". */
struct ft_gpu_param {
  struct ft_text whole, name, value; /* without '=' the value is empty */
};

/* Names that describe a network's run in --predict-params, separated by ", "; ft_gpu_params_set
 * knows all but the first two, which ft_gpu_params_apply copies. */
#define FT_GPU_PARAMS                                                                              \
  "device, input, batch, mode, optimizer, precision, new_tokens, accumulate, checkpoint, gpus, "   \
  "shard, trainable, lora, lora_layers, quantized, attention, cache, inplace, benchmark, "         \
  "foreach, fused, grad, offload, summary, views"

/* Sets the setting NAME of RUN to VALUE. Returns 1; 0 if there is no setting NAME; -1 if VALUE is
 * invalid. */
int ft_gpu_params_set(struct ft_gpu_run *run, struct ft_text name, struct ft_text value);

/* Sets PARAM to the next entry of LIST, which advances. Returns false at its end. */
bool ft_gpu_params_next(struct ft_text *list, struct ft_gpu_param *param);

/* Applies PARAM to RUN, DEVICE or INPUT. Returns as ft_gpu_params_set. */
int ft_gpu_params_apply(const struct ft_gpu_param *param, struct ft_gpu_run *run, char device[64],
                        char input[64]);

/* Returns the values that the setting NAME accepts, for messages; a static string. */
const char *ft_gpu_params_expected(struct ft_text name);

#endif
