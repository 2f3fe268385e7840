/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators of TensorFlow that reshape, select, join and reduce. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/import/tensorflow/tensorflow_node.h"

/* ---- shapes ---- */

static bool reshape_weight(struct ft_tf_call *c, const ft_dim *dims, int n)
{
  const struct ft_operand *v = ft_tf_operand(c, 0);

  return v->type == FT_VALUE_WEIGHT && ft_tracer_reshape_weight(c->l, v->weight, dims, n);
}

bool ft_tf_fold_bias(struct ft_tf_call *c)
{
  const struct ft_operand *x = ft_tf_operand(c, 0), *b = ft_tf_operand(c, 1);
  const struct ft_tensor *t = x->type == FT_VALUE_TENSOR ? ft_tf_of(c, x->tensor) : NULL;

  return t && t->rank > 0 && b->type == FT_VALUE_WEIGHT &&
         ft_tracer_add_bias(c->l, x->tensor, b->weight,
                            t->dims[ft_tf_channels_first(c) ? 1 : t->rank - 1]);
}

int ft_tf_reshape(struct ft_tf_call *c)
{
  int64_t sizes[FT_GRAPH_RANK];
  ft_dim dims[FT_GRAPH_RANK];
  int n = ft_tf_numbers(c, 1, sizes, FT_GRAPH_RANK);
  uint32_t x, s;

  for (int i = 0; i < n; i++)
    dims[i] = ft_dim_requested(sizes[i]);
  if (reshape_weight(c, dims, n))
    return ft_tf_give(c, *ft_tf_operand(c, 0));
  x = ft_tf_tensor(c, 0);

  if (!x)
    return -1;
  if (n >= 0)
    return ft_tf_give_tensor(c, ft_tracer_reshape(c->l, x, dims, n));
  s = ft_tf_tensor(c, 1);
  return ft_tf_give_tensor(c, s ? ft_tracer_binary(c->l, "Reshape", x, s) : 0);
}

int ft_tf_squeeze(struct ft_tf_call *c)
{
  const struct ft_tf_attribute *a = ft_tf_attribute(c->node, "squeeze_dims");
  const struct ft_operand *v = ft_tf_operand(c, 0);
  const struct ft_declared *d = v->type == FT_VALUE_WEIGHT ? &v->weight->declared : NULL;
  ft_dim kept[FT_GRAPH_RANK];
  int n = 0;

  for (int i = 0; d && i < d->rank; i++)
    if (!ft_dim_is(d->dims[i], 1))
      kept[n++] = d->dims[i];
  if (d &&
      reshape_weight(c, kept, n)) /* which dimensions of 1 are removed does not matter: all are */
    return ft_tf_give(c, *v);
  return ft_tf_give_tensor(c, ft_aten_axes(c->l, "Squeeze", ft_tf_tensor(c, 0),
                                           a ? a->integers : NULL, a ? a->count : 0));
}

int ft_tf_expand_dims(struct ft_tf_call *c)
{
  int64_t axis;

  return ft_tf_numbers(c, 1, &axis, 1) == 1
             ? ft_tf_give_tensor(c, ft_aten_axes(c->l, "Unsqueeze", ft_tf_tensor(c, 0), &axis, 1))
             : 1;
}

int ft_tf_transpose(struct ft_tf_call *c)
{
  int64_t order[FT_GRAPH_RANK];
  uint32_t x = ft_tf_tensor(c, 0);
  int n = ft_tf_numbers(c, 1, order, FT_GRAPH_RANK);

  return n < 0 ? 1 : ft_tf_give_tensor(c, x ? ft_tracer_transpose(c->l, x, order, n) : 0);
}

/* ConcatV2(values..., axis), Concat(axis, values...) */
int ft_tf_concat(struct ft_tf_call *c)
{
  bool last = ft_tf_is(c, "ConcatV2");
  int64_t axis;

  if (c->in_count < 2 || ft_tf_numbers(c, last ? c->in_count - 1 : 0, &axis, 1) != 1)
    return 1;
  if (ft_tf_begin(c, "Concat", last ? 0 : 1, last ? c->in_count - 1 : c->in_count) < 0)
    return -1;
  ft_tracer_int(c->l, "axis", axis);
  return ft_tf_give_tensor(c, ft_tracer_end(c->l, 1));
}

