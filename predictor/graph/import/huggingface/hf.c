/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/core/text.h"
#include "predictor/graph/import/huggingface/hf_config.h"
#include "predictor/graph/import/json.h"
#include "predictor/graph/shape/infer.h"

/* ---- families ---- */

/* What nearly all files say; USUAL: what a part is where its file does not, else NULL. */
static void common(struct ft_hf_config *c, const struct ft_hf_usual *usual, struct ft_hf *m)
{
  static const struct ft_hf_usual told = { NULL, -1, 0, -1, -1, 0, 0, -1 };
  const struct ft_hf_usual *u = usual ? usual : &told;
  bool heads = strcmp(m->type, "mamba") != 0, words = strcmp(m->type, "vit") != 0;

  m->hidden = ft_hf_number(c, "hidden_size|n_embd|d_model|dim", u->hidden);
  m->layers =
      ft_hf_number(c, "num_hidden_layers|n_layer|num_layers|n_layers|encoder_layers", u->layers);
  m->heads = ft_hf_number(c,
                          "num_attention_heads|n_head|num_heads|n_heads|encoder_attention_heads|"
                          "attention_heads",
                          heads ? u->heads : 1);
  m->kv_heads = ft_hf_number(c, "num_key_value_heads", u->kv_heads ? u->kv_heads : m->heads);
  m->vocab = ft_hf_number(c, "vocab_size", words ? u->vocab : 1);
  m->embedding = ft_hf_number(c, "embedding_size", m->hidden);
  m->inner = ft_hf_number(c, "intermediate_size|n_inner|ffn_dim|hidden_dim|ffn_hidden_size|d_ff",
                          u->inner ? u->inner : 4 * m->hidden);
  m->head = ft_hf_number(c, "head_dim|d_kv",
                         u->head        ? u->head
                         : m->heads > 0 ? m->hidden / m->heads
                                        : 0);
  m->activation = ft_hf_text(
      c, "hidden_act", ft_hf_text(c, "activation_function", ft_hf_text(c, "activation", "gelu")));
  m->norms = 2;
  m->causal = true;
}

static void bert(struct ft_hf_config *c, struct ft_hf *m)
{
  bool distilled = strcmp(m->type, "distilbert") == 0, electra = strcmp(m->type, "electra") == 0;

  m->positions = ft_hf_number(c, "max_position_embeddings", 512);
  m->types = distilled ? 0 : ft_hf_number(c, "type_vocab_size", 2);
  m->norm_after = m->norm_embedding = m->bias_qkv = m->bias_out = m->bias_inner = true;
  m->pooler = !distilled && !electra;
  m->embedding = electra ? m->embedding : m->hidden;
  m->head_transform = m->head_bias = true;
  m->tied = true;
  m->causal = ft_hf_truth(c, "is_decoder", false);
}

static void gpt2(struct ft_hf_config *c, struct ft_hf *m)
{
  bool neo = strcmp(m->type, "gpt_neo") == 0;

  m->positions = ft_hf_number(c, "n_positions|max_position_embeddings", 1024);
  m->bias_qkv = !neo;
  m->bias_out = m->bias_inner = m->norm_final = true;
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
}

static void gptj(struct ft_hf_config *c, struct ft_hf *m)
{
  m->norms = 1;
  m->parallel = m->bias_inner = m->norm_final = m->head_bias = m->rotary = true;
  m->tied = ft_hf_truth(c, "tie_word_embeddings", false);
}

static void gpt_neox(struct ft_hf_config *c, struct ft_hf *m)
{
  m->bias_qkv = m->bias_out = ft_hf_truth(c, "attention_bias", true);
  m->bias_inner = m->norm_final = m->rotary = true;
  m->parallel = ft_hf_truth(c, "use_parallel_residual", true);
  m->tied = ft_hf_truth(c, "tie_word_embeddings", false);
}

