/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators of PaddlePaddle that reshape, select and join. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/paddle/paddle_run.h"

/* ---- shapes ---- */

/* Reshapes; a size of 0 means the input's size in that dimension. */
int ft_pd_reshape(struct ft_pd_run *r)
{
  struct ft_operand args[] = { ft_pd_input(r, "X"),
                               ft_pd_sizes(r, "ShapeTensor", "Shape", "shape") };
  const struct ft_pd_attribute *a = ft_pd_attribute(r, "shape");
  const struct ft_tensor *t;
  ft_dim dims[FT_GRAPH_RANK];
  uint32_t x;

  for (size_t i = 0; a && a->integers && i < a->count && i < FT_GRAPH_RANK; i++)
    dims[i] = ft_dim_requested(a->integers[i]);
  if (args[0].type == FT_VALUE_WEIGHT && a && a->integers && a->count <= FT_GRAPH_RANK &&
      ft_tracer_reshape_weight(&r->live, args[0].weight, dims, (int)a->count))
    return ft_pd_give(r, args[0]);
  x = ft_value_as_tensor(&r->live, &args[0]);
  t = x ? ft_tracer_of(&r->live, x) : NULL;
  if (!t)
    return -1;
  for (size_t i = 0; args[1].type == FT_VALUE_LIST && i < args[1].list->count; i++) {
    struct ft_operand *s = &args[1].list->items[i];

    if (s->type == FT_VALUE_INT && s->known && s->integer == 0 && (int64_t)i < t->rank)
      *s = ft_value_dim(t->dims[i]);
  }
  args[0] = ft_value_tensor(x);
  return ft_pd_call_and_give(r, "reshape", args, 2);
}

int ft_pd_slice(struct ft_pd_run *r)
{
  struct ft_operand x = ft_pd_input(r, "Input"), axes = ft_pd_integers(r, "axes");
  struct ft_operand starts = ft_pd_sizes(r, "StartsTensorList", "StartsTensor", "starts");
  struct ft_operand ends = ft_pd_sizes(r, "EndsTensorList", "EndsTensor", "ends");
  struct ft_operand steps = ft_pd_sizes(r, "StridesTensorList", "StridesTensor", "strides");
  struct ft_operand dropped[] = { x, ft_pd_integers(r, "decrease_axis") };
  size_t count = axes.type == FT_VALUE_LIST ? axes.list->count : 0;

  for (size_t i = 0; i < count; i++) {
    struct ft_operand args[] = { x, axes.list->items[i], ft_value_unknown(FT_VALUE_INT),
                                 ft_value_unknown(FT_VALUE_INT), ft_value_int(1) };

    if (starts.type == FT_VALUE_LIST && i < starts.list->count)
      args[2] = starts.list->items[i];
    if (ends.type == FT_VALUE_LIST && i < ends.list->count)
      args[3] = ends.list->items[i];
    if (steps.type == FT_VALUE_LIST && i < steps.list->count)
      args[4] = steps.list->items[i];
    if (ft_pd_call(r, "slice", args, 5, &x) < 0)
      return -1;
  }
  dropped[0] = x;
  if (dropped[1].type == FT_VALUE_LIST && dropped[1].list->count)
    return ft_pd_call_and_give(r, "squeeze", dropped, 2);
  return ft_pd_give(r, x);
}

int ft_pd_fill(struct ft_pd_run *r)
{
  const struct ft_pd_attribute *value = ft_pd_attribute(r, "value"),
                               *said = ft_pd_attribute(r, "str_value");
  struct ft_operand args[] = { ft_pd_sizes(r, "ShapeTensorList", "ShapeTensor", "shape"),
                               ft_value_real(value ? value->real : 0) };
  struct ft_operand result;
  unsigned element = ft_pd_element(ft_pd_integer(r, "dtype", 5));
  double number;

  if (said && ft_text_is_double(ft_text_from(said->text), &number))
    args[1] = ft_value_real(number);
  if (ft_pd_call(r, "full", args, 2, &result) < 0)
    return -1;
  if (result.type == FT_VALUE_TENSOR)
    ft_tracer_of(&r->live, result.tensor)->element = (uint8_t)element;
  return ft_pd_give(r, result);
}

/* Records a constant from the file: attribute "value" in version 3; in version 2 the attribute is
 * named after the element type. */
