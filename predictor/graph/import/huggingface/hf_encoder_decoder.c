/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Encoder-decoder networks: t5, bart and its relatives, whisper. */
#include "config.h"

#include "predictor/graph/import/huggingface/hf_run.h"

/* ---- t5 ---- */

/* Bias of the attention scores of each head, by the relative positions of LENGTH tokens. */
static uint32_t relative_bias(struct ft_hf_run *r, int64_t length)
{
  static const int64_t order[] = { 2, 0, 1 };
  const struct ft_hf *m = r->m;
  int64_t dims[4] = { 1, m->heads, length, length };
  uint32_t table, x;

  ft_hf_scope(r, "relative_attention_bias");
  table = ft_hf_weight(r, "relative_attention_bias", m->buckets, m->heads, 0);
  x = ft_hf_constant(r, FT_ELEMENT_INT64, dims + 2, 2);
  x = ft_hf_binary(r, "Gather", table, x);
  x = x ? ft_tracer_transpose(&r->live, x, order, 3) : 0;
  return ft_hf_reshape(r, x, dims, 4);
}

/* LAYERS of t5's encoder or decoder; a decoder also attends to MEMORY, the encoder's output. */
static uint32_t t5_stack(struct ft_hf_run *r, uint32_t x, uint32_t memory, const char *name,
                         int64_t layers)
{
  const struct ft_hf *m = r->m;
  int64_t length = ft_hf_size(r, x, 1);
  uint32_t bias = 0, y;

  r->prefix = ft_tracer_format(&r->live, "%s.", name);
  if (!m->bias_per_layer)
    bias = relative_bias(r, length);
  x = ft_hf_drop(r, x, m->drop_embedding);
  for (int64_t i = 0; x && i < layers; i++) {
    r->layer = i;
    r->prefix = ft_tracer_format(&r->live, "%s.%lld.", name, (long long)i);
    bias = m->bias_per_layer ? relative_bias(r, length) : bias;
    if (!bias)
      return 0;
    y = ft_hf_normalise(r, x, "attention_norm");
    x = ft_hf_binary(r, "Add", x, ft_hf_attention(r, y, y, bias));
    if (memory) {
      r->prefix = ft_tracer_format(&r->live, "%s.%lld.cross.", name, (long long)i);
      x = ft_hf_binary(r, "Add", x, ft_hf_attention(r, ft_hf_normalise(r, x, "norm"), memory, 0));
      r->prefix = ft_tracer_format(&r->live, "%s.%lld.", name, (long long)i);
    }
    x = ft_hf_binary(r, "Add", x, ft_hf_feed_forward(r, ft_hf_normalise(r, x, "norm")));
  }
  r->prefix = ft_tracer_format(&r->live, "%s.", name);
  return ft_hf_drop(r, ft_hf_normalise(r, x, "final_norm"), m->drop_hidden);
}

uint32_t ft_hf_t5(struct ft_hf_run *r)
{
  struct ft_hf encoder = *r->m; /* an encoder has no KV cache */
  const struct ft_hf *m = r->m;
  uint32_t ids = ft_hf_ids(r, "input_ids"), more = ft_hf_ids(r, "decoder_input_ids"), table = 0, x;

  if (!ids || !more || ft_infer_inputs(r->live.in) < 0)
    return 0;
  more = ft_hf_decoder_tokens(r, more);
  encoder.kv_cache = false;
  r->m = &encoder;
  r->prefix = "embeddings.";
  x = t5_stack(r, ft_hf_embed(r, ids, &table), 0, "encoder", m->layers);
  r->m = m;
  r->prefix = "embeddings.";
  x = t5_stack(r, ft_hf_embed(r, more, &table), x, "decoder", m->decoder_layers);
  return ft_hf_language_head(r, x, table);
}

/* ---- bart, whisper ---- */

/* An attention block with its residual connection and norm; cross-attention if MEMORY is given. */
static uint32_t attention_block(struct ft_hf_run *r, uint32_t x, uint32_t memory)
{
  uint32_t y = r->m->norm_after ? x : ft_hf_normalise(r, x, "attention_norm");

  x = ft_hf_binary(r, "Add", x, ft_hf_attention(r, y, memory ? memory : y, 0));
  return r->m->norm_after ? ft_hf_normalise(r, x, "attention_norm") : x;
}

static uint32_t mlp_block(struct ft_hf_run *r, uint32_t x)
{
  uint32_t y = r->m->norm_after ? x : ft_hf_normalise(r, x, "norm");

  x = ft_hf_binary(r, "Add", x, ft_hf_feed_forward(r, y));
  return r->m->norm_after ? ft_hf_normalise(r, x, "norm") : x;
}