/* Joins VALUES along a new dimension AXIS. */
static uint32_t stack_values(struct ft_tf_call *c, const struct ft_operand *values, size_t count,
                             int64_t axis)
{
  uint32_t *in = ft_tracer_take(c->l, (count + 1) * sizeof *in);

  for (size_t i = 0; in && i < count; i++) {
    in[i] = ft_aten_axes(c->l, "Unsqueeze", ft_value_as_tensor(c->l, &values[i]), &axis, 1);
    if (!in[i])
      return 0;
  }
  if (!in || !count)
    return 0;
  return ft_tracer_concat(c->l, in, count, axis);
}

int ft_tf_pack(struct ft_tf_call *c)
{
  return ft_tf_give_tensor(c,
                           stack_values(c, c->in, c->in_count, ft_tf_integer(c->node, "axis", 0)));
}

/* A view of X at index AT of dimension AXIS, which is removed. */
static uint32_t select_element(struct ft_tf_call *c, uint32_t x, int64_t axis, int64_t at)
{
  axis = axis < 0 ? axis + ft_tf_of(c, x)->rank : axis;
  x = ft_tracer_slice(c->l, x, (int)axis, at, at == -1 ? INT64_MAX : at + 1, 1);
  return ft_aten_axes(c->l, "Squeeze", x, &axis, 1);
}

int ft_tf_unpack(struct ft_tf_call *c)
{
  int64_t count = ft_tf_integer(c->node, "num", 0), axis = ft_tf_integer(c->node, "axis", 0);
  uint32_t x = ft_tf_tensor(c, 0);

  for (int64_t i = 0; x && i < count && i < FT_GRAPH_VALUES; i++)
    if (ft_tf_give_tensor(c, select_element(c, x, axis, i)) < 0)
      return -1;
  return x ? 0 : -1;
}

/* Split(axis, x), SplitV(x, sizes, axis) */
int ft_tf_split(struct ft_tf_call *c)
{
  bool sized = ft_tf_is(c, "SplitV");
  uint32_t x = ft_tf_tensor(c, sized ? 0 : 1), sizes = 0, count;
  int64_t axis, parts;

  if (ft_tf_numbers(c, sized ? 2 : 0, &axis, 1) != 1)
    return 1;
  parts = ft_tf_integer(c->node, "num_split", 1);
  sizes = sized ? ft_tf_tensor(c, 1) : 0;
  if (!x || parts < 1 || parts > FT_GRAPH_VALUES)
    return x ? 1 : -1;
  count = (uint32_t)parts;
  ft_tracer_op(c->l, "Split");
  ft_tracer_in(c->l, x);
  if (sizes)
    ft_tracer_in(c->l, sizes);
  ft_tracer_int(c->l, "axis", axis);
  return ft_tf_give_tensors(c, ft_tracer_end(c->l, count), count);
}

int ft_tf_slice(struct ft_tf_call *c)
{
  int64_t begin[FT_GRAPH_RANK], size[FT_GRAPH_RANK], all[FT_GRAPH_RANK];
  uint32_t x = ft_tf_tensor(c, 0);
  int n = ft_tf_numbers(c, 1, begin, FT_GRAPH_RANK);

  if (!x || n < 0 || ft_tf_numbers(c, 2, size, FT_GRAPH_RANK) != n)
    return x ? 1 : -1;
  for (int i = 0; i < n; i++) {
    size[i] = size[i] < 0 ? INT64_MAX : ft_known_plus(begin[i] < 0 ? 0 : begin[i], size[i]);
    all[i] = i;
  }
  ft_tracer_op(c->l, "Slice");
  ft_tracer_in(c->l, x);
  ft_tracer_ints(c->l, "starts", begin, (size_t)n);
  ft_tracer_ints(c->l, "ends", size, (size_t)n);
  ft_tracer_ints(c->l, "axes", all, (size_t)n);
  return ft_tf_give_tensor(c, ft_tracer_end(c->l, 1));
}

/* x[begin:end:stride, ...] with masks for omitted bounds, new and removed dimensions
 * (strided_slice_op) */
