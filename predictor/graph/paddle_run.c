/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A PaddlePaddle program followed in its order. Its operators (paddle/phi/api/yaml/ops.yaml) are
 * PyTorch's by other names: most become calls of ATen's.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/names.h"
#include "predictor/graph/paddle.h"

enum { ARGUMENTS = 12, BLOCKS = 16, TENSOR = 7 };

struct run {
  struct ft_live live;
  struct ft_names names;
  const struct ft_pd_program *program;
  const struct ft_pd_operator *op;
  int depth;
};

/* ---- what an operator has ---- */

static const struct ft_pd_attribute *attribute(const struct run *r, const char *name)
{
  for (size_t i = 0; i < r->op->attribute_count; i++)
    if (strcmp(r->op->attributes[i].name, name) == 0)
      return &r->op->attributes[i];
  return NULL;
}

static int64_t integer(const struct run *r, const char *name, int64_t otherwise)
{
  const struct ft_pd_attribute *a = attribute(r, name);

  return a ? a->integer : otherwise;
}

static const struct ft_pd_slot *slot(const struct ft_pd_slot *slots, size_t count,
                                     const char *name)
{
  for (size_t i = 0; i < count; i++)
    if (strcmp(slots[i].name, name) == 0)
      return &slots[i];
  return NULL;
}

static int bind(struct run *r, const char *name, struct ft_operand value)
{
  struct ft_operand *kept = ft_live_take(&r->live, sizeof *kept);

  if (!kept)
    return -1;
  *kept = value;
  return ft_names_put(&r->names, name, kept) < 0
             ? ft_live_fail(&r->live, "too many names, or too many alike")
             : 0;
}

static struct ft_operand value_of(struct run *r, const char *name)
{
  const struct ft_operand *known = ft_names_get(&r->names, name);

  return known ? *known : ft_value_some(FT_VALUE_OPAQUE);
}

/* The Ith variable of input NAME; NONE where there is none. */
static struct ft_operand input_at(struct run *r, const char *name, size_t i)
{
  const struct ft_pd_slot *s = slot(r->op->inputs, r->op->input_count, name);

  return s && i < s->count ? value_of(r, s->variables[i]) : ft_value_none();
}

static struct ft_operand input(struct run *r, const char *name)
{
  return input_at(r, name, 0);
}

static struct ft_operand input_list(struct run *r, const char *name)
{
  const struct ft_pd_slot *s = slot(r->op->inputs, r->op->input_count, name);
  struct ft_operand list = ft_value_list(&r->live, FT_VALUE_LIST, NULL, 0);

  for (size_t i = 0; s && list.type == FT_VALUE_LIST && i < s->count; i++)
    (void)ft_value_append(&r->live, list.list, value_of(r, s->variables[i]));
  return list;
}

static struct ft_operand integers(struct run *r, const char *name)
{
  const struct ft_pd_attribute *a = attribute(r, name);
  struct ft_operand list = ft_value_list(&r->live, FT_VALUE_LIST, NULL, 0);

  for (size_t i = 0; a && a->integers && list.type == FT_VALUE_LIST && i < a->count; i++)
    (void)ft_value_append(&r->live, list.list, ft_value_int(a->integers[i]));
  return list;
}

/* Sizes: of a list of tensors, of one tensor, else of the attribute. */
static struct ft_operand sizes(struct run *r, const char *tensors, const char *tensor,
                               const char *name)
{
  struct ft_operand list = input_list(r, tensors), one = input(r, tensor);

  if (list.type == FT_VALUE_LIST && list.list->count)
    return list;
  return one.type == FT_VALUE_TENSOR ? one : integers(r, name);
}

/* Bind output NAME's Ith variable. */
static int give_at(struct run *r, const char *name, size_t i, struct ft_operand value)
{
  const struct ft_pd_slot *s = slot(r->op->outputs, r->op->output_count, name);

  return s && i < s->count ? bind(r, s->variables[i], value) : 0;
}

/* The result, by whatever name the operator has for it. */
static int give(struct run *r, struct ft_operand value)
{
  static const char *const names[] = { "Out", "Output", "Y", NULL };

  for (size_t i = 0; names[i]; i++)
    if (slot(r->op->outputs, r->op->output_count, names[i]))
      return give_at(r, names[i], 0, value);
  return 0;
}

