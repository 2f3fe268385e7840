/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Configurations of decoder families. A reader calls that of a similar family, then sets the fields
 * that differ. */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/huggingface/hf_config.h"
#include "predictor/graph/shape/infer.h"

void ft_hf_dense_layers(struct ft_hf_config *c, const char *step, struct ft_hf *m)
{
  const json_t *list = json_object_get(c->root, "mlp_only_layers");
  int64_t each = ft_hf_int(c, step, 1), last = -1;

  m->dense_layers = each > 0 ? m->layers - m->layers / each : m->layers;
  for (size_t i = 0; i < json_array_size(list);
       i++) { /* in ascending order, as transformers writes them */
    int64_t layer = json_integer_value(json_array_get(list, i));

    if (layer <= last || layer >= m->layers)
      continue;
    last = layer;
    m->dense_layers += each > 0 && (layer + 1) % each == 0;
  }
}

void ft_hf_llama(struct ft_hf_config *c, struct ft_hf *m)
{
  m->norm = FT_HF_RMS_NORM;
  m->norm_final = m->gated = m->rotary = true;
  m->bias_qkv = m->bias_out = ft_hf_bool(c, "attention_bias", false);
  m->bias_inner = ft_hf_bool(c, "mlp_bias", false);
  m->activation = ft_hf_string(c, "hidden_act", ft_hf_string(c, "hidden_activation", "silu"));
  m->tied = ft_hf_bool(c, "tie_word_embeddings", strncmp(m->type, "gemma", 5) == 0);
}

static void read_gpt(struct ft_hf_config *c, struct ft_hf *m)
{
  m->bias_qkv = m->bias_out = m->bias_inner = m->norm_final = true;
  m->tied = ft_hf_bool(c, "tie_word_embeddings", true);
}

static void read_gpt2(struct ft_hf_config *c, struct ft_hf *m)
{
  bool neo = strcmp(m->type, "gpt_neo") == 0;

  read_gpt(c, m);
  m->positions = ft_hf_int(c, "n_positions|max_position_embeddings", 1024);
  m->bias_qkv = !neo;
}

static void read_gpt_neox(struct ft_hf_config *c, struct ft_hf *m)
{
  m->bias_qkv = m->bias_out = ft_hf_bool(c, "attention_bias", true);
  m->bias_inner = m->norm_final = m->rotary = true;
  m->parallel = ft_hf_bool(c, "use_parallel_residual", true);
  m->tied = ft_hf_bool(c, "tie_word_embeddings", false);
}

static void read_opt(struct ft_hf_config *c, struct ft_hf *m)
{
  bool bias = ft_hf_bool(c, "enable_bias", true);

  m->inner = ft_hf_int(c, "ffn_dim", 4 * m->hidden);
  m->positions = ft_hf_int(c, "max_position_embeddings", 2048) + 2;
  m->embedding = ft_hf_int(c, "word_embed_proj_dim", m->hidden);
  m->norm_after = !ft_hf_bool(c, "do_layer_norm_before", true);
  m->norm_final = !m->norm_after && !ft_hf_bool(c, "_remove_final_layer_norm", false);
  m->bias_qkv = m->bias_out = m->bias_inner = bias;
  m->activation = ft_hf_string(c, "activation_function", "relu");
  m->tied = ft_hf_bool(c, "tie_word_embeddings", true);
}

static void read_bloom(struct ft_hf_config *c, struct ft_hf *m)
{
  read_gpt(c, m);
  m->norm_embedding = true;
}

static void read_falcon(struct ft_hf_config *c, struct ft_hf *m)
{
  bool fresh = ft_hf_bool(c, "new_decoder_architecture", false),
       bias = ft_hf_bool(c, "bias", false);

  m->kv_heads = fresh                                ? ft_hf_int(c, "num_kv_heads", m->heads)
                : ft_hf_bool(c, "multi_query", true) ? 1
                                                     : m->heads;
  m->repeat_kv = fresh;
  m->parallel = ft_hf_bool(c, "parallel_attn", true);
  m->norms = fresh ? (int)ft_hf_int(c, "num_ln_in_parallel_attn", 2) : m->parallel ? 1 : 2;
  m->norms = m->norms == 1 ? 1 : 2;
  m->norm_final = true;
  m->rotary = !ft_hf_bool(c, "alibi", false);
  m->bias_qkv = m->bias_out = m->bias_inner = bias;
  m->tied = ft_hf_bool(c, "tie_word_embeddings", true);
}

static void read_tied_llama(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->tied = ft_hf_bool(c, "tie_word_embeddings", true);
}

