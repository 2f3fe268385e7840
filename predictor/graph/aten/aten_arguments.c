/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arguments and results of a call, and operators of unknown kind, for all families of operators. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/aten/aten.h"

const struct ft_operand *ft_arg(const struct ft_call *c, unsigned i, const char *key)
{
  static const struct ft_operand none = { .type = FT_VALUE_NONE };

  if (i < c->count && (!c->keys || !c->keys[i]))
    return &c->args[i];
  for (size_t j = 0; key && c->keys && j < c->count; j++)
    if (c->keys[j] && strcmp(c->keys[j], key) == 0)
      return &c->args[j];
  return &none;
}

bool ft_arg_given(const struct ft_call *c, unsigned i, const char *key)
{
  return ft_arg(c, i, key)->type != FT_VALUE_NONE;
}

uint32_t ft_arg_tensor(const struct ft_call *c, unsigned i)
{
  const struct ft_operand *v = ft_arg(c, i, NULL);

  if (v->type != FT_VALUE_NONE)
    return ft_value_as_tensor(c->l, v);
  (void)ft_tracer_fail(c->l, "%s: expected a tensor as argument %u", c->name, i);
  return 0;
}

uint32_t ft_arg_optional(const struct ft_call *c, unsigned i)
{
  return ft_arg_given(c, i, NULL) ? ft_arg_tensor(c, i) : 0;
}

/* Returns V as an integer; INT64_MIN if unknown. */
static int64_t integer_of(const struct ft_tracer *l, const struct ft_operand *v)
{
  const struct ft_tensor *t = v->type == FT_VALUE_TENSOR ? ft_tracer_of(l, v->tensor) : NULL;
  double number =
      t && t->values && ft_dim_is(ft_tensor_elements(t), 1) ? t->values[0] : (double)NAN;

  if (ft_value_is_number(v))
    number = ft_value_number(v);
  return isnan(number) ? INT64_MIN : ft_whole(number);
}

int64_t ft_arg_int(const struct ft_call *c, unsigned i, const char *key, int64_t otherwise)
{
  const struct ft_operand *v = ft_arg(c, i, key);

  return v->type == FT_VALUE_NONE ? otherwise : integer_of(c->l, v);
}

bool ft_arg_bool(const struct ft_call *c, unsigned i, const char *key, bool otherwise)
{
  const struct ft_operand *v = ft_arg(c, i, key);

  return v->type == FT_VALUE_NONE ? otherwise : ft_value_truth(c->l, v) == 1;
}

int ft_arg_ints(const struct ft_call *c, unsigned i, const char *key, int64_t *out, int room)
{
  const struct ft_operand *v = ft_arg(c, i, key);
  const struct ft_tensor *t = v->type == FT_VALUE_TENSOR ? ft_tracer_of(c->l, v->tensor) : NULL;

  if (v->type == FT_VALUE_NONE)
    return 0;
  if (t && t->rank == 1) {
    int64_t n;

    if (!t->values || !ft_dim_get(t->dims[0], &n) || n > room)
      return -1;
    for (int64_t j = 0; j < n; j++)
      out[j] = isnan(t->values[j]) ? INT64_MIN : ft_whole(t->values[j]);
    return (int)n;
  }
  if (!ft_value_is_list(v)) {
    out[0] = integer_of(c->l, v);
    return out[0] == INT64_MIN ? -1 : 1;
  }
  if (v->list->count > (size_t)room)
    return -1;
  for (size_t j = 0; j < v->list->count; j++) {
    out[j] = integer_of(c->l, &v->list->items[j]);
    if (out[j] == INT64_MIN)
      return -1;
  }
  return (int)v->list->count;
}

int ft_aten_dims(struct ft_call *c, const int64_t *sizes, int n, bool open, ft_dim *dims)
{
  for (int i = 0; i < n; i++) {
    bool allowed = open && (sizes[i] == -1 || sizes[i] == INT64_MIN);

    if ((sizes[i] < 0 && !allowed) || sizes[i] > FT_GRAPH_DIMENSION)
      return ft_tracer_fail(c->l, "%s: a size of %lld", c->name, (long long)sizes[i]);
    dims[i] = ft_dim_requested(sizes[i]);
  }
  return 0;
}

int ft_arg_each(const struct ft_call *c, unsigned i, const char *key, int n, int64_t otherwise,
                int64_t *out)
{
  int count = n < 1 || n > FT_GRAPH_RANK / 2 ? -1 : ft_arg_ints(c, i, key, out, n);

  if (count < 0 || (count > 1 && count != n))
    return ft_tracer_fail(c->l, "%s: expected %d numbers for argument %u", c->name, n, i);
  for (int j = count; j < n; j++)
    out[j] = count == 1 ? out[0] : otherwise;
  return 0;
}

int ft_arg_rank(const struct ft_call *c, unsigned i)
{
  const struct ft_operand *v = ft_arg(c, i, NULL);

  if (v->type == FT_VALUE_WEIGHT)
    return v->weight->declared.rank;
  return v->type == FT_VALUE_TENSOR ? ft_tracer_of(c->l, v->tensor)->rank : -1;
}

int ft_arg_axis(const struct ft_call *c, unsigned i, const char *key, int64_t otherwise, int rank)
{
  int64_t axis = ft_arg_int(c, i, key, otherwise);

  axis = axis < 0 && axis >= -rank ? axis + rank : axis;
  if (axis < 0 || axis >= rank)
    return ft_tracer_fail(c->l, "%s: dimension %lld of %d", c->name, (long long)axis, rank);
  return (int)axis;
}

