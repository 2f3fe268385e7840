/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators of ATen that reshape, permute and expand. */
#include "config.h"

#include <string.h>

#include "predictor/graph/aten/aten.h"

int ft_aten_view(struct ft_call *c)
{
  int64_t sizes[FT_GRAPH_RANK];
  ft_dim dims[FT_GRAPH_RANK];
  uint32_t x = ft_arg_tensor(c, 0);
  int n = ft_arg_ints(c, 1, "size", sizes, FT_GRAPH_RANK);
  const struct ft_operand *to = ft_arg(c, 1, NULL);

  if (!x)
    return -1;
  if (n < 0 && to->type == FT_VALUE_LIST && to->list->count <= FT_GRAPH_RANK) {
    n = (int)to->list->count;
    for (int i = 0; i < n; i++)
      sizes[i] = to->list->items[i].type == FT_VALUE_INT && to->list->items[i].known
                     ? to->list->items[i].integer
                     : INT64_MIN;
  }
  if (n < 0)
    return ft_aten_unknown(c);
  if (c->args[1].type == FT_VALUE_INT && n == 1 && strncmp(c->name, "view", 4) == 0 &&
      c->count == 2 && c->keys && c->keys[1])
    return ft_aten_same(c); /* view.dtype */
  return ft_aten_dims(c, sizes, n, true, dims) < 0
             ? -1
             : ft_give(c, ft_tracer_reshape(c->l, x, dims, n));
}

static uint32_t record_expand(struct ft_tracer *l, uint32_t x, const ft_dim *dims, int rank)
{
  uint32_t list = ft_tracer_sizes(l, dims, rank);

  return list ? ft_tracer_binary(l, "Expand", x, list) : 0;
}

int ft_aten_view_as(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), other = ft_arg_tensor(c, 1);
  const struct ft_tensor *t;

  if (!x || !other)
    return -1;
  t = ft_tracer_of(c->l, other);
  if (!ft_dim_known(ft_tensor_elements(t)))
    return ft_aten_unknown(c);
  return ft_give(c, strcmp(c->name, "expand_as") == 0
                        ? record_expand(c->l, x, t->dims, t->rank)
                        : ft_tracer_reshape(c->l, x, t->dims, t->rank));
}

/* Replaces dimensions FIRST to LAST of X by COUNT others. */
static int replace_dims(struct ft_call *c, uint32_t x, int first, int last, const ft_dim *with,
                        int count)
{
  const struct ft_tensor *t = ft_tracer_of(c->l, x);
  ft_dim dims[2 * FT_GRAPH_RANK];
  int n = 0;

  for (int i = 0; i < first; i++)
    dims[n++] = t->dims[i];
  for (int i = 0; i < count; i++)
    dims[n++] = with[i];
  for (int i = last + 1; i < t->rank; i++)
    dims[n++] = t->dims[i];
  return ft_give(c, ft_tracer_reshape(c->l, x, dims, n));
}

int ft_aten_flatten(struct ft_call *c)
{
  const struct ft_tensor *t;
  ft_dim product = ft_dim_of(1);
  int first, last;
  uint32_t x;

  t = ft_aten_shaped(c, &x);
  if (!t)
    return ft_aten_not_shaped(c, x);
  if (t->rank == 0)
    return replace_dims(c, x, 0, -1, &product, 1);
  first = ft_arg_axis(c, 1, "start_dim", 0, t->rank);
  last = ft_arg_axis(c, 2, "end_dim", -1, t->rank);
  if (first < 0 || last < 0)
    return -1;
  product = ft_dim_product(t->dims + first, last + 1 - first);
  return replace_dims(c, x, first, last < first ? first - 1 : last, &product, last < first ? 0 : 1);
}

int ft_aten_unflatten(struct ft_call *c)
{
  int64_t sizes[FT_GRAPH_RANK];
  ft_dim dims[FT_GRAPH_RANK];
  const struct ft_tensor *t;
  int axis, n;
  uint32_t x;

  t = ft_aten_shaped(c, &x);
  if (!t)
    return ft_aten_not_shaped(c, x);
  axis = ft_arg_axis(c, 1, "dim", 0, t->rank);
  n = ft_arg_ints(c, 2, "sizes", sizes, FT_GRAPH_RANK);
  if (n < 0)
    return ft_aten_unknown(c);
  if (axis < 0 || ft_aten_dims(c, sizes, n, true, dims) < 0)
    return -1;
  return replace_dims(c, x, axis, axis, dims, n);
}

