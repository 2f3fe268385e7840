/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TensorFlow's operators (tensorflow/core/ops/, api_def) as operators of ours. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/tensorflow.h"

/* ---- inputs and results ---- */

static const struct ft_operand *operand(const struct ft_tf_call *c, size_t i)
{
  static const struct ft_operand none = { .type = FT_VALUE_NONE };

  return i < c->in_count ? &c->in[i] : &none;
}

static uint32_t tensor(struct ft_tf_call *c, size_t i)
{
  uint32_t t = ft_value_as_tensor(c->l, operand(c, i));

  if (!t && !c->l->in->err->text[0])
    (void)ft_live_fail(c->l, "%s \"%.100s\": input %zu is missing", c->node->op, c->node->name, i);
  return t;
}

static int give(struct ft_tf_call *c, uint32_t t)
{
  return t ? ft_tf_give(c, ft_value_tensor(t)) : -1;
}

static int give_many(struct ft_tf_call *c, uint32_t first, uint32_t count)
{
  for (uint32_t i = 0; first && i < count; i++)
    if (ft_tf_give(c, ft_value_tensor(first + i)) < 0)
      return -1;
  return first ? 0 : -1;
}

static struct ft_tensor *of(const struct ft_tf_call *c, uint32_t t)
{
  return ft_live_of(c->l, t);
}

/* Whole numbers that input I holds; how many, -1 not known. */
static int numbers(struct ft_tf_call *c, size_t i, int64_t *out, int room)
{
  const struct ft_operand *v = operand(c, i);
  const struct ft_tensor *t = v->type == FT_VALUE_TENSOR ? of(c, v->tensor) : NULL;
  int64_t count = t ? ft_tensor_elements(t) : -1;

  if (!t || count < 0 || count > room || (count && !t->values))
    return -1;
  for (int64_t j = 0; j < count; j++) {
    if (isnan(t->values[j]))
      return -1;
    out[j] = ft_whole(t->values[j]);
  }
  return (int)count;
}

static bool is(const struct ft_tf_call *c, const char *op)
{
  return strcmp(c->node->op, op) == 0;
}

static bool channels_first(const struct ft_tf_call *c)
{
  return strncmp(ft_tf_text(c->node, "data_format", "NHWC"), "NC", 2) == 0;
}

/* ---- convolution and pooling ---- */

/* Filters as we have them: ORDER says which of theirs is our first, second... Of a weight that
 * nobody used yet the sizes are put in order, else the tensor is transposed. */
static uint32_t filters(struct ft_tf_call *c, size_t i, const int64_t *order, int rank)
{
  const struct ft_operand *v = operand(c, i);
  int64_t *dims;

  if (v->type != FT_VALUE_WEIGHT || v->weight->tensor || v->weight->declared.rank != rank) {
    uint32_t w = tensor(c, i);

    return w && of(c, w)->rank == rank ? ft_live_transpose(c->l, w, order, rank) : w;
  }
  dims = ft_live_take(c->l, (size_t)(rank + 1) * sizeof *dims);
  for (int j = 0; dims && j < rank; j++)
    dims[j] = v->weight->declared.dims[order[j]];
  if (!dims)
    return 0;
  v->weight->declared.dims = dims;
  return ft_live_weight(c->l, v->weight);
}

/* The numbers of KEY for the N dimensions that are slid over, others left out. */
static void spatial(const struct ft_tf_call *c, const char *key, int n, int64_t *out)
{
  const struct ft_tf_attribute *a = ft_tf_attribute(c->node, key);
  int first = channels_first(c) ? 2 : 1;

  for (int i = 0; i < n; i++)
    out[i] = a && a->count == (size_t)n + 2 ? a->integers[first + i] : 1;
}

static void put_window(struct ft_tf_call *c, int n)
{
  const struct ft_tf_attribute *pads = ft_tf_attribute(c->node, "explicit_paddings");
  const char *padding = ft_tf_text(c->node, "padding", "VALID");
  int64_t numbers_of[FT_GRAPH_RANK], around[2 * FT_GRAPH_RANK];
  int first = channels_first(c) ? 2 : 1;

  spatial(c, "strides", n, numbers_of);
  ft_live_ints(c->l, "strides", numbers_of, (size_t)n);
  spatial(c, "dilations", n, numbers_of);
  ft_live_ints(c->l, "dilations", numbers_of, (size_t)n);
  if (!channels_first(c))
    ft_live_string(c->l, "layout", "NHWC");
  if (strcmp(padding, "SAME") == 0)
    ft_live_string(c->l, "auto_pad", "SAME_UPPER");
  if (strcmp(padding, "EXPLICIT") != 0 || !pads || pads->count != 2 * ((size_t)n + 2))
    return;
  for (int i = 0; i < n; i++) {
    around[i] = pads->integers[2 * (first + i)];
    around[n + i] = pads->integers[2 * (first + i) + 1];
  }
  ft_live_ints(c->l, "pads", around, 2 * (size_t)n);
}

