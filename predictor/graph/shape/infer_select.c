/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shape rules of operators that select, join, pad, resize or reduce. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/shape/infer.h"

/* Concat: the sizes along the axis are added, all others must be equal or unknown. */
int ft_infer_concat(struct ft_infer *in)
{
  const struct ft_tensor *first = ft_input(in, 0), *x;
  struct ft_tensor *y = ft_output(in, 0);
  ft_dim sum = ft_dim_of(0);
  bool counted = true;
  int64_t at = 0;
  double *values;
  int axis;

  if (!first || first->rank < 0)
    return 0;
  y->element = first->element;
  axis = ft_axis(in, ft_integer(in->op, "axis", 1), first->rank);
  if (axis < 0 || ft_like(in, y, first) < 0)
    return -1;
  for (unsigned i = 0; i < in->op->input_count; i++) {
    x = ft_input(in, i);
    if (!x || x->rank < 0) {
      y->dims[axis] = FT_DIM_UNKNOWN;
      return 0;
    }
    if (x->rank != first->rank)
      return ft_contradiction(in, "%d and %d dimensions", first->rank, x->rank);
    sum = ft_dim_plus(sum, x->dims[axis]);
    if (ft_dim_or(sum, 0) > FT_GRAPH_DIMENSION)
      return ft_contradiction(in, "more than 2^40 along dimension %d", axis);
    for (int j = 0; j < x->rank; j++) {
      if (j != axis && ft_dim_differ(y->dims[j], x->dims[j]))
        return ft_contradiction(in, "%lld and %lld along dimension %d", ft_dim_shown(y->dims[j]),
                                ft_dim_shown(x->dims[j]), j);
      if (j != axis && !ft_dim_known(y->dims[j]))
        y->dims[j] = x->dims[j];
    }
    counted = counted && ft_dim_known(ft_tensor_elements(x));
  }
  y->dims[axis] = sum;
  if (!counted || y->rank != 1)
    return 0;
  /* only vectors have values to join; an input without values has unknown ones */
  values = ft_values(in, y);
  for (unsigned i = 0; values && i < in->op->input_count; i++) {
    x = ft_input(in, i);
    for (int64_t j = 0; j < ft_dim_or(x->dims[0], 0); j++)
      values[at++] = x->values ? x->values[j] : (double)NAN;
  }
  return 0;
}

/* Split: the listed sizes, else equal ones and a smaller last one. Parts of a vector share its
 * values. */
int ft_infer_split(struct ft_infer *in)
{
  int64_t sizes[FT_GRAPH_VALUES], parts = in->op->output_count, all, from = 0;
  const struct ft_tensor *x = ft_input(in, 0);
  int axis, count;
  bool known;

  if (!x || x->rank < 0)
    return 0;
  axis = ft_axis(in, ft_integer(in->op, "axis", 0), x->rank);
  if (axis < 0)
    return -1;
  count = ft_list(in, "split", 1, sizes, FT_GRAPH_VALUES);
  if (count >= 0 && count != parts)
    return ft_contradiction(in, "%d sizes for %lld parts", count, (long long)parts);
  known = ft_dim_get(x->dims[axis], &all);
  for (unsigned i = 0; i < in->op->output_count; i++) {
    struct ft_tensor *y = ft_output(in, i);
    int64_t left = known ? all - from : FT_GRAPH_DIMENSION, part = -1;

    y->element = x->element;
    if (ft_like(in, y, x) < 0)
      return -1;
    if (count >= 0)
      part = sizes[i];
    else if (count == -1 && known)
      part = (all + parts - 1) / parts < left ? (all + parts - 1) / parts : left;
    if (part < -1 || part > left)
      return ft_contradiction(in, "a part of %lld out of %lld", (long long)part,
                              ft_dim_shown(x->dims[axis]));
    y->dims[axis] = ft_dim_of(part);
    if (x->rank == 1 && x->values && part >= 0)
      y->values = x->values + from;
    from += part > 0 ? part : 0;
  }
  return 0;
}

/* Clamps START to a dimension of size DIM. Returns the number of elements from START to END (onnx,
 * Operators.md: Slice). */
static int64_t clamp_slice(int64_t dim, int64_t *start, int64_t end, int64_t step)
{
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;

  *start = *start < 0 ? *start + dim : *start;
  end = end < 0 ? end + dim : end;
  *start = *start < 0 ? 0 : *start > high ? high : *start;
  end = end < low ? low : end > dim ? dim : end;
  if (step > 0)
    return end > *start ? (end - *start - 1) / step + 1 : 0;
  return *start > end ? (*start - end - 1) / -step + 1 : 0;
}

