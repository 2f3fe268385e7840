/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/core/text.h"
#include "predictor/graph/hf.h"
#include "predictor/graph/infer.h"
#include "predictor/graph/json.h"

struct config {
  const json_t *root;
  const char *file;
  struct ft_error *err;
  bool failed;
  struct ft_hf *more; /* for what has two */
};

static void refuse(struct config *c, const char *what)
{
  if (!c->failed)
    (void)ft_error_set(c->err, "%s: %s", c->file, what);
  c->failed = true;
}

/* The first of KEYS, which "|" separates, that holds a whole number; OTHERWISE where none does. */
static int64_t number(struct config *c, const char *keys, int64_t otherwise)
{
  struct ft_text list = ft_text_from(keys), key;
  char name[64];

  while (ft_text_until(&list, '|', &key)) {
    const json_t *v = ft_text_copy(key, name, sizeof name) ? json_object_get(c->root, name) : NULL;

    if (!json_is_integer(v))
      continue;
    if (json_integer_value(v) < 0 || json_integer_value(v) > FT_GRAPH_DIMENSION / 1024) {
      if (!c->failed)
        (void)ft_error_set(c->err, "%s: %s=%lld: expected 0 to 2^30", c->file, name,
                           (long long)json_integer_value(v));
      c->failed = true;
      return 0;
    }
    return json_integer_value(v);
  }
  if (otherwise < 0 && !c->failed) {
    (void)ft_error_set(c->err, "%s: expected %.100s, a whole number", c->file, keys);
    c->failed = true;
  }
  return otherwise;
}