int ft_tf_strided_slice(struct ft_tf_call *c)
{
  int64_t begin[FT_GRAPH_RANK], end[FT_GRAPH_RANK], stride[FT_GRAPH_RANK];
  int64_t from = ft_tf_integer(c->node, "begin_mask", 0),
          to = ft_tf_integer(c->node, "end_mask", 0);
  int64_t drop = ft_tf_integer(c->node, "shrink_axis_mask", 0);
  int64_t fresh = ft_tf_integer(c->node, "new_axis_mask", 0);
  int64_t dots = ft_tf_integer(c->node, "ellipsis_mask", 0);
  int n = ft_tf_numbers(c, 1, begin, FT_GRAPH_RANK), axis = 0;
  uint32_t x = ft_tf_tensor(c, 0);

  if (!x || n < 0 || ft_tf_of(c, x)->rank < 0 || ft_tf_numbers(c, 2, end, FT_GRAPH_RANK) != n ||
      ft_tf_numbers(c, 3, stride, FT_GRAPH_RANK) != n)
    return x ? 1 : -1;
  for (int i = 0; i < n && x; i++) {
    int64_t bit = INT64_C(1) << i, at = axis;

    if (dots & bit) {
      int after = 0;

      for (int j = i + 1; j < n; j++)
        after += !(fresh & INT64_C(1) << j);
      axis = ft_tf_of(c, x)->rank - after;
      if (axis < 0)
        return 1;
    } else if (fresh & bit) {
      x = ft_aten_axes(c->l, "Unsqueeze", x, &at, 1);
      axis++;
    } else if (axis >= ft_tf_of(c, x)->rank) {
      return 1;
    } else if (drop & bit) {
      x = select_element(c, x, axis, begin[i]);
    } else {
      bool whole = (from & bit) && (to & bit) && stride[i] == 1;

      if (!whole)
        x = ft_tracer_slice(
            c->l, x, axis, from & bit ? (stride[i] > 0 ? 0 : INT64_MAX / 2) : begin[i],
            to & bit ? (stride[i] > 0 ? INT64_MAX / 2 : -(INT64_MAX / 2)) : end[i], stride[i]);
      axis++;
    }
  }
  return ft_tf_give_tensor(c, x);
}

int ft_tf_gather(struct ft_tf_call *c)
{
  uint32_t x = ft_tf_tensor(c, 0), index = ft_tf_tensor(c, 1);
  int64_t axis = 0;

  if (!x || !index)
    return -1;
  (void)ft_tf_numbers(c, 2, &axis, 1);
  ft_tracer_op(c->l, "Gather");
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, index);
  ft_tracer_int(c->l, "axis", axis);
  return ft_tf_give_tensor(c, ft_tracer_end(c->l, 1));
}

/* reorders (before, after) pairs to all before, then all after */
int ft_tf_pad(struct ft_tf_call *c)
{
  int64_t given[2 * FT_GRAPH_RANK], pads[2 * FT_GRAPH_RANK];
  int n = ft_tf_numbers(c, 1, given, 2 * FT_GRAPH_RANK) / 2;
  uint32_t x = ft_tf_tensor(c, 0), list;

  if (!x || n < 1)
    return x ? 1 : -1;
  for (int i = 0; i < n; i++) {
    pads[i] = given[2 * i];
    pads[n + i] = given[2 * i + 1];
  }
  list = ft_tracer_list(c->l, pads, 2 * (size_t)n);
  return ft_tf_give_tensor(c, list ? ft_tracer_binary(c->l, "Pad", x, list) : 0);
}

int ft_tf_fill(struct ft_tf_call *c)
{
  int64_t sizes[FT_GRAPH_RANK], count = 1;
  ft_dim dims[FT_GRAPH_RANK];
  double values[FT_GRAPH_VALUES];
  const struct ft_tensor *t;
  int n = ft_tf_numbers(c, 0, sizes, FT_GRAPH_RANK);
  uint32_t x = ft_tf_tensor(c, 1);

  if (!x || n < 0)
    return x ? 1 : -1;
  t = ft_tf_of(c, x);
  for (int i = 0; i < n; i++) {
    if (sizes[i] < 0 || sizes[i] > FT_GRAPH_DIMENSION)
      return ft_tracer_fail(c->l, "Fill: a size of %lld", (long long)sizes[i]);
    dims[i] = ft_dim_of(sizes[i]);
    count = ft_known_times(count, sizes[i]);
  }
  for (int64_t i = 0; i < count && i < FT_GRAPH_VALUES; i++)
    values[i] = t->values ? t->values[0] : (double)NAN;
  x = ft_tracer_constant(c->l, t->element, n, dims, count <= FT_GRAPH_VALUES ? values : NULL);
  if (x && n > 1) /* an initial state: its size is the input's batch size */
    ft_tf_of(c, x)->data = true;
  return ft_tf_give_tensor(c, x);
}