static int give_list(struct run *r, const char *name, const struct ft_operand *value)
{
  bool listed = value->type == FT_VALUE_LIST || value->type == FT_VALUE_TUPLE;

  for (size_t i = 0; listed && i < value->list->count; i++)
    if (give_at(r, name, i, value->list->items[i]) < 0)
      return -1;
  return listed ? 0 : give_at(r, name, 0, *value);
}

/* A call of ATen's NAME. */
static int call(struct run *r, const char *name, const struct ft_operand *args, size_t count,
                struct ft_operand *result)
{
  struct ft_call c = { .l = &r->live, .name = name, .args = args, .count = count };

  if (ft_aten(&c) < 0)
    return r->live.in->err->text[0] ? -1 : ft_live_fail(&r->live, "%s cannot be followed", r->op->type);
  *result = c.result;
  return 0;
}

static int call_and_give(struct run *r, const char *name, const struct ft_operand *args,
                         size_t count)
{
  struct ft_operand result;

  return call(r, name, args, count, &result) < 0 ? -1 : give(r, result);
}

/* ---- layers ---- */

/* Paddings of (2, or before and after 4) for N dimensions; those that differ are evened out. */
static struct ft_operand paddings(struct run *r, size_t n)
{
  const struct ft_pd_attribute *a = attribute(r, "paddings"), *how = attribute(r, "padding_algorithm");
  struct ft_operand list = ft_value_list(&r->live, FT_VALUE_LIST, NULL, 0);

  if (how && strcmp(how->text, "SAME") == 0)
    return ft_value_string("same");
  for (size_t i = 0; i < n && list.type == FT_VALUE_LIST; i++) {
    int64_t pad = !a || !a->integers      ? 0
                  : a->count == 2 * n ? (a->integers[2 * i] + a->integers[2 * i + 1] + 1) / 2
                  : a->count > i      ? a->integers[i]
                                      : 0;

    (void)ft_value_append(&r->live, list.list, ft_value_int(how && strcmp(how->text, "VALID") == 0 ? 0 : pad));
  }
  return list;
}

static size_t sliding(const struct run *r)
{
  return strstr(r->op->type, "3d") ? 3 : 2;
}

static int convolution(struct run *r)
{
  bool transposed = strstr(r->op->type, "transpose") != NULL;
  struct ft_operand args[] = { input(r, "Input"), input(r, "Filter"), input(r, "Bias"),
                               integers(r, "strides"), paddings(r, sliding(r)),
                               integers(r, "dilations"), ft_value_bool(transposed),
                               integers(r, "output_padding"),
                               ft_value_int(integer(r, "groups", 1)) };

  return call_and_give(r, "convolution", args, 9);
}

static int pool(struct run *r)
{
  const struct ft_pd_attribute *type = attribute(r, "pooling_type");
  bool largest = type && strcmp(type->text, "max") == 0;
  bool all = integer(r, "global_pooling", 0) != 0, adaptive = integer(r, "adaptive", 0) != 0;
  size_t n = sliding(r);
  struct ft_operand args[7] = { input(r, "X"), integers(r, "ksize"), integers(r, "strides"),
                                paddings(r, n) };
  const char *name = n == 3 ? (largest ? "max_pool3d" : "avg_pool3d")
                            : (largest ? "max_pool2d" : "avg_pool2d");

  if (all)
    args[1] = ft_value_int(1);
  if (all || adaptive) {
    struct ft_operand result;

    if (call(r, n == 3 ? (largest ? "adaptive_max_pool3d" : "adaptive_avg_pool3d")
                       : (largest ? "adaptive_max_pool2d" : "adaptive_avg_pool2d"),
             args, 2, &result) < 0)
      return -1;
    return give(r, result.type == FT_VALUE_TUPLE ? result.list->items[0] : result);
  }
  if (args[3].type == FT_VALUE_STRING)
    args[3] = ft_value_int(0);
  args[largest ? 4 : 5] = largest ? ft_value_int(1) : ft_value_none();
  args[largest ? 5 : 4] = ft_value_bool(integer(r, "ceil_mode", 0) != 0);
  return call_and_give(r, name, args, 6);
}

