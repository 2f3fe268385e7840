/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convolutions, pooling, batch normalisation and matrix products. */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/tensorflow/tensorflow_node.h"

/* ---- convolution and pooling ---- */

/* Input I, a filter, with its dimensions permuted: ORDER[i] is the source of dimension i. A weight
 * that no operator reads yet is relabelled; any other tensor is transposed. */
static uint32_t ordered_filters(struct ft_tf_call *c, size_t i, const int64_t *order, int rank)
{
  const struct ft_operand *v = ft_tf_operand(c, i);
  ft_dim *dims;

  if (v->type != FT_VALUE_WEIGHT || v->weight->tensor || v->weight->declared.rank != rank) {
    uint32_t w = ft_tf_tensor(c, i);

    return w && ft_tf_of(c, w)->rank == rank ? ft_tracer_transpose(c->l, w, order, rank) : w;
  }
  dims = ft_tracer_take(c->l, (size_t)(rank + 1) * sizeof *dims);
  for (int j = 0; dims && j < rank; j++)
    dims[j] = v->weight->declared.dims[order[j]];
  if (!dims)
    return 0;
  v->weight->declared.dims = dims;
  return ft_tracer_weight(c->l, v->weight);
}

/* The elements of attribute KEY that belong to the N spatial dimensions. */
static void spatial_attribute(const struct ft_tf_call *c, const char *key, int n, int64_t *out)
{
  const struct ft_tf_attribute *a = ft_tf_attribute(c->node, key);
  int first = ft_tf_channels_first(c) ? 2 : 1;

  for (int i = 0; i < n; i++)
    out[i] = a && a->count == (size_t)n + 2 ? a->integers[first + i] : 1;
}

static void set_window(struct ft_tf_call *c, int n)
{
  const struct ft_tf_attribute *pads = ft_tf_attribute(c->node, "explicit_paddings");
  const char *padding = ft_tf_text(c->node, "padding", "VALID");
  int64_t numbers_of[FT_GRAPH_RANK], around[2 * FT_GRAPH_RANK];
  int first = ft_tf_channels_first(c) ? 2 : 1;

  spatial_attribute(c, "strides", n, numbers_of);
  ft_tracer_ints(c->l, "strides", numbers_of, (size_t)n);
  spatial_attribute(c, "dilations", n, numbers_of);
  ft_tracer_ints(c->l, "dilations", numbers_of, (size_t)n);
  if (!ft_tf_channels_first(c))
    ft_tracer_string(c->l, "layout", "NHWC");
  if (strcmp(padding, "SAME") == 0)
    ft_tracer_string(c->l, "auto_pad", "SAME_UPPER");
  if (strcmp(padding, "EXPLICIT") != 0 || !pads || pads->count != 2 * ((size_t)n + 2))
    return;
  for (int i = 0; i < n; i++) {
    around[i] = pads->integers[2 * (first + i)];
    around[n + i] = pads->integers[2 * (first + i) + 1];
  }
  ft_tracer_ints(c->l, "pads", around, 2 * (size_t)n);
}

int ft_tf_convolution(struct ft_tf_call *c)
{
  static const int64_t flat[] = { 3, 2, 0, 1 }, deep[] = { 4, 3, 0, 1, 2 };
  int n = ft_tf_is(c, "Conv3D") ? 3 : 2;
  uint32_t x = ft_tf_tensor(c, 0), w = ordered_filters(c, 1, n == 3 ? deep : flat, n + 2);
  int64_t channels = 0, each = 0;

  if (!x || !w)
    return -1;
  if (ft_tf_of(c, x)->rank == n + 2 && ft_tf_of(c, w)->rank == n + 2) {
    channels = ft_dim_or(ft_tf_of(c, x)->dims[ft_tf_channels_first(c) ? 1 : n + 1], 0);
    each = ft_dim_or(ft_tf_of(c, w)->dims[1], 0);
  }
  ft_tracer_op(c->l, "Conv");
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, w);
  set_window(c, n);
  ft_tracer_int(c->l, "group",
                channels > 0 && each > 0 && channels % each == 0 ? channels / each : 1);
  return ft_tf_give_tensor(c, ft_tracer_end(c->l, 1));
}

/* TensorFlow's filters are (height, width, channels, multiplier), the graph's
 * (channels x multiplier, 1, height, width). */
int ft_tf_depthwise(struct ft_tf_call *c)
{
  static const int64_t order[] = { 2, 3, 0, 1 };
  uint32_t x = ft_tf_tensor(c, 0), w;
  const struct ft_operand *v = ft_tf_operand(c, 1);
  ft_dim dims[4], channels;

  if (!x)
    return -1;
  if (v->type == FT_VALUE_WEIGHT && !v->weight->tensor && v->weight->declared.rank == 4) {
    const ft_dim *d = v->weight->declared.dims;
    ft_dim *kept = ft_tracer_take(c->l, 5 * sizeof *kept);

    if (!kept)
      return -1;
    channels = d[2];
    kept[0] = ft_dim_times(d[2], d[3]);
    kept[1] = ft_dim_of(1);
    kept[2] = d[0];
    kept[3] = d[1];
    v->weight->declared.dims = kept;
    w = ft_tracer_weight(c->l, v->weight);
  } else {
    w = ordered_filters(c, 1, order, 4);
    if (!w || ft_tf_of(c, w)->rank != 4)
      return w ? 1 : -1;
    memcpy(dims, ft_tf_of(c, w)->dims, sizeof dims);
    channels = dims[0];
    dims[0] = ft_dim_times(dims[0], dims[1]);
    dims[1] = ft_dim_of(1);
    w = ft_tracer_reshape(c->l, w, dims, 4);
  }
  if (!w)
    return -1;
  ft_tracer_op(c->l, "Conv");
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, w);
  set_window(c, 2);
  ft_tracer_int(c->l, "group", ft_dim_or(channels, -1));
  return ft_tf_give_tensor(c, ft_tracer_end(c->l, 1));
}