int ft_tf_resize(struct ft_tf_call *c)
{
  int64_t size[2];
  ft_dim all[4];
  uint32_t x = ft_tf_tensor(c, 0);

  if (!x || ft_tf_of(c, x)->rank != 4 || ft_tf_numbers(c, 1, size, 2) != 2)
    return x ? 1 : -1;
  memcpy(all, ft_tf_of(c, x)->dims, sizeof all);
  all[1] = ft_dim_of(size[0]);
  all[2] = ft_dim_of(size[1]);
  return ft_tf_give_tensor(c, ft_tracer_resize(c->l, x, all, 4));
}

/* Whether AXES are the spatial dimensions of images X. */
static bool is_spatial(struct ft_tf_call *c, uint32_t x, const int64_t *list, int n)
{
  int rank = ft_tf_of(c, x)->rank;

  for (int i = 0; i < n; i++)
    if ((list[i] < 0 ? list[i] + rank : list[i]) != i + 1)
      return false;
  return rank >= 4 && n == rank - 2 && ft_tf_is(c, "Mean");
}

int ft_tf_reduce(struct ft_tf_call *c, const char *type)
{
  int64_t list[FT_GRAPH_RANK];
  bool keep = ft_tf_integer(c->node, "keep_dims", ft_tf_integer(c->node, "keepdims", 0)) != 0;
  uint32_t x = ft_tf_tensor(c, 0);
  int n = ft_tf_numbers(c, 1, list, FT_GRAPH_RANK);

  if (!x || n < 0)
    return x ? 1 : -1;
  if (n == 0)
    return ft_tf_give_tensor(c, ft_tracer_unary(c->l, "Identity", x));
  if (is_spatial(c, x, list, n)) {
    ft_tracer_op(c->l, "GlobalAveragePool");
    ft_tracer_in(c->l, x);
    ft_tracer_string(c->l, "layout", "NHWC");
    x = ft_tracer_end(c->l, 1);
    return ft_tf_give_tensor(c, keep ? x : ft_aten_axes(c->l, "Squeeze", x, list, (size_t)n));
  }
  ft_tracer_op(c->l, type);
  ft_tracer_in(c->l, x);
  ft_tracer_ints(c->l, "axes", list, (size_t)n);
  ft_tracer_int(c->l, "keepdims", keep);
  return ft_tf_give_tensor(c, ft_tracer_end(c->l, 1));
}

int ft_tf_arg(struct ft_tf_call *c)
{
  uint32_t x = ft_tf_tensor(c, 0);
  int64_t axis = 0;

  if (!x)
    return -1;
  (void)ft_tf_numbers(c, 1, &axis, 1);
  ft_tracer_op(c->l, c->node->op);
  ft_tracer_in(c->l, x);
  ft_tracer_int(c->l, "axis", axis);
  ft_tracer_int(c->l, "keepdims", 0);
  return ft_tf_give_tensor(c, ft_tracer_end(c->l, 1));
}

int ft_tf_cast(struct ft_tf_call *c)
{
  uint32_t x = ft_tf_tensor(c, 0);

  return ft_tf_give_tensor(
      c, x ? ft_tracer_cast(c->l, x, ft_tf_element(ft_tf_integer(c->node, "DstT", 0))) : 0);
}

int ft_tf_ternary(struct ft_tf_call *c)
{
  const char *type = strncmp(c->node->op, "Select", 6) == 0 ? "Where" : c->node->op;

  return ft_tf_begin(c, type, 0, c->in_count < 3 ? c->in_count : 3) < 0
             ? -1
             : ft_tf_give_tensor(c, ft_tracer_end(c->l, 1));
}

