/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shape rules of element-wise operators, with NumPy's broadcasting. Tracked values are computed. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/shape/infer.h"

int ft_broadcast(struct ft_infer *in, const struct ft_tensor *a, const struct ft_tensor *b,
                 ft_dim *dims)
{
  int rank = a->rank > b->rank ? a->rank : b->rank;

  for (int i = 0; i < rank; i++) {
    ft_dim x = i < rank - a->rank ? ft_dim_of(1) : a->dims[i - (rank - a->rank)];
    ft_dim y = i < rank - b->rank ? ft_dim_of(1) : b->dims[i - (rank - b->rank)];

    if (ft_dim_is(x, 1) || (!ft_dim_known(x) && ft_dim_or(y, 0) > 1))
      dims[i] = y;
    else if (ft_dim_is(y, 1) || !ft_dim_differ(x, y))
      dims[i] = x;
    else {
      char one[128], other[128];

      return ft_contradiction(
          in, "%s and %s do not fit together (%lld and %lld)", ft_tensor_show(a, one, sizeof one),
          ft_tensor_show(b, other, sizeof other), ft_dim_shown(x), ft_dim_shown(y));
    }
  }
  return rank;
}

int ft_broadcast_shape(struct ft_infer *in, struct ft_tensor *y,
                       const struct ft_tensor *const *operands, int count)
{
  struct ft_tensor so_far = *operands[0];
  ft_dim dims[2][FT_GRAPH_RANK];

  for (int i = 1; i < count; i++) {
    so_far.rank = ft_broadcast(in, &so_far, operands[i], dims[i % 2]);
    if (so_far.rank < 0)
      return -1;
    so_far.dims = dims[i % 2];
  }
  if (!ft_shape(in, y, so_far.rank))
    return -1;
  memcpy(y->dims, so_far.dims, (size_t)so_far.rank * sizeof *y->dims);
  return 0;
}

int ft_infer_same(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);

  return ft_like(in, ft_output(in, 0), x);
}

/* The result has the zero point's type, or the scale's for DequantizeLinear, unless output_dtype is
 * set (onnx, Operators.md). */
int ft_infer_quantize(struct ft_infer *in)
{
  bool back = ft_operator_is(in->op, FT_OP_DequantizeLinear);
  const struct ft_tensor *type = ft_input(in, back ? 1 : 2);
  struct ft_tensor *y = ft_output(in, 0);
  int64_t requested = ft_integer(in->op, "output_dtype", 0);

  y->element = requested > 0 && requested <= FT_ELEMENT_LAST ? (uint8_t)requested
               : type                                        ? type->element
               : back                                        ? FT_ELEMENT_FLOAT
                                                             : FT_ELEMENT_UINT8;
  return ft_like(in, y, ft_input(in, 0));
}

/* Returns the value of operator ID for X; NAN if it is not evaluated. */
static double evaluate_unary(enum ft_operator_id id, double x)
{
  switch (id) {
  case FT_OP_Sqrt:
    return sqrt(x);
  case FT_OP_Floor:
    return floor(x);
  case FT_OP_Ceil:
    return ceil(x);
  case FT_OP_Exp:
    return exp(x);
  case FT_OP_Log:
    return log(x);
  case FT_OP_Abs:
    return fabs(x);
  case FT_OP_Round:
    return rint(x);
  case FT_OP_Tanh:
    return tanh(x);
  case FT_OP_Sin:
    return sin(x);
  case FT_OP_Cos:
    return cos(x);
  case FT_OP_Neg:
    return -x;
  case FT_OP_Reciprocal:
    return 1 / x;
  case FT_OP_Relu:
    return x > 0 || isnan(x) ? x : 0;
  case FT_OP_Not:
    return x == 0;
  case FT_OP_Sign:
    return x > 0 ? 1 : x < 0 ? -1 : x;
  default:
    return (double)NAN;
  }
}

int ft_infer_unary(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);
  double *values;

  if (!x)
    return 0;
  if (ft_like(in, y, x) < 0)
    return -1;
  if (ft_operator_is(in->op, FT_OP_Identity)) {
    y->values = x->values;
    y->sequence = x->sequence;
    return 0;
  }
  values = x->values ? ft_values(in, y) : NULL;
  for (int64_t i = 0; values && i < ft_value_count(y); i++)
    values[i] = evaluate_unary(in->op->kind->id, x->values[i]);
  return 0;
}

