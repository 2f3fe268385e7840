/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls without tensors: arithmetic and comparison of numbers, and dispatch to lists and
 * strings. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/aten/aten.h"

/* ---- numbers ---- */

static int64_t floor_divide(int64_t a, int64_t b)
{
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Integer result of two integers. Returns false if NAME is another operation or the result is
 * undefined. */
static bool integer_arithmetic(const char *name, int64_t a, int64_t b, int64_t *out)
{
  if (strcmp(name, "add") == 0)
    return !__builtin_add_overflow(a, b, out);
  if (strcmp(name, "sub") == 0)
    return !__builtin_sub_overflow(a, b, out);
  if (strcmp(name, "mul") == 0)
    return !__builtin_mul_overflow(a, b, out);
  if (b == 0 || (a == INT64_MIN && b == -1))
    return false;
  if (strcmp(name, "floordiv") == 0 || strcmp(name, "floor_divide") == 0) {
    *out = floor_divide(a, b);
    return true;
  }
  if (strcmp(name, "trunc") == 0) {
    *out = a / b;
    return true;
  }
  if (strcmp(name, "remainder") == 0 || strcmp(name, "mod") == 0) {
    *out = a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
    return true;
  }
  return false;
}

/* Returns A NAME B; NAN for a division by 0 or another operation. */
static double real_arithmetic(const char *name, double a, double b)
{
  static const char *const names[] = { "add",     "sub",  "mul",          "div",
                                       "truediv", "pow",  "floordiv",     "remainder",
                                       "trunc",   "fmod", "floor_divide", "mod" };

  switch (FT_TABLE_FIND(names, name)) {
  case 0:
    return a + b;
  case 1:
    return a - b;
  case 2:
    return a * b;
  case 3:
  case 4:
    return b == 0 ? (double)NAN : a / b;
  case 5:
    return pow(a, b);
  case 6:
  case 10:
    return b == 0 ? (double)NAN : floor(a / b);
  case 8:
    return b == 0 ? (double)NAN : trunc(a / b);
  case 9:
    return b == 0 ? (double)NAN : fmod(a, b);
  case 7:
  case 11:
    return b == 0 ? (double)NAN : a - b * floor(a / b);
  default:
    return (double)NAN;
  }
}

static int number_arithmetic(struct ft_call *c, const struct ft_operand *a,
                             const struct ft_operand *b)
{
  bool whole = a->type != FT_VALUE_REAL && b->type != FT_VALUE_REAL;
  const struct ft_operand *mode = ft_arg(c, 99, "rounding_mode");
  const char *name = c->name;
  double value;
  int64_t out;
  bool real;

  if (ft_aten_is(c, "div") && mode->type == FT_VALUE_STRING)
    name = strcmp(mode->string, "trunc") == 0 ? "trunc" : "floordiv";
  real = !whole || strcmp(name, "div") == 0 || strcmp(name, "truediv") == 0 ||
         strcmp(name, "fmod") == 0;
  if (!a->known || !b->known)
    return ft_give_value(c, ft_value_unknown(real ? FT_VALUE_REAL : FT_VALUE_INT));
  if (whole && integer_arithmetic(name, a->integer, b->integer, &out))
    return ft_give_value(c, ft_value_int(out));
  value = real_arithmetic(name, ft_value_number(a), ft_value_number(b));
  if (whole && strcmp(name, "pow") == 0 && value == floor(value) && fabs(value) < 0x1p53)
    return ft_give_value(c, ft_value_int((int64_t)value));
  if (whole && strcmp(name, "pow") == 0 && b->integer < 0)
    return ft_give_value(c, ft_value_real(value));
  return ft_give_value(c, real ? ft_value_real(value) : ft_value_unknown(FT_VALUE_INT));
}

/* ---- comparison ---- */

static int compare_scalars(struct ft_call *c, const struct ft_operand *a,
                           const struct ft_operand *b)
{
  double x = ft_value_number(a), y = ft_value_number(b);
  int equal, left = FT_VALUE_COMPARED;

  if (ft_aten_is(c, "eq") || ft_aten_is(c, "ne")) {
    equal = ft_value_equal(a, b, 8, &left);
    return ft_give_value(c, equal < 0 ? ft_value_unknown(FT_VALUE_BOOL)
                                      : ft_value_bool((equal == 1) == ft_aten_is(c, "eq")));
  }
  if (isnan(x) || isnan(y))
    return ft_give_value(c, ft_value_unknown(FT_VALUE_BOOL));
  return ft_give_value(c, ft_value_bool(ft_aten_is(c, "lt")   ? x < y
                                        : ft_aten_is(c, "le") ? x <= y
                                        : ft_aten_is(c, "gt") ? x > y
                                                              : x >= y));
}

static struct ft_operand truth_value(const struct ft_call *c, const struct ft_operand *v,
                                     bool negated)
{
  int truth = ft_value_truth(c->l, v);

  return truth < 0 ? ft_value_unknown(FT_VALUE_BOOL) : ft_value_bool((truth == 1) != negated);
}

/* Evaluates a call on number A. Returns 0; 1: not such a call. */
static int unary_number(struct ft_call *c, const struct ft_operand *a)
{
  double x = ft_value_number(a);

  if (ft_aten_is(c, "neg"))
    return ft_give_value(c, !a->known ? *a
                            : a->type == FT_VALUE_REAL
                                ? ft_value_real(-x)
                                : ft_value_int(a->integer == INT64_MIN ? INT64_MAX : -a->integer));
  if (ft_aten_is(c, "abs"))
    return ft_give_value(c, a->type == FT_VALUE_REAL ? ft_value_real(fabs(x))
                            : a->known               ? ft_value_int(ft_whole(fabs(x)))
                                                     : *a);
  if (FT_ATEN_IS_ONE_OF(c, "Int", "int", "trunc", "ceil", "floor", "round", "IntImplicit"))
    return ft_give_value(c, isnan(x) ? ft_value_unknown(FT_VALUE_INT)
                                     : ft_value_int(ft_whole(ft_aten_is(c, "ceil")    ? ceil(x)
                                                             : ft_aten_is(c, "floor") ? floor(x)
                                                             : ft_aten_is(c, "round") ? rint(x)
                                                                                      : trunc(x))));
  if (FT_ATEN_IS_ONE_OF(c, "float", "Float", "FloatImplicit"))
    return ft_give_value(c, ft_value_real(x));
  if (FT_ATEN_IS_ONE_OF(c, "sqrt", "exp", "log", "log2", "rsqrt"))
    return ft_give_value(c, ft_value_real(ft_aten_is(c, "sqrt")    ? sqrt(x)
                                          : ft_aten_is(c, "exp")   ? exp(x)
                                          : ft_aten_is(c, "log")   ? log(x)
                                          : ft_aten_is(c, "rsqrt") ? 1 / sqrt(x)
                                                                   : log2(x)));
  if (FT_ATEN_IS_ONE_OF(c, "NumToTensor", "to", "item", "clone", "detach", "tensor",
                        "scalar_tensor", "ScalarImplicit", "clamp", "as_tensor", "type_as",
                        "lift_fresh"))
    return ft_give_value(c, *a);
  return 1;
}

static int binary_numbers(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  if (FT_ATEN_IS_ONE_OF(c, "add", "sub", "mul", "div", "truediv", "pow", "floordiv", "remainder",
                        "floor_divide", "mod", "fmod"))
    return number_arithmetic(c, a, b);
  if (FT_ATEN_IS_ONE_OF(c, "eq", "ne", "lt", "le", "gt", "ge"))
    return compare_scalars(c, a, b);
  if (FT_ATEN_IS_ONE_OF(c, "max", "min", "sym_max", "sym_min"))
    return ft_give_value(
        c, !a->known || !b->known ? ft_value_unknown(a->type)
           : (ft_value_number(a) > ft_value_number(b)) == (strstr(c->name, "max") != NULL) ? *a
                                                                                           : *b);
  return unary_number(c, a);
}

/* Calls whose result does not depend on their arguments. */
static int constant_call(struct ft_call *c)
{
  static const struct {
    const char *name;
    int truth;
  } known[] = {
    { "is_grad_enabled", 1 },    { "is_autocast_enabled", 0 }, { "is_scripting", 1 },
    { "is_tracing", 0 },         { "_is_tracing", 0 },         { "is_autocast_cpu_enabled", 0 },
    { "has_torch_function", 0 }, { "is_compiling", 0 },        { "_jit_internal_is_scripting", 1 }
  };

  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (ft_aten_is(c, known[i].name))
      return ft_give_value(c, ft_value_bool(known[i].truth));
  if (FT_ATEN_IS_ONE_OF(c, "warn", "print", "manual_seed", "_set_grad_enabled", "set_grad_enabled",
                        "annotate_"))
    return ft_give_value(c, ft_value_none());
  if ((ft_aten_is(c, "dict") || ft_aten_is(c, "list")) && !c->count)
    return ft_give_value(
        c, ft_value_list(c->l, c->name[0] == 'd' ? FT_VALUE_DICT : FT_VALUE_LIST, NULL, 0));
  if (ft_aten_is(c, "str") && c->count == 1 && c->args[0].type != FT_VALUE_STRING)
    return ft_aten_to_string(c, &c->args[0]);
  if (ft_aten_is(c, "device") || ft_aten_is(c, "type"))
    return c->count && c->args[0].type == FT_VALUE_STRING ? ft_give_value(c, c->args[0]) : 1;
  return 1;
}

/* ---- logic ---- */

static int compare_identity(struct ft_call *c, const struct ft_operand *a,
                            const struct ft_operand *b)
{
  bool same_kind = a->type == b->type;

  if (a->type == FT_VALUE_OPAQUE || b->type == FT_VALUE_OPAQUE)
    return ft_give_value(c, ft_value_unknown(FT_VALUE_BOOL));
  if (b->type != FT_VALUE_NONE)
    same_kind = same_kind && a->integer == b->integer;
  return ft_give_value(c, ft_value_bool(same_kind == ft_aten_is(c, "__is__")));
}

static int logical_call(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  bool or = strstr(c->name, "or") != NULL;

  if (ft_aten_is(c, "__is__") || ft_aten_is(c, "__isnot__"))
    return compare_identity(c, a, b);
  if (ft_aten_is(c, "__not__") || ft_aten_is(c, "Bool") ||
      (ft_aten_is(c, "bool") && !ft_value_is_tensor(a)))
    return ft_give_value(c, truth_value(c, a, ft_aten_is(c, "__not__")));
  if (!FT_ATEN_IS_ONE_OF(c, "__and__", "__or__", "logical_and", "logical_or") ||
      a->type != FT_VALUE_BOOL || b->type != FT_VALUE_BOOL)
    return 1;
  if (!a->known || !b->known)
    return ft_give_value(c, ft_value_unknown(FT_VALUE_BOOL));
  return ft_give_value(c, ft_value_bool(or ? a->integer || b->integer : a->integer && b->integer));
}

/* ---- loops ---- */

/* Length of a Python range, and its number at index I. */
static int range_call(struct ft_call *c)
{
  int64_t first = ft_arg_int(c, 0, NULL, 0), second = ft_arg_int(c, 1, NULL, 0),
          step = ft_arg_int(c, 2, NULL, 1), product;

  if (ft_aten_is(c, "__range_length")) {
    if (first == INT64_MIN || second == INT64_MIN || step == INT64_MIN || step == 0)
      return ft_give_value(c, ft_value_unknown(FT_VALUE_INT));
    return ft_give_value(
        c, ft_value_int(ft_whole(fmax(0, ceil(((double)second - (double)first) / (double)step)))));
  }
  if (first == INT64_MIN || __builtin_mul_overflow(first, step, &product) ||
      __builtin_add_overflow(product, second, &product))
    return ft_give_value(c, ft_value_unknown(FT_VALUE_INT));
  return ft_give_value(c, ft_value_int(product));
}

/* len(tensor): size of its first dimension */
static int length_of_tensor(struct ft_call *c)
{
  struct ft_operand dims;

  if (ft_aten_size(c) < 0)
    return -1;
  dims = c->result;
  return ft_give_value(c, dims.type == FT_VALUE_LIST && dims.list->count
                              ? dims.list->items[0]
                              : ft_value_unknown(FT_VALUE_INT));
}

static bool is_several(const struct ft_operand *v)
{
  return ft_value_is_list(v) || v->type == FT_VALUE_STRING;
}

/* Values whose contents are not tracked. */
static bool is_closed(const struct ft_operand *v)
{
  return v->type == FT_VALUE_OPAQUE || ft_value_is_tensor(v);
}

int ft_aten_scalar(struct ft_call *c)
{
  const struct ft_operand *a = ft_arg(c, 0, NULL), *b = ft_arg(c, 1, NULL);
  bool equality = ft_aten_is(c, "eq") || ft_aten_is(c, "ne");
  int status = constant_call(c);

  if (status == 1)
    status = logical_call(c, a, b);
  if (status <= 0)
    return status;
  if ((ft_aten_is(c, "__range_length") || ft_aten_is(c, "__derive_index")) && c->count == 3)
    return range_call(c);
  if (equality && (is_several(a) || is_several(b)) && (is_closed(a) || is_closed(b)))
    return ft_give_value(c, ft_value_unknown(FT_VALUE_BOOL));
  if (equality && ft_value_is_list(a) && ft_value_is_list(b))
    return compare_scalars(c, a, b);
  if (ft_value_is_list(a) || a->type == FT_VALUE_DICT)
    return ft_aten_list(c);
  if (ft_aten_is(c, "einsum")) /* a string precedes its tensors */
    return 1;
  if (a->type == FT_VALUE_STRING)
    return equality ? compare_scalars(c, a, b) : ft_aten_string(c);
  if (ft_aten_is(c, "len") && ft_value_is_tensor(a))
    return length_of_tensor(c);
  if (ft_value_is_number(a)) {
    status = ft_value_is_number(b) ? binary_numbers(c, a, b) : unary_number(c, a);
    if (status <= 0)
      return status;
  }
  return equality && !ft_value_is_tensor(a) && !ft_value_is_tensor(b) ? compare_scalars(c, a, b)
                                                                      : 1;
}
