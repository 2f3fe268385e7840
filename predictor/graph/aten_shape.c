/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators of ATen that ask for shapes or change them. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/aten.h"

/* X and its rank, which must be known: else the call becomes an operator of unknown kind. */
static const struct ft_tensor *shaped(struct ft_call *c, uint32_t *x)
{
  *x = ft_arg_tensor(c, 0);
  return *x && ft_live_of(c->l, *x)->rank >= 0 ? ft_live_of(c->l, *x) : NULL;
}

static int not_shaped(struct ft_call *c, uint32_t x)
{
  return x ? ft_aten_unknown(c) : -1;
}

/* ---- questions ---- */

static struct ft_operand dimension(int64_t dim)
{
  return dim < 0 ? ft_value_some(FT_VALUE_INT) : ft_value_int(dim);
}

/* A weight answers without becoming a tensor of the graph. */
static int dims_of(struct ft_call *c, const int64_t **dims)
{
  const struct ft_operand *v = ft_arg(c, 0, NULL);
  uint32_t x;

  if (v->type == FT_VALUE_WEIGHT) {
    *dims = v->weight->declared.dims;
    return v->weight->declared.rank;
  }
  x = ft_arg_tensor(c, 0);
  *dims = x ? ft_live_of(c->l, x)->dims : NULL;
  return x ? ft_live_of(c->l, x)->rank : -1;
}

int ft_aten_size(struct ft_call *c)
{
  const int64_t *dims;
  int rank = dims_of(c, &dims), axis;

  if (ft_arg_given(c, 1, "dim")) {
    if (rank < 0) {
      c->result = ft_value_some(FT_VALUE_INT);
      return 0;
    }
    axis = ft_arg_axis(c, 1, "dim", 0, rank);
    c->result = axis < 0 ? ft_value_none() : dimension(dims[axis]);
    return axis < 0 ? -1 : 0;
  }
  if (rank < 0) {
    c->result = ft_value_some(FT_VALUE_OPAQUE);
    return 0;
  }
  c->result = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
  for (int i = 0; i < rank && c->result.type == FT_VALUE_LIST; i++)
    if (ft_value_append(c->l, c->result.list, dimension(dims[i])) < 0)
      return -1;
  return 0;
}

int ft_aten_dim(struct ft_call *c)
{
  const int64_t *dims;

  c->result = dimension(dims_of(c, &dims));
  return 0;
}

int ft_aten_numel(struct ft_call *c)
{
  const int64_t *dims;
  int rank = dims_of(c, &dims);
  int64_t count = rank < 0 ? -1 : 1;

  for (int i = 0; i < rank; i++)
    count = ft_times(count, dims[i]);
  c->result = dimension(count);
  return 0;
}

/* ScalarType of an element type, -1 where there is none. */
static int64_t scalar_type(unsigned element)
{
  for (int i = 0; i < 16; i++)
    if (i != 9 && ft_aten_element(i) == element)
      return i;
  return -1;
}

/* Questions about a tensor other than for its shape. */
int ft_aten_query(struct ft_call *c)
{
  const struct ft_operand *v = ft_arg(c, 0, NULL);
  unsigned element = v->type == FT_VALUE_WEIGHT   ? v->weight->declared.element
                     : v->type == FT_VALUE_TENSOR ? ft_live_of(c->l, v->tensor)->element
                                                  : 0;
  const char *name = c->name;

  if (strcmp(name, "is_floating_point") == 0)
    c->result = ft_value_bool(!element || ft_element_is_real(element));
  else if (strcmp(name, "dtype") == 0)
    c->result = ft_value_int(scalar_type(element ? element : FT_ELEMENT_FLOAT));
  else if (strcmp(name, "requires_grad") == 0) /* as it is where something is learnt */
    c->result = ft_value_bool(ft_element_is_real(element));
  else if (strcmp(name, "device") == 0)
    c->result = ft_value_string("cpu");
  else if (strcmp(name, "is_cpu") == 0 || strcmp(name, "is_contiguous") == 0)
    c->result = ft_value_bool(true);
  else if (strncmp(name, "is_", 3) == 0)
    c->result = ft_value_bool(false);
  else if (strcmp(name, "layout") == 0)
    c->result = ft_value_int(0);
  else
    c->result = ft_value_some(FT_VALUE_INT);
  return 0;
}

