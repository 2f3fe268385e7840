/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators that reshape or permute tensors, and those that create or return shapes. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/shape/infer.h"

/* Y shares the values of X: same elements, same order. */
static void share_values(struct ft_tensor *y, const struct ft_tensor *x)
{
  y->values = x->values;
}

/* Constant: the tensor in attribute value, or the numbers in value_int, value_floats, ... */
int ft_infer_constant(struct ft_infer *in)
{
  const struct ft_attribute *a = ft_attribute(in->op, "value");
  struct ft_tensor *y = ft_output(in, 0);
  double *values;

  if (a && a->type == FT_ATTRIBUTE_TENSOR) {
    y->constant = a->tensor;
    y->dims = a->tensor->dims;
    y->rank = a->tensor->rank;
    y->values = a->tensor->values;
    y->element = a->tensor->element;
    return 0;
  }
  for (uint32_t i = 0; i < in->op->attribute_count; i++) {
    a = &in->op->attributes[i];
    bool integer = a->type == FT_ATTRIBUTE_INTEGER || a->type == FT_ATTRIBUTE_INTEGERS;
    bool list = a->type == FT_ATTRIBUTE_INTEGERS || a->type == FT_ATTRIBUTE_REALS;

    if (strncmp(a->name, "value_", 6) != 0 || (!integer && !list && a->type != FT_ATTRIBUTE_REAL))
      continue;
    if (!ft_shape(in, y, list))
      return -1;
    if (list)
      y->dims[0] = ft_dim_of((int64_t)a->count);
    y->element = integer ? FT_ELEMENT_INT64 : FT_ELEMENT_FLOAT;
    values = ft_values(in, y);
    for (size_t j = 0; values && j < (list ? a->count : 1); j++)
      values[j] = list      ? integer ? (double)a->integers[j] : a->reals[j]
                       : integer ? (double)a->integer
                            : a->real;
  }
  return 0;
}

static int64_t clamp_between(int64_t value, int64_t low, int64_t high)
{
  return value < low ? low : value > high ? high : value;
}

int ft_infer_shape(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);
  int64_t start, end;
  double *values;

  y->element = FT_ELEMENT_INT64;
  if (!x || x->rank < 0)
    return 0;
  start = ft_integer(in->op, "start", 0);
  end = ft_integer(in->op, "end", x->rank);
  start = clamp_between(start < 0 ? start + x->rank : start, 0, x->rank);
  end = clamp_between(end < 0 ? end + x->rank : end, start, x->rank);
  if (!ft_shape(in, y, 1))
    return -1;
  y->dims[0] = ft_dim_of(end - start);
  values = ft_values(in, y);
  for (int64_t i = start; values && i < end; i++)
    if (ft_dim_known(x->dims[i]))
      values[i - start] = (double)ft_dim_or(x->dims[i], 0);
  return 0;
}

int ft_infer_size(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);
  int64_t elements;
  double *values;

  y->element = FT_ELEMENT_INT64;
  if (!ft_shape(in, y, 0))
    return -1;
  values = ft_values(in, y);
  if (values && x && ft_dim_get(ft_tensor_elements(x), &elements))
    values[0] = (double)elements;
  return 0;
}

/* Sets Y's shape to the values of the vector INPUT; Y is unchanged if the rank is unknown. Returns
 * 0; -1 with the error. */
static int shape_from_values(struct ft_infer *in, struct ft_tensor *y,
                             const struct ft_tensor *input)
{
  int64_t rank;

  if (!input || input->rank != 1 || !ft_dim_get(input->dims[0], &rank))
    return 0;
  if (rank > FT_GRAPH_RANK)
    return ft_contradiction(in, "a shape of %lld dimensions", (long long)rank);
  if (!ft_shape(in, y, (int)rank))
    return -1;
  for (int i = 0; input->values && i < y->rank; i++) {
    if (isnan(input->values[i]))
      continue;
    if (ft_whole(input->values[i]) < 0)
      return ft_contradiction(in, "a size of %lld", (long long)ft_whole(input->values[i]));
    y->dims[i] = ft_dim_of(ft_whole(input->values[i]));
  }
  return 0;
}

