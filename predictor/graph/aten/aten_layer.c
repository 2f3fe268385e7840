/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers of ATen: convolution, pooling, normalisation, matrix products. */
#include "config.h"

#include <string.h>

#include "predictor/graph/aten/aten.h"

/* ---- convolution ---- */

struct window {
  int64_t kernel[FT_GRAPH_RANK], stride[FT_GRAPH_RANK], pad[FT_GRAPH_RANK];
  int64_t dilation[FT_GRAPH_RANK], extra[FT_GRAPH_RANK];
  const char *automatic; /* "same" or "valid" instead of pads; NULL: pads */
};

static void put_window(struct ft_tracer *l, const struct window *w, int n)
{
  int64_t pads[2 * FT_GRAPH_RANK];

  ft_tracer_ints(l, "strides", w->stride, (size_t)n);
  ft_tracer_ints(l, "dilations", w->dilation, (size_t)n);
  if (w->automatic && strcmp(w->automatic, "same") == 0) {
    ft_tracer_string(l, "auto_pad", "SAME_UPPER");
    return;
  }
  for (int i = 0; i < n; i++)
    pads[i] = pads[n + i] = w->automatic ? 0 : w->pad[i];
  ft_tracer_ints(l, "pads", pads, 2 * (size_t)n);
}

static int convolve_window(struct ft_call *c, const struct window *w, bool transposed,
                           int64_t groups)
{
  uint32_t x = ft_arg_tensor(c, 0), weight = ft_arg_tensor(c, 1), bias = ft_arg_optional(c, 2);
  int n = weight ? ft_tracer_of(c->l, weight)->rank - 2 : 0;

  if (!x || !weight)
    return -1;
  ft_tracer_op(c->l, transposed ? "ConvTranspose" : "Conv");
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, weight);
  if (bias)
    ft_tracer_in(c->l, bias);
  put_window(c->l, w, n);
  if (transposed)
    ft_tracer_ints(c->l, "output_padding", w->extra, (size_t)n);
  ft_tracer_int(c->l, "group", groups);
  return ft_give(c, ft_tracer_end(c->l, 1));
}

static int read_aten_window(struct ft_call *c, unsigned stride, unsigned pad, unsigned dilation,
                            int n, struct window *w)
{
  const struct ft_operand *p = ft_arg(c, pad, "padding");

  w->automatic = p->type == FT_VALUE_STRING ? p->string : NULL;
  memset(w->extra, 0, sizeof w->extra);
  return ft_arg_each(c, stride, "stride", n, 1, w->stride) < 0 ||
                 (!w->automatic && ft_arg_each(c, pad, "padding", n, 0, w->pad) < 0) ||
                 ft_arg_each(c, dilation, "dilation", n, 1, w->dilation) < 0
             ? -1
             : 0;
}

/* Number of spatial dimensions of a convolution; -1 with the error. */
static int spatial_rank(struct ft_call *c)
{
  int n = ft_arg_rank(c, 1) - 2;

  return n < 1 ? ft_tracer_fail(c->l, "%s: filters of %d dimensions", c->name, n + 2) : n;
}

int ft_aten_conv(struct ft_call *c)
{
  struct window w;
  int n = spatial_rank(c);

  if (n < 0 || read_aten_window(c, 3, 4, 5, n, &w) < 0)
    return -1;
  return convolve_window(c, &w, false, ft_arg_int(c, 6, "groups", 1));
}

int ft_aten_conv_transpose(struct ft_call *c)
{
  struct window w;
  int n = spatial_rank(c);

  if (n < 0 || read_aten_window(c, 3, 4, 7, n, &w) < 0 ||
      ft_arg_each(c, 5, "output_padding", n, 0, w.extra) < 0)
    return -1;
  return convolve_window(c, &w, true, ft_arg_int(c, 6, "groups", 1));
}

/* (x, w, b, stride, padding, dilation, transposed, output_padding, groups); _convolution_mode has
 * neither transposed nor output_padding */
