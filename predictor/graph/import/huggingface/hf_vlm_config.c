/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Configurations of vision-language models: a vision encoder, a projector and a decoder
 * (transformers 5.23, src/transformers/models/). Files often contain only the fields that differ
 * from the library's defaults (configuration_*.py); the tables below hold these defaults.
 */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/huggingface/hf_config.h"
#include "predictor/graph/shape/infer.h"

/* ---- the decoder ---- */

static const struct ft_hf_defaults decoders[] = {
  { "llama", 4096, 11008, 32, 32, 0, 0, 32000 },
  { "mistral", 4096, 14336, 32, 32, 8, 0, 32000 },
  { "gemma", 3072, 24576, 28, 16, 16, 256, 256000 },
  { "gemma2", 2304, 9216, 26, 8, 4, 256, 256000 },
  { "gemma3_text", 2304, 9216, 26, 8, 4, 256, 262208 },
  { "qwen2", 4096, 22016, 32, 32, 32, 0, 151936 },
  { "qwen2_vl", 8192, 29568, 80, 64, 8, 0, 152064 }, /* read like qwen2 */
};

static const struct ft_hf_defaults *find_defaults(const char *type)
{
  return FT_TABLE_ROW(decoders, type);
}

/* The object KEY of C; its root is NULL if there is no such object. */
static struct ft_hf_config config_part(const struct ft_hf_config *c, const char *key)
{
  const json_t *part = json_object_get(c->root, key);

  return (struct ft_hf_config){ .root = json_is_object(part) ? part : NULL,
                                .file = c->file,
                                .err = c->err };
}

/* Reads the decoder in text_config; OTHERWISE is its type if the file gives none. TIED: the
 * default of tie_word_embeddings. */
static void read_text_config(struct ft_hf_config *c, const struct ft_hf_defaults *usual,
                             const char *otherwise, bool tied, struct ft_hf *m)
{
  struct ft_hf_config part = config_part(c, "text_config");

  m->type = otherwise ? otherwise : ft_hf_string(&part, "model_type", "llama");
  ft_hf_text_config(&part, usual ? usual : find_defaults(m->type), m);
  m->tied =
      ft_hf_bool(c, "tie_word_embeddings", tied) || ft_hf_bool(&part, "tie_word_embeddings", false);
  m->loss_in_float32 = true;
  c->failed = c->failed || part.failed;
}

/* ---- vision encoders ---- */

/* The fields that CLIP-like vision encoders share. */
static void read_encoder(struct ft_hf_config *c, const struct ft_hf_defaults *usual,
                         struct ft_hf *v)
{
  v->type = "clip"; /* transformers derives their code from CLIP's, also in training */
  v->hidden = ft_hf_int(c, "hidden_size|embed_dim", usual->hidden);
  v->inner = ft_hf_int(c, "intermediate_size", usual->inner);
  v->layers = ft_hf_int(c, "num_hidden_layers|depth", usual->layers);
  v->heads = v->kv_heads = ft_hf_int(c, "num_attention_heads|num_heads", usual->heads);
  v->vocab = 1;
  v->norms = 2;
  v->bias_qkv = v->bias_out = v->bias_inner = true;
  v->feature_layer = v->layers;
  if (v->layers > 10000 || v->heads > 1 << 16)
    ft_hf_refuse(c, "vision_config: hidden_size, layers or heads out of range");
}

/* Sets the head size from the number of features. */
static void set_head_size(struct ft_hf_config *c, struct ft_hf *v)
{
  v->embedding = v->hidden;
  v->head_dim = v->heads ? v->hidden / v->heads : 0;
  if (!v->head_dim || v->hidden % v->heads)
    ft_hf_refuse(c, "vision_config: expected the same number of features in every head");
}

static void read_clip_encoder(struct ft_hf_config *c, bool large, struct ft_hf *v)
{
  static const struct ft_hf_defaults base = { "clip", 768, 3072, 12, 12, 0, 0, 1 },
                                     llava = { "clip", 1024, 4096, 24, 16, 0, 0, 1 };

  read_encoder(c, large ? &llava : &base, v);
  set_head_size(c, v);
  ft_hf_image_config(c, large ? 336 : 224, large ? 14 : 32, v);
  v->activation = ft_hf_string(c, "hidden_act", "quick_gelu");
  v->norm_first = true;
  ft_hf_training(c, v);
}