/* Slice: axes with an unknown start, end or step get unknown sizes. Tracked values are copied. */
int ft_infer_slice(struct ft_infer *in)
{
  int64_t starts[FT_GRAPH_RANK], ends[FT_GRAPH_RANK], axes[FT_GRAPH_RANK], steps[FT_GRAPH_RANK];
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);
  int64_t along[FT_GRAPH_RANK], from = 0, size;
  int n, m, named, stepped;

  if (!x || x->rank < 0)
    return 0;
  y->element = x->element;
  n = ft_list(in, "starts", 1, starts, FT_GRAPH_RANK);
  m = ft_list(in, "ends", 2, ends, FT_GRAPH_RANK);
  named = ft_list(in, "axes", 3, axes, FT_GRAPH_RANK);
  stepped = ft_list(in, NULL, 4, steps, FT_GRAPH_RANK);
  if (named == -2 || (n >= 0 && m >= 0 && n != m) || (n < 0 && named < 0))
    return named == -2 || n < 0 || m < 0 ? 0 : ft_contradiction(in, "%d starts and %d ends", n, m);
  if (ft_like(in, y, x) < 0)
    return -1;
  ft_step_overlap(x, along);
  for (int i = 0; i < (named >= 0 ? named : n); i++) {
    int64_t step = stepped > i ? steps[i] : 1;
    int axis = ft_axis(in, named >= 0 ? axes[i] : i, x->rank);

    if (axis < 0)
      return -1;
    if (step == 0)
      return ft_contradiction(in, "steps of 0");
    if (n <= i || m <= i || stepped == -2 || !ft_dim_get(x->dims[axis], &size)) {
      y->dims[axis] = FT_DIM_UNKNOWN;
      continue;
    }
    if (!ft_dim_is(y->dims[axis], size))
      return ft_contradiction(in, "axis %d named twice", axis);
    size = clamp_slice(size, &starts[i], ends[i], step);
    y->dims[axis] = ft_dim_of(size);
    if (!x->values)
      continue;
    from += starts[i] * along[axis];
    along[axis] = size > 1 ? along[axis] * step : 0;
  }
  ft_copy_values(in, y, x, from, along);
  return 0;
}

/* Gather: the axis is replaced by the dimensions of the index. Values of a vector are gathered. */
int ft_infer_gather(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *index = ft_input(in, 1);
  struct ft_tensor *y = ft_output(in, 0);
  int axis, rank;
  double *values;
  int64_t size;

  if (!x || !index || x->rank < 0 || index->rank < 0)
    return 0;
  y->element = x->element;
  axis = ft_axis(in, ft_integer(in->op, "axis", 0), x->rank);
  rank = x->rank - 1 + index->rank;
  if (axis < 0 || !ft_shape(in, y, rank))
    return -1;
  memcpy(y->dims, x->dims, (size_t)axis * sizeof *y->dims);
  memcpy(y->dims + axis, index->dims, (size_t)index->rank * sizeof *y->dims);
  memcpy(y->dims + axis + index->rank, x->dims + axis + 1,
         (size_t)(x->rank - axis - 1) * sizeof *y->dims);
  if (x->rank != 1 || !x->values || !index->values || !ft_dim_get(x->dims[0], &size))
    return 0;
  values = ft_values(in, y);
  for (int64_t i = 0, n = values ? ft_value_count(y) : 0; i < n; i++) {
    double at = index->values[i] < 0 ? index->values[i] + (double)size : index->values[i];

    if (at < 0 || at >= (double)size)
      return ft_contradiction(in, "element %g of %lld", index->values[i], (long long)size);
    if (!isnan(at))
      values[i] = x->values[ft_whole(at)];
  }
  return 0;
}

int ft_infer_gather_elements(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);

  ft_output(in, 0)->element = x ? x->element : FT_ELEMENT_UNKNOWN;
  return ft_like(in, ft_output(in, 0), ft_input(in, 1));
}

int ft_infer_gather_nd(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *index = ft_input(in, 1);
  int64_t batch = ft_integer(in->op, "batch_dims", 0), depth;
  struct ft_tensor *y = ft_output(in, 0);
  int rank;

  if (!x || !index || x->rank < 0 || index->rank < 1 ||
      !ft_dim_get(index->dims[index->rank - 1], &depth))
    return 0;
  if (batch < 0 || batch >= index->rank || depth > x->rank - batch)
    return ft_contradiction(in, "indices of %lld and %lld batch dimensions into %d",
                            (long long)depth, (long long)batch, x->rank);
  rank = index->rank - 1 + x->rank - (int)(depth + batch);
  if (!ft_shape(in, y, rank))
    return -1;
  memcpy(y->dims, index->dims, (size_t)(index->rank - 1) * sizeof *y->dims);
  memcpy(y->dims + index->rank - 1, x->dims + batch + depth,
         (size_t)(x->rank - (int)(depth + batch)) * sizeof *y->dims);
  return 0;
}