static bool truth(const struct config *c, const char *key, bool otherwise)
{
  const json_t *v = json_object_get(c->root, key);

  return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

static const char *text(const struct config *c, const char *key, const char *otherwise)
{
  const char *v = json_string_value(json_object_get(c->root, key));

  return v ? v : otherwise;
}

/* ---- families ---- */

static void common(struct config *c, struct ft_hf *m)
{
  bool heads = strcmp(m->type, "mamba") != 0, words = strcmp(m->type, "vit") != 0;

  m->hidden = number(c, "hidden_size|n_embd|d_model|dim", -1);
  m->layers = number(c, "num_hidden_layers|n_layer|num_layers|n_layers|encoder_layers", -1);
  m->heads = number(c, "num_attention_heads|n_head|num_heads|n_heads|encoder_attention_heads",
                    heads ? -1 : 1);
  m->kv_heads = number(c, "num_key_value_heads", m->heads);
  m->vocab = number(c, "vocab_size", words ? -1 : 1);
  m->embedding = number(c, "embedding_size", m->hidden);
  m->inner =
      number(c, "intermediate_size|n_inner|ffn_dim|hidden_dim|ffn_hidden_size|d_ff", 4 * m->hidden);
  m->head = number(c, "head_dim|d_kv", m->heads > 0 ? m->hidden / m->heads : 0);
  m->activation =
      text(c, "hidden_act", text(c, "activation_function", text(c, "activation", "gelu")));
  m->norms = 2;
  m->causal = true;
}

static void bert(struct config *c, struct ft_hf *m)
{
  bool distilled = strcmp(m->type, "distilbert") == 0, electra = strcmp(m->type, "electra") == 0;

  m->positions = number(c, "max_position_embeddings", 512);
  m->types = distilled ? 0 : number(c, "type_vocab_size", 2);
  m->norm_after = m->norm_embedding = m->bias_qkv = m->bias_out = m->bias_inner = true;
  m->pooler = !distilled && !electra;
  m->embedding = electra ? m->embedding : m->hidden;
  m->head_transform = m->head_bias = true;
  m->tied = true;
  m->causal = truth(c, "is_decoder", false);
}

static void gpt2(struct config *c, struct ft_hf *m)
{
  bool neo = strcmp(m->type, "gpt_neo") == 0;

  m->positions = number(c, "n_positions|max_position_embeddings", 1024);
  m->bias_qkv = !neo;
  m->bias_out = m->bias_inner = m->norm_final = true;
  m->tied = truth(c, "tie_word_embeddings", true);
}

static void gptj(struct config *c, struct ft_hf *m)
{
  m->norms = 1;
  m->parallel = m->bias_inner = m->norm_final = m->head_bias = m->rotary = true;
  m->tied = truth(c, "tie_word_embeddings", false);
}

static void gpt_neox(struct config *c, struct ft_hf *m)
{
  m->bias_qkv = m->bias_out = truth(c, "attention_bias", true);
  m->bias_inner = m->norm_final = m->rotary = true;
  m->tied = truth(c, "tie_word_embeddings", false);
}

static void opt(struct config *c, struct ft_hf *m)
{
  bool bias = truth(c, "enable_bias", true);

  m->inner = number(c, "ffn_dim", 4 * m->hidden);
  m->positions = number(c, "max_position_embeddings", 2048) + 2;
  m->embedding = number(c, "word_embed_proj_dim", m->hidden);
  m->norm_after = !truth(c, "do_layer_norm_before", true);
  m->norm_final = !m->norm_after && !truth(c, "_remove_final_layer_norm", false);
  m->bias_qkv = m->bias_out = m->bias_inner = bias;
  m->activation = text(c, "activation_function", "relu");
  m->tied = truth(c, "tie_word_embeddings", true);
}

static void bloom(struct config *c, struct ft_hf *m)
{
  m->norm_embedding = m->norm_final = m->bias_qkv = m->bias_out = m->bias_inner = true;
  m->tied = truth(c, "tie_word_embeddings", true);
}

static void falcon(struct config *c, struct ft_hf *m)
{
  bool fresh = truth(c, "new_decoder_architecture", false), bias = truth(c, "bias", false);

  m->kv_heads = fresh                           ? number(c, "num_kv_heads", m->heads)
                : truth(c, "multi_query", true) ? 1
                                                : m->heads;
  m->parallel = truth(c, "parallel_attn", true);
  m->norms = fresh ? (int)number(c, "num_ln_in_parallel_attn", 2) : m->parallel ? 1 : 2;
  m->norms = m->norms == 1 ? 1 : 2;
  m->norm_final = true;
  m->rotary = !truth(c, "alibi", false);
  m->bias_qkv = m->bias_out = m->bias_inner = bias;
  m->tied = truth(c, "tie_word_embeddings", true);
}

/* llama and those made after it: rotary positions, grouped queries, gated connections */
static void llama(struct config *c, struct ft_hf *m)
{
  m->norm = FT_HF_ROOT;
  m->norm_final = m->gated = m->rotary = true;
  m->bias_qkv = m->bias_out = truth(c, "attention_bias", false);
  m->bias_inner = truth(c, "mlp_bias", false);
  m->activation = text(c, "hidden_act", text(c, "hidden_activation", "silu"));
  m->tied = truth(c, "tie_word_embeddings", strncmp(m->type, "gemma", 5) == 0);
}

static void qwen(struct config *c, struct ft_hf *m)
{
  bool third = strncmp(m->type, "qwen3", 5) == 0;

  llama(c, m);
  if (!third) {
    m->bias_qkv = truth(c, "qkv_bias", true);
    m->bias_out = false;
  }
  m->norm_heads = third;
}

static void gemma2(struct config *c, struct ft_hf *m)
{
  llama(c, m);
  m->norms = 4;
  m->head = number(c, "head_dim", 256);
}

static void olmo2(struct config *c, struct ft_hf *m)
{
  llama(c, m);
  m->norm_heads_whole = true;
}

static void cohere(struct config *c, struct ft_hf *m)
{
  llama(c, m);
  m->norm = FT_HF_PLAIN;
  m->norms = 1;
  m->parallel = true;
  m->tied = truth(c, "tie_word_embeddings", true);
}

static void stablelm(struct config *c, struct ft_hf *m)
{
  llama(c, m);
  m->norm = FT_HF_LAYER;
  m->bias_qkv = truth(c, "use_qkv_bias", false);
  m->bias_out = false;
  m->parallel = truth(c, "use_parallel_residual", false);
  m->norms = m->parallel ? 1 : 2;
}

static void starcoder2(struct config *c, struct ft_hf *m)
{
  llama(c, m);
  m->norm = FT_HF_LAYER;
  m->gated = false;
  m->bias_qkv = m->bias_out = m->bias_inner = truth(c, "use_bias", true);
  m->tied = truth(c, "tie_word_embeddings", true);
}

static void phi(struct config *c, struct ft_hf *m)
{
  llama(c, m);
  m->norm = FT_HF_LAYER;
  m->norms = 1;
  m->gated = false;
  m->parallel = m->bias_qkv = m->bias_out = m->bias_inner = m->head_bias = true;
}

static void mixtral(struct config *c, struct ft_hf *m)
{
  llama(c, m);
  m->experts = number(c, "num_local_experts", 8);
  m->chosen = number(c, "num_experts_per_tok", 2);
  m->expert_inner = m->inner;
}

static void qwen_moe(struct config *c, struct ft_hf *m)
{
  qwen(c, m);
  m->experts = number(c, "num_experts", 60);
  m->chosen = number(c, "num_experts_per_tok", 4);
  m->expert_inner = number(c, "moe_intermediate_size", 1408);
  m->shared_inner = number(c, "shared_expert_intermediate_size", 0);
  m->shared_gate = m->shared_inner > 0;
}

static void t5(struct config *c, struct ft_hf *m)
{
  const char *inner = text(c, "feed_forward_proj", "relu");

  m->norm = FT_HF_ROOT;
  m->kind = FT_HF_T5;
  m->norm_final = true;
  m->gated = strncmp(inner, "gated-", 6) == 0;
  m->activation = m->gated ? inner + 6 : inner;
  m->buckets = number(c, "relative_attention_num_buckets", 32);
  m->decoder_layers = number(c, "num_decoder_layers", m->layers);
  m->inner = number(c, "d_ff", 2048);
  m->tied = truth(c, "tie_word_embeddings", true);
}

static void albert(struct config *c, struct ft_hf *m)
{
  bert(c, m);
  m->embedding = number(c, "embedding_size", 128);
  m->inner = number(c, "intermediate_size", 16384);
  m->shared = m->pooler = true;
  if (number(c, "num_hidden_groups", 1) != 1 || number(c, "inner_group_num", 1) != 1)
    refuse(c, "num_hidden_groups, inner_group_num: expected 1");
}

static void deberta(struct config *c, struct ft_hf *m)
{
  bool first = strcmp(m->type, "deberta") == 0;
  int64_t buckets = number(c, "position_buckets|max_relative_positions", 0);

  bert(c, m);
  m->pooler = false;
  m->types = number(c, "type_vocab_size", 0);
  m->positions = truth(c, "position_biased_input", true) ? m->positions : 0;
  m->relative = truth(c, "relative_attention", false)
                    ? 2 * (buckets ? buckets : number(c, "max_position_embeddings", 512))
                    : 0;
  m->plain_key = first; /* queries and values have a bias */
  m->relative_norm = strstr(text(c, "norm_rel_ebd", "none"), "layer_norm") != NULL;
  if (m->relative && !first && !truth(c, "share_att_key", false))
    refuse(c, "share_att_key: expected true");
  if (number(c, "conv_kernel_size", 0))
    refuse(c, "conv_kernel_size: expected 0");
}

/* An encoder and a decoder with learnt positions. */
static void sides(struct config *c, struct ft_hf *m)
{
  bool bart = strcmp(m->type, "bart") == 0, many = strcmp(m->type, "mbart") == 0;

  m->kind = FT_HF_SIDES;
  m->layers = number(c, "encoder_layers", 12);
  m->decoder_layers = number(c, "decoder_layers", 12);
  m->heads = m->kv_heads = number(c, "encoder_attention_heads", 16);
  m->decoder_heads = number(c, "decoder_attention_heads", 16);
  m->inner = number(c, "encoder_ffn_dim", 4096);
  m->decoder_inner = number(c, "decoder_ffn_dim", 4096);
  m->head = m->heads ? m->hidden / m->heads : 0;
  m->positions = number(c, "max_position_embeddings|max_target_positions", 1024);
  if (bart || many)
    m->positions += 2;
  m->norm_embedding = bart || many;
  m->norm_after = bart || strcmp(m->type, "marian") == 0;
  m->norm_final = !m->norm_after;
  m->bias_qkv = m->bias_out = m->bias_inner = true;
  m->tied = truth(c, "tie_word_embeddings", true);
  if (!m->decoder_heads || m->hidden % m->decoder_heads)
    refuse(c, "decoder_attention_heads: no such network");
}

static void whisper(struct config *c, struct ft_hf *m)
{
  sides(c, m);
  m->positions = number(c, "max_target_positions", 448);
  m->mels = number(c, "num_mel_bins", 80);
  m->frames = number(c, "max_source_positions", 1500);
  m->plain_key = true;
}

static void mamba(struct config *c, struct ft_hf *m)
{
  m->kind = FT_HF_MAMBA;
  m->norm = FT_HF_ROOT;
  m->state = number(c, "state_size", 16);
  m->window = number(c, "conv_kernel", 4);
  m->inner = number(c, "intermediate_size", 0);
  m->inner = m->inner ? m->inner : number(c, "expand", 2) * m->hidden;
  m->rank = number(c, "time_step_rank", (m->hidden + 15) / 16);
  m->bias_inner = truth(c, "use_bias", false);
  m->bias_conv = truth(c, "use_conv_bias", true);
  m->activation = text(c, "hidden_act", "silu");
  m->tied = truth(c, "tie_word_embeddings", true);
  if (!m->state || !m->window || !m->rank)
    refuse(c, "state_size, conv_kernel, time_step_rank: expected at least 1");
}

/* ---- pictures ---- */

static void picture(struct config *c, struct ft_hf *m)
{
  m->image = number(c, "image_size", 224);
  m->channels = number(c, "num_channels", 3);
  m->patch = number(c, "patch_size", 16);
  if (m->patch < 1 || m->patch > m->image || m->image > 1 << 16 || m->channels > 1 << 16)
    refuse(c, "patch_size, image_size: expected pictures of whole patches");
  m->bias_out = m->bias_inner = true;
  m->bias_qkv = truth(c, "qkv_bias", true);
  m->causal = false;
}

static void vit(struct config *c, struct ft_hf *m)
{
  const char *saved =
      json_string_value(json_array_get(json_object_get(c->root, "architectures"), 0));
  size_t named = json_object_size(json_object_get(c->root, "id2label"));

  picture(c, m);
  m->kind = FT_HF_VIT;
  m->inner = number(c, "intermediate_size", 3072);
  m->bias_conv = m->pooler = true;
  if (saved && strstr(saved, "ForImageClassification"))
    m->labels = number(c, "num_labels", named ? (int64_t)named : 2);
}

/* One side of clip, with its own configuration within C's. */
static void clip_side(struct config *c, const char *key, const int64_t usual[4], struct ft_hf *m)
{
  struct config inner = { .root = json_object_get(c->root, key), .file = c->file, .err = c->err };

  m->hidden = m->embedding = number(&inner, "hidden_size", usual[0]);
  m->inner = number(&inner, "intermediate_size", usual[1]);
  m->layers = number(&inner, "num_hidden_layers", usual[2]);
  m->heads = m->kv_heads = number(&inner, "num_attention_heads", usual[3]);
  m->head = m->heads ? m->hidden / m->heads : 0;
  m->activation = text(&inner, "hidden_act", "quick_gelu");
  m->norms = 2;
  m->vocab = number(&inner, "vocab_size", 49408);
  m->positions = number(&inner, "max_position_embeddings", 77);
  if (strcmp(key, "vision_config") == 0)
    picture(&inner, m);
  m->bias_qkv = m->bias_out = m->bias_inner = true;
  c->failed = c->failed || inner.failed;
}

static void clip(struct config *c, struct ft_hf *m)
{
  static const int64_t words[] = { 512, 2048, 12, 8 }, pictures[] = { 768, 3072, 12, 12 };
  struct ft_hf *vision = c->more;

  clip_side(c, "text_config", words, m);
  clip_side(c, "vision_config", pictures, vision);
  vision->type = m->type;
  m->kind = FT_HF_CLIP;
  m->projection = number(c, "projection_dim", 512);
  m->vision = vision;
  if (!vision->hidden || !vision->heads || !vision->head || vision->layers > 10000)
    refuse(c, "vision_config: no such network");
}

static const struct {
  const char *type;
  void (*read)(struct config *c, struct ft_hf *m);
} families[] = { { "bert", bert },
                 { "roberta", bert },
                 { "xlm-roberta", bert },
                 { "camembert", bert },
                 { "distilbert", bert },
                 { "electra", bert },
                 { "gpt2", gpt2 },
                 { "gpt_neo", gpt2 },
                 { "gptj", gptj },
                 { "gpt_neox", gpt_neox },
                 { "opt", opt },
                 { "bloom", bloom },
                 { "falcon", falcon },
                 { "llama", llama },
                 { "mistral", llama },
                 { "gemma", llama },
                 { "phi3", llama },
                 { "gemma2", gemma2 },
                 { "qwen2", qwen },
                 { "qwen3", qwen },
                 { "olmo2", olmo2 },
                 { "cohere", cohere },
                 { "stablelm", stablelm },
                 { "starcoder2", starcoder2 },
                 { "phi", phi },
                 { "mixtral", mixtral },
                 { "qwen2_moe", qwen_moe },
                 { "qwen3_moe", qwen_moe },
                 { "t5", t5 },
                 { "mt5", t5 },
                 { "albert", albert },
                 { "deberta", deberta },
                 { "deberta-v2", deberta },
                 { "bart", sides },
                 { "mbart", sides },
                 { "pegasus", sides },
                 { "marian", sides },
                 { "whisper", whisper },
                 { "mamba", mamba },
                 { "vit", vit },
                 { "clip", clip } };

/* Whether the file is of a model that gives a chance for each word: what it was saved from. */
static bool with_head(const json_t *root)
{
  const char *saved = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));

  return saved && (strstr(saved, "LMHead") || strstr(saved, "CausalLM") ||
                   strstr(saved, "MaskedLM") || strstr(saved, "MTModel") ||
                   strstr(saved, "ForConditionalGeneration") || strstr(saved, "ForPreTraining"));
}