/* LAYERS of encoder or decoder; a decoder also attends to MEMORY. */
static uint32_t layer_stack(struct ft_hf_run *r, uint32_t x, uint32_t memory, const char *name,
                            int64_t layers)
{
  for (int64_t i = 0; x && i < layers; i++) {
    r->layer = i;
    r->prefix = ft_tracer_format(&r->live, "%s.%lld.", name, (long long)i);
    x = attention_block(r, x, 0);
    if (memory) {
      r->prefix = ft_tracer_format(&r->live, "%s.%lld.cross.", name, (long long)i);
      x = attention_block(r, x, memory);
      r->prefix = ft_tracer_format(&r->live, "%s.%lld.", name, (long long)i);
    }
    x = mlp_block(r, x);
  }
  r->prefix = ft_tracer_format(&r->live, "%s.", name);
  return r->m->norm_final ? ft_hf_normalise(r, x, "final_norm") : x;
}

/* A convolution of kernel size 3 over time, with its activation. */
static uint32_t audio_convolution(struct ft_hf_run *r, uint32_t x, const char *name, int64_t stride)
{
  static const int64_t three[] = { 3 }, pads[] = { 1, 1 };
  int64_t in = ft_hf_size(r, x, 1);
  uint32_t w = x ? ft_hf_weight(r, name, in, 3, r->m->hidden) : 0;
  uint32_t b = ft_hf_weight(r, ft_tracer_format(&r->live, "%s.bias", name), r->m->hidden, 0, 0);

  if (!w || !b)
    return 0;
  ft_hf_scope(r, name);
  ft_tracer_op(&r->live, "Conv");
  ft_tracer_in(&r->live, x);
  ft_tracer_in(&r->live, w);
  ft_tracer_in(&r->live, b);
  ft_tracer_ints(&r->live, "kernel_shape", three, 1);
  ft_tracer_ints(&r->live, "strides", &stride, 1);
  ft_tracer_ints(&r->live, "pads", pads, 2);
  return ft_hf_activate(r, ft_tracer_end(&r->live, 1));
}

/* Embeds audio SOUND as tokens: (batch, mel_bins, time) to (batch, time / 2, features). */
static uint32_t embed_audio(struct ft_hf_run *r, uint32_t sound)
{
  static const int64_t order[] = { 0, 2, 1 };
  uint32_t x = audio_convolution(r, audio_convolution(r, sound, "conv1", 1), "conv2", 2);

  return x ? ft_tracer_transpose(&r->live, x, order, 3) : 0;
}

uint32_t ft_hf_encoder_decoder(struct ft_hf_run *r)
{
  const struct ft_hf *m = r->m;
  int64_t sound[2] = { m->mel_bins, 2 * m->frames };
  struct ft_hf encoder = *m, decoder = *m;
  uint32_t in, more, table = 0, x;

  decoder.heads = decoder.kv_heads = m->decoder_heads;
  decoder.head_dim = m->hidden / m->decoder_heads;
  decoder.inner = m->decoder_inner;
  in = m->mel_bins ? ft_hf_input(r, "input_features", FT_ELEMENT_FLOAT, 2, sound)
                   : ft_hf_ids(r, "input_ids");
  more = ft_hf_ids(r, "decoder_input_ids");
  if (!in || !more || ft_infer_inputs(r->live.in) < 0)
    return 0;
  more = ft_hf_decoder_tokens(r, more);
  r->prefix = "encoder.";
  x = m->mel_bins ? embed_audio(r, in) : ft_hf_embed(r, in, &table);
  if (m->mel_bins || m->positions)
    x = ft_hf_positions(r, x, "positions", m->mel_bins ? m->frames : m->positions);
  if (m->norm_embedding)
    x = ft_hf_normalise(r, x, "norm_embedding");
  x = ft_hf_drop(r, x, m->drop_embedding);
  encoder.kv_cache = false; /* an encoder has no KV cache */
  r->m = &encoder;
  in = layer_stack(r, x, 0, "encoder", m->layers);
  r->m = &decoder;
  r->prefix = "decoder.";
  x = ft_hf_embed(r, more, &table);
  if (m->positions)
    x = ft_hf_positions(r, x, "positions", m->positions);
  if (m->norm_embedding)
    x = ft_hf_normalise(r, x, "norm_embedding");
  x = ft_hf_drop(r, x, m->drop_embedding);
  x = in ? layer_stack(r, x, in, "decoder", m->decoder_layers) : 0;
  r->m = m;
  return ft_hf_language_head(r, x, table);
}
