/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/graph/cost/quantized.h"
#include "predictor/graph/shape/infer.h"

#define IN(i) (1u << (i))

/*
 * Bits are inputs: weights that may be whole numbers, and what is a scale or a zero. BITS names the
 * attribute that says how many a weight has where several lie in a byte; NULL: 4
 * (onnxruntime, docs/ContribOperators.md).
 */
static const struct rule {
  const char *type;
  uint32_t weights, scales;
  bool packed;
  const char *bits;
} rules[] = {
  { "ConvInteger", IN(1), IN(2) | IN(3), false, NULL },
  { "DequantizeLinear", IN(0), IN(1) | IN(2), false, NULL },
  { "DynamicQuantizeLSTM", IN(1) | IN(2), IN(8) | IN(9) | IN(10) | IN(11), false, NULL },
  { "DynamicQuantizeMatMul", IN(1), IN(2) | IN(3), false, NULL },
  { "GatherBlockQuantized", IN(0), IN(2) | IN(3), true, "bits" },
  { "MatMulBnb4", IN(1), IN(2), true, NULL },
  { "MatMulFpQ4", IN(1), IN(2), true, NULL },
  { "MatMulInteger", IN(0) | IN(1), IN(2) | IN(3), false, NULL },
  { "MatMulIntegerToFloat", IN(0) | IN(1), IN(2) | IN(3) | IN(4) | IN(5), false, NULL },
  { "MatMulNBits", IN(1), IN(2) | IN(3) | IN(4), true, "bits" },
  { "QAttention", IN(1), IN(3) | IN(4) | IN(6) | IN(7), false, NULL },
  { "QEmbedLayerNormalization", IN(2) | IN(3) | IN(4) | IN(5) | IN(6), 0x3ff00, false, NULL },
  { "QGemm", IN(3) | IN(6), IN(1) | IN(2) | IN(4) | IN(5) | IN(7) | IN(8), false, NULL },
  { "QLinearAdd", IN(0) | IN(3), IN(1) | IN(2) | IN(4) | IN(5) | IN(6) | IN(7), false, NULL },
  { "QLinearAveragePool", 0, IN(1) | IN(2) | IN(3) | IN(4), false, NULL },
  { "QLinearConv", IN(3) | IN(8), IN(1) | IN(2) | IN(4) | IN(5) | IN(6) | IN(7), false, NULL },
  { "QLinearGlobalAveragePool", 0, IN(1) | IN(2) | IN(3) | IN(4), false, NULL },
  { "QLinearLeakyRelu", 0, IN(1) | IN(2) | IN(3) | IN(4), false, NULL },
  { "QLinearMatMul", IN(0) | IN(3), IN(1) | IN(2) | IN(4) | IN(5) | IN(6) | IN(7), false, NULL },
  { "QLinearMul", IN(0) | IN(3), IN(1) | IN(2) | IN(4) | IN(5) | IN(6) | IN(7), false, NULL },
  { "QLinearReduceMean", 0, IN(1) | IN(2) | IN(3) | IN(4), false, NULL },
  { "QLinearSigmoid", 0, IN(1) | IN(2) | IN(3) | IN(4), false, NULL },
  { "QLinearSoftmax", 0, IN(1) | IN(2) | IN(3) | IN(4), false, NULL },
  { "QLinearWhere", 0, IN(2) | IN(3) | IN(5) | IN(6) | IN(7) | IN(8), false, NULL },
  { "QMoE", IN(2) | IN(5) | IN(8), IN(3) | IN(6) | IN(9) | 0x3f800, true, "expert_weight_bits" },
  { "QuantizeLinear", 0, IN(1) | IN(2), false, NULL },
};

static int compare(const void *key, const void *rule)
{
  return strcmp(key, ((const struct rule *)rule)->type);
}

/* Whole numbers that a product takes as its weights were learnt as real ones. */
static bool multiplies(const struct ft_operator *op, uint32_t i, unsigned element)
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
                                     unsigned *per_task)
{
  const struct rule *rule =
      bsearch(op->type, rules, sizeof rules / sizeof *rules, sizeof *rules, compare);
  int64_t bits;

  *per_task = 1;
  if (op->kind && strcmp(op->type, "QLinearConcat") == 0)
    return i % 3 == 2 ? FT_QUANTIZED_NOT : FT_QUANTIZED_SCALE; /* what is joined stands third */
  if (!rule && multiplies(op, i, element))
    return FT_QUANTIZED_WEIGHT;
  if (!rule || !op->kind || i >= 32)
    return FT_QUANTIZED_NOT;
  if (rule->scales & IN(i))
    return FT_QUANTIZED_SCALE;
  if (!(rule->weights & IN(i)))
    return FT_QUANTIZED_NOT;
  if (rule->packed && ft_element_bits(element) == 8) {
    bits = rule->bits ? ft_integer(op, rule->bits, 4) : 4;
    *per_task = bits > 0 && bits <= 8 ? (unsigned)(8 / bits) : 1;
  }
  return FT_QUANTIZED_WEIGHT;
}
