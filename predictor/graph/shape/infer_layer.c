/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shape rules of layers: convolution, pooling, products, normalisation, recurrence, losses. */
#include "config.h"

#include <string.h>

#include "predictor/graph/shape/infer.h"

/* A window over each spatial dimension, in elements (onnx, Operators.md: Conv, MaxPool). */
struct window {
  ft_dim kernel[FT_GRAPH_RANK];
  int64_t stride[FT_GRAPH_RANK], dilation[FT_GRAPH_RANK];
  int64_t before[FT_GRAPH_RANK], after[FT_GRAPH_RANK]; /* padding */
  int64_t extra[FT_GRAPH_RANK];                        /* output_padding of ConvTranspose */
  bool same;                                           /* auto_pad is SAME_UPPER or SAME_LOWER */
  bool ceiling;                                        /* ceil_mode */
};

/* Reads N integers, from LEAST to 2^40, from attribute NAME into OUT; all are OTHERWISE if it is
 * absent. Returns 0; -1 with the error. */
static int per_dimension(struct ft_infer *in, const char *name, int n, int64_t otherwise,
                         int64_t least, int64_t *out)
{
  int count = ft_list(in, name, -1, out, FT_GRAPH_RANK);

  for (int i = 0; count < 0 && i < n; i++)
    out[i] = otherwise;
  if (count >= 0 && count != n)
    return ft_contradiction(in, "%s has %d numbers for %d dimensions", name, count, n);
  for (int i = 0; i < n; i++)
    if (out[i] < least || out[i] > FT_GRAPH_DIMENSION)
      return ft_contradiction(in, "%s of %lld: expected %lld to 2^40", name, (long long)out[i],
                              (long long)least);
  return 0;
}

/* Reads the window over N spatial dimensions, without its kernel. Returns 0; -1 with the error. */
static int read_onnx_window(struct ft_infer *in, int n, struct window *w)
{
  const struct ft_attribute *a = ft_attribute(in->op, "auto_pad");
  int64_t pads[2 * FT_GRAPH_RANK];
  int count = ft_list(in, "pads", -1, pads, 2 * FT_GRAPH_RANK);

  w->same = a && (strcmp(a->string, "SAME_UPPER") == 0 || strcmp(a->string, "SAME_LOWER") == 0);
  w->ceiling = ft_integer(in->op, "ceil_mode", 0) != 0;
  if (count >= 0 && count != 2 * n)
    return ft_contradiction(in, "pads has %d numbers for %d dimensions", count, n);
  for (int i = 0; i < n; i++) {
    w->before[i] = count < 0 || w->same ? 0 : pads[i];
    w->after[i] = count < 0 || w->same ? 0 : pads[n + i];
    if (w->before[i] < -FT_GRAPH_DIMENSION || w->before[i] > FT_GRAPH_DIMENSION ||
        w->after[i] < -FT_GRAPH_DIMENSION || w->after[i] > FT_GRAPH_DIMENSION)
      return ft_contradiction(in, "pads of more than 2^40");
  }
  return per_dimension(in, "strides", n, 1, 1, w->stride) < 0 ||
                 per_dimension(in, "dilations", n, 1, 1, w->dilation) < 0 ||
                 per_dimension(in, "output_padding", n, 0, 0, w->extra) < 0
             ? -1
             : 0;
}

/* Returns the extent of a dilated window; unknown for an empty kernel. */
static ft_dim window_span(ft_dim kernel, int64_t dilation)
{
  return ft_dim_plus(ft_dim_times(ft_dim_minus(kernel, ft_dim_of(1)), ft_dim_of(dilation)),
                     ft_dim_of(1));
}