static int convolution(struct ft_tf_call *c)
{
  static const int64_t flat[] = { 3, 2, 0, 1 }, deep[] = { 4, 3, 0, 1, 2 };
  int n = is(c, "Conv3D") ? 3 : 2;
  uint32_t x = tensor(c, 0), w = filters(c, 1, n == 3 ? deep : flat, n + 2);
  int64_t channels, each;

  if (!x || !w)
    return -1;
  channels = of(c, x)->rank == n + 2 ? of(c, x)->dims[channels_first(c) ? 1 : n + 1] : -1;
  each = of(c, w)->rank == n + 2 ? of(c, w)->dims[1] : -1;
  ft_live_op(c->l, "Conv");
  ft_live_in(c->l, x);
  ft_live_in(c->l, w);
  put_window(c, n);
  ft_live_int(c->l, "group", channels > 0 && each > 0 && channels % each == 0 ? channels / each : 1);
  return give(c, ft_live_end(c->l, 1));
}

/* Filters of height, width, channels, multiplier: ours are channels x multiplier, 1, height, width. */
static int depthwise(struct ft_tf_call *c)
{
  static const int64_t order[] = { 2, 3, 0, 1 };
  uint32_t x = tensor(c, 0), w;
  const struct ft_operand *v = operand(c, 1);
  int64_t dims[4], channels;

  if (!x)
    return -1;
  if (v->type == FT_VALUE_WEIGHT && !v->weight->tensor && v->weight->declared.rank == 4) {
    const int64_t *d = v->weight->declared.dims;
    int64_t *kept = ft_live_take(c->l, 5 * sizeof *kept);

    if (!kept)
      return -1;
    channels = d[2];
    kept[0] = ft_times(d[2], d[3]);
    kept[1] = 1;
    kept[2] = d[0];
    kept[3] = d[1];
    v->weight->declared.dims = kept;
    w = ft_live_weight(c->l, v->weight);
  } else {
    w = filters(c, 1, order, 4);
    if (!w || of(c, w)->rank != 4)
      return w ? 1 : -1;
    memcpy(dims, of(c, w)->dims, sizeof dims);
    channels = dims[0];
    dims[0] = ft_times(dims[0], dims[1]);
    dims[1] = 1;
    w = ft_live_reshape(c->l, w, dims, 4);
  }
  if (!w)
    return -1;
  ft_live_op(c->l, "Conv");
  ft_live_in(c->l, x);
  ft_live_in(c->l, w);
  put_window(c, 2);
  ft_live_int(c->l, "group", channels);
  return give(c, ft_live_end(c->l, 1));
}

/* (sizes, filters, x): the gradient of a convolution, which is a transposed one */
static int transposed(struct ft_tf_call *c)
{
  static const int64_t flat[] = { 3, 2, 0, 1 }, deep[] = { 4, 3, 0, 1, 2 };
  int n = strncmp(c->node->op, "Conv3D", 6) == 0 ? 3 : 2, count;
  uint32_t x = tensor(c, 2), w = filters(c, 1, n == 3 ? deep : flat, n + 2);
  int64_t sizes[FT_GRAPH_RANK];

  if (!x || !w)
    return -1;
  count = numbers(c, 0, sizes, FT_GRAPH_RANK);
  ft_live_op(c->l, "ConvTranspose");
  ft_live_in(c->l, x);
  ft_live_in(c->l, w);
  put_window(c, n);
  if (count == n + 2)
    ft_live_ints(c->l, "output_shape", sizes + (channels_first(c) ? 2 : 1), (size_t)n);
  return give(c, ft_live_end(c->l, 1));
}

static int pool(struct ft_tf_call *c)
{
  bool largest = strncmp(c->node->op, "Max", 3) == 0;
  int n = strstr(c->node->op, "3D") ? 3 : 2;
  int64_t kernel[3];
  uint32_t x = tensor(c, 0);

  if (!x)
    return -1;
  spatial(c, "ksize", n, kernel);
  ft_live_op(c->l, largest ? "MaxPool" : "AveragePool");
  ft_live_in(c->l, x);
  put_window(c, n);
  ft_live_ints(c->l, "kernel_shape", kernel, (size_t)n);
  return give(c, ft_live_end(c->l, 1));
}

static int batch_norm(struct ft_tf_call *c)
{
  uint32_t in[5], y;

  for (size_t i = 0; i < 5; i++) {
    in[i] = tensor(c, i);
    if (!in[i])
      return -1;
  }
  ft_live_op(c->l, "BatchNormalization");
  for (size_t i = 0; i < 5; i++)
    ft_live_in(c->l, in[i]);
  y = ft_live_end(c->l, 1);
  if (give(c, y) < 0)
    return -1;
  for (size_t i = 0; i < 5; i++)
    if (ft_tf_give(c, ft_value_tensor(in[3 + i % 2])) < 0)
      return -1;
  return 0;
}

/* ---- products ---- */

static int product(struct ft_tf_call *c)
{
  uint32_t a = tensor(c, 0), b = tensor(c, 1);

  if (!a || !b)
    return -1;
  ft_live_op(c->l, "Gemm");
  ft_live_in(c->l, a);
  ft_live_in(c->l, b);
  ft_live_int(c->l, "transA", ft_tf_integer(c->node, "transpose_a", 0));
  ft_live_int(c->l, "transB", ft_tf_integer(c->node, "transpose_b", 0));
  return give(c, ft_live_end(c->l, 1));
}