int ft_aten_convolution(struct ft_call *c)
{
  struct window w;
  int n = spatial_rank(c);

  if (n < 0 || read_aten_window(c, 3, 4, 5, n, &w) < 0)
    return -1;
  if (strcmp(c->name, "_convolution_mode") == 0)
    return convolve_window(c, &w, false, ft_arg_int(c, 6, "groups", 1));
  if (ft_arg_each(c, 7, "output_padding", n, 0, w.extra) < 0)
    return -1;
  return convolve_window(c, &w, ft_arg_bool(c, 6, "transposed", false),
                         ft_arg_int(c, 8, "groups", 1));
}

int ft_aten_deform_conv(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), weight = ft_arg_tensor(c, 1), offset = ft_arg_tensor(c, 2);
  uint32_t mask = ft_arg_optional(c, 3), bias = ft_arg_optional(c, 4);
  struct window w = { .automatic = NULL };

  for (int i = 0; i < 2; i++) {
    w.stride[i] = ft_arg_int(c, 5 + (unsigned)i, NULL, 1);
    w.pad[i] = ft_arg_int(c, 7 + (unsigned)i, NULL, 0);
    w.dilation[i] = ft_arg_int(c, 9 + (unsigned)i, NULL, 1);
  }
  if (!x || !weight || !offset)
    return -1;
  ft_tracer_op(c->l, "DeformConv");
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, weight);
  ft_tracer_in(c->l, offset);
  ft_tracer_in(c->l, bias);
  ft_tracer_in(c->l, mask);
  put_window(c->l, &w, 2);
  ft_tracer_int(c->l, "group", ft_arg_int(c, 11, NULL, 1));
  return ft_give(c, ft_tracer_end(c->l, 1));
}

/* ---- pooling ---- */

/* Number of pooled dimensions: the digit before "d" in the name. */
static int named_dimensions(const char *name)
{
  for (const char *p = name; *p; p++)
    if (*p >= '1' && *p <= '3' && p[1] == 'd')
      return *p - '0';
  return 2;
}

/* max_pool(x, kernel, stride = kernel, padding, dilation, ceil_mode), avg_pool(x, kernel, stride,
 * padding, ceil_mode) */
int ft_aten_pool(struct ft_call *c)
{
  bool largest = strcmp(c->type, "MaxPool") == 0;
  bool indexed = strstr(c->name, "indices") != NULL;
  int n = named_dimensions(c->name);
  uint32_t x = ft_arg_tensor(c, 0);
  struct window w = { .automatic = NULL };

  if (!x || ft_arg_each(c, 1, "kernel_size", n, 1, w.kernel) < 0 ||
      ft_arg_each(c, 3, "padding", n, 0, w.pad) < 0)
    return -1;
  memcpy(w.stride, w.kernel, sizeof w.stride);
  if (ft_arg_ints(c, 2, "stride", w.dilation, n) > 0 &&
      ft_arg_each(c, 2, "stride", n, 1, w.stride) < 0)
    return -1;
  for (int i = 0; i < n; i++)
    w.dilation[i] = 1;
  if (largest && ft_arg_each(c, 4, "dilation", n, 1, w.dilation) < 0)
    return -1;
  ft_tracer_op(c->l, c->type);
  ft_tracer_in(c->l, x);
  put_window(c->l, &w, n);
  ft_tracer_ints(c->l, "kernel_shape", w.kernel, (size_t)n);
  ft_tracer_int(c->l, "ceil_mode", ft_arg_bool(c, largest ? 5 : 4, "ceil_mode", false));
  if (indexed) /* the indices of the maxima */
    return ft_give_many(c, ft_tracer_end(c->l, 2), 2);
  return ft_give(c, ft_tracer_end(c->l, 1));
}

/* Computes equal windows that pool DIM to TO. Returns whether there are any. */
static bool adaptive_window(ft_dim dim, ft_dim to, int64_t *kernel, int64_t *stride)
{
  int64_t size, out;

  if (!ft_dim_get(dim, &size) || !ft_dim_get(to, &out) || out < 1 || size < out)
    return false;
  *stride = size / out;
  *kernel = size - (out - 1) * *stride;
  return true;
}

