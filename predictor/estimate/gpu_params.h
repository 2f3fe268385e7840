/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a network is run, in the words of a user: "batch=64", "optimizer=adam". */
#ifndef FT_ESTIMATE_GPU_PARAMS_H
#define FT_ESTIMATE_GPU_PARAMS_H

#include "predictor/core/text.h"
#include "predictor/estimate/gpu_memory.h"

/* What is understood, for messages. */
#define FT_GPU_PARAMS                                                                              \
  "batch, new_tokens, accumulate, checkpoint, gpus, shard with a number, mode=training or "        \
  "inference, "                                                                                    \
  "optimizer=sgd, momentum, adam, adamw or adam8bit, precision=fp32, tf32, amp, bf16 or fp16, "    \
  "attention=fused or plain, cache=dynamic or static, inplace, benchmark, fused, grad, "           \
  "offload, views=on or off"

/* Set what NAME=VALUE says in RUN. Returns 1; 0: there is no such name; -1: not such a value. */
int ft_gpu_params_set(struct ft_gpu_run *run, struct ft_text name, struct ft_text value);

#endif