/* Pad: each axis grows by two numbers of pads, which are negative to crop. */
int ft_infer_pad(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  bool marked = ft_input(in, 3) != NULL;
  int64_t pads[2 * FT_GRAPH_RANK], axes[FT_GRAPH_RANK], size;
  struct ft_tensor *y = ft_output(in, 0);
  int count, n;

  if (!x || x->rank < 0)
    return 0;
  count = ft_list(in, "pads", 1, pads, 2 * FT_GRAPH_RANK);
  n = marked ? ft_list(in, NULL, 3, axes, FT_GRAPH_RANK) : x->rank;
  for (int i = 0; !marked && i < n; i++)
    axes[i] = i;
  if (count < 0 || n < 0)
    return ft_shape(in, y, x->rank) ? 0 : -1;
  if (ft_like(in, y, x) < 0)
    return -1;
  if (count != 2 * n)
    return ft_contradiction(in, "%d numbers for %d dimensions", count, n);
  for (int i = 0; i < n; i++) {
    int axis = ft_axis(in, axes[i], x->rank);
    int64_t more = pads[i] / 2 + pads[n + i] / 2;

    if (axis < 0)
      return -1;
    if (!ft_dim_get(y->dims[axis], &size))
      continue;
    if (more > FT_GRAPH_DIMENSION || size + pads[i] + pads[n + i] < 0)
      return ft_contradiction(in, "%lld and %lld added to %lld", (long long)pads[i],
                              (long long)pads[n + i], (long long)size);
    y->dims[axis] = ft_dim_of(size + pads[i] + pads[n + i]);
  }
  return 0;
}

/* Replaces SIZES by sizes that keep the aspect ratio: all by the smallest scale (not_larger) or the
 * largest (not_smaller). */
static void keep_aspect(const struct ft_infer *in, const struct ft_tensor *x, const int64_t *axes,
                        int count, int64_t *sizes)
{
  const struct ft_attribute *a = ft_attribute(in->op, "keep_aspect_ratio_policy");
  bool least = a && a->type == FT_ATTRIBUTE_STRING && strcmp(a->string, "not_larger") == 0;
  double by = 0, from[FT_GRAPH_RANK];

  if (!least && (!a || a->type != FT_ATTRIBUTE_STRING || strcmp(a->string, "not_smaller") != 0))
    return;
  for (int i = 0; i < count; i++) {
    int64_t axis = axes[i] < 0 ? axes[i] + x->rank : axes[i];
    double scale;

    from[i] = axis < 0 || axis >= x->rank ? 0 : (double)ft_dim_or(x->dims[axis], 0);
    scale = from[i] > 0 ? (double)sizes[i] / from[i] : 0;
    if (!(scale > 0))
      return;
    by = i == 0 || (least ? scale < by : scale > by) ? scale : by;
  }
  for (int i = 0; i < count; i++)
    sizes[i] = ft_whole(floor(by * from[i] + 0.5));
}

/* Resize (roi, scales, sizes from version 11; scales before) and Upsample. */
int ft_infer_resize(struct ft_infer *in)
{
  const struct ft_attribute *a = ft_attribute(in->op, "scales");
  bool old = in->op->input_count == 2 || in->op->input_count == 1;
  const struct ft_tensor *x = ft_input(in, 0), *scales = ft_input(in, old ? 1 : 2);
  int64_t sizes[FT_GRAPH_RANK], axes[FT_GRAPH_RANK], n, size;
  const double *by = a && a->type == FT_ATTRIBUTE_REALS ? a->reals : scales ? scales->values : NULL;
  struct ft_tensor *y = ft_output(in, 0);
  int given, named;

  if (!x || x->rank < 0)
    return 0;
  y->element = x->element;
  if (ft_like(in, y, x) < 0)
    return -1;
  given = old ? -1 : ft_list(in, NULL, 3, sizes, FT_GRAPH_RANK);
  named = ft_list(in, "axes", -1, axes, FT_GRAPH_RANK);
  n = a && a->type == FT_ATTRIBUTE_REALS ? (int64_t)a->count : ft_value_count(scales);
  for (int i = 0; named < 0 && i < y->rank; i++)
    axes[i] = i;
  named = named < 0 ? y->rank : named;
  if (given == named)
    keep_aspect(in, x, axes, named, sizes);
  for (int i = 0; i < named; i++) {
    int axis = ft_axis(in, axes[i], y->rank);

    if (axis < 0)
      return -1;
    if (given > 0 && given != named)
      return ft_contradiction(in, "%d sizes for %d dimensions", given, named);
    if (given <= 0)
      sizes[i] = by && n == named && by[i] > 0 && ft_dim_get(x->dims[axis], &size)
                     ? ft_whole(floor((double)size * by[i]))
                     : -1;
    if (ft_set_dims(in, y, axis, &sizes[i], 1) < 0)
      return -1;
  }
  return 0;
}

