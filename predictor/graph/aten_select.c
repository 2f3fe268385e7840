/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators of ATen that choose, place, resample and make elements. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/aten.h"

static const struct ft_tensor *shaped(struct ft_call *c, uint32_t *x)
{
  *x = ft_arg_tensor(c, 0);
  return *x && ft_live_of(c->l, *x)->rank >= 0 ? ft_live_of(c->l, *x) : NULL;
}

static int not_shaped(struct ft_call *c, uint32_t x)
{
  return x ? ft_aten_unknown(c) : -1;
}

static uint32_t along(struct ft_live *l, const char *type, uint32_t x, uint32_t index, int axis)
{
  if (!x || !index)
    return 0;
  ft_live_op(l, type);
  ft_live_in(l, x);
  ft_live_in(l, index);
  ft_live_int(l, "axis", axis);
  return ft_live_end(l, 1);
}

int ft_aten_index_select(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), index = ft_arg_tensor(c, 2);
  int rank = ft_arg_rank(c, 0), axis;

  if (rank < 1)
    return not_shaped(c, x);
  axis = ft_arg_axis(c, 1, "dim", 0, rank);
  return axis < 0 ? -1 : ft_give(c, along(c->l, "Gather", x, index, axis));
}

int ft_aten_gather(struct ft_call *c)
{
  bool take = strcmp(c->name, "take_along_dim") == 0;
  uint32_t x = ft_arg_tensor(c, 0), index = ft_arg_tensor(c, take ? 1 : 2);

  return ft_give(c, along(c->l, "GatherElements", x, index, 0));
}

/* x[i, :, j]: a list with an index, or None, for each dimension. */
int ft_aten_index(struct ft_call *c)
{
  const struct ft_operand *list = ft_arg(c, 1, "indices");
  uint32_t x = ft_arg_tensor(c, 0), index = 0, other;
  int axis = -1, count = 0;

  if (!x || list->type != FT_VALUE_LIST || ft_live_of(c->l, x)->rank < 0)
    return not_shaped(c, x);
  for (size_t i = 0; i < list->list->count; i++) {
    if (list->list->items[i].type == FT_VALUE_NONE)
      continue;
    other = ft_value_as_tensor(c->l, &list->list->items[i]);
    if (!other)
      return -1;
    if (axis < 0)
      axis = (int)i;
    index = index ? ft_live_binary(c->l, "Add", index, other) : other;
    if (!index)
      return -1;
    count++;
  }
  if (!count)
    return ft_aten_same(c);
  if (ft_live_of(c->l, index)->element == FT_ELEMENT_BOOL)
    return ft_aten_unknown(c); /* as many as are true */
  /* several indices, broadcast together, take their dimensions' place at once */
  for (int i = 1; i < count && x; i++) {
    int64_t at = axis;

    x = ft_live_slice(c->l, x, axis, 0, 1, 1);
    if (!x)
      return -1;
    ft_live_op(c->l, "Squeeze");
    ft_live_in(c->l, x);
    ft_live_ints(c->l, "axes", &at, 1);
    x = ft_live_end(c->l, 1);
  }
  return ft_give(c, along(c->l, "Gather", x, index, axis));
}

int ft_aten_nonzero(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), y;
  int rank = ft_arg_rank(c, 0);
  int64_t *dims;

  if (strcmp(c->name, "masked_select") == 0)
    return ft_give(c, x ? ft_live_unary(c->l, "Compress", x) : 0);
  y = x ? ft_live_unary(c->l, "NonZero", x) : 0;
  dims = y ? ft_shape(c->l->in, ft_live_of(c->l, y), 2) : NULL;
  if (!dims)
    return ft_give(c, 0);
  dims[1] = rank; /* ONNX has it the other way round */
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
  ft_live_op(c->l, "Where");
  ft_live_in(c->l, a);
  ft_live_in(c->l, x);
  ft_live_in(c->l, y);
  return ft_give(c, ft_live_end(c->l, 1));
}