static int normalisation(struct run *r)
{
  const char *type = r->op->type;
  struct ft_operand x = input(r, "X"), w = input(r, "Scale"), b = input(r, "Bias");

  if (strcmp(type, "batch_norm") == 0 || strcmp(type, "sync_batch_norm") == 0) {
    struct ft_operand args[] = { x, w, b, input(r, "Mean"), input(r, "Variance") };

    return call_and_give(r, "batch_norm", args, 5);
  }
  if (strcmp(type, "group_norm") == 0) {
    struct ft_operand args[] = { x, ft_value_int(integer(r, "groups", 1)), w, b };

    return call_and_give(r, "group_norm", args, 4);
  }
  if (strcmp(type, "instance_norm") == 0) {
    struct ft_operand args[] = { x, w, b };

    return call_and_give(r, "instance_norm", args, 3);
  }
  /* begin_norm_axis, and all that is behind it */
  struct ft_operand shape = ft_value_list(&r->live, FT_VALUE_LIST, NULL, 0);
  struct ft_operand args[] = { x, shape, w, b };
  int rank = x.type == FT_VALUE_TENSOR ? ft_live_of(&r->live, x.tensor)->rank : 0;

  for (int64_t i = integer(r, "begin_norm_axis", 1); i < rank && i >= 0; i++)
    if (shape.type == FT_VALUE_LIST)
      (void)ft_value_append(&r->live, shape.list, ft_value_int(1));
  return call_and_give(r, "layer_norm", args, 4);
}

/* WeightList: matrices of every layer and direction, then their biases. */
static int recurrent(struct run *r)
{
  const struct ft_pd_attribute *mode = attribute(r, "mode");
  const char *name = !mode                             ? "lstm"
                     : strcmp(mode->text, "LSTM") == 0 ? "lstm"
                     : strcmp(mode->text, "GRU") == 0  ? "gru"
                                                       : "rnn_tanh";
  struct ft_operand list = input_list(r, "WeightList"), result;
  struct ft_operand weights = ft_value_list(&r->live, FT_VALUE_LIST, NULL, 0);
  bool both = integer(r, "is_bidirec", 0) != 0;
  struct ft_operand args[9] = { input(r, "Input"), input_list(r, "PreState"), weights,
                                ft_value_bool(true), ft_value_int(integer(r, "num_layers", 1)),
                                ft_value_real(0), ft_value_bool(false), ft_value_bool(both),
                                ft_value_bool(false) };
  size_t half;

  if (list.type != FT_VALUE_LIST || weights.type != FT_VALUE_LIST)
    return -1;
  half = list.list->count / 2;
  for (size_t i = 0; i + 1 < half; i += 2)
    for (size_t j = 0; j < 4; j++)
      if (ft_value_append(&r->live, weights.list,
                          list.list->items[(j / 2) * half + i + j % 2]) < 0)
        return -1;
  if (call(r, name, args, 9, &result) < 0)
    return -1;
  if (result.type != FT_VALUE_TUPLE)
    return give(r, result);
  for (size_t i = 1; i < result.list->count; i++)
    if (give_at(r, "State", i - 1, result.list->items[i]) < 0)
      return -1;
  return give(r, result.list->items[0]);
}

static int turned(struct run *r, struct ft_operand *x)
{
  struct ft_operand args[] = { *x, ft_value_int(-2), ft_value_int(-1) };

  return call(r, "transpose", args, 3, x);
}

static int product(struct run *r)
{
  struct ft_operand args[] = { input(r, "X"), input(r, "Y") };

  if ((integer(r, "trans_x", integer(r, "transpose_X", 0)) && turned(r, &args[0]) < 0) ||
      (integer(r, "trans_y", integer(r, "transpose_Y", 0)) && turned(r, &args[1]) < 0))
    return -1;
  return call_and_give(r, "matmul", args, 2);
}

/* Whether the layer that gives X takes B in: of a product the last dimension is what it is for, of
 * a convolution the second. */
static bool takes_in(struct run *r, uint32_t x, struct ft_weight *b)
{
  const struct ft_tensor *t = ft_live_of(&r->live, x);
  int channels = b->declared.rank == 1 ? t->rank - 1 : 1;

  return t->rank > channels && channels >= 0 &&
         ft_live_add_bias(&r->live, x, b, t->dims[channels]);
}

/* Y's dimensions are X's from AXIS on. */
static int elementwise(struct run *r, const char *name)
{
  struct ft_operand args[] = { input(r, "X"), input(r, "Y") };
  int64_t axis = integer(r, "axis", -1), dims[FT_GRAPH_RANK];
  uint32_t x = ft_value_as_tensor(&r->live, &args[0]), y;
  int p, q;

  if (x && strcmp(name, "add") == 0 && args[1].type == FT_VALUE_WEIGHT &&
      takes_in(r, x, args[1].weight))
    return give(r, args[0]);
  y = ft_value_as_tensor(&r->live, &args[1]);
  if (!x || !y)
    return ft_live_fail(&r->live, "%s: expected two inputs", r->op->type);
  p = ft_live_of(&r->live, x)->rank;
  q = ft_live_of(&r->live, y)->rank;
  args[0] = ft_value_tensor(x);
  if (axis >= 0 && q > 0 && axis + q < p) {
    for (int i = 0; i < p - axis; i++)
      dims[i] = i < q ? ft_live_of(&r->live, y)->dims[i] : 1;
    y = ft_live_reshape(&r->live, y, dims, (int)(p - axis));
    if (!y)
      return -1;
  }
  args[1] = ft_value_tensor(y);
  return call_and_give(r, name, args, 2);
}