static uint32_t resize_tensor(struct ft_tracer *l, uint32_t x, const ft_dim *sizes, int n)
{
  const struct ft_tensor *t = ft_tracer_of(l, x);
  ft_dim all[FT_GRAPH_RANK];

  for (int i = 0; i < t->rank; i++)
    all[i] = i < t->rank - n ? t->dims[i] : sizes[i - (t->rank - n)];
  return ft_tracer_resize(l, x, all, t->rank);
}

/* adaptive_max_pool(x, sizes), adaptive_avg_pool(x, sizes): global pooling, equal windows, or a
 * resize if windows differ. */
int ft_aten_adaptive_pool(struct ft_call *c)
{
  bool largest = strcmp(c->type, "MaxPool") == 0, ones = true, even = true;
  int n = named_dimensions(c->name), count = 1;
  ft_dim out[FT_GRAPH_RANK];
  uint32_t x = ft_arg_tensor(c, 0), y;
  struct window w = { .automatic = NULL };
  const struct ft_operand *sizes = ft_arg(c, 1, "output_size");
  const struct ft_tensor *t;

  if (!x)
    return -1;
  t = ft_tracer_of(c->l, x);
  if (t->rank <= n)
    return ft_aten_unknown(c);
  if (ft_value_is_list(sizes)) {
    count = (int)sizes->list->count;
    sizes = sizes->list->items;
  }
  if (count != 1 && count != n)
    return ft_tracer_fail(c->l, "%s: %d sizes for %d dimensions", c->name, count, n);
  for (int i = 0; i < n; i++) {
    const struct ft_operand *s = &sizes[count == n ? i : 0];

    out[i] = s->type == FT_VALUE_INT && s->known ? ft_dim_of(s->integer) : t->dims[t->rank - n + i];
    ones = ones && ft_dim_is(out[i], 1);
    even = adaptive_window(t->dims[t->rank - n + i], out[i], &w.kernel[i], &w.stride[i]) && even;
    w.dilation[i] = 1;
  }
  if (!ones && !even) {
    y = resize_tensor(c->l, x, out, n);
    return largest ? ft_give_first(c, y, 1) : ft_give(c, y);
  }
  ft_tracer_op(c->l, !ones ? c->type : largest ? "GlobalMaxPool" : "GlobalAveragePool");
  ft_tracer_in(c->l, x);
  if (!ones) {
    put_window(c->l, &w, n);
    ft_tracer_ints(c->l, "kernel_shape", w.kernel, (size_t)n);
  }
  y = ft_tracer_end(c->l, 1);
  return largest ? ft_give_first(c, y, 1) : ft_give(c, y);
}

/* ---- normalisation ---- */

/* Sets the result to Y, and unless the call is PLAIN to statistics whose sizes are never read. */
static int give_statistics(struct ft_call *c, uint32_t y, const char *plain)
{
  if (strcmp(c->name, plain) == 0)
    return ft_give(c, y);
  return ft_give_first(c, y, 4);
}

int ft_aten_batch_norm(struct ft_call *c)
{
  uint32_t in[5];

  for (unsigned i = 0; i < 5; i++) {
    in[i] = i ? ft_arg_optional(c, i) : ft_arg_tensor(c, 0);
    if (c->l->failed || !in[0])
      return -1;
  }
  ft_tracer_op(c->l, "BatchNormalization");
  for (unsigned i = 0; i < 5; i++)
    ft_tracer_in(c->l, in[i]);
  return give_statistics(c, ft_tracer_end(c->l, 1), "batch_norm");
}

static int record_norm(struct ft_call *c, const char *type, uint32_t w, uint32_t b,
                       const char *attribute, int64_t value, const char *plain)
{
  uint32_t x = ft_arg_tensor(c, 0);

  if (!x)
    return -1;
  ft_tracer_op(c->l, type);
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, w);
  ft_tracer_in(c->l, b);
  ft_tracer_int(c->l, attribute, value);
  return give_statistics(c, ft_tracer_end(c->l, 1), plain);
}