static void read_siglip_encoder(struct ft_hf_config *c, const struct ft_hf_defaults *usual,
                                int64_t patch, struct ft_hf *v)
{
  static const struct ft_hf_defaults base = { "siglip", 768, 3072, 12, 12, 0, 0, 1 };

  read_encoder(c, usual ? usual : &base, v);
  set_head_size(c, v);
  ft_hf_image_config(c, 224, patch, v);
  v->activation = ft_hf_string(c, "hidden_act", "gelu_pytorch_tanh");
  v->no_class_token = v->bias_conv = true;
  v->pool_head = !usual && ft_hf_bool(c, "vision_use_head", true);
  ft_hf_training(c, v);
}

/* Groups of GROUP patches per side of the image. */
static int64_t patch_groups(struct ft_hf_config *c, const struct ft_hf *v, int64_t group)
{
  int64_t side = v->patch ? v->image / v->patch : 0;

  if (group < 1 || group > side || side % group)
    ft_hf_refuse(c, "vision_config: expected patches in whole groups");
  return group > 0 ? side / group : 0;
}

/* ---- families ---- */

/* The fields that all vision-language models share. */
static void finish_vlm(struct ft_hf_config *c, unsigned join, struct ft_hf *m)
{
  m->kind = FT_HF_VLM;
  m->vision = c->vision;
  c->vision->projector = (uint8_t)join;
  c->vision->projector_dim = m->hidden;
}

static void read_llava(struct ft_hf_config *c, struct ft_hf *m)
{
  struct ft_hf_config part = config_part(c, "vision_config");
  const json_t *layer = json_object_get(c->root, "vision_feature_layer");
  int64_t read = layer ? json_integer_value(layer) : -2;
  bool whole = strcmp(ft_hf_string(c, "vision_feature_select_strategy", "default"), "full") == 0;
  const char *type = ft_hf_string(&part, "model_type", "clip_vision_model");

  read_text_config(c, NULL, NULL, false, m);
  if (strcmp(type, "siglip_vision_model") == 0)
    read_siglip_encoder(&part, NULL, 16, c->vision);
  else
    read_clip_encoder(&part, true, c->vision);
  if (strcmp(type, "siglip_vision_model") != 0 && strcmp(type, "clip_vision_model") != 0)
    ft_hf_refuse(c, "vision_config: expected model_type clip_vision_model or siglip_vision_model");
  if (layer && !json_is_integer(layer))
    ft_hf_refuse(c, "vision_feature_layer: expected one layer");
  c->failed = c->failed || part.failed;
  finish_vlm(c, FT_HF_PROJECTOR_MLP, m);
  c->vision->feature_layer = read < 0 ? c->vision->layers + 1 + read : read;
  if (c->vision->feature_layer < 0 || c->vision->feature_layer > c->vision->layers)
    ft_hf_refuse(c, "vision_feature_layer: no such layer");
  c->vision->merge_size = !whole; /* 1: the class token is dropped */
  if (c->vision->no_class_token && !whole)
    ft_hf_refuse(c, "vision_feature_select_strategy: expected full, as there is no class "
                    "patches");
  c->vision->bias_per_layer = ft_hf_bool(c, "multimodal_projector_bias", true);
  if (strstr(ft_hf_string(c, "projector_hidden_act", "gelu"), "gelu") == NULL)
    ft_hf_refuse(c, "projector_hidden_act: expected gelu");
}

static void read_paligemma(struct ft_hf_config *c, struct ft_hf *m)
{
  static const struct ft_hf_defaults gemma = { "gemma", 2048, 16384, 18, 8, 1, 0, 257152 },
                                     siglip = { "siglip", 1152, 4096, 27, 16, 0, 0, 1 };
  struct ft_hf_config part = config_part(c, "vision_config"), text = config_part(c, "text_config");

  read_text_config(c, text.root ? NULL : &gemma, ft_hf_string(&text, "model_type", "gemma"), true,
                   m);
  read_siglip_encoder(&part, part.root ? NULL : &siglip, part.root ? 16 : 14, c->vision);
  c->failed = c->failed || part.failed;
  m->masked = true; /* the prompt is attended to in both directions */
  finish_vlm(c, FT_HF_PROJECTOR_LINEAR, m);
  if (ft_hf_int(&part, "projection_dim", m->hidden) != m->hidden)
    ft_hf_refuse(c, "vision_config: expected projection_dim equal to the decoder's hidden_size");
}