static void opt(struct ft_hf_config *c, struct ft_hf *m)
{
  bool bias = ft_hf_truth(c, "enable_bias", true);

  m->inner = ft_hf_number(c, "ffn_dim", 4 * m->hidden);
  m->positions = ft_hf_number(c, "max_position_embeddings", 2048) + 2;
  m->embedding = ft_hf_number(c, "word_embed_proj_dim", m->hidden);
  m->norm_after = !ft_hf_truth(c, "do_layer_norm_before", true);
  m->norm_final = !m->norm_after && !ft_hf_truth(c, "_remove_final_layer_norm", false);
  m->bias_qkv = m->bias_out = m->bias_inner = bias;
  m->activation = ft_hf_text(c, "activation_function", "relu");
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
}

static void bloom(struct ft_hf_config *c, struct ft_hf *m)
{
  m->norm_embedding = m->norm_final = m->bias_qkv = m->bias_out = m->bias_inner = true;
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
}

static void falcon(struct ft_hf_config *c, struct ft_hf *m)
{
  bool fresh = ft_hf_truth(c, "new_decoder_architecture", false),
       bias = ft_hf_truth(c, "bias", false);

  m->kv_heads = fresh                                 ? ft_hf_number(c, "num_kv_heads", m->heads)
                : ft_hf_truth(c, "multi_query", true) ? 1
                                                      : m->heads;
  m->spread = fresh;
  m->parallel = ft_hf_truth(c, "parallel_attn", true);
  m->norms = fresh ? (int)ft_hf_number(c, "num_ln_in_parallel_attn", 2) : m->parallel ? 1 : 2;
  m->norms = m->norms == 1 ? 1 : 2;
  m->norm_final = true;
  m->rotary = !ft_hf_truth(c, "alibi", false);
  m->bias_qkv = m->bias_out = m->bias_inner = bias;
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
}

void ft_hf_llama(struct ft_hf_config *c, struct ft_hf *m)
{
  m->norm = FT_HF_ROOT;
  m->norm_final = m->gated = m->rotary = true;
  m->bias_qkv = m->bias_out = ft_hf_truth(c, "attention_bias", false);
  m->bias_inner = ft_hf_truth(c, "mlp_bias", false);
  m->activation = ft_hf_text(c, "hidden_act", ft_hf_text(c, "hidden_activation", "silu"));
  m->tied = ft_hf_truth(c, "tie_word_embeddings", strncmp(m->type, "gemma", 5) == 0);
}

static void qwen(struct ft_hf_config *c, struct ft_hf *m)
{
  bool third = strncmp(m->type, "qwen3", 5) == 0;

  ft_hf_llama(c, m);
  if (!third) {
    m->bias_qkv = ft_hf_truth(c, "qkv_bias", true);
    m->bias_out = false;
  }
  m->norm_heads = third;
}

static void gemma2(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norms = 4;
  m->head = ft_hf_number(c, "head_dim", 256);
}

static void olmo2(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norm_heads_whole = m->norm_added = true;
}

static void cohere(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norm = FT_HF_PLAIN;
  m->norms = 1;
  m->parallel = true;
  m->norm_heads = m->norm_heads_each = ft_hf_truth(c, "use_qk_norm", false);
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
}

static void stablelm(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norm = FT_HF_LAYER;
  m->bias_qkv = ft_hf_truth(c, "use_qkv_bias", false);
  m->bias_out = false;
  m->parallel = ft_hf_truth(c, "use_parallel_residual", false);
  m->norms = m->parallel ? 1 : 2;
}

static void starcoder2(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norm = FT_HF_LAYER;
  m->gated = false;
  m->bias_qkv = m->bias_out = m->bias_inner = ft_hf_truth(c, "use_bias", true);
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
}

static void phi(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->norm = FT_HF_LAYER;
  m->norms = 1;
  m->gated = false;
  m->parallel = m->bias_qkv = m->bias_out = m->bias_inner = m->head_bias = true;
}

