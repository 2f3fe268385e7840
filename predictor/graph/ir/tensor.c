/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predictor/graph/ir/graph.h"

/* By enum ft_element, which has ONNX's numbers. bits 0: unknown or variable. */
static const struct {
  const char *name;
  uint8_t bits;
  bool real;
} elements[FT_ELEMENT_LAST + 1] = {
  { "unknown", 0, false },       { "float32", 32, true },   { "uint8", 8, false },
  { "int8", 8, false },          { "uint16", 16, false },   { "int16", 16, false },
  { "int32", 32, false },        { "int64", 64, false },    { "string", 0, false },
  { "bool", 8, false },          { "float16", 16, true },   { "float64", 64, true },
  { "uint32", 32, false },       { "uint64", 64, false },   { "complex64", 64, true },
  { "complex128", 128, true },   { "bfloat16", 16, true },  { "float8e4m3fn", 8, true },
  { "float8e4m3fnuz", 8, true }, { "float8e5m2", 8, true }, { "float8e5m2fnuz", 8, true },
  { "uint4", 4, false },         { "int4", 4, false },      { "float4e2m1", 4, true },
  { "float8e8m0", 8, true },     { "uint2", 2, false },     { "int2", 2, false }
};

unsigned ft_element_bits(unsigned type)
{
  return type <= FT_ELEMENT_LAST ? elements[type].bits : 0;
}

bool ft_element_is_real(unsigned type)
{
  return type <= FT_ELEMENT_LAST && elements[type].real;
}

const char *ft_element_name(unsigned type)
{
  return elements[type <= FT_ELEMENT_LAST ? type : 0].name;
}

/* Returns the value of BITS, a number in IEEE 754 half precision. */
static double half_of(uint64_t bits)
{
  int exponent = (int)(bits >> 10 & 31);
  double fraction = (double)(bits & 1023);
  double value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);

  return bits >> 15 ? -value : value;
}

double ft_element_value(unsigned type, const uint8_t *data)
{
  uint64_t bits = 0;
  uint32_t single;
  float f;
  double value;

  for (unsigned i = ft_element_bits(type) / 8; i-- > 0;)
    bits = bits << 8 | data[i];
  /* bfloat16 is the upper half of a float */
  single = (uint32_t)(type == FT_ELEMENT_BFLOAT16 ? bits << 16 : bits);
  switch (type) {
  case FT_ELEMENT_FLOAT:
  case FT_ELEMENT_BFLOAT16:
    memcpy(&f, &single, sizeof f);
    return (double)f;
  case FT_ELEMENT_FLOAT16:
    return half_of(bits);
  case FT_ELEMENT_DOUBLE:
    memcpy(&value, &bits, sizeof value);
    return value;
  case FT_ELEMENT_INT8:
    return (double)(int8_t)bits;
  case FT_ELEMENT_INT16:
    return (double)(int16_t)bits;
  case FT_ELEMENT_INT32:
    return (double)(int32_t)bits;
  case FT_ELEMENT_INT64:
    return (double)(int64_t)bits;
  default:
    return ft_element_is_real(type) ? (double)NAN : (double)bits;
  }
}

ft_dim ft_tensor_elements(const struct ft_tensor *tensor)
{
  ft_dim product = tensor->rank < 0 ? FT_DIM_UNKNOWN : ft_dim_of(1);

  for (int i = 0; i < tensor->rank; i++) {
    product = ft_dim_times(product, tensor->dims[i]);
    /* saturated: readers reject more than FT_GRAPH_ELEMENTS elements */
    if (ft_dim_or(product, 0) > 2 * FT_GRAPH_ELEMENTS)
      product = ft_dim_of(2 * FT_GRAPH_ELEMENTS);
  }
  return product;
}

int64_t ft_tensor_saved(const struct ft_tensor *tensor, int64_t bytes)
{
  double kept = (double)bytes * (double)tensor->saved;

  if (!tensor->data || tensor->saved <= 0)
    return bytes;
  return kept < (double)(INT64_MAX / 4) ? (int64_t)kept : INT64_MAX / 4;
}

ft_dim ft_tensor_bytes(const struct ft_tensor *tensor)
{
  unsigned bits = ft_element_bits(tensor->element);
  ft_dim all = ft_dim_times(ft_tensor_elements(tensor), ft_dim_of(bits ? bits : 32));

  return ft_dim_divide(ft_dim_plus(all, ft_dim_of(7)), 8);
}

const char *ft_tensor_show(const struct ft_tensor *tensor, char *out, size_t size)
{
  size_t used = 0;

  (void)snprintf(out, size, "%s", tensor->rank < 0 ? "?" : tensor->rank == 0 ? "scalar" : "");
  for (int i = 0; i < tensor->rank && used + 1 < size; i++) {
    int got = ft_dim_known(tensor->dims[i])
                  ? snprintf(out + used, size - used, "%s%lld", i ? "x" : "",
                             ft_dim_shown(tensor->dims[i]))
                  : snprintf(out + used, size - used, "%s?", i ? "x" : "");

    used += got > 0 ? (size_t)got : 0;
  }
  return out;
}
