/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PyTorch's quantised operators (aten/src/ATen/native/quantized/library.cpp): the float layers
 * with integer weights. Packed weights are represented by the tuple of the prepack function's
 * arguments: weight, bias, and for a convolution its window.
 */
#include "config.h"

#include <string.h>

#include "predictor/graph/aten/aten.h"

enum { QUINT8 = 13 }; /* c10/core/ScalarType.h */

/* conv2d_prepack(w, b, stride, ...) and similar functions */
int ft_aten_prepack(struct ft_call *c)
{
  c->result = ft_value_list(c->l, FT_VALUE_TUPLE, c->args, c->count);
  return c->l->failed ? -1 : 0;
}

/* Replaces the call by one of the float operator NAME with COUNT ARGS. */
static int replace_call(struct ft_call *c, const char *name, const struct ft_operand *args,
                        size_t count)
{
  struct ft_operand *kept = ft_tracer_take(c->l, count * sizeof *kept);

  if (!kept)
    return -1;
  memcpy(kept, args, count * sizeof *kept);
  c->name = name;
  c->args = kept;
  c->keys = NULL;
  c->count = count;
  return FT_ATEN_REPLACED;
}

/* Item I of list V; NONE if there is none. */
static struct ft_operand list_item(const struct ft_operand *v, size_t i)
{
  return ft_value_is_list(v) && i < v->list->count ? v->list->items[i] : ft_value_none();
}

/* N numbers of V from position AT on, as a list; advances AT. */
static struct ft_operand take_numbers(struct ft_tracer *l, const struct ft_operand *v, size_t *at,
                                      int64_t n)
{
  struct ft_operand list = ft_value_list(l, FT_VALUE_LIST, NULL, 0);

  for (int64_t i = 0; i < n && list.type == FT_VALUE_LIST; i++)
    if (ft_value_append(l, list.list, list_item(v, (*at)++)) < 0)
      return ft_value_none();
  return list;
}

/*
 * A packed convolution as PyTorch writes it since 1.10, (3, numbers, [-, w, b]): dimensions,
 * stride, padding, dilation, output padding, groups, flags
 * (aten/src/ATen/native/quantized/cpu/conv_serialization.h).
 */
static struct ft_operand unpack_convolution(struct ft_tracer *l, const struct ft_operand *state,
                                            bool transposed)
{
  struct ft_operand list = list_item(state, 1), tensors = list_item(state, 2), parts[7], groups;
  int64_t n = list_item(&list, 0).type == FT_VALUE_INT ? list_item(&list, 0).integer : 0;
  size_t at = 1;

  if (n < 1 || n > 3)
    return ft_value_none();
  parts[0] = list_item(&tensors, 1);
  parts[1] = list_item(&tensors, 2);
  parts[2] = take_numbers(l, &list, &at, n);
  parts[3] = take_numbers(l, &list, &at, n);
  parts[4] = take_numbers(l, &list, &at, n);
  parts[5] = take_numbers(l, &list, &at, n);
  groups = list_item(&list, at);
  if (transposed) { /* output padding comes before dilation */
    struct ft_operand dilation = parts[4];

    parts[4] = parts[5];
    parts[5] = dilation;
    parts[6] = groups;
    return ft_value_list(l, FT_VALUE_TUPLE, parts, 7);
  }
  parts[5] = groups;
  return ft_value_list(l, FT_VALUE_TUPLE, parts, 6);
}

/* The arguments that packed weights ARG were made from; NONE if unknown. */
static struct ft_operand unpack_weights(struct ft_tracer *l, const struct ft_operand *arg,
                                        bool transposed)
{
  const struct ft_operand *state;

  if (arg->type == FT_VALUE_TUPLE)
    return *arg;
  state = arg->type == FT_VALUE_OBJECT ? ft_object_field(arg->object, FT_OBJECT_STATE) : NULL;
  if (!state || !ft_value_is_list(state))
    return ft_value_none();
  if (strstr(arg->object->type, "Linear"))
    return *state;
  return strstr(arg->object->type, "Conv") ? unpack_convolution(l, state, transposed)
                                           : ft_value_none();
}

/* Records an operator of unknown kind with the tensors in packed objects. */
static int record_packed_unknown(struct ft_call *c)
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

/* Weights stored in 32 bits and used in 16. */
static void store_as_float16(const struct ft_operand *w)
{
  enum { FLOAT16 = 10 }; /* onnx.TensorProto.FLOAT16 */

  if (w->type == FT_VALUE_WEIGHT && !w->weight->tensor)
    w->weight->declared.element = FLOAT16;
}

/* linear(x, packed, ...), conv2d(x, packed, ...), conv2d_add(x, y, packed, ...) as the float
 * layer; a fused activation costs nothing. */
static int record_float_layer(struct ft_call *c, const char *type)
{
  bool transposed = strstr(type, "transpose") != NULL, sum = strstr(c->name, "_add") != NULL;
  struct ft_operand packed = unpack_weights(c->l, ft_arg(c, sum ? 2 : 1, NULL), transposed),
                    args[9];

  if (packed.type != FT_VALUE_TUPLE || packed.list->count > 8 || packed.list->count < 1 ||
      !ft_value_is_tensor(&packed.list->items[0]))
    return record_packed_unknown(c);
  args[0] = *ft_arg(c, 0, NULL);
  for (size_t i = 0; i < packed.list->count; i++)
    args[i + 1] = packed.list->items[i];
  if (transposed && packed.list->count == 7) { /* ATen has groups before dilation */
    args[6] = packed.list->items[6];
    args[7] = packed.list->items[5];
  }
  if (strstr(c->name, "fp16"))
    store_as_float16(&args[1]);
  return replace_call(c, type, args, packed.list->count + 1);
}