/* The number that a tensor of one element holds. */
int ft_aten_item(struct ft_call *c)
{
  const struct ft_operand *v = ft_arg(c, 0, NULL);
  const struct ft_tensor *t = v->type == FT_VALUE_TENSOR ? ft_live_of(c->l, v->tensor) : NULL;
  double value = t && t->values && ft_tensor_elements(t) == 1 ? t->values[0] : (double)NAN;

  if (t && ft_element_is_real(t->element))
    c->result = ft_value_real(value);
  else if (isnan(value))
    c->result = ft_value_some(FT_VALUE_INT);
  else
    c->result = ft_value_int(ft_whole(value));
  return 0;
}

/* ---- the same elements, shaped otherwise ---- */

int ft_aten_view(struct ft_call *c)
{
  int64_t dims[FT_GRAPH_RANK];
  uint32_t x = ft_arg_tensor(c, 0);
  int n = ft_arg_ints(c, 1, "size", dims, FT_GRAPH_RANK);
  const struct ft_operand *to = ft_arg(c, 1, NULL);

  if (!x)
    return -1;
  if (n < 0 && to->type == FT_VALUE_LIST && to->list->count <= FT_GRAPH_RANK) {
    /* a size that is not known: left open, as far as one can be */
    n = (int)to->list->count;
    for (int i = 0; i < n; i++)
      dims[i] = to->list->items[i].known ? to->list->items[i].integer : -1;
    for (int i = 0, open = 0; i < n; i++)
      if (dims[i] == -1 && open++)
        return ft_aten_unknown(c);
  }
  if (n < 0)
    return ft_aten_unknown(c);
  if (c->args[1].type == FT_VALUE_INT && n == 1 && strncmp(c->name, "view", 4) == 0 && c->count == 2 &&
      c->keys && c->keys[1])
    return ft_aten_same(c); /* view.dtype */
  return ft_give(c, ft_live_reshape(c->l, x, dims, n));
}

static uint32_t expand(struct ft_live *l, uint32_t x, const int64_t *dims, int rank)
{
  uint32_t list = ft_live_list(l, dims, (size_t)rank);

  return list ? ft_live_binary(l, "Expand", x, list) : 0;
}

int ft_aten_view_as(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), other = ft_arg_tensor(c, 1);
  const struct ft_tensor *t;

  if (!x || !other)
    return -1;
  t = ft_live_of(c->l, other);
  if (t->rank < 0 || ft_tensor_elements(t) < 0)
    return ft_aten_unknown(c);
  return ft_give(c, strcmp(c->name, "expand_as") == 0
                        ? expand(c->l, x, t->dims, t->rank)
                        : ft_live_reshape(c->l, x, t->dims, t->rank));
}

/* Dimensions FIRST to LAST of X become COUNT others. */
static int replace(struct ft_call *c, uint32_t x, int first, int last, const int64_t *with,
                   int count)
{
  const struct ft_tensor *t = ft_live_of(c->l, x);
  int64_t dims[2 * FT_GRAPH_RANK];
  int n = 0;

  for (int i = 0; i < first; i++)
    dims[n++] = t->dims[i];
  for (int i = 0; i < count; i++)
    dims[n++] = with[i];
  for (int i = last + 1; i < t->rank; i++)
    dims[n++] = t->dims[i];
  for (int i = 0; i < n; i++)
    if (dims[i] < -1 || n > FT_GRAPH_RANK)
      return ft_live_fail(c->l, "%s: %d dimensions, one of %lld", c->name, n, (long long)dims[i]);
  return ft_give(c, ft_live_reshape(c->l, x, dims, n));
}

int ft_aten_flatten(struct ft_call *c)
{
  const struct ft_tensor *t;
  int64_t product = 1;
  int first, last;
  uint32_t x;

  t = shaped(c, &x);
  if (!t)
    return not_shaped(c, x);
  if (t->rank == 0)
    return replace(c, x, 0, -1, &product, 1);
  first = ft_arg_axis(c, 1, "start_dim", 0, t->rank);
  last = ft_arg_axis(c, 2, "end_dim", -1, t->rank);
  if (first < 0 || last < 0)
    return -1;
  for (int i = first; i <= last; i++)
    product = ft_times(product, t->dims[i]);
  return replace(c, x, first, last < first ? first - 1 : last, &product, last < first ? 0 : 1);
}

