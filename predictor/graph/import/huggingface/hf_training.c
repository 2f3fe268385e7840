/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training behaviour of each family in transformers 5.23.0 (src/transformers/models/): where it has
 * dropout, and which operations it decomposes. */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/huggingface/hf_config.h"

enum {
  DROP_MLP_ONLY = 1,    /* dropout only after the MLP */
  NATIVE_SOFTMAX = 2,   /* the softmax keeps the input's precision */
  EAGER = 4,            /* attention has no fused kernel */
  OPENAI_GELU = 8,      /* "gelu" means gelu_new */
  FUSED_QKV = 16,       /* one matrix for queries, keys and values */
  FUSED_GATE = 32,      /* one matrix for gate and up */
  COPIED_QUERIES = 64,  /* queries are made contiguous */
  FLOAT32_SCORES = 128, /* queries and keys are cast to float32 */
  ROPE_CAST_BACK = 256, /* rotated queries and keys are cast back */
  CLAMPED_SCORES = 512  /* scores are clamped to the smallest number */
};

/*
 * Keys of the dropout probabilities: of embeddings, attention, residual connections and inside the
 * MLP. A "+" marks a dropout that is on if the key is absent.
 */
static const struct family {
  const char *type, *norm, *embedding, *attention, *hidden, *mlp;
  unsigned how;
} families[] = {
#define BERT "+hidden_dropout_prob", "+attention_probs_dropout_prob", "+hidden_dropout_prob", NULL
#define GPT2 "+embd_pdrop", "+attn_pdrop", "+resid_pdrop", NULL
#define GPTJ "embd_pdrop", "attn_pdrop", "resid_pdrop", NULL
#define BART "+dropout", "attention_dropout", "+dropout", "activation_dropout"
#define T5 "+dropout_rate", "+dropout_rate", "+dropout_rate", "+dropout_rate"
#define LLAMA NULL, "attention_dropout", NULL, NULL
  { "bert", "", BERT, NATIVE_SOFTMAX },
  { "roberta", "", BERT, NATIVE_SOFTMAX },
  { "xlm-roberta", "", BERT, NATIVE_SOFTMAX },
  { "camembert", "", BERT, NATIVE_SOFTMAX },
  { "electra", "", BERT, NATIVE_SOFTMAX },
  { "ernie", "", BERT, NATIVE_SOFTMAX },
  { "megatron-bert", "", BERT, NATIVE_SOFTMAX | EAGER },
  { "deberta", "", BERT, NATIVE_SOFTMAX | EAGER },
  { "deberta-v2", "", BERT, NATIVE_SOFTMAX | EAGER },
  { "albert", "", "hidden_dropout_prob", "attention_probs_dropout_prob", "hidden_dropout_prob",
    NULL, NATIVE_SOFTMAX },
  { "distilbert", "", "+dropout", "+attention_dropout", "+dropout", NULL,
    NATIVE_SOFTMAX | DROP_MLP_ONLY },
  { "gpt2", "", GPT2, FUSED_QKV | NATIVE_SOFTMAX },
  { "gpt_bigcode", "", GPT2, FUSED_QKV },
  { "openai-gpt", "", GPT2, FUSED_QKV | NATIVE_SOFTMAX | EAGER | OPENAI_GELU },
  { "codegen", "", GPTJ, FUSED_QKV | EAGER | FLOAT32_SCORES },
  { "gptj", "", GPTJ, FLOAT32_SCORES | EAGER },
  { "gpt_neo", "", "embed_dropout", "attention_dropout", "resid_dropout", NULL,
    FLOAT32_SCORES | EAGER },
  { "gpt_neox", "", "hidden_dropout", "attention_dropout", "hidden_dropout", NULL, FUSED_QKV },
  { "opt", "", NULL, "attention_dropout", "+dropout", NULL, 0 },
  { "biogpt", "", "+hidden_dropout_prob", "+attention_probs_dropout_prob", "+hidden_dropout_prob",
    "activation_dropout", NATIVE_SOFTMAX },
  { "bloom", "", NULL, "attention_dropout", "hidden_dropout", NULL, FUSED_QKV | EAGER },
  { "falcon", "", NULL, "attention_dropout", "hidden_dropout", NULL, FUSED_QKV | NATIVE_SOFTMAX },
  { "mpt", "", NULL, NULL, NULL, NULL, FUSED_QKV | EAGER },
  { "bart", "", BART, NATIVE_SOFTMAX },
  { "mbart", "", BART, NATIVE_SOFTMAX },
  { "marian", "", BART, NATIVE_SOFTMAX },
  { "pegasus", "", BART, NATIVE_SOFTMAX },
  { "blenderbot", "", BART, NATIVE_SOFTMAX },
  { "blenderbot-small", "", BART, NATIVE_SOFTMAX },
  { "m2m_100", "", BART, NATIVE_SOFTMAX },
  { "plbart", "", BART, NATIVE_SOFTMAX },
  { "whisper", "", "dropout", "attention_dropout", "dropout", "activation_dropout",
    NATIVE_SOFTMAX | COPIED_QUERIES },
  { "t5", "t5", T5, NATIVE_SOFTMAX },
  { "mt5", "t5", T5, NATIVE_SOFTMAX },
  { "umt5", "t5", T5, NATIVE_SOFTMAX },
  { "xglm", "", "+dropout", "+attention_dropout", "+dropout", "activation_dropout",
    EAGER | NATIVE_SOFTMAX | CLAMPED_SCORES },
  { "vit", "", "hidden_dropout_prob", "attention_probs_dropout_prob", "hidden_dropout_prob", NULL,
    0 },
  { "clip", "", LLAMA, 0 },
  { "qwen2_vl", "", LLAMA, FUSED_QKV | ROPE_CAST_BACK },
  { "qwen2_5_vl", "llama", LLAMA, FUSED_QKV | ROPE_CAST_BACK },
  { "phi", "", "embd_pdrop", "attention_dropout", "resid_pdrop", NULL, 0 },
  { "phi3", "llama", NULL, "attention_dropout", "resid_pdrop", NULL, FUSED_QKV | FUSED_GATE },
  { "starcoder2", "", "embedding_dropout", "attention_dropout", "residual_dropout", NULL, 0 },
  { "stablelm", "", NULL, "attention_dropout", "hidden_dropout", NULL, 0 },
  { "gemma", "gemma", LLAMA, 0 },
  { "gemma2", "gemma", LLAMA, EAGER },
  { "gemma3_text", "gemma", LLAMA, 0 },
  { "vaultgemma", "gemma", LLAMA, EAGER },
  { "olmo2", "gemma", LLAMA, 0 },
  { "olmo3", "gemma", LLAMA, 0 },
  { "flex_olmo", "gemma", LLAMA, 0 },
  { "helium", "gemma", LLAMA, 0 },
  { "gpt_oss", "gemma", LLAMA, EAGER | NATIVE_SOFTMAX },
  { "cohere", "cohere", LLAMA, 0 },
  { "cohere2", "cohere", LLAMA, 0 },
  { "phimoe", "", LLAMA, 0 },
  { "olmo", "olmo", LLAMA, ROPE_CAST_BACK },
  { "ernie4_5", "llama", LLAMA, ROPE_CAST_BACK },
  { "glm", "llama", LLAMA, FUSED_GATE },
  { "glm4", "llama", LLAMA, FUSED_GATE },
  { "nemotron", "nemotron", LLAMA, 0 },
  { "llama4_text", "llama", LLAMA, NATIVE_SOFTMAX },
};

