/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators of ATen that few networks have. */
#include "config.h"

#include <string.h>

#include "predictor/graph/aten/aten.h"

int ft_aten_told(struct ft_call *c, const int64_t *dims, int rank, unsigned element)
{
  ft_tracer_op(c->l, ft_aten_type(c));
  for (size_t i = 0; i < c->count; i++)
    if (ft_value_is_tensor(&c->args[i])) {
      uint32_t tensor = ft_value_as_tensor(c->l, &c->args[i]);

      if (!tensor)
        return -1;
      ft_tracer_in(c->l, tensor);
    }
  ft_tracer_ints(c->l, "sizes", dims, (size_t)rank);
  ft_tracer_int(c->l, "to", element);
  return ft_give(c, ft_tracer_end(c->l, 1));
}

/* addcmul(x, a, b), lerp(x, end, weight) and those alike: sizes that fit together, one kernel. */
int ft_aten_variadic(struct ft_call *c)
{
  uint32_t in[4];
  size_t count = 0;

  for (size_t i = 0; i < c->count && count < 4; i++)
    if (ft_value_is_tensor(&c->args[i]) && !(in[count++] = ft_value_as_tensor(c->l, &c->args[i])))
      return -1;
  ft_tracer_op(c->l, "Sum");
  for (size_t i = 0; i < count; i++)
    ft_tracer_in(c->l, in[i]);
  return ft_give(c, count ? ft_tracer_end(c->l, 1) : 0);
}

/* glu(x, dim): the first half times the sigmoid of the second */
int ft_aten_glu(struct ft_call *c)
{
  uint32_t x, half[2];
  const struct ft_tensor *t = ft_aten_shaped(c, &x);
  int64_t size;
  int axis;

  if (!t || !t->rank)
    return ft_aten_not_shaped(c, x);
  axis = ft_arg_axis(c, 1, "dim", -1, t->rank);
  if (axis < 0)
    return -1;
  size = t->dims[axis];
  if (size < 0 || size % 2)
    return ft_aten_unknown(c);
  half[0] = ft_tracer_slice(c->l, x, axis, 0, size / 2, 1);
  half[1] = half[0] ? ft_tracer_slice(c->l, x, axis, size / 2, size, 1) : 0;
  half[1] = half[1] ? ft_tracer_unary(c->l, "Sigmoid", half[1]) : 0;
  return ft_give(c, half[1] ? ft_tracer_binary(c->l, "Mul", half[0], half[1]) : 0);
}

/* Where the pieces of SIZE elements end: sections of one size more or less, or as told. */
static int ends(struct ft_call *c, int64_t size, int64_t out[FT_GRAPH_VALUES])
{
  const struct ft_operand *v = ft_arg(c, 1, NULL);
  int64_t sections, at = 0;
  int count;

  if (v->type == FT_VALUE_LIST || v->type == FT_VALUE_TUPLE) {
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
  size = t->dims[axis];
  count = size < 0 ? -1 : ends(c, size, end);
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

/* hstack, vstack, dstack of tensors of two (three) dimensions and more */
int ft_aten_pile(struct ft_call *c)
{
  const struct ft_operand *list = ft_arg(c, 0, "tensors");
  struct ft_operand args[2] = { *list, ft_value_int(c->name[0] == 'd'                        ? 2
                                                    : c->name[0] == 'v' || c->name[0] == 'r' ? 0
                                                                                             : 1) };
  struct ft_call inner = *c;
  int rank = -1, status;

  if ((list->type == FT_VALUE_LIST || list->type == FT_VALUE_TUPLE) && list->list->count &&
      ft_value_is_tensor(list->list->items)) {
    uint32_t first = ft_value_as_tensor(c->l, list->list->items);

    rank = first ? ft_tracer_of(c->l, first)->rank : -1;
  }
  if (rank == 1 && strcmp(c->name, "hstack") == 0)
    args[1] = ft_value_int(0);
  else if (rank < 2 || rank <= args[1].integer)
    return ft_aten_unknown(c);
  inner.name = "cat";
  inner.args = args;
  inner.keys = NULL;
  inner.count = 2;
  status = ft_aten(&inner);
  c->result = inner.result;
  return status;
}

/* as_strided(x, size, stride) */
int ft_aten_strided(struct ft_call *c)
{
  int64_t dims[FT_GRAPH_RANK];
  int n = ft_arg_ints(c, 1, "size", dims, FT_GRAPH_RANK);
  uint32_t x = ft_arg_tensor(c, 0);

  if (!x || n < 0)
    return ft_aten_not_shaped(c, x);
  for (int i = 0; i < n; i++)
    if (dims[i] < 0 || dims[i] > FT_GRAPH_DIMENSION)
      return ft_tracer_fail(c->l, "%s: a size of %lld", c->name, (long long)dims[i]);
  return ft_aten_told(c, dims, n, ft_tracer_of(c->l, x)->element);
}

/* diagonal(x, offset, dim1, dim2): the two dimensions become one, the last */
int ft_aten_diagonal(struct ft_call *c)
{
  int64_t offset = ft_arg_int(c, 1, "offset", 0), dims[FT_GRAPH_RANK], a, b;
  uint32_t x;
  const struct ft_tensor *t = ft_aten_shaped(c, &x);
  int one, two, n = 0;

  if (!t || t->rank < 2 || offset == INT64_MIN)
    return ft_aten_not_shaped(c, x);
  one = ft_arg_axis(c, 2, "dim1", 0, t->rank);
  two = ft_arg_axis(c, 3, "dim2", 1, t->rank);
  if (one < 0 || two < 0)
    return -1;
  a = t->dims[one] + (offset < 0 ? offset : 0);
  b = t->dims[two] - (offset > 0 ? offset : 0);
  for (int i = 0; i < t->rank; i++)
    if (i != one && i != two)
      dims[n++] = t->dims[i];
  dims[n++] = t->dims[one] < 0 || t->dims[two] < 0 ? -1 : a < 0 || b < 0 ? 0 : a < b ? a : b;
  return ft_aten_told(c, dims, n, t->element);
}

/* cdist(a, b): (..., n, d) and (..., m, d) to (..., n, m) */
int ft_aten_distances(struct ft_call *c)
{
  int64_t dims[FT_GRAPH_RANK];
  uint32_t x, y = ft_arg_tensor(c, 1);
  const struct ft_tensor *t = ft_aten_shaped(c, &x), *u = y ? ft_tracer_of(c->l, y) : NULL;

  if (!t || !u || t->rank < 2 || u->rank < 2)
    return ft_aten_not_shaped(c, y ? x : 0);
  memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
  dims[t->rank - 1] = u->dims[u->rank - 2];
  return ft_aten_told(c, dims, t->rank, t->element);
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

/* embedding_bag(weight, indices, offsets, ...): a row for each offset, or each row of indices */
int ft_aten_bag(struct ft_call *c)
{
  uint32_t w, x = ft_arg_tensor(c, 1), offsets = ft_arg_maybe(c, 2);
  const struct ft_tensor *t = ft_aten_shaped(c, &w);
  const struct ft_tensor *rows = x && offsets && ft_tracer_of(c->l, x)->rank == 1
                                     ? ft_tracer_of(c->l, offsets)
                                     : ft_tracer_of(c->l, x);
  int64_t dims[2];

  if (!t || !x || t->rank != 2 || rows->rank < 1)
    return ft_aten_not_shaped(c, x ? w : 0);
  dims[0] = rows->dims[0];
  dims[1] = t->dims[1];
  if (ft_aten_told(c, dims, 2, t->element) < 0)
    return -1;
  return ft_give_first(c, c->result.tensor, 3);
}