int ft_aten_unflatten(struct ft_call *c)
{
  int64_t sizes[FT_GRAPH_RANK];
  const struct ft_tensor *t;
  int axis, n;
  uint32_t x;

  t = shaped(c, &x);
  if (!t)
    return not_shaped(c, x);
  axis = ft_arg_axis(c, 1, "dim", 0, t->rank);
  n = ft_arg_ints(c, 2, "sizes", sizes, FT_GRAPH_RANK);
  if (n < 0)
    return ft_aten_unknown(c);
  return axis < 0 ? -1 : replace(c, x, axis, axis, sizes, n);
}

int ft_aten_transpose(struct ft_call *c)
{
  bool last = strcmp(c->name, "mT") == 0, given = ft_arg_given(c, 1, "dim0");
  int64_t order[FT_GRAPH_RANK];
  const struct ft_tensor *t;
  int a, b;
  uint32_t x;

  t = shaped(c, &x);
  if (!t)
    return not_shaped(c, x);
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
  return ft_give(c, ft_live_transpose(c->l, x, order, t->rank));
}

int ft_aten_permute(struct ft_call *c)
{
  int64_t order[FT_GRAPH_RANK];
  uint32_t x = ft_arg_tensor(c, 0);
  int n = ft_arg_ints(c, 1, "dims", order, FT_GRAPH_RANK);

  if (n < 0)
    return ft_aten_unknown(c);
  return ft_give(c, x ? ft_live_transpose(c->l, x, order, n) : 0);
}

int ft_aten_movedim(struct ft_call *c)
{
  int64_t from[FT_GRAPH_RANK], to[FT_GRAPH_RANK], order[FT_GRAPH_RANK];
  bool taken[FT_GRAPH_RANK] = { false };
  int n = ft_arg_ints(c, 1, NULL, from, FT_GRAPH_RANK), next = 0;
  const struct ft_tensor *t;
  uint32_t x;

  t = shaped(c, &x);
  if (!t || n < 0 || ft_arg_ints(c, 2, NULL, to, FT_GRAPH_RANK) != n)
    return not_shaped(c, x);
  for (int i = 0; i < t->rank; i++)
    order[i] = -1;
  for (int i = 0; i < n; i++) {
    int64_t a = from[i] < 0 ? from[i] + t->rank : from[i], b = to[i] < 0 ? to[i] + t->rank : to[i];

    if (a < 0 || a >= t->rank || b < 0 || b >= t->rank)
      return ft_live_fail(c->l, "%s: a dimension outside %d", c->name, t->rank);
    order[b] = a;
    taken[a] = true;
  }
  for (int i = 0; i < t->rank; i++) {
    while (order[i] < 0 && next < t->rank && taken[next])
      next++;
    if (order[i] < 0)
      order[i] = next++;
  }
  return ft_give(c, ft_live_transpose(c->l, x, order, t->rank));
}

int ft_aten_unsqueeze(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0);
  int rank = x ? ft_live_of(c->l, x)->rank : -1, axis;
  int64_t at;

  if (rank < 0)
    return not_shaped(c, x);
  axis = ft_arg_axis(c, 1, "dim", 0, rank + 1);
  if (axis < 0)
    return -1;
  at = axis;
  ft_live_op(c->l, "Unsqueeze");
  ft_live_in(c->l, x);
  ft_live_ints(c->l, "axes", &at, 1);
  return ft_give(c, ft_live_end(c->l, 1));
}

/* Dimensions of 1 are dropped; others that are named stay, as in PyTorch. */
int ft_aten_squeeze(struct ft_call *c)
{
  int64_t axes[FT_GRAPH_RANK], ones[FT_GRAPH_RANK];
  int n = ft_arg_ints(c, 1, "dim", axes, FT_GRAPH_RANK), count = 0;
  const struct ft_tensor *t;
  uint32_t x;

  t = shaped(c, &x);
  if (!t || n < 0)
    return not_shaped(c, x);
  for (int i = 0; n == 0 && i < t->rank; i++)
    if (t->dims[i] == 1)
      ones[count++] = i;
  for (int i = 0; i < n; i++) {
    int64_t axis = axes[i] < 0 ? axes[i] + t->rank : axes[i];

    if (axis >= 0 && axis < t->rank && t->dims[axis] == 1)
      ones[count++] = axis;
  }
  if (!count)
    return ft_aten_same(c);
  ft_live_op(c->l, "Squeeze");
  ft_live_in(c->l, x);
  ft_live_ints(c->l, "axes", ones, (size_t)count);
  return ft_give(c, ft_live_end(c->l, 1));
}