int ft_give(struct ft_call *c, uint32_t tensor)
{
  c->result = ft_value_tensor(tensor);
  return tensor ? 0 : -1;
}

int ft_give_many(struct ft_call *c, uint32_t first, unsigned count)
{
  if (!first || count == 1)
    return ft_give(c, first);
  c->result = ft_value_list(c->l, FT_VALUE_TUPLE, NULL, 0);
  for (unsigned i = 0; c->result.type == FT_VALUE_TUPLE && i < count; i++)
    if (ft_value_append(c->l, c->result.list, ft_value_tensor(first + i)) < 0)
      return -1;
  return c->l->failed ? -1 : 0;
}

int ft_give_first(struct ft_call *c, uint32_t tensor, unsigned more)
{
  if (ft_give(c, tensor) < 0)
    return -1;
  c->result = ft_value_list(c->l, FT_VALUE_TUPLE, &c->result, 1);
  for (unsigned i = 0; c->result.type == FT_VALUE_TUPLE && i < more; i++)
    if (ft_value_append(c->l, c->result.list, ft_value_unknown(FT_VALUE_OPAQUE)) < 0)
      return -1;
  return c->l->failed ? -1 : 0;
}

/* Element types (ONNX) by ScalarType: uint8, int8, int16, int32, int64, float16, float32, float64,
 * complex32, complex64, complex128, bool, qint8, quint8, qint32, bfloat16. ONNX has no complex32:
 * complex64 stands for it; quantised types are those of their storage. */
unsigned ft_aten_element(int64_t scalar_type)
{
  static const uint8_t elements[] = { 2, 3, 5, 6, 7, 10, 1, 11, 14, 14, 15, 9, 3, 2, 6, 16 };

  return scalar_type >= 0 && scalar_type < (int64_t)sizeof elements ? elements[scalar_type]
                                                                    : FT_ELEMENT_UNKNOWN;
}

const struct ft_tensor *ft_aten_shaped(struct ft_call *c, uint32_t *x)
{
  *x = ft_arg_tensor(c, 0);
  return *x && ft_tracer_of(c->l, *x)->rank >= 0 ? ft_tracer_of(c->l, *x) : NULL;
}

/* Adds V, or the tensors in list V down to DEPTH, as inputs. Returns 0 or -1. */
static int add_tensor_inputs(struct ft_call *c, const struct ft_operand *v, int depth)
{
  uint32_t tensor;

  if (ft_value_is_tensor(v)) {
    tensor = ft_value_as_tensor(c->l, v);
    if (!tensor)
      return -1;
    ft_tracer_in(c->l, tensor);
  }
  if (ft_value_is_list(v) && depth)
    for (size_t i = 0; i < v->list->count; i++)
      if (add_tensor_inputs(c, &v->list->items[i], depth - 1) < 0)
        return -1;
  return 0;
}

int ft_aten_unknown(struct ft_call *c)
{
  char *name = ft_tracer_text(c->l, c->name, strlen(c->name));
  unsigned outputs = c->outputs ? c->outputs : 1;

  if (!name)
    return -1;
  ft_tracer_unknown(c->l, "aten", name);
  for (size_t i = 0; i < c->count; i++)
    if (add_tensor_inputs(c, &c->args[i], 3) < 0)
      return -1;
  return ft_give_many(c, ft_tracer_end(c->l, outputs), outputs);
}

int ft_aten_not_shaped(struct ft_call *c, uint32_t x)
{
  return x ? ft_aten_unknown(c) : -1;
}

void ft_aten_result(struct ft_tracer *l, const ft_dim *dims, int rank, unsigned element)
{
  int64_t sizes[FT_GRAPH_RANK + 1];

  for (int i = 0; i < rank; i++)
    sizes[i] = ft_dim_or(dims[i], -1);
  ft_tracer_ints(l, "sizes", sizes, (size_t)rank);
  ft_tracer_int(l, "to", element);
}

int ft_aten_of_shape(struct ft_call *c, const ft_dim *dims, int rank, unsigned element)
{
  ft_tracer_op(c->l, c->type);
  for (size_t i = 0; i < c->count; i++)
    if (ft_value_is_tensor(&c->args[i])) {
      uint32_t tensor = ft_value_as_tensor(c->l, &c->args[i]);

      if (!tensor)
        return -1;
      ft_tracer_in(c->l, tensor);
    }
  ft_aten_result(c->l, dims, rank, element);
  return ft_give(c, ft_tracer_end(c->l, 1));
}

/* Returns the first argument: operators that copy nothing, or only in training. */
int ft_aten_same(struct ft_call *c)
{
  c->result = *ft_arg(c, 0, NULL);
  return 0;
}

bool ft_aten_is(const struct ft_call *c, const char *name)
{
  return strcmp(c->name, name) == 0;
}

int ft_give_value(struct ft_call *c, struct ft_operand value)
{
  c->result = value;
  return 0;
}

uint32_t ft_aten_axes(struct ft_tracer *l, const char *type, uint32_t x, const int64_t *axes,
                      size_t count)
{
  if (!x)
    return 0;
  ft_tracer_op(l, type);
  ft_tracer_in(l, x);
  if (count)
    ft_tracer_ints(l, "axes", axes, count);
  return ft_tracer_end(l, 1);
}
