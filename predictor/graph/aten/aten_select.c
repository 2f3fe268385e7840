/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators of ATen that select, place and resample elements. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/aten/aten.h"

static uint32_t select_along(struct ft_tracer *l, const char *type, uint32_t x, uint32_t index,
                             int axis)
{
  if (!x || !index)
    return 0;
  ft_tracer_op(l, type);
  ft_tracer_in(l, x);
  ft_tracer_in(l, index);
  ft_tracer_int(l, "axis", axis);
  return ft_tracer_end(l, 1);
}

int ft_aten_index_select(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), index = ft_arg_tensor(c, 2);
  int rank = ft_arg_rank(c, 0), axis;

  if (rank < 1)
    return ft_aten_not_shaped(c, x);
  axis = ft_arg_axis(c, 1, "dim", 0, rank);
  return axis < 0 ? -1 : ft_give(c, select_along(c->l, "Gather", x, index, axis));
}

int ft_aten_gather(struct ft_call *c)
{
  bool take = strcmp(c->name, "take_along_dim") == 0;
  uint32_t x = ft_arg_tensor(c, 0), index = ft_arg_tensor(c, take ? 1 : 2);

  return ft_give(c, select_along(c->l, "GatherElements", x, index, 0));
}

/* X with the indexed dimensions moved to the front if the indices in LIST are not adjacent, as
 * PyTorch does (aten/src/ATen/native/TensorAdvancedIndexingUtils.h, transposeToFront). */
static uint32_t indexed_first(struct ft_tracer *l, uint32_t x, const struct ft_values *list)
{
  const struct ft_tensor *t = ft_tracer_of(l, x);
  int64_t order[FT_GRAPH_RANK];
  int n = 0;

  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < t->rank; i++) {
      bool index = (size_t)i < list->count && list->items[i].type != FT_VALUE_NONE;

      if (index == (pass == 0))
        order[n++] = i;
    }
  return ft_tracer_transpose(l, x, order, t->rank);
}

/* x[i, :, j]: LIST has an index or None for each dimension. */
int ft_aten_index(struct ft_call *c)
{
  const struct ft_operand *list = ft_arg(c, 1, "indices");
  uint32_t x = ft_arg_tensor(c, 0), index = 0, other;
  int axis = -1, last = -1, count = 0;

  if (!x || list->type != FT_VALUE_LIST || ft_tracer_of(c->l, x)->rank < 0)
    return ft_aten_not_shaped(c, x);
  if (list->list->count > (size_t)ft_tracer_of(c->l, x)->rank)
    return ft_tracer_fail(c->l, "%s: %zu indices for %d dimensions", c->name, list->list->count,
                          ft_tracer_of(c->l, x)->rank);
  for (size_t i = 0; i < list->list->count; i++) {
    if (list->list->items[i].type == FT_VALUE_NONE)
      continue;
    other = ft_value_as_tensor(c->l, &list->list->items[i]);
    if (!other)
      return -1;
    if (axis < 0)
      axis = (int)i;
    last = (int)i;
    index = index ? ft_tracer_binary(c->l, "Add", index, other) : other;
    if (!index)
      return -1;
    count++;
  }
  if (!count)
    return ft_aten_same(c);
  if (ft_tracer_of(c->l, index)->element == FT_ELEMENT_BOOL)
    return ft_aten_unknown(c); /* a mask selects an unknown number of elements */
  if (last - axis >= count) {
    x = indexed_first(c->l, x, list->list);
    axis = 0;
  }
  /* several indices are broadcast together and replace their dimensions at once */
  for (int i = 1; i < count && x; i++) {
    int64_t at = axis;

    x = ft_tracer_slice(c->l, x, axis, 0, 1, 1);
    if (!x)
      return -1;
    x = ft_aten_axes(c->l, "Squeeze", x, &at, 1);
  }
  return ft_give(c, select_along(c->l, "Gather", x, index, axis));
}