int ft_aten_expand(struct ft_call *c)
{
  int64_t dims[FT_GRAPH_RANK];
  int n = ft_arg_ints(c, 1, "size", dims, FT_GRAPH_RANK);
  const struct ft_tensor *t;
  uint32_t x;

  t = shaped(c, &x);
  if (!t || n < t->rank)
    return not_shaped(c, x);
  for (int i = 0; i < n; i++)
    if (dims[i] == -1)
      dims[i] = i < n - t->rank ? 1 : t->dims[i - (n - t->rank)];
  return ft_give(c, expand(c->l, x, dims, n));
}

int ft_aten_repeat(struct ft_call *c)
{
  int64_t times[FT_GRAPH_RANK], dims[FT_GRAPH_RANK];
  int n = ft_arg_ints(c, 1, "repeats", times, FT_GRAPH_RANK), more;
  const struct ft_tensor *t;
  uint32_t x, list;

  t = shaped(c, &x);
  if (!t || n < 0)
    return not_shaped(c, x);
  more = n > t->rank ? n - t->rank : 0;
  for (int i = n - 1; n < t->rank && i >= 0; i--) /* tile: missing ones stand in front */
    times[i + t->rank - n] = times[i];
  for (int i = 0; i < t->rank - n; i++)
    times[i] = 1;
  for (int i = 0; i < more + t->rank; i++)
    dims[i] = i < more ? 1 : t->dims[i - more];
  n = more + t->rank;
  if (more)
    x = ft_live_reshape(c->l, x, dims, n);
  list = x ? ft_live_list(c->l, times, (size_t)n) : 0;
  return ft_give(c, list ? ft_live_binary(c->l, "Tile", x, list) : 0);
}

/* Each element of a dimension so many times: a dimension behind it, expanded, joined again. */
int ft_aten_repeat_interleave(struct ft_call *c)
{
  int64_t times = ft_arg_int(c, 1, "repeats", INT64_MIN), with[2], dims[FT_GRAPH_RANK + 1];
  const struct ft_tensor *t;
  int axis, rank;
  uint32_t x;

  t = shaped(c, &x);
  if (!t || times < 0 || t->rank == 0 || t->rank >= FT_GRAPH_RANK || !ft_arg_given(c, 2, "dim"))
    return not_shaped(c, x);
  rank = t->rank;
  axis = ft_arg_axis(c, 2, "dim", 0, rank);
  if (axis < 0)
    return -1;
  with[0] = t->dims[axis];
  with[1] = 1;
  if (replace(c, x, axis, axis, with, 2) < 0)
    return -1;
  memcpy(dims, ft_live_of(c->l, c->result.tensor)->dims, (size_t)(rank + 1) * sizeof *dims);
  dims[axis + 1] = times;
  x = expand(c->l, c->result.tensor, dims, rank + 1);
  with[0] = ft_times(with[0], times);
  return x ? replace(c, x, axis, axis + 1, with, 1) : -1;
}

/* ---- joining and taking apart ---- */

static int join(struct ft_call *c, const uint32_t *in, size_t count, int axis)
{
  ft_live_op(c->l, "Concat");
  for (size_t i = 0; i < count; i++)
    ft_live_in(c->l, in[i]);
  ft_live_int(c->l, "axis", axis);
  return ft_give(c, ft_live_end(c->l, 1));
}

static uint32_t *members(struct ft_call *c, size_t *count)
{
  const struct ft_operand *v = ft_arg(c, 0, "tensors");
  uint32_t *list;

  if ((v->type != FT_VALUE_LIST && v->type != FT_VALUE_TUPLE) || !v->list->count)
    return NULL;
  *count = v->list->count;
  list = ft_live_take(c->l, *count * sizeof *list);
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
  rank = ft_live_of(c->l, in[count - 1])->rank;
  if (rank < 0)
    return ft_aten_unknown(c);
  axis = ft_arg_axis(c, 1, "dim", 0, rank);
  return axis < 0 ? -1 : join(c, in, count, axis);
}

