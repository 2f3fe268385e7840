/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Configurations of encoders, encoder-decoders and vision transformers. */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/huggingface/hf_config.h"
#include "predictor/graph/shape/infer.h"

static void read_bert(struct ft_hf_config *c, struct ft_hf *m)
{
  bool distilled = strcmp(m->type, "distilbert") == 0, electra = strcmp(m->type, "electra") == 0;

  m->positions = ft_hf_int(c, "max_position_embeddings", 512);
  m->types = distilled ? 0 : ft_hf_int(c, "type_vocab_size", 2);
  m->norm_after = m->norm_embedding = m->bias_qkv = m->bias_out = m->bias_inner = true;
  m->pooler = !distilled && !electra;
  m->embedding = electra ? m->embedding : m->hidden;
  m->head_transform = m->head_bias = true;
  m->tied = true;
  m->causal = ft_hf_bool(c, "is_decoder", false);
}

static void read_albert(struct ft_hf_config *c, struct ft_hf *m)
{
  read_bert(c, m);
  m->embedding = ft_hf_int(c, "embedding_size", 128);
  m->inner = ft_hf_int(c, "intermediate_size", 16384);
  m->shared_layers = m->pooler = true;
  if (ft_hf_int(c, "num_hidden_groups", 1) != 1 || ft_hf_int(c, "inner_group_num", 1) != 1)
    ft_hf_refuse(c, "num_hidden_groups, inner_group_num: expected 1");
}

static void read_deberta(struct ft_hf_config *c, struct ft_hf *m)
{
  bool first = strcmp(m->type, "deberta") == 0;
  int64_t buckets = ft_hf_int(c, "position_buckets|max_relative_positions", 0);

  read_bert(c, m);
  m->pooler = false;
  m->types = ft_hf_int(c, "type_vocab_size", 0);
  m->positions = ft_hf_bool(c, "position_biased_input", true) ? m->positions : 0;
  m->relative_positions =
      ft_hf_bool(c, "relative_attention", false)
          ? 2 * (buckets ? buckets : ft_hf_int(c, "max_position_embeddings", 512))
          : 0;
  m->no_key_bias = first; /* queries and values have a bias */
  m->relative_norm = strstr(ft_hf_string(c, "norm_rel_ebd", "none"), "layer_norm") != NULL;
  if (m->relative_positions && !first && !ft_hf_bool(c, "share_att_key", false))
    ft_hf_refuse(c, "share_att_key: expected true");
  if (ft_hf_int(c, "conv_kernel_size", 0))
    ft_hf_refuse(c, "conv_kernel_size: expected 0");
}

static void read_t5(struct ft_hf_config *c, struct ft_hf *m)
{
  const char *inner = ft_hf_string(c, "feed_forward_proj", "relu");

  m->norm = FT_HF_RMS_NORM;
  m->kind = FT_HF_T5;
  m->norm_final = true;
  m->gated = strncmp(inner, "gated-", 6) == 0;
  m->activation = strcmp(inner, "gated-gelu") == 0 ? "gelu_new" : m->gated ? inner + 6 : inner;
  m->bias_per_layer = strcmp(m->type, "umt5") == 0;
  m->buckets = ft_hf_int(c, "relative_attention_num_buckets", 32);
  m->decoder_layers = ft_hf_int(c, "num_decoder_layers", m->layers);
  m->inner = ft_hf_int(c, "d_ff", 2048);
  m->tied = ft_hf_bool(c, "tie_word_embeddings", true);
}

/* An encoder and a decoder with learnt positions. */
static void read_encoder_decoder(struct ft_hf_config *c, struct ft_hf *m)
{
  bool small = strcmp(m->type, "blenderbot-small") == 0, many = strcmp(m->type, "mbart") == 0;
  bool bart = strcmp(m->type, "bart") == 0 || strcmp(m->type, "plbart") == 0;

  m->kind = FT_HF_ENCODER_DECODER;
  m->layers = ft_hf_int(c, "encoder_layers", 12);
  m->decoder_layers = ft_hf_int(c, "decoder_layers", 12);
  m->heads = m->kv_heads = ft_hf_int(c, "encoder_attention_heads", 16);
  m->decoder_heads = ft_hf_int(c, "decoder_attention_heads", 16);
  m->inner = ft_hf_int(c, "encoder_ffn_dim", 4096);
  m->decoder_inner = ft_hf_int(c, "decoder_ffn_dim", 4096);
  m->head_dim = m->heads ? m->hidden / m->heads : 0;
  m->positions = ft_hf_int(c, "max_position_embeddings|max_target_positions", 1024);
  if (bart || many)
    m->positions += 2;
  if (strcmp(m->type, "m2m_100") == 0)
    m->positions = 0; /* sinusoidal, not learnt */
  m->norm_embedding = bart || many || small;
  m->norm_after = bart || small || strcmp(m->type, "marian") == 0;
  m->norm_final = !m->norm_after;
  m->bias_qkv = m->bias_out = m->bias_inner = true;
  m->tied = ft_hf_bool(c, "tie_word_embeddings", true);
  if (!m->decoder_heads || m->hidden % m->decoder_heads)
    ft_hf_refuse(c, "decoder_attention_heads: expected a divisor of d_model");
}

static void read_whisper(struct ft_hf_config *c, struct ft_hf *m)
{
  read_encoder_decoder(c, m);
  m->positions = ft_hf_int(c, "max_target_positions", 448);
  m->mel_bins = ft_hf_int(c, "num_mel_bins", 80);
  m->frames = ft_hf_int(c, "max_source_positions", 1500);
  m->no_key_bias = true;
}

static void read_vit(struct ft_hf_config *c, struct ft_hf *m)
{
  const char *saved =
      json_string_value(json_array_get(json_object_get(c->root, "architectures"), 0));
  size_t named = json_object_size(json_object_get(c->root, "id2label"));

  ft_hf_image_config(c, 224, 16, m);
  m->kind = FT_HF_VIT;
  m->inner = ft_hf_int(c, "intermediate_size", 3072);
  m->bias_conv = m->pooler = true;
  if (saved && strstr(saved, "ForImageClassification"))
    m->labels = ft_hf_int(c, "num_labels", named ? (int64_t)named : 2);
}

const struct ft_hf_family ft_hf_encoders[] = {
  { "albert", read_albert },
  { "bart|mbart|blenderbot|blenderbot-small|m2m_100|plbart|pegasus|marian", read_encoder_decoder },
  { "bert|roberta|xlm-roberta|camembert|ernie|distilbert|electra", read_bert },
  { "deberta|deberta-v2", read_deberta },
  { "t5|mt5|umt5", read_t5 },
  { "vit", read_vit },
  { "whisper", read_whisper },
  { NULL, NULL },
};