/* Returns the number of windows along spatial dimension I, of size DIM. */
static ft_dim window_positions(const struct window *w, int i, ft_dim dim)
{
  int64_t size, span, room;

  if (!ft_dim_get(dim, &size) || !ft_dim_get(window_span(w->kernel[i], w->dilation[i]), &span))
    return FT_DIM_UNKNOWN;
  if (w->same)
    return ft_dim_of((size + w->stride[i] - 1) / w->stride[i]);
  room = size + w->before[i] + w->after[i] - span;
  if (room < 0)
    return ft_dim_of(0);
  if (w->ceiling) {
    int64_t steps = (room + w->stride[i] - 1) / w->stride[i];

    /* the last window must begin inside the data (PyTorch, and onnx since 1.13) */
    if (steps * w->stride[i] >= size + w->before[i])
      steps--;
    return ft_dim_of(steps + 1);
  }
  return ft_dim_of(room / w->stride[i] + 1);
}

/* Sets Y's spatial dimensions to the number of windows over X. Returns 0; -1 with the error. */
static int set_window_positions(struct ft_infer *in, const struct ft_tensor *x,
                                const struct window *w, struct ft_tensor *y)
{
  for (int i = 0; i < x->rank - 2; i++) {
    y->dims[i + 2] = window_positions(w, i, x->dims[i + 2]);
    if (ft_dim_is(y->dims[i + 2], 0) && !ft_dim_is(x->dims[i + 2], 0))
      return ft_contradiction(in, "a window of %lld over %lld: the input is too small",
                              ft_dim_shown(w->kernel[i]), ft_dim_shown(x->dims[i + 2]));
  }
  return 0;
}

/* Whether the data is (batch, spatial, channels): TensorFlow's layout, an option of ONNX
 * Runtime. */
static bool channels_last(const struct ft_infer *in)
{
  const struct ft_attribute *a = ft_attribute(in->op, "layout");

  return (a && a->type == FT_ATTRIBUTE_STRING && strcmp(a->string, "NHWC") == 0) ||
         ft_integer(in->op, "channels_last", 0) == 1 || strncmp(in->op->type, "Nhwc", 4) == 0;
}

/* Returns X as (batch, channels, spatial): X itself, or COPY with the dimensions DIMS
 * (FT_GRAPH_RANK). */
static const struct ft_tensor *channels_first(const struct ft_infer *in, const struct ft_tensor *x,
                                              struct ft_tensor *copy, ft_dim *dims)
{
  if (!x || x->rank < 3 || !channels_last(in))
    return x;
  *copy = *x;
  copy->dims = dims;
  dims[0] = x->dims[0];
  dims[1] = x->dims[x->rank - 1];
  memcpy(dims + 2, x->dims + 1, (size_t)(x->rank - 2) * sizeof *dims);
  return copy;
}

/* Permutes Y back to the channel order of the input. Returns STATUS. */
static int restore_channel_order(const struct ft_infer *in, struct ft_tensor *y, int status)
{
  ft_dim channels;

  if (status < 0 || y->rank < 3 || !channels_last(in))
    return status;
  channels = y->dims[1];
  memmove(y->dims + 1, y->dims + 2, (size_t)(y->rank - 2) * sizeof *y->dims);
  y->dims[y->rank - 1] = channels;
  return status;
}

/* Checks the ranks of input X and filters K. Returns 1; 0 if one is unknown; -1 with the error. */
static int check_filter_rank(struct ft_infer *in, const struct ft_tensor *x,
                             const struct ft_tensor *k)
{
  if (!x || !k || x->rank < 0 || k->rank < 0)
    return 0;
  if (x->rank < 3 || k->rank != x->rank)
    return ft_contradiction(in, "an input of %d dimensions and filters of %d", x->rank, k->rank);
  return 1;
}