static void read_gemma3_vlm(struct ft_hf_config *c, struct ft_hf *m)
{
  struct ft_hf_config part = config_part(c, "vision_config");
  int64_t tokens = ft_hf_int(c, "mm_tokens_per_image", 256), side = 0;

  read_text_config(c, NULL, "gemma3_text", true, m);
  read_siglip_encoder(&part, NULL, 16, c->vision);
  c->failed = c->failed || part.failed;
  m->masked = true; /* patches of an image attend to each other in both directions */
  finish_vlm(c, FT_HF_PROJECTOR_POOL, m);
  while (side < 1 << 15 && (side + 1) * (side + 1) <= tokens)
    side++;
  if (!c->failed)
    c->vision->merge_size = patch_groups(c, c->vision, side);
}

static void read_idefics3(struct ft_hf_config *c, struct ft_hf *m)
{
  static const struct ft_hf_defaults usual = { "idefics3", 1152, 3072, 12, 16, 0, 0, 1 };
  struct ft_hf_config part = config_part(c, "vision_config");

  read_text_config(c, NULL, NULL, false, m);
  read_siglip_encoder(&part, &usual, 32, c->vision);
  c->failed = c->failed || part.failed;
  finish_vlm(c, FT_HF_PROJECTOR_SHUFFLE, m);
  c->vision->several_images = true;
  c->vision->merge_size = ft_hf_int(c, "scale_factor", 2);
  if (!c->failed)
    (void)patch_groups(c, c->vision, c->vision->merge_size);
}

/* Sliding windows of V in all layers except those that C names. */
static void read_windows(struct ft_hf_config *c, struct ft_hf *v)
{
  static const int64_t usual[] = { 7, 15, 23, 31 };
  const json_t *full = json_object_get(c->root, "fullatt_block_indexes");
  bool said = json_is_array(full);

  v->window = ft_hf_int(c, "window_size", 112) / (v->patch ? v->patch : 1);
  for (int64_t i = 0; v->window && i < v->layers && i < FT_HF_WINDOW_LAYERS; i++)
    v->window_layers[i / 64] |= UINT64_C(1) << (i % 64);
  for (size_t i = 0; i < (said ? json_array_size(full) : sizeof usual / sizeof *usual); i++) {
    int64_t at = said ? json_integer_value(json_array_get(full, i)) : usual[i];

    if (at >= 0 && at < FT_HF_WINDOW_LAYERS)
      v->window_layers[at / 64] &= ~(UINT64_C(1) << (at % 64));
  }
}

