/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Modules that all networks share: linear layers, norms, MLP, embeddings, language model head. */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/huggingface/hf_run.h"

uint32_t ft_hf_linear(struct ft_hf_run *r, uint32_t x, const char *name, int64_t out, bool biased)
{
  int64_t in = ft_hf_size(r, x, -1);
  uint32_t y, b = 0;

  ft_hf_scope(r, name);
  if (biased)
    b = ft_hf_weight(r, ft_tracer_format(&r->live, "%s.bias", name), out, 0, 0);
  if (ft_hf_is_quantized(r, name)) {
    y = ft_hf_quantized_linear(r, x, name, out);
    y = biased ? ft_hf_binary(r, "Add", y, b) : y;
  } else {
    y = ft_hf_linear_of(r, x, x ? ft_hf_weight(r, name, out, in, 0) : 0, b);
  }
  return ft_hf_adapt(r, x, y, name);
}

uint32_t ft_hf_normalise(struct ft_hf_run *r, uint32_t x, const char *name)
{
  const struct ft_hf *m = r->m;
  int64_t size = ft_hf_size(r, x, -1);
  uint32_t w = 0, b = 0;

  ft_hf_scope(r, name);
  if (x && m->norm_qk_per_head && name[1] == '_') /* q_norm, k_norm */
    w = ft_hf_weight(r, name, 1, size, ft_hf_size(r, x, 1));
  else if (x && m->norm != FT_HF_LAYER_NORM_NO_AFFINE)
    w = ft_hf_weight(r, name, size, 0, 0);
  if (m->norm == FT_HF_LAYER_NORM)
    b = ft_hf_weight(r, ft_tracer_format(&r->live, "%s.shift", name), size, 0, 0);
  if (!x || (!w && m->norm != FT_HF_LAYER_NORM_NO_AFFINE))
    return 0;
  ft_tracer_op(&r->live, m->norm == FT_HF_RMS_NORM ? "RMSNormalization" : "LayerNormalization");
  ft_tracer_in(&r->live, x);
  if (w)
    ft_tracer_in(&r->live, w);
  if (b)
    ft_tracer_in(&r->live, b);
  ft_tracer_int(&r->live, "axis", -1);
  if (m->decomposed_norm[0])
    ft_tracer_hints(&r->live)->decomposed = m->decomposed_norm;
  return ft_tracer_end(&r->live, 1);
}

uint32_t ft_hf_drop(struct ft_hf_run *r, uint32_t x, bool some)
{
  return x && some ? ft_tracer_unary(&r->live, "Dropout", x) : x;
}

uint32_t ft_hf_activate(struct ft_hf_run *r, uint32_t x)
{
  const char *name = r->m->activation;
  const char *type = strstr(name, "gelu")            ? "Gelu"
                     : strncmp(name, "relu", 4) == 0 ? "Relu"
                     : strcmp(name, "tanh") == 0     ? "Tanh"
                                                     : "Swish";

  if (!x)
    return 0;
  ft_tracer_op(&r->live, type);
  ft_tracer_in(&r->live, x);
  if (r->m->decomposed_activation[0])
    ft_tracer_hints(&r->live)->decomposed = r->m->decomposed_activation;
  return ft_tracer_end(&r->live, 1);
}

uint32_t ft_hf_mlp(struct ft_hf_run *r, uint32_t x, int64_t inner)
{
  const struct ft_hf *m = r->m;
  uint32_t y, up = 0;

  if (m->gated && m->fused_gate) {
    x = ft_hf_linear(r, x, "gate_up", 2 * inner, m->bias_inner);
    y = ft_hf_activate(r, x ? ft_tracer_slice(&r->live, x, 2, 0, inner, 1) : 0);
    up = x ? ft_tracer_slice(&r->live, x, 2, inner, 2 * inner, 1) : 0;
  } else {
    y = ft_hf_activate(r, ft_hf_linear(r, x, m->gated ? "gate" : "up", inner, m->bias_inner));
    up = m->gated ? ft_hf_linear(r, x, "up", inner, m->bias_inner) : 0;
  }
  if (m->gated)
    y = ft_hf_binary(r, "Mul", y, up);
  y = ft_hf_linear(r, ft_hf_drop(r, y, m->drop_mlp), "down", m->hidden, m->bias_inner);
  return ft_hf_drop(r, y, m->drop_hidden);
}

uint32_t ft_hf_heads(struct ft_hf_run *r, uint32_t x, int64_t heads, int64_t size)
{
  static const int64_t order[] = { 0, 2, 1, 3 };
  int64_t dims[4] = { ft_hf_size(r, x, 0), ft_hf_size(r, x, 1), heads, size };

  x = ft_hf_reshape(r, x, dims, 4);
  return x ? ft_tracer_transpose(&r->live, x, order, 4) : 0;
}

