/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes of operators that few networks have: of signals, of pictures, of training. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/shape/infer.h"

/* The only number in input I, -1 where it is not known. */
static int64_t number(const struct ft_infer *in, unsigned i)
{
  const struct ft_tensor *x = ft_input(in, i);

  return x && x->values && ft_tensor_elements(x) == 1 && x->values[0] >= 0 ? ft_whole(x->values[0])
                                                                           : -1;
}

/* The element type that attribute NAME says. */
static uint8_t element(const struct ft_infer *in, const char *name, int64_t otherwise)
{
  int64_t type = ft_integer(in->op, name, otherwise);

  return type > 0 && type <= FT_ELEMENT_LAST ? (uint8_t)type : FT_ELEMENT_UNKNOWN;
}

/* ---- signals ---- */

/* HannWindow and those alike: as many numbers as are asked for. */
int ft_infer_window(struct ft_infer *in)
{
  struct ft_tensor *y = ft_output(in, 0);

  y->element = element(in, "output_datatype", FT_ELEMENT_FLOAT);
  if (!ft_shape(in, y, 1))
    return -1;
  y->dims[0] = number(in, 0);
  return 0;
}

/* (dft_length / 2 + 1, bins) */
int ft_infer_mel(struct ft_infer *in)
{
  int64_t length = number(in, 1);
  struct ft_tensor *y = ft_output(in, 0);

  y->element = element(in, "output_datatype", FT_ELEMENT_FLOAT);
  if (!ft_shape(in, y, 2))
    return -1;
  y->dims[0] = length < 0 ? -1 : length / 2 + 1;
  y->dims[1] = number(in, 0);
  return 0;
}

/* Real or complex numbers, the last dimension, to complex ones; with onesided half of them. */
int ft_infer_dft(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *given = ft_input(in, 2);
  bool one_side = ft_integer(in->op, "onesided", 0) != 0;
  bool back = ft_integer(in->op, "inverse", 0) != 0;
  struct ft_tensor *y = ft_output(in, 0);
  int64_t length = number(in, 1);
  int axis;

  if (!x || x->rank < 2 ||
      (given && (!given->values || ft_tensor_elements(given) != 1 || isnan(given->values[0]))))
    return 0;
  axis = ft_axis(in, given ? ft_whole(given->values[0]) : ft_integer(in->op, "axis", -2), x->rank);
  if (axis < 0 || ft_like(in, y, x) < 0)
    return -1;
  y->dims[axis] = ft_input(in, 1) ? length : x->dims[axis];
  if (one_side && !back && y->dims[axis] >= 0)
    y->dims[axis] = y->dims[axis] / 2 + 1;
  else if (one_side && !ft_input(in, 1) && y->dims[axis] > 0)
    y->dims[axis] = 2 * (y->dims[axis] - 1);
  y->dims[x->rank - 1] = one_side && back ? 1 : 2;
  return 0;
}

/* (batch, length, 1 or 2) to (batch, frames, bins, 2) */
int ft_infer_stft(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *window = ft_input(in, 2);
  int64_t step = number(in, 1), length = number(in, 3);
  struct ft_tensor *y = ft_output(in, 0);

  if (!x || x->rank != 3)
    return 0;
  if (length < 0 && window && window->rank == 1)
    length = window->dims[0];
  y->element = x->element;
  if (!ft_shape(in, y, 4))
    return -1;
  y->dims[0] = x->dims[0];
  y->dims[1] =
      step > 0 && length >= 0 && x->dims[1] >= length ? (x->dims[1] - length) / step + 1 : -1;
  y->dims[2] = length < 0 ? -1 : ft_integer(in->op, "onesided", 1) ? length / 2 + 1 : length;
  y->dims[3] = 2;
  return 0;
}

/* ---- pictures ---- */