/* qwen2_vl, qwen2_5_vl: images of any size; a token stands for merge_size^2 patches. */
static void read_qwen2_vl(struct ft_hf_config *c, struct ft_hf *m)
{
  static const struct ft_hf_defaults second = { "qwen2_vl", 1280, 0, 32, 16, 0, 0, 1 },
                                     later = { "qwen2_5_vl", 3584, 3420, 32, 16, 0, 0, 1 };
  struct ft_hf_config part = config_part(c, "vision_config"), flat = *c;
  struct ft_hf *v = c->vision;
  bool five = strcmp(m->type, "qwen2_5_vl") == 0;
  int64_t times = ft_hf_int(&part, "temporal_patch_size", 2);

  if (config_part(c, "text_config").root) {
    read_text_config(c, find_defaults("qwen2_vl"), "qwen2", false, m);
  } else { /* the format of the first releases */
    m->type = "qwen2";
    ft_hf_text_config(&flat, find_defaults("qwen2_vl"), m);
    c->failed = c->failed || flat.failed;
    m->loss_in_float32 = true;
  }
  read_encoder(&part, five ? &later : &second, v);
  if (!five) { /* hidden_size is that of the decoder */
    v->hidden = ft_hf_int(&part, "embed_dim", 1280);
    v->inner = ft_hf_int(&part, "mlp_ratio", 4) * v->hidden;
  }
  set_head_size(&part, v);
  v->image = 1 << 16; /* any size */
  v->patch = ft_hf_int(&part, "patch_size", 14);
  v->channels = ft_hf_int(&part, "in_channels|in_chans", 3) * times;
  v->merge_size = ft_hf_int(&part, "spatial_merge_size", 2);
  if (v->patch < 1 || v->patch > 1024 || v->merge_size < 1 || v->merge_size > 64 || !v->channels ||
      v->channels > 1 << 16)
    ft_hf_refuse(&part, "vision_config: expected patch_size 1 to 1024, spatial_merge_size 1 to 64");
  v->activation = ft_hf_string(&part, "hidden_act", five ? "silu" : "quick_gelu");
  v->no_class_token = v->rotary = v->any_size = true;
  v->gated = five;
  v->norm = five ? FT_HF_RMS_NORM : FT_HF_LAYER_NORM;
  v->type = five ? "qwen2_5_vl" : "qwen2_vl";
  if (five)
    read_windows(&part, v);
  ft_hf_training(&part, v);
  c->failed = c->failed || part.failed;
  finish_vlm(c, FT_HF_PROJECTOR_MERGE, m);
  if (five && ft_hf_int(&part, "out_hidden_size", 3584) != m->hidden)
    ft_hf_refuse(c, "out_hidden_size: expected the decoder's hidden_size");
}

static void read_alone(struct ft_hf_config *c, struct ft_hf *m)
{
  bool first = m->type[0] == 'c';

  if (first)
    read_clip_encoder(c, false, m);
  else
    read_siglip_encoder(c, NULL, 16, m);
  m->kind = FT_HF_VISION;
}

/* The text or vision part of clip, in C's object KEY. */
static void read_clip_part(struct ft_hf_config *c, const char *key, const int64_t usual[4],
                           struct ft_hf *m)
{
  struct ft_hf_config inner = { .root = json_object_get(c->root, key),
                                .file = c->file,
                                .err = c->err };

  m->hidden = m->embedding = ft_hf_int(&inner, "hidden_size", usual[0]);
  m->inner = ft_hf_int(&inner, "intermediate_size", usual[1]);
  m->layers = ft_hf_int(&inner, "num_hidden_layers", usual[2]);
  m->heads = m->kv_heads = ft_hf_int(&inner, "num_attention_heads", usual[3]);
  m->head_dim = m->heads ? m->hidden / m->heads : 0;
  m->activation = ft_hf_string(&inner, "hidden_act", "quick_gelu");
  m->norms = 2;
  m->vocab = ft_hf_int(&inner, "vocab_size", 49408);
  m->positions = ft_hf_int(&inner, "max_position_embeddings", 77);
  if (strcmp(key, "vision_config") == 0)
    ft_hf_image_config(&inner, 224, 16, m);
  m->bias_qkv = m->bias_out = m->bias_inner = true;
  ft_hf_training(&inner, m);
  c->failed = c->failed || inner.failed;
}

static void read_clip(struct ft_hf_config *c, struct ft_hf *m)
{
  static const int64_t text[] = { 512, 2048, 12, 8 }, image[] = { 768, 3072, 12, 12 };
  struct ft_hf *vision = c->vision;

  vision->type = m->type;
  read_clip_part(c, "text_config", text, m);
  read_clip_part(c, "vision_config", image, vision);
  m->kind = FT_HF_CLIP;
  m->projection = ft_hf_int(c, "projection_dim", 512);
  m->vision = vision;
  if (!vision->hidden || !vision->heads || !vision->head_dim || vision->layers > 10000)
    ft_hf_refuse(c, "vision_config: hidden_size, layers or heads out of range");
}

const struct ft_hf_family ft_hf_vlms[] = {
  { "clip", read_clip },
  { "clip_vision_model|siglip_vision_model", read_alone },
  { "gemma3", read_gemma3_vlm },
  { "idefics3|smolvlm", read_idefics3 },
  { "llava", read_llava },
  { "paligemma", read_paligemma },
  { "qwen2_5_vl|qwen2_vl", read_qwen2_vl },
  { NULL, NULL },
};