/* ---- shapes ---- */

/* A size of 0 stands for the input's own. */
static int reshape(struct run *r)
{
  struct ft_operand args[] = { input(r, "X"), sizes(r, "ShapeTensor", "Shape", "shape") };
  const struct ft_pd_attribute *a = attribute(r, "shape");
  const struct ft_tensor *t;
  uint32_t x;

  if (args[0].type == FT_VALUE_WEIGHT && a && a->integers &&
      ft_live_reshape_weight(&r->live, args[0].weight, a->integers, (int)a->count))
    return give(r, args[0]);
  x = ft_value_as_tensor(&r->live, &args[0]);
  t = x ? ft_live_of(&r->live, x) : NULL;
  if (!t)
    return -1;
  for (size_t i = 0; args[1].type == FT_VALUE_LIST && i < args[1].list->count; i++) {
    struct ft_operand *s = &args[1].list->items[i];

    if (s->type == FT_VALUE_INT && s->known && s->integer == 0 && (int64_t)i < t->rank)
      *s = ft_value_int(t->dims[i]);
  }
  args[0] = ft_value_tensor(x);
  return call_and_give(r, "reshape", args, 2);
}

static int slice(struct run *r)
{
  struct ft_operand x = input(r, "Input"), axes = integers(r, "axes");
  struct ft_operand starts = sizes(r, "StartsTensorList", "StartsTensor", "starts");
  struct ft_operand ends = sizes(r, "EndsTensorList", "EndsTensor", "ends");
  struct ft_operand steps = sizes(r, "StridesTensorList", "StridesTensor", "strides");
  struct ft_operand dropped[] = { x, integers(r, "decrease_axis") };
  size_t count = axes.type == FT_VALUE_LIST ? axes.list->count : 0;

  for (size_t i = 0; i < count; i++) {
    struct ft_operand args[] = { x, axes.list->items[i], ft_value_some(FT_VALUE_INT),
                                 ft_value_some(FT_VALUE_INT), ft_value_int(1) };

    if (starts.type == FT_VALUE_LIST && i < starts.list->count)
      args[2] = starts.list->items[i];
    if (ends.type == FT_VALUE_LIST && i < ends.list->count)
      args[3] = ends.list->items[i];
    if (steps.type == FT_VALUE_LIST && i < steps.list->count)
      args[4] = steps.list->items[i];
    if (call(r, "slice", args, 5, &x) < 0)
      return -1;
  }
  dropped[0] = x;
  if (dropped[1].type == FT_VALUE_LIST && dropped[1].list->count)
    return call_and_give(r, "squeeze", dropped, 2);
  return give(r, x);
}

static int fill(struct run *r)
{
  const struct ft_pd_attribute *value = attribute(r, "value"), *said = attribute(r, "str_value");
  struct ft_operand args[] = { sizes(r, "ShapeTensorList", "ShapeTensor", "shape"),
                               ft_value_real(value ? value->real : 0) };
  struct ft_operand result;
  unsigned element = ft_pd_element(integer(r, "dtype", 5));
  double number;

  if (said && ft_text_is_double(ft_text_from(said->text), &number))
    args[1] = ft_value_real(number);
  if (call(r, "full", args, 2, &result) < 0)
    return -1;
  if (result.type == FT_VALUE_TENSOR)
    ft_live_of(&r->live, result.tensor)->element = (uint8_t)element;
  return give(r, result);
}