int ft_aten_masked_fill(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), mask = ft_arg_tensor(c, 1), value = ft_arg_tensor(c, 2), y;

  if (!x || !mask || !value)
    return -1;
  ft_live_op(c->l, "Where");
  ft_live_in(c->l, mask);
  ft_live_in(c->l, value);
  ft_live_in(c->l, x);
  y = ft_live_end(c->l, 1);
  if (y)
    ft_live_of(c->l, y)->element = ft_live_of(c->l, x)->element;
  return ft_give(c, y);
}

/* What passes the end comes in at the front: two slices, joined. */
int ft_aten_roll(struct ft_call *c)
{
  int64_t shifts[FT_GRAPH_RANK], dims[FT_GRAPH_RANK];
  int n = ft_arg_ints(c, 1, "shifts", shifts, FT_GRAPH_RANK);
  int m = ft_arg_ints(c, 2, "dims", dims, FT_GRAPH_RANK);
  const struct ft_tensor *t;
  uint32_t x, front, back;

  t = shaped(c, &x);
  if (!t || n < 1 || n != m)
    return not_shaped(c, x);
  for (int i = 0; i < n; i++) {
    int rank = ft_live_of(c->l, x)->rank;
    int64_t axis = dims[i] < 0 ? dims[i] + rank : dims[i], size, cut;

    if (axis < 0 || axis >= rank)
      return ft_live_fail(c->l, "%s: dimension %lld of %d", c->name, (long long)dims[i], rank);
    size = ft_live_of(c->l, x)->dims[axis];
    if (size < 2 || shifts[i] % size == 0)
      continue;
    cut = size - ((shifts[i] % size + size) % size);
    back = ft_live_slice(c->l, x, (int)axis, cut, size, 1);
    front = back ? ft_live_slice(c->l, x, (int)axis, 0, cut, 1) : 0;
    if (!front)
      return -1;
    ft_live_op(c->l, "Concat");
    ft_live_in(c->l, back);
    ft_live_in(c->l, front);
    ft_live_int(c->l, "axis", axis);
    x = ft_live_end(c->l, 1);
    if (!x)
      return -1;
  }
  return ft_give(c, x);
}

/* A copy the other way round. */
int ft_aten_flip(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0);

  if (!x)
    return -1;
  ft_live_op(c->l, "ReverseSequence");
  ft_live_in(c->l, x);
  return ft_give(c, ft_live_end(c->l, 1));
}

int ft_aten_pixel_shuffle(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0);

  if (!x)
    return -1;
  ft_live_op(c->l, ft_aten_type(c));
  ft_live_in(c->l, x);
  ft_live_int(c->l, "blocksize", ft_arg_int(c, 1, "factor", 1));
  return ft_give(c, ft_live_end(c->l, 1));
}

/* PyTorch counts from the last dimension: before, after, before, after. */
int ft_aten_pad(struct ft_call *c)
{
  int64_t given[2 * FT_GRAPH_RANK], pads[2 * FT_GRAPH_RANK] = { 0 };
  int n = ft_arg_ints(c, 1, "pad", given, 2 * FT_GRAPH_RANK);
  const struct ft_tensor *t;
  uint32_t x, list;
  int rank;

  t = shaped(c, &x);
  if (!t || n < 0 || n / 2 > t->rank)
    return not_shaped(c, x);
  rank = t->rank;
  for (int i = 0; i < n / 2; i++) {
    pads[rank - 1 - i] = given[2 * i];
    pads[2 * rank - 1 - i] = given[2 * i + 1];
  }
  list = ft_live_list(c->l, pads, 2 * (size_t)rank);
  return ft_give(c, list ? ft_live_binary(c->l, "Pad", x, list) : 0);
}

