/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses settings of a network's run, such as "batch=64" or "optimizer=adam". */
#ifndef FT_ESTIMATE_GPU_PARAMS_H
#define FT_ESTIMATE_GPU_PARAMS_H

#include "predictor/core/text.h"
#include "predictor/estimate/gpu/gpu_memory.h"

/* Supported settings, for messages. */
#define FT_GPU_PARAMS                                                                              \
  "batch, new_tokens, accumulate, checkpoint, gpus, shard, trainable, lora with a number, "        \
  "mode=training or inference, quantized=4bit, 8bit or off, lora_layers=attention or all, "        \
  "optimizer=" FT_OPTIMIZERS_LISTED ", precision=fp32, tf32, amp, bf16 or fp16, "                  \
  "attention=fused or plain, cache=dynamic or static, inplace, benchmark, foreach, fused, grad, "  \
  "offload, views=on or off"

/* Sets the setting NAME of RUN to VALUE. Returns 1; 0 if there is no setting NAME; -1 if VALUE is
 * invalid. */
int ft_gpu_params_set(struct ft_gpu_run *run, struct ft_text name, struct ft_text value);

#endif
