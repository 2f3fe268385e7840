/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ONNX Runtime's own operators, which its optimiser and its quantiser write in place of ONNX's
 * (onnxruntime, docs/ContribOperators.md).
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/graph/shape/infer.h"

#define KIND(type, rule, work, weight, view)                                                       \
  {                                                                                                \
#type, ft_infer_##rule, FT_WORK_##work, weight, view                                           \
  }

static const struct ft_operator_kind own[] = {
  KIND(Attention, ort_attention, ORT, 1, false),
  KIND(BiasAdd, same, NONE, 0, false),
  KIND(BiasDropout, dropout, NONE, 0, false),
  KIND(BiasSoftmax, same, NONE, 0, false),
  KIND(BiasSplitGelu, ort_halves, NONE, 0, false),
  KIND(BitmaskDropout, same, NONE, 0, false),
  KIND(DynamicQuantizeLSTM, recurrent, RECURRENT, 1, false),
  KIND(DynamicQuantizeMatMul, ort_product, PRODUCT, 1, false),
  KIND(EmbedLayerNormalization, ort_embed, NONE, 0, false),
  KIND(FusedGemm, gemm, GEMM, 1, false),
  KIND(FusedMatMul, ort_product, PRODUCT, 1, false),
  KIND(FusedMatMulActivation, ort_product, PRODUCT, 1, false),
  KIND(GatedAdd, same, NONE, 0, false),
  KIND(GatherBlockQuantized, ort_gather, NONE, 0, false),
  KIND(GemmFastGelu, ort_product, PRODUCT, 1, false),
  KIND(GroupNorm, same, STATISTICS, 0, false),
  KIND(GroupQueryAttention, ort_attention, ORT, 0, false),
  KIND(Inverse, same, NONE, 0, false),
  KIND(MatMulBnb4, ort_packed, PRODUCT, 1, false),
  KIND(MatMulFpQ4, ort_packed, PRODUCT, 1, false),
  KIND(MatMulIntegerToFloat, ort_product, PRODUCT, 1, false),
  KIND(MatMulNBits, ort_packed, PRODUCT, 1, false),
  KIND(MoE, same, ORT, 2, false),
  KIND(MultiHeadAttention, ort_attention, ORT, 0, false),
  KIND(NhwcConv, conv, CONV, 1, false),
  KIND(NhwcFusedConv, conv, CONV, 1, false),
  KIND(NhwcMaxPool, pool, NONE, 0, false),
  KIND(QAttention, ort_attention, ORT, 1, false),
  KIND(QEmbedLayerNormalization, ort_embed, NONE, 0, false),
  KIND(QGemm, ort_gemm, GEMM, 3, false),
  KIND(QLinearAdd, ort_broadcast, NONE, 0, false),
  KIND(QLinearAveragePool, pool, NONE, 0, false),
  KIND(QLinearConcat, ort_concat, NONE, 0, false),
  KIND(QLinearGlobalAveragePool, global_pool, POOL, 0, false),
  KIND(QLinearLeakyRelu, same, NONE, 0, false),
  KIND(QLinearMul, ort_broadcast, NONE, 0, false),
  KIND(QLinearReduceMean, ort_reduce, NONE, 0, false),
  KIND(QLinearSigmoid, same, NONE, 0, false),
  KIND(QLinearSoftmax, same, NONE, 0, false),
  KIND(QLinearWhere, ort_broadcast, NONE, 0, false),
  KIND(QMoE, same, ORT, 2, false),
  KIND(ScaledSiLU, same, NONE, 0, false),
  KIND(SkipGroupNorm, ort_skip, STATISTICS, 0, false),
  KIND(SkipLayerNormalization, ort_skip, STATISTICS, 0, false),
  KIND(SkipSimplifiedLayerNormalization, ort_skip, STATISTICS, 0, false),
  KIND(TransposeMatMul, ort_product, PRODUCT, 1, false),
};

/* The order in memory that it gives its processor; the sizes stay (onnxruntime,
 * nchwc_schema_defs.cc). */
static const struct ft_operator_kind blocked[] = {
  KIND(AveragePool, pool, NONE, 0, false),
  KIND(Conv, conv, CONV, 1, false),
  KIND(GlobalAveragePool, global_pool, POOL, 0, false),
  KIND(GlobalMaxPool, global_pool, POOL, 0, false),
  KIND(MaxPool, pool, NONE, 0, false),
  KIND(ReorderInput, ort_reorder, NONE, 0, false),
  KIND(ReorderOutput, ort_reorder, NONE, 0, false),
};

static int compare(const void *key, const void *kind)
{
  return strcmp(key, ((const struct ft_operator_kind *)kind)->type);
}

const struct ft_operator_kind *ft_operator_find_ort(const char *domain, const char *type)
{
  if (strcmp(domain, "com.microsoft") == 0)
    return bsearch(type, own, sizeof own / sizeof *own, sizeof *own, compare);
  if (strcmp(domain, "com.microsoft.nchwc") == 0)
    return bsearch(type, blocked, sizeof blocked / sizeof *blocked, sizeof *blocked, compare);
  return NULL;
}