/* X with its last two dimensions exchanged. */
static uint32_t turned(struct ft_tf_call *c, uint32_t x)
{
  int64_t order[FT_GRAPH_RANK];
  int rank = x ? of(c, x)->rank : -1;

  if (rank < 2)
    return x;
  for (int i = 0; i < rank; i++)
    order[i] = i;
  order[rank - 1] = rank - 2;
  order[rank - 2] = rank - 1;
  return ft_live_transpose(c->l, x, order, rank);
}

static int batch_product(struct ft_tf_call *c)
{
  uint32_t a = tensor(c, 0), b = tensor(c, 1);

  if (ft_tf_integer(c->node, "adj_x", 0))
    a = turned(c, a);
  if (ft_tf_integer(c->node, "adj_y", 0))
    b = turned(c, b);
  return give(c, a && b ? ft_live_binary(c->l, "MatMul", a, b) : 0);
}

static int many(struct ft_tf_call *c, const char *type, size_t first, size_t last)
{
  uint32_t *in = ft_live_take(c->l, (c->in_count + 1) * sizeof *in);

  for (size_t i = first; in && i < last; i++) {
    in[i] = tensor(c, i);
    if (!in[i])
      return -1;
  }
  if (!in)
    return -1;
  ft_live_op(c->l, type);
  for (size_t i = first; i < last; i++)
    ft_live_in(c->l, in[i]);
  return 0;
}

static int einsum(struct ft_tf_call *c)
{
  if (many(c, "Einsum", 0, c->in_count) < 0)
    return -1;
  ft_live_string(c->l, "equation", ft_tf_text(c->node, "equation", ""));
  return give(c, ft_live_end(c->l, 1));
}

/* ---- shapes ---- */

static bool reshape_weight(struct ft_tf_call *c, const int64_t *dims, int n)
{
  const struct ft_operand *v = operand(c, 0);

  return v->type == FT_VALUE_WEIGHT && ft_live_reshape_weight(c->l, v->weight, dims, n);
}

static bool take_in(struct ft_tf_call *c)
{
  const struct ft_operand *x = operand(c, 0), *b = operand(c, 1);
  const struct ft_tensor *t = x->type == FT_VALUE_TENSOR ? of(c, x->tensor) : NULL;

  return t && t->rank > 0 && b->type == FT_VALUE_WEIGHT &&
         ft_live_add_bias(c->l, x->tensor, b->weight,
                          t->dims[channels_first(c) ? 1 : t->rank - 1]);
}

static int reshape(struct ft_tf_call *c)
{
  int64_t dims[FT_GRAPH_RANK];
  int n = numbers(c, 1, dims, FT_GRAPH_RANK);
  uint32_t x, s;

  if (reshape_weight(c, dims, n))
    return ft_tf_give(c, *operand(c, 0));
  x = tensor(c, 0);

  if (!x)
    return -1;
  if (n >= 0)
    return give(c, ft_live_reshape(c->l, x, dims, n));
  s = tensor(c, 1);
  return give(c, s ? ft_live_binary(c->l, "Reshape", x, s) : 0);
}

static int axes(struct ft_tf_call *c, const char *type, uint32_t x, const int64_t *list, size_t n)
{
  if (!x)
    return -1;
  ft_live_op(c->l, type);
  ft_live_in(c->l, x);
  if (n)
    ft_live_ints(c->l, "axes", list, n);
  return give(c, ft_live_end(c->l, 1));
}

static int squeeze(struct ft_tf_call *c)
{
  const struct ft_tf_attribute *a = ft_tf_attribute(c->node, "squeeze_dims");
  const struct ft_operand *v = operand(c, 0);
  const struct ft_declared *d = v->type == FT_VALUE_WEIGHT ? &v->weight->declared : NULL;
  int64_t kept[FT_GRAPH_RANK];
  int n = 0;

  for (int i = 0; d && i < d->rank; i++)
    if (d->dims[i] != 1)
      kept[n++] = d->dims[i];
  if (d && reshape_weight(c, kept, n)) /* whichever of its ones are meant: none is left */
    return ft_tf_give(c, *v);
  return axes(c, "Squeeze", tensor(c, 0), a ? a->integers : NULL, a ? a->count : 0);
}

static int expand_dims(struct ft_tf_call *c)
{
  int64_t axis;

  return numbers(c, 1, &axis, 1) == 1 ? axes(c, "Unsqueeze", tensor(c, 0), &axis, 1) : 1;
}

static int transpose(struct ft_tf_call *c)
{
  int64_t order[FT_GRAPH_RANK];
  uint32_t x = tensor(c, 0);
  int n = numbers(c, 1, order, FT_GRAPH_RANK);

  return n < 0 ? 1 : give(c, x ? ft_live_transpose(c->l, x, order, n) : 0);
}

/* ConcatV2(values..., axis), Concat(axis, values...) */
static int concat(struct ft_tf_call *c)
{
  bool last = is(c, "ConcatV2");
  int64_t axis;

  if (c->in_count < 2 || numbers(c, last ? c->in_count - 1 : 0, &axis, 1) != 1)
    return 1;
  if (many(c, "Concat", last ? 0 : 1, last ? c->in_count - 1 : c->in_count) < 0)
    return -1;
  ft_live_int(c->l, "axis", axis);
  return give(c, ft_live_end(c->l, 1));
}

