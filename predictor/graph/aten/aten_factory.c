/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators of ATen that create tensors. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/aten/aten.h"

static unsigned dtype_argument(const struct ft_call *c, unsigned i, unsigned otherwise)
{
  const struct ft_operand *v = ft_arg(c, i, "dtype");

  return v->type == FT_VALUE_INT && v->known ? ft_aten_element(v->integer) : otherwise;
}

/* Sets the result to a constant of the known dimensions DIMS. Returns 0; -1 with the error. */
static int give_constant(struct ft_call *c, const ft_dim *dims, int rank, unsigned element,
                         double value)
{
  double values[FT_GRAPH_VALUES];
  int64_t count = ft_dim_or(ft_dim_product(dims, rank), 0);

  if (count > FT_GRAPH_ELEMENTS)
    return ft_tracer_fail(c->l, "%s: more than 2^50 elements", c->name);
  for (int64_t i = 0; i < count && i < FT_GRAPH_VALUES; i++)
    values[i] = value;
  return ft_give(
      c, ft_tracer_constant(c->l, element, rank, dims, count <= FT_GRAPH_VALUES ? values : NULL));
}

/* eye(n), eye(n, m) */
static int run_eye(struct ft_call *c)
{
  int64_t sizes[2] = { ft_arg_int(c, 0, "n", INT64_MIN) };
  ft_dim dims[2];

  sizes[1] = ft_arg_int(c, 1, "m", sizes[0]);
  if (sizes[0] == INT64_MIN || sizes[1] == INT64_MIN)
    return ft_aten_unknown(c);
  if (ft_aten_dims(c, sizes, 2, false, dims) < 0)
    return -1;
  return give_constant(c, dims, 2, dtype_argument(c, 99, FT_ELEMENT_FLOAT), (double)NAN);
}

/* zeros, ones, full, empty, rand..., and their new_ variants, which have the element type of a
 * tensor. Random and empty tensors have unknown values. */
int ft_aten_factory(struct ft_call *c)
{
  bool fresh = strncmp(c->name, "new_", 4) == 0, random = strstr(c->name, "rand") != NULL;
  bool whole = strcmp(c->name, "randperm") == 0 || strcmp(c->name, "randint") == 0;
  bool full = strstr(c->name, "full") != NULL;
  double value = strstr(c->name, "ones") ? 1 : random || strstr(c->name, "empty") ? (double)NAN : 0;
  unsigned element = FT_ELEMENT_FLOAT, at = fresh ? 1 : 0;
  int64_t sizes[FT_GRAPH_RANK];
  ft_dim dims[FT_GRAPH_RANK];
  int n;

  if (strcmp(c->name, "eye") == 0)
    return run_eye(c);
  while (whole && at < 2 && ft_arg(c, at, NULL)->type == FT_VALUE_INT &&
         strcmp(c->name, "randint") == 0)
    at++;
  n = ft_arg_ints(c, at, "size", sizes, FT_GRAPH_RANK);
  if (fresh) {
    uint32_t x = ft_arg_tensor(c, 0);

    if (!x)
      return -1;
    element = ft_tracer_of(c->l, x)->element;
  }
  if (n < 0)
    return ft_aten_unknown(c);
  if (ft_aten_dims(c, sizes, n, false, dims) < 0)
    return -1;
  if (full) {
    value = ft_value_number(ft_arg(c, at + 1, "fill_value"));
    if (!fresh && ft_arg(c, at + 1, "fill_value")->type == FT_VALUE_INT)
      element = FT_ELEMENT_INT64;
    if (!fresh && ft_arg(c, at + 1, "fill_value")->type == FT_VALUE_BOOL)
      element = FT_ELEMENT_BOOL;
  }
  return give_constant(
      c, dims, n, dtype_argument(c, full ? at + 2 : at + 1, whole ? FT_ELEMENT_INT64 : element),
      value);
}

int ft_aten_like(struct ft_call *c)
{
  double value = strstr(c->name, "ones") ? 1 : strstr(c->name, "zeros") ? 0 : (double)NAN;
  const struct ft_tensor *t;
  uint32_t x;

  t = ft_aten_shaped(c, &x);
  if (!t || !ft_dim_known(ft_tensor_elements(t)))
    return ft_aten_not_shaped(c, x);
  if (strncmp(c->name, "full", 4) == 0)
    value = ft_value_number(ft_arg(c, 1, "fill_value"));
  return give_constant(c, t->dims, t->rank,
                       dtype_argument(c, strncmp(c->name, "full", 4) == 0 ? 2 : 1, t->element),
                       value);
}