static int describe(struct config *c, struct ft_hf *m)
{
  size_t i = 0;

  while (i < sizeof families / sizeof *families && strcmp(families[i].type, m->type) != 0)
    i++;
  if (i == sizeof families / sizeof *families)
    return ft_error_set(c->err,
                        "%s: model_type %.60s is not known here: expected bert, gpt2, llama, t5 or "
                        "one of %zu others",
                        c->file, m->type[0] ? m->type : "(none)", i - 4);
  if (families[i].read != clip)
    common(c, m);
  if (!c->failed)
    families[i].read(c, m);
  m->with_head = with_head(c->root);
  if (m->with_head)
    m->pooler = false;
  if (c->failed)
    return -1;
  if (!m->hidden || !m->heads || !m->kv_heads || !m->head || !m->vocab || m->heads % m->kv_heads ||
      m->layers > 10000 || m->decoder_layers > 10000 || m->heads > 1 << 16)
    return ft_error_set(
        c->err, "%s: %lld features in %lld heads of %lld, %lld layers: no such network", c->file,
        (long long)m->hidden, (long long)m->heads, (long long)m->kv_heads, (long long)m->layers);
  return 0;
}

/* What is said in the file outlives it. */
static int keep_texts(struct ft_build *build, struct ft_hf *m)
{
  const char *type = m->type ? m->type : "", *activation = m->activation ? m->activation : "";

  m->type = ft_build_same(build, type, strlen(type));
  m->activation = ft_build_same(build, activation, strlen(activation));
  return m->type && m->activation ? 0 : -1;
}

int ft_hf_read(struct ft_build *build, int fd)
{
  struct ft_graph *g = build->graph;
  struct ft_hf *m = ft_build_take(build, sizeof *m);
  struct config c = { .file = g->file, .err = build->err, .more = ft_build_take(build, sizeof *m) };
  int status = -1;
  json_t *root;

  if (!m || !c.more)
    return -1;
  root = ft_graph_json_read(build, fd, FT_LIMIT_CONFIG);
  if (!root)
    return -1;
  c.root = root;
  m->type = text(&c, "model_type", "");
  if (describe(&c, m) < 0 || keep_texts(build, m) < 0 || keep_texts(build, c.more) < 0)
    goto out;
  g->format = "hugging face config";
  g->producer = "transformers";
  g->program = m;
  g->expand = ft_hf_run;
  status = 0;
out:
  json_decref(root);
  return status;
}