int ft_pd_assign_value(struct ft_pd_run *r)
{
  static const char *const names[] = { "value", "int64_values", "int32_values", "fp32_values",
                                       "bool_values" };
  const struct ft_pd_attribute *shape = ft_pd_attribute(r, "shape"), *a = NULL;
  double values[FT_GRAPH_VALUES];
  ft_dim dims[FT_GRAPH_RANK];
  int rank = 1;
  uint32_t y;

  for (size_t i = 0; i < sizeof names / sizeof *names && !(a && a->count); i++)
    a = ft_pd_attribute(r, names[i]);
  dims[0] = ft_dim_of(a ? (int64_t)a->count : 0);
  for (size_t i = 0; a && i < a->count && i < FT_GRAPH_VALUES; i++)
    values[i] = a->integers ? (double)a->integers[i] : a->reals ? a->reals[i] : (double)NAN;
  if (shape && shape->integers && shape->count <= FT_GRAPH_RANK) {
    rank = (int)shape->count;
    for (int i = 0; i < rank; i++) {
      if (shape->integers[i] < 0 || shape->integers[i] > FT_GRAPH_DIMENSION)
        return ft_tracer_fail(&r->live, "a size of %lld", (long long)shape->integers[i]);
      dims[i] = ft_dim_of(shape->integers[i]);
    }
  }
  y = ft_tracer_constant(&r->live, ft_pd_element(ft_pd_integer(r, "dtype", 3)), rank, dims,
                         a && ft_dim_is(ft_dim_product(dims, rank), (int64_t)a->count) ? values
                                                                                       : NULL);
  return y ? ft_pd_give(r, ft_value_tensor(y)) : -1;
}

int ft_pd_resize(struct ft_pd_run *r)
{
  const struct ft_pd_attribute *scale = ft_pd_attribute(r, "scale");
  struct ft_operand list = ft_pd_input_list(r, "SizeTensor"), out = ft_pd_input(r, "OutSize");
  struct ft_operand args[] = { ft_pd_input(r, "X"), ft_value_none(), ft_value_none() };
  int64_t h = ft_pd_integer(r, "out_h", -1), w = ft_pd_integer(r, "out_w", -1);

  if (list.type == FT_VALUE_LIST && list.list->count) {
    args[1] = list;
  } else if (out.type == FT_VALUE_TENSOR) {
    args[1] = out;
  } else if (scale && scale->reals && scale->count) {
    args[2] = ft_value_list(&r->live, FT_VALUE_LIST, NULL, 0);
    for (size_t i = 0; args[2].type == FT_VALUE_LIST && i < 2; i++)
      (void)ft_value_append(&r->live, args[2].list,
                            ft_value_real(scale->reals[scale->count > 1 ? i : 0]));
  } else if (h > 0 && w > 0) {
    struct ft_operand both[] = { ft_value_int(h), ft_value_int(w) };

    args[1] = ft_value_list(&r->live, FT_VALUE_LIST, both, 2);
  }
  return ft_pd_call_and_give(r, "interpolate", args, 3);
}

int ft_pd_shape(struct ft_pd_run *r)
{
  struct ft_operand x = ft_pd_input(r, "Input");
  uint32_t t = ft_value_as_tensor(&r->live, &x);
  uint32_t y = t ? ft_tracer_unary(&r->live, "Shape", t) : 0;

  return y ? ft_pd_give(r, ft_value_tensor(y)) : -1;
}

static int join_inputs(struct ft_pd_run *r, const char *name)
{
  struct ft_operand args[] = { ft_pd_input_list(r, "X"),
                               ft_value_int(ft_pd_integer(r, "axis", 0)) },
                    result;

  if (ft_pd_call(r, name, args, 2, &result) < 0)
    return -1;
  return ft_pd_slot(r->op->outputs, r->op->output_count, "Out") ? ft_pd_give(r, result)
                                                                : ft_pd_give_at(r, "Y", 0, result);
}

int ft_pd_split(struct ft_pd_run *r)
{
  const struct ft_pd_slot *out = ft_pd_slot(r->op->outputs, r->op->output_count, "Out");
  struct ft_operand args[] = { ft_pd_input(r, "X"), ft_pd_integers(r, "sections"),
                               ft_value_int(ft_pd_integer(r, "axis", 0)) };
  struct ft_operand result;
  bool equal = args[1].type == FT_VALUE_LIST && !args[1].list->count;

  if (equal)
    args[1] = ft_value_int(out ? (int64_t)out->count : 1);
  if (ft_pd_call(r, equal ? "chunk" : "split", args, 3, &result) < 0)
    return -1;
  return ft_pd_give_list(r, "Out", &result);
}