/* VALUES with a dimension of their own, joined along it. */
static uint32_t stack(struct ft_tf_call *c, const struct ft_operand *values, size_t count,
                      int64_t axis)
{
  uint32_t *in = ft_live_take(c->l, (count + 1) * sizeof *in);

  for (size_t i = 0; in && i < count; i++) {
    in[i] = ft_value_as_tensor(c->l, &values[i]);
    if (!in[i])
      return 0;
    ft_live_op(c->l, "Unsqueeze");
    ft_live_in(c->l, in[i]);
    ft_live_ints(c->l, "axes", &axis, 1);
    in[i] = ft_live_end(c->l, 1);
    if (!in[i])
      return 0;
  }
  if (!in || !count)
    return 0;
  ft_live_op(c->l, "Concat");
  for (size_t i = 0; i < count; i++)
    ft_live_in(c->l, in[i]);
  ft_live_int(c->l, "axis", axis);
  return ft_live_end(c->l, 1);
}

static int pack(struct ft_tf_call *c)
{
  return give(c, stack(c, c->in, c->in_count, ft_tf_integer(c->node, "axis", 0)));
}

/* Element AT of dimension AXIS without it: a view. */
static uint32_t pick(struct ft_tf_call *c, uint32_t x, int64_t axis, int64_t at)
{
  axis = axis < 0 ? axis + of(c, x)->rank : axis;
  x = ft_live_slice(c->l, x, (int)axis, at, at == -1 ? INT64_MAX : at + 1, 1);
  if (!x)
    return 0;
  ft_live_op(c->l, "Squeeze");
  ft_live_in(c->l, x);
  ft_live_ints(c->l, "axes", &axis, 1);
  return ft_live_end(c->l, 1);
}

static int unpack(struct ft_tf_call *c)
{
  int64_t count = ft_tf_integer(c->node, "num", 0), axis = ft_tf_integer(c->node, "axis", 0);
  uint32_t x = tensor(c, 0);

  for (int64_t i = 0; x && i < count && i < FT_GRAPH_VALUES; i++)
    if (give(c, pick(c, x, axis, i)) < 0)
      return -1;
  return x ? 0 : -1;
}

/* Split(axis, x), SplitV(x, sizes, axis) */
static int split(struct ft_tf_call *c)
{
  bool sized = is(c, "SplitV");
  uint32_t x = tensor(c, sized ? 0 : 1), sizes = 0, count;
  int64_t axis, parts;

  if (numbers(c, sized ? 2 : 0, &axis, 1) != 1)
    return 1;
  parts = ft_tf_integer(c->node, "num_split", 1);
  sizes = sized ? tensor(c, 1) : 0;
  if (!x || parts < 1 || parts > FT_GRAPH_VALUES)
    return x ? 1 : -1;
  count = (uint32_t)parts;
  ft_live_op(c->l, "Split");
  ft_live_in(c->l, x);
  if (sizes)
    ft_live_in(c->l, sizes);
  ft_live_int(c->l, "axis", axis);
  return give_many(c, ft_live_end(c->l, count), count);
}

static int slice(struct ft_tf_call *c)
{
  int64_t begin[FT_GRAPH_RANK], size[FT_GRAPH_RANK], all[FT_GRAPH_RANK];
  uint32_t x = tensor(c, 0);
  int n = numbers(c, 1, begin, FT_GRAPH_RANK);

  if (!x || n < 0 || numbers(c, 2, size, FT_GRAPH_RANK) != n)
    return x ? 1 : -1;
  for (int i = 0; i < n; i++) {
    size[i] = size[i] < 0 ? INT64_MAX : ft_plus(begin[i] < 0 ? 0 : begin[i], size[i]);
    all[i] = i;
  }
  ft_live_op(c->l, "Slice");
  ft_live_in(c->l, x);
  ft_live_ints(c->l, "starts", begin, (size_t)n);
  ft_live_ints(c->l, "ends", size, (size_t)n);
  ft_live_ints(c->l, "axes", all, (size_t)n);
  return give(c, ft_live_end(c->l, 1));
}

/* x[begin:end:stride, ...] with masks for what is left out, new or dropped (strided_slice_op) */
static int strided_slice(struct ft_tf_call *c)
{
  int64_t begin[FT_GRAPH_RANK], end[FT_GRAPH_RANK], stride[FT_GRAPH_RANK];
  int64_t from = ft_tf_integer(c->node, "begin_mask", 0), to = ft_tf_integer(c->node, "end_mask", 0);
  int64_t drop = ft_tf_integer(c->node, "shrink_axis_mask", 0);
  int64_t fresh = ft_tf_integer(c->node, "new_axis_mask", 0);
  int64_t dots = ft_tf_integer(c->node, "ellipsis_mask", 0);
  int n = numbers(c, 1, begin, FT_GRAPH_RANK), axis = 0;
  uint32_t x = tensor(c, 0);

  if (!x || n < 0 || of(c, x)->rank < 0 || numbers(c, 2, end, FT_GRAPH_RANK) != n ||
      numbers(c, 3, stride, FT_GRAPH_RANK) != n)
    return x ? 1 : -1;
  for (int i = 0; i < n && x; i++) {
    int64_t bit = INT64_C(1) << i, at = axis;

    if (dots & bit) {
      int after = 0;

      for (int j = i + 1; j < n; j++)
        after += !(fresh & INT64_C(1) << j);
      axis = of(c, x)->rank - after;
      if (axis < 0)
        return 1;
    } else if (fresh & bit) {
      ft_live_op(c->l, "Unsqueeze");
      ft_live_in(c->l, x);
      ft_live_ints(c->l, "axes", &at, 1);
      x = ft_live_end(c->l, 1);
      axis++;
    } else if (axis >= of(c, x)->rank) {
      return 1;
    } else if (drop & bit) {
      x = pick(c, x, axis, begin[i]);
    } else {
      bool whole = (from & bit) && (to & bit) && stride[i] == 1;

      if (!whole)
        x = ft_live_slice(c->l, x, axis,
                          from & bit ? (stride[i] > 0 ? 0 : INT64_MAX / 2) : begin[i],
                          to & bit ? (stride[i] > 0 ? INT64_MAX / 2 : -(INT64_MAX / 2)) : end[i],
                          stride[i]);
      axis++;
    }
  }
  return give(c, x);
}