/* Convolution of X, input 0, with filters (output channels, input channels of a group, kernel). */
int ft_infer_conv(struct ft_infer *in)
{
  ft_dim dims[FT_GRAPH_RANK], channels;
  struct ft_tensor turned;
  unsigned weight = in->op->kind->weight;
  const struct ft_tensor *x = ft_input(in, 0), *k = ft_input(in, weight);
  int64_t group = ft_integer(in->op, "group", 1);
  struct ft_tensor *y = ft_output(in, 0);
  int known = check_filter_rank(in, x, k);
  struct window w;

  if (known <= 0)
    return known;
  x = channels_first(in, x, &turned, dims);
  if (group < 1 || group > FT_GRAPH_DIMENSION)
    return ft_contradiction(in, "%lld groups", (long long)group);
  channels = ft_dim_times(k->dims[1], ft_dim_of(group));
  /* the NCHWc layout pads channels to whole blocks */
  if (ft_dim_differ(x->dims[1], channels) && strcmp(in->op->domain, "com.microsoft.nchwc") != 0)
    return ft_contradiction(in, "%lld channels, but filters for %lld", ft_dim_shown(x->dims[1]),
                            ft_dim_shown(channels));
  if (read_onnx_window(in, x->rank - 2, &w) < 0 || !ft_shape(in, y, x->rank))
    return -1;
  memcpy(w.kernel, k->dims + 2, (size_t)(x->rank - 2) * sizeof *w.kernel);
  y->dims[0] = x->dims[0];
  y->dims[1] = k->dims[0];
  if (ft_operator_is(in->op, FT_OP_ConvInteger))
    y->element = FT_ELEMENT_INT32;
  return restore_channel_order(in, y, set_window_positions(in, x, &w, y));
}

/* Transposed convolution: output_shape, else the input size x stride with auto_pad, else (size - 1)
 * x stride + window + output_padding - pads. */
int ft_infer_conv_transpose(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *k = ft_input(in, 1);
  int64_t group = ft_integer(in->op, "group", 1), sizes[FT_GRAPH_RANK];
  struct ft_tensor *y = ft_output(in, 0), turned;
  ft_dim dims[FT_GRAPH_RANK];
  int given, known = check_filter_rank(in, x, k);
  struct window w;

  if (known <= 0)
    return known;
  x = channels_first(in, x, &turned, dims);
  if (read_onnx_window(in, x->rank - 2, &w) < 0 || !ft_shape(in, y, x->rank))
    return -1;
  y->dims[0] = x->dims[0];
  y->dims[1] = ft_dim_times(k->dims[1], ft_dim_of(group));
  given = ft_list(in, "output_shape", -1, sizes, FT_GRAPH_RANK);
  for (int i = 0; i < x->rank - 2; i++) {
    ft_dim stride = ft_dim_of(w.stride[i]), last = ft_dim_minus(x->dims[i + 2], ft_dim_of(1));
    ft_dim full =
        ft_dim_plus(ft_dim_times(last, stride), window_span(k->dims[i + 2], w.dilation[i]));
    int64_t size = -1;

    if (given >= x->rank - 2)
      size = sizes[i + given - (x->rank - 2)];
    else if (w.same)
      size = ft_dim_or(ft_dim_times(x->dims[i + 2], stride), -1);
    else if (ft_dim_get(full, &size))
      size += w.extra[i] - w.before[i] - w.after[i];
    if (ft_set_dims(in, y, i + 2, &size, 1) < 0)
      return -1;
  }
  return restore_channel_order(in, y, 0);
}

int ft_infer_pool(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0), turned;
  int64_t kernel[FT_GRAPH_RANK];
  ft_dim dims[FT_GRAPH_RANK];
  struct window w;

  if (!x || x->rank < 0)
    return 0;
  if (x->rank < 3)
    return ft_contradiction(in, "an input of %d dimensions", x->rank);
  x = channels_first(in, x, &turned, dims);
  if (read_onnx_window(in, x->rank - 2, &w) < 0 ||
      per_dimension(in, "kernel_shape", x->rank - 2, 1, 1, kernel) < 0 || !ft_shape(in, y, x->rank))
    return -1;
  for (int i = 0; i < x->rank - 2; i++)
    w.kernel[i] = ft_dim_of(kernel[i]);
  y->dims[0] = x->dims[0];
  y->dims[1] = x->dims[1];
  if (restore_channel_order(in, y, set_window_positions(in, x, &w, y)) < 0)
    return -1;
  ft_output(in, 1)->element = FT_ELEMENT_INT64; /* indices of the maxima */
  return in->op->output_count > 1 ? ft_like(in, ft_output(in, 1), y) : 0;
}