int ft_aten_layer_norm(struct ft_call *c)
{
  int64_t shape[FT_GRAPH_RANK];
  int n = ft_arg_ints(c, 1, "normalized_shape", shape, FT_GRAPH_RANK);
  bool root = strcmp(c->type, "RMSNormalization") == 0;
  uint32_t w = ft_arg_optional(c, 2), b = root ? 0 : ft_arg_optional(c, 3);

  return record_norm(c, c->type, w, b, "axis", -(n > 0 ? n : 1), root ? "rms_norm" : "layer_norm");
}

int ft_aten_group_norm(struct ft_call *c)
{
  bool native = strcmp(c->name, "native_group_norm") == 0;
  uint32_t w = ft_arg_optional(c, native ? 1 : 2), b = ft_arg_optional(c, native ? 2 : 3);

  return record_norm(c, "GroupNormalization", w, b, "num_groups",
                     ft_arg_int(c, native ? 6 : 1, "num_groups", 1), "group_norm");
}

int ft_aten_instance_norm(struct ft_call *c)
{
  return record_norm(c, "InstanceNormalization", ft_arg_optional(c, 1), ft_arg_optional(c, 2),
                     "groups", 1, "instance_norm");
}

/* ---- matrix products ---- */

int ft_aten_linear(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), w = ft_arg_tensor(c, 1), b = ft_arg_optional(c, 2);

  if (!x || !w)
    return -1;
  ft_tracer_op(c->l, "Linear");
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, w);
  if (b)
    ft_tracer_in(c->l, b);
  return ft_give(c, ft_tracer_end(c->l, 1));
}

int ft_aten_matmul(struct ft_call *c)
{
  uint32_t a = ft_arg_tensor(c, 0), b = ft_arg_tensor(c, 1);

  return ft_give(c, a && b ? ft_tracer_binary(c->l, "MatMul", a, b) : 0);
}

int ft_aten_addmm(struct ft_call *c)
{
  uint32_t bias = ft_arg_tensor(c, 0), a = ft_arg_tensor(c, 1), b = ft_arg_tensor(c, 2);

  if (!a || !b || !bias)
    return -1;
  if (ft_tracer_of(c->l, b)->rank != 2)
    return ft_give(c, ft_tracer_binary(c->l, "MatMul", a, b));
  ft_tracer_op(c->l, "Gemm");
  ft_tracer_in(c->l, a);
  ft_tracer_in(c->l, b);
  ft_tracer_in(c->l, bias);
  return ft_give(c, ft_tracer_end(c->l, 1));
}

int ft_aten_baddbmm(struct ft_call *c)
{
  uint32_t bias = ft_arg_tensor(c, 0), a = ft_arg_tensor(c, 1), b = ft_arg_tensor(c, 2), y;

  y = a && b && bias ? ft_tracer_binary(c->l, "MatMul", a, b) : 0;
  return ft_give(c, y ? ft_tracer_binary(c->l, "Add", y, bias) : 0);
}

int ft_aten_embedding(struct ft_call *c)
{
  uint32_t w = ft_arg_tensor(c, 0), x = ft_arg_tensor(c, 1);

  return ft_give(c, w && x ? ft_tracer_binary(c->l, "Gather", w, x) : 0);
}

/* embedding_bag(weight, indices, offsets, ...): a row for each offset, or each row of indices */
int ft_aten_embedding_bag(struct ft_call *c)
{
  uint32_t w, x = ft_arg_tensor(c, 1), offsets = ft_arg_optional(c, 2);
  const struct ft_tensor *t = ft_aten_shaped(c, &w);
  const struct ft_tensor *rows = x && offsets && ft_tracer_of(c->l, x)->rank == 1
                                     ? ft_tracer_of(c->l, offsets)
                                     : ft_tracer_of(c->l, x);
  ft_dim dims[2];

  if (!t || !x || t->rank != 2 || rows->rank < 1)
    return ft_aten_not_shaped(c, x ? w : 0);
  dims[0] = rows->dims[0];
  dims[1] = t->dims[1];
  if (ft_aten_of_shape(c, dims, 2, t->element) < 0)
    return -1;
  return ft_give_first(c, c->result.tensor, 3);
}