static void mixtral(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_llama(c, m);
  m->experts = ft_hf_number(c, "num_local_experts", 8);
  m->chosen = ft_hf_number(c, "num_experts_per_tok", 2);
  m->expert_inner = m->inner;
}

static void qwen_moe(struct ft_hf_config *c, struct ft_hf *m)
{
  qwen(c, m);
  m->experts = ft_hf_number(c, "num_experts|num_local_experts", 60);
  m->chosen = ft_hf_number(c, "num_experts_per_tok", 4);
  m->expert_inner = ft_hf_number(c, "moe_intermediate_size", 1408);
  m->shared_inner = ft_hf_number(c, "shared_expert_intermediate_size", 0);
  m->shared_gate = m->shared_inner > 0;
  ft_hf_sparse(c, "decoder_sparse_step", m);
}

static void t5(struct ft_hf_config *c, struct ft_hf *m)
{
  const char *inner = ft_hf_text(c, "feed_forward_proj", "relu");

  m->norm = FT_HF_ROOT;
  m->kind = FT_HF_T5;
  m->norm_final = true;
  m->gated = strncmp(inner, "gated-", 6) == 0;
  m->activation = strcmp(inner, "gated-gelu") == 0 ? "gelu_new" : m->gated ? inner + 6 : inner;
  m->bias_each = strcmp(m->type, "umt5") == 0;
  m->buckets = ft_hf_number(c, "relative_attention_num_buckets", 32);
  m->decoder_layers = ft_hf_number(c, "num_decoder_layers", m->layers);
  m->inner = ft_hf_number(c, "d_ff", 2048);
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
}

static void albert(struct ft_hf_config *c, struct ft_hf *m)
{
  bert(c, m);
  m->embedding = ft_hf_number(c, "embedding_size", 128);
  m->inner = ft_hf_number(c, "intermediate_size", 16384);
  m->shared = m->pooler = true;
  if (ft_hf_number(c, "num_hidden_groups", 1) != 1 || ft_hf_number(c, "inner_group_num", 1) != 1)
    ft_hf_refuse(c, "num_hidden_groups, inner_group_num: expected 1");
}

static void deberta(struct ft_hf_config *c, struct ft_hf *m)
{
  bool first = strcmp(m->type, "deberta") == 0;
  int64_t buckets = ft_hf_number(c, "position_buckets|max_relative_positions", 0);

  bert(c, m);
  m->pooler = false;
  m->types = ft_hf_number(c, "type_vocab_size", 0);
  m->positions = ft_hf_truth(c, "position_biased_input", true) ? m->positions : 0;
  m->relative = ft_hf_truth(c, "relative_attention", false)
                    ? 2 * (buckets ? buckets : ft_hf_number(c, "max_position_embeddings", 512))
                    : 0;
  m->plain_key = first; /* queries and values have a bias */
  m->relative_norm = strstr(ft_hf_text(c, "norm_rel_ebd", "none"), "layer_norm") != NULL;
  if (m->relative && !first && !ft_hf_truth(c, "share_att_key", false))
    ft_hf_refuse(c, "share_att_key: expected true");
  if (ft_hf_number(c, "conv_kernel_size", 0))
    ft_hf_refuse(c, "conv_kernel_size: expected 0");
}