/* ConvNDBackpropInput(sizes, filters, x): a transposed convolution */
int ft_tf_conv_transpose(struct ft_tf_call *c)
{
  static const int64_t flat[] = { 3, 2, 0, 1 }, deep[] = { 4, 3, 0, 1, 2 };
  int n = strncmp(c->node->op, "Conv3D", 6) == 0 ? 3 : 2, count;
  uint32_t x = ft_tf_tensor(c, 2), w = ordered_filters(c, 1, n == 3 ? deep : flat, n + 2);
  int64_t sizes[FT_GRAPH_RANK];

  if (!x || !w)
    return -1;
  count = ft_tf_numbers(c, 0, sizes, FT_GRAPH_RANK);
  ft_tracer_op(c->l, "ConvTranspose");
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, w);
  set_window(c, n);
  if (count == n + 2)
    ft_tracer_ints(c->l, "output_shape", sizes + (ft_tf_channels_first(c) ? 2 : 1), (size_t)n);
  return ft_tf_give_tensor(c, ft_tracer_end(c->l, 1));
}

int ft_tf_pool(struct ft_tf_call *c)
{
  bool largest = strncmp(c->node->op, "Max", 3) == 0;
  int n = strstr(c->node->op, "3D") ? 3 : 2;
  int64_t kernel[3];
  uint32_t x = ft_tf_tensor(c, 0);

  if (!x)
    return -1;
  spatial_attribute(c, "ksize", n, kernel);
  ft_tracer_op(c->l, largest ? "MaxPool" : "AveragePool");
  ft_tracer_in(c->l, x);
  set_window(c, n);
  ft_tracer_ints(c->l, "kernel_shape", kernel, (size_t)n);
  return ft_tf_give_tensor(c, ft_tracer_end(c->l, 1));
}

int ft_tf_batch_norm(struct ft_tf_call *c)
{
  uint32_t in[5], y;

  for (size_t i = 0; i < 5; i++) {
    in[i] = ft_tf_tensor(c, i);
    if (!in[i])
      return -1;
  }
  ft_tracer_op(c->l, "BatchNormalization");
  for (size_t i = 0; i < 5; i++)
    ft_tracer_in(c->l, in[i]);
  y = ft_tracer_end(c->l, 1);
  if (ft_tf_give_tensor(c, y) < 0)
    return -1;
  for (size_t i = 0; i < 5; i++)
    if (ft_tf_give(c, ft_value_tensor(in[3 + i % 2])) < 0)
      return -1;
  return 0;
}

/* ---- matrix products ---- */

int ft_tf_product(struct ft_tf_call *c)
{
  uint32_t a = ft_tf_tensor(c, 0), b = ft_tf_tensor(c, 1);

  if (!a || !b)
    return -1;
  ft_tracer_op(c->l, "Gemm");
  ft_tracer_in(c->l, a);
  ft_tracer_in(c->l, b);
  ft_tracer_int(c->l, "transA", ft_tf_integer(c->node, "transpose_a", 0));
  ft_tracer_int(c->l, "transB", ft_tf_integer(c->node, "transpose_b", 0));
  return ft_tf_give_tensor(c, ft_tracer_end(c->l, 1));
}

/* X with the last two dimensions swapped. */
static uint32_t transpose_matrices(struct ft_tf_call *c, uint32_t x)
{
  int64_t order[FT_GRAPH_RANK];
  int rank = x ? ft_tf_of(c, x)->rank : -1;

  if (rank < 2)
    return x;
  for (int i = 0; i < rank; i++)
    order[i] = i;
  order[rank - 1] = rank - 2;
  order[rank - 2] = rank - 1;
  return ft_tracer_transpose(c->l, x, order, rank);
}

int ft_tf_batch_product(struct ft_tf_call *c)
{
  uint32_t a = ft_tf_tensor(c, 0), b = ft_tf_tensor(c, 1);

  if (ft_tf_integer(c->node, "adj_x", 0))
    a = transpose_matrices(c, a);
  if (ft_tf_integer(c->node, "adj_y", 0))
    b = transpose_matrices(c, b);
  return ft_tf_give_tensor(c, a && b ? ft_tracer_binary(c->l, "MatMul", a, b) : 0);
}

int ft_tf_einsum(struct ft_tf_call *c)
{
  if (ft_tf_begin(c, "Einsum", 0, c->in_count) < 0)
    return -1;
  ft_tracer_string(c->l, "equation", ft_tf_text(c->node, "equation", ""));
  return ft_tf_give_tensor(c, ft_tracer_end(c->l, 1));
}
