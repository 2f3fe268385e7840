/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators of ATen that join tensors and take them apart. */
#include "config.h"

#include <string.h>

#include "predictor/graph/aten/aten.h"

static uint32_t *members(struct ft_call *c, size_t *count)
{
  const struct ft_operand *v = ft_arg(c, 0, "tensors");
  uint32_t *list;

  if ((v->type != FT_VALUE_LIST && v->type != FT_VALUE_TUPLE) || !v->list->count)
    return NULL;
  *count = v->list->count;
  list = ft_tracer_take(c->l, *count * sizeof *list);
  for (size_t i = 0; list && i < *count; i++) {
    list[i] = ft_value_as_tensor(c->l, &v->list->items[i]);
    if (!list[i])
      return NULL;
  }
  return list;
}

int ft_aten_cat(struct ft_call *c)
{
  size_t count = 0;
  uint32_t *in = members(c, &count);
  int rank, axis;

  if (!in)
    return c->l->failed ? -1 : ft_aten_unknown(c);
  rank = ft_tracer_of(c->l, in[count - 1])->rank;
  if (rank < 0)
    return ft_aten_unknown(c);
  axis = ft_arg_axis(c, 1, "dim", 0, rank);
  return axis < 0 ? -1 : ft_give(c, ft_tracer_concat(c->l, in, count, axis));
}

int ft_aten_stack(struct ft_call *c)
{
  size_t count = 0;
  uint32_t *in = members(c, &count);
  int64_t at;
  int axis;

  if (!in)
    return c->l->failed ? -1 : ft_aten_unknown(c);
  if (ft_tracer_of(c->l, in[0])->rank < 0)
    return ft_aten_unknown(c);
  axis = ft_arg_axis(c, 1, "dim", 0, ft_tracer_of(c->l, in[0])->rank + 1);
  if (axis < 0)
    return -1;
  at = axis;
  for (size_t i = 0; i < count; i++) {
    ft_tracer_op(c->l, "Unsqueeze");
    ft_tracer_in(c->l, in[i]);
    ft_tracer_ints(c->l, "axes", &at, 1);
    in[i] = ft_tracer_end(c->l, 1);
    if (!in[i])
      return -1;
  }
  return ft_give(c, ft_tracer_concat(c->l, in, count, axis));
}

/* How many pieces of which sizes; -1 not known. */
static int pieces(struct ft_call *c, int64_t dim, int64_t *sizes)
{
  bool chunk = strstr(c->name, "chunk") != NULL;
  const struct ft_operand *v = ft_arg(c, 1, "split_size");
  int64_t each, left = dim;
  int count = 0;

  if (v->type == FT_VALUE_LIST || v->type == FT_VALUE_TUPLE)
    return chunk ? -1 : ft_arg_ints(c, 1, NULL, sizes, FT_GRAPH_VALUES);
  each = ft_arg_int(c, 1, "split_size", 1);
  if (dim < 0 || each < 1)
    return -1;
  each = chunk ? (dim + each - 1) / each : each;
  if (dim == 0 || each < 1)
    return -1;
  while (left > 0 && count < FT_GRAPH_VALUES) {
    sizes[count] = left < each ? left : each;
    left -= sizes[count++];
  }
  return left ? -1 : count;
}

int ft_aten_split(struct ft_call *c)
{
  int64_t sizes[FT_GRAPH_VALUES];
  const struct ft_tensor *t;
  int axis, count;
  uint32_t x, list;

  t = ft_aten_shaped(c, &x);
  if (!t)
    return ft_aten_not_shaped(c, x);
  axis = ft_arg_axis(c, 2, "dim", 0, t->rank);
  if (axis < 0)
    return -1;
  count = pieces(c, t->dims[axis], sizes);
  if (count < 1)
    return ft_aten_unknown(c);
  list = ft_tracer_list(c->l, sizes, (size_t)count);
  if (!list)
    return -1;
  ft_tracer_op(c->l, "Split");
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, list);
  ft_tracer_int(c->l, "axis", axis);
  list = ft_tracer_end(c->l, (uint32_t)count);
  if (!list)
    return -1;
  c->result = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
  for (int i = 0; i < count && c->result.type == FT_VALUE_LIST; i++)
    if (ft_value_append(c->l, c->result.list, ft_value_tensor(list + (uint32_t)i)) < 0)
      return -1;
  return 0;
}