static int gather(struct ft_tf_call *c)
{
  uint32_t x = tensor(c, 0), index = tensor(c, 1);
  int64_t axis = 0;

  if (!x || !index)
    return -1;
  (void)numbers(c, 2, &axis, 1);
  ft_live_op(c->l, "Gather");
  ft_live_in(c->l, x);
  ft_live_in(c->l, index);
  ft_live_int(c->l, "axis", axis);
  return give(c, ft_live_end(c->l, 1));
}

/* before and after of each dimension, one pair behind the other */
static int pad(struct ft_tf_call *c)
{
  int64_t given[2 * FT_GRAPH_RANK], pads[2 * FT_GRAPH_RANK];
  int n = numbers(c, 1, given, 2 * FT_GRAPH_RANK) / 2;
  uint32_t x = tensor(c, 0), list;

  if (!x || n < 1)
    return x ? 1 : -1;
  for (int i = 0; i < n; i++) {
    pads[i] = given[2 * i];
    pads[n + i] = given[2 * i + 1];
  }
  list = ft_live_list(c->l, pads, 2 * (size_t)n);
  return give(c, list ? ft_live_binary(c->l, "Pad", x, list) : 0);
}

static int fill(struct ft_tf_call *c)
{
  int64_t dims[FT_GRAPH_RANK];
  double values[FT_GRAPH_VALUES];
  const struct ft_tensor *t;
  int n = numbers(c, 0, dims, FT_GRAPH_RANK);
  int64_t count = 1;
  uint32_t x = tensor(c, 1);

  if (!x || n < 0)
    return x ? 1 : -1;
  t = of(c, x);
  for (int i = 0; i < n; i++) {
    if (dims[i] < 0 || dims[i] > FT_GRAPH_DIMENSION)
      return ft_live_fail(c->l, "Fill: a size of %lld", (long long)dims[i]);
    count = ft_times(count, dims[i]);
  }
  for (int64_t i = 0; i < count && i < FT_GRAPH_VALUES; i++)
    values[i] = t->values ? t->values[0] : (double)NAN;
  x = ft_live_constant(c->l, t->element, n, dims, count <= FT_GRAPH_VALUES ? values : NULL);
  if (x && n > 1) /* a state to begin with: as large as what is fed */
    of(c, x)->data = true;
  return give(c, x);
}

static int resize(struct ft_tf_call *c)
{
  int64_t size[2], all[4];
  uint32_t x = tensor(c, 0);

  if (!x || of(c, x)->rank != 4 || numbers(c, 1, size, 2) != 2)
    return x ? 1 : -1;
  memcpy(all, of(c, x)->dims, sizeof all);
  all[1] = size[0];
  all[2] = size[1];
  return give(c, ft_live_resize(c->l, x, all, 4));
}

/* Whether AXES are all those that a picture extends in. */
static bool over_pictures(struct ft_tf_call *c, uint32_t x, const int64_t *list, int n)
{
  int rank = of(c, x)->rank;

  for (int i = 0; i < n; i++)
    if ((list[i] < 0 ? list[i] + rank : list[i]) != i + 1)
      return false;
  return rank >= 4 && n == rank - 2 && is(c, "Mean");
}

static int reduce(struct ft_tf_call *c, const char *type)
{
  int64_t list[FT_GRAPH_RANK];
  bool keep = ft_tf_integer(c->node, "keep_dims", ft_tf_integer(c->node, "keepdims", 0)) != 0;
  uint32_t x = tensor(c, 0);
  int n = numbers(c, 1, list, FT_GRAPH_RANK);

  if (!x || n < 0)
    return x ? 1 : -1;
  if (n == 0)
    return give(c, ft_live_unary(c->l, "Identity", x));
  if (over_pictures(c, x, list, n)) {
    ft_live_op(c->l, "GlobalAveragePool");
    ft_live_in(c->l, x);
    ft_live_string(c->l, "layout", "NHWC");
    x = ft_live_end(c->l, 1);
    return keep ? give(c, x) : axes(c, "Squeeze", x, list, (size_t)n);
  }
  ft_live_op(c->l, type);
  ft_live_in(c->l, x);
  ft_live_ints(c->l, "axes", list, (size_t)n);
  ft_live_int(c->l, "keepdims", keep);
  return give(c, ft_live_end(c->l, 1));
}