/* Returns the first value of T without its fraction; OTHERWISE if it is unknown. */
static int64_t first_value(const struct ft_tensor *t, int64_t otherwise)
{
  return ft_value_count(t) > 0 && !isnan(t->values[0]) ? ft_whole(t->values[0]) : otherwise;
}

int ft_infer_one_hot(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *v = ft_input(in, 2);
  int64_t depth = first_value(ft_input(in, 1), -1);
  struct ft_tensor *y = ft_output(in, 0);
  int axis;

  if (!x || x->rank < 0)
    return 0;
  y->element = v ? v->element : FT_ELEMENT_UNKNOWN;
  axis = ft_axis(in, ft_integer(in->op, "axis", -1), x->rank + 1);
  if (axis < 0 || !ft_shape(in, y, x->rank + 1))
    return -1;
  for (int i = 0, j = 0; i < y->rank; i++)
    if (i != axis)
      y->dims[i] = x->dims[j++];
  return ft_set_dims(in, y, axis, &depth, 1);
}

int ft_infer_top_k(struct ft_infer *in)
{
  int64_t k = first_value(ft_input(in, 1), ft_integer(in->op, "k", -1));
  const struct ft_tensor *x = ft_input(in, 0);
  int axis;

  if (!x || x->rank < 0)
    return 0;
  axis = ft_axis(in, ft_integer(in->op, "axis", -1), x->rank);
  if (axis < 0)
    return -1;
  ft_output(in, 0)->element = x->element;
  ft_output(in, 1)->element = FT_ELEMENT_INT64;
  for (unsigned i = 0; i < in->op->output_count; i++) {
    struct ft_tensor *y = ft_output(in, i);

    if (ft_like(in, y, x) < 0 || ft_set_dims(in, y, axis, &k, 1) < 0)
      return -1;
  }
  return 0;
}

int ft_infer_non_zero(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  y->element = FT_ELEMENT_INT64;
  if (!ft_shape(in, y, 2))
    return -1;
  if (x && x->rank >= 0)
    y->dims[0] = ft_dim_of(x->rank);
  return 0;
}

/* Returns the number of true values in T. */
static ft_dim count_true(const struct ft_tensor *t)
{
  int64_t count = 0;

  if (!t || !t->values)
    return FT_DIM_UNKNOWN;
  for (int64_t i = 0; i < ft_value_count(t); i++) {
    if (isnan(t->values[i]))
      return FT_DIM_UNKNOWN;
    count += t->values[i] != 0;
  }
  return ft_dim_of(count);
}

/* Compress: along the axis, or of the flattened input without one. */
int ft_infer_compress(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  const struct ft_attribute *a = ft_attribute(in->op, "axis");
  struct ft_tensor *y = ft_output(in, 0);
  int axis = 0;

  if (!x || x->rank < 0)
    return 0;
  y->element = x->element;
  if (a)
    axis = ft_axis(in, a->integer, x->rank);
  if (axis < 0 || (a ? ft_like(in, y, x) < 0 : !ft_shape(in, y, 1)))
    return -1;
  y->dims[axis] = count_true(ft_input(in, 1));
  return 0;
}

/* Computes the value of a reduction to one element, if the values of X are known. */
static void reduce_values(struct ft_infer *in, const struct ft_tensor *x, struct ft_tensor *y)
{
  double result, *values;

  if (x->rank > 1 || !ft_dim_is(ft_tensor_elements(y), 1) || ft_value_count(x) < 1)
    return;
  values = ft_values(in, y);
  if (!values)
    return;
  result = x->values[0];
  for (int64_t i = 1; i < ft_value_count(x); i++) {
    double v = x->values[i];

    result = ft_operator_is(in->op, FT_OP_ReduceProd)  ? result * v
             : ft_operator_is(in->op, FT_OP_ReduceSum) ? result + v
             : ft_operator_is(in->op, FT_OP_ReduceMax) ? (v > result ? v : result)
             : ft_operator_is(in->op, FT_OP_ReduceMin) ? (v < result ? v : result)
                                                       : (double)NAN;
  }
  values[0] = result;
}