static void read_qwen(struct ft_hf_config *c, struct ft_hf *m)
{
  bool third = strncmp(m->type, "qwen3", 5) == 0;

  ft_hf_llama(c, m);
  if (!third) {
    m->bias_qkv = ft_hf_bool(c, "qkv_bias", true);
    m->bias_out = false;
  }
  m->norm_qk = third;
}

static void read_gemma2(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norms = 4;
  m->head_dim = ft_hf_int(c, "head_dim", 256);
}

static void read_cohere(struct ft_hf_config *c, struct ft_hf *m)
{
  read_tied_llama(c, m);
  m->norm = FT_HF_LAYER_NORM_NO_BIAS;
  m->norms = 1;
  m->parallel = true;
  m->norm_qk = m->norm_qk_per_head = ft_hf_bool(c, "use_qk_norm", false);
}

static void read_stablelm(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norm = FT_HF_LAYER_NORM;
  m->bias_qkv = ft_hf_bool(c, "use_qkv_bias", false);
  m->bias_out = false;
  m->parallel = ft_hf_bool(c, "use_parallel_residual", false);
  m->norms = m->parallel ? 1 : 2;
}

static void read_starcoder2(struct ft_hf_config *c, struct ft_hf *m)
{
  read_tied_llama(c, m);
  m->norm = FT_HF_LAYER_NORM;
  m->gated = false;
  m->bias_qkv = m->bias_out = m->bias_inner = ft_hf_bool(c, "use_bias", true);
}

static void read_phi(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norm = FT_HF_LAYER_NORM;
  m->norms = 1;
  m->gated = false;
  m->parallel = m->bias_qkv = m->bias_out = m->bias_inner = m->head_bias = true;
}

static void read_mixtral(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->experts = ft_hf_int(c, "num_local_experts", 8);
  m->experts_per_token = ft_hf_int(c, "num_experts_per_tok", 2);
  m->expert_inner = m->inner;
}

static void read_qwen_moe(struct ft_hf_config *c, struct ft_hf *m)
{
  read_qwen(c, m);
  m->experts = ft_hf_int(c, "num_experts|num_local_experts", 60);
  m->experts_per_token = ft_hf_int(c, "num_experts_per_tok", 4);
  m->expert_inner = ft_hf_int(c, "moe_intermediate_size", 1408);
  m->shared_inner = ft_hf_int(c, "shared_expert_intermediate_size", 0);
  m->shared_gate = m->shared_inner > 0;
  ft_hf_dense_layers(c, "decoder_sparse_step", m);
}

static void read_mamba(struct ft_hf_config *c, struct ft_hf *m)
{
  m->kind = FT_HF_MAMBA;
  m->norm = FT_HF_RMS_NORM;
  m->state = ft_hf_int(c, "state_size", 16);
  m->conv_kernel = ft_hf_int(c, "conv_kernel", 4);
  m->inner = ft_hf_int(c, "intermediate_size", 0);
  m->inner = m->inner ? m->inner : ft_hf_int(c, "expand", 2) * m->hidden;
  m->rank = ft_hf_int(c, "time_step_rank", (m->hidden + 15) / 16);
  m->bias_inner = ft_hf_bool(c, "use_bias", false);
  m->bias_conv = ft_hf_bool(c, "use_conv_bias", true);
  m->activation = ft_hf_string(c, "hidden_act", "silu");
  m->tied = ft_hf_bool(c, "tie_word_embeddings", true);
  if (!m->state || !m->conv_kernel || !m->rank)
    ft_hf_refuse(c, "state_size, conv_kernel, time_step_rank: expected at least 1");
}

static void read_olmo(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norm = FT_HF_LAYER_NORM_NO_AFFINE;
}

static void read_olmo3(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norm_qk_whole = m->norm_added = true;
}

static void read_olmoe(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norm_qk_whole = true;
  m->experts = ft_hf_int(c, "num_experts|num_local_experts", 64);
  m->experts_per_token = ft_hf_int(c, "num_experts_per_tok", 8);
  m->expert_inner = m->inner;
}

static void read_exaone4(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norm_qk = m->norm_added = true;
}

static void read_gemma3(struct ft_hf_config *c, struct ft_hf *m)
{
  read_tied_llama(c, m);
  m->norms = 4;
  m->norm_qk = true;
  m->head_dim = ft_hf_int(c, "head_dim", 256);
}

/* attention_bias does not cover the output projection. */
static void read_glm(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->bias_out = false;
  if (strcmp(m->type, "glm4") == 0)
    m->norms = 4;
}