/* (x, size or None, ..., scale factors): sizes first, else what the factors make of them. */
int ft_aten_upsample(struct ft_call *c)
{
  int64_t all[FT_GRAPH_RANK], sizes[FT_GRAPH_RANK];
  const struct ft_operand *factors = NULL;
  const struct ft_tensor *t;
  int n = ft_arg_ints(c, 1, "output_size", sizes, FT_GRAPH_RANK), spatial;
  uint32_t x;

  t = shaped(c, &x);
  if (!t || t->rank < 3)
    return not_shaped(c, x);
  spatial = t->rank - 2;
  for (size_t i = 2; i < c->count && n <= 0; i++)
    if ((c->args[i].type == FT_VALUE_LIST || c->args[i].type == FT_VALUE_TUPLE) &&
        c->args[i].list->count == (size_t)spatial)
      factors = &c->args[i];
  if (n != spatial && !factors)
    return ft_aten_unknown(c);
  for (int i = 0; i < t->rank; i++)
    all[i] = t->dims[i];
  for (int i = 0; i < spatial; i++) {
    double by = factors ? ft_value_number(&factors->list->items[i]) : 1;

    if (isnan(by) || by < 0)
      return ft_aten_unknown(c);
    all[i + 2] = factors ? ft_whole(floor((double)t->dims[i + 2] * by)) : sizes[i];
  }
  return ft_give(c, ft_live_resize(c->l, x, all, t->rank));
}

int ft_aten_grid_sample(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), grid = ft_arg_tensor(c, 1);

  return ft_give(c, x && grid ? ft_live_binary(c->l, "GridSample", x, grid) : 0);
}

/* A result that no operator of ONNX has: of known shape all the same. */
static int custom(struct ft_call *c, const char *type, const int64_t *dims, int rank)
{
  uint32_t x = ft_arg_tensor(c, 0), y = x ? ft_live_unary(c->l, type, x) : 0;
  int64_t *to = y ? ft_shape(c->l->in, ft_live_of(c->l, y), rank) : NULL;

  if (to)
    memcpy(to, dims, (size_t)rank * sizeof *to);
  return ft_give(c, to ? y : 0);
}

/* Windows over one dimension, as a dimension of their own at the end: a view. */
int ft_aten_unfold(struct ft_call *c)
{
  int64_t size = ft_arg_int(c, 2, "size", 1), step = ft_arg_int(c, 3, "step", 1);
  int64_t dims[FT_GRAPH_RANK + 1];
  const struct ft_tensor *t;
  uint32_t x;
  int axis;

  t = shaped(c, &x);
  if (!t || size < 0 || step < 1 || t->rank >= FT_GRAPH_RANK)
    return not_shaped(c, x);
  axis = ft_arg_axis(c, 1, "dimension", 0, t->rank);
  if (axis < 0)
    return -1;
  memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
  dims[axis] = t->dims[axis] < size ? 0 : (t->dims[axis] - size) / step + 1;
  dims[t->rank] = size;
  return custom(c, "Identity", dims, t->rank + 1);
}

/* (x, kernel, dilation, padding, stride) -> batch, channels x kernel, places */
int ft_aten_im2col(struct ft_call *c)
{
  int64_t k[2], d[2], p[2], s[2], dims[3];
  const struct ft_tensor *t;
  uint32_t x;

  t = shaped(c, &x);
  if (!t || t->rank != 4 || ft_arg_each(c, 1, NULL, 2, 1, k) < 0 ||
      ft_arg_each(c, 2, NULL, 2, 1, d) < 0 || ft_arg_each(c, 3, NULL, 2, 0, p) < 0 ||
      ft_arg_each(c, 4, NULL, 2, 1, s) < 0)
    return not_shaped(c, x);
  dims[0] = t->dims[0];
  dims[1] = ft_times(t->dims[1], ft_times(k[0], k[1]));
  dims[2] = 1;
  for (int i = 0; i < 2; i++) {
    int64_t room = t->dims[i + 2] + 2 * p[i] - ft_times(d[i], k[i] - 1) - 1;

    if (p[i] < 0 || p[i] > FT_GRAPH_DIMENSION || s[i] < 1 || room < 0)
      return ft_live_fail(c->l, "%s: windows larger than the input", c->name);
    dims[2] = ft_times(dims[2], room / s[i] + 1);
  }
  return custom(c, "ReverseSequence", dims, 3);
}