/* An encoder and a decoder with learnt positions. */
static void sides(struct ft_hf_config *c, struct ft_hf *m)
{
  bool small = strcmp(m->type, "blenderbot-small") == 0, many = strcmp(m->type, "mbart") == 0;
  bool bart = strcmp(m->type, "bart") == 0 || strcmp(m->type, "plbart") == 0;

  m->kind = FT_HF_SIDES;
  m->layers = ft_hf_number(c, "encoder_layers", 12);
  m->decoder_layers = ft_hf_number(c, "decoder_layers", 12);
  m->heads = m->kv_heads = ft_hf_number(c, "encoder_attention_heads", 16);
  m->decoder_heads = ft_hf_number(c, "decoder_attention_heads", 16);
  m->inner = ft_hf_number(c, "encoder_ffn_dim", 4096);
  m->decoder_inner = ft_hf_number(c, "decoder_ffn_dim", 4096);
  m->head = m->heads ? m->hidden / m->heads : 0;
  m->positions = ft_hf_number(c, "max_position_embeddings|max_target_positions", 1024);
  if (bart || many)
    m->positions += 2;
  if (strcmp(m->type, "m2m_100") == 0)
    m->positions = 0; /* sines */
  m->norm_embedding = bart || many || small;
  m->norm_after = bart || small || strcmp(m->type, "marian") == 0;
  m->norm_final = !m->norm_after;
  m->bias_qkv = m->bias_out = m->bias_inner = true;
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
  if (!m->decoder_heads || m->hidden % m->decoder_heads)
    ft_hf_refuse(c, "decoder_attention_heads: no such network");
}

static void whisper(struct ft_hf_config *c, struct ft_hf *m)
{
  sides(c, m);
  m->positions = ft_hf_number(c, "max_target_positions", 448);
  m->mels = ft_hf_number(c, "num_mel_bins", 80);
  m->frames = ft_hf_number(c, "max_source_positions", 1500);
  m->plain_key = true;
}

static void mamba(struct ft_hf_config *c, struct ft_hf *m)
{
  m->kind = FT_HF_MAMBA;
  m->norm = FT_HF_ROOT;
  m->state = ft_hf_number(c, "state_size", 16);
  m->window = ft_hf_number(c, "conv_kernel", 4);
  m->inner = ft_hf_number(c, "intermediate_size", 0);
  m->inner = m->inner ? m->inner : ft_hf_number(c, "expand", 2) * m->hidden;
  m->rank = ft_hf_number(c, "time_step_rank", (m->hidden + 15) / 16);
  m->bias_inner = ft_hf_truth(c, "use_bias", false);
  m->bias_conv = ft_hf_truth(c, "use_conv_bias", true);
  m->activation = ft_hf_text(c, "hidden_act", "silu");
  m->tied = ft_hf_truth(c, "tie_word_embeddings", true);
  if (!m->state || !m->window || !m->rank)
    ft_hf_refuse(c, "state_size, conv_kernel, time_step_rank: expected at least 1");
}

/* ---- pictures ---- */

void ft_hf_picture(struct ft_hf_config *c, int64_t image, int64_t patch, struct ft_hf *m)
{
  m->image = ft_hf_number(c, "image_size", image);
  m->channels = ft_hf_number(c, "num_channels|in_channels", 3);
  m->patch = ft_hf_number(c, "patch_size", patch);
  if (m->patch < 1 || m->patch > m->image || m->image > 1 << 16 || m->channels > 1 << 16)
    ft_hf_refuse(c, "patch_size, image_size: expected pictures of whole patches");
  m->bias_out = m->bias_inner = true;
  m->bias_qkv = ft_hf_truth(c, "qkv_bias", true);
  m->causal = false;
}

static void vit(struct ft_hf_config *c, struct ft_hf *m)
{
  const char *saved =
      json_string_value(json_array_get(json_object_get(c->root, "architectures"), 0));
  size_t named = json_object_size(json_object_get(c->root, "id2label"));

  ft_hf_picture(c, 224, 16, m);
  m->kind = FT_HF_VIT;
  m->inner = ft_hf_number(c, "intermediate_size", 3072);
  m->bias_conv = m->pooler = true;
  if (saved && strstr(saved, "ForImageClassification"))
    m->labels = ft_hf_number(c, "num_labels", named ? (int64_t)named : 2);
}

