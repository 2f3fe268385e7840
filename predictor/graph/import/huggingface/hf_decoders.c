/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Families of networks of words that came after llama: each by what it changed. */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/huggingface/hf_config.h"
#include "predictor/graph/shape/infer.h"

void ft_hf_sparse(struct ft_hf_config *c, const char *step, struct ft_hf *m)
{
  const json_t *list = json_object_get(c->root, "mlp_only_layers");
  int64_t each = ft_hf_number(c, step, 1), last = -1;

  m->dense_layers = each > 0 ? m->layers - m->layers / each : m->layers;
  for (size_t i = 0; i < json_array_size(list); i++) { /* in order, as they are written */
    int64_t layer = json_integer_value(json_array_get(list, i));

    if (layer <= last || layer >= m->layers)
      continue;
    last = layer;
    m->dense_layers += each > 0 && (layer + 1) % each == 0;
  }
}

static void olmo(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norm = FT_HF_BARE;
}

static void olmo3(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norm_heads_whole = m->norm_added = true;
}

static void olmoe(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norm_heads_whole = true;
  m->experts = ft_hf_number(c, "num_experts|num_local_experts", 64);
  m->chosen = ft_hf_number(c, "num_experts_per_tok", 8);
  m->expert_inner = m->inner;
}

static void exaone4(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norm_heads = m->norm_added = true;
}

static void tied_llama(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
}

static void gemma3(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norms = 4;
  m->norm_heads = true;
  m->head = ft_hf_number(c, "head_dim", 256);
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
}

/* Bias of queries, keys and values alone. */
static void glm(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->bias_out = false;
  if (strcmp(m->type, "glm4") == 0)
    m->norms = 4;
}

static void seed_oss(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->bias_qkv = ft_hf_truth(c, "attention_bias", true);
  m->bias_out = ft_hf_truth(c, "attention_out_bias", false);
}

static void ernie(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->bias_qkv = m->bias_out = m->bias_inner = ft_hf_truth(c, "use_bias", false);
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
}

static void arcee(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->gated = false;
  m->activation = ft_hf_text(c, "hidden_act", "relu2");
}

static void nemotron(struct ft_hf_config *c, struct ft_hf *m)
{
  arcee(c, m);
  m->norm = FT_HF_LAYER;
}

/* Rotary positions and none, in turn, where the file says so: neither learns. */
static void granite_moe(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->experts = ft_hf_number(c, "num_local_experts", 8);
  m->chosen = ft_hf_number(c, "num_experts_per_tok", 2);
  m->expert_inner = m->inner;
}

static void phimoe(struct ft_hf_config *c, struct ft_hf *m)
{
  granite_moe(c, m);
  m->norm = FT_HF_LAYER;
  m->experts = ft_hf_number(c, "num_local_experts", 16);
  m->head_bias = ft_hf_truth(c, "lm_head_bias", false);
}

static void gpt_oss(struct ft_hf_config *c, struct ft_hf *m)
{
  granite_moe(c, m);
  m->bias_qkv = m->bias_out = ft_hf_truth(c, "attention_bias", true);
  m->experts = ft_hf_number(c, "num_local_experts", 128);
  m->chosen = ft_hf_number(c, "num_experts_per_tok", 4);
  m->router_bias = m->expert_bias = m->sinks = true;
}

static void llama4(struct ft_hf_config *c, struct ft_hf *m)
{
  const json_t *listed = json_object_get(c->root, "moe_layers");

  ft_hf_llama(c, m);
  m->experts = ft_hf_number(c, "num_local_experts", 16);
  m->chosen = ft_hf_number(c, "num_experts_per_tok", 1);
  m->expert_inner = m->shared_inner = m->inner;
  m->every_expert = true;
  m->norm_root_heads = ft_hf_truth(c, "use_qk_norm", true);
  m->dense_inner = ft_hf_number(c, "intermediate_size_mlp", 16384);
  ft_hf_sparse(c, "interleave_moe_layer_step", m);
  if (json_is_array(listed) && (int64_t)json_array_size(listed) <= m->layers)
    m->dense_layers = m->layers - (int64_t)json_array_size(listed);
}

/* What the experts of deepseek and of those after it share. */
static void routed(struct ft_hf_config *c, int64_t experts, struct ft_hf *m)
{
  m->experts = ft_hf_number(c, "n_routed_experts|num_local_experts|num_experts", experts);
  m->chosen = ft_hf_number(c, "num_experts_per_tok", 8);
  m->expert_inner = ft_hf_number(c, "moe_intermediate_size", m->inner);
  m->shared_inner =
      ft_times(ft_hf_number(c, "n_shared_experts|num_shared_experts", 1), m->expert_inner);
  m->dense_layers = ft_hf_number(c, "first_k_dense_replace", 0);
}

