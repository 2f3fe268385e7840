/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What transformers' code of a family does in training, beyond the network itself: where it drops
 * out, and which operations it spells out (5.23.0, src/transformers/models/).
 */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/huggingface/hf_config.h"

enum {
  ON_ONE = 1,        /* dropout stands behind the feed-forward part alone */
  NARROW = 2,        /* the softmax is computed in the width that comes in */
  PLAIN = 4,         /* attention has no fused kernel */
  OPENAI_GELU = 8,   /* what it calls gelu is gelu_new */
  ONE_QKV = 16,      /* one matrix makes queries, keys and values, */
  ONE_GATE = 32,     /* and one the gate and what it gates */
  COPIES = 64,       /* queries are copied behind each other */
  WIDE_SCORES = 128, /* queries and keys are cast to 32 bits */
  SAME_WIDTH = 256,  /* what angles turn is cast back */
  LEAST = 512        /* no score is below the least number there is */
};

/* Where a configuration says how much is dropped, and whether any is where it says nothing. */
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
      { "hidden_dropout_prob", true }, { NULL, false }, NARROW
#define GPT(usual)                                                                                 \
  { "embd_pdrop", usual }, { "attn_pdrop", usual }, { "resid_pdrop", usual },                      \
  {                                                                                                \
    NULL, false                                                                                    \
  }
#define SIDES(usual)                                                                               \
  { "dropout", usual }, { "attention_dropout", false }, { "dropout", usual },                      \
      { "activation_dropout", false }, NARROW
#define T5                                                                                         \
  { "dropout_rate", true }, { "dropout_rate", true }, { "dropout_rate", true },                    \
      { "dropout_rate", true }, NARROW
#define ROOT { NULL, false }, { "attention_dropout", false }, { NULL, false }, { NULL, false }, 0
  { "bert", "", BERT },
  { "roberta", "", BERT },
  { "xlm-roberta", "", BERT },
  { "camembert", "", BERT },
  { "electra", "", BERT },
  { "ernie", "", BERT },
  { "megatron-bert", "", BERT | PLAIN },
  { "deberta", "", BERT | PLAIN },
  { "deberta-v2", "", BERT | PLAIN },
  { "albert",
    "",
    { "hidden_dropout_prob", false },
    { "attention_probs_dropout_prob", false },
    { "hidden_dropout_prob", false },
    { NULL, false },
    NARROW },
  { "distilbert",
    "",
    { "dropout", true },
    { "attention_dropout", true },
    { "dropout", true },
    { NULL, false },
    NARROW | ON_ONE },
  { "gpt2", "", GPT(true), ONE_QKV | NARROW },
  { "gpt_bigcode", "", GPT(true), ONE_QKV },
  { "openai-gpt", "", GPT(true), ONE_QKV | NARROW | PLAIN | OPENAI_GELU },
  { "codegen", "", GPT(false), ONE_QKV | PLAIN | WIDE_SCORES },
  { "gptj", "", GPT(false), WIDE_SCORES | PLAIN },
  { "gpt_neo",
    "",
    { "embed_dropout", false },
    { "attention_dropout", false },
    { "resid_dropout", false },
    { NULL, false },
    WIDE_SCORES | PLAIN },
  { "gpt_neox",
    "",
    { "hidden_dropout", false },
    { "attention_dropout", false },
    { "hidden_dropout", false },
    { NULL, false },
    ONE_QKV },
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
    NARROW },
  { "bloom",
    "",
    { NULL, false },
    { "attention_dropout", false },
    { "hidden_dropout", false },
    { NULL, false },
    ONE_QKV | PLAIN },
  { "falcon",
    "",
    { NULL, false },
    { "attention_dropout", false },
    { "hidden_dropout", false },
    { NULL, false },
    ONE_QKV | NARROW },
  { "mpt",
    "",
    { NULL, false },
    { NULL, false },
    { NULL, false },
    { NULL, false },
    ONE_QKV | PLAIN },
  { "bart", "", SIDES(true) },
  { "mbart", "", SIDES(true) },
  { "marian", "", SIDES(true) },
  { "pegasus", "", SIDES(true) },
  { "blenderbot", "", SIDES(true) },
  { "blenderbot-small", "", SIDES(true) },
  { "m2m_100", "", SIDES(true) },
  { "plbart", "", SIDES(true) },
  { "whisper", "", SIDES(false) | COPIES },
  { "t5", "t5", T5 },
  { "mt5", "t5", T5 },
  { "umt5", "t5", T5 },
  { "xglm",
    "",
    { "dropout", true },
    { "attention_dropout", true },
    { "dropout", true },
    { "activation_dropout", false },
    PLAIN | NARROW | LEAST },
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
  { "qwen2_vl", "", ROOT | ONE_QKV | SAME_WIDTH },
  { "qwen2_5_vl", "llama", ROOT | ONE_QKV | SAME_WIDTH },
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
    ONE_QKV | ONE_GATE },
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
  { "gemma", "gemma", ROOT },
  { "gemma2", "gemma", ROOT | PLAIN },
  { "gemma3_text", "gemma", ROOT },
  { "vaultgemma", "gemma", ROOT | PLAIN },
  { "olmo2", "gemma", ROOT },
  { "olmo3", "gemma", ROOT },
  { "flex_olmo", "gemma", ROOT },
  { "helium", "gemma", ROOT },
  { "gpt_oss", "gemma", ROOT | PLAIN },
  { "cohere", "cohere", ROOT },
  { "cohere2", "cohere", ROOT },
  { "olmo", "olmo", ROOT | SAME_WIDTH },
  { "ernie4_5", "llama", ROOT | SAME_WIDTH },
  { "glm", "llama", ROOT | ONE_GATE },
  { "glm4", "llama", ROOT | ONE_GATE },
  { "nemotron", "nemotron", ROOT },
  { "llama4_text", "llama", ROOT | NARROW },