/* One side of clip, with its own configuration within C's. */
static void clip_side(struct ft_hf_config *c, const char *key, const int64_t usual[4],
                      struct ft_hf *m)
{
  struct ft_hf_config inner = { .root = json_object_get(c->root, key),
                                .file = c->file,
                                .err = c->err };

  m->hidden = m->embedding = ft_hf_number(&inner, "hidden_size", usual[0]);
  m->inner = ft_hf_number(&inner, "intermediate_size", usual[1]);
  m->layers = ft_hf_number(&inner, "num_hidden_layers", usual[2]);
  m->heads = m->kv_heads = ft_hf_number(&inner, "num_attention_heads", usual[3]);
  m->head = m->heads ? m->hidden / m->heads : 0;
  m->activation = ft_hf_text(&inner, "hidden_act", "quick_gelu");
  m->norms = 2;
  m->vocab = ft_hf_number(&inner, "vocab_size", 49408);
  m->positions = ft_hf_number(&inner, "max_position_embeddings", 77);
  if (strcmp(key, "vision_config") == 0)
    ft_hf_picture(&inner, 224, 16, m);
  m->bias_qkv = m->bias_out = m->bias_inner = true;
  ft_hf_training(&inner, m);
  c->failed = c->failed || inner.failed;
}

static void clip(struct ft_hf_config *c, struct ft_hf *m)
{
  static const int64_t words[] = { 512, 2048, 12, 8 }, pictures[] = { 768, 3072, 12, 12 };
  struct ft_hf *vision = c->more;

  vision->type = m->type;
  clip_side(c, "text_config", words, m);
  clip_side(c, "vision_config", pictures, vision);
  m->kind = FT_HF_CLIP;
  m->projection = ft_hf_number(c, "projection_dim", 512);
  m->vision = vision;
  if (!vision->hidden || !vision->heads || !vision->head || vision->layers > 10000)
    ft_hf_refuse(c, "vision_config: no such network");
}

static const struct ft_hf_known families[] = {
  { "bert", bert },
  { "roberta", bert },
  { "xlm-roberta", bert },
  { "camembert", bert },
  { "ernie", bert },
  { "distilbert", bert },
  { "electra", bert },
  { "gpt2", gpt2 },
  { "gpt_neo", gpt2 },
  { "gptj", gptj },
  { "gpt_neox", gpt_neox },
  { "opt", opt },
  { "bloom", bloom },
  { "falcon", falcon },
  { "llama", ft_hf_llama },
  { "mistral", ft_hf_llama },
  { "gemma", ft_hf_llama },
  { "phi3", ft_hf_llama },
  { "gemma2", gemma2 },
  { "qwen2", qwen },
  { "qwen3", qwen },
  { "olmo2", olmo2 },
  { "cohere", cohere },
  { "cohere2", cohere },
  { "stablelm", stablelm },
  { "starcoder2", starcoder2 },
  { "phi", phi },
  { "mixtral", mixtral },
  { "qwen2_moe", qwen_moe },
  { "qwen3_moe", qwen_moe },
  { "t5", t5 },
  { "mt5", t5 },
  { "umt5", t5 },
  { "albert", albert },
  { "deberta", deberta },
  { "deberta-v2", deberta },
  { "bart", sides },
  { "mbart", sides },
  { "blenderbot", sides },
  { "blenderbot-small", sides },
  { "m2m_100", sides },
  { "plbart", sides },
  { "pegasus", sides },
  { "marian", sides },
  { "whisper", whisper },
  { "mamba", mamba },
  { "vit", vit },
  { "clip", clip },
  { NULL, NULL },
};

static const struct ft_hf_known *const lists[] = { families, ft_hf_newer, ft_hf_seeing };

/* Whether the file is of a model that gives a chance for each word: what it was saved from. */
static bool with_head(const json_t *root)
{
  const char *saved = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));

  return saved && (strstr(saved, "LMHead") || strstr(saved, "CausalLM") ||
                   strstr(saved, "MaskedLM") || strstr(saved, "MTModel") ||
                   strstr(saved, "ForConditionalGeneration") || strstr(saved, "ForPreTraining"));
}