/* A grid of places for pictures of SIZE: (batch, [depth,] height, width, 2 or 3). */
/* What no file has but a reader makes: the attributes "sizes" and "to" say what comes of it. */
int ft_infer_told(struct ft_infer *in)
{
  const struct ft_attribute *sizes = ft_attribute(in->op, "sizes");
  struct ft_tensor *y = ft_output(in, 0);

  y->element = element(in, "to", FT_ELEMENT_UNKNOWN);
  if (!sizes || !sizes->integers || sizes->count > FT_GRAPH_RANK)
    return 0;
  for (size_t i = 0; i < sizes->count; i++)
    if (sizes->integers[i] < -1 || sizes->integers[i] > FT_GRAPH_DIMENSION)
      return ft_contradiction(in, "a dimension of %lld", (long long)sizes->integers[i]);
  if (!ft_shape(in, y, (int)sizes->count))
    return -1;
  memcpy(y->dims, sizes->integers, sizes->count * sizeof *y->dims);
  return 0;
}

int ft_infer_affine_grid(struct ft_infer *in)
{
  int64_t size[FT_GRAPH_RANK];
  int n = ft_list(in, NULL, 1, size, FT_GRAPH_RANK);
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  if (x)
    y->element = x->element;
  if (n < 4)
    return 0;
  if (!ft_shape(in, y, n))
    return -1;
  y->dims[0] = size[0];
  memcpy(y->dims + 1, size + 2, (size_t)(n - 2) * sizeof *size);
  y->dims[n - 1] = n - 2;
  return 0;
}

/* (batch, channels x block, blocks) to (batch, channels, picture...) */
int ft_infer_col2im(struct ft_infer *in)
{
  int64_t picture[FT_GRAPH_RANK], block[FT_GRAPH_RANK], each = 1;
  int n = ft_list(in, NULL, 1, picture, FT_GRAPH_RANK - 2);
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  if (!x || x->rank != 3 || n < 1 || ft_list(in, NULL, 2, block, FT_GRAPH_RANK) != n)
    return 0;
  for (int i = 0; i < n; i++)
    each = ft_times(each, block[i]);
  y->element = x->element;
  if (each < 1)
    return ft_contradiction(in, "blocks of %lld elements", (long long)each);
  if (!ft_shape(in, y, n + 2))
    return -1;
  y->dims[0] = x->dims[0];
  y->dims[1] = x->dims[1] < 0 ? -1 : x->dims[1] / each;
  memcpy(y->dims + 2, picture, (size_t)n * sizeof *picture);
  return 0;
}

/* The sizes that are asked for, along axes or all. */
int ft_infer_center_crop_pad(struct ft_infer *in)
{
  int64_t sizes[FT_GRAPH_RANK], axes[FT_GRAPH_RANK];
  int n = ft_list(in, NULL, 1, sizes, FT_GRAPH_RANK);
  int chosen = ft_list(in, "axes", -1, axes, FT_GRAPH_RANK);
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  if (!x || x->rank < 0)
    return 0;
  if (ft_like(in, y, x) < 0)
    return -1;
  if (n < 0) {
    for (int i = 0; i < y->rank; i++)
      y->dims[i] = -1;
    return 0;
  }
  if (chosen >= 0 ? chosen != n : x->rank != n)
    return ft_contradiction(in, "%d sizes for %d dimensions", n, chosen >= 0 ? chosen : x->rank);
  for (int i = 0; i < n; i++) {
    int axis = chosen >= 0 ? ft_axis(in, axes[i], x->rank) : i;

    if (axis < 0)
      return -1;
    y->dims[axis] = sizes[i];
  }
  return 0;
}