static void read_seed_oss(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->bias_qkv = ft_hf_bool(c, "attention_bias", true);
  m->bias_out = ft_hf_bool(c, "attention_out_bias", false);
}

static void read_ernie(struct ft_hf_config *c, struct ft_hf *m)
{
  read_tied_llama(c, m);
  m->bias_qkv = m->bias_out = m->bias_inner = ft_hf_bool(c, "use_bias", false);
}

static void read_arcee(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->gated = false;
  m->activation = ft_hf_string(c, "hidden_act", "relu2");
}

static void read_nemotron(struct ft_hf_config *c, struct ft_hf *m)
{
  read_arcee(c, m);
  m->norm = FT_HF_LAYER_NORM;
}

static void read_phimoe(struct ft_hf_config *c, struct ft_hf *m)
{
  read_mixtral(c, m);
  m->norm = FT_HF_LAYER_NORM;
  m->experts = ft_hf_int(c, "num_local_experts", 16);
  m->head_bias = ft_hf_bool(c, "lm_head_bias", false);
}

static void read_gpt_oss(struct ft_hf_config *c, struct ft_hf *m)
{
  read_mixtral(c, m);
  m->bias_qkv = m->bias_out = ft_hf_bool(c, "attention_bias", true);
  m->experts = ft_hf_int(c, "num_local_experts", 128);
  m->experts_per_token = ft_hf_int(c, "num_experts_per_tok", 4);
  m->router_bias = m->expert_bias = m->sinks = m->limited_gate = true;
}

static void read_llama4(struct ft_hf_config *c, struct ft_hf *m)
{
  const json_t *listed = json_object_get(c->root, "moe_layers");

  ft_hf_llama(c, m);
  m->experts = ft_hf_int(c, "num_local_experts", 16);
  m->experts_per_token = ft_hf_int(c, "num_experts_per_tok", 1);
  m->expert_inner = m->shared_inner = m->inner;
  m->all_experts = true;
  m->l2_norm_qk = ft_hf_bool(c, "use_qk_norm", true);
  m->dense_inner = ft_hf_int(c, "intermediate_size_mlp", 16384);
  ft_hf_dense_layers(c, "interleave_moe_layer_step", m);
  if (json_is_array(listed) && (int64_t)json_array_size(listed) <= m->layers)
    m->dense_layers = m->layers - (int64_t)json_array_size(listed);
}

/* Reads the experts of deepseek and its descendants; EXPERTS is the default number. */
static void read_routed_experts(struct ft_hf_config *c, int64_t experts, struct ft_hf *m)
{
  m->experts = ft_hf_int(c, "n_routed_experts|num_local_experts|num_experts", experts);
  m->experts_per_token = ft_hf_int(c, "num_experts_per_tok", 8);
  m->expert_inner = ft_hf_int(c, "moe_intermediate_size", m->inner);
  m->shared_inner = ft_hf_int(c, "n_shared_experts|num_shared_experts", 1) * m->expert_inner;
  m->dense_layers = ft_hf_int(c, "first_k_dense_replace", 0);
  m->router_in_float32 = true;
}

static void read_glm4_moe(struct ft_hf_config *c, struct ft_hf *m)
{
  read_glm(c, m);
  read_routed_experts(c, 128, m);
  m->norm_qk = ft_hf_bool(c, "use_qk_norm", false);
}

static void read_dots1(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  read_routed_experts(c, 128, m);
  m->norm_qk = true;
}

static void read_deepseek(struct ft_hf_config *c, struct ft_hf *m)
{
  bool third = strcmp(m->type, "deepseek_v3") == 0;

  ft_hf_llama(c, m);
  read_routed_experts(c, third ? 256 : 64, m);
  m->bias_qkv = m->bias_out = ft_hf_bool(c, "attention_bias", false);
  m->q_rank = ft_hf_int(c, "q_lora_rank", 0);
  m->kv_rank = ft_hf_int(c, "kv_lora_rank", 512);
  m->rope_dim = ft_hf_int(c, "qk_rope_head_dim", 64);
  m->value_dim = ft_hf_int(c, "v_head_dim", 128);
  m->head_dim = m->rope_dim + ft_hf_int(c, "qk_nope_head_dim", 128);
  m->kv_heads = m->heads;
  if (!m->kv_rank || !m->value_dim || m->rope_dim >= m->head_dim)
    ft_hf_refuse(c, "kv_lora_rank, v_head_dim, qk_nope_head_dim: expected at least 1");
}