static int arg(struct ft_tf_call *c, const char *type)
{
  uint32_t x = tensor(c, 0);
  int64_t axis = 0;

  if (!x)
    return -1;
  (void)numbers(c, 1, &axis, 1);
  ft_live_op(c->l, type);
  ft_live_in(c->l, x);
  ft_live_int(c->l, "axis", axis);
  ft_live_int(c->l, "keepdims", 0);
  return give(c, ft_live_end(c->l, 1));
}

static int cast(struct ft_tf_call *c)
{
  uint32_t x = tensor(c, 0);

  return give(c, x ? ft_live_cast(c->l, x, ft_tf_element(ft_tf_integer(c->node, "DstT", 0))) : 0);
}

static int three(struct ft_tf_call *c, const char *type)
{
  return many(c, type, 0, c->in_count < 3 ? c->in_count : 3) < 0 ? -1
                                                                  : give(c, ft_live_end(c->l, 1));
}

/* Blocks in space are what batches are made of, and back: a dilated convolution of old. */
static int space_batch(struct ft_tf_call *c, bool to_batch)
{
  int64_t block[8], pads[16], dims[FT_GRAPH_RANK], all = 1;
  int n = numbers(c, 1, block, 8);
  uint32_t x = tensor(c, 0);

  if (!x || n < 1 || numbers(c, 2, pads, 16) != 2 * n || of(c, x)->rank <= n)
    return x ? 1 : -1;
  memcpy(dims, of(c, x)->dims, (size_t)of(c, x)->rank * sizeof *dims);
  for (int i = 0; i < n; i++) {
    int64_t more = pads[2 * i] + pads[2 * i + 1];

    if (block[i] < 1 || block[i] > 1 << 20 || more < 0 || more > FT_GRAPH_DIMENSION)
      return ft_live_fail(c->l, "%s: blocks of %lld", c->node->op, (long long)block[i]);
    all = ft_times(all, block[i]);
    dims[i + 1] = to_batch ? (dims[i + 1] + more) / block[i] : ft_times(dims[i + 1], block[i]) - more;
  }
  dims[0] = to_batch ? ft_times(dims[0], all) : dims[0] / (all ? all : 1);
  x = ft_live_unary(c->l, "ReverseSequence", x); /* a copy in another order */
  if (x) {
    int rank = of(c, x)->rank;
    int64_t *to = ft_shape(c->l->in, of(c, x), rank);

    if (!to)
      return -1;
    memcpy(to, dims, (size_t)rank * sizeof *to);
  }
  return give(c, x);
}

/* ---- lists of tensors: what loops keep their steps in ---- */

static int list_operator(struct ft_tf_call *c)
{
  const struct ft_operand *list = operand(c, 0);
  struct ft_operand made;
  int64_t at;

  if (is(c, "TensorListReserve") || is(c, "EmptyTensorList")) {
    made = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
    return c->l->failed ? -1 : ft_tf_give(c, made);
  }
  if (is(c, "TensorListFromTensor")) { /* its steps are taken when they are asked for */
    made = ft_value_list(c->l, FT_VALUE_TUPLE, list, 1);
    return c->l->failed ? -1 : ft_tf_give(c, made);
  }
  if ((list->type != FT_VALUE_LIST && list->type != FT_VALUE_TUPLE) ||
      (is(c, "TensorListGetItem") && numbers(c, 1, &at, 1) != 1))
    return 1;
  if (is(c, "TensorListGetItem")) {
    if (list->type == FT_VALUE_LIST)
      return at >= 0 && (size_t)at < list->list->count ? ft_tf_give(c, list->list->items[at]) : 1;
    uint32_t x = ft_value_as_tensor(c->l, &list->list->items[0]);

    return x && of(c, x)->rank > 0 ? give(c, pick(c, x, 0, at)) : 1;
  }
  if (is(c, "TensorListSetItem") || is(c, "TensorListPushBack")) {
    bool placed = is(c, "TensorListSetItem") && numbers(c, 1, &at, 1) == 1;

    if (list->type != FT_VALUE_LIST || (!placed && is(c, "TensorListSetItem")))
      return 1;
    at = placed ? at : (int64_t)list->list->count;
    if (at < 0 || at > FT_LIVE_OPERATORS)
      return ft_live_fail(c->l, "element %lld of a list", (long long)at);
    while ((int64_t)list->list->count <= at)
      if (ft_value_append(c->l, list->list, ft_value_some(FT_VALUE_OPAQUE)) < 0)
        return -1;
    list->list->items[at] = *operand(c, placed ? 2 : 1);
    return ft_tf_give(c, *list);
  }
  if (is(c, "TensorListStack"))
    return list->type == FT_VALUE_TUPLE  ? ft_tf_give(c, list->list->items[0])
           : list->list->count == 0      ? 1
                                         : give(c, stack(c, list->list->items, list->list->count, 0));
  return 1;
}

/* ---- all of them ---- */