/* Sets the output to the input without COUNT AXES, or with size 1 there if KEEP. Returns 0; -1 with
 * the error. */
static int reduce_axes(struct ft_infer *in, const int64_t *axes, int count, bool keep)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);
  bool marked[FT_GRAPH_RANK] = { false };
  int rank = 0;

  if (ft_mark_axes(in, axes, count, x->rank, marked) < 0)
    return -1;
  for (int i = 0; i < x->rank; i++)
    rank += keep || !marked[i];
  if (!ft_shape(in, y, rank))
    return -1;
  for (int i = 0, j = 0; i < x->rank; i++)
    if (keep || !marked[i])
      y->dims[j++] = marked[i] ? ft_dim_of(1) : x->dims[i];
  return 0;
}

int ft_infer_reduce(struct ft_infer *in)
{
  bool keep = ft_integer(in->op, "keepdims", 1) != 0;
  const struct ft_tensor *x = ft_input(in, 0);
  int64_t axes[FT_GRAPH_RANK];
  int count;

  if (!x || x->rank < 0)
    return 0;
  count = ft_list(in, "axes", 1, axes, FT_GRAPH_RANK);
  ft_output(in, 0)->element = x->element;
  if (count == -2)
    return 0;
  if (count <= 0 && ft_integer(in->op, "noop_with_empty_axes", 0))
    return ft_like(in, ft_output(in, 0), x);
  for (int i = 0; count <= 0 && i < x->rank; i++)
    axes[i] = i;
  if (reduce_axes(in, axes, count <= 0 ? x->rank : count, keep) < 0)
    return -1;
  reduce_values(in, x, ft_output(in, 0));
  return 0;
}

int ft_infer_arg(struct ft_infer *in)
{
  int64_t axis = ft_integer(in->op, "axis", 0);
  const struct ft_tensor *x = ft_input(in, 0);

  ft_output(in, 0)->element = FT_ELEMENT_INT64;
  if (!x || x->rank < 0)
    return 0;
  return reduce_axes(in, &axis, 1, ft_integer(in->op, "keepdims", 1) != 0);
}

/* RoiAlign, MaxRoiPool: (boxes, channels, pooled rows, pooled columns). */
int ft_infer_roi(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *boxes = ft_input(in, 1);
  struct ft_tensor *y = ft_output(in, 0);
  int64_t pooled[2];
  int count = ft_list(in, "pooled_shape", -1, pooled, 2);

  if (!x || !boxes || x->rank != 4 || boxes->rank != 2)
    return 0;
  if (count != 2) {
    pooled[0] = ft_integer(in->op, "output_height", 1);
    pooled[1] = ft_integer(in->op, "output_width", 1);
  }
  if (!ft_shape(in, y, 4))
    return -1;
  y->dims[0] = boxes->dims[0];
  y->dims[1] = x->dims[1];
  return ft_set_dims(in, y, 2, pooled, 2);
}

int ft_infer_grid_sample(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *grid = ft_input(in, 1);
  struct ft_tensor *y = ft_output(in, 0);

  if (!x || !grid || x->rank < 3 || grid->rank != x->rank)
    return 0;
  if (!ft_shape(in, y, x->rank))
    return -1;
  memcpy(y->dims, x->dims, 2 * sizeof *y->dims);
  memcpy(y->dims + 2, grid->dims + 1, (size_t)(x->rank - 2) * sizeof *y->dims);
  return 0;
}

/* The number of selected boxes depends on data; each is (batch, class, box). */
int ft_infer_nms(struct ft_infer *in)
{
  struct ft_tensor *y = ft_output(in, 0);

  y->element = FT_ELEMENT_INT64;
  if (!ft_shape(in, y, 2))
    return -1;
  y->dims[1] = ft_dim_of(3);
  return 0;
}

/* The number of unique elements depends on data; lengths of the index outputs are left unknown. */
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
      y->dims[i] = i == axis ? FT_DIM_UNKNOWN : x->dims[i];
  }
  for (unsigned i = 1; i < in->op->output_count; i++) {
    ft_output(in, i)->element = FT_ELEMENT_INT64;
    if (!ft_shape(in, ft_output(in, i), 1))
      return -1;
  }
  return 0;
}