/* linspace(start, end, steps), both ends included */
static int run_linspace(struct ft_call *c)
{
  double start = ft_value_number(ft_arg(c, 0, "start")), end = ft_value_number(ft_arg(c, 1, "end"));
  int64_t steps = ft_arg_int(c, 2, "steps", INT64_MIN);
  ft_dim count = ft_dim_of(steps);
  double values[FT_GRAPH_VALUES];

  if (steps == INT64_MIN)
    return ft_aten_unknown(c);
  if (steps < 0 || steps > FT_GRAPH_DIMENSION)
    return ft_tracer_fail(c->l, "%s: %lld steps", c->name, (long long)steps);
  for (int64_t i = 0; i < steps && i < FT_GRAPH_VALUES; i++)
    values[i] = i ? start + (double)i * ((end - start) / (double)(steps - 1)) : start;
  return ft_give(c, ft_tracer_constant(c->l, dtype_argument(c, 99, FT_ELEMENT_FLOAT), 1, &count,
                                       steps <= FT_GRAPH_VALUES ? values : NULL));
}

/* arange(end), arange(start, end), arange(start, end, step) */
int ft_aten_arange(struct ft_call *c)
{
  double n[3] = { 0, (double)NAN, 1 };
  unsigned count = 0, element = FT_ELEMENT_INT64;
  uint32_t in[3];
  const struct ft_operand *v;

  if (strcmp(c->name, "linspace") == 0)
    return run_linspace(c);
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
  if (count == 3 && c->count > 3 && ft_arg(c, 3, NULL)->type == FT_VALUE_NONE && n[2] == 0) {
    n[2] = 1;
  }
  for (int i = 0; i < 3; i++) {
    in[i] = ft_tracer_number(c->l, element, n[i]);
    if (!in[i])
      return -1;
  }
  ft_tracer_op(c->l, "Range");
  for (int i = 0; i < 3; i++)
    ft_tracer_in(c->l, in[i]);
  in[0] = ft_tracer_end(c->l, 1);
  if (in[0])
    ft_tracer_of(c->l, in[0])->element = (uint8_t)dtype_argument(c, 99, element);
  return ft_give(c, in[0]);
}

/* meshgrid(tensors, indexing): each tensor along a dimension of its own, expanded to all sizes. */
int ft_aten_meshgrid(struct ft_call *c)
{
  const struct ft_operand *list = ft_arg(c, 0, "tensors"), *mode = ft_arg(c, 1, "indexing");
  bool turned = mode->type == FT_VALUE_STRING && strcmp(mode->string, "xy") == 0;
  ft_dim dims[FT_GRAPH_RANK], one[FT_GRAPH_RANK];
  uint32_t in[FT_GRAPH_RANK], wanted;
  size_t n;

  if (list->type != FT_VALUE_LIST || list->list->count < 1 || list->list->count > 8)
    return ft_aten_unknown(c);
  n = list->list->count;
  for (size_t i = 0; i < n; i++) {
    in[i] = ft_value_as_tensor(c->l, &list->list->items[i]);
    if (!in[i])
      return -1;
    dims[i] = ft_tensor_elements(ft_tracer_of(c->l, in[i]));
    if (!ft_dim_known(dims[i]))
      return ft_aten_unknown(c);
  }
  if (turned && n > 1) {
    ft_dim first = dims[0];

    dims[0] = dims[1];
    dims[1] = first;
  }
  c->result = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
  for (size_t i = 0; i < n && c->result.type == FT_VALUE_LIST; i++) {
    size_t place = turned && i < 2 && n > 1 ? 1 - i : i;

    for (size_t j = 0; j < n; j++)
      one[j] = j == place ? dims[j] : ft_dim_of(1);
    in[i] = ft_tracer_reshape(c->l, in[i], one, (int)n);
    wanted = in[i] ? ft_tracer_sizes(c->l, dims, (int)n) : 0;
    in[i] = wanted ? ft_tracer_binary(c->l, "Expand", in[i], wanted) : 0;
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
  ft_dim count;
  bool whole = true;

  if (ft_value_is_tensor(v))
    return ft_aten_same(c);
  if (v->type != FT_VALUE_LIST || v->list->count > FT_GRAPH_VALUES)
    return ft_aten_unknown(c);
  count = ft_dim_of((int64_t)v->list->count);
  for (size_t i = 0; i < v->list->count; i++) {
    values[i] = ft_value_number(&v->list->items[i]);
    whole = whole && v->list->items[i].type == FT_VALUE_INT;
  }
  return ft_give(c, ft_tracer_constant(
                        c->l, dtype_argument(c, 99, whole ? FT_ELEMENT_INT64 : FT_ELEMENT_FLOAT), 1,
                        &count, values));
}