int ft_aten_stack(struct ft_call *c)
{
  size_t count = 0;
  uint32_t *in = members(c, &count);
  int64_t at;
  int axis;

  if (!in)
    return c->l->failed ? -1 : ft_aten_unknown(c);
  if (ft_live_of(c->l, in[0])->rank < 0)
    return ft_aten_unknown(c);
  axis = ft_arg_axis(c, 1, "dim", 0, ft_live_of(c->l, in[0])->rank + 1);
  if (axis < 0)
    return -1;
  at = axis;
  for (size_t i = 0; i < count; i++) {
    ft_live_op(c->l, "Unsqueeze");
    ft_live_in(c->l, in[i]);
    ft_live_ints(c->l, "axes", &at, 1);
    in[i] = ft_live_end(c->l, 1);
    if (!in[i])
      return -1;
  }
  return join(c, in, count, axis);
}

/* How many pieces of which sizes; -1 not known. */
static int pieces(struct ft_call *c, int64_t dim, int64_t *sizes)
{
  bool chunk = strstr(c->name, "chunk") || strcmp(c->name, "tensor_split") == 0;
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

  t = shaped(c, &x);
  if (!t)
    return not_shaped(c, x);
  axis = ft_arg_axis(c, 2, "dim", 0, t->rank);
  if (axis < 0)
    return -1;
  count = pieces(c, t->dims[axis], sizes);
  if (count < 1)
    return ft_aten_unknown(c);
  list = ft_live_list(c->l, sizes, (size_t)count);
  if (!list)
    return -1;
  ft_live_op(c->l, "Split");
  ft_live_in(c->l, x);
  ft_live_in(c->l, list);
  ft_live_int(c->l, "axis", axis);
  list = ft_live_end(c->l, (uint32_t)count);
  if (!list)
    return -1;
  c->result = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
  for (int i = 0; i < count && c->result.type == FT_VALUE_LIST; i++)
    if (ft_value_append(c->l, c->result.list, ft_value_tensor(list + (uint32_t)i)) < 0)
      return -1;
  return 0;
}

static uint32_t choose(struct ft_live *l, uint32_t x, int axis, int64_t index)
{
  uint32_t at = ft_live_number(l, FT_ELEMENT_INT64, (double)index);

  if (!at)
    return 0;
  ft_live_op(l, "Gather");
  ft_live_in(l, x);
  ft_live_in(l, at);
  ft_live_int(l, "axis", axis);
  return ft_live_end(l, 1);
}

/* A slice of one, without its dimension: a view, as PyTorch's. */
static uint32_t pick(struct ft_live *l, uint32_t x, int axis, int64_t index)
{
  int64_t at = axis;

  if (ft_live_of(l, x)->values)
    return choose(l, x, axis, index);
  x = ft_live_slice(l, x, axis, index, index == -1 ? INT64_MAX : index + 1, 1);
  if (!x)
    return 0;
  ft_live_op(l, "Squeeze");
  ft_live_in(l, x);
  ft_live_ints(l, "axes", &at, 1);
  return ft_live_end(l, 1);
}

int ft_aten_unbind(struct ft_call *c)
{
  const struct ft_tensor *t;
  int64_t count;
  int axis;
  uint32_t x;

  t = shaped(c, &x);
  if (!t || t->rank == 0)
    return not_shaped(c, x);
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

  t = shaped(c, &x);
  if (!t)
    return not_shaped(c, x);
  axis = ft_arg_axis(c, 1, "dim", 0, t->rank);
  if (axis < 0)
    return -1;
  if (narrow && start != INT64_MIN && end != INT64_MIN && end >= 0 && end < INT64_MAX / 2 &&
      start < INT64_MAX / 2)
    end = start + end;
  if (start == INT64_MIN || end == INT64_MIN || step == INT64_MIN) {
    y = ft_live_unary(c->l, "Identity", x);
    if (y) {
      int64_t *dims = ft_shape(c->l->in, ft_live_of(c->l, y), t->rank);

      t = ft_live_of(c->l, x);
      for (int i = 0; dims && i < t->rank; i++)
        dims[i] = i == axis ? -1 : t->dims[i];
    }
    return ft_give(c, y);
  }
  if (start == 0 && end == INT64_MAX && step == 1)
    return ft_aten_same(c);
  return ft_give(c, ft_live_slice(c->l, x, axis, start, end, step));
}

int ft_aten_select(struct ft_call *c)
{
  int64_t index = ft_arg_int(c, 2, "index", 0);
  const struct ft_tensor *t;
  uint32_t x;
  int axis;

  t = shaped(c, &x);
  if (!t)
    return not_shaped(c, x);
  axis = ft_arg_axis(c, 1, "dim", 0, t->rank);
  return axis < 0 ? -1 : ft_give(c, pick(c->l, x, axis, index == INT64_MIN ? 0 : index));
}