/* bert with pre-norm layers */
static void read_megatron_bert(struct ft_hf_config *c, struct ft_hf *m)
{
  m->positions = ft_hf_int(c, "max_position_embeddings", 512);
  m->types = ft_hf_int(c, "type_vocab_size", 2);
  m->bias_qkv = m->bias_out = m->bias_inner = m->norm_final = m->pooler = true;
  m->head_transform = m->head_bias = m->tied = true;
  m->causal = ft_hf_bool(c, "is_decoder", false);
}

static void read_mpt(struct ft_hf_config *c, struct ft_hf *m)
{
  m->inner = ft_hf_int(c, "expansion_ratio", 4) * m->hidden;
  m->norm = FT_HF_LAYER_NORM_NO_BIAS;
  m->norm_final = true;
  m->tied = ft_hf_bool(c, "tie_word_embeddings", true);
}

static void read_bigcode(struct ft_hf_config *c, struct ft_hf *m)
{
  read_gpt(c, m);
  m->positions = ft_hf_int(c, "n_positions|max_position_embeddings", 1024);
  m->kv_heads = ft_hf_bool(c, "multi_query", true) ? 1 : m->heads;
}

static void read_codegen(struct ft_hf_config *c, struct ft_hf *m)
{
  m->norms = 1;
  m->parallel = m->bias_inner = m->norm_final = m->head_bias = m->rotary = true;
  m->tied = ft_hf_bool(c, "tie_word_embeddings", false);
}

static void read_openai(struct ft_hf_config *c, struct ft_hf *m)
{
  m->positions = ft_hf_int(c, "n_positions|max_position_embeddings", 512);
  m->norm_after = m->bias_qkv = m->bias_out = m->bias_inner = true;
  m->tied = ft_hf_bool(c, "tie_word_embeddings", true);
}

static void read_biogpt(struct ft_hf_config *c, struct ft_hf *m)
{
  read_gpt(c, m);
  m->positions = ft_hf_int(c, "max_position_embeddings", 1024) + 2;
}

const struct ft_hf_family ft_hf_decoders[] = {
  { "apriel|cwm|gemma|granite|helium|llama|ministral|ministral3|mistral|phi3|vaultgemma",
    ft_hf_llama },
  { "arcee", read_arcee },
  { "biogpt", read_biogpt },
  { "bloom", read_bloom },
  { "codegen|gptj", read_codegen },
  { "cohere|cohere2", read_cohere },
  { "deepseek_v2|deepseek_v3", read_deepseek },
  { "dots1", read_dots1 },
  { "ernie4_5", read_ernie },
  { "exaone4", read_exaone4 },
  { "falcon", read_falcon },
  { "flex_olmo|olmoe", read_olmoe },
  { "gemma2", read_gemma2 },
  { "gemma3_text", read_gemma3 },
  { "glm|glm4", read_glm },
  { "glm4_moe", read_glm4_moe },
  { "gpt2|gpt_neo", read_gpt2 },
  { "gpt_bigcode", read_bigcode },
  { "gpt_neox", read_gpt_neox },
  { "gpt_oss", read_gpt_oss },
  { "granitemoe|mixtral", read_mixtral },
  { "llama4_text", read_llama4 },
  { "mamba", read_mamba },
  { "megatron-bert", read_megatron_bert },
  { "mpt", read_mpt },
  { "nemotron", read_nemotron },
  { "olmo", read_olmo },
  { "olmo2|olmo3", read_olmo3 },
  { "openai-gpt", read_openai },
  { "opt", read_opt },
  { "phi", read_phi },
  { "phimoe", read_phimoe },
  { "qwen2|qwen3", read_qwen },
  { "qwen2_moe|qwen3_moe", read_qwen_moe },
  { "seed_oss", read_seed_oss },
  { "smollm3", read_tied_llama },
  { "stablelm", read_stablelm },
  { "starcoder2", read_starcoder2 },
  { "xglm", read_gpt },
  { NULL, NULL },
};

void ft_hf_text_config(struct ft_hf_config *c, const struct ft_hf_defaults *usual, struct ft_hf *m)
{
  ft_hf_family_reader *family = ft_hf_find_family(ft_hf_decoders, m->type);

  if (!family) {
    ft_hf_refuse(c, "text_config: unsupported model_type; expected a decoder");
    return;
  }
  ft_hf_common(c, usual, m);
  if (!c->failed)
    family(c, m);
  if (c->failed)
    return;
  if (m->kind != FT_HF_LANGUAGE || !m->causal || m->positions || m->types ||
      m->embedding != m->hidden)
    ft_hf_refuse(c, "text_config: expected a decoder such as llama");
  ft_hf_training(c, m);
  ft_hf_windows(c, m);
}