int ft_infer_constant_of_shape(struct ft_infer *in)
{
  const struct ft_attribute *a = ft_attribute(in->op, "value");
  const struct ft_declared *value = a ? a->tensor : NULL;
  struct ft_tensor *y = ft_output(in, 0);
  double *values;

  y->element = value ? value->element : FT_ELEMENT_FLOAT;
  if (shape_from_values(in, y, ft_input(in, 0)) < 0)
    return -1;
  values = ft_values(in, y);
  for (int64_t i = 0, n = values ? ft_value_count(y) : 0; i < n; i++)
    values[i] = !value ? 0 : value->values ? value->values[0] : (double)NAN;
  return 0;
}

int ft_infer_random(struct ft_infer *in)
{
  int64_t dims[FT_GRAPH_RANK];
  int rank = ft_list(in, "shape", -1, dims, FT_GRAPH_RANK);
  struct ft_tensor *y = ft_output(in, 0);

  y->element = FT_ELEMENT_FLOAT;
  if (rank < 0)
    return ft_infer_same(in);
  return ft_shape(in, y, rank) ? ft_set_dims(in, y, 0, dims, rank) : -1;
}

int ft_infer_range(struct ft_infer *in)
{
  const struct ft_tensor *start = ft_input(in, 0), *limit = ft_input(in, 1),
                         *step = ft_input(in, 2);
  struct ft_tensor *y = ft_output(in, 0);
  double count, *values;

  if (!ft_shape(in, y, 1))
    return -1;
  if (!ft_value_count(start) || !ft_value_count(limit) || !ft_value_count(step))
    return 0;
  count = ceil((limit->values[0] - start->values[0]) / step->values[0]);
  if (isnan(count))
    return 0;
  y->dims[0] = ft_dim_of(count > 0 ? ft_whole(count) : 0);
  values = ft_values(in, y);
  for (int64_t i = 0, n = values ? ft_value_count(y) : 0; i < n; i++)
    values[i] = start->values[0] + (double)i * step->values[0];
  return 0;
}

/* Computes dimension OPEN of Y from X's number of elements; with OPEN -1 compares the numbers.
 * Returns 0; -1 with the error. */
static int fill_open_dimension(struct ft_infer *in, const struct ft_tensor *x, struct ft_tensor *y,
                               int open)
{
  ft_dim others = ft_dim_of(1);
  char one[128], other[128];
  int64_t total, rest;

  for (int i = 0; i < y->rank; i++)
    if (i != open)
      others = ft_dim_times(others, y->dims[i]);
  if (!ft_dim_get(others, &rest) || !ft_dim_get(ft_tensor_elements(x), &total))
    return 0;
  if (open < 0 && rest == total)
    return 0;
  if (open >= 0 && (rest ? total % rest == 0 : total == 0)) {
    y->dims[open] = ft_dim_of(rest ? total / rest : 0);
    return 0;
  }
  return ft_contradiction(in, "%s has %lld elements and cannot become %s",
                          ft_tensor_show(x, one, sizeof one), (long long)total,
                          ft_tensor_show(y, other, sizeof other));
}

/* Reshape: -1 is computed from the number of elements, as is the only unknown size; 0 copies X's
 * dimension unless allowzero is set. */
int ft_infer_reshape(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *s = ft_input(in, 1);
  bool zero_is_zero = ft_integer(in->op, "allowzero", 0) != 0;
  int64_t wanted[FT_GRAPH_RANK], count;
  struct ft_tensor *y = ft_output(in, 0);
  int open = -1, unknown = 0, last = -1;

  if (!x)
    return 0;
  y->element = x->element;
  count = ft_list(in, "shape", -1, wanted, FT_GRAPH_RANK);
  if (count < 0) {
    if (!s || s->rank != 1 || !ft_dim_get(s->dims[0], &count))
      return 0;
    if (count > FT_GRAPH_RANK)
      return ft_contradiction(in, "a shape of %lld dimensions", (long long)count);
    for (int i = 0; i < count; i++)
      wanted[i] = s->values && !isnan(s->values[i]) ? ft_whole(s->values[i]) : FT_RESHAPE_UNKNOWN;
  }
  if (!ft_shape(in, y, (int)count))
    return -1;
  for (int i = 0; i < y->rank; i++) {
    if (wanted[i] < FT_RESHAPE_UNKNOWN)
      return ft_contradiction(in, "a size of %lld", (long long)wanted[i]);
    if (wanted[i] == -1 && open >= 0)
      return ft_contradiction(in, "two sizes of -1");
    open = wanted[i] == -1 ? i : open;
    y->dims[i] = ft_dim_of(wanted[i]);
    if (wanted[i] == 0 && !zero_is_zero && (x->rank < 0 || i < x->rank))
      y->dims[i] = x->rank < 0 ? FT_DIM_UNKNOWN : x->dims[i];
    if (!ft_dim_known(y->dims[i])) {
      unknown++;
      last = i;
    }
  }
  if (fill_open_dimension(in, x, y, open < 0 && unknown == 1 ? last : open) < 0)
    return -1;
  if (ft_dim_known(ft_tensor_elements(y)))
    share_values(y, x);
  return 0;
}