int ft_aten_nonzero(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), y;
  int rank = ft_arg_rank(c, 0);
  ft_dim *dims;

  if (strcmp(c->name, "masked_select") == 0)
    return ft_give(c, x ? ft_tracer_unary(c->l, "Compress", x) : 0);
  y = x ? ft_tracer_unary(c->l, "NonZero", x) : 0;
  dims = y ? ft_shape(c->l->in, ft_tracer_of(c->l, y), 2) : NULL;
  if (!dims)
    return ft_give(c, 0);
  dims[1] = ft_dim_of(rank); /* ONNX's NonZero has the two dimensions exchanged */
  return ft_give(c, y);
}

int ft_aten_where(struct ft_call *c)
{
  uint32_t a = ft_arg_tensor(c, 0), x, y;

  if (c->count < 3)
    return ft_aten_unknown(c);
  x = ft_arg_tensor(c, 1);
  y = ft_arg_tensor(c, 2);
  if (!a || !x || !y)
    return -1;
  ft_tracer_op(c->l, "Where");
  ft_tracer_in(c->l, a);
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, y);
  return ft_give(c, ft_tracer_end(c->l, 1));
}

int ft_aten_masked_fill(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), mask = ft_arg_tensor(c, 1), value = ft_arg_tensor(c, 2), y;

  if (!x || !mask || !value)
    return -1;
  ft_tracer_op(c->l, "Where");
  ft_tracer_in(c->l, mask);
  ft_tracer_in(c->l, value);
  ft_tracer_in(c->l, x);
  y = ft_tracer_end(c->l, 1);
  if (y)
    ft_tracer_of(c->l, y)->element = ft_tracer_of(c->l, x)->element;
  return ft_give(c, y);
}

/* roll: two slices, joined in reverse order */
int ft_aten_roll(struct ft_call *c)
{
  int64_t shifts[FT_GRAPH_RANK], dims[FT_GRAPH_RANK];
  int n = ft_arg_ints(c, 1, "shifts", shifts, FT_GRAPH_RANK);
  int m = ft_arg_ints(c, 2, "dims", dims, FT_GRAPH_RANK);
  const struct ft_tensor *t;
  uint32_t x, front, back;

  t = ft_aten_shaped(c, &x);
  if (!t || n < 1 || n != m)
    return ft_aten_not_shaped(c, x);
  for (int i = 0; i < n; i++) {
    int rank = ft_tracer_of(c->l, x)->rank;
    int64_t axis = dims[i] < 0 ? dims[i] + rank : dims[i], size, cut;

    if (axis < 0 || axis >= rank)
      return ft_tracer_fail(c->l, "%s: dimension %lld of %d", c->name, (long long)dims[i], rank);
    if (!ft_dim_get(ft_tracer_of(c->l, x)->dims[axis], &size) || size < 2 || shifts[i] % size == 0)
      continue;
    cut = size - ((shifts[i] % size + size) % size);
    back = ft_tracer_slice(c->l, x, (int)axis, cut, size, 1);
    front = back ? ft_tracer_slice(c->l, x, (int)axis, 0, cut, 1) : 0;
    if (!front)
      return -1;
    ft_tracer_op(c->l, "Concat");
    ft_tracer_in(c->l, back);
    ft_tracer_in(c->l, front);
    ft_tracer_int(c->l, "axis", axis);
    x = ft_tracer_end(c->l, 1);
    if (!x)
      return -1;
  }
  return ft_give(c, x);
}

/* flip: a reversed copy */
int ft_aten_flip(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0);

  if (!x)
    return -1;
  ft_tracer_op(c->l, "ReverseSequence");
  ft_tracer_in(c->l, x);
  return ft_give(c, ft_tracer_end(c->l, 1));
}

int ft_aten_pixel_shuffle(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0);

  if (!x)
    return -1;
  ft_tracer_op(c->l, c->type);
  ft_tracer_in(c->l, x);
  ft_tracer_int(c->l, "blocksize", ft_arg_int(c, 1, "factor", 1));
  return ft_give(c, ft_tracer_end(c->l, 1));
}

