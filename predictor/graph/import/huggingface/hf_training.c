/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How transformers' code of each family behaves in training: where it has dropout, and which
 * operations it decomposes (5.23.0, src/transformers/models/). */
#include "config.h"

#include <string.h>

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

/* Key of a dropout probability, and whether dropout is on by default. */
struct place {
  const char *key;
  bool usual;
};

static const struct family {
  const char *type, *norm;
  struct place embedding, attention, hidden, inner;
  unsigned how;
} families[] = {
#define BERT                                                                                       \
  { "hidden_dropout_prob", true }, { "attention_probs_dropout_prob", true },                       \
      { "hidden_dropout_prob", true }, { NULL, false }, NATIVE_SOFTMAX
#define GPT(usual)                                                                                 \
  { "embd_pdrop", usual }, { "attn_pdrop", usual }, { "resid_pdrop", usual },                      \
  {                                                                                                \
    NULL, false                                                                                    \
  }
#define SEQ2SEQ(usual)                                                                             \
  { "dropout", usual }, { "attention_dropout", false }, { "dropout", usual },                      \
      { "activation_dropout", false }, NATIVE_SOFTMAX
#define T5                                                                                         \
  { "dropout_rate", true }, { "dropout_rate", true }, { "dropout_rate", true },                    \
      { "dropout_rate", true }, NATIVE_SOFTMAX
#define LLAMA { NULL, false }, { "attention_dropout", false }, { NULL, false }, { NULL, false }, 0
  { "bert", "", BERT },
  { "roberta", "", BERT },
  { "xlm-roberta", "", BERT },
  { "camembert", "", BERT },
  { "electra", "", BERT },
  { "ernie", "", BERT },
  { "megatron-bert", "", BERT | EAGER },
  { "deberta", "", BERT | EAGER },
  { "deberta-v2", "", BERT | EAGER },
  { "albert",
    "",
    { "hidden_dropout_prob", false },
    { "attention_probs_dropout_prob", false },
    { "hidden_dropout_prob", false },
    { NULL, false },
    NATIVE_SOFTMAX },
  { "distilbert",
    "",
    { "dropout", true },
    { "attention_dropout", true },
    { "dropout", true },
    { NULL, false },
    NATIVE_SOFTMAX | DROP_MLP_ONLY },
  { "gpt2", "", GPT(true), FUSED_QKV | NATIVE_SOFTMAX },
  { "gpt_bigcode", "", GPT(true), FUSED_QKV },
  { "openai-gpt", "", GPT(true), FUSED_QKV | NATIVE_SOFTMAX | EAGER | OPENAI_GELU },
  { "codegen", "", GPT(false), FUSED_QKV | EAGER | FLOAT32_SCORES },
  { "gptj", "", GPT(false), FLOAT32_SCORES | EAGER },
  { "gpt_neo",
    "",
    { "embed_dropout", false },
    { "attention_dropout", false },
    { "resid_dropout", false },
    { NULL, false },
    FLOAT32_SCORES | EAGER },
  { "gpt_neox",
    "",
    { "hidden_dropout", false },
    { "attention_dropout", false },
    { "hidden_dropout", false },
    { NULL, false },
    FUSED_QKV },
  { "opt",
    "",
    { NULL, false },
    { "attention_dropout", false },
    { "dropout", true },
    { NULL, false },
    0 },
  { "biogpt",
    "",
    { "hidden_dropout_prob", true },
    { "attention_probs_dropout_prob", true },
    { "hidden_dropout_prob", true },
    { "activation_dropout", false },
    NATIVE_SOFTMAX },
  { "bloom",
    "",
    { NULL, false },
    { "attention_dropout", false },
    { "hidden_dropout", false },
    { NULL, false },
    FUSED_QKV | EAGER },
  { "falcon",
    "",
    { NULL, false },
    { "attention_dropout", false },
    { "hidden_dropout", false },
    { NULL, false },
    FUSED_QKV | NATIVE_SOFTMAX },
  { "mpt",
    "",
    { NULL, false },
    { NULL, false },
    { NULL, false },
    { NULL, false },
    FUSED_QKV | EAGER },
  { "bart", "", SEQ2SEQ(true) },
  { "mbart", "", SEQ2SEQ(true) },
  { "marian", "", SEQ2SEQ(true) },
  { "pegasus", "", SEQ2SEQ(true) },
  { "blenderbot", "", SEQ2SEQ(true) },
  { "blenderbot-small", "", SEQ2SEQ(true) },
  { "m2m_100", "", SEQ2SEQ(true) },
  { "plbart", "", SEQ2SEQ(true) },
  { "whisper", "", SEQ2SEQ(false) | COPIED_QUERIES },
  { "t5", "t5", T5 },
  { "mt5", "t5", T5 },
  { "umt5", "t5", T5 },
  { "xglm",
    "",
    { "dropout", true },
    { "attention_dropout", true },
    { "dropout", true },
    { "activation_dropout", false },
    EAGER | NATIVE_SOFTMAX | CLAMPED_SCORES },
  { "vit",
    "",
    { "hidden_dropout_prob", false },
    { "attention_probs_dropout_prob", false },
    { "hidden_dropout_prob", false },
    { NULL, false },
    0 },
  { "clip",
    "",
    { NULL, false },
    { "attention_dropout", false },
    { NULL, false },
    { NULL, false },
    0 },
  { "qwen2_vl", "", LLAMA | FUSED_QKV | ROPE_CAST_BACK },
  { "qwen2_5_vl", "llama", LLAMA | FUSED_QKV | ROPE_CAST_BACK },
  { "phi",
    "",
    { "embd_pdrop", false },
    { "attention_dropout", false },
    { "resid_pdrop", false },
    { NULL, false },
    0 },
  { "phi3",
    "llama",
    { NULL, false },
    { "attention_dropout", false },
    { "resid_pdrop", false },
    { NULL, false },
    FUSED_QKV | FUSED_GATE },
  { "starcoder2",
    "",
    { "embedding_dropout", false },
    { "attention_dropout", false },
    { "residual_dropout", false },
    { NULL, false },
    0 },
  { "stablelm",
    "",
    { NULL, false },
    { "attention_dropout", false },
    { "hidden_dropout", false },
    { NULL, false },
    0 },
  { "gemma", "gemma", LLAMA },
  { "gemma2", "gemma", LLAMA | EAGER },
  { "gemma3_text", "gemma", LLAMA },
  { "vaultgemma", "gemma", LLAMA | EAGER },
  { "olmo2", "gemma", LLAMA },
  { "olmo3", "gemma", LLAMA },
  { "flex_olmo", "gemma", LLAMA },
  { "helium", "gemma", LLAMA },
  { "gpt_oss", "gemma", LLAMA | EAGER },
  { "cohere", "cohere", LLAMA },
  { "cohere2", "cohere", LLAMA },
  { "olmo", "olmo", LLAMA | ROPE_CAST_BACK },
  { "ernie4_5", "llama", LLAMA | ROPE_CAST_BACK },
  { "glm", "llama", LLAMA | FUSED_GATE },
  { "glm4", "llama", LLAMA | FUSED_GATE },
  { "nemotron", "nemotron", LLAMA },
  { "llama4_text", "llama", LLAMA | NATIVE_SOFTMAX },
#undef BERT
#undef GPT
#undef SEQ2SEQ
#undef T5
#undef LLAMA
};