int ft_aten_transpose(struct ft_call *c)
{
  bool last = strcmp(c->name, "mT") == 0 || strcmp(c->name, "mH") == 0 ||
              strcmp(c->name, "adjoint") == 0 || strcmp(c->name, "matrix_H") == 0;
  bool given = ft_arg_given(c, 1, "dim0");
  int64_t order[FT_GRAPH_RANK];
  const struct ft_tensor *t;
  int a, b;
  uint32_t x;

  t = ft_aten_shaped(c, &x);
  if (!t)
    return ft_aten_not_shaped(c, x);
  if (t->rank < 2 && !given)
    return ft_aten_same(c);
  for (int i = 0; i < t->rank; i++)
    order[i] = given || last ? i : t->rank - 1 - i;
  if (given || last) {
    a = given ? ft_arg_axis(c, 1, "dim0", 0, t->rank) : t->rank - 2;
    b = given ? ft_arg_axis(c, 2, "dim1", 0, t->rank) : t->rank - 1;
    if (a < 0 || b < 0)
      return -1;
    order[a] = b;
    order[b] = a;
  }
  return ft_give(c, ft_tracer_transpose(c->l, x, order, t->rank));
}

int ft_aten_permute(struct ft_call *c)
{
  int64_t order[FT_GRAPH_RANK];
  uint32_t x = ft_arg_tensor(c, 0);
  int n = ft_arg_ints(c, 1, "dims", order, FT_GRAPH_RANK);

  if (n < 0)
    return ft_aten_unknown(c);
  return ft_give(c, x ? ft_tracer_transpose(c->l, x, order, n) : 0);
}

/* movedim(x, source, destination): the other dimensions keep their order. */
int ft_aten_movedim(struct ft_call *c)
{
  int64_t from[FT_GRAPH_RANK], to[FT_GRAPH_RANK], order[FT_GRAPH_RANK];
  bool taken[FT_GRAPH_RANK] = { false };
  int n = ft_arg_ints(c, 1, NULL, from, FT_GRAPH_RANK), next = 0;
  const struct ft_tensor *t;
  uint32_t x;

  t = ft_aten_shaped(c, &x);
  if (!t || n < 0 || ft_arg_ints(c, 2, NULL, to, FT_GRAPH_RANK) != n)
    return ft_aten_not_shaped(c, x);
  for (int i = 0; i < t->rank; i++)
    order[i] = -1;
  for (int i = 0; i < n; i++) {
    int64_t a = from[i] < 0 ? from[i] + t->rank : from[i], b = to[i] < 0 ? to[i] + t->rank : to[i];

    if (a < 0 || a >= t->rank || b < 0 || b >= t->rank)
      return ft_tracer_fail(c->l, "%s: a dimension outside %d", c->name, t->rank);
    order[b] = a;
    taken[a] = true;
  }
  for (int i = 0; i < t->rank; i++) {
    while (order[i] < 0 && next < t->rank && taken[next])
      next++;
    if (order[i] < 0)
      order[i] = next++;
  }
  return ft_give(c, ft_tracer_transpose(c->l, x, order, t->rank));
}

int ft_aten_unsqueeze(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0);
  int rank = x ? ft_tracer_of(c->l, x)->rank : -1, axis;
  int64_t at;

  if (rank < 0)
    return ft_aten_not_shaped(c, x);
  axis = ft_arg_axis(c, 1, "dim", 0, rank + 1);
  if (axis < 0)
    return -1;
  at = axis;
  return ft_give(c, ft_aten_axes(c->l, "Unsqueeze", x, &at, 1));
}

/* Removes dimensions of 1. A listed dimension of another size stays, as in PyTorch. */
int ft_aten_squeeze(struct ft_call *c)
{
  int64_t axes[FT_GRAPH_RANK], ones[FT_GRAPH_RANK];
  int n = ft_arg_ints(c, 1, "dim", axes, FT_GRAPH_RANK), count = 0;
  const struct ft_tensor *t;
  uint32_t x;

  t = ft_aten_shaped(c, &x);
  if (!t || n < 0)
    return ft_aten_not_shaped(c, x);
  for (int i = 0; n == 0 && i < t->rank; i++)
    if (ft_dim_is(t->dims[i], 1))
      ones[count++] = i;
  for (int i = 0; i < n; i++) {
    int64_t axis = axes[i] < 0 ? axes[i] + t->rank : axes[i];

    if (axis >= 0 && axis < t->rank && ft_dim_is(t->dims[axis], 1))
      ones[count++] = axis;
  }
  if (!count)
    return ft_aten_same(c);
  return ft_give(c, ft_aten_axes(c->l, "Squeeze", x, ones, (size_t)count));
}

int ft_aten_expand(struct ft_call *c)
{
  int64_t sizes[FT_GRAPH_RANK];
  ft_dim dims[FT_GRAPH_RANK];
  int n = ft_arg_ints(c, 1, "size", sizes, FT_GRAPH_RANK);
  const struct ft_tensor *t;
  uint32_t x;

  t = ft_aten_shaped(c, &x);
  if (!t || n < t->rank)
    return ft_aten_not_shaped(c, x);
  if (ft_aten_dims(c, sizes, n, true, dims) < 0)
    return -1;
  for (int i = 0; i < n; i++)
    if (ft_dim_inferred(dims[i]))
      dims[i] = i < n - t->rank ? ft_dim_of(1) : t->dims[i - (n - t->rank)];
  return ft_give(c, record_expand(c->l, x, dims, n));
}