/* llama's descendants, in its code's way. */
static const struct family usual = { "", "llama", LLAMA, 0 };

static bool has_dropout(const struct ft_hf_config *c, const char *key)
{
  bool usual_on = key && key[0] == '+';
  const json_t *v = key ? json_object_get(c->root, key + usual_on) : NULL;

  return json_is_number(v) ? json_number_value(v) > 0 : usual_on;
}

/* transformers' decomposition of the activation function, "" if it is one kernel. */
static const char *decomposed_activation(const struct ft_hf *m, unsigned how)
{
  static const char *const names[] = { "gelu_new", "gelu_fast", "quick_gelu", "relu2" };
  const char *const *known = FT_TABLE_ROW(names, m->activation);

  if (how & OPENAI_GELU && strcmp(m->activation, "gelu") == 0)
    return names[0];
  return known ? *known : "";
}

static double fraction_member(const json_t *root, const char *key, double otherwise)
{
  const json_t *v = json_object_get(root, key);

  return json_is_number(v) && json_number_value(v) > 0 && json_number_value(v) <= 1
             ? json_number_value(v)
             : otherwise;
}

/* Features of a head with rotary positions; 0: all. */
static int64_t rotary_features(struct ft_hf_config *c, const struct ft_hf *m)
{
  static const struct {
    const char *type;
    double usual;
  } some[] = { { "glm", 0.5 }, { "glm4", 0.5 },      { "glm4_moe", 0.5 }, { "gpt_neox", 0.25 },
               { "phi", 0.5 }, { "stablelm", 0.25 }, { "nemotron", 0.5 }, { "phi3", 1 } };
  size_t i = FT_TABLE_FIND(some, m->type);

  if (i < sizeof some / sizeof *some) {
    double part = fraction_member(c->root, "rotary_pct", some[i].usual);

    part = fraction_member(c->root, "partial_rotary_factor", part);
    part =
        fraction_member(json_object_get(c->root, "rope_parameters"), "partial_rotary_factor", part);
    return part < 1 ? (int64_t)(part * (double)m->head_dim) : 0;
  }
  if (strcmp(m->type, "gptj") == 0 || strcmp(m->type, "codegen") == 0)
    return ft_hf_int(c, "rotary_dim", 64);
  return 0;
}

