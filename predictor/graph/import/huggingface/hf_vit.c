/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vision transformers (ViT) and CLIP. */
#include "config.h"

#include "predictor/graph/import/huggingface/hf_run.h"

uint32_t ft_hf_patches(struct ft_hf_run *r, uint32_t images)
{
  static const int64_t order[] = { 0, 2, 1 };
  const struct ft_hf *m = r->m;
  int64_t size[2] = { m->patch, m->patch }, count = m->image / m->patch, whole[4], flat[3];
  uint32_t first, w, b = 0, x[2];

  whole[0] = m->hidden;
  whole[1] = m->channels;
  whole[2] = whole[3] = m->patch;
  w = ft_hf_weight(r, "patches", m->hidden, m->channels * m->patch * m->patch, 0);
  w = ft_hf_reshape(r, w, whole, 4);
  if (m->bias_conv)
    b = ft_hf_weight(r, "patches.bias", m->hidden, 0, 0);
  if (!w)
    return 0;
  ft_hf_scope(r, "patches");
  ft_tracer_op(&r->live, "Conv");
  ft_tracer_in(&r->live, images);
  ft_tracer_in(&r->live, w);
  if (b)
    ft_tracer_in(&r->live, b);
  ft_tracer_ints(&r->live, "kernel_shape", size, 2);
  ft_tracer_ints(&r->live, "strides", size, 2);
  x[1] = ft_tracer_end(&r->live, 1);
  if (!x[1] || ft_tracer_of(&r->live, x[1])->rank != 4)
    return 0;
  flat[0] = ft_hf_size(r, x[1], 0);
  flat[1] = m->hidden;
  flat[2] = ft_hf_size(r, x[1], 2) * ft_hf_size(r, x[1], 3);
  x[1] = ft_hf_reshape(r, x[1], flat, 3);
  x[1] = x[1] ? ft_tracer_transpose(&r->live, x[1], order, 3) : 0;
  if (m->no_class_token)
    return m->rotary ? x[1] : ft_hf_positions(r, x[1], "positions", count * count);
  first = ft_hf_weight(r, "class", 1, m->hidden, 1);
  flat[1] = 1;
  flat[2] = m->hidden;
  x[0] = first && x[1] ? ft_hf_binary(r, "Expand", first, ft_tracer_list(&r->live, flat, 3)) : 0;
  if (!x[0])
    return 0;
  return ft_hf_positions(r, ft_tracer_concat(&r->live, x, 2, 1), "positions", 1 + count * count);
}

static uint32_t image_input(struct ft_hf_run *r, const struct ft_hf *m)
{
  int64_t dims[3] = { m->channels, m->image, m->image };

  return ft_hf_input(r, "pixel_values", FT_ELEMENT_FLOAT, 3, dims);
}

static uint32_t layer_stack_named(struct ft_hf_run *r, uint32_t x, const char *name)
{
  for (int64_t i = 0; x && i < r->m->layers; i++) {
    r->prefix = ft_tracer_format(&r->live, "%s.%lld.", name, (long long)i);
    x = ft_hf_layer(r, x);
  }
  r->prefix = ft_tracer_format(&r->live, "%s.", name);
  return x;
}

uint32_t ft_hf_vit(struct ft_hf_run *r)
{
  const struct ft_hf *m = r->m;
  uint32_t in = image_input(r, m), x;

  if (!in || ft_infer_inputs(r->live.in) < 0)
    return 0;
  r->prefix = "embeddings.";
  x = ft_hf_drop(r, ft_hf_patches(r, in), m->drop_embedding);
  x = ft_hf_normalise(r, layer_stack_named(r, x, "layer"), "final_norm");
  x = ft_hf_first_token(r, x);
  if (m->labels)
    return ft_hf_linear(r, x, "classifier", m->labels, true);
  x = m->pooler ? ft_hf_linear(r, x, "pooler", m->hidden, true) : x;
  return x && m->pooler ? ft_tracer_unary(&r->live, "Tanh", x) : x;
}

/* CLIP: text and images as rows of PROJECTION features, and their similarity. */
uint32_t ft_hf_clip(struct ft_hf_run *r)
{
  static const int64_t order[] = { 1, 0 };
  const struct ft_hf *m = r->m;
  uint32_t ids = ft_hf_ids(r, "input_ids"), in = image_input(r, m->vision), table = 0, x, y, scale;

  if (!ids || !in || ft_infer_inputs(r->live.in) < 0)
    return 0;
  r->prefix = "text.";
  x = ft_hf_positions(r, ft_hf_embed(r, ids, &table), "positions", m->positions);
  x = ft_hf_first_token(r, ft_hf_normalise(r, layer_stack_named(r, x, "text"), "final_norm"));
  x = ft_hf_linear(r, x, "projection", m->projection, false);
  r->m = m->vision;
  r->prefix = "vision.";
  y = ft_hf_normalise(r, ft_hf_patches(r, in), "first_norm");
  y = ft_hf_normalise(r, ft_hf_first_token(r, layer_stack_named(r, y, "vision")), "final_norm");
  y = ft_hf_linear(r, y, "projection", m->projection, false);
  r->m = m;
  y = y ? ft_tracer_transpose(&r->live, y, order, 2) : 0;
  r->prefix = "";
  scale = ft_hf_weight(r, "logit_scale", 1, 0, 0);
  return ft_hf_binary(r, "Mul", ft_hf_binary(r, "MatMul", x, y), scale);
}