int ft_infer_flatten(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);
  int64_t axis = ft_integer(in->op, "axis", 1);

  if (!x || x->rank < 0)
    return 0;
  if (axis < -x->rank || axis > x->rank)
    return ft_contradiction(in, "axis %lld of %d dimensions", (long long)axis, x->rank);
  axis = axis < 0 ? axis + x->rank : axis;
  if (!ft_shape(in, y, 2))
    return -1;
  y->dims[0] = y->dims[1] = ft_dim_of(1);
  for (int i = 0; i < x->rank; i++)
    y->dims[i >= axis] = ft_dim_times(y->dims[i >= axis], x->dims[i]);
  share_values(y, x);
  return 0;
}

/* Squeeze: removes the listed axes, without a list all dimensions of size 1. */
int ft_infer_squeeze(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);
  bool marked[FT_GRAPH_RANK] = { false };
  int64_t axes[FT_GRAPH_RANK];
  int count, rank = 0;

  if (!x || x->rank < 0)
    return 0;
  count = ft_list(in, "axes", 1, axes, FT_GRAPH_RANK);
  if (count == -2)
    return 0;
  for (int i = 0; count == -1 && i < x->rank; i++) {
    if (!ft_dim_known(x->dims[i]))
      return 0;
    marked[i] = ft_dim_is(x->dims[i], 1);
  }
  if (ft_mark_axes(in, axes, count, x->rank, marked) < 0)
    return -1;
  for (int i = 0; i < x->rank; i++) {
    if (marked[i] && ft_dim_or(x->dims[i], 1) > 1)
      return ft_contradiction(in, "dimension %d is %lld: expected 1", i, ft_dim_shown(x->dims[i]));
    rank += !marked[i];
  }
  if (!ft_shape(in, y, rank))
    return -1;
  for (int i = 0, j = 0; i < x->rank; i++)
    if (!marked[i])
      y->dims[j++] = x->dims[i];
  share_values(y, x);
  return 0;
}

int ft_infer_unsqueeze(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);
  bool marked[2 * FT_GRAPH_RANK] = { false };
  int64_t axes[FT_GRAPH_RANK];
  int count;

  if (!x || x->rank < 0)
    return 0;
  count = ft_list(in, "axes", 1, axes, FT_GRAPH_RANK);
  if (count < 0)
    return 0;
  if (ft_mark_axes(in, axes, count, x->rank + count, marked) < 0 ||
      !ft_shape(in, y, x->rank + count))
    return -1;
  for (int i = 0, j = 0; i < y->rank; i++)
    y->dims[i] = marked[i] || j >= x->rank ? ft_dim_of(1) : x->dims[j++];
  share_values(y, x);
  return 0;
}

/* Transpose: attribute perm, else reversed order. Tracked values are permuted too. */
int ft_infer_transpose(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);
  bool marked[FT_GRAPH_RANK] = { false };
  int64_t order[FT_GRAPH_RANK], steps[FT_GRAPH_RANK], moved[FT_GRAPH_RANK];
  int count;

  if (!x || x->rank < 0)
    return 0;
  count = ft_list(in, "perm", -1, order, FT_GRAPH_RANK);
  for (int i = 0; count < 0 && i < x->rank; i++)
    order[i] = x->rank - 1 - i;
  if (count >= 0 && count != x->rank)
    return ft_contradiction(in, "an order of %d dimensions for %d", count, x->rank);
  if (ft_mark_axes(in, order, x->rank, x->rank, marked) < 0 || !ft_shape(in, y, x->rank))
    return -1;
  for (int i = 0; i < x->rank; i++) {
    if (!marked[i])
      return ft_contradiction(in, "an order that leaves dimension %d out", i);
    order[i] = order[i] < 0 ? order[i] + x->rank : order[i];
    y->dims[i] = x->dims[order[i]];
  }
  ft_step_overlap(x, steps);
  for (int i = 0; i < x->rank; i++)
    moved[i] = steps[order[i]];
  ft_copy_values(in, y, x, 0, moved);
  return 0;
}