int ft_infer_cast(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *like = ft_input(in, 1);
  struct ft_tensor *y = ft_output(in, 0);
  int64_t to = ft_integer(in->op, "to", like ? like->element : FT_ELEMENT_UNKNOWN);
  double *values;

  if (!x || ft_like(in, y, x) < 0)
    return x ? -1 : 0;
  y->element = to >= 0 && to <= FT_ELEMENT_LAST ? (uint8_t)to : FT_ELEMENT_UNKNOWN;
  values = x->values ? ft_values(in, y) : NULL;
  for (int64_t i = 0; values && i < ft_value_count(y); i++)
    values[i] = ft_element_is_real(y->element)                          ? x->values[i]
                : y->element == FT_ELEMENT_BOOL && !isnan(x->values[i]) ? x->values[i] != 0
                                                                        : trunc(x->values[i]);
  return 0;
}

static double divide_values(double x, double y, bool real)
{
  return y == 0 ? (double)NAN : real ? x / y : trunc(x / y);
}

/* Returns the value of operator ID for X and Y, integers unless REAL; NAN: not evaluated. */
static double evaluate_binary(enum ft_operator_id id, double x, double y, bool real)
{
  if (isnan(x) || isnan(y))
    return (double)NAN;
  switch (id) {
  case FT_OP_Add:
  case FT_OP_Sum:
    return x + y;
  case FT_OP_Sub:
    return x - y;
  case FT_OP_Mul:
    return x * y;
  case FT_OP_Div:
    return divide_values(x, y, real);
  case FT_OP_Mod: /* the sign of the divisor, as Python's */
    return y == 0 ? (double)NAN : x - y * floor(x / y);
  case FT_OP_Pow:
    return pow(x, y);
  case FT_OP_Max:
    return x > y ? x : y;
  case FT_OP_Min:
    return x < y ? x : y;
  case FT_OP_Equal:
    return x == y;
  case FT_OP_Greater:
    return x > y;
  case FT_OP_Less:
    return x < y;
  case FT_OP_GreaterOrEqual:
    return x >= y;
  case FT_OP_LessOrEqual:
    return x <= y;
  case FT_OP_And:
    return x != 0 && y != 0;
  case FT_OP_Or:
    return x != 0 || y != 0;
  default:
    return (double)NAN;
  }
}

/* Whether the output of operator ID is Boolean. */
static bool is_comparison(enum ft_operator_id id)
{
  switch (id) {
  case FT_OP_Equal:
  case FT_OP_Greater:
  case FT_OP_Less:
  case FT_OP_GreaterOrEqual:
  case FT_OP_LessOrEqual:
  case FT_OP_And:
  case FT_OP_Or:
    return true;
  default:
    return false;
  }
}

/* Returns the index of the value of T that is broadcast to element POSITION of Y (row-major). */
static int64_t broadcast_index(const struct ft_tensor *t, const struct ft_tensor *y,
                               int64_t position)
{
  int64_t index = 0, stride = 1;

  for (int i = y->rank - 1; i >= 0; i--) {
    int64_t size = ft_dim_or(y->dims[i], 1), at = position % size;
    int j = i - (y->rank - t->rank);

    position /= size;
    if (j >= 0) {
      index += ft_dim_is(t->dims[j], 1) ? 0 : at * stride;
      stride *= ft_dim_or(t->dims[j], 1);
    }
  }
  return index;
}

/* Sets OUT, which must be neither A nor B, to their result. Returns 0; -1 with the error. */
static int combine_elementwise(struct ft_infer *in, struct ft_tensor *out,
                               const struct ft_tensor *a, const struct ft_tensor *b)
{
  enum ft_operator_id id = in->op->kind->id;
  bool real = ft_element_is_real(a->element), evaluated = !isnan(evaluate_binary(id, 1, 1, true));
  double *values;

  if (a->rank < 0 || b->rank < 0)
    return 0;
  if (ft_broadcast_shape(in, out, (const struct ft_tensor *[]){ a, b }, 2) < 0)
    return -1;
  values = evaluated && a->values && b->values ? ft_values(in, out) : NULL;
  for (int64_t i = 0, n = values ? ft_value_count(out) : 0; i < n; i++)
    values[i] = evaluate_binary(id, a->values[broadcast_index(a, out, i)],
                                b->values[broadcast_index(b, out, i)], real);
  return 0;
}