int ft_aten_one_hot(struct ft_call *c)
{
  int64_t depth = ft_arg_int(c, 1, "num_classes", -1);
  uint32_t x = ft_arg_tensor(c, 0);
  uint32_t size = depth > 0 ? ft_live_number(c->l, FT_ELEMENT_INT64, (double)depth) : 0;

  if (!x || !size)
    return not_shaped(c, x);
  return ft_give(c, ft_live_binary(c->l, "OneHot", x, size));
}

/* ---- reductions ---- */

/* OVER of COUNT axes; none: all of them. */
static uint32_t reduce(struct ft_live *l, const char *type, uint32_t x, const int64_t *over,
                       int count, bool keep)
{
  ft_live_op(l, type);
  ft_live_in(l, x);
  if (count > 0)
    ft_live_ints(l, "axes", over, (size_t)count);
  ft_live_int(l, "keepdims", keep);
  return ft_live_end(l, 1);
}

/* mean(x), mean(x, dims, keepdim), norm(x, p, dims, keepdim) */
int ft_aten_reduce(struct ft_call *c)
{
  bool norm = strstr(c->name, "norm") != NULL;
  unsigned at = norm ? 2 : 1;
  const struct ft_operand *v = ft_arg(c, at, "dim");
  bool axes = v->type == FT_VALUE_LIST || v->type == FT_VALUE_TUPLE ||
              (v->type == FT_VALUE_INT && (c->count > at + 1 || strcmp(c->name, "sum") != 0));
  int64_t over[FT_GRAPH_RANK];
  uint32_t x = ft_arg_tensor(c, 0), y;
  bool spread = strcmp(c->name, "var") == 0 || strcmp(c->name, "std") == 0;
  int n = axes ? ft_arg_ints(c, at, "dim", over, FT_GRAPH_RANK) : 0;
  bool keep = axes && ft_arg_true(c, at + (spread && c->count > 3 ? 2 : 1), "keepdim", false);

  if (!x || n < 0)
    return not_shaped(c, x);
  y = reduce(c->l, ft_aten_type(c), x, over, n, keep);
  if (y && (strcmp(c->name, "all") == 0 || strcmp(c->name, "any") == 0))
    ft_live_of(c->l, y)->element = FT_ELEMENT_BOOL;
  return ft_give(c, y);
}

int ft_aten_arg(struct ft_call *c)
{
  bool all = !ft_arg_given(c, 1, "dim");
  uint32_t x = ft_arg_tensor(c, 0);
  int64_t flat = -1;

  if (x && all)
    x = ft_live_reshape(c->l, x, &flat, 1);
  if (!x)
    return -1;
  ft_live_op(c->l, ft_aten_type(c));
  ft_live_in(c->l, x);
  ft_live_int(c->l, "axis", all ? 0 : ft_arg_int(c, 1, "dim", 0));
  ft_live_int(c->l, "keepdims", ft_arg_true(c, 2, "keepdim", false));
  return ft_give(c, ft_live_end(c->l, 1));
}

/* max(x), max(x, other), max(x, dim, keepdim) -> values, indices */
int ft_aten_extremum(struct ft_call *c)
{
  bool keep = ft_arg_true(c, 2, "keepdim", false);
  int64_t axis = ft_arg_int(c, 1, "dim", 0);
  uint32_t x = ft_arg_tensor(c, 0), y;
  struct ft_operand both[2];

  if (!x)
    return -1;
  if (!ft_arg_given(c, 1, "dim"))
    return ft_give(c, reduce(c->l, ft_aten_type(c), x, NULL, 0, false));
  if (ft_value_is_tensor(&c->args[1])) {
    y = ft_arg_tensor(c, 1);
    return ft_give(c, y ? ft_live_binary(c->l, strcmp(c->name, "max") == 0 ? "Max" : "Min", x, y) : 0);
  }
  y = reduce(c->l, ft_aten_type(c), x, &axis, 1, keep);
  if (!y)
    return -1;
  both[0] = ft_value_tensor(y);
  ft_live_op(c->l, "ArgMax");
  ft_live_in(c->l, x);
  ft_live_int(c->l, "axis", axis);
  ft_live_int(c->l, "keepdims", keep);
  both[1] = ft_value_tensor(ft_live_end(c->l, 1));
  if (!both[1].tensor)
    return -1;
  c->result = ft_value_list(c->l, FT_VALUE_TUPLE, both, 2);
  return 0;
}