/* embedding_byte, embedding_4bit: rows of 8 bits or fewer, dequantised to 32 bits. */
static int record_embedding(struct ft_call *c)
{
  struct ft_operand packed = *ft_arg(c, 0, NULL), args[2], list;
  uint32_t w, x, y;

  if (packed.type == FT_VALUE_OBJECT) { /* (version, [w], ...) */
    const struct ft_operand *state = ft_object_field(packed.object, FT_OBJECT_STATE);

    list = state ? list_item(state, 1) : ft_value_none();
    packed = list;
  }
  args[0] = list_item(&packed, 0);
  args[1] = *ft_arg(c, 1, NULL);
  if (!ft_value_is_tensor(&args[0]) || !ft_value_is_tensor(&args[1]) || strstr(c->name, "bag"))
    return record_packed_unknown(c);
  w = ft_value_as_tensor(c->l, &args[0]);
  x = ft_value_as_tensor(c->l, &args[1]);
  y = w && x ? ft_tracer_binary(c->l, "Gather", w, x) : 0;
  return ft_give(c, y ? ft_tracer_unary(c->l, "DequantizeLinear", y) : 0);
}

/* The float operator; scales and zero points after its own arguments are ignored. */
int ft_aten_quantized(struct ft_call *c)
{
  const char *type = c->type;

  if (strncmp(type, "conv", 4) == 0 || strcmp(type, "linear") == 0)
    return record_float_layer(c, type);
  if (strcmp(type, "embedding") == 0)
    return record_embedding(c);
  c->name = type;
  return FT_ATEN_REPLACED;
}

/* ---- quantise and dequantise ---- */

/* quantize_per_tensor(x, scale, zero, dtype), quantize_per_channel(x, scales, zeros, axis, dtype),
 * quantize_per_tensor_dynamic(x, dtype, reduce) */
int ft_aten_quantize(struct ft_call *c)
{
  unsigned place = strstr(c->name, "dynamic") ? 1 : strstr(c->name, "channel") ? 4 : 3;
  int64_t dtype = ft_arg_int(c, place, "dtype", QUINT8);
  uint32_t x = ft_arg_tensor(c, 0);

  if (!x)
    return -1;
  ft_tracer_op(c->l, "QuantizeLinear");
  ft_tracer_in(c->l, x);
  ft_tracer_int(c->l, "output_dtype", ft_aten_element(dtype));
  return ft_give(c, ft_tracer_end(c->l, 1));
}

int ft_aten_dequantize(struct ft_call *c)
{
  uint32_t x;

  if (!ft_value_is_tensor(ft_arg(c, 0, NULL)))
    return ft_aten_same(c);
  x = ft_arg_tensor(c, 0);
  if (x && ft_element_is_real(ft_tracer_of(c->l, x)->element))
    return ft_give(c, x);
  return ft_give(c, x ? ft_tracer_unary(c->l, "DequantizeLinear", x) : 0);
}

/* x rounded to the quantised range, still in floating point, and a mask of the values in range */
int ft_aten_fake_quantize(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), y = x ? ft_tracer_unary(c->l, "FakeQuantize", x) : 0;

  if (strstr(c->name, "cachemask") || strstr(c->name, "helper"))
    return ft_give_first(c, y, 1);
  return ft_give(c, y);
}

/* ---- recurrent layers ---- */

/* Weights and biases of one direction of a layer, in 8 or 16 bits: (kind, tensors, -, -, packed
 * products) (aten/src/ATen/native/RNN.cpp, CellParamsSerializationType). */
static int unpack_cell(struct ft_call *c, const struct ft_operand *params, struct ft_values *out)
{
  const struct ft_operand *state =
      params->type == FT_VALUE_OBJECT ? ft_object_field(params->object, FT_OBJECT_STATE) : NULL;
  struct ft_operand biases, products, part;
  bool narrow;

  if (!state || !ft_value_is_list(state))
    return 1;
  biases = list_item(state, 1);
  products = list_item(state, 4);
  narrow =
      list_item(state, 0).type == FT_VALUE_STRING && strstr(list_item(state, 0).string, "fp16");
  for (size_t bias = 0; bias < 2; bias++)
    for (size_t i = 0; i < 2; i++) {
      part = list_item(&products, i);
      part = unpack_weights(c->l, &part, false);
      part = bias && list_item(&biases, i).type == FT_VALUE_WEIGHT ? list_item(&biases, i)
                                                                   : list_item(&part, bias);
      if (part.type != FT_VALUE_WEIGHT)
        return 1;
      if (narrow && !bias)
        store_as_float16(&part);
      if (ft_value_append(c->l, out, part) < 0)
        return -1;
    }
  return 0;
}

/* quantized_lstm(x, states, params, biases, layers, ...) as the float layer */
int ft_aten_quantized_recurrent(struct ft_call *c)
{
  const struct ft_operand *params = ft_arg(c, 2, NULL);
  struct ft_operand args[9], weights = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
  int status = weights.type != FT_VALUE_LIST               ? -1
               : ft_value_is_list(params) && c->count >= 9 ? 0
                                                           : 1;

  for (size_t i = 0; status == 0 && i < params->list->count; i++)
    status = unpack_cell(c, &params->list->items[i], weights.list);
  if (status)
    return status < 0 ? -1 : ft_aten_unknown(c);
  for (unsigned i = 0; i < 9; i++)
    args[i] = *ft_arg(c, i, NULL);
  args[2] = weights;
  return replace_call(c, c->type, args, 9);
}
