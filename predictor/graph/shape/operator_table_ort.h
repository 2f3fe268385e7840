/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ONNX Runtime's own operators, which its optimiser and its quantiser write in place of ONNX's
 * (onnxruntime, docs/ContribOperators.md), in the columns of operator_table.h. A VARIANT has the
 * name, and the identifier, of an operator of ONNX. The last rows give a processor another order in
 * memory; their sizes stay (onnxruntime, nchwc_schema_defs.cc).
 *
 * No include guard: whoever includes this defines the four names.
 */
/* clang-format off */
ORT_VARIANT(Attention, ort_attention, ORT, 1, NONE, FIRST | SECOND | THIRD | RESULT, NEW)
ORT_OPERATOR(BiasAdd, same, NONE, 0, NONE, FIRST, NEW)
ORT_OPERATOR(BiasDropout, dropout, NONE, 0, NONE, FIRST, NEW)
ORT_OPERATOR(BiasSoftmax, same, NONE, 0, NONE, FIRST, NEW)
ORT_OPERATOR(BiasSplitGelu, ort_halves, NONE, 0, NONE, FIRST, NEW)
ORT_OPERATOR(BitmaskDropout, same, NONE, 0, NONE, FIRST, NEW)
ORT_OPERATOR(DynamicQuantizeLSTM, recurrent, RECURRENT, 1, NONE, FIRST, NEW,
         .quantized_inputs = IN(1) | IN(2), .scale_inputs = IN(8) | IN(9) | IN(10) | IN(11))
ORT_OPERATOR(DynamicQuantizeMatMul, ort_product, PRODUCT, 1, NONE, FIRST, NEW,
         .quantized_inputs = IN(1), .scale_inputs = IN(2) | IN(3))
ORT_OPERATOR(EmbedLayerNormalization, ort_embed, NONE, 0, NONE, FIRST, NEW)
ORT_OPERATOR(FusedGemm, gemm, GEMM, 1, NONE, FIRST, NEW)
ORT_OPERATOR(FusedMatMul, ort_product, PRODUCT, 1, NONE, FIRST, NEW)
ORT_OPERATOR(FusedMatMulActivation, ort_product, PRODUCT, 1, NONE, FIRST, NEW)
ORT_OPERATOR(GatedAdd, same, NONE, 0, NONE, FIRST, NEW)
ORT_OPERATOR(GatherBlockQuantized, ort_gather, NONE, 0, NONE, FIRST, NEW, .flags = PACKED,
         .quantized_inputs = IN(0), .scale_inputs = IN(2) | IN(3), .bits = "bits")
ORT_OPERATOR(GemmFastGelu, ort_product, PRODUCT, 1, NONE, FIRST, NEW)
ORT_OPERATOR(GroupNorm, same, STATISTICS, 0, NONE, FIRST, NEW)
ORT_OPERATOR(GroupQueryAttention, ort_attention, ORT, 0, NONE, FIRST, NEW)
ORT_OPERATOR(Inverse, same, NONE, 0, NONE, FIRST, NEW)
ORT_OPERATOR(MatMulBnb4, ort_packed, PRODUCT, 1, NONE, FIRST, NEW, .flags = PACKED,
         .quantized_inputs = IN(1), .scale_inputs = IN(2))
ORT_OPERATOR(MatMulFpQ4, ort_packed, PRODUCT, 1, NONE, FIRST, NEW, .flags = PACKED,
         .quantized_inputs = IN(1), .scale_inputs = IN(2))
ORT_OPERATOR(MatMulIntegerToFloat, ort_product, PRODUCT, 1, NONE, FIRST, NEW,
         .quantized_inputs = IN(0) | IN(1), .scale_inputs = IN(2) | IN(3) | IN(4) | IN(5))
ORT_OPERATOR(MatMulNBits, ort_packed, PRODUCT, 1, NONE, FIRST, NEW, .flags = PACKED,
         .quantized_inputs = IN(1), .scale_inputs = IN(2) | IN(3) | IN(4), .bits = "bits")
ORT_OPERATOR(MoE, same, ORT, 2, NONE, FIRST, NEW)
ORT_OPERATOR(MultiHeadAttention, ort_attention, ORT, 0, NONE, FIRST, NEW)
ORT_OPERATOR(NhwcConv, conv, CONV, 1, NONE, FIRST, NEW)
ORT_OPERATOR(NhwcFusedConv, conv, CONV, 1, NONE, FIRST, NEW)
ORT_OPERATOR(NhwcMaxPool, pool, NONE, 0, NONE, FIRST, NEW)
ORT_OPERATOR(QAttention, ort_attention, ORT, 1, NONE, FIRST, NEW, .quantized_inputs = IN(1),
         .scale_inputs = IN(3) | IN(4) | IN(6) | IN(7))