int ft_aten_var_mean(struct ft_call *c)
{
  int64_t over[FT_GRAPH_RANK];
  uint32_t x = ft_arg_tensor(c, 0);
  int n = ft_arg_ints(c, 1, "dim", over, FT_GRAPH_RANK);
  bool keep = ft_arg_true(c, c->count > 3 ? 3 : 2, "keepdim", false);
  struct ft_operand both[2];

  if (!x || n < 0)
    return not_shaped(c, x);
  for (int i = 0; i < 2; i++) {
    both[i] = ft_value_tensor(reduce(c->l, i ? "ReduceMean" : "ReduceSumSquare", x, over, n, keep));
    if (!both[i].tensor)
      return -1;
  }
  c->result = ft_value_list(c->l, FT_VALUE_TUPLE, both, 2);
  return 0;
}

int ft_aten_topk(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), k = ft_arg_tensor(c, 1);

  if (!x || !k)
    return -1;
  ft_live_op(c->l, "TopK");
  ft_live_in(c->l, x);
  ft_live_in(c->l, k);
  ft_live_int(c->l, "axis", ft_arg_int(c, 2, "dim", -1));
  return ft_give_many(c, ft_live_end(c->l, 2), 2);
}

/* All of a dimension in order. */
int ft_aten_sort(struct ft_call *c)
{
  const struct ft_tensor *t;
  uint32_t x, k, y;
  int axis;

  t = shaped(c, &x);
  if (!t || t->rank == 0)
    return not_shaped(c, x);
  axis = ft_arg_axis(c, c->args[c->count > 1].type == FT_VALUE_BOOL && c->count > 2 ? 2 : 1, "dim",
                     -1, t->rank);
  axis = axis < 0 ? 0 : axis;
  k = ft_live_number(c->l, FT_ELEMENT_INT64,
                     t->dims[axis] < 0 ? (double)NAN : (double)t->dims[axis]);
  if (!k)
    return -1;
  ft_live_op(c->l, "TopK");
  ft_live_in(c->l, x);
  ft_live_in(c->l, k);
  ft_live_int(c->l, "axis", axis);
  y = ft_live_end(c->l, 2);
  return strcmp(c->name, "argsort") == 0 ? ft_give(c, y ? y + 1 : 0) : ft_give_many(c, y, 2);
}

/* ---- new tensors ---- */

static unsigned element_of(const struct ft_call *c, unsigned i, unsigned otherwise)
{
  const struct ft_operand *v = ft_arg(c, i, "dtype");

  return v->type == FT_VALUE_INT && v->known ? ft_aten_element(v->integer) : otherwise;
}

static int filled(struct ft_call *c, const int64_t *dims, int rank, unsigned element, double value)
{
  double values[FT_GRAPH_VALUES];
  int64_t count = 1;

  for (int i = 0; i < rank; i++) {
    if (dims[i] < 0 || dims[i] > FT_GRAPH_DIMENSION)
      return ft_live_fail(c->l, "%s: a size of %lld", c->name, (long long)dims[i]);
    count = ft_times(count, dims[i]);
  }
  if (count > FT_GRAPH_ELEMENTS)
    return ft_live_fail(c->l, "%s: more than 2^50 elements", c->name);
  for (int64_t i = 0; i < count && i < FT_GRAPH_VALUES; i++)
    values[i] = value;
  return ft_give(c, ft_live_constant(c->l, element, rank, dims,
                                     count <= FT_GRAPH_VALUES ? values : NULL));
}