/* PyTorch's pads begin with the last dimension: before, after, before, after. */
int ft_aten_pad(struct ft_call *c)
{
  int64_t given[2 * FT_GRAPH_RANK], pads[2 * FT_GRAPH_RANK] = { 0 };
  int n = ft_arg_ints(c, 1, "pad", given, 2 * FT_GRAPH_RANK);
  const struct ft_tensor *t;
  uint32_t x, list;
  int rank;

  t = ft_aten_shaped(c, &x);
  if (!t || n < 0 || n / 2 > t->rank)
    return ft_aten_not_shaped(c, x);
  rank = t->rank;
  for (int i = 0; i < n / 2; i++) {
    pads[rank - 1 - i] = given[2 * i];
    pads[2 * rank - 1 - i] = given[2 * i + 1];
  }
  list = ft_tracer_list(c->l, pads, 2 * (size_t)rank);
  return ft_give(c, list ? ft_tracer_binary(c->l, "Pad", x, list) : 0);
}

/* (x, size or None, ..., scale factors); size has priority. */
int ft_aten_upsample(struct ft_call *c)
{
  int64_t sizes[FT_GRAPH_RANK], size;
  ft_dim all[FT_GRAPH_RANK];
  const struct ft_operand *factors = NULL;
  const struct ft_tensor *t;
  int n = ft_arg_ints(c, 1, "output_size", sizes, FT_GRAPH_RANK), spatial;
  uint32_t x;

  t = ft_aten_shaped(c, &x);
  if (!t || t->rank < 3)
    return ft_aten_not_shaped(c, x);
  spatial = t->rank - 2;
  for (size_t i = 2; i < c->count && n <= 0; i++)
    if (ft_value_is_list(&c->args[i]) && c->args[i].list->count == (size_t)spatial)
      factors = &c->args[i];
  if (n != spatial && !factors)
    return ft_aten_unknown(c);
  for (int i = 0; i < t->rank; i++)
    all[i] = t->dims[i];
  for (int i = 0; i < spatial; i++) {
    double by = factors ? ft_value_number(&factors->list->items[i]) : 1;

    if (isnan(by) || by < 0)
      return ft_aten_unknown(c);
    if (!factors)
      all[i + 2] = ft_dim_of(sizes[i]);
    else if (ft_dim_get(t->dims[i + 2], &size))
      all[i + 2] = ft_dim_of(ft_whole(floor((double)size * by)));
  }
  return ft_give(c, ft_tracer_resize(c->l, x, all, t->rank));
}

int ft_aten_grid_sample(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), grid = ft_arg_tensor(c, 1);

  return ft_give(c, x && grid ? ft_tracer_binary(c->l, "GridSample", x, grid) : 0);
}

/* An operator without an ONNX equivalent, with a result of known shape. */
static int record_with_shape(struct ft_call *c, const char *type, const ft_dim *dims, int rank)
{
  uint32_t x = ft_arg_tensor(c, 0), y = x ? ft_tracer_unary(c->l, type, x) : 0;
  ft_dim *to = y ? ft_shape(c->l->in, ft_tracer_of(c->l, y), rank) : NULL;

  if (to)
    memcpy(to, dims, (size_t)rank * sizeof *to);
  return ft_give(c, to ? y : 0);
}

/* unfold(x, dim, size, step): windows as a new last dimension, a view */
int ft_aten_unfold(struct ft_call *c)
{
  int64_t size = ft_arg_int(c, 2, "size", 1), step = ft_arg_int(c, 3, "step", 1), all;
  ft_dim dims[FT_GRAPH_RANK + 1];
  const struct ft_tensor *t;
  uint32_t x;
  int axis;

  t = ft_aten_shaped(c, &x);
  if (!t || size < 0 || step < 1 || t->rank >= FT_GRAPH_RANK)
    return ft_aten_not_shaped(c, x);
  axis = ft_arg_axis(c, 1, "dimension", 0, t->rank);
  if (axis < 0)
    return -1;
  memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
  if (ft_dim_get(dims[axis], &all))
    dims[axis] = ft_dim_of(all < size ? 0 : (all - size) / step + 1);
  dims[t->rank] = ft_dim_of(size);
  return record_with_shape(c, "Identity", dims, t->rank + 1);
}

