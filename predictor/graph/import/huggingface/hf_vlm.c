/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vision-language models: patches of an image become tokens among those of the text. */
#include "config.h"

#include "predictor/graph/import/huggingface/hf_run.h"

/* X (n, tokens, features) with the features of SIDE x SIDE neighbours joined. */
static uint32_t join_neighbours(struct ft_hf_run *r, uint32_t x, int64_t side)
{
  static const int64_t order[] = { 0, 2, 1, 3 };
  int64_t dims[4] = { 0, 0, side, 0 }, tokens, features, flat[3];

  if (!x)
    return 0;
  flat[0] = ft_hf_size(r, x, 0);
  tokens = ft_hf_size(r, x, 1);
  features = ft_hf_size(r, x, 2);
  if (tokens % (side * side)) {
    (void)ft_tracer_fail(&r->live, "pixel_values: expected patches in squares of %lld x %lld",
                         (long long)side, (long long)side);
    return 0;
  }
  dims[0] = ft_known_times(flat[0], tokens / (side * side));
  dims[1] = dims[2] = side;
  dims[3] = features;
  x = ft_hf_reshape(r, x, dims, 4);
  x = x ? ft_tracer_transpose(&r->live, x, order, 4) : 0; /* the transpose copies them */
  flat[1] = tokens / (side * side);
  flat[2] = side * side * features;
  return ft_hf_reshape(r, x, flat, 3);
}

/* Average pooling of X over SIDE x SIDE neighbours. */
static uint32_t pool_neighbours(struct ft_hf_run *r, uint32_t x, int64_t side)
{
  static const int64_t order[] = { 0, 2, 1 };
  int64_t dims[4], size[2] = { side, side }, flat[3];

  if (!x)
    return 0;
  dims[0] = flat[0] = ft_hf_size(r, x, 0);
  dims[1] = flat[1] = r->m->hidden;
  dims[2] = dims[3] = r->m->image / r->m->patch;
  flat[2] = (dims[2] / side) * (dims[2] / side);
  x = ft_tracer_transpose(&r->live, x, order, 3);
  x = ft_hf_reshape(r, x, dims, 4);
  if (!x)
    return 0;
  ft_tracer_op(&r->live, "AveragePool");
  ft_tracer_in(&r->live, x);
  ft_tracer_ints(&r->live, "kernel_shape", size, 2);
  ft_tracer_ints(&r->live, "strides", size, 2);
  x = ft_tracer_end(&r->live, 1);
  x = ft_hf_reshape(r, x, flat, 3);
  return x ? ft_tracer_transpose(&r->live, x, order, 3) : 0;
}

/* The multimodal projector: from X, the vision encoder's output, to tokens. */
static uint32_t project_image(struct ft_hf_run *r, uint32_t x)
{
  const struct ft_hf *v = r->m;
  struct ft_hf other = *v;

  r->prefix = "projector.";
  other.activation = "gelu";
  other.decomposed_activation = "";
  switch (v->projector) {
  case FT_HF_PROJECTOR_LINEAR:
    return ft_hf_linear(r, x, "linear", v->projector_dim, true);
  case FT_HF_PROJECTOR_MLP:
    if (v->merge_size && x)
      x = ft_tracer_slice(&r->live, x, 1, 1, ft_hf_size(r, x, 1), 1);
    x = ft_hf_linear(r, x, "linear_1", v->projector_dim, v->bias_per_layer);
    r->m = &other;
    x = ft_hf_activate(r, x);
    r->m = v;
    return ft_hf_linear(r, x, "linear_2", v->projector_dim, v->bias_per_layer);
  case FT_HF_PROJECTOR_POOL:
    x = pool_neighbours(r, x, v->merge_size);
    other.norm = FT_HF_RMS_NORM;
    other.decomposed_norm = "gemma";
    r->m = &other;
    x = ft_hf_normalise(r, x, "norm");
    r->m = v;
    return ft_hf_linear(r, x, "linear", v->projector_dim, false);
  case FT_HF_PROJECTOR_SHUFFLE:
    return ft_hf_linear(r, join_neighbours(r, x, v->merge_size), "linear", v->projector_dim, false);
  default:
    x = join_neighbours(r, ft_hf_normalise(r, x, "norm"), v->merge_size);
    x = ft_hf_linear(r, x, "linear_1", v->hidden * v->merge_size * v->merge_size, true);
    r->m = &other;
    x = ft_hf_activate(r, x);
    r->m = v;
    return ft_hf_linear(r, x, "linear_2", v->projector_dim, true);
  }
}

/* One layer. Each window of patches becomes a row of the batch. If windows do not tile the image,
 * slightly larger windows are used. */
static uint32_t windowed_layer(struct ft_hf_run *r, uint32_t x)
{
  enum { TRIED = 4096 }; /* sizes tried to find one that divides the image */
  int64_t whole[3], parts[3], least = r->m->window * r->m->window, window = least;

  for (int i = 0; i < 3; i++)
    whole[i] = parts[i] = ft_hf_size(r, x, i);
  while (window > 0 && whole[1] % window && window < least + TRIED)
    window++;
  if (!x || !ft_hf_in_window(r) || window < 1 || whole[1] % window || whole[1] <= window)
    return ft_hf_layer(r, x);
  parts[0] = ft_known_times(whole[0], whole[1] / window);
  parts[1] = window;
  x = ft_hf_reshape(r, x, parts, 3);
  x = ft_hf_layer(r, x);
  return ft_hf_reshape(r, x, whole, 3);
}