int ft_aten_factory(struct ft_call *c)
{
  bool fresh = strncmp(c->name, "new_", 4) == 0, random = strstr(c->name, "rand") != NULL;
  bool whole = strcmp(c->name, "randperm") == 0 || strcmp(c->name, "randint") == 0;
  bool full = strstr(c->name, "full") != NULL;
  double value = strstr(c->name, "ones") ? 1 : random || strstr(c->name, "empty") ? (double)NAN : 0;
  unsigned element = FT_ELEMENT_FLOAT, at = fresh ? 1 : 0;
  int64_t dims[FT_GRAPH_RANK];
  int n;

  while (whole && at < 2 && ft_arg(c, at, NULL)->type == FT_VALUE_INT &&
         strcmp(c->name, "randint") == 0)
    at++;
  n = ft_arg_ints(c, at, "size", dims, FT_GRAPH_RANK);
  if (fresh) {
    uint32_t x = ft_arg_tensor(c, 0);

    if (!x)
      return -1;
    element = ft_live_of(c->l, x)->element;
  }
  if (n < 0)
    return ft_aten_unknown(c);
  if (strcmp(c->name, "eye") == 0)
    dims[n++] = ft_arg_int(c, 1, "m", dims[0]);
  if (full) {
    value = ft_value_number(ft_arg(c, at + 1, "fill_value"));
    if (!fresh && ft_arg(c, at + 1, "fill_value")->type == FT_VALUE_INT)
      element = FT_ELEMENT_INT64;
    if (!fresh && ft_arg(c, at + 1, "fill_value")->type == FT_VALUE_BOOL)
      element = FT_ELEMENT_BOOL;
  }
  return filled(c, dims, n, element_of(c, full ? at + 2 : at + 1, whole ? FT_ELEMENT_INT64 : element),
                strcmp(c->name, "eye") == 0 ? (double)NAN : value);
}

int ft_aten_like(struct ft_call *c)
{
  double value = strstr(c->name, "ones") ? 1 : strstr(c->name, "zeros") ? 0 : (double)NAN;
  const struct ft_tensor *t;
  uint32_t x;

  t = shaped(c, &x);
  if (!t || ft_tensor_elements(t) < 0)
    return not_shaped(c, x);
  if (strncmp(c->name, "full", 4) == 0)
    value = ft_value_number(ft_arg(c, 1, "fill_value"));
  return filled(c, t->dims, t->rank, element_of(c, strncmp(c->name, "full", 4) == 0 ? 2 : 1, t->element),
                value);
}

/* arange(end), arange(start, end), arange(start, end, step); numbers come first */
int ft_aten_arange(struct ft_call *c)
{
  double n[3] = { 0, (double)NAN, 1 };
  unsigned count = 0, element = FT_ELEMENT_INT64;
  uint32_t in[3];
  const struct ft_operand *v;

  while (count < 3 && ft_value_is_number(ft_arg(c, count, NULL)) &&
         !(count && ft_arg(c, count, "dtype")->type == FT_VALUE_BOOL)) {
    v = ft_arg(c, count, NULL);
    if (v->type == FT_VALUE_REAL)
      element = FT_ELEMENT_FLOAT;
    n[count++] = ft_value_number(v);
  }
  if (!count)
    return ft_aten_unknown(c);
  if (count == 1) {
    n[1] = n[0];
    n[0] = 0;
  }
  if (strcmp(c->name, "linspace") == 0) {
    n[1] = n[2];
    n[0] = 0;
    n[2] = 1;
    element = FT_ELEMENT_FLOAT;
  } else if (count == 3 && c->count > 3 && ft_arg(c, 3, NULL)->type == FT_VALUE_NONE &&
             n[2] == 0) {
    n[2] = 1;
  }
  for (int i = 0; i < 3; i++) {
    in[i] = ft_live_number(c->l, element, n[i]);
    if (!in[i])
      return -1;
  }
  ft_live_op(c->l, "Range");
  for (int i = 0; i < 3; i++)
    ft_live_in(c->l, in[i]);
  in[0] = ft_live_end(c->l, 1);
  if (in[0])
    ft_live_of(c->l, in[0])->element = (uint8_t)element_of(c, 99, element);
  return ft_give(c, in[0]);
}

