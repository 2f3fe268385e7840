/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dispatches a node to the function that records it; tables of simple operators. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/import/tensorflow/tensorflow_node.h"

/* ---- dispatch ---- */

static const struct simple {
  const char *op, *type;
} unaries[] = {
  { "Abs", "Abs" }, { "Acos", "Acos" }, { "Asin", "Asin" }, { "Atan", "Atan" },
  { "Ceil", "Ceil" }, { "Cos", "Cos" }, { "Cosh", "Cosh" }, { "Cumsum", "CumSum" },
  { "Elu", "Elu" }, { "Erf", "Erf" }, { "Erfc", "Erf" }, { "Exp", "Exp" }, { "Expm1", "Exp" },
  { "Floor", "Floor" }, { "IsInf", "IsInf" }, { "IsNan", "IsNaN" }, { "L2Loss", "ReduceSumSquare" },
  { "LRN", "LRN" }, { "LeakyRelu", "LeakyRelu" }, { "Log", "Log" }, { "Log1p", "Log" },
  { "LogSoftmax", "LogSoftmax" }, { "LogicalNot", "Not" }, { "MatrixBandPart", "Trilu" },
  { "Neg", "Neg" }, { "Reciprocal", "Reciprocal" }, { "Relu", "Relu" }, { "Relu6", "Clip" },
  { "ReverseSequence", "ReverseSequence" }, { "ReverseV2", "ReverseSequence" },
  { "Rint", "Round" }, { "Round", "Round" }, { "Rsqrt", "Reciprocal" }, { "Selu", "Selu" },
  { "Shape", "Shape" }, { "Sigmoid", "Sigmoid" }, { "Sign", "Sign" }, { "Sin", "Sin" },
  { "Sinh", "Sinh" }, { "Size", "Size" }, { "Softmax", "Softmax" }, { "Softplus", "Softplus" },
  { "Softsign", "Softsign" }, { "Sqrt", "Sqrt" }, { "Square", "Mul" }, { "Tan", "Tan" },
  { "Tanh", "Tanh" }, { "Where", "NonZero" }, { "ZerosLike", "RandomNormalLike" },
  { "OnesLike", "RandomNormalLike" }, { "ClipByValue", "Clip" }, { "Quantize", "QuantizeLinear" },
}, binaries[] = {
  { "Add", "Add" }, { "AddV2", "Add" }, { "BiasAdd", "Add" }, { "BitwiseAnd", "BitwiseAnd" },
  { "BroadcastTo", "Expand" }, { "Div", "Div" }, { "DivNoNan", "Div" }, { "Equal", "Equal" },
  { "FloorDiv", "Div" }, { "FloorMod", "Mod" }, { "GatherNd", "GatherND" }, { "Greater", "Greater" },
  { "GreaterEqual", "GreaterOrEqual" }, { "Less", "Less" }, { "LessEqual", "LessOrEqual" },
  { "LogicalAnd", "And" }, { "LogicalOr", "Or" }, { "Maximum", "Max" }, { "Minimum", "Min" },
  { "Mod", "Mod" }, { "Mul", "Mul" }, { "NotEqual", "Equal" }, { "Pow", "Pow" }, { "RealDiv", "Div" },
  { "SquaredDifference", "Sub" }, { "Sub", "Sub" }, { "Tile", "Tile" }, { "TruncateDiv", "Div" },
  { "Xdivy", "Div" },
}, reductions[] = {
  { "All", "ReduceMin" }, { "Any", "ReduceMax" }, { "Max", "ReduceMax" }, { "Mean", "ReduceMean" },
  { "Min", "ReduceMin" }, { "Prod", "ReduceProd" }, { "Sum", "ReduceSum" },
};

#define IN(table) (sizeof(table) / sizeof *(table))

/* Operators that return their first input. */
static const char *const passed[] = { "BatchFunction",
                                      "CheckNumerics",
                                      "DisableCopyOnRead",
                                      "EnsureShape",
                                      "Enter",
                                      "Exit",
                                      "Identity",
                                      "IdentityN",
                                      "LoopCond",
                                      "Merge",
                                      "PlaceholderWithDefault",
                                      "PreventGradient",
                                      "ReadVariableOp",
                                      "Snapshot",
                                      "StopGradient",
                                      "Switch",
                                      "FakeQuantWithMinMaxVars",
                                      NULL };
static const char *const silent[] = { "Assert",  "AssignVariableOp",   "NoOp", "Print",
                                      "PrintV2", "VarIsInitializedOp", NULL };