int ft_infer_global_pool(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  if (ft_like(in, y, x) < 0)
    return -1;
  for (int i = channels_last(in) ? 1 : 2; i < y->rank - channels_last(in); i++)
    y->dims[i] = ft_dim_of(1);
  return 0;
}

int ft_infer_batch_norm(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);

  if (ft_like(in, ft_output(in, 0), x) < 0)
    return -1;
  for (unsigned i = 1; i < in->op->output_count; i++)
    if (ft_like(in, ft_output(in, i), ft_input(in, 1)) < 0)
      return -1;
  return 0;
}

/* Optional outputs, mean and inverse deviation, have size 1 from the normalised axis on. */
int ft_infer_norm(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  int axis;

  if (!x || x->rank < 0)
    return 0;
  if (ft_like(in, ft_output(in, 0), x) < 0)
    return -1;
  if (in->op->output_count < 2)
    return 0;
  axis = ft_axis(in, ft_integer(in->op, "axis", -1), x->rank);
  if (axis < 0)
    return -1;
  for (unsigned i = 1; i < in->op->output_count; i++) {
    if (ft_like(in, ft_output(in, i), x) < 0)
      return -1;
    for (int j = axis; j < x->rank; j++)
      ft_output(in, i)->dims[j] = ft_dim_of(1);
  }
  return 0;
}

int ft_matmul_shape(struct ft_infer *in, const struct ft_tensor *a, const struct ft_tensor *b,
                    ft_dim rows, ft_dim columns)
{
  struct ft_tensor front_a = { .dims = a->dims, .rank = a->rank > 2 ? a->rank - 2 : 0 },
                   front_b = { .dims = b->dims, .rank = b->rank > 2 ? b->rank - 2 : 0 };
  ft_dim dims[FT_GRAPH_RANK];
  int rank = ft_broadcast(in, &front_a, &front_b, dims);

  if (rank < 0)
    return -1;
  if (a->rank > 1)
    dims[rank++] = rows;
  if (b->rank > 1)
    dims[rank++] = columns;
  if (!ft_shape(in, ft_output(in, 0), rank))
    return -1;
  memcpy(ft_output(in, 0)->dims, dims, (size_t)rank * sizeof *dims);
  return 0;
}

/* MatMul, as numpy.matmul: leading dimensions are broadcast, a vector's dimension disappears. */
int ft_infer_matmul(struct ft_infer *in)
{
  const struct ft_tensor *a = ft_input(in, 0), *b = ft_input(in, in->op->kind->weight);
  ft_dim inner_a, inner_b;

  if (!a || !b || a->rank < 0 || b->rank < 0)
    return 0;
  if (a->rank == 0 || b->rank == 0)
    return ft_contradiction(in, "a product with a scalar");
  inner_a = a->dims[a->rank - 1];
  inner_b = b->dims[b->rank > 1 ? b->rank - 2 : 0];
  if (ft_dim_differ(inner_a, inner_b)) {
    char one[128], other[128];

    return ft_contradiction(in, "%s times %s: %lld and %lld", ft_tensor_show(a, one, sizeof one),
                            ft_tensor_show(b, other, sizeof other), ft_dim_shown(inner_a),
                            ft_dim_shown(inner_b));
  }
  if (ft_matmul_shape(in, a, b, a->dims[a->rank > 1 ? a->rank - 2 : 0], b->dims[b->rank - 1]) < 0)
    return -1;
  if (ft_operator_is(in->op, FT_OP_MatMulInteger))
    ft_output(in, 0)->element = FT_ELEMENT_INT32;
  return 0;
}