/* Whether logits are cast to float32 before the loss (loss_utils.py, ForCausalLMLoss). */
static bool has_float32_loss(const json_t *root)
{
  const char *saved = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));

  return saved && (strstr(saved, "CausalLM") || strstr(saved, "LMHeadModel"));
}

void ft_hf_training(struct ft_hf_config *c, struct ft_hf *m)
{
  const struct family *f = FT_TABLE_ROW(families, m->type);

  f = f ? f : &usual;
  m->drop_embedding = has_dropout(c, f->embedding);
  m->drop_attention = has_dropout(c, f->attention);
  m->drop_hidden = has_dropout(c, f->hidden);
  m->drop_attention_output = m->drop_hidden && !(f->how & DROP_MLP_ONLY);
  m->drop_mlp = has_dropout(c, f->mlp);
  m->upcast = f->how & FLOAT32_SCORES ? 2 : !(f->how & NATIVE_SOFTMAX);
  m->math_kernel = strcmp(m->type, "falcon") == 0 && m->kv_heads == 1;
  m->eager_attention = f->how & EAGER || m->math_kernel;
  m->softcap = f->how & CLAMPED_SCORES
                   ? 2
                   : json_is_number(json_object_get(c->root, "attn_logit_softcapping"));
  m->fused_qkv = f->how & FUSED_QKV;
  m->fused_gate = f->how & FUSED_GATE;
  m->copy_queries = f->how & COPIED_QUERIES;
  m->kv_cache = (m->causal || m->decoder_layers) && ft_hf_bool(c, "use_cache", true) &&
                strcmp(m->type, "openai-gpt") != 0;
  m->rope_in_float32 = m->rotary && !(f->how & ROPE_CAST_BACK);
  m->rotary_dim = rotary_features(c, m);
  m->loss_in_float32 = has_float32_loss(c->root);
  m->decomposed_norm = f->norm;
  m->decomposed_activation = decomposed_activation(m, f->how);
}
