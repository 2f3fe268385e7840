/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators of ATen that reduce and sort. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/aten/aten.h"

/* Reduces X over COUNT axes of OVER; 0: all axes. */
static uint32_t record_reduction(struct ft_tracer *l, const char *type, uint32_t x,
                                 const int64_t *over, int count, bool keep)
{
  ft_tracer_op(l, type);
  ft_tracer_in(l, x);
  if (count > 0)
    ft_tracer_ints(l, "axes", over, (size_t)count);
  ft_tracer_int(l, "keepdims", keep);
  return ft_tracer_end(l, 1);
}

/* mean(x), mean(x, dims, keepdim), norm(x, p, dims, keepdim) */
int ft_aten_reduce(struct ft_call *c)
{
  bool norm = strstr(c->name, "norm") != NULL;
  unsigned at = norm ? 2 : 1;
  const struct ft_operand *v = ft_arg(c, at, "dim");
  bool axes = ft_value_is_list(v) ||
              (v->type == FT_VALUE_INT && (c->count > at + 1 || strcmp(c->name, "sum") != 0));
  int64_t over[FT_GRAPH_RANK];
  uint32_t x = ft_arg_tensor(c, 0), y;
  bool spread = strcmp(c->name, "var") == 0 || strcmp(c->name, "std") == 0;
  int n = axes ? ft_arg_ints(c, at, "dim", over, FT_GRAPH_RANK) : 0;
  bool keep = axes && ft_arg_bool(c, at + (spread && c->count > 3 ? 2 : 1), "keepdim", false);

  if (!x || n < 0)
    return ft_aten_not_shaped(c, x);
  y = record_reduction(c->l, c->type, x, over, n, keep);
  if (y && (strcmp(c->name, "all") == 0 || strcmp(c->name, "any") == 0))
    ft_tracer_of(c->l, y)->element = FT_ELEMENT_BOOL;
  return ft_give(c, y);
}

int ft_aten_arg(struct ft_call *c)
{
  bool all = !ft_arg_given(c, 1, "dim");
  uint32_t x = ft_arg_tensor(c, 0);
  ft_dim flat = FT_DIM_INFER;

  if (x && all)
    x = ft_tracer_reshape(c->l, x, &flat, 1);
  if (!x)
    return -1;
  ft_tracer_op(c->l, c->type);
  ft_tracer_in(c->l, x);
  ft_tracer_int(c->l, "axis", all ? 0 : ft_arg_int(c, 1, "dim", 0));
  ft_tracer_int(c->l, "keepdims", ft_arg_bool(c, 2, "keepdim", false));
  return ft_give(c, ft_tracer_end(c->l, 1));
}

/* max(x), max(x, other), max(x, dim, keepdim) -> values, indices; mode(x, dim = -1, keepdim),
 * kthvalue(x, k, dim = -1, keepdim) */
int ft_aten_extremum(struct ft_call *c)
{
  bool kth = strcmp(c->name, "kthvalue") == 0, last = kth || strcmp(c->name, "mode") == 0;
  bool keep = ft_arg_bool(c, kth ? 3 : 2, "keepdim", false);
  int64_t axis = ft_arg_int(c, kth ? 2 : 1, "dim", last ? -1 : 0);
  uint32_t x = ft_arg_tensor(c, 0), y;
  struct ft_operand both[2];

  if (!x)
    return -1;
  if (!last && !ft_arg_given(c, 1, "dim"))
    return ft_give(c, record_reduction(c->l, c->type, x, NULL, 0, false));
  if (!last && ft_value_is_tensor(&c->args[1])) {
    y = ft_arg_tensor(c, 1);
    return ft_give(c, y ? ft_tracer_binary(c->l, strcmp(c->name, "max") == 0 ? "Max" : "Min", x, y)
                        : 0);
  }
  y = record_reduction(c->l, c->type, x, &axis, 1, keep);
  if (!y)
    return -1;
  both[0] = ft_value_tensor(y);
  ft_tracer_op(c->l, "ArgMax");
  ft_tracer_in(c->l, x);
  ft_tracer_int(c->l, "axis", axis);
  ft_tracer_int(c->l, "keepdims", keep);
  both[1] = ft_value_tensor(ft_tracer_end(c->l, 1));
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
  bool keep = ft_arg_bool(c, c->count > 3 ? 3 : 2, "keepdim", false);
  struct ft_operand both[2];

  if (!x || n < 0)
    return ft_aten_not_shaped(c, x);
  for (int i = 0; i < 2; i++) {
    both[i] = ft_value_tensor(
        record_reduction(c->l, i ? "ReduceMean" : "ReduceSumSquare", x, over, n, keep));
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
  ft_tracer_op(c->l, "TopK");
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, k);
  ft_tracer_int(c->l, "axis", ft_arg_int(c, 2, "dim", -1));
  return ft_give_many(c, ft_tracer_end(c->l, 2), 2);
}

/* sort(x, dim), argsort */
int ft_aten_sort(struct ft_call *c)
{
  const struct ft_tensor *t;
  uint32_t x, k, y;
  int axis;

  t = ft_aten_shaped(c, &x);
  if (!t || t->rank == 0)
    return ft_aten_not_shaped(c, x);
  axis = ft_arg_axis(c, c->args[c->count > 1].type == FT_VALUE_BOOL && c->count > 2 ? 2 : 1, "dim",
                     -1, t->rank);
  axis = axis < 0 ? 0 : axis;
  k = ft_tracer_number(c->l, FT_ELEMENT_INT64,
                       ft_dim_known(t->dims[axis]) ? (double)ft_dim_or(t->dims[axis], 0)
                                                   : (double)NAN);
  if (!k)
    return -1;
  ft_tracer_op(c->l, "TopK");
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, k);
  ft_tracer_int(c->l, "axis", axis);
  y = ft_tracer_end(c->l, 2);
  return strcmp(c->name, "argsort") == 0 ? ft_give(c, y ? y + 1 : 0) : ft_give_many(c, y, 2);
}
