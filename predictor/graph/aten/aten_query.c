/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators of ATen that return shapes, types and numbers. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/aten/aten.h"

/* Returns the rank of argument 0 and its DIMS; -1 if unknown. A weight does not become an input. */
static int dims_of(struct ft_call *c, const ft_dim **dims)
{
  const struct ft_operand *v = ft_arg(c, 0, NULL);
  uint32_t x;

  if (v->type == FT_VALUE_WEIGHT) {
    *dims = v->weight->declared.dims;
    return v->weight->declared.rank;
  }
  x = ft_arg_tensor(c, 0);
  *dims = x ? ft_tracer_of(c->l, x)->dims : NULL;
  return x ? ft_tracer_of(c->l, x)->rank : -1;
}

int ft_aten_size(struct ft_call *c)
{
  const ft_dim *dims;
  int rank = dims_of(c, &dims), axis;

  if (ft_arg_given(c, 1, "dim")) {
    if (rank < 0) {
      c->result = ft_value_unknown(FT_VALUE_INT);
      return 0;
    }
    axis = ft_arg_axis(c, 1, "dim", 0, rank);
    c->result = axis < 0 ? ft_value_none() : ft_value_dim(dims[axis]);
    return axis < 0 ? -1 : 0;
  }
  if (rank < 0) {
    c->result = ft_value_unknown(FT_VALUE_OPAQUE);
    return 0;
  }
  c->result = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
  for (int i = 0; i < rank && c->result.type == FT_VALUE_LIST; i++)
    if (ft_value_append(c->l, c->result.list, ft_value_dim(dims[i])) < 0)
      return -1;
  return 0;
}

int ft_aten_dim(struct ft_call *c)
{
  const ft_dim *dims;

  c->result = ft_value_dim(ft_dim_of(dims_of(c, &dims)));
  return 0;
}

int ft_aten_numel(struct ft_call *c)
{
  const ft_dim *dims;
  int rank = dims_of(c, &dims);

  c->result = ft_value_dim(rank < 0 ? FT_DIM_UNKNOWN : ft_dim_product(dims, rank));
  return 0;
}

/* PyTorch's ScalarType of an element type; -1: none. */
static int64_t scalar_type(unsigned element)
{
  for (int i = 0; i < 16; i++)
    if (i != 9 && ft_aten_element(i) == element)
      return i;
  return -1;
}

/* Properties of a tensor other than its shape. */
int ft_aten_query(struct ft_call *c)
{
  const struct ft_operand *v = ft_arg(c, 0, NULL);
  unsigned element = v->type == FT_VALUE_WEIGHT   ? v->weight->declared.element
                     : v->type == FT_VALUE_TENSOR ? ft_tracer_of(c->l, v->tensor)->element
                                                  : 0;
  const char *name = c->name;

  if (strcmp(name, "is_floating_point") == 0)
    c->result = ft_value_bool(!element || ft_element_is_real(element));
  else if (strcmp(name, "dtype") == 0)
    c->result = ft_value_int(scalar_type(element ? element : FT_ELEMENT_FLOAT));
  else if (strcmp(name, "requires_grad") == 0) /* as in training */
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
    c->result = ft_value_unknown(FT_VALUE_INT);
  return 0;
}

/* The tracked value of a tensor of one element. */
int ft_aten_item(struct ft_call *c)
{
  const struct ft_operand *v = ft_arg(c, 0, NULL);
  const struct ft_tensor *t = v->type == FT_VALUE_TENSOR ? ft_tracer_of(c->l, v->tensor) : NULL;
  double value = t && t->values && ft_dim_is(ft_tensor_elements(t), 1) ? t->values[0] : (double)NAN;

  if (t && ft_element_is_real(t->element))
    c->result = ft_value_real(value);
  else if (isnan(value))
    c->result = ft_value_unknown(FT_VALUE_INT);
  else
    c->result = ft_value_int(ft_whole(value));
  return 0;
}