static const struct {
  const char *op, *type;
} unaries[] = {
  { "Abs", "Abs" }, { "Acos", "Acos" }, { "Asin", "Asin" }, { "Atan", "Atan" },
  { "Ceil", "Ceil" }, { "Cos", "Cos" }, { "Cosh", "Cosh" }, { "Cumsum", "CumSum" },
  { "Elu", "Elu" }, { "Erf", "Erf" }, { "Erfc", "Erf" }, { "Exp", "Exp" }, { "Expm1", "Exp" },
  { "Floor", "Floor" }, { "IsInf", "IsInf" }, { "IsNan", "IsNaN" }, { "L2Loss", "ReduceSumSquare" },
  { "LRN", "LRN" }, { "LeakyRelu", "LeakyRelu" }, { "Log", "Log" }, { "Log1p", "Log" },
  { "LogSoftmax", "LogSoftmax" }, { "LogicalNot", "Not" }, { "MatrixBandPart", "Trilu" },
  { "Neg", "Neg" }, { "Reciprocal", "Reciprocal" }, { "Relu", "Relu" }, { "Relu6", "Clip" },
  { "ReverseSequence", "ReverseSequence" }, { "ReverseV2", "ReverseSequence" },
  { "Rint", "Round" }, { "Round", "Round" }, { "Rsqrt", "Reciprocal" }, { "Selu", "Selu" },
  { "Shape", "Shape" }, { "Sigmoid", "Sigmoid" }, { "Sign", "Sign" }, { "Sin", "Sin" },
  { "Sinh", "Sinh" }, { "Size", "Size" }, { "Softmax", "Softmax" }, { "Softplus", "Softplus" },
  { "Softsign", "Softsign" }, { "Sqrt", "Sqrt" }, { "Square", "Mul" }, { "Tan", "Tan" },
  { "Tanh", "Tanh" }, { "Where", "NonZero" }, { "ZerosLike", "RandomNormalLike" },
  { "OnesLike", "RandomNormalLike" }, { "ClipByValue", "Clip" }, { "Quantize", "QuantizeLinear" },
}, binaries[] = {
  { "Add", "Add" }, { "AddV2", "Add" }, { "BiasAdd", "Add" }, { "BitwiseAnd", "BitwiseAnd" },
  { "BroadcastTo", "Expand" }, { "Div", "Div" }, { "DivNoNan", "Div" }, { "Equal", "Equal" },
  { "FloorDiv", "Div" }, { "FloorMod", "Mod" }, { "GatherNd", "GatherND" }, { "Greater", "Greater" },
  { "GreaterEqual", "GreaterOrEqual" }, { "Less", "Less" }, { "LessEqual", "LessOrEqual" },
  { "LogicalAnd", "And" }, { "LogicalOr", "Or" }, { "Maximum", "Max" }, { "Minimum", "Min" },
  { "Mod", "Mod" }, { "Mul", "Mul" }, { "NotEqual", "Equal" }, { "Pow", "Pow" }, { "RealDiv", "Div" },
  { "SquaredDifference", "Sub" }, { "Sub", "Sub" }, { "Tile", "Tile" }, { "TruncateDiv", "Div" },
  { "Xdivy", "Div" },
}, reductions[] = {
  { "All", "ReduceMin" }, { "Any", "ReduceMax" }, { "Max", "ReduceMax" }, { "Mean", "ReduceMean" },
  { "Min", "ReduceMin" }, { "Prod", "ReduceProd" }, { "Sum", "ReduceSum" },
};

#define IN(table) (sizeof(table) / sizeof *(table))

/* What passes its first input on. */
static const char *const passed[] = {
  "BatchFunction", "CheckNumerics", "DisableCopyOnRead", "EnsureShape", "Enter", "Exit", "Identity",
  "IdentityN", "LoopCond", "Merge", "PlaceholderWithDefault", "PreventGradient", "ReadVariableOp",
  "Snapshot", "StopGradient", "Switch", "FakeQuantWithMinMaxVars", NULL
};
static const char *const silent[] = { "Assert", "AssignVariableOp", "NoOp", "Print", "PrintV2",
                                      "VarIsInitializedOp", NULL };

static int by_table(struct ft_tf_call *c)
{
  for (size_t i = 0; i < IN(unaries); i++)
    if (is(c, unaries[i].op)) {
      uint32_t x = tensor(c, 0);

      return give(c, x ? ft_live_unary(c->l, unaries[i].type, x) : 0);
    }
  if ((is(c, "BiasAdd") || is(c, "Add") || is(c, "AddV2")) && take_in(c))
    return ft_tf_give(c, *operand(c, 0));
  for (size_t i = 0; i < IN(binaries); i++)
    if (is(c, binaries[i].op)) {
      uint32_t a = tensor(c, 0), b = tensor(c, 1);

      if (is(c, "BiasAdd") && channels_first(c) && a && b && of(c, a)->rank > 2) {
        int64_t dims[FT_GRAPH_RANK] = { of(c, b)->rank == 1 ? of(c, b)->dims[0] : 1 };

        for (int j = 1; j < of(c, a)->rank - 1; j++)
          dims[j] = 1;
        b = ft_live_reshape(c->l, b, dims, of(c, a)->rank - 1);
      }
      return give(c, a && b ? ft_live_binary(c->l, binaries[i].type, a, b) : 0);
    }
  for (size_t i = 0; i < IN(reductions); i++)
    if (is(c, reductions[i].op))
      return reduce(c, reductions[i].type);
  return 1;
}