#undef BERT
#undef GPT
#undef SIDES
#undef T5
#undef ROOT
};

/* Those made after llama, in its code's way. */
static const struct family usual = {
  "", "llama", { NULL, false }, { "attention_dropout", false }, { NULL, false }, { NULL, false }, 0
};

static bool drops(const struct ft_hf_config *c, const struct place *place)
{
  const json_t *v = place->key ? json_object_get(c->root, place->key) : NULL;

  return json_is_number(v) ? json_number_value(v) > 0 : place->usual;
}

/* How transformers writes the activation function, where that is no kernel; else "". */
static const char *spelt_activation(const struct ft_hf *m, unsigned how)
{
  static const char *const names[] = { "gelu_new", "gelu_fast", "quick_gelu", "relu2" };

  if (how & OPENAI_GELU && strcmp(m->activation, "gelu") == 0)
    return names[0];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(m->activation, names[i]) == 0)
      return names[i];
  return "";
}

static double fraction(const json_t *root, const char *key, double otherwise)
{
  const json_t *v = json_object_get(root, key);

  return json_is_number(v) && json_number_value(v) > 0 && json_number_value(v) <= 1
             ? json_number_value(v)
             : otherwise;
}

/* Features of a head that positions turn, which not all families turn all of; 0: all. */
static int64_t rotated(struct ft_hf_config *c, const struct ft_hf *m)
{
  static const struct {
    const char *type;
    double usual;
  } some[] = { { "glm", 0.5 }, { "glm4", 0.5 },      { "glm4_moe", 0.5 }, { "gpt_neox", 0.25 },
               { "phi", 0.5 }, { "stablelm", 0.25 }, { "nemotron", 0.5 }, { "phi3", 1 } };

  for (size_t i = 0; i < sizeof some / sizeof *some; i++)
    if (strcmp(some[i].type, m->type) == 0) {
      double part = fraction(c->root, "rotary_pct", some[i].usual);

      part = fraction(c->root, "partial_rotary_factor", part);
      part = fraction(json_object_get(c->root, "rope_parameters"), "partial_rotary_factor", part);
      return part < 1 ? (int64_t)(part * (double)m->head_dim) : 0;
    }
  if (strcmp(m->type, "gptj") == 0 || strcmp(m->type, "codegen") == 0)
    return ft_hf_int(c, "rotary_dim", 64);
  return 0;
}

/* Whether chances are cast to 32 bits before the loss (loss_utils.py, ForCausalLMLoss). */
static bool loss_wide(const json_t *root)
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
  m->drop_embedding = drops(c, &f->embedding);
  m->drop_attention = drops(c, &f->attention);
  m->drop_hidden = drops(c, &f->hidden);
  m->drop_attention_output = m->drop_hidden && !(f->how & ON_ONE);
  m->drop_mlp = drops(c, &f->inner);
  m->upcast = f->how & WIDE_SCORES ? 2 : !(f->how & NARROW);
  m->math_kernel = strcmp(m->type, "falcon") == 0 && m->kv_heads == 1;
  m->eager_attention = f->how & PLAIN || m->math_kernel;
  m->softcap =
      f->how & LEAST ? 2 : json_is_number(json_object_get(c->root, "attn_logit_softcapping"));
  m->fused_qkv = f->how & ONE_QKV;
  m->fused_gate = f->how & ONE_GATE;
  m->copy_queries = f->how & COPIES;
  m->kv_cache = (m->causal || m->decoder_layers) && ft_hf_bool(c, "use_cache", true) &&
                strcmp(m->type, "openai-gpt") != 0;
  m->rope_in_float32 = m->rotary && !(f->how & SAME_WIDTH);
  m->rotary_dim = rotated(c, m);
  m->loss_in_float32 = loss_wide(c->root);
  m->decomposed_norm = f->norm;
  m->decomposed_activation = spelt_activation(m, f->how);
}