int ft_pd_reduce(struct ft_pd_run *r, const char *name)
{
  struct ft_operand args[] = { ft_pd_input(r, "X"), ft_pd_integers(r, "dim"),
                               ft_value_bool(ft_pd_integer(r, "keep_dim", 0) != 0) };

  return ft_pd_call_and_give(r, name, args, ft_pd_integer(r, "reduce_all", 0) ? 1 : 3);
}

/* p_norm(x) over one axis, or over x as one vector (asvector) */
int ft_pd_norm(struct ft_pd_run *r)
{
  const struct ft_pd_attribute *order = ft_pd_attribute(r, "porder");
  struct ft_operand axis = ft_value_int(ft_pd_integer(r, "axis", -1));
  struct ft_operand args[] = { ft_pd_input(r, "X"), ft_value_real(order ? order->real : 2),
                               ft_value_list(&r->live, FT_VALUE_LIST, &axis, 1),
                               ft_value_bool(ft_pd_integer(r, "keepdim", 0) != 0) };

  return ft_pd_call_and_give(r, "norm", args, ft_pd_integer(r, "asvector", 0) ? 2 : 4);
}

/* x scale + bias; omits a scale of 1 and a bias of 0 */
int ft_pd_scale(struct ft_pd_run *r)
{
  const struct ft_pd_attribute *by = ft_pd_attribute(r, "scale"),
                               *more = ft_pd_attribute(r, "bias");
  struct ft_operand args[] = { ft_pd_input(r, "X"), ft_value_real(by ? by->real : 1) };

  if (args[1].real != 1 && ft_pd_call(r, "mul", args, 2, &args[0]) < 0)
    return -1;
  args[1] = ft_value_real(more ? more->real : 0);
  if (args[1].real != 0 && ft_pd_call(r, "add", args, 2, &args[0]) < 0)
    return -1;
  return ft_pd_give(r, args[0]);
}

int ft_pd_unsqueeze(struct ft_pd_run *r)
{
  const struct ft_pd_attribute *a = ft_pd_attribute(r, "axes");
  struct ft_operand x = ft_pd_input(r, "X");

  for (size_t i = 0; a && a->integers && i < a->count; i++) {
    struct ft_operand args[] = { x, ft_value_int(a->integers[i]) };

    if (ft_pd_call(r, "unsqueeze", args, 2, &x) < 0)
      return -1;
  }
  return ft_pd_give(r, x);
}

int ft_pd_flatten(struct ft_pd_run *r)
{
  struct ft_operand args[] = { ft_pd_input(r, "X"), ft_value_int(ft_pd_integer(r, "start_axis", 1)),
                               ft_value_int(ft_pd_integer(r, "stop_axis", -1)) };

  return ft_pd_call_and_give(r, "flatten", args, 3);
}

int ft_pd_gather(struct ft_pd_run *r)
{
  bool table = strncmp(r->op->type, "lookup_table", 12) == 0;
  struct ft_operand args[] = { ft_pd_input(r, table ? "W" : "X"),
                               table ? ft_pd_input(r, "Ids")
                                     : ft_value_int(ft_pd_integer(r, "axis", 0)),
                               ft_pd_input(r, "Index") };

  return ft_pd_call_and_give(r, table ? "embedding" : "index_select", args, table ? 2 : 3);
}

int ft_pd_pad(struct ft_pd_run *r)
{
  struct ft_operand args[] = { ft_pd_input(r, "X"), ft_pd_integers(r, "paddings") };

  return ft_pd_call_and_give(r, "pad", args, 2);
}

int ft_pd_concat(struct ft_pd_run *r)
{
  return join_inputs(r, "cat");
}

int ft_pd_stack(struct ft_pd_run *r)
{
  return join_inputs(r, "stack");
}

int ft_pd_where(struct ft_pd_run *r)
{
  struct ft_operand args[] = { ft_pd_input(r, "Condition"), ft_pd_input(r, "X"),
                               ft_pd_input(r, "Y") };

  return ft_pd_call_and_give(r, "where", args, 3);
}
