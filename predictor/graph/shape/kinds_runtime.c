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
  KIND(Attention, runtime_attention, RUNTIME, 1, false),
  KIND(BiasAdd, same, NONE, 0, false),
  KIND(BiasDropout, dropout, NONE, 0, false),
  KIND(BiasSoftmax, same, NONE, 0, false),
  KIND(BiasSplitGelu, runtime_halves, NONE, 0, false),
  KIND(BitmaskDropout, same, NONE, 0, false),
  KIND(DynamicQuantizeLSTM, recurrent, RECURRENT, 1, false),
  KIND(DynamicQuantizeMatMul, runtime_product, PRODUCT, 1, false),
  KIND(EmbedLayerNormalization, runtime_embed, NONE, 0, false),
  KIND(FusedGemm, gemm, GEMM, 1, false),
  KIND(FusedMatMul, runtime_product, PRODUCT, 1, false),
  KIND(FusedMatMulActivation, runtime_product, PRODUCT, 1, false),
  KIND(GatedAdd, same, NONE, 0, false),
  KIND(GatherBlockQuantized, runtime_gather, NONE, 0, false),
  KIND(GemmFastGelu, runtime_product, PRODUCT, 1, false),
  KIND(GroupNorm, same, STATISTICS, 0, false),
  KIND(GroupQueryAttention, runtime_attention, RUNTIME, 0, false),
  KIND(Inverse, same, NONE, 0, false),
  KIND(MatMulBnb4, runtime_packed, PRODUCT, 1, false),
  KIND(MatMulFpQ4, runtime_packed, PRODUCT, 1, false),
  KIND(MatMulIntegerToFloat, runtime_product, PRODUCT, 1, false),
  KIND(MatMulNBits, runtime_packed, PRODUCT, 1, false),
  KIND(MoE, same, RUNTIME, 2, false),
  KIND(MultiHeadAttention, runtime_attention, RUNTIME, 0, false),
  KIND(NhwcConv, conv, CONV, 1, false),
  KIND(NhwcFusedConv, conv, CONV, 1, false),
  KIND(NhwcMaxPool, pool, NONE, 0, false),
  KIND(QAttention, runtime_attention, RUNTIME, 1, false),
  KIND(QEmbedLayerNormalization, runtime_embed, NONE, 0, false),
  KIND(QGemm, runtime_gemm, GEMM, 3, false),
  KIND(QLinearAdd, runtime_broadcast, NONE, 0, false),
  KIND(QLinearAveragePool, pool, NONE, 0, false),
  KIND(QLinearConcat, runtime_concat, NONE, 0, false),
  KIND(QLinearGlobalAveragePool, global_pool, POOL, 0, false),
  KIND(QLinearLeakyRelu, same, NONE, 0, false),
  KIND(QLinearMul, runtime_broadcast, NONE, 0, false),
  KIND(QLinearReduceMean, runtime_reduce, NONE, 0, false),
  KIND(QLinearSigmoid, same, NONE, 0, false),
  KIND(QLinearSoftmax, same, NONE, 0, false),
  KIND(QLinearWhere, runtime_broadcast, NONE, 0, false),
  KIND(QMoE, same, RUNTIME, 2, false),
  KIND(ScaledSiLU, same, NONE, 0, false),
  KIND(SkipGroupNorm, runtime_skip, STATISTICS, 0, false),
  KIND(SkipLayerNormalization, runtime_skip, STATISTICS, 0, false),
  KIND(SkipSimplifiedLayerNormalization, runtime_skip, STATISTICS, 0, false),
  KIND(TransposeMatMul, runtime_product, PRODUCT, 1, false),
};

/* The order in memory that it gives its processor; the sizes stay (onnxruntime,
 * nchwc_schema_defs.cc). */
static const struct ft_operator_kind blocked[] = {
  KIND(AveragePool, pool, NONE, 0, false),
  KIND(Conv, conv, CONV, 1, false),
  KIND(GlobalAveragePool, global_pool, POOL, 0, false),
  KIND(GlobalMaxPool, global_pool, POOL, 0, false),
  KIND(MaxPool, pool, NONE, 0, false),
  KIND(ReorderInput, runtime_reorder, NONE, 0, false),
  KIND(ReorderOutput, runtime_reorder, NONE, 0, false),
};

static int compare(const void *key, const void *kind)
{
  return strcmp(key, ((const struct ft_operator_kind *)kind)->type);
}

const struct ft_operator_kind *ft_kind_runtime(const char *domain, const char *type)
{
  if (strcmp(domain, "com.microsoft") == 0)
    return bsearch(type, own, sizeof own / sizeof *own, sizeof *own, compare);
  if (strcmp(domain, "com.microsoft.nchwc") == 0)
    return bsearch(type, blocked, sizeof blocked / sizeof *blocked, sizeof *blocked, compare);
  return NULL;
}