int ft_infer_product(struct ft_infer *in, const struct ft_tensor *a, const struct ft_tensor *b)
{
  int trans_a = ft_integer(in->op, "transA", 0) != 0,
      trans_b = ft_integer(in->op, "transB", 0) != 0;
  struct ft_tensor *y = ft_output(in, 0);

  if (ft_dim_differ(a->dims[!trans_a], b->dims[trans_b]))
    return ft_contradiction(in, "%lld columns times %lld rows", ft_dim_shown(a->dims[!trans_a]),
                            ft_dim_shown(b->dims[trans_b]));
  if (!ft_shape(in, y, 2))
    return -1;
  y->dims[0] = a->dims[trans_a];
  y->dims[1] = b->dims[!trans_b];
  return 0;
}

int ft_infer_gemm(struct ft_infer *in)
{
  const struct ft_tensor *a = ft_input(in, 0), *b = ft_input(in, 1);

  if (!a || !b || a->rank < 0 || b->rank < 0)
    return 0;
  if (a->rank != 2 || b->rank != 2)
    return ft_contradiction(in, "expected two matrices, found %d and %d dimensions", a->rank,
                            b->rank);
  return ft_infer_product(in, a, b);
}

/* ONNX's LSTM, GRU and RNN, of one or two directions, in both layouts. Outputs: the hidden state of
 * each step, the last hidden state, LSTM's last cell state. */
int ft_infer_recurrent(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *r = ft_input(in, 2);
  bool batch_first = ft_integer(in->op, "layout", 0) != 0;
  ft_dim hidden, directions, sequence, batch;

  if (!x || !r || x->rank < 0 || r->rank < 0)
    return 0;
  if (x->rank != 3 || r->rank != 3)
    return ft_contradiction(in, "expected 3 dimensions, found %d and %d", x->rank, r->rank);
  /* DynamicQuantizeLSTM has R transposed: (directions, hidden, gates x hidden) */
  hidden = r->dims[ft_operator_is(in->op, FT_OP_DynamicQuantizeLSTM) ? 1 : 2];
  directions = r->dims[0];
  sequence = x->dims[batch_first];
  batch = x->dims[!batch_first];
  if (in->op->output_count && in->op->outputs[0]) {
    ft_dim *dims = ft_shape(in, ft_output(in, 0), 4);

    if (!dims)
      return -1;
    dims[0] = batch_first ? batch : sequence;
    dims[1] = batch_first ? sequence : directions;
    dims[2] = batch_first ? directions : batch;
    dims[3] = hidden;
  }
  for (unsigned i = 1; i < in->op->output_count; i++) {
    ft_dim *dims = ft_shape(in, ft_output(in, i), 3);

    if (!dims)
      return -1;
    dims[0] = batch_first ? batch : directions;
    dims[1] = batch_first ? directions : batch;
    dims[2] = hidden;
  }
  return 0;
}

/* A scalar, or with reduction "none" one loss per label. Output 1 has the shape of input 0. */
int ft_infer_loss(struct ft_infer *in)
{
  const struct ft_attribute *how = ft_attribute(in->op, "reduction");
  const struct ft_tensor *x = ft_input(in, 0), *labels = ft_input(in, 1);
  struct ft_tensor *y = ft_output(in, 0);

  if (!x || !labels || x->rank < 0 || labels->rank < 0)
    return 0;
  if (how && how->string && strcmp(how->string, "none") == 0) {
    if (ft_like(in, y, labels) < 0)
      return -1;
  } else if (!ft_shape(in, y, 0)) {
    return -1;
  }
  y->element = x->element;
  return in->op->output_count > 1 ? ft_like(in, ft_output(in, 1), x) : 0;
}
