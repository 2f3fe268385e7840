/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An unknown model_type, read as a llama-like decoder by the fields that nearly all families
 * share. The estimate is marked as a guess. Of 43 known families that have these fields, 95 %
 * are within a factor of 1.49 of their parameter count when read this way
 * (tests/bench/hf_guess); FT_GRAPH_GUESS is that factor.
 */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/huggingface/hf_config.h"
#include "predictor/graph/shape/infer.h"

static bool has_integer(const struct ft_hf_config *c, const char *key)
{
  return json_is_integer(json_object_get(c->root, key));
}

bool ft_hf_generic_applies(const struct ft_hf_config *c)
{
  /* audio and vision models are no decoders, state space models no transformers */
  static const char *const others[] = { "conv_dim",      "num_mel_bins",  "image_size",
                                        "patch_size",    "vision_config", "audio_config",
                                        "mamba_d_state", "state_size",    "ssm_state_size" };

  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (json_object_get(c->root, others[i]))
      return false;
  return has_integer(c, "hidden_size") && has_integer(c, "num_hidden_layers") &&
         has_integer(c, "num_attention_heads") && has_integer(c, "vocab_size");
}

void ft_hf_generic(struct ft_hf_config *c, struct ft_hf *m)
{
  bool root = json_is_number(json_object_get(c->root, "rms_norm_eps"));

  ft_hf_llama(c, m);
  m->guessed = true;
  m->norm = root ? FT_HF_RMS_NORM : FT_HF_LAYER_NORM;
  m->gated = root || strcmp(m->activation, "silu") == 0;
  m->bias_qkv = m->bias_out = ft_hf_bool(c, "attention_bias", !root);
  m->bias_inner = ft_hf_bool(c, "mlp_bias", !root);
  m->tied = ft_hf_bool(c, "tie_word_embeddings", true); /* default of PreTrainedConfig */
  m->experts = ft_hf_int(c, "num_local_experts|num_experts|n_routed_experts", 0);
  if (m->experts) {
    m->experts_per_token = ft_hf_int(c, "num_experts_per_tok", 1);
    m->expert_inner = ft_hf_int(c, "moe_intermediate_size", m->inner);
    m->dense_layers = ft_hf_int(c, "first_k_dense_replace", 0);
    m->shared_inner = ft_hf_int(c, "n_shared_experts", 0) * m->expert_inner;
  }
}
