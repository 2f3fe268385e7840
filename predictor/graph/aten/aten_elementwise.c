/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Element-wise operators of ATen, casts and softmax. */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/aten/aten.h"

int ft_aten_unary(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0);

  return ft_give(c, x ? ft_tracer_unary(c->l, c->type, x) : 0);
}

enum { COMPLEX = 14 }; /* onnx.TensorProto.COMPLEX64 */

/* Type promotion as far as it changes sizes: real before integer, integer before bool. */
static void promote_types(const struct ft_tracer *l, uint32_t y, uint32_t a, uint32_t b)
{
  struct ft_tensor *t = ft_tracer_of(l, y);
  const struct ft_tensor *p = ft_tracer_of(l, a), *q = ft_tracer_of(l, b);

  if (t->element == FT_ELEMENT_BOOL || !p->element || !q->element)
    return;
  if (q->element == COMPLEX || (!ft_element_is_real(p->element) && ft_element_is_real(q->element)))
    t->element = q->element;
  else if (p->element == FT_ELEMENT_BOOL && q->element != FT_ELEMENT_BOOL)
    t->element = q->element;
}

static int give_binary(struct ft_call *c, uint32_t a, uint32_t b)
{
  const char *type = c->type;
  uint32_t y = a && b ? ft_tracer_binary(c->l, type, a, b) : 0;

  if (y)
    promote_types(c->l, y, a, b);
  if (y && strcmp(type, "Div") == 0 && !ft_arg_given(c, 2, "rounding_mode") &&
      !ft_element_is_real(ft_tracer_of(c->l, y)->element))
    ft_tracer_of(c->l, y)->element = FT_ELEMENT_FLOAT;
  return ft_give(c, y);
}

int ft_aten_binary(struct ft_call *c)
{
  return give_binary(c, ft_arg_tensor(c, 0), ft_arg_tensor(c, 1));
}

/* rsub(a, b) = b - a */
int ft_aten_scalar_left(struct ft_call *c)
{
  return give_binary(c, ft_arg_tensor(c, 1), ft_arg_tensor(c, 0));
}

/* In evaluation PyTorch returns the input itself (aten/src/ATen/native/Dropout.cpp). */
int ft_aten_dropout(struct ft_call *c)
{
  if (ft_arg_bool(c, 2, "train", false) && ft_value_number(ft_arg(c, 1, "p")) != 0)
    return ft_aten_unary(c);
  return ft_aten_same(c);
}

int ft_aten_softmax(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0);
  int rank = x ? ft_tracer_of(c->l, x)->rank : -1, axis = -1;

  if (!x)
    return -1;
  if (rank > 0)
    axis = ft_arg_axis(c, 1, "dim", -1, rank);
  if (rank > 0 && axis < 0)
    return -1;
  ft_tracer_op(c->l, c->type);
  ft_tracer_in(c->l, x);
  ft_tracer_int(c->l, "axis", axis);
  return ft_give(c, ft_tracer_end(c->l, 1));
}

/* to(x, dtype), to(x, device, dtype), to(x, other), type_as(x, other), float(x), _to_copy(x) */
int ft_aten_to(struct ft_call *c)
{
  static const struct {
    const char *name;
    unsigned element;
  } named[] = { { "float", 1 }, { "half", 10 },     { "bfloat16", 16 }, { "double", 11 },
                { "long", 7 },  { "int", 6 },       { "bool", 9 },      { "_cast_Float", 1 },
                { "byte", 2 },  { "_cast_Long", 7 } };
  const struct ft_operand *dtype = ft_arg(c, 99, "dtype"), *v;
  uint32_t x = ft_arg_tensor(c, 0);
  size_t row = FT_TABLE_FIND(named, c->name);
  unsigned element = row < sizeof named / sizeof *named ? named[row].element : 0;

  for (unsigned i = 1; i < 3 && !element && dtype->type == FT_VALUE_NONE; i++) {
    v = ft_arg(c, i, NULL);
    if (ft_value_is_tensor(v))
      element = ft_tracer_of(c->l, ft_value_as_tensor(c->l, v))->element;
    else if (v->type == FT_VALUE_INT)
      dtype = v;
  }
  if (dtype->type == FT_VALUE_INT && dtype->known)
    element = ft_aten_element(dtype->integer);
  return ft_give(c, x ? ft_tracer_cast(c->l, x, element) : 0);
}

/* addcmul(x, a, b), addcdiv(x, a, b), lerp(x, end, weight): one kernel over broadcast shapes, whose
 * backward pass reads the factors, if there are two. */
int ft_aten_add_product(struct ft_call *c)
{
  uint32_t in[3];
  size_t count = 0;

  for (size_t i = 0; i < c->count && count < 3; i++)
    if (ft_value_is_tensor(&c->args[i]) && !(in[count++] = ft_value_as_tensor(c->l, &c->args[i])))
      return -1;
  ft_tracer_op(c->l, count == 3 ? c->type : "Sum");
  for (size_t i = 0; i < count; i++)
    ft_tracer_in(c->l, in[(i + 1) % count]);
  return ft_give(c, count ? ft_tracer_end(c->l, 1) : 0);
}

/* glu(x, dim): first half times sigmoid of the second */
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
  if (!ft_dim_get(t->dims[axis], &size) || size % 2)
    return ft_aten_unknown(c);
  half[0] = ft_tracer_slice(c->l, x, axis, 0, size / 2, 1);
  half[1] = half[0] ? ft_tracer_slice(c->l, x, axis, size / 2, size, 1) : 0;
  half[1] = half[1] ? ft_tracer_unary(c->l, "Sigmoid", half[1]) : 0;
  return ft_give(c, half[1] ? ft_tracer_binary(c->l, "Mul", half[0], half[1]) : 0);
}