int ft_infer_expand(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0), wanted = { .rank = -1 };
  double *values;

  if (!x || x->rank < 0)
    return 0;
  y->element = x->element;
  if (shape_from_values(in, &wanted, ft_input(in, 1)) < 0)
    return -1;
  if (wanted.rank < 0)
    return 0;
  if (ft_broadcast_shape(in, y, (const struct ft_tensor *[]){ x, &wanted }, 2) < 0)
    return -1;
  if (ft_value_count(x) != 1)
    return 0;
  values = ft_values(in, y);
  for (int64_t i = 0, n = values ? ft_value_count(y) : 0; i < n; i++)
    values[i] = x->values[0];
  return 0;
}

int ft_infer_tile(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);
  int64_t times[FT_GRAPH_RANK];
  int count;

  if (!x || x->rank < 0 || !ft_shape(in, y, x->rank))
    return x && x->rank >= 0 ? -1 : 0;
  count = ft_list(in, NULL, 1, times, FT_GRAPH_RANK);
  for (int i = 0; count == x->rank && i < x->rank; i++)
    y->dims[i] = ft_dim_times(x->dims[i], ft_dim_of(times[i]));
  return 0;
}

/* DepthToSpace if TO_SPACE, else SpaceToDepth: moves blocks of pixels from or to channels. */
static int move_space_blocks(struct ft_infer *in, bool to_space)
{
  int64_t size = ft_integer(in->op, "blocksize", 1);
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);
  bool last = ft_attribute(in->op, "layout") != NULL; /* TensorFlow's order: channels last */

  if (!x || x->rank != 4)
    return 0;
  if (size < 1 || size > 1 << 20)
    return ft_contradiction(in, "blocks of %lld", (long long)size);
  if (!ft_shape(in, y, 4))
    return -1;
  y->dims[0] = x->dims[0];
  for (int i = 1; i < 4; i++) {
    bool channels = i == (last ? 3 : 1), grows = !channels == to_space;
    int64_t by = channels ? size * size : size;

    if (!grows && ft_dim_or(x->dims[i], 0) % by > 0)
      return ft_contradiction(in, "%lld in blocks of %lld", ft_dim_shown(x->dims[i]),
                              (long long)by);
    y->dims[i] = grows ? ft_dim_times(x->dims[i], ft_dim_of(by)) : ft_dim_divide(x->dims[i], by);
  }
  return 0;
}

int ft_infer_depth_to_space(struct ft_infer *in)
{
  return move_space_blocks(in, true);
}

int ft_infer_space_to_depth(struct ft_infer *in)
{
  return move_space_blocks(in, false);
}

int ft_infer_multinomial(struct ft_infer *in)
{
  int64_t samples = ft_integer(in->op, "sample_size", 1);
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  y->element = ft_element_attribute(in, "dtype", FT_ELEMENT_INT32);
  if (!ft_shape(in, y, 2))
    return -1;
  if (x && x->rank == 2)
    y->dims[0] = x->dims[0];
  return ft_set_dims(in, y, 1, &samples, 1);
}

/* Internal operators: the attributes "sizes" and "to" are the output's shape and type. */
int ft_infer_from_attributes(struct ft_infer *in)
{
  const struct ft_attribute *sizes = ft_attribute(in->op, "sizes");
  struct ft_tensor *y = ft_output(in, 0);

  y->element = ft_element_attribute(in, "to", FT_ELEMENT_UNKNOWN);
  if (!sizes || !sizes->integers || sizes->count > FT_GRAPH_RANK)
    return 0;
  for (size_t i = 0; i < sizes->count; i++)
    if (sizes->integers[i] < -1 || sizes->integers[i] > FT_GRAPH_DIMENSION)
      return ft_contradiction(in, "a dimension of %lld", (long long)sizes->integers[i]);
  return ft_shape(in, y, (int)sizes->count)
             ? ft_set_dims(in, y, 0, sizes->integers, (int)sizes->count)
             : -1;
}
