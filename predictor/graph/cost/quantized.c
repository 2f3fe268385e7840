/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/graph/cost/quantized.h"
#include "predictor/graph/shape/infer.h"

/* Returns whether input I of OP is a weight of a product with integer elements, quantised from real
 * ones. */
static bool is_product_weight(const struct ft_operator *op, uint32_t i, unsigned element)
{
  if (!op->kind || element == FT_ELEMENT_UNKNOWN || ft_element_is_real(element))
    return false;
  switch (op->kind->work) {
  case FT_WORK_CONV:
  case FT_WORK_TRANSPOSED:
  case FT_WORK_PRODUCT:
  case FT_WORK_GEMM:
    return i == op->kind->weight;
  case FT_WORK_RECURRENT:
    return i == 1 || i == 2;
  default:
    return false;
  }
}

enum ft_quantized ft_quantized_input(const struct ft_operator *op, uint32_t i, unsigned element,
                                     unsigned *per_element)
{
  const struct ft_operator_descriptor *kind = op->kind;
  bool listed = kind && (kind->quantized_inputs || kind->scale_inputs);
  int64_t bits;

  *per_element = 1;
  if (ft_operator_is(op, FT_OP_QLinearConcat))
    return i % 3 == 2 ? FT_QUANTIZED_NOT : FT_QUANTIZED_SCALE; /* every third input is a tensor */
  if (!listed)
    return is_product_weight(op, i, element) ? FT_QUANTIZED_WEIGHT : FT_QUANTIZED_NOT;
  if (i >= 32)
    return FT_QUANTIZED_NOT;
  if (kind->scale_inputs & 1u << i)
    return FT_QUANTIZED_SCALE;
  if (!(kind->quantized_inputs & 1u << i))
    return is_product_weight(op, i, element) ? FT_QUANTIZED_WEIGHT : FT_QUANTIZED_NOT;
  if (kind->flags & FT_OPERATOR_PACKED && ft_element_bits(element) == 8) {
    bits = kind->bits ? ft_integer(op, kind->bits, 4) : 4;
    *per_element = bits > 0 && bits <= 8 ? (unsigned)(8 / bits) : 1;
  }
  return FT_QUANTIZED_WEIGHT;
}