/* llama's descendants, in its code's way. */
static const struct family usual = {
  "", "llama", { NULL, false }, { "attention_dropout", false }, { NULL, false }, { NULL, false }, 0
};

static bool has_dropout(const struct ft_hf_config *c, const struct place *place)
{
  const json_t *v = place->key ? json_object_get(c->root, place->key) : NULL;

  return json_is_number(v) ? json_number_value(v) > 0 : place->usual;
}

/* transformers' decomposition of the activation function, "" if it is one kernel. */
static const char *decomposed_activation(const struct ft_hf *m, unsigned how)
{
  static const char *const names[] = { "gelu_new", "gelu_fast", "quick_gelu", "relu2" };

  if (how & OPENAI_GELU && strcmp(m->activation, "gelu") == 0)
    return names[0];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(m->activation, names[i]) == 0)
      return names[i];
  return "";
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

  for (size_t i = 0; i < sizeof some / sizeof *some; i++)
    if (strcmp(some[i].type, m->type) == 0) {
      double part = fraction_member(c->root, "rotary_pct", some[i].usual);

      part = fraction_member(c->root, "partial_rotary_factor", part);
      part = fraction_member(json_object_get(c->root, "rope_parameters"), "partial_rotary_factor",
                             part);
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
  const struct family *f = &usual;

  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (strcmp(families[i].type, m->type) == 0)
      f = &families[i];
  m->drop_embedding = has_dropout(c, &f->embedding);
  m->drop_attention = has_dropout(c, &f->attention);
  m->drop_hidden = has_dropout(c, &f->hidden);
  m->drop_attention_output = m->drop_hidden && !(f->how & DROP_MLP_ONLY);
  m->drop_mlp = has_dropout(c, &f->inner);
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