static int resize(struct run *r)
{
  const struct ft_pd_attribute *scale = attribute(r, "scale");
  struct ft_operand list = input_list(r, "SizeTensor"), out = input(r, "OutSize");
  struct ft_operand args[] = { input(r, "X"), ft_value_none(), ft_value_none() };
  int64_t h = integer(r, "out_h", -1), w = integer(r, "out_w", -1);

  if (list.type == FT_VALUE_LIST && list.list->count) {
    args[1] = list;
  } else if (out.type == FT_VALUE_TENSOR) {
    args[1] = out;
  } else if (scale && scale->reals) {
    args[2] = ft_value_list(&r->live, FT_VALUE_LIST, NULL, 0);
    for (size_t i = 0; args[2].type == FT_VALUE_LIST && i < 2; i++)
      (void)ft_value_append(&r->live, args[2].list,
                            ft_value_real(scale->reals[scale->count > 1 ? i : 0]));
  } else if (h > 0 && w > 0) {
    struct ft_operand both[] = { ft_value_int(h), ft_value_int(w) };

    args[1] = ft_value_list(&r->live, FT_VALUE_LIST, both, 2);
  }
  return call_and_give(r, "interpolate", args, 3);
}

static int shape(struct run *r)
{
  struct ft_operand x = input(r, "Input");
  uint32_t t = ft_value_as_tensor(&r->live, &x);
  uint32_t y = t ? ft_live_unary(&r->live, "Shape", t) : 0;

  return y ? give(r, ft_value_tensor(y)) : -1;
}

static int join(struct run *r, const char *name)
{
  struct ft_operand args[] = { input_list(r, "X"), ft_value_int(integer(r, "axis", 0)) }, result;

  if (call(r, name, args, 2, &result) < 0)
    return -1;
  return slot(r->op->outputs, r->op->output_count, "Out") ? give(r, result)
                                                          : give_at(r, "Y", 0, result);
}

static int split(struct run *r)
{
  const struct ft_pd_slot *out = slot(r->op->outputs, r->op->output_count, "Out");
  struct ft_operand args[] = { input(r, "X"), integers(r, "sections"),
                               ft_value_int(integer(r, "axis", 0)) };
  struct ft_operand result;
  bool equal = args[1].type == FT_VALUE_LIST && !args[1].list->count;

  if (equal)
    args[1] = ft_value_int(out ? (int64_t)out->count : 1);
  if (call(r, equal ? "chunk" : "split", args, 3, &result) < 0)
    return -1;
  return give_list(r, "Out", &result);
}

static int reduce(struct run *r, const char *name)
{
  struct ft_operand args[] = { input(r, "X"), integers(r, "dim"),
                               ft_value_bool(integer(r, "keep_dim", 0) != 0) };

  return call_and_give(r, name, args, integer(r, "reduce_all", 0) ? 1 : 3);
}

/* x times a number and another added: what is there of both */
static int scale(struct run *r)
{
  const struct ft_pd_attribute *by = attribute(r, "scale"), *more = attribute(r, "bias");
  struct ft_operand args[] = { input(r, "X"), ft_value_real(by ? by->real : 1) };

  if (args[1].real != 1 && call(r, "mul", args, 2, &args[0]) < 0)
    return -1;
  args[1] = ft_value_real(more ? more->real : 0);
  if (args[1].real != 0 && call(r, "add", args, 2, &args[0]) < 0)
    return -1;
  return give(r, args[0]);
}

/* ---- by name ---- */