static void glm4_moe(struct ft_hf_config *c, struct ft_hf *m)
{
  glm(c, m);
  routed(c, 128, m);
  m->norm_heads = ft_hf_truth(c, "use_qk_norm", false);
}

static void dots1(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  routed(c, 128, m);
  m->norm_heads = true;
}

static void deepseek(struct ft_hf_config *c, struct ft_hf *m)
{
  bool third = strcmp(m->type, "deepseek_v3") == 0;

  ft_hf_llama(c, m);
  routed(c, third ? 256 : 64, m);
  m->bias_qkv = m->bias_out = ft_hf_truth(c, "attention_bias", false);
  m->q_rank = ft_hf_number(c, "q_lora_rank", 0);
  m->kv_rank = ft_hf_number(c, "kv_lora_rank", 512);
  m->turned = ft_hf_number(c, "qk_rope_head_dim", 64);
  m->value = ft_hf_number(c, "v_head_dim", 128);
  m->head = m->turned + ft_hf_number(c, "qk_nope_head_dim", 128);
  m->kv_heads = m->heads;
  if (!m->kv_rank || !m->value || m->turned >= m->head)
    ft_hf_refuse(c, "kv_lora_rank, v_head_dim, qk_nope_head_dim: expected at least 1");
}

/* Positions and kinds of words as in bert, norms before. */
static void megatron_bert(struct ft_hf_config *c, struct ft_hf *m)
{
  m->positions = ft_hf_number(c, "max_position_embeddings", 512);
  m->types = ft_hf_number(c, "type_vocab_size", 2);
  m->bias_qkv = m->bias_out = m->bias_inner = m->norm_final = m->pooler = true;
  m->head_transform = m->head_bias = m->tied = true;
  m->causal = ft_hf_truth(c, "is_decoder", false);
}

/* Positions are sines. */
static void xglm(struct ft_hf_config *c, struct ft_hf *m)
{
  m->bias_qkv = m->bias_out = m->bias_inner = m->norm_final = true;
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
}

static void mpt(struct ft_hf_config *c, struct ft_hf *m)
{
  m->inner = ft_times(ft_hf_number(c, "expansion_ratio", 4), m->hidden);
  m->norm = FT_HF_PLAIN;
  m->norm_final = true;
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
}

static void bigcode(struct ft_hf_config *c, struct ft_hf *m)
{
  m->positions = ft_hf_number(c, "n_positions|max_position_embeddings", 1024);
  m->kv_heads = ft_hf_truth(c, "multi_query", true) ? 1 : m->heads;
  m->bias_qkv = m->bias_out = m->bias_inner = m->norm_final = true;
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
}

static void codegen(struct ft_hf_config *c, struct ft_hf *m)
{
  m->norms = 1;
  m->parallel = m->bias_inner = m->norm_final = m->head_bias = m->rotary = true;
  m->tied = ft_hf_truth(c, "tie_word_embeddings", false);
}

static void openai(struct ft_hf_config *c, struct ft_hf *m)
{
  m->positions = ft_hf_number(c, "n_positions|max_position_embeddings", 512);
  m->norm_after = m->bias_qkv = m->bias_out = m->bias_inner = true;
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
}

static void biogpt(struct ft_hf_config *c, struct ft_hf *m)
{
  m->positions = ft_hf_number(c, "max_position_embeddings", 1024) + 2;
  m->bias_qkv = m->bias_out = m->bias_inner = m->norm_final = true;
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
}

const struct ft_hf_known ft_hf_newer[] = {
  { "apriel", ft_hf_llama },
  { "arcee", arcee },
  { "biogpt", biogpt },
  { "codegen", codegen },
  { "cwm", ft_hf_llama },
  { "deepseek_v2", deepseek },
  { "deepseek_v3", deepseek },
  { "dots1", dots1 },
  { "ernie4_5", ernie },
  { "exaone4", exaone4 },
  { "flex_olmo", olmoe },
  { "gemma3_text", gemma3 },
  { "glm", glm },
  { "glm4", glm },
  { "glm4_moe", glm4_moe },
  { "gpt_bigcode", bigcode },
  { "gpt_oss", gpt_oss },
  { "granite", ft_hf_llama },
  { "granitemoe", granite_moe },
  { "helium", ft_hf_llama },
  { "llama4_text", llama4 },
  { "ministral", ft_hf_llama },
  { "ministral3", ft_hf_llama },
  { "megatron-bert", megatron_bert },
  { "mpt", mpt },
  { "nemotron", nemotron },
  { "olmo", olmo },
  { "olmo3", olmo3 },
  { "olmoe", olmoe },
  { "openai-gpt", openai },
  { "phimoe", phimoe },
  { "seed_oss", seed_oss },
  { "smollm3", tied_llama },
  { "vaultgemma", ft_hf_llama },
  { "xglm", xglm },
  { NULL, NULL },
};