static uint32_t choose(struct ft_tracer *l, uint32_t x, int axis, int64_t index)
{
  uint32_t at = ft_tracer_number(l, FT_ELEMENT_INT64, (double)index);

  if (!at)
    return 0;
  ft_tracer_op(l, "Gather");
  ft_tracer_in(l, x);
  ft_tracer_in(l, at);
  ft_tracer_int(l, "axis", axis);
  return ft_tracer_end(l, 1);
}

/* A slice of one, without its dimension: a view, as PyTorch's. */
static uint32_t pick(struct ft_tracer *l, uint32_t x, int axis, int64_t index)
{
  int64_t at = axis;

  if (ft_tracer_of(l, x)->values)
    return choose(l, x, axis, index);
  x = ft_tracer_slice(l, x, axis, index, index == -1 ? INT64_MAX : index + 1, 1);
  if (!x)
    return 0;
  ft_tracer_op(l, "Squeeze");
  ft_tracer_in(l, x);
  ft_tracer_ints(l, "axes", &at, 1);
  return ft_tracer_end(l, 1);
}

int ft_aten_unbind(struct ft_call *c)
{
  const struct ft_tensor *t;
  int64_t count;
  int axis;
  uint32_t x;

  t = ft_aten_shaped(c, &x);
  if (!t || t->rank == 0)
    return ft_aten_not_shaped(c, x);
  axis = ft_arg_axis(c, 1, "dim", 0, t->rank);
  count = axis < 0 ? -1 : t->dims[axis];
  if (axis < 0)
    return -1;
  if (count < 0 || count > FT_GRAPH_VALUES)
    return ft_aten_unknown(c);
  c->result = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
  for (int64_t i = 0; i < count && c->result.type == FT_VALUE_LIST; i++) {
    uint32_t one = pick(c->l, x, axis, i);

    if (!one || ft_value_append(c->l, c->result.list, ft_value_tensor(one)) < 0)
      return -1;
  }
  return c->l->failed ? -1 : 0;
}

int ft_aten_slice(struct ft_call *c)
{
  bool narrow = strcmp(c->name, "narrow") == 0;
  int64_t start = ft_arg_int(c, 2, "start", 0), end = ft_arg_int(c, 3, "end", INT64_MAX);
  int64_t step = narrow ? 1 : ft_arg_int(c, 4, "step", 1);
  const struct ft_tensor *t;
  uint32_t x, y;
  int axis;

  t = ft_aten_shaped(c, &x);
  if (!t)
    return ft_aten_not_shaped(c, x);
  axis = ft_arg_axis(c, 1, "dim", 0, t->rank);
  if (axis < 0)
    return -1;
  if (narrow && start != INT64_MIN && end != INT64_MIN && end >= 0 && end < INT64_MAX / 2 &&
      start < INT64_MAX / 2)
    end = start + end;
  if (start == INT64_MIN || end == INT64_MIN || step == INT64_MIN) {
    y = ft_tracer_unary(c->l, "Identity", x);
    if (y) {
      int64_t *dims = ft_shape(c->l->in, ft_tracer_of(c->l, y), t->rank);

      t = ft_tracer_of(c->l, x);
      for (int i = 0; dims && i < t->rank; i++)
        dims[i] = i == axis ? -1 : t->dims[i];
    }
    return ft_give(c, y);
  }
  if (start == 0 && end == INT64_MAX && step == 1)
    return ft_aten_same(c);
  return ft_give(c, ft_tracer_slice(c->l, x, axis, start, end, step));
}

int ft_aten_select(struct ft_call *c)
{
  int64_t index = ft_arg_int(c, 2, "index", 0);
  const struct ft_tensor *t;
  uint32_t x;
  int axis;

  t = ft_aten_shaped(c, &x);
  if (!t)
    return ft_aten_not_shaped(c, x);
  axis = ft_arg_axis(c, 1, "dim", 0, t->rank);
  return axis < 0 ? -1 : ft_give(c, pick(c->l, x, axis, index == INT64_MIN ? 0 : index));
}
