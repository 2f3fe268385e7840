/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Low-rank adapters of linear layers (LoRA, Hu et al. 2021), as peft 0.21 adds them
 * (tuners/lora/layer.py). They stay in 32 bits at any precision and read a copy of their input. */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/huggingface/hf_run.h"

/* Returns whether the layer NAME has an adapter. By default those of queries and values have one
 * (peft, utils/constants.py); a router is no linear layer. */
static bool is_adapted(const struct ft_hf_run *r, const char *name)
{
  static const char *const usual[] = { "query", "value", "qkv", "q_b", "kv_b", "in_proj" };

  if (r->live.in->sizes->lora_everywhere)
    return strcmp(name, "router") != 0;
  return FT_TABLE_ROW(usual, name);
}

uint32_t ft_hf_adapt(struct ft_hf_run *r, uint32_t x, uint32_t y, const char *name)
{
  int64_t rank = r->live.in->sizes->lora;
  uint32_t down, up;

  if (!rank || !x || !y || !is_adapted(r, name))
    return y;
  r->adapter = true;
  down =
      ft_hf_weight(r, ft_tracer_format(&r->live, "%s.lora_a", name), rank, ft_hf_size(r, x, -1), 0);
  up =
      ft_hf_weight(r, ft_tracer_format(&r->live, "%s.lora_b", name), ft_hf_size(r, y, -1), rank, 0);
  r->adapter = false;
  ft_hf_scope(r, ft_tracer_format(&r->live, "%s.lora", name));
  ft_tracer_op(&r->live, "Identity");
  ft_tracer_in(&r->live, x);
  ft_tracer_hints(&r->live)->decomposed = "float";
  x = ft_tracer_end(&r->live, 1);
  return ft_hf_binary(r, "Add", y, ft_hf_linear_of(r, ft_hf_linear_of(r, x, down, 0), up, 0));
}