/* Operators of one input X, one result, and at most one attribute that matters. */
static const struct {
  const char *type, *name, *attribute;
} plain[] = {
  { "abs", "abs", NULL }, { "arg_max", "argmax", "axis" }, { "assign", "detach", NULL },
  { "cast", "to", NULL }, { "ceil", "ceil", NULL }, { "clip", "clamp", NULL }, { "cos", "cos", NULL },
  { "cumsum", "cumsum", "axis" }, { "dropout", "detach", NULL }, { "elu", "elu", NULL },
  { "erf", "erf", NULL }, { "exp", "exp", NULL }, { "floor", "floor", NULL }, { "gelu", "gelu", NULL },
  { "hard_sigmoid", "hardsigmoid", NULL }, { "hard_swish", "hardswish", NULL },
  { "leaky_relu", "leaky_relu", NULL }, { "log", "log", NULL }, { "log_softmax", "log_softmax", "axis" },
  { "logical_not", "logical_not", NULL }, { "mean", "mean", NULL }, { "mish", "mish", NULL },
  { "pixel_shuffle", "pixel_shuffle", "upscale_factor" }, { "pow", "exp", NULL },
  { "relu", "relu", NULL }, { "relu6", "relu6", NULL }, { "round", "round", NULL },
  { "rsqrt", "rsqrt", NULL }, { "sigmoid", "sigmoid", NULL }, { "sign", "sign", NULL },
  { "silu", "silu", NULL }, { "sin", "sin", NULL }, { "softmax", "softmax", "axis" },
  { "softplus", "softplus", NULL }, { "sqrt", "sqrt", NULL }, { "square", "square", NULL },
  { "swish", "silu", NULL }, { "tanh", "tanh", NULL }, { "where_index", "nonzero", NULL },
}, listed[] = { /* one list of integers */
  { "transpose2", "permute", "axis" }, { "transpose", "permute", "axis" },
  { "squeeze2", "squeeze", "axes" }, { "squeeze", "squeeze", "axes" },
  { "expand_v2", "expand", "shape" }, { "tile", "repeat", "repeat_times" },
  { "flip", "flip", "axis" },
}, twos[] = {
  { "elementwise_add", "add", NULL }, { "elementwise_sub", "sub", NULL },
  { "elementwise_mul", "mul", NULL }, { "elementwise_div", "div", NULL },
  { "elementwise_max", "maximum", NULL }, { "elementwise_min", "minimum", NULL },
  { "elementwise_pow", "pow", NULL }, { "elementwise_floordiv", "floor_divide", NULL },
  { "elementwise_mod", "remainder", NULL }, { "equal", "eq", NULL }, { "not_equal", "ne", NULL },
  { "greater_than", "gt", NULL }, { "greater_equal", "ge", NULL }, { "less_than", "lt", NULL },
  { "less_equal", "le", NULL }, { "logical_and", "logical_and", NULL },
  { "logical_or", "logical_or", NULL },
}, reductions[] = {
  { "reduce_mean", "mean", NULL }, { "reduce_sum", "sum", NULL }, { "reduce_max", "amax", NULL },
  { "reduce_min", "amin", NULL }, { "reduce_prod", "prod", NULL }, { "reduce_all", "all", NULL },
  { "reduce_any", "any", NULL }, { "p_norm", "norm", NULL },
};

#define IN(table) (sizeof(table) / sizeof *(table))

static int by_table(struct run *r)
{
  const char *type = r->op->type;

  for (size_t i = 0; i < IN(plain); i++)
    if (strcmp(type, plain[i].type) == 0) {
      struct ft_operand args[] = { input(r, "X"), ft_value_none() };

      if (plain[i].attribute)
        args[1] = ft_value_int(integer(r, plain[i].attribute, -1));
      if (strcmp(type, "cast") == 0) {
        uint32_t x = ft_value_as_tensor(&r->live, &args[0]);

        x = x ? ft_live_cast(&r->live, x, ft_pd_element(integer(r, "out_dtype", 5))) : 0;
        return x ? give(r, ft_value_tensor(x)) : -1;
      }
      return call_and_give(r, plain[i].name, args, plain[i].attribute ? 2 : 1);
    }
  for (size_t i = 0; i < IN(listed); i++)
    if (strcmp(type, listed[i].type) == 0) {
      struct ft_operand args[] = { input(r, "X"), integers(r, listed[i].attribute) };

      if (strcmp(type, "expand_v2") == 0)
        args[1] = sizes(r, "expand_shapes_tensor", "Shape", "shape");
      return call_and_give(r, listed[i].name, args, 2);
    }
  for (size_t i = 0; i < IN(twos); i++)
    if (strcmp(type, twos[i].type) == 0)
      return elementwise(r, twos[i].name);
  for (size_t i = 0; i < IN(reductions); i++)
    if (strcmp(type, reductions[i].type) == 0)
      return reduce(r, reductions[i].name);
  return 1;
}

static int unsqueeze(struct run *r)
{
  const struct ft_pd_attribute *a = attribute(r, "axes");
  struct ft_operand x = input(r, "X");

  for (size_t i = 0; a && a->integers && i < a->count; i++) {
    struct ft_operand args[] = { x, ft_value_int(a->integers[i]) };

    if (call(r, "unsqueeze", args, 2, &x) < 0)
      return -1;
  }
  return give(r, x);
}

static int flatten(struct run *r)
{
  struct ft_operand args[] = { input(r, "X"), ft_value_int(integer(r, "start_axis", 1)),
                               ft_value_int(integer(r, "stop_axis", -1)) };

  return call_and_give(r, "flatten", args, 3);
}

static int look_up(struct run *r)
{
  bool table = strncmp(r->op->type, "lookup_table", 12) == 0;
  struct ft_operand args[] = { input(r, table ? "W" : "X"),
                               table ? input(r, "Ids") : ft_value_int(integer(r, "axis", 0)),
                               input(r, "Index") };

  return call_and_give(r, table ? "embedding" : "index_select", args, table ? 2 : 3);
}

