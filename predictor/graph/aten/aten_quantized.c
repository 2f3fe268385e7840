/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PyTorch's quantised operators (aten/src/ATen/native/quantized/library.cpp): the same layers with
 * whole numbers. What a layer's weights are packed into is here the tuple of what they were packed
 * from: weights, bias, and of a convolution its window, in the order of its prepack function.
 */
#include "config.h"

#include <string.h>

#include "predictor/graph/aten/aten.h"

enum { QUINT8 = 13 }; /* c10/core/ScalarType.h */

/* conv2d_prepack(w, b, stride, ...) and those alike */
int ft_aten_prepack(struct ft_call *c)
{
  c->result = ft_value_list(c->l, FT_VALUE_TUPLE, c->args, c->count);
  return c->l->failed ? -1 : 0;
}

/* Item I of V, a list; NONE where there is none. */
static struct ft_operand item(const struct ft_operand *v, size_t i)
{
  return ft_value_is_list(v) && i < v->list->count ? v->list->items[i] : ft_value_none();
}

/* N numbers of V from *AT on, as a list. */
static struct ft_operand numbers(struct ft_live *l, const struct ft_operand *v, size_t *at,
                                 int64_t n)
{
  struct ft_operand list = ft_value_list(l, FT_VALUE_LIST, NULL, 0);

  for (int64_t i = 0; i < n && list.type == FT_VALUE_LIST; i++)
    if (ft_value_append(l, list.list, item(v, (*at)++)) < 0)
      return ft_value_none();
  return list;
}

/*
 * A packed convolution as it is written since PyTorch 1.10, (3, numbers, [-, w, b]): how many
 * dimensions, stride, padding, dilation, output padding, groups, flags
 * (aten/src/ATen/native/quantized/cpu/conv_serialization.h).
 */
static struct ft_operand convolution(struct ft_live *l, const struct ft_operand *state,
                                     bool transposed)
{
  struct ft_operand list = item(state, 1), tensors = item(state, 2), parts[7], groups;
  int64_t n = item(&list, 0).type == FT_VALUE_INT ? item(&list, 0).integer : 0;
  size_t at = 1;

  if (n < 1 || n > 3)
    return ft_value_none();
  parts[0] = item(&tensors, 1);
  parts[1] = item(&tensors, 2);
  parts[2] = numbers(l, &list, &at, n);
  parts[3] = numbers(l, &list, &at, n);
  parts[4] = numbers(l, &list, &at, n);
  parts[5] = numbers(l, &list, &at, n);
  groups = item(&list, at);
  if (transposed) { /* output padding stands before dilation */
    struct ft_operand dilation = parts[4];

    parts[4] = parts[5];
    parts[5] = dilation;
    parts[6] = groups;
    return ft_value_list(l, FT_VALUE_TUPLE, parts, 7);
  }
  parts[5] = groups;
  return ft_value_list(l, FT_VALUE_TUPLE, parts, 6);
}

/* What ARG, packed weights, was packed from; NONE where that is not known. */
static struct ft_operand unpack(struct ft_live *l, const struct ft_operand *arg, bool transposed)
{
  const struct ft_operand *state;

  if (arg->type == FT_VALUE_TUPLE)
    return *arg;
  state = arg->type == FT_VALUE_OBJECT ? ft_object_field(arg->object, FT_OBJECT_STATE) : NULL;
  if (!state || !ft_value_is_list(state))
    return ft_value_none();
  if (strstr(arg->object->type, "Linear"))
    return *state;
  return strstr(arg->object->type, "Conv") ? convolution(l, state, transposed) : ft_value_none();
}

/* The tensors of a packed object that is not followed, as far as they are seen. */
static int unknown(struct ft_call *c)
{
  struct ft_call seen = *c;
  struct ft_operand args[3] = { *ft_arg(c, 0, NULL), *ft_arg(c, 1, NULL), ft_value_none() };

  for (int i = 0; i < 2; i++)
    if (args[i].type == FT_VALUE_OBJECT) {
      const struct ft_operand *state = ft_object_field(args[i].object, FT_OBJECT_STATE);

      args[i] = state ? *state : ft_value_none();
    }
  seen.args = args;
  seen.keys = NULL;
  seen.count = 3;
  if (ft_aten_unknown(&seen) < 0)
    return -1;
  c->result = seen.result;
  return 0;
}

/* Weights that are kept in 32 bits and used in 16. */
static void halve(const struct ft_operand *w)
{
  enum { FLOAT16 = 10 };

  if (w->type == FT_VALUE_WEIGHT && !w->weight->tensor)
    w->weight->declared.element = FLOAT16;
}

/* linear(x, packed, ...), conv2d(x, packed, ...), conv2d_add(x, y, packed, ...): the plain layer;
 * what is applied to its result in the same kernel costs nothing. */
static int layer(struct ft_call *c, const char *type)
{
  bool transposed = strstr(type, "transpose") != NULL, sum = strstr(c->name, "_add") != NULL;
  struct ft_operand packed = unpack(c->l, ft_arg(c, sum ? 2 : 1, NULL), transposed), args[9];
  struct ft_call plain = { .l = c->l, .name = type, .args = args, .outputs = 1 };

  if (packed.type != FT_VALUE_TUPLE || packed.list->count > 8 || packed.list->count < 1 ||
      !ft_value_is_tensor(&packed.list->items[0]))
    return unknown(c);
  args[0] = *ft_arg(c, 0, NULL);
  for (size_t i = 0; i < packed.list->count; i++)
    args[i + 1] = packed.list->items[i];
  if (transposed && packed.list->count == 7) { /* ATen has groups before dilation */
    args[6] = packed.list->items[6];
    args[7] = packed.list->items[5];
  }
  plain.count = packed.list->count + 1;
  if (strstr(c->name, "fp16"))
    halve(&args[1]);
  if (ft_aten(&plain) < 0)
    return -1;
  c->result = plain.result;
  return 0;
}

