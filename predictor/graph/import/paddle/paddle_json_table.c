/* SPDX-License-Identifier: GPL-3.0-or-later */
/* source: paddle/phi/ops/yaml/op_compat.yaml */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/paddle/paddle_json_table.h"

static const struct ft_pir_operator operators[] = {
  { "add", "elementwise_add", "X,Y", "Out", "" },
  { "all", "reduce_all", "X", "Out", "axis=dim,keepdim=keep_dim" },
  { "any", "reduce_any", "X", "Out", "axis=dim,keepdim=keep_dim" },
  { "amax", "reduce_max", "X", "Out", "axis=dim,keepdim=keep_dim" },
  { "amin", "reduce_min", "X", "Out", "axis=dim,keepdim=keep_dim" },
  { "argmax", "arg_max", "X,=axis", "Out", "" },
  { "argmin", "arg_min", "X,=axis", "Out", "" },
  { "batch_norm", "batch_norm", "X,Mean,Variance,Scale,Bias", "Y", "" },
  { "bicubic_interp", "bicubic_interp_v2", "X,OutSize,SizeTensor", "Out", "" },
  { "bilinear_interp", "bilinear_interp_v2", "X,OutSize,SizeTensor", "Out", "" },
  { "bmm", "bmm", "X,Y", "Out", "" },
  { "cast", "cast", "X", "Out", "dtype=out_dtype" },
  { "concat", "concat", "X,=axis", "Out", "" },
  { "conv2d", "conv2d", "Input,Filter", "Output", "" },
  { "conv2d_transpose", "conv2d_transpose", "Input,Filter,=output_size", "Output", "" },
  { "conv3d", "conv3d", "Input,Filter", "Output", "" },
  { "conv3d_transpose", "conv3d_transpose", "Input,Filter", "Output", "" },
  { "cumsum", "cumsum", "X,=axis", "Out", "" },
  { "depthwise_conv2d", "depthwise_conv2d", "Input,Filter", "Output", "" },
  { "depthwise_conv2d_transpose", "depthwise_conv2d_transpose", "Input,Filter,=output_size",
    "Output", "" },
  { "divide", "elementwise_div", "X,Y", "Out", "" },
  { "elementwise_pow", "elementwise_pow", "X,Y", "Out", "" },
  { "embedding", "lookup_table_v2", "Ids,W", "Out", "" },
  { "equal", "equal", "X,Y", "Out", "" },
  { "expand", "expand_v2", "X,=shape/Shape/expand_shapes_tensor", "Out", "" },
  { "fetch", "fetch", "X", "Out", "" },
  { "flatten", "flatten_contiguous_range", "X", "Out", "" },
  { "floor_divide", "elementwise_floordiv", "X,Y", "Out", "" },
  { "full", "fill_constant", "", "Out", "" },
  { "full_int_array", "assign_value", "", "Out", "" },
  { "full_with_tensor", "fill_constant", "=value,=shape/ShapeTensor/ShapeTensorList", "Out", "" },
  { "gather", "gather", "X,Index,=axis", "Out", "" },
  { "greater_equal", "greater_equal", "X,Y", "Out", "" },
  { "greater_than", "greater_than", "X,Y", "Out", "" },
  { "group_norm", "group_norm", "X,Scale,Bias", "Y", "" },
  { "hardsigmoid", "hard_sigmoid", "X", "Out", "" },
  { "hardswish", "hard_swish", "X", "Out", "" },
  { "index_select", "gather", "X,Index", "Out", "" },
  { "instance_norm", "instance_norm", "X,Scale,Bias", "Y", "" },
  { "layer_norm", "layer_norm", "X,Scale,Bias", "Y", "" },
  { "less_equal", "less_equal", "X,Y", "Out", "" },
  { "less_than", "less_than", "X,Y", "Out", "" },
  { "logical_and", "logical_and", "X,Y", "Out", "" },
  { "logical_or", "logical_or", "X,Y", "Out", "" },
  { "matmul", "matmul_v2", "X,Y", "Out", "transpose_x=trans_x,transpose_y=trans_y" },
  { "max", "reduce_max", "X,=dim", "Out", "keepdim=keep_dim" },
  { "maximum", "elementwise_max", "X,Y", "Out", "" },
  { "mean", "reduce_mean", "X,=dim", "Out", "axis=dim,keepdim=keep_dim" },
  { "min", "reduce_min", "X,=dim", "Out", "keepdim=keep_dim" },
  { "minimum", "elementwise_min", "X,Y", "Out", "" },
  { "multiply", "elementwise_mul", "X,Y", "Out", "" },
  { "nearest_interp", "nearest_interp_v2", "X,OutSize,SizeTensor", "Out", "" },
  { "nonzero", "where_index", "X", "Out", "" },
  { "not_equal", "not_equal", "X,Y", "Out", "" },
  { "p_norm", "p_norm", "X", "Out", "" },
  { "pad3d", "pad3d", "X,=paddings", "Out", "" },
  { "pool2d", "pool2d", "X,=ksize", "Out", "kernel_size=ksize" },
  { "pool3d", "pool3d", "X,=ksize", "Out", "kernel_size=ksize" },
  { "prod", "reduce_prod", "X,=dim", "Out", "keepdim=keep_dim" },
  { "remainder", "elementwise_mod", "X,Y", "Out", "" },
  { "reshape", "reshape2", "X,=shape/Shape/ShapeTensor", "Out", "" },
  { "rnn", "rnn", "Input,PreState,WeightList", "Out,DropoutState,State", "" },
  { "scale", "scale", "X,=scale", "Out", "" },
  { "shape", "shape", "Input", "Out", "" },
  { "shape64", "shape", "Input", "Out", "" },
  { "share_data", "assign", "X", "Out", "" },
  { "slice", "slice", "Input,=starts/StartsTensor/StartsTensorList,=ends/EndsTensor/EndsTensorList",
    "Out", "" },
  { "split", "split", "X,=sections,=axis", "Out", "" },
  { "split_with_num", "split", "X,=axis", "Out", "" },
  { "squeeze", "squeeze2", "X,=axes", "Out", "" },
  { "stack", "stack", "X", "Y", "" },
  { "strided_slice", "strided_slice",
    "Input,=starts/StartsTensor/StartsTensorList,=ends/EndsTensor/EndsTensorList,"
    "=strides/StridesTensor/StridesTensorList",
    "Out", "" },
  { "subtract", "elementwise_sub", "X,Y", "Out", "" },
  { "sum", "reduce_sum", "X,=dim", "Out", "axis=dim,keepdim=keep_dim" },
  { "sync_batch_norm", "sync_batch_norm", "X,Mean,Variance,Scale,Bias", "Y", "" },
  { "tile", "tile", "X,=repeat_times", "Out", "" },
  { "transpose", "transpose2", "X", "Out", "perm=axis" },
  { "unsqueeze", "unsqueeze2", "X,=axes", "Out", "" },
  { "where", "where", "Condition,X,Y", "Out", "" },
};

const struct ft_pir_operator *ft_pir_find(const char *name)
{
  size_t length = strlen(name);

  length -= length > 1 && name[length - 1] == '_';
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (strlen(operators[i].name) == length && strncmp(operators[i].name, name, length) == 0)
      return &operators[i];
  return NULL;
}