uint32_t ft_hf_attention_output(struct ft_hf_run *r, uint32_t q, uint32_t k, uint32_t v,
                                uint32_t bias)
{
  static const int64_t order[] = { 0, 2, 1, 3 };
  const struct ft_hf *m = r->m;
  int64_t dims[3];
  uint32_t y;

  if (!q || !k || !v)
    return 0;
  dims[0] = ft_hf_size(r, q, 0);
  dims[1] = ft_hf_size(r, q, 2);
  dims[2] = m->heads * (m->value_dim ? m->value_dim : m->head_dim);
  ft_hf_scope(r, "attention");
  ft_tracer_op(&r->live, "Attention");
  ft_tracer_in(&r->live, q);
  ft_tracer_in(&r->live, k);
  ft_tracer_in(&r->live, v);
  if (bias)
    ft_tracer_in(&r->live, bias);
  ft_tracer_hints(&r->live)->dropout = m->drop_attention;
  ft_tracer_hints(&r->live)->upcast = (uint8_t)m->upcast;
  ft_tracer_hints(&r->live)->plain = m->eager_attention;
  ft_tracer_hints(&r->live)->math = m->math_kernel;
  ft_tracer_hints(&r->live)->softcap = (uint8_t)m->softcap;
  /* a vision encoder has its windows cut out of the image instead */
  if (m->masked || (!m->any_size && ft_hf_in_window(r) && ft_hf_size(r, k, 2) > m->window))
    ft_tracer_hints(&r->live)->masked = true;
  y = ft_tracer_end(&r->live, 1);
  y = y ? ft_tracer_transpose(&r->live, y, order, 4) : 0;
  y = ft_hf_reshape(r, y, dims, 3);
  if (y && m->any_size) /* attention is computed image by image */
    y = ft_tracer_concat(&r->live, &y, 1, 1);
  return ft_hf_drop(r, ft_hf_linear(r, y, "output", m->hidden, m->bias_out),
                    m->drop_attention_output);
}

static uint32_t gather_embeddings(struct ft_hf_run *r, const char *name, uint32_t table,
                                  uint32_t which)
{
  ft_hf_scope(r, name);
  return ft_hf_binary(r, "Gather", table, which);
}

/* Rows of the embedding table NAME for LENGTH tokens; the indices are a constant, not an input. */
static uint32_t constant_rows(struct ft_hf_run *r, const char *name, int64_t size, int64_t features,
                              int64_t length)
{
  int64_t dims[2] = { 1, length };
  uint32_t table = ft_hf_weight(r, name, size, features, 0);
  uint32_t which = ft_hf_constant(r, FT_ELEMENT_INT64, dims, 2);

  return gather_embeddings(r, name, table, which);
}

uint32_t ft_hf_positions(struct ft_hf_run *r, uint32_t x, const char *name, int64_t rows)
{
  return x ? ft_hf_binary(r, "Add", x,
                          constant_rows(r, name, rows, ft_hf_size(r, x, 2), ft_hf_size(r, x, 1)))
           : 0;
}

uint32_t ft_hf_embed(struct ft_hf_run *r, uint32_t ids, uint32_t *table)
{
  *table = *table ? *table : ft_hf_weight(r, "tokens", r->m->vocab, r->m->embedding, 0);
  return gather_embeddings(r, "tokens", *table, ids);
}

uint32_t ft_hf_language_head(struct ft_hf_run *r, uint32_t x, uint32_t table)
{
  const struct ft_hf *m = r->m;
  uint32_t b = 0;

  r->prefix = "head.";
  if (!m->with_head)
    return x;
  if (m->head_transform) {
    x = ft_hf_linear(r, x, "transform", m->embedding, true);
    x = ft_hf_normalise(r, ft_hf_activate(r, x), "norm");
  }
  if (m->head_bias)
    b = ft_hf_weight(r, "bias", m->vocab, 0, 0);
  ft_hf_scope(r, "tokens");
  x = ft_hf_linear_of(r, x, m->tied ? table : ft_hf_weight(r, "tokens", m->vocab, m->embedding, 0),
                      b);
  r->live.graph->logits = x;
  r->live.graph->logits_wide = m->loss_in_float32;
  return x;
}

uint32_t ft_hf_first_token(struct ft_hf_run *r, uint32_t x)
{
  int64_t dims[2] = { 0, r->m->hidden };

  x = x ? ft_tracer_slice(&r->live, x, 1, 0, 1, 1) : 0;
  dims[0] = ft_hf_size(r, x, 0);
  return ft_hf_reshape(r, x, dims, 2);
}