/* Returns the number of windows along DIM; 0 if none fits or an argument is invalid. */
static ft_dim windows_along(ft_dim dim, int64_t kernel, int64_t dilation, int64_t pad,
                            int64_t stride)
{
  int64_t room;

  if (kernel < 1 || dilation < 0 || pad < 0 || stride < 1)
    return ft_dim_of(0);
  if (!ft_dim_get(dim, &room))
    return FT_DIM_UNKNOWN;
  room = ft_known_plus(room, ft_known_times(2, pad)) - ft_known_times(dilation, kernel - 1) - 1;
  return ft_dim_of(room < 0 ? 0 : room / stride + 1);
}

/* (x, kernel, dilation, padding, stride) -> batch, channels x kernel, positions */
int ft_aten_im2col(struct ft_call *c)
{
  int64_t k[2], d[2], p[2], s[2];
  ft_dim dims[3], along;
  const struct ft_tensor *t;
  uint32_t x;

  t = ft_aten_shaped(c, &x);
  if (!t || t->rank != 4 || ft_arg_each(c, 1, NULL, 2, 1, k) < 0 ||
      ft_arg_each(c, 2, NULL, 2, 1, d) < 0 || ft_arg_each(c, 3, NULL, 2, 0, p) < 0 ||
      ft_arg_each(c, 4, NULL, 2, 1, s) < 0)
    return ft_aten_not_shaped(c, x);
  dims[0] = t->dims[0];
  dims[1] = ft_dim_times(t->dims[1], ft_dim_times(ft_dim_of(k[0]), ft_dim_of(k[1])));
  dims[2] = ft_dim_of(1);
  for (int i = 0; i < 2; i++) {
    along = windows_along(t->dims[i + 2], k[i], d[i], p[i], s[i]);
    if (ft_dim_is(along, 0))
      return ft_tracer_fail(c->l, "%s: windows larger than the input", c->name);
    dims[2] = ft_dim_times(dims[2], along);
  }
  return record_with_shape(c, "ReverseSequence", dims, 3);
}

int ft_aten_one_hot(struct ft_call *c)
{
  int64_t depth = ft_arg_int(c, 1, "num_classes", -1);
  uint32_t x = ft_arg_tensor(c, 0);
  uint32_t size = depth > 0 ? ft_tracer_number(c->l, FT_ELEMENT_INT64, (double)depth) : 0;

  if (!x || !size)
    return ft_aten_not_shaped(c, x);
  return ft_give(c, ft_tracer_binary(c->l, "OneHot", x, size));
}

/* ---- detection (torchvision) ---- */

int ft_aten_nms(struct ft_call *c)
{
  uint32_t boxes = ft_arg_tensor(c, 0), scores = ft_arg_tensor(c, 1), y;

  y = boxes && scores ? ft_tracer_binary(c->l, "Compress", scores, boxes) : 0;
  if (y)
    ft_tracer_of(c->l, y)->element = FT_ELEMENT_INT64;
  return ft_give(c, y);
}

int ft_aten_roi_align(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), boxes = ft_arg_tensor(c, 1);
  int64_t pooled[2] = { ft_arg_int(c, 3, NULL, 1), ft_arg_int(c, 4, NULL, 1) };

  if (!x || !boxes)
    return -1;
  ft_tracer_op(c->l, c->type);
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, boxes);
  ft_tracer_ints(c->l, "pooled_shape", pooled, 2);
  ft_tracer_int(c->l, "output_height", pooled[0]);
  ft_tracer_int(c->l, "output_width", pooled[1]);
  return ft_give(c, ft_tracer_end(c->l, 1));
}

/* fold: col2im(x, output, kernel, dilation, padding, stride) */
int ft_aten_col2im(struct ft_call *c)
{
  int64_t size[2], kernel[2];
  uint32_t x = ft_arg_tensor(c, 0), lists[2];

  if (!x || ft_arg_each(c, 1, NULL, 2, 1, size) < 0 || ft_arg_each(c, 2, NULL, 2, 1, kernel) < 0)
    return -1;
  lists[0] = ft_tracer_list(c->l, size, 2);
  lists[1] = ft_tracer_list(c->l, kernel, 2);
  ft_tracer_op(c->l, "Col2Im");
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, lists[0]);
  ft_tracer_in(c->l, lists[1]);
  return ft_give(c, lists[0] && lists[1] ? ft_tracer_end(c->l, 1) : 0);
}