/* What reads TYPE of LIST; NULL: it is not there. */
static ft_hf_family *listed(const struct ft_hf_known *list, const char *type)
{
  for (; list->type; list++)
    if (strcmp(list->type, type) == 0)
      return list->read;
  return NULL;
}

static ft_hf_family *family_of(const char *type)
{
  ft_hf_family *read = NULL;

  for (size_t i = 0; !read && i < sizeof lists / sizeof *lists; i++)
    read = listed(lists[i], type);
  return read;
}

static size_t count_families(void)
{
  size_t count = 0;

  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    for (const struct ft_hf_known *known = lists[i]; known->type; known++)
      count++;
  return count;
}

void ft_hf_words_part(struct ft_hf_config *c, const struct ft_hf_usual *usual, struct ft_hf *m)
{
  ft_hf_family *family = family_of(m->type);

  if (!family || family == clip || listed(ft_hf_seeing, m->type)) {
    ft_hf_refuse(c, "text_config: its model_type is not known here");
    return;
  }
  common(c, usual, m);
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

static int describe(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_family *family = family_of(m->type);

  if (!family && m->type[0] && ft_hf_guessable(c))
    family = ft_hf_guess;
  if (!family)
    return ft_error_set(c->err,
                        "%s: model_type %.60s is not known here: expected bert, gpt2, llama, t5, "
                        "one of %zu others, or hidden_size, num_hidden_layers, "
                        "num_attention_heads and vocab_size to guess by",
                        c->file, m->type[0] ? m->type : "(none)", count_families() - 4);
  if (family != clip && family != listed(ft_hf_seeing, m->type))
    common(c, NULL, m);
  if (!c->failed)
    family(c, m);
  if (!c->failed && !m->vision && m->kind != FT_HF_TOWER) {
    ft_hf_training(c, m);
    ft_hf_windows(c, m);
  }
  m->with_head = with_head(c->root);
  if (m->with_head)
    m->pooler = false;
  if (c->failed || ft_hf_quantized(c, m) < 0)
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

/* What its weights are in; 0 where it does not say. */
static uint8_t stored(const json_t *root)
{
  static const struct {
    const char *name;
    uint8_t element;
  } names[] = { { "float32", FT_ELEMENT_FLOAT },
                { "float16", FT_ELEMENT_FLOAT16 },
                { "bfloat16", FT_ELEMENT_BFLOAT16 } };
  const char *said = json_string_value(json_object_get(root, "dtype"));

  if (!said)
    said = json_string_value(json_object_get(root, "torch_dtype"));
  for (size_t i = 0; said && i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i].name, said) == 0)
      return names[i].element;
  return FT_ELEMENT_UNKNOWN;
}

int ft_hf_read(struct ft_build *build, int fd)
{
  struct ft_graph *g = build->graph;
  struct ft_hf *m = ft_build_take(build, sizeof *m);
  struct ft_hf_config c = {
    .file = g->file, .err = build->err, .build = build, .more = ft_build_take(build, sizeof *m)
  };
  int status = -1;
  json_t *root;

  if (!m || !c.more)
    return -1;
  root = ft_graph_json_read(build, fd, FT_LIMIT_CONFIG);
  if (!root)
    return -1;
  c.root = root;
  m->type = ft_hf_text(&c, "model_type", "");
  if (describe(&c, m) < 0 || keep_texts(build, m) < 0 || keep_texts(build, c.more) < 0)
    goto out;
  g->format = "hugging face config";
  g->producer = "transformers";
  g->program = m;
  g->guessed = m->guessed;
  g->generates = m->causal || m->decoder_layers;
  g->stored = stored(root);
  g->expand = ft_hf_run;
  status = 0;
out:
  json_decref(root);
  return status;
}