/* Attention pooling by a learnt query (SiglipMultiheadAttentionPoolingHead). */
static uint32_t attention_pool(struct ft_hf_run *r, uint32_t x)
{
  int64_t dims[3] = { ft_hf_size(r, x, 0), 1, r->m->hidden };
  uint32_t probe = ft_hf_weight(r, "probe", 1, r->m->hidden, 1), y;

  probe = x && probe ? ft_hf_binary(r, "Expand", probe, ft_tracer_list(&r->live, dims, 3)) : 0;
  y = ft_hf_attention(r, probe, x, 0);
  return ft_hf_binary(r, "Add", y, ft_hf_mlp(r, ft_hf_normalise(r, y, "norm"), r->m->inner));
}

/* Encodes IMAGES with the vision encoder. Returns its pooled output if ALONE, else the projector's
 * input. */
static uint32_t encode_image(struct ft_hf_run *r, uint32_t images, bool alone)
{
  const struct ft_hf *v = r->m;
  uint32_t x, read = 0, last;

  r->prefix = "vision.";
  x = ft_hf_patches(r, images);
  if (v->norm_first)
    x = ft_hf_normalise(r, x, "first_norm");
  for (int64_t i = 0; x && i < v->layers; i++) {
    read = i == v->feature_layer ? x : read;
    r->layer = i;
    r->prefix = ft_tracer_format(&r->live, "vision.%lld.", (long long)i);
    x = windowed_layer(r, x);
  }
  r->prefix = "vision.";
  if (v->projector == FT_HF_PROJECTOR_MERGE)
    return x;
  if (v->no_class_token) {
    last = x = ft_hf_normalise(r, x, "final_norm");
    r->prefix = "vision.head.";
    if (v->pool_head)
      last = attention_pool(r, x);
  } else { /* the norm is applied to the class token */
    last = ft_hf_normalise(r, ft_hf_first_token(r, x), "final_norm");
  }
  if (!last || alone)
    return last;
  /* computed although nothing reads it */
  if (last != x && ft_tracer_output(&r->live, last) < 0)
    return 0;
  return read ? read : x;
}

static uint32_t vlm_input(struct ft_hf_run *r, const struct ft_hf *v)
{
  int64_t dims[4] = { -1, v->channels, v->image, v->image };

  if (v->any_size)
    dims[2] = dims[3] = -1;
  return ft_hf_input(r, "pixel_values", FT_ELEMENT_FLOAT, v->several_images ? 4 : 3,
                     v->several_images ? dims : dims + 1);
}

uint32_t ft_hf_vision(struct ft_hf_run *r)
{
  uint32_t in = vlm_input(r, r->m);

  return in && ft_infer_inputs(r->live.in) == 0 ? encode_image(r, in, true) : 0;
}

/* Images as tokens (batch, tokens, features) of the decoder M. */
static uint32_t image_tokens(struct ft_hf_run *r, const struct ft_hf *m, uint32_t images,
                             int64_t batch)
{
  int64_t dims[4];
  uint32_t x = images;

  if (ft_tracer_of(&r->live, images)->rank == 5) { /* several images per sample */
    for (int i = 1; i < 4; i++)
      dims[i] = ft_hf_size(r, x, i + 1);
    dims[0] = ft_hf_size(r, x, 0) * ft_hf_size(r, x, 1);
    x = ft_hf_reshape(r, x, dims, 4);
  }
  r->m = m->vision;
  x = x ? project_image(r, encode_image(r, x, false)) : 0;
  r->m = m;
  if (!x || !batch)
    return 0;
  dims[0] = batch;
  dims[1] = ft_known_times(ft_hf_size(r, x, 0), ft_hf_size(r, x, 1)) / batch;
  dims[2] = m->hidden;
  return ft_hf_reshape(r, x, dims, 3);
}

uint32_t ft_hf_vlm(struct ft_hf_run *r)
{
  const struct ft_hf *m = r->m;
  uint32_t ids = ft_hf_ids(r, "input_ids"), in = vlm_input(r, m->vision), table = 0, x, y, fed;
  int64_t length, dims[2] = { 0, 2 };

  if (!ids || !in || ft_infer_inputs(r->live.in) < 0)
    return 0;
  length = ft_hf_size(r, ids, 1);
  y = image_tokens(r, m, in, ft_hf_size(r, ids, 0));
  if (!y)
    return 0;
  dims[0] = ft_hf_size(r, y, 1);
  if (dims[0] > length) {
    (void)ft_tracer_fail(&r->live, "sequence=%lld: its images alone are %lld tokens",
                         (long long)length, (long long)dims[0]);
    return 0;
  }
  r->prefix = "embeddings.";
  fed = ft_hf_input_tokens(r, ids);
  x = ft_hf_embed(r, fed, &table);
  if (x && ft_hf_size(r, x, 1) >= length) {
    uint32_t which = ft_hf_constant(r, FT_ELEMENT_INT64, dims, 2);

    if (!which)
      return 0;
    ft_hf_scope(r, "pictures");
    ft_tracer_op(&r->live, "ScatterND");
    ft_tracer_in(&r->live, x);
    ft_tracer_in(&r->live, which);
    ft_tracer_in(&r->live, y);
    x = ft_tracer_end(&r->live, 1);
  }
  return ft_hf_decode(r, x, table);
}