int ft_infer_binary(struct ft_infer *in)
{
  const struct ft_tensor *a = ft_input(in, 0), *b = ft_input(in, 1);
  struct ft_tensor *y = ft_output(in, 0);

  if (!a || !b)
    return 0;
  y->element = is_comparison(in->op->kind->id) ? FT_ELEMENT_BOOL : a->element;
  return combine_elementwise(in, y, a, b);
}

int ft_infer_variadic(struct ft_infer *in)
{
  struct ft_tensor *y = ft_output(in, 0), so_far;
  const struct ft_tensor *x = ft_input(in, 0);

  if (!x || ft_like(in, y, x) < 0)
    return x ? -1 : 0;
  y->values = x->values;
  y->element = x->element;
  for (unsigned i = 1; i < in->op->input_count; i++) {
    x = ft_input(in, i);
    if (!x || x->rank < 0 || y->rank < 0) {
      y->rank = -1;
      return 0;
    }
    so_far = *y;
    if (combine_elementwise(in, y, &so_far, x) < 0)
      return -1;
  }
  return 0;
}

/* Where(condition, a, b): the shape of all three broadcast together, values if all are tracked. */
int ft_infer_where(struct ft_infer *in)
{
  const struct ft_tensor *c = ft_input(in, 0), *a = ft_input(in, 1), *b = ft_input(in, 2);
  struct ft_tensor *y = ft_output(in, 0);
  double *values;

  if (!a || !b || !c)
    return 0;
  y->element = a->element;
  if (a->rank < 0 || b->rank < 0 || c->rank < 0)
    return 0;
  if (ft_broadcast_shape(in, y, (const struct ft_tensor *[]){ a, b, c }, 3) < 0)
    return -1;
  values = c->values && a->values && b->values ? ft_values(in, y) : NULL;
  for (int64_t i = 0, n = values ? ft_value_count(y) : 0; i < n; i++) {
    double chosen = c->values[broadcast_index(c, y, i)];

    values[i] = isnan(chosen) ? (double)NAN
                : chosen != 0 ? a->values[broadcast_index(a, y, i)]
                              : b->values[broadcast_index(b, y, i)];
  }
  return 0;
}

/* Outputs: the data, with its values, and a Boolean mask of the same shape. */
int ft_infer_dropout(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *ratio = ft_input(in, 1);
  const struct ft_attribute *own = ft_attribute(in->op, "ratio"); /* before operator set 12 */

  in->op->idle =
      (own && own->type == FT_ATTRIBUTE_REAL && own->real == 0) ||
      (ratio && ratio->values && ft_dim_is(ft_tensor_elements(ratio), 1) && ratio->values[0] == 0);
  if (ft_like(in, ft_output(in, 0), x) < 0)
    return -1;
  ft_output(in, 0)->element = x ? x->element : FT_ELEMENT_UNKNOWN;
  ft_output(in, 0)->values = x ? x->values : NULL;
  if (in->op->output_count < 2)
    return 0;
  ft_output(in, 1)->element = FT_ELEMENT_BOOL;
  return ft_like(in, ft_output(in, 1), x);
}

/* The same bytes as another element type; values are no longer tracked. */
int ft_infer_bit_cast(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);

  if (!x || x->rank < 0)
    return 0;
  if (ft_like(in, ft_output(in, 0), x) < 0)
    return -1;
  ft_output(in, 0)->element = ft_element_attribute(in, "to", x->element);
  return 0;
}

/* Outputs: quantised bytes, scale, zero point. */
int ft_infer_dynamic_quantize(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *scale = ft_output(in, 1), *zero = ft_output(in, 2);

  if (!x || x->rank < 0)
    return 0;
  if (ft_like(in, ft_output(in, 0), x) < 0)
    return -1;
  ft_output(in, 0)->element = zero->element = FT_ELEMENT_UINT8;
  scale->element = FT_ELEMENT_FLOAT;
  return ft_shape(in, scale, 0) && ft_shape(in, zero, 0) ? 0 : -1;
}