int ft_aten_repeat(struct ft_call *c)
{
  int64_t times[FT_GRAPH_RANK];
  ft_dim dims[FT_GRAPH_RANK];
  int n = ft_arg_ints(c, 1, "repeats", times, FT_GRAPH_RANK), more;
  const struct ft_tensor *t;
  uint32_t x, list;

  t = ft_aten_shaped(c, &x);
  if (!t || n < 0)
    return ft_aten_not_shaped(c, x);
  more = n > t->rank ? n - t->rank : 0;
  for (int i = n - 1; n < t->rank && i >= 0; i--) /* tile: missing repeats are leading ones */
    times[i + t->rank - n] = times[i];
  for (int i = 0; i < t->rank - n; i++)
    times[i] = 1;
  for (int i = 0; i < more + t->rank; i++)
    dims[i] = i < more ? ft_dim_of(1) : t->dims[i - more];
  n = more + t->rank;
  if (more)
    x = ft_tracer_reshape(c->l, x, dims, n);
  list = x ? ft_tracer_list(c->l, times, (size_t)n) : 0;
  return ft_give(c, list ? ft_tracer_binary(c->l, "Tile", x, list) : 0);
}

/* Each element REPEATS times: a new dimension, expanded and merged. */
int ft_aten_repeat_interleave(struct ft_call *c)
{
  int64_t times = ft_arg_int(c, 1, "repeats", INT64_MIN);
  ft_dim with[2], dims[FT_GRAPH_RANK + 1];
  const struct ft_tensor *t;
  int axis, rank;
  uint32_t x;

  t = ft_aten_shaped(c, &x);
  if (!t || times < 0 || t->rank == 0 || t->rank >= FT_GRAPH_RANK || !ft_arg_given(c, 2, "dim"))
    return ft_aten_not_shaped(c, x);
  rank = t->rank;
  axis = ft_arg_axis(c, 2, "dim", 0, rank);
  if (axis < 0)
    return -1;
  with[0] = t->dims[axis];
  with[1] = ft_dim_of(1);
  if (replace_dims(c, x, axis, axis, with, 2) < 0)
    return -1;
  memcpy(dims, ft_tracer_of(c->l, c->result.tensor)->dims, (size_t)(rank + 1) * sizeof *dims);
  dims[axis + 1] = ft_dim_of(times);
  x = record_expand(c->l, c->result.tensor, dims, rank + 1);
  with[0] = ft_dim_times(with[0], dims[axis + 1]);
  return x ? replace_dims(c, x, axis, axis + 1, with, 1) : -1;
}

/* as_strided(x, size, stride) */
int ft_aten_as_strided(struct ft_call *c)
{
  int64_t sizes[FT_GRAPH_RANK];
  ft_dim dims[FT_GRAPH_RANK];
  int n = ft_arg_ints(c, 1, "size", sizes, FT_GRAPH_RANK);
  uint32_t x = ft_arg_tensor(c, 0);

  if (!x || n < 0)
    return ft_aten_not_shaped(c, x);
  if (ft_aten_dims(c, sizes, n, false, dims) < 0)
    return -1;
  return ft_aten_of_shape(c, dims, n, ft_tracer_of(c->l, x)->element);
}

/* diagonal(x, offset, dim1, dim2): the diagonal becomes the last dimension */
int ft_aten_diagonal(struct ft_call *c)
{
  int64_t offset = ft_arg_int(c, 1, "offset", 0), a, b;
  ft_dim dims[FT_GRAPH_RANK];
  uint32_t x;
  const struct ft_tensor *t = ft_aten_shaped(c, &x);
  int one, two, n = 0;

  if (!t || t->rank < 2 || offset == INT64_MIN)
    return ft_aten_not_shaped(c, x);
  one = ft_arg_axis(c, 2, "dim1", 0, t->rank);
  two = ft_arg_axis(c, 3, "dim2", 1, t->rank);
  if (one < 0 || two < 0)
    return -1;
  for (int i = 0; i < t->rank; i++)
    if (i != one && i != two)
      dims[n++] = t->dims[i];
  dims[n] = FT_DIM_UNKNOWN;
  if (ft_dim_get(t->dims[one], &a) && ft_dim_get(t->dims[two], &b)) {
    a += offset < 0 ? offset : 0;
    b -= offset > 0 ? offset : 0;
    dims[n] = ft_dim_of(a < 0 || b < 0 ? 0 : a < b ? a : b);
  }
  return ft_aten_of_shape(c, dims, n + 1, t->element);
}
