/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mamba (Gu and Dao 2023) in transformers' PyTorch implementation, which materialises a state of
 * N numbers for each inner feature and each token. */
#include "config.h"

#include "predictor/graph/import/huggingface/hf_run.h"

/* The causal depthwise convolution of X (batch, length, features). */
static uint32_t causal_convolution(struct ft_hf_run *r, uint32_t x)
{
  static const int64_t order[] = { 0, 2, 1 };
  const struct ft_hf *m = r->m;
  int64_t pads[2] = { m->conv_kernel - 1, 0 }, length = ft_hf_size(r, x, 1);
  uint32_t w = ft_hf_weight(r, "conv", 1, m->conv_kernel, m->inner), b = 0;

  if (m->bias_conv)
    b = ft_hf_weight(r, "conv.bias", m->inner, 0, 0);
  x = x ? ft_tracer_transpose(&r->live, x, order, 3) : 0;
  if (!x || !w)
    return 0;
  ft_hf_scope(r, "conv");
  ft_tracer_op(&r->live, "Conv");
  ft_tracer_in(&r->live, x);
  ft_tracer_in(&r->live, w);
  if (b)
    ft_tracer_in(&r->live, b);
  ft_tracer_ints(&r->live, "pads", pads, 2);
  ft_tracer_int(&r->live, "group", m->inner);
  x = ft_tracer_end(&r->live, 1);
  x = x ? ft_tracer_slice(&r->live, x, 2, 0, length, 1) : 0;
  x = ft_hf_activate(r, x);
  return x ? ft_tracer_transpose(&r->live, x, order, 3) : 0;
}

static uint32_t slice_features(struct ft_hf_run *r, uint32_t x, int64_t from, int64_t to)
{
  return x ? ft_tracer_slice(&r->live, x, 2, from, to, 1) : 0;
}

/* X with a new dimension of 1 before AXIS. */
static uint32_t insert_axis(struct ft_hf_run *r, uint32_t x, int64_t axis)
{
  if (!x)
    return 0;
  ft_tracer_op(&r->live, "Unsqueeze");
  ft_tracer_in(&r->live, x);
  ft_tracer_ints(&r->live, "axes", &axis, 1);
  return ft_tracer_end(&r->live, 1);
}

/* Operator TYPE of A and B in float32, to which transformers casts both. */
static uint32_t record_float32(struct ft_hf_run *r, const char *type, uint32_t a, uint32_t b)
{
  if (!a || (!b && type[0] != 'E'))
    return 0;
  ft_tracer_op(&r->live, type);
  ft_tracer_in(&r->live, a);
  if (b)
    ft_tracer_in(&r->live, b);
  ft_tracer_hints(&r->live)->decomposed = "float";
  return ft_tracer_end(&r->live, 1);
}

/* The selective scan of X and its output (mamba_selective_scan). */
static uint32_t selective_scan(struct ft_hf_run *r, uint32_t x)
{
  const struct ft_hf *m = r->m;
  uint32_t all = ft_hf_linear(r, x, "x_proj", m->rank + 2 * m->state, false);
  uint32_t step = ft_hf_linear(r, slice_features(r, all, 0, m->rank), "dt_proj", m->inner, true),
           decay, input;
  uint32_t in = slice_features(r, all, m->rank, m->rank + m->state);
  uint32_t out = slice_features(r, all, m->rank + m->state, m->rank + 2 * m->state);
  uint32_t a = ft_hf_weight(r, "A_log", m->inner, m->state, 0),
           d = ft_hf_weight(r, "D", m->inner, 0, 0);
  int64_t dims[3] = { 0, 0, m->inner };

  step = insert_axis(r, step ? ft_tracer_unary(&r->live, "Softplus", step) : 0, -1);
  a = record_float32(r, "Exp", a, 0);
  decay = record_float32(r, "Exp", record_float32(r, "Mul", step, a), 0);
  input = record_float32(r, "Mul", step, insert_axis(r, in, 2));
  input = record_float32(r, "Mul", input, insert_axis(r, x, -1));
  input = record_float32(r, "Add", decay, input);
  /* the states are in float32 and are cast to the width of the product */
  if (!record_float32(r, "Mul", decay, input))
    return 0;
  out = ft_hf_binary(r, "MatMul", input, insert_axis(r, out, -1));
  if (!out || !x)
    return 0;
  dims[0] = ft_hf_size(r, x, 0);
  dims[1] = ft_hf_size(r, x, 1);
  out = ft_hf_reshape(r, out, dims, 3);
  return record_float32(r, "Add", out, record_float32(r, "Mul", x, d));
}

uint32_t ft_hf_mamba(struct ft_hf_run *r)
{
  const struct ft_hf *m = r->m;
  uint32_t ids = ft_hf_ids(r, "input_ids"), table = 0, x, y, gate;
  int64_t batch;

  if (!ids || ft_infer_inputs(r->live.in) < 0)
    return 0;
  ids = ft_hf_input_tokens(r, ids);
  r->prefix = "embeddings.";
  x = ft_hf_embed(r, ids, &table);
  for (int64_t i = 0; x && i < m->layers; i++) {
    r->prefix = ft_tracer_format(&r->live, "layer.%lld.", (long long)i);
    batch = ft_hf_size(r, x, 0);
    if (ft_hf_state(r, false, batch, m->inner, m->conv_kernel) < 0 ||
        ft_hf_state(r, true, batch, m->inner, m->state) < 0)
      return 0;
    y = ft_hf_linear(r, ft_hf_normalise(r, x, "norm"), "in_proj", 2 * m->inner, m->bias_inner);
    gate = ft_hf_activate(r, slice_features(r, y, m->inner, 2 * m->inner));
    y = record_float32(r, "Mul",
                       selective_scan(r, causal_convolution(r, slice_features(r, y, 0, m->inner))),
                       gate);
    x = ft_hf_binary(r, "Add", x, ft_hf_linear(r, y, "out_proj", m->hidden, m->bias_inner));
  }
  r->prefix = "";
  return ft_hf_language_head(r, ft_hf_last_token(r, ft_hf_normalise(r, x, "final_norm")), table);
}