/* An embedding of a byte or less each: its rows, in 32 bits. */
static int embedding(struct ft_call *c)
{
  struct ft_operand packed = *ft_arg(c, 0, NULL), args[2], list;
  uint32_t w, x, y;

  if (packed.type == FT_VALUE_OBJECT) { /* (version, [w], ...) */
    const struct ft_operand *state = ft_object_field(packed.object, FT_OBJECT_STATE);

    list = state ? item(state, 1) : ft_value_none();
    packed = list;
  }
  args[0] = item(&packed, 0);
  args[1] = *ft_arg(c, 1, NULL);
  if (!ft_value_is_tensor(&args[0]) || !ft_value_is_tensor(&args[1]) || strstr(c->name, "bag"))
    return unknown(c);
  w = ft_value_as_tensor(c->l, &args[0]);
  x = ft_value_as_tensor(c->l, &args[1]);
  y = w && x ? ft_live_binary(c->l, "Gather", w, x) : 0;
  return ft_give(c, y ? ft_live_unary(c->l, "DequantizeLinear", y) : 0);
}

/* An operator of that name with scales and zeros behind its own arguments. */
int ft_aten_quantized(struct ft_call *c)
{
  const char *type = c->type;
  struct ft_call plain = *c;

  if (strncmp(type, "conv", 4) == 0 || strcmp(type, "linear") == 0)
    return layer(c, type);
  if (strcmp(type, "embedding") == 0)
    return embedding(c);
  plain.name = type;
  if (ft_aten(&plain) < 0)
    return -1;
  c->result = plain.result;
  return 0;
}

/* ---- to whole numbers and back ---- */

/* quantize_per_tensor(x, scale, zero, dtype), quantize_per_channel(x, scales, zeros, axis, dtype),
 * quantize_per_tensor_dynamic(x, dtype, reduce) */
int ft_aten_quantize(struct ft_call *c)
{
  unsigned place = strstr(c->name, "dynamic") ? 1 : strstr(c->name, "channel") ? 4 : 3;
  int64_t dtype = ft_arg_int(c, place, "dtype", QUINT8);
  uint32_t x = ft_arg_tensor(c, 0);

  if (!x)
    return -1;
  ft_live_op(c->l, "QuantizeLinear");
  ft_live_in(c->l, x);
  ft_live_int(c->l, "output_dtype", ft_aten_element(dtype));
  return ft_give(c, ft_live_end(c->l, 1));
}

int ft_aten_dequantize(struct ft_call *c)
{
  uint32_t x;

  if (!ft_value_is_tensor(ft_arg(c, 0, NULL)))
    return ft_aten_same(c);
  x = ft_arg_tensor(c, 0);
  if (x && ft_element_is_real(ft_live_of(c->l, x)->element))
    return ft_give(c, x);
  return ft_give(c, x ? ft_live_unary(c->l, "DequantizeLinear", x) : 0);
}

/* Rounded to what whole numbers can be, and a mark of each that was within: real numbers still. */
int ft_aten_fake_quantize(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), y = x ? ft_live_unary(c->l, "FakeQuantize", x) : 0;

  if (strstr(c->name, "cachemask") || strstr(c->name, "helper"))
    return ft_give_first(c, y, 1);
  return ft_give(c, y);
}

/* ---- recurrence ---- */

/* The weights and biases of one direction of a layer, in 8 bits or 16: (kind, tensors, -, -,
 * packed products) (aten/src/ATen/native/RNN.cpp, CellParamsSerializationType). */
static int cell(struct ft_call *c, const struct ft_operand *params, struct ft_values *out)
{
  const struct ft_operand *state =
      params->type == FT_VALUE_OBJECT ? ft_object_field(params->object, FT_OBJECT_STATE) : NULL;
  struct ft_operand biases, products, part;
  bool narrow;

  if (!state || !ft_value_is_list(state))
    return 1;
  biases = item(state, 1);
  products = item(state, 4);
  narrow = item(state, 0).type == FT_VALUE_STRING && strstr(item(state, 0).string, "fp16");
  for (size_t bias = 0; bias < 2; bias++)
    for (size_t i = 0; i < 2; i++) {
      part = item(&products, i);
      part = unpack(c->l, &part, false);
      part =
          bias && item(&biases, i).type == FT_VALUE_WEIGHT ? item(&biases, i) : item(&part, bias);
      if (part.type != FT_VALUE_WEIGHT)
        return 1;
      if (narrow && !bias)
        halve(&part);
      if (ft_value_append(c->l, out, part) < 0)
        return -1;
    }
  return 0;
}

/* quantized_lstm(x, states, params, biases, layers, ...): the plain one of the weights within */
int ft_aten_quantized_recurrent(struct ft_call *c)
{
  const struct ft_operand *params = ft_arg(c, 2, NULL);
  struct ft_operand args[9], weights = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
  struct ft_call plain = { .l = c->l, .name = c->type, .args = args, .outputs = c->outputs };
  int status = weights.type != FT_VALUE_LIST               ? -1
               : ft_value_is_list(params) && c->count >= 9 ? 0
                                                           : 1;

  for (size_t i = 0; status == 0 && i < params->list->count; i++)
    status = cell(c, &params->list->items[i], weights.list);
  if (status)
    return status < 0 ? -1 : ft_aten_unknown(c);
  for (unsigned i = 0; i < 9; i++)
    args[i] = *ft_arg(c, i, NULL);
  args[2] = weights;
  plain.count = 9;
  if (ft_aten(&plain) < 0)
    return -1;
  c->result = plain.result;
  return 0;
}