static int by_shape(struct ft_tf_call *c)
{
  static const struct {
    const char *op;
    int (*run)(struct ft_tf_call *c);
  } table[] = {
    { "AvgPool", pool }, { "AvgPool3D", pool }, { "BatchMatMul", batch_product },
    { "BatchMatMulV2", batch_product }, { "BatchMatMulV3", batch_product }, { "Cast", cast },
    { "Concat", concat }, { "ConcatV2", concat }, { "Conv2D", convolution },
    { "Conv2DBackpropInput", transposed }, { "Conv3D", convolution },
    { "Conv3DBackpropInputV2", transposed }, { "DepthwiseConv2dNative", depthwise },
    { "Einsum", einsum }, { "ExpandDims", expand_dims }, { "Fill", fill },
    { "FusedBatchNorm", batch_norm }, { "FusedBatchNormV2", batch_norm },
    { "FusedBatchNormV3", batch_norm }, { "Gather", gather }, { "GatherV2", gather },
    { "MatMul", product }, { "MaxPool", pool }, { "MaxPool3D", pool }, { "MirrorPad", pad },
    { "Pack", pack }, { "Pad", pad }, { "PadV2", pad }, { "Reshape", reshape },
    { "ResizeBicubic", resize }, { "ResizeBilinear", resize }, { "ResizeNearestNeighbor", resize },
    { "ResourceGather", gather }, { "Slice", slice }, { "Split", split }, { "SplitV", split },
    { "Squeeze", squeeze }, { "StridedSlice", strided_slice }, { "Transpose", transpose },
    { "Unpack", unpack } };

  for (size_t i = 0; i < IN(table); i++)
    if (is(c, table[i].op))
      return table[i].run(c);
  return 1;
}

/* Those that a handful of lines is enough for. */
static int by_hand(struct ft_tf_call *c)
{
  uint32_t x, y;

  if (strncmp(c->node->op, "TensorList", 10) == 0 || is(c, "EmptyTensorList"))
    return list_operator(c);
  if (is(c, "ArgMax") || is(c, "ArgMin"))
    return arg(c, c->node->op);
  if (is(c, "Select") || is(c, "SelectV2"))
    return three(c, "Where");
  if (is(c, "Range"))
    return three(c, "Range");
  if (is(c, "OneHot"))
    return three(c, "OneHot");
  if (is(c, "SpaceToBatchND") || is(c, "BatchToSpaceND"))
    return space_batch(c, is(c, "SpaceToBatchND"));
  if (is(c, "AddN"))
    return many(c, "Sum", 0, c->in_count) < 0 ? -1 : give(c, ft_live_end(c->l, 1));
  if (is(c, "Rank")) {
    x = tensor(c, 0);
    return give(c, x ? ft_live_number(c->l, FT_ELEMENT_INT64,
                                      of(c, x)->rank < 0 ? (double)NAN : of(c, x)->rank)
                     : 0);
  }
  if (is(c, "TopKV2") || is(c, "TopK")) {
    x = tensor(c, 0);
    y = tensor(c, 1);
    if (!x || !y)
      return -1;
    ft_live_op(c->l, "TopK");
    ft_live_in(c->l, x);
    ft_live_in(c->l, y);
    return give_many(c, ft_live_end(c->l, 2), 2);
  }
  if (is(c, "DepthToSpace") || is(c, "SpaceToDepth")) {
    x = tensor(c, 0);
    if (!x)
      return -1;
    ft_live_op(c->l, c->node->op);
    ft_live_in(c->l, x);
    ft_live_int(c->l, "blocksize", ft_tf_integer(c->node, "block_size", 1));
    if (!channels_first(c))
      ft_live_string(c->l, "layout", "NHWC");
    return give(c, ft_live_end(c->l, 1));
  }
  return 1;
}

static int unknown(struct ft_tf_call *c)
{
  uint32_t *in = ft_live_take(c->l, (c->in_count + 1) * sizeof *in);
  const struct ft_tf_attribute *shape = ft_tf_attribute(c->node, "_output_shapes");
  size_t count = 0;
  uint32_t y;

  for (size_t i = 0; in && i < c->in_count; i++)
    if (ft_value_is_tensor(&c->in[i])) {
      in[count] = ft_value_as_tensor(c->l, &c->in[i]);
      if (!in[count++])
        return -1;
    }
  if (!in)
    return -1;
  ft_live_unknown(c->l, "tensorflow", c->node->op);
  for (size_t i = 0; i < count; i++)
    ft_live_in(c->l, in[i]);
  y = ft_live_end(c->l, 1);
  if (y && shape && shape->shape && shape->shape->rank >= 0) {
    int64_t *dims = ft_shape(c->l->in, of(c, y), shape->shape->rank);

    if (!dims)
      return -1;
    memcpy(dims, shape->shape->dims, (size_t)shape->shape->rank * sizeof *dims);
  }
  return give(c, y);
}

int ft_tensorflow_node(struct ft_tf_call *c)
{
  int status = 1;

  for (size_t i = 0; passed[i]; i++)
    if (is(c, passed[i])) {
      for (size_t j = 0; j < c->in_count; j++)
        if (ft_tf_give(c, c->in[j]) < 0)
          return -1;
      if (is(c, "Switch") && c->in_count > 1) /* what is passed on, on either side */
        c->out[1] = c->out[0];
      return 0;
    }
  for (size_t i = 0; silent[i]; i++)
    if (is(c, silent[i]))
      return 0;
  status = by_table(c);
  status = status == 1 ? by_shape(c) : status;
  status = status == 1 ? by_hand(c) : status;
  if (status == 1) {
    c->out_count = 0;
    status = unknown(c);
  }
  return c->l->failed ? -1 : status;
}
