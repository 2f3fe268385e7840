/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators of ATen that join and split tensors. */
#include "config.h"

#include <string.h>

#include "predictor/graph/aten/aten.h"

/* Returns the tensors of the list argument and their COUNT; NULL if there are none or on error
 * (l->failed). */
static uint32_t *listed_tensors(struct ft_call *c, size_t *count)
{
  const struct ft_operand *v = ft_arg(c, 0, "tensors");
  uint32_t *list;

  if (!ft_value_is_list(v) || !v->list->count)
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
  uint32_t *in = listed_tensors(c, &count);
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
  uint32_t *in = listed_tensors(c, &count);
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
    in[i] = ft_aten_axes(c->l, "Unsqueeze", in[i], &at, 1);
    if (!in[i])
      return -1;
  }
  return ft_give(c, ft_tracer_concat(c->l, in, count, axis));
}

/* Writes the sizes of the parts of split and chunk. Returns their number; -1 if unknown. */
static int split_sizes(struct ft_call *c, ft_dim dim, int64_t *sizes)
{
  bool chunk = strstr(c->name, "chunk") != NULL;
  const struct ft_operand *v = ft_arg(c, 1, "split_size");
  int64_t each, left;
  int count = 0;

  if (ft_value_is_list(v))
    return chunk ? -1 : ft_arg_ints(c, 1, NULL, sizes, FT_GRAPH_VALUES);
  each = ft_arg_int(c, 1, "split_size", 1);
  if (!ft_dim_get(dim, &left) || left == 0 || each < 1)
    return -1;
  each = chunk ? (left + each - 1) / each : each;
  while (left > 0 && count < FT_GRAPH_VALUES) {
    sizes[count] = left < each ? left : each;
    left -= sizes[count++];
  }
  return left ? -1 : count;
}

/* split(x, size or sizes, dim), chunk(x, chunks, dim): a list of tensors */
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
  count = split_sizes(c, t->dims[axis], sizes);
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

static uint32_t gather_one(struct ft_tracer *l, uint32_t x, int axis, int64_t index)
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

/* x[index] along AXIS: a view, as in PyTorch. Tracked values are gathered instead. */
static uint32_t select_index(struct ft_tracer *l, uint32_t x, int axis, int64_t index)
{
  int64_t at = axis;

  if (ft_tracer_of(l, x)->values)
    return gather_one(l, x, axis, index);
  x = ft_tracer_slice(l, x, axis, index, index == -1 ? INT64_MAX : index + 1, 1);
  return ft_aten_axes(l, "Squeeze", x, &at, 1);
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
  if (axis < 0)
    return -1;
  if (!ft_dim_get(t->dims[axis], &count) || count > FT_GRAPH_VALUES)
    return ft_aten_unknown(c);
  c->result = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
  for (int64_t i = 0; i < count && c->result.type == FT_VALUE_LIST; i++) {
    uint32_t one = select_index(c->l, x, axis, i);

    if (!one || ft_value_append(c->l, c->result.list, ft_value_tensor(one)) < 0)
      return -1;
  }
  return c->l->failed ? -1 : 0;
}

/* slice(x, dim, start, end, step), narrow(x, dim, start, length); an unknown bound leaves the size
 * unknown. */
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
      ft_dim *dims = ft_shape(c->l->in, ft_tracer_of(c->l, y), t->rank);

      t = ft_tracer_of(c->l, x);
      for (int i = 0; dims && i < t->rank; i++)
        dims[i] = i == axis ? FT_DIM_UNKNOWN : t->dims[i];
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
  return axis < 0 ? -1 : ft_give(c, select_index(c->l, x, axis, index == INT64_MIN ? 0 : index));
}

/* Writes the ends of the parts of a dimension of SIZE: nearly equal sections, or the indices.
 * Returns their number; -1 if unknown. */
static int section_ends(struct ft_call *c, int64_t size, int64_t out[FT_GRAPH_VALUES])
{
  const struct ft_operand *v = ft_arg(c, 1, NULL);
  int64_t sections, at = 0;
  int count;

  if (ft_value_is_list(v)) {
    count = ft_arg_ints(c, 1, NULL, out, FT_GRAPH_VALUES - 1);
    for (int i = 0; i < count; i++) {
      out[i] += out[i] < 0 ? size : 0;
      out[i] = out[i] < 0 ? 0 : out[i] > size ? size : out[i];
    }
    if (count >= 0)
      out[count++] = size;
    return count;
  }
  sections = ft_arg_int(c, 1, NULL, 1);
  if (sections < 1 || sections > FT_GRAPH_VALUES)
    return -1;
  for (int64_t i = 0; i < sections; i++)
    out[i] = at += size / sections + (i < size % sections);
  return (int)sections;
}

/* tensor_split(x, sections or indices, dim), hsplit, vsplit, dsplit */
int ft_aten_tensor_split(struct ft_call *c)
{
  int64_t end[FT_GRAPH_VALUES], size, at = 0, otherwise = 0;
  uint32_t x, piece;
  const struct ft_tensor *t = ft_aten_shaped(c, &x);
  int axis, count;

  if (!t || !t->rank)
    return ft_aten_not_shaped(c, x);
  if (c->name[0] == 'h')
    otherwise = t->rank > 1;
  if (c->name[0] == 'd')
    otherwise = 2;
  axis = ft_arg_axis(c, 2, "dim", otherwise, t->rank);
  if (axis < 0)
    return -1;
  count = ft_dim_get(t->dims[axis], &size) ? section_ends(c, size, end) : -1;
  if (count < 1)
    return ft_aten_unknown(c);
  c->result = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
  for (int i = 0; i < count && c->result.type == FT_VALUE_LIST; i++) {
    piece = ft_tracer_slice(c->l, x, axis, at, end[i] > at ? end[i] : at, 1);
    if (!piece || ft_value_append(c->l, c->result.list, ft_value_tensor(piece)) < 0)
      return -1;
    at = end[i];
  }
  return c->l->failed ? -1 : 0;
}

/* hstack, vstack, dstack of tensors of at least two (three) dimensions */
int ft_aten_hstack(struct ft_call *c)
{
  const struct ft_operand *list = ft_arg(c, 0, "tensors");
  struct ft_operand args[2] = { *list, ft_value_int(c->name[0] == 'd'                        ? 2
                                                    : c->name[0] == 'v' || c->name[0] == 'r' ? 0
                                                                                             : 1) };
  struct ft_call inner = *c;
  int rank = -1, status;

  if (ft_value_is_list(list) && list->list->count && ft_value_is_tensor(list->list->items)) {
    uint32_t first = ft_value_as_tensor(c->l, list->list->items);

    rank = first ? ft_tracer_of(c->l, first)->rank : -1;
  }
  if (rank == 1 && strcmp(c->name, "hstack") == 0)
    args[1] = ft_value_int(0);
  else if (rank < 2 || rank <= args[1].integer)
    return ft_aten_unknown(c);
  inner.args = args;
  inner.keys = NULL;
  inner.count = 2;
  status = ft_aten_cat(&inner);
  c->result = inner.result;
  return status;
}