static int table_node(struct ft_tf_call *c)
{
  for (size_t i = 0; i < IN(unaries); i++)
    if (ft_tf_is(c, unaries[i].op)) {
      uint32_t x = ft_tf_tensor(c, 0);

      return ft_tf_give_tensor(c, x ? ft_tracer_unary(c->l, unaries[i].type, x) : 0);
    }
  if ((ft_tf_is(c, "BiasAdd") || ft_tf_is(c, "Add") || ft_tf_is(c, "AddV2")) && ft_tf_fold_bias(c))
    return ft_tf_give(c, *ft_tf_operand(c, 0));
  for (size_t i = 0; i < IN(binaries); i++)
    if (ft_tf_is(c, binaries[i].op)) {
      uint32_t a = ft_tf_tensor(c, 0), b = ft_tf_tensor(c, 1);

      if (ft_tf_is(c, "BiasAdd") && ft_tf_channels_first(c) && a && b && ft_tf_of(c, a)->rank > 2) {
        ft_dim dims[FT_GRAPH_RANK] = { ft_tf_of(c, b)->rank == 1 ? ft_tf_of(c, b)->dims[0]
                                                                 : ft_dim_of(1) };

        for (int j = 1; j < ft_tf_of(c, a)->rank - 1; j++)
          dims[j] = ft_dim_of(1);
        b = ft_tracer_reshape(c->l, b, dims, ft_tf_of(c, a)->rank - 1);
      }
      return ft_tf_give_tensor(c, a && b ? ft_tracer_binary(c->l, binaries[i].type, a, b) : 0);
    }
  for (size_t i = 0; i < IN(reductions); i++)
    if (ft_tf_is(c, reductions[i].op))
      return ft_tf_reduce(c, reductions[i].type);
  return 1;
}

static int record_add_n(struct ft_tf_call *c)
{
  return ft_tf_begin(c, "Sum", 0, c->in_count) < 0 ? -1
                                                   : ft_tf_give_tensor(c, ft_tracer_end(c->l, 1));
}

static int record_rank(struct ft_tf_call *c)
{
  uint32_t x = ft_tf_tensor(c, 0);

  return ft_tf_give_tensor(
      c, x ? ft_tracer_number(c->l, FT_ELEMENT_INT64,
                              ft_tf_of(c, x)->rank < 0 ? (double)NAN : ft_tf_of(c, x)->rank)
           : 0);
}

static int record_top_k(struct ft_tf_call *c)
{
  uint32_t x = ft_tf_tensor(c, 0), k = ft_tf_tensor(c, 1);

  if (!x || !k)
    return -1;
  ft_tracer_op(c->l, "TopK");
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, k);
  return ft_tf_give_tensors(c, ft_tracer_end(c->l, 2), 2);
}

/* DepthToSpace and SpaceToDepth. */
static int record_depth_space(struct ft_tf_call *c)
{
  uint32_t x = ft_tf_tensor(c, 0);

  if (!x)
    return -1;
  ft_tracer_op(c->l, c->node->op);
  ft_tracer_in(c->l, x);
  ft_tracer_int(c->l, "blocksize", ft_tf_integer(c->node, "block_size", 1));
  if (!ft_tf_channels_first(c))
    ft_tracer_string(c->l, "layout", "NHWC");
  return ft_tf_give_tensor(c, ft_tracer_end(c->l, 1));
}

/* type: the operator that the function mostly records; "": several. */
static const struct {
  const char *op;
  int (*run)(struct ft_tf_call *c);
  const char *type;
} handlers[] = {
  { "AddN", record_add_n, "Sum" },
  { "ArgMax", ft_tf_arg, "ArgMax" },
  { "ArgMin", ft_tf_arg, "ArgMin" },
  { "AvgPool", ft_tf_pool, "AveragePool" },
  { "AvgPool3D", ft_tf_pool, "AveragePool" },
  { "BatchMatMul", ft_tf_batch_product, "MatMul" },
  { "BatchMatMulV2", ft_tf_batch_product, "MatMul" },
  { "BatchMatMulV3", ft_tf_batch_product, "MatMul" },
  { "BatchToSpaceND", ft_tf_space_batch, "" },
  { "Cast", ft_tf_cast, "Cast" },
  { "Concat", ft_tf_concat, "Concat" },
  { "ConcatV2", ft_tf_concat, "Concat" },
  { "Conv2D", ft_tf_convolution, "Conv" },
  { "Conv2DBackpropInput", ft_tf_conv_transpose, "ConvTranspose" },
  { "Conv3D", ft_tf_convolution, "Conv" },
  { "Conv3DBackpropInputV2", ft_tf_conv_transpose, "ConvTranspose" },
  { "DepthToSpace", record_depth_space, "DepthToSpace" },
  { "DepthwiseConv2dNative", ft_tf_depthwise, "Conv" },
  { "Einsum", ft_tf_einsum, "Einsum" },
  { "ExpandDims", ft_tf_expand_dims, "Unsqueeze" },
  { "Fill", ft_tf_fill, "Constant" },
  { "FusedBatchNorm", ft_tf_batch_norm, "BatchNormalization" },
  { "FusedBatchNormV2", ft_tf_batch_norm, "BatchNormalization" },
  { "FusedBatchNormV3", ft_tf_batch_norm, "BatchNormalization" },
  { "Gather", ft_tf_gather, "Gather" },
  { "GatherV2", ft_tf_gather, "Gather" },
  { "MatMul", ft_tf_product, "MatMul" },
  { "MaxPool", ft_tf_pool, "MaxPool" },
  { "MaxPool3D", ft_tf_pool, "MaxPool" },
  { "MirrorPad", ft_tf_pad, "Pad" },
  { "OneHot", ft_tf_ternary, "OneHot" },
  { "Pack", ft_tf_pack, "Concat" },
  { "Pad", ft_tf_pad, "Pad" },
  { "PadV2", ft_tf_pad, "Pad" },
  { "Range", ft_tf_ternary, "Range" },
  { "Rank", record_rank, "Constant" },
  { "Reshape", ft_tf_reshape, "Reshape" },
  { "ResizeBicubic", ft_tf_resize, "Resize" },
  { "ResizeBilinear", ft_tf_resize, "Resize" },
  { "ResizeNearestNeighbor", ft_tf_resize, "Resize" },
  { "ResourceGather", ft_tf_gather, "Gather" },
  { "Select", ft_tf_ternary, "Where" },
  { "SelectV2", ft_tf_ternary, "Where" },
  { "Slice", ft_tf_slice, "Slice" },
  { "SpaceToBatchND", ft_tf_space_batch, "" },
  { "SpaceToDepth", record_depth_space, "SpaceToDepth" },
  { "Split", ft_tf_split, "Split" },
  { "SplitV", ft_tf_split, "Split" },
  { "Squeeze", ft_tf_squeeze, "Squeeze" },
  { "StridedSlice", ft_tf_strided_slice, "Slice" },
  { "TopK", record_top_k, "TopK" },
  { "TopKV2", record_top_k, "TopK" },
  { "Transpose", ft_tf_transpose, "Transpose" },
  { "Unpack", ft_tf_unpack, "Gather" },
};