int ft_aten_meshgrid(struct ft_call *c)
{
  const struct ft_operand *list = ft_arg(c, 0, "tensors"), *mode = ft_arg(c, 1, "indexing");
  bool turned = mode->type == FT_VALUE_STRING && strcmp(mode->string, "xy") == 0;
  int64_t dims[FT_GRAPH_RANK], one[FT_GRAPH_RANK];
  uint32_t in[FT_GRAPH_RANK], wanted;
  size_t n;

  if (list->type != FT_VALUE_LIST || list->list->count < 1 || list->list->count > 8)
    return ft_aten_unknown(c);
  n = list->list->count;
  for (size_t i = 0; i < n; i++) {
    in[i] = ft_value_as_tensor(c->l, &list->list->items[i]);
    if (!in[i])
      return -1;
    dims[i] = ft_tensor_elements(ft_live_of(c->l, in[i]));
    if (dims[i] < 0)
      return ft_aten_unknown(c);
  }
  if (turned && n > 1) {
    int64_t first = dims[0];

    dims[0] = dims[1];
    dims[1] = first;
  }
  c->result = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
  for (size_t i = 0; i < n && c->result.type == FT_VALUE_LIST; i++) {
    size_t place = turned && i < 2 && n > 1 ? 1 - i : i;

    for (size_t j = 0; j < n; j++)
      one[j] = j == place ? dims[j] : 1;
    in[i] = ft_live_reshape(c->l, in[i], one, (int)n);
    wanted = in[i] ? ft_live_list(c->l, dims, n) : 0;
    in[i] = wanted ? ft_live_binary(c->l, "Expand", in[i], wanted) : 0;
    if (!in[i] || ft_value_append(c->l, c->result.list, ft_value_tensor(in[i])) < 0)
      return -1;
  }
  return c->l->failed ? -1 : 0;
}

/* tensor(3.0), tensor([1, 2]) */
int ft_aten_scalar_tensor(struct ft_call *c)
{
  const struct ft_operand *v = ft_arg(c, 0, NULL);
  double values[FT_GRAPH_VALUES];
  int64_t count;
  bool whole = true;

  if (ft_value_is_tensor(v))
    return ft_aten_same(c);
  if (v->type != FT_VALUE_LIST || v->list->count > FT_GRAPH_VALUES)
    return ft_aten_unknown(c);
  count = (int64_t)v->list->count;
  for (int64_t i = 0; i < count; i++) {
    values[i] = ft_value_number(&v->list->items[i]);
    whole = whole && v->list->items[i].type == FT_VALUE_INT;
  }
  return ft_give(c, ft_live_constant(c->l,
                                     element_of(c, 99, whole ? FT_ELEMENT_INT64 : FT_ELEMENT_FLOAT),
                                     1, &count, values));
}

/* ---- detection (torchvision) ---- */

int ft_aten_nms(struct ft_call *c)
{
  uint32_t boxes = ft_arg_tensor(c, 0), scores = ft_arg_tensor(c, 1), y;

  y = boxes && scores ? ft_live_binary(c->l, "Compress", scores, boxes) : 0;
  if (y)
    ft_live_of(c->l, y)->element = FT_ELEMENT_INT64;
  return ft_give(c, y);
}

int ft_aten_roi_align(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), boxes = ft_arg_tensor(c, 1);
  int64_t pooled[2] = { ft_arg_int(c, 3, NULL, 1), ft_arg_int(c, 4, NULL, 1) };

  if (!x || !boxes)
    return -1;
  ft_live_op(c->l, ft_aten_type(c));
  ft_live_in(c->l, x);
  ft_live_in(c->l, boxes);
  ft_live_ints(c->l, "pooled_shape", pooled, 2);
  ft_live_int(c->l, "output_height", pooled[0]);
  ft_live_int(c->l, "output_width", pooled[1]);
  return ft_give(c, ft_live_end(c->l, 1));
}