static int pad(struct run *r)
{
  struct ft_operand args[] = { input(r, "X"), integers(r, "paddings") };

  return call_and_give(r, "pad", args, 2);
}

static int concat(struct run *r)
{
  return join(r, "cat");
}

static int stack(struct run *r)
{
  return join(r, "stack");
}

static int where(struct run *r)
{
  struct ft_operand args[] = { input(r, "Condition"), input(r, "X"), input(r, "Y") };

  return call_and_give(r, "where", args, 3);
}

static const struct {
  const char *type;
  int (*run)(struct run *r);
} handlers[] = { { "batch_norm", normalisation },
                 { "sync_batch_norm", normalisation },
                 { "layer_norm", normalisation },
                 { "group_norm", normalisation },
                 { "instance_norm", normalisation },
                 { "conv2d", convolution },
                 { "conv3d", convolution },
                 { "depthwise_conv2d", convolution },
                 { "conv2d_transpose", convolution },
                 { "conv3d_transpose", convolution },
                 { "depthwise_conv2d_transpose", convolution },
                 { "pool2d", pool },
                 { "pool3d", pool },
                 { "rnn", recurrent },
                 { "matmul_v2", product },
                 { "matmul", product },
                 { "mul", product },
                 { "bmm", product },
                 { "reshape2", reshape },
                 { "reshape", reshape },
                 { "slice", slice },
                 { "strided_slice", slice },
                 { "fill_constant", fill },
                 { "bilinear_interp_v2", resize },
                 { "nearest_interp_v2", resize },
                 { "bicubic_interp_v2", resize },
                 { "shape", shape },
                 { "concat", concat },
                 { "stack", stack },
                 { "split", split },
                 { "scale", scale },
                 { "unsqueeze2", unsqueeze },
                 { "unsqueeze", unsqueeze },
                 { "flatten_contiguous_range", flatten },
                 { "lookup_table_v2", look_up },
                 { "lookup_table", look_up },
                 { "gather", look_up },
                 { "pad3d", pad },
                 { "where", where } };

/* All inputs of what is not known, and as many results as it has. */
static int unknown(struct run *r)
{
  uint32_t *in, y;
  size_t count = 0, outputs = 0;

  for (size_t i = 0; i < r->op->input_count; i++)
    count += r->op->inputs[i].count;
  in = ft_live_take(&r->live, (count + 1) * sizeof *in);
  count = 0;
  for (size_t i = 0; in && i < r->op->input_count; i++)
    for (size_t j = 0; j < r->op->inputs[i].count; j++) {
      struct ft_operand v = value_of(r, r->op->inputs[i].variables[j]);

      if (!ft_value_is_tensor(&v))
        continue;
      in[count] = ft_value_as_tensor(&r->live, &v);
      if (!in[count++])
        return -1;
    }
  for (size_t i = 0; i < r->op->output_count; i++)
    outputs += r->op->outputs[i].count;
  if (!in || !outputs || outputs > FT_LIVE_OPERATORS)
    return in ? 0 : -1;
  ft_live_unknown(&r->live, "paddle", r->op->type);
  for (size_t i = 0; i < count; i++)
    ft_live_in(&r->live, in[i]);
  y = ft_live_end(&r->live, (uint32_t)outputs);
  for (size_t i = 0; y && i < r->op->output_count; i++)
    for (size_t j = 0; j < r->op->outputs[i].count; j++)
      if (bind(r, r->op->outputs[i].variables[j], ft_value_tensor(y++)) < 0)
        return -1;
  return y ? 0 : -1;
}

/* ---- blocks ---- */

static int run_block(struct run *r, const struct ft_pd_block *block);

/* A condition's block is followed as if it held, a loop's once, in a block of its own. */
static int inner(struct run *r)
{
  static const char *const names[] = { "body" };
  const struct ft_pd_operator *op = r->op;
  int64_t which = integer(r, "sub_block", -1);
  struct ft_live_frame frame;
  bool loop = strcmp(op->type, "while") == 0;

  if (which < 1 || which >= (int64_t)r->program->count)
    return ft_live_fail(&r->live, "%s: block %lld of %zu", op->type, (long long)which,
                        r->program->count);
  if (!loop)
    return run_block(r, &r->program->blocks[which]);
  if (ft_live_open(&r->live, &frame) < 0 || run_block(r, &r->program->blocks[which]) < 0)
    return -1;
  ft_live_close(&r->live, &frame);
  return ft_live_blocks(&r->live, "Loop", 0, &frame.block, names, 1, 0, -1) ? 0 : -1;
}