/* The sizes that are asked for, else what the pooling would have begun with. */
int ft_infer_max_unpool(struct ft_infer *in)
{
  int64_t sizes[FT_GRAPH_RANK], kernel[FT_GRAPH_RANK], strides[FT_GRAPH_RANK];
  int64_t pads[2 * FT_GRAPH_RANK] = { 0 };
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);
  int n, given;

  if (!x || x->rank < 3)
    return 0;
  n = x->rank - 2;
  if (ft_like(in, y, x) < 0)
    return -1;
  given = ft_list(in, NULL, 2, sizes, FT_GRAPH_RANK);
  if (given == x->rank) {
    memcpy(y->dims, sizes, (size_t)given * sizeof *sizes);
    return 0;
  }
  for (int i = 0; i < n && ft_input(in, 2); i++)
    y->dims[i + 2] = -1; /* as it is told, and that is not known */
  if (ft_input(in, 2) || ft_list(in, "kernel_shape", -1, kernel, FT_GRAPH_RANK) != n)
    return 0;
  if (ft_list(in, "strides", -1, strides, FT_GRAPH_RANK) != n)
    for (int i = 0; i < n; i++)
      strides[i] = 1;
  (void)ft_list(in, "pads", -1, pads, 2 * n);
  for (int i = 0; i < n; i++) {
    int64_t around = 0;

    if (kernel[i] < 1 || strides[i] < 1 || kernel[i] > FT_GRAPH_DIMENSION ||
        __builtin_add_overflow(pads[i], pads[i + n], &around) || around < 0 ||
        around > FT_GRAPH_DIMENSION)
      return ft_contradiction(in, "a window of %lld at steps of %lld", (long long)kernel[i],
                              (long long)strides[i]);
    if (x->dims[i + 2] > 0)
      y->dims[i + 2] = ft_plus(ft_times(x->dims[i + 2] - 1, strides[i]), kernel[i]) - around;
  }
  return 0;
}

/* ---- the rest ---- */

/* Of matrices one number each. */
int ft_infer_det(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  if (!x || x->rank < 2)
    return 0;
  y->element = x->element;
  if (!ft_shape(in, y, x->rank - 2))
    return -1;
  memcpy(y->dims, x->dims, (size_t)y->rank * sizeof *y->dims);
  return 0;
}

/* The same bytes as another type: numbers are not kept. */
int ft_infer_bit_cast(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);

  if (!x || x->rank < 0)
    return 0;
  if (ft_like(in, ft_output(in, 0), x) < 0)
    return -1;
  ft_output(in, 0)->element = element(in, "to", x->element);
  return 0;
}

/* Bytes, their scale and their zero. */
int ft_infer_dynamic_quantize(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *scale = ft_output(in, 1), *zero = ft_output(in, 2);

  if (!x || x->rank < 0)
    return 0;
  if (ft_like(in, ft_output(in, 0), x) < 0)
    return -1;
  ft_output(in, 0)->element = zero->element = FT_ELEMENT_UINT8;
  scale->element = FT_ELEMENT_FLOAT;
  return ft_shape(in, scale, 0) && ft_shape(in, zero, 0) ? 0 : -1;
}

int ft_infer_multinomial(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  y->element = element(in, "dtype", FT_ELEMENT_INT32);
  if (!ft_shape(in, y, 2))
    return -1;
  y->dims[0] = x && x->rank == 2 ? x->dims[0] : -1;
  y->dims[1] = ft_integer(in->op, "sample_size", 1);
  return 0;
}

/* How many there are depends on data; the lists beside them too. */
int ft_infer_unique(struct ft_infer *in)
{
  const struct ft_attribute *along = ft_attribute(in->op, "axis");
  const struct ft_tensor *x = ft_input(in, 0);
  int rank = along && x && x->rank > 0 ? x->rank : 1;
  struct ft_tensor *y = ft_output(in, 0);

  if (x)
    y->element = x->element;
  if (!ft_shape(in, y, rank))
    return -1;
  if (along && rank > 1) {
    int axis = ft_axis(in, along->integer, rank);

    if (axis < 0)
      return -1;
    for (int i = 0; i < rank; i++)
      y->dims[i] = i == axis ? -1 : x->dims[i];
  }
  for (unsigned i = 1; i < in->op->output_count; i++) {
    ft_output(in, i)->element = FT_ELEMENT_INT64;
    if (!ft_shape(in, ft_output(in, i), 1))
      return -1;
  }
  return 0;
}

/* A number, or with reduction "none" one for each label; the second result is like the first input.
 */
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