/* SpaceToBatchND and BatchToSpaceND: the older implementation of dilated convolutions. */
int ft_tf_space_batch(struct ft_tf_call *c)
{
  bool to_batch = ft_tf_is(c, "SpaceToBatchND");
  int64_t block[8], pads[16], all = 1;
  ft_dim dims[FT_GRAPH_RANK];
  int n = ft_tf_numbers(c, 1, block, 8);
  uint32_t x = ft_tf_tensor(c, 0);

  if (!x || n < 1 || ft_tf_numbers(c, 2, pads, 16) != 2 * n || ft_tf_of(c, x)->rank <= n)
    return x ? 1 : -1;
  memcpy(dims, ft_tf_of(c, x)->dims, (size_t)ft_tf_of(c, x)->rank * sizeof *dims);
  for (int i = 0; i < n; i++) {
    int64_t more = pads[2 * i] + pads[2 * i + 1];

    if (block[i] < 1 || block[i] > 1 << 20 || more < 0 || more > FT_GRAPH_DIMENSION)
      return ft_tracer_fail(c->l, "%s: blocks of %lld", c->node->op, (long long)block[i]);
    all = ft_known_times(all, block[i]);
    dims[i + 1] =
        to_batch ? ft_dim_divide(ft_dim_plus(dims[i + 1], ft_dim_of(more)), block[i])
                 : ft_dim_minus(ft_dim_times(dims[i + 1], ft_dim_of(block[i])), ft_dim_of(more));
  }
  dims[0] = to_batch ? ft_dim_times(dims[0], ft_dim_of(all)) : ft_dim_divide(dims[0], all);
  x = ft_tracer_unary(c->l, "ReverseSequence", x); /* recorded as a copy in another order */
  if (x) {
    int rank = ft_tf_of(c, x)->rank;
    ft_dim *to = ft_shape(c->l->in, ft_tf_of(c, x), rank);

    if (!to)
      return -1;
    memcpy(to, dims, (size_t)rank * sizeof *to);
  }
  return ft_tf_give_tensor(c, x);
}

/* ---- lists of tensors, in which loops collect results ---- */

int ft_tf_list_operator(struct ft_tf_call *c)
{
  const struct ft_operand *list = ft_tf_operand(c, 0);
  struct ft_operand made;
  int64_t at;

  if (ft_tf_is(c, "TensorListReserve") || ft_tf_is(c, "EmptyTensorList")) {
    made = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
    return c->l->failed ? -1 : ft_tf_give(c, made);
  }
  if (ft_tf_is(c, "TensorListFromTensor")) { /* its elements are sliced when they are read */
    made = ft_value_list(c->l, FT_VALUE_TUPLE, list, 1);
    return c->l->failed ? -1 : ft_tf_give(c, made);
  }
  if (!ft_value_is_list(list) ||
      (ft_tf_is(c, "TensorListGetItem") && ft_tf_numbers(c, 1, &at, 1) != 1))
    return 1;
  if (ft_tf_is(c, "TensorListGetItem")) {
    if (list->type == FT_VALUE_LIST)
      return at >= 0 && (size_t)at < list->list->count ? ft_tf_give(c, list->list->items[at]) : 1;
    uint32_t x = ft_value_as_tensor(c->l, &list->list->items[0]);

    return x && ft_tf_of(c, x)->rank > 0 ? ft_tf_give_tensor(c, select_element(c, x, 0, at)) : 1;
  }
  if (ft_tf_is(c, "TensorListSetItem") || ft_tf_is(c, "TensorListPushBack")) {
    bool placed = ft_tf_is(c, "TensorListSetItem") && ft_tf_numbers(c, 1, &at, 1) == 1;

    if (list->type != FT_VALUE_LIST || (!placed && ft_tf_is(c, "TensorListSetItem")))
      return 1;
    at = placed ? at : (int64_t)list->list->count;
    if (at < 0 || at > FT_TRACER_OPERATORS)
      return ft_tracer_fail(c->l, "element %lld of a list", (long long)at);
    while ((int64_t)list->list->count <= at)
      if (ft_value_append(c->l, list->list, ft_value_unknown(FT_VALUE_OPAQUE)) < 0)
        return -1;
    list->list->items[at] = *ft_tf_operand(c, placed ? 2 : 1);
    return ft_tf_give(c, *list);
  }
  if (ft_tf_is(c, "TensorListStack"))
    return list->type == FT_VALUE_TUPLE ? ft_tf_give(c, list->list->items[0])
           : list->list->count == 0
               ? 1
               : ft_tf_give_tensor(c, stack_values(c, list->list->items, list->list->count, 0));
  return 1;
}