static int run_operator(struct run *r)
{
  const char *type = r->op->type;
  int status;

  if (strcmp(type, "feed") == 0 || strcmp(type, "print") == 0 || strcmp(type, "assert") == 0)
    return 0;
  if (strcmp(type, "fetch") == 0) {
    struct ft_operand v = input(r, "X");

    return v.type == FT_VALUE_TENSOR ? ft_live_output(&r->live, v.tensor) : 0;
  }
  if (strcmp(type, "while") == 0 || strcmp(type, "conditional_block") == 0)
    return inner(r);
  if (strcmp(type, "select_input") == 0)
    return give(r, input(r, "X"));
  status = by_table(r);
  for (size_t i = 0; status == 1 && i < IN(handlers); i++)
    if (strcmp(type, handlers[i].type) == 0)
      return handlers[i].run(r);
  return status == 1 ? unknown(r) : status;
}

static int run_block(struct run *r, const struct ft_pd_block *block)
{
  if (++r->depth > BLOCKS)
    return ft_live_fail(&r->live, "blocks within each other more than %d deep", BLOCKS);
  for (size_t i = 0; i < block->operator_count; i++) {
    const struct ft_pd_slot *out;

    r->op = &block->operators[i];
    out = slot(r->op->outputs, r->op->output_count, "Out");
    out = out ? out : slot(r->op->outputs, r->op->output_count, "Y");
    out = out ? out : r->op->outputs;
    r->live.at = r->op->at;
    r->live.scope = r->op->output_count && out->count ? out->variables[0] : "";
    if (run_operator(r) < 0)
      return -1;
    if (r->live.failed)
      return -1;
  }
  r->depth--;
  return 0;
}

/* ---- the program ---- */

static int add_variables(struct run *r, const struct ft_pd_block *block)
{
  for (size_t i = 0; i < block->variable_count; i++) {
    const struct ft_pd_variable *v = &block->variables[i];
    struct ft_operand value = { .type = FT_VALUE_WEIGHT };

    if (!v->kept || v->kind != TENSOR || v->declared.rank < 0)
      continue;
    for (int j = 0; j < v->declared.rank; j++)
      if (v->declared.dims[j] < 0)
        return ft_live_fail(&r->live, "the size of the weight \"%.100s\" is not said", v->name);
    value.weight = ft_live_take(&r->live, sizeof *value.weight);
    if (!value.weight)
      return -1;
    value.weight->name = v->name;
    value.weight->declared = v->declared;
    if (bind(r, v->name, value) < 0)
      return -1;
  }
  return 0;
}

/* What "feed" gives is an input. */
static int add_inputs(struct run *r, const struct ft_pd_block *block)
{
  for (size_t i = 0; i < block->operator_count; i++) {
    const struct ft_pd_operator *op = &block->operators[i];
    const struct ft_pd_slot *out = slot(op->outputs, op->output_count, "Out");
    struct ft_declared *d;
    uint32_t tensor;

    if (strcmp(op->type, "feed") != 0 || !out || !out->count)
      continue;
    d = ft_live_take(&r->live, sizeof *d);
    if (!d)
      return -1;
    d->rank = -1;
    for (size_t j = 0; j < block->variable_count; j++)
      if (strcmp(block->variables[j].name, out->variables[0]) == 0)
        *d = block->variables[j].declared;
    tensor = ft_live_input(&r->live, out->variables[0], d);
    if (!tensor || bind(r, out->variables[0], ft_value_tensor(tensor)) < 0)
      return -1;
  }
  return ft_infer_inputs(r->live.in);
}

int ft_paddle_run(struct ft_infer *in)
{
  struct run r = { .program = in->graph->program };
  int status = -1;

  if (ft_live_begin(&r.live, in) == 0) {
    r.names.arena = &in->graph->results;
    for (size_t i = 0; i < r.program->count; i++)
      if (add_variables(&r, &r.program->blocks[i]) < 0)
        return -1;
    if (add_inputs(&r, &r.program->blocks[0]) == 0)
      status = run_block(&r, &r.program->blocks[0]);
  }
  if (r.live.failed)
    status = -1;
  if (status < 0 && !in->err->text[0])
    (void)ft_error_set(in->err, "%s: its program cannot be followed", in->graph->file);
  return status;
}