static int handler_operator(struct ft_tf_call *c)
{
  for (size_t i = 0; i < IN(handlers); i++)
    if (ft_tf_is(c, handlers[i].op))
      return handlers[i].run(c);
  if (strncmp(c->node->op, "TensorList", 10) == 0 || ft_tf_is(c, "EmptyTensorList"))
    return ft_tf_list_operator(c);
  return 1;
}

static int record_unknown_node(struct ft_tf_call *c)
{
  uint32_t *in = ft_tracer_take(c->l, (c->in_count + 1) * sizeof *in);
  const struct ft_tf_attribute *shape = ft_tf_attribute(c->node, "_output_shapes");
  size_t count = 0;
  uint32_t y;

  for (size_t i = 0; in && i < c->in_count; i++)
    if (ft_value_is_tensor(&c->in[i])) {
      in[count] = ft_value_as_tensor(c->l, &c->in[i]);
      if (!in[count++])
        return -1;
    }
  if (!in)
    return -1;
  ft_tracer_unknown(c->l, "tensorflow", c->node->op);
  for (size_t i = 0; i < count; i++)
    ft_tracer_in(c->l, in[i]);
  y = ft_tracer_end(c->l, 1);
  if (y && shape && shape->shape && shape->shape->rank >= 0) {
    ft_dim *dims = ft_shape(c->l->in, ft_tf_of(c, y), shape->shape->rank);

    if (!dims)
      return -1;
    memcpy(dims, shape->shape->dims, (size_t)shape->shape->rank * sizeof *dims);
  }
  return ft_tf_give_tensor(c, y);
}

int ft_tensorflow_node(struct ft_tf_call *c)
{
  int status = 1;

  for (size_t i = 0; passed[i]; i++)
    if (ft_tf_is(c, passed[i])) {
      for (size_t j = 0; j < c->in_count; j++)
        if (ft_tf_give(c, c->in[j]) < 0)
          return -1;
      if (ft_tf_is(c, "Switch") && c->in_count > 1) /* the same value on both outputs */
        c->out[1] = c->out[0];
      return 0;
    }
  for (size_t i = 0; silent[i]; i++)
    if (ft_tf_is(c, silent[i]))
      return 0;
  status = table_node(c);
  status = status == 1 ? handler_operator(c) : status;
  if (status == 1) {
    c->out_count = 0;
    status = record_unknown_node(c);
  }
  return c->l->failed ? -1 : status;
}

const char *ft_tf_operator_at(size_t i, const char **type)
{
  static const struct {
    const struct simple *rows;
    size_t count;
  } tables[] = { { unaries, IN(unaries) },
                 { binaries, IN(binaries) },
                 { reductions, IN(reductions) } };

  for (size_t t = 0; t < IN(tables); t++) {
    if (i < tables[t].count) {
      *type = tables[t].rows[i].type;
      return tables[t].rows[i].op;
    }
    i -= tables[t].count;
  }
  if (i >= IN(handlers))
    return NULL;
  *type = handlers[i].type;
  return handlers[i].op;
}