ORT_OPERATOR(QEmbedLayerNormalization, ort_embed, NONE, 0, NONE, FIRST, NEW,
         .quantized_inputs = IN(2) | IN(3) | IN(4) | IN(5) | IN(6), .scale_inputs = 0x3ff00)
ORT_OPERATOR(QGemm, ort_gemm, GEMM, 3, NONE, FIRST, NEW, .quantized_inputs = IN(3) | IN(6),
         .scale_inputs = IN(1) | IN(2) | IN(4) | IN(5) | IN(7) | IN(8))
ORT_OPERATOR(QLinearAdd, ort_broadcast, NONE, 0, NONE, FIRST, NEW,
         .quantized_inputs = IN(0) | IN(3),
         .scale_inputs = IN(1) | IN(2) | IN(4) | IN(5) | IN(6) | IN(7))
ORT_OPERATOR(QLinearAveragePool, pool, NONE, 0, NONE, FIRST, NEW,
         .scale_inputs = IN(1) | IN(2) | IN(3) | IN(4))
ORT_OPERATOR(QLinearConcat, ort_concat, NONE, 0, NONE, FIRST, NEW)
ORT_OPERATOR(QLinearGlobalAveragePool, global_pool, POOL, 0, NONE, FIRST, NEW,
         .scale_inputs = IN(1) | IN(2) | IN(3) | IN(4))
ORT_OPERATOR(QLinearLeakyRelu, same, NONE, 0, NONE, FIRST, NEW,
         .scale_inputs = IN(1) | IN(2) | IN(3) | IN(4))
ORT_OPERATOR(QLinearMul, ort_broadcast, NONE, 0, NONE, FIRST, NEW,
         .quantized_inputs = IN(0) | IN(3),
         .scale_inputs = IN(1) | IN(2) | IN(4) | IN(5) | IN(6) | IN(7))
ORT_OPERATOR(QLinearReduceMean, ort_reduce, NONE, 0, NONE, FIRST, NEW,
         .scale_inputs = IN(1) | IN(2) | IN(3) | IN(4))
ORT_OPERATOR(QLinearSigmoid, same, NONE, 0, NONE, FIRST, NEW,
         .scale_inputs = IN(1) | IN(2) | IN(3) | IN(4))
ORT_OPERATOR(QLinearSoftmax, same, NONE, 0, NONE, FIRST, NEW,
         .scale_inputs = IN(1) | IN(2) | IN(3) | IN(4))
ORT_OPERATOR(QLinearWhere, ort_broadcast, NONE, 0, NONE, FIRST, NEW,
         .scale_inputs = IN(2) | IN(3) | IN(5) | IN(6) | IN(7) | IN(8))
ORT_OPERATOR(QMoE, same, ORT, 2, NONE, FIRST, NEW, .flags = PACKED,
         .quantized_inputs = IN(2) | IN(5) | IN(8),
         .scale_inputs = IN(3) | IN(6) | IN(9) | 0x3f800, .bits = "expert_weight_bits")
ORT_OPERATOR(ScaledSiLU, same, NONE, 0, NONE, FIRST, NEW)
ORT_OPERATOR(SkipGroupNorm, ort_skip, STATISTICS, 0, NONE, FIRST, NEW)
ORT_OPERATOR(SkipLayerNormalization, ort_skip, STATISTICS, 0, NONE, FIRST, NEW)
ORT_OPERATOR(SkipSimplifiedLayerNormalization, ort_skip, STATISTICS, 0, NONE, FIRST, NEW)
ORT_OPERATOR(TransposeMatMul, ort_product, PRODUCT, 1, NONE, FIRST, NEW)

NCHWC_VARIANT(AveragePool, pool, NONE, 0, NONE, FIRST, NEW)
NCHWC_VARIANT(Conv, conv, CONV, 1, NONE, FIRST, NEW, .flags = TAKES_BIAS)
NCHWC_VARIANT(GlobalAveragePool, global_pool, POOL, 0, NONE, NOTHING, NEW)
NCHWC_VARIANT(GlobalMaxPool, global_pool, POOL, 0, NONE, FIRST, NEW)
NCHWC_VARIANT(MaxPool, pool, NONE, 0, NONE, FIRST | INDICES, NEW)
NCHWC_OPERATOR(ReorderInput, ort_reorder, NONE, 0, NONE, FIRST, NEW)
NCHWC_OPERATOR(ReorderOutput, ort_reorder, NONE, 0, NONE, FIRST, NEW)
/* clang-format on */
