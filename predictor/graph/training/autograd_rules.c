/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/graph/shape/infer.h"
#include "predictor/graph/training/autograd_rules.h"

struct rule {
  const char *type;
  struct ft_autograd_rule backward;
};

static const struct rule rules[] = {
  { "Abs", { FT_SAVES_FIRST, FT_GRADIENT_NEW, false } },
  { "Add", { FT_SAVES_NOTHING, FT_GRADIENT_PASSES, false } },
  { "And", { FT_SAVES_NOTHING, FT_GRADIENT_STOPS, false } },
  { "ArgMax", { FT_SAVES_NOTHING, FT_GRADIENT_STOPS, false } },
  { "ArgMin", { FT_SAVES_NOTHING, FT_GRADIENT_STOPS, false } },
  /* the kernel makes the product of queries and keys again */
  { "Attention",
    { FT_SAVES_FIRST | FT_SAVES_SECOND | FT_SAVES_THIRD | FT_SAVES_RESULT, FT_GRADIENT_NEW,
      false } },
  { "AveragePool", { FT_SAVES_FIRST, FT_GRADIENT_NEW, false } },
  { "BatchNormalization", { FT_SAVES_FIRST | FT_SAVES_STATISTICS, FT_GRADIENT_NEW, false } },
  { "Cast", { FT_SAVES_NOTHING, FT_GRADIENT_PASSES, false } },
  { "Ceil", { FT_SAVES_NOTHING, FT_GRADIENT_STOPS, false } },
  { "Clip", { FT_SAVES_FIRST, FT_GRADIENT_NEW, false } },
  { "Concat", { FT_SAVES_NOTHING, FT_GRADIENT_PASSES, false } },
  { "Conv", { FT_SAVES_FIRST, FT_GRADIENT_NEW, false } },
  { "ConvTranspose", { FT_SAVES_FIRST, FT_GRADIENT_NEW, false } },
  { "CumSum", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
  { "DepthToSpace", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
  { "Div", { FT_SAVES_BOTH, FT_GRADIENT_NEW, false } },
  { "Dropout", { FT_SAVES_MASK, FT_GRADIENT_NEW, false } },
  { "Einsum", { FT_SAVES_BOTH, FT_GRADIENT_NEW, false } },
  { "Elu", { FT_SAVES_RESULT, FT_GRADIENT_NEW, true } },
  { "Equal", { FT_SAVES_NOTHING, FT_GRADIENT_STOPS, false } },
  { "Exp", { FT_SAVES_RESULT, FT_GRADIENT_NEW, false } },
  { "Expand", { FT_SAVES_NOTHING, FT_GRADIENT_PASSES, false } },
  { "FakeQuantize", { FT_SAVES_MASK, FT_GRADIENT_NEW, false } },
  { "Flatten", { FT_SAVES_NOTHING, FT_GRADIENT_PASSES, false } },
  { "Floor", { FT_SAVES_NOTHING, FT_GRADIENT_STOPS, false } },
  { "GRU", { FT_SAVES_FIRST | FT_SAVES_RESULT | FT_SAVES_GATES, FT_GRADIENT_NEW, false } },
  { "Gather", { FT_SAVES_SECOND, FT_GRADIENT_NEW, false } },
  { "Gemm", { FT_SAVES_BOTH, FT_GRADIENT_NEW, false } },
  { "GlobalAveragePool", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
  { "Greater", { FT_SAVES_NOTHING, FT_GRADIENT_STOPS, false } },
  { "GreaterOrEqual", { FT_SAVES_NOTHING, FT_GRADIENT_STOPS, false } },
  { "GridSample", { FT_SAVES_FIRST | FT_SAVES_SECOND, FT_GRADIENT_NEW, false } },
  { "GroupNormalization", { FT_SAVES_FIRST | FT_SAVES_STATISTICS, FT_GRADIENT_NEW, false } },
  { "Identity", { FT_SAVES_NOTHING, FT_GRADIENT_PASSES, false } },
  { "InstanceNormalization", { FT_SAVES_FIRST | FT_SAVES_STATISTICS, FT_GRADIENT_NEW, false } },
  { "LSTM", { FT_SAVES_FIRST | FT_SAVES_RESULT | FT_SAVES_GATES, FT_GRADIENT_NEW, false } },
  { "LayerNormalization", { FT_SAVES_FIRST | FT_SAVES_STATISTICS, FT_GRADIENT_NEW, false } },
  { "LeakyRelu", { FT_SAVES_RESULT, FT_GRADIENT_NEW, true } },
  { "Less", { FT_SAVES_NOTHING, FT_GRADIENT_STOPS, false } },
  { "LessOrEqual", { FT_SAVES_NOTHING, FT_GRADIENT_STOPS, false } },
  { "LogSoftmax", { FT_SAVES_RESULT, FT_GRADIENT_NEW, false } },
  { "MatMul", { FT_SAVES_BOTH, FT_GRADIENT_NEW, false } },
  { "MaxPool", { FT_SAVES_FIRST | FT_SAVES_INDICES, FT_GRADIENT_NEW, false } },
  { "Mean", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
  { "Mul", { FT_SAVES_BOTH, FT_GRADIENT_NEW, false } },
  { "Neg", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
  { "Not", { FT_SAVES_NOTHING, FT_GRADIENT_STOPS, false } },
  { "Or", { FT_SAVES_NOTHING, FT_GRADIENT_STOPS, false } },
  { "Pad", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
  { "Pow", { FT_SAVES_FIRST, FT_GRADIENT_NEW, false } },
  { "RNN", { FT_SAVES_FIRST | FT_SAVES_RESULT | FT_SAVES_GATES, FT_GRADIENT_NEW, false } },
  { "Range", { FT_SAVES_NOTHING, FT_GRADIENT_STOPS, false } },
  { "Reciprocal", { FT_SAVES_RESULT, FT_GRADIENT_NEW, false } },
  { "ReduceMean", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
  { "ReduceSum", { FT_SAVES_NOTHING, FT_GRADIENT_PASSES, false } },
  { "Relu", { FT_SAVES_RESULT, FT_GRADIENT_NEW, true } },
  { "Reshape", { FT_SAVES_NOTHING, FT_GRADIENT_PASSES, false } },
  { "Resize", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
  { "RotaryEmbedding", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
  { "Round", { FT_SAVES_NOTHING, FT_GRADIENT_STOPS, false } },
  { "ScatterND", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
  { "Selu", { FT_SAVES_RESULT, FT_GRADIENT_NEW, true } },
  { "Sigmoid", { FT_SAVES_RESULT, FT_GRADIENT_NEW, false } },
  { "Sign", { FT_SAVES_NOTHING, FT_GRADIENT_STOPS, false } },
  { "Slice", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
  { "Softmax", { FT_SAVES_RESULT, FT_GRADIENT_NEW, false } },
  { "Softplus", { FT_SAVES_FIRST, FT_GRADIENT_NEW, false } },
  { "SpaceToDepth", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
  { "Split", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
  { "Sqrt", { FT_SAVES_RESULT, FT_GRADIENT_NEW, false } },
  { "Squeeze", { FT_SAVES_NOTHING, FT_GRADIENT_PASSES, false } },
  { "Sub", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
  { "Sum", { FT_SAVES_NOTHING, FT_GRADIENT_PASSES, false } },
  { "Tanh", { FT_SAVES_RESULT, FT_GRADIENT_NEW, false } },
  { "Tile", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
  { "Transpose", { FT_SAVES_NOTHING, FT_GRADIENT_PASSES, false } },
  { "Unsqueeze", { FT_SAVES_NOTHING, FT_GRADIENT_PASSES, false } },
  { "Upsample", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
  { "Where", { FT_SAVES_NOTHING, FT_GRADIENT_NEW, false } },
};

static int compare(const void *key, const void *rule)
{
  return strcmp(key, ((const struct rule *)rule)->type);
}

struct ft_autograd_rule ft_autograd_rule_of(const struct ft_operator *op)
{
  const struct rule *rule =
      bsearch(op->type, rules, sizeof rules / sizeof *rules, sizeof *rules, compare);

  if (rule)
    return rule->backward;
  return (struct ft_autograd_rule){ .saves = op->kind ? FT_SAVES_FIRST
                                                      : FT_SAVES_FIRST | FT_SAVES_RESULT };
}

int64_t ft_autograd_groups(const struct ft_operator *op, const struct ft_tensor *y, int64_t batch)
{
  int64_t axis = ft_integer(op, "axis", -1), groups = batch;

  if (y->rank < 2)
    return 0;
  if (strcmp(op->type, "BatchNormalization") == 0) {
    groups = y->dims[1];
  } else if (strcmp(op->type, "LayerNormalization") == 0) {
    axis = axis < 0 ? axis + y->rank : axis;
    for (int i = 0; i < axis && i < y->rank; i++)
      groups = ft_times(groups, y->dims[i]);
  } else {
    groups = ft_times(groups, y->dims[0]);
    groups = ft_times(groups, strcmp(op->type, "GroupNormalization") == 0
                                  ? ft_integer(op, "num_groups", 1)
                                  : y->dims[1]);
  }
  return groups > 0 ? groups : 0;
}
