/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces a PaddlePaddle program as operators of ATen, with the sizes of its inputs. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/paddle/paddle_run.h"

/* Limits against hostile files: nested blocks, operators traced. */
enum { BLOCK_DEPTH = 16, MAX_OPERATORS = 1 << 20 };

enum { TENSOR = 7 }; /* VarType.DENSE_TENSOR (framework.proto) */

/* ---- dispatch by operator name ---- */

/* One input X, one result, at most one attribute. */
static const struct simple {
  const char *type, *name, *attribute;
} plain[] = {
  { "abs", "abs", NULL }, { "arg_max", "argmax", "axis" }, { "assign", "detach", NULL },
  { "cast", "to", NULL }, { "ceil", "ceil", NULL }, { "clip", "clamp", NULL }, { "cos", "cos", NULL },
  { "cumsum", "cumsum", "axis" }, { "dropout", "detach", NULL }, { "elu", "elu", NULL },
  { "erf", "erf", NULL }, { "exp", "exp", NULL }, { "floor", "floor", NULL }, { "gelu", "gelu", NULL },
  { "hard_sigmoid", "hardsigmoid", NULL }, { "hard_swish", "hardswish", NULL },
  { "leaky_relu", "leaky_relu", NULL }, { "log", "log", NULL }, { "log_softmax", "log_softmax", "axis" },
  { "logical_not", "logical_not", NULL }, { "mean", "mean", NULL }, { "mish", "mish", NULL },
  { "pixel_shuffle", "pixel_shuffle", "upscale_factor" }, { "pow", "exp", NULL },
  { "relu", "relu", NULL }, { "relu6", "relu6", NULL }, { "round", "round", NULL },
  { "rsqrt", "rsqrt", NULL }, { "sigmoid", "sigmoid", NULL }, { "sign", "sign", NULL },
  { "silu", "silu", NULL }, { "sin", "sin", NULL }, { "softmax", "softmax", "axis" },
  { "softplus", "softplus", NULL }, { "sqrt", "sqrt", NULL }, { "square", "square", NULL },
  { "swish", "silu", NULL }, { "tanh", "tanh", NULL }, { "where_index", "nonzero", NULL },
}, listed[] = { /* one list of integers */
  { "transpose2", "permute", "axis" }, { "transpose", "permute", "axis" },
  { "squeeze2", "squeeze", "axes" }, { "squeeze", "squeeze", "axes" },
  { "expand_v2", "expand", "shape" }, { "tile", "repeat", "repeat_times" },
  { "flip", "flip", "axis" },
}, twos[] = {
  { "elementwise_add", "add", NULL }, { "elementwise_sub", "sub", NULL },
  { "elementwise_mul", "mul", NULL }, { "elementwise_div", "div", NULL },
  { "elementwise_max", "maximum", NULL }, { "elementwise_min", "minimum", NULL },
  { "elementwise_pow", "pow", NULL }, { "elementwise_floordiv", "floor_divide", NULL },
  { "elementwise_mod", "remainder", NULL }, { "equal", "eq", NULL }, { "not_equal", "ne", NULL },
  { "greater_than", "gt", NULL }, { "greater_equal", "ge", NULL }, { "less_than", "lt", NULL },
  { "less_equal", "le", NULL }, { "logical_and", "logical_and", NULL },
  { "logical_or", "logical_or", NULL },
}, reductions[] = {
  { "reduce_mean", "mean", NULL }, { "reduce_sum", "sum", NULL }, { "reduce_max", "amax", NULL },
  { "reduce_min", "amin", NULL }, { "reduce_prod", "prod", NULL }, { "reduce_all", "all", NULL },
  { "reduce_any", "any", NULL },
};

static int table_operator(struct ft_pd_run *r)
{
  const char *type = r->op->type;
  const struct simple *row = FT_TABLE_ROW(plain, type);

  if (row) {
    struct ft_operand args[] = { ft_pd_input(r, "X"), ft_value_none() };

    if (row->attribute)
      args[1] = ft_value_int(ft_pd_integer(r, row->attribute, -1));
    if (strcmp(type, "cast") == 0) {
      uint32_t x = ft_value_as_tensor(&r->live, &args[0]);

      x = x ? ft_tracer_cast(&r->live, x, ft_pd_element(ft_pd_integer(r, "out_dtype", 5))) : 0;
      return x ? ft_pd_give(r, ft_value_tensor(x)) : -1;
    }
    return ft_pd_call_and_give(r, row->name, args, row->attribute ? 2 : 1);
  }
  row = FT_TABLE_ROW(listed, type);
  if (row) {
    struct ft_operand args[] = { ft_pd_input(r, "X"), ft_pd_integers(r, row->attribute) };

    if (strcmp(type, "expand_v2") == 0)
      args[1] = ft_pd_sizes(r, "expand_shapes_tensor", "Shape", "shape");
    return ft_pd_call_and_give(r, row->name, args, 2);
  }
  row = FT_TABLE_ROW(twos, type);
  if (row)
    return ft_pd_elementwise(r, row->name);
  row = FT_TABLE_ROW(reductions, type);
  return row ? ft_pd_reduce(r, row->name) : 1;
}

/* made: the operator of the graph that the function mostly records. */
static const struct {
  const char *type;
  int (*run)(struct ft_pd_run *r);
  const char *made;
} handlers[] = {
  { "batch_norm", ft_pd_normalisation, "BatchNormalization" },
  { "sync_batch_norm", ft_pd_normalisation, "BatchNormalization" },
  { "layer_norm", ft_pd_normalisation, "LayerNormalization" },
  { "group_norm", ft_pd_normalisation, "GroupNormalization" },
  { "instance_norm", ft_pd_normalisation, "InstanceNormalization" },
  { "conv2d", ft_pd_convolution, "Conv" },
  { "conv3d", ft_pd_convolution, "Conv" },
  { "depthwise_conv2d", ft_pd_convolution, "Conv" },
  { "conv2d_transpose", ft_pd_convolution, "ConvTranspose" },
  { "conv3d_transpose", ft_pd_convolution, "ConvTranspose" },
  { "depthwise_conv2d_transpose", ft_pd_convolution, "ConvTranspose" },
  { "pool2d", ft_pd_pool, "AveragePool" },
  { "pool3d", ft_pd_pool, "AveragePool" },
  { "rnn", ft_pd_recurrent, "LSTM" },
  { "matmul_v2", ft_pd_product, "MatMul" },
  { "matmul", ft_pd_product, "MatMul" },
  { "mul", ft_pd_product, "MatMul" },
  { "bmm", ft_pd_product, "MatMul" },
  { "reshape2", ft_pd_reshape, "Reshape" },
  { "reshape", ft_pd_reshape, "Reshape" },
  { "slice", ft_pd_slice, "Slice" },
  { "strided_slice", ft_pd_slice, "Slice" },
  { "fill_constant", ft_pd_fill, "Constant" },
  { "assign_value", ft_pd_assign_value, "Constant" },
  { "bilinear_interp_v2", ft_pd_resize, "Resize" },
  { "nearest_interp_v2", ft_pd_resize, "Resize" },
  { "bicubic_interp_v2", ft_pd_resize, "Resize" },
  { "shape", ft_pd_shape, "Constant" },
  { "concat", ft_pd_concat, "Concat" },
  { "stack", ft_pd_stack, "Concat" },
  { "split", ft_pd_split, "Split" },
  { "scale", ft_pd_scale, "Mul" },
  { "unsqueeze2", ft_pd_unsqueeze, "Unsqueeze" },
  { "unsqueeze", ft_pd_unsqueeze, "Unsqueeze" },
  { "flatten_contiguous_range", ft_pd_flatten, "Reshape" },
  { "lookup_table_v2", ft_pd_gather, "Gather" },
  { "lookup_table", ft_pd_gather, "Gather" },
  { "gather", ft_pd_gather, "Gather" },
  { "pad3d", ft_pd_pad, "Pad" },
  { "p_norm", ft_pd_norm, "" },
  { "where", ft_pd_where, "Where" },
};

#define IN(table) (sizeof(table) / sizeof *(table))

const char *ft_pd_operator_at(size_t i, const char **type)
{
  static const struct {
    const struct simple *rows;
    size_t count;
  } tables[] = {
    { plain, IN(plain) }, { listed, IN(listed) }, { twos, IN(twos) }, { reductions, IN(reductions) }
  };

  for (size_t t = 0; t < IN(tables); t++) {
    if (i < tables[t].count) {
      *type = ft_aten_type_of(tables[t].rows[i].name);
      return tables[t].rows[i].type;
    }
    i -= tables[t].count;
  }
  if (i >= IN(handlers))
    return NULL;
  *type = handlers[i].made;
  return handlers[i].type;
}

/* Records an unknown operator with all its inputs and results. */
static int record_unknown_operator(struct ft_pd_run *r)
{
  uint32_t *in, y;
  size_t count = 0, outputs = 0;

  for (size_t i = 0; i < r->op->input_count; i++)
    count += r->op->inputs[i].count;
  in = ft_tracer_take(&r->live, (count + 1) * sizeof *in);
  count = 0;
  for (size_t i = 0; in && i < r->op->input_count; i++)
    for (size_t j = 0; j < r->op->inputs[i].count; j++) {
      struct ft_operand v = ft_pd_value(r, r->op->inputs[i].variables[j]);

      if (!ft_value_is_tensor(&v))
        continue;
      in[count] = ft_value_as_tensor(&r->live, &v);
      if (!in[count++])
        return -1;
    }
  for (size_t i = 0; i < r->op->output_count; i++)
    outputs += r->op->outputs[i].count;
  if (!in || !outputs || outputs > FT_TRACER_OPERATORS)
    return in ? 0 : -1;
  ft_tracer_unknown(&r->live, "paddle", r->op->type);
  for (size_t i = 0; i < count; i++)
    ft_tracer_in(&r->live, in[i]);
  y = ft_tracer_end(&r->live, (uint32_t)outputs);
  for (size_t i = 0; y && i < r->op->output_count; i++)
    for (size_t j = 0; j < r->op->outputs[i].count; j++)
      if (ft_pd_bind(r, r->op->outputs[i].variables[j], ft_value_tensor(y++)) < 0)
        return -1;
  return y ? 0 : -1;
}

/* ---- blocks ---- */

static int run_block(struct ft_pd_run *r, const struct ft_pd_block *block);

/* Ends a loop of BODY; its results are the variables that it changed. */
static int record_while(struct ft_pd_run *r, struct ft_block *body)
{
  static const char *const names[] = { "body" };
  const struct ft_pd_slot *out = ft_pd_slot(r->op->outputs, r->op->output_count, "Out");
  size_t count = out ? out->count : 0;
  const char **changed = ft_tracer_take(&r->live, (count + 1) * sizeof *changed);
  uint32_t first;

  body->outputs = ft_tracer_take(&r->live, (count + 1) * sizeof *body->outputs);
  if (!changed || !body->outputs)
    return -1;
  for (size_t i = 0; i < count; i++) {
    struct ft_operand v = ft_pd_value(r, out->variables[i]);

    if (v.type != FT_VALUE_TENSOR)
      continue;
    changed[body->output_count] = out->variables[i];
    body->outputs[body->output_count++] = v.tensor;
  }
  first = ft_tracer_blocks(&r->live, "Loop", 0, &body, names, 1, body->output_count, -1);
  if (!first)
    return -1;
  for (uint32_t i = 0; i < body->output_count; i++)
    if (ft_like(r->live.in, ft_tracer_of(&r->live, first + i),
                ft_tracer_of(&r->live, body->outputs[i])) < 0 ||
        ft_pd_bind(r, changed[i], ft_value_tensor(first + i)) < 0)
      return -1;
  return 0;
}

/* Traces the block that the condition selects; if the condition is unknown, records both. */
static int run_branch(struct ft_pd_run *r, const struct ft_pd_block *taken,
                      const struct ft_pd_block *otherwise)
{
  static const char *const names[] = { "Then", "Else" };
  const struct ft_pd_block *const blocks[2] = { taken, otherwise };
  const struct ft_pd_operator *op = r->op;
  struct ft_operand condition = ft_pd_input(r, "Cond"), given;
  int truth = ft_value_truth(&r->live, &condition);
  struct ft_side sides[2];

  for (int i = 0; i < 2; i++) {
    struct ft_tracer_frame frame;

    if (truth >= 0 && i == truth)
      continue;
    if ((truth < 0 && ft_tracer_open(&r->live, &frame) < 0) || run_block(r, blocks[i]) < 0)
      return -1;
    r->op = op;
    given = ft_pd_input_list(r, names[i]);
    if (given.type != FT_VALUE_LIST)
      return -1;
    if (truth >= 0)
      return ft_pd_give_list(r, "Out", &given);
    ft_tracer_close(&r->live, &frame);
    sides[i] = (struct ft_side){ .block = frame.block,
                                 .values = given.list->items,
                                 .count = given.list->count };
  }
  given = ft_value_branch(&r->live, &condition, sides);
  return given.type == FT_VALUE_TUPLE ? ft_pd_give_list(r, "Out", &given) : -1;
}

/* Traces sub_block. A condition without an else block is taken as true. A loop's body becomes a
 * subgraph with unknown trip count. */
static int run_sub_block(struct ft_pd_run *r)
{
  const struct ft_pd_operator *op = r->op;
  int64_t which = ft_pd_integer(r, "sub_block", -1), other = ft_pd_integer(r, "else_block", -1);
  bool loop = strcmp(op->type, "while") == 0;
  struct ft_tracer_frame frame;

  if (which < 1 || which >= (int64_t)r->program->count)
    return ft_tracer_fail(&r->live, "%s: block %lld of %zu", op->type, (long long)which,
                          r->program->count);
  if (other >= 1 && other < (int64_t)r->program->count)
    return run_branch(r, &r->program->blocks[which], &r->program->blocks[other]);
  if (!loop)
    return run_block(r, &r->program->blocks[which]);
  if (ft_tracer_open(&r->live, &frame) < 0 || run_block(r, &r->program->blocks[which]) < 0)
    return -1;
  ft_tracer_close(&r->live, &frame);
  r->op = op;
  return record_while(r, frame.block);
}

static int run_operator(struct ft_pd_run *r)
{
  const char *type = r->op->type;
  size_t i;
  int status;

  if (++r->steps > MAX_OPERATORS)
    return ft_tracer_fail(&r->live, "more than %d operators, those of blocks included",
                          MAX_OPERATORS);
  if (strcmp(type, "feed") == 0 || strcmp(type, "print") == 0 || strcmp(type, "assert") == 0)
    return 0;
  if (strcmp(type, "fetch") == 0) {
    struct ft_operand v = ft_pd_input(r, "X");

    return v.type == FT_VALUE_TENSOR ? ft_tracer_output(&r->live, v.tensor) : 0;
  }
  if (strcmp(type, "while") == 0 || strcmp(type, "conditional_block") == 0)
    return run_sub_block(r);
  if (strcmp(type, "select_input") == 0)
    return ft_pd_give(r, ft_pd_input(r, "X"));
  status = table_operator(r);
  i = FT_TABLE_FIND(handlers, type);
  if (status == 1 && i < IN(handlers))
    return handlers[i].run(r);
  return status == 1 ? record_unknown_operator(r) : status;
}

static int run_block(struct ft_pd_run *r, const struct ft_pd_block *block)
{
  if (++r->depth > BLOCK_DEPTH)
    return ft_tracer_fail(&r->live, "blocks nested more than %d deep", BLOCK_DEPTH);
  for (size_t i = 0; i < block->operator_count; i++) {
    const struct ft_pd_slot *out;

    r->op = &block->operators[i];
    out = ft_pd_slot(r->op->outputs, r->op->output_count, "Out");
    out = out ? out : ft_pd_slot(r->op->outputs, r->op->output_count, "Y");
    out = out ? out : r->op->outputs;
    r->live.at = r->op->at;
    r->live.scope = r->op->output_count && out->count ? out->variables[0] : "";
    if (run_operator(r) < 0)
      return -1;
    if (r->live.failed)
      return -1;
  }
  r->depth--;
  return 0;
}

/* ---- the program ---- */

static int bind_weights(struct ft_pd_run *r, const struct ft_pd_block *block)
{
  for (size_t i = 0; i < block->variable_count; i++) {
    const struct ft_pd_variable *v = &block->variables[i];
    struct ft_operand value = { .type = FT_VALUE_WEIGHT };

    if (!v->persistable || v->kind != TENSOR || v->declared.rank < 0)
      continue;
    for (int j = 0; j < v->declared.rank; j++)
      if (!ft_dim_known(v->declared.dims[j]))
        return ft_tracer_fail(&r->live, "the size of the weight \"%.100s\" is unknown", v->name);
    value.weight = ft_tracer_take(&r->live, sizeof *value.weight);
    if (!value.weight)
      return -1;
    value.weight->name = v->name;
    value.weight->declared = v->declared;
    if (ft_pd_bind(r, v->name, value) < 0)
      return -1;
  }
  return 0;
}

/* Declares the result of each "feed" as an input. */
static int declare_feeds(struct ft_pd_run *r, const struct ft_pd_block *block)
{
  for (size_t i = 0; i < block->operator_count; i++) {
    const struct ft_pd_operator *op = &block->operators[i];
    const struct ft_pd_slot *out = ft_pd_slot(op->outputs, op->output_count, "Out");
    struct ft_declared *d;
    uint32_t tensor;

    if (strcmp(op->type, "feed") != 0 || !out || !out->count)
      continue;
    d = ft_tracer_take(&r->live, sizeof *d);
    if (!d)
      return -1;
    d->rank = -1;
    for (size_t j = 0; j < block->variable_count; j++)
      if (strcmp(block->variables[j].name, out->variables[0]) == 0)
        *d = block->variables[j].declared;
    tensor = ft_tracer_input(&r->live, out->variables[0], d);
    if (!tensor || ft_pd_bind(r, out->variables[0], ft_value_tensor(tensor)) < 0)
      return -1;
  }
  return ft_infer_inputs(r->live.in);
}

int ft_paddle_run(struct ft_infer *in)
{
  struct ft_pd_run r = { .program = in->graph->program };
  int status = -1;

  if (ft_tracer_begin(&r.live, in) == 0) {
    r.names.arena = &in->graph->results;
    for (size_t i = 0; i < r.program->count; i++)
      if (bind_weights(&r, &r.program->blocks[i]) < 0)
        return -1;
    if (declare_feeds(&r, &r.program->blocks[0]) == 0)
      status = run_block(&r, &r.program->blocks[0]);
  }
  if (r.live.failed)
    status = -1;
  if (status < 0 && !in->err->text[0])
    (void)ft_error_set(in->err, "%s: its program cannot be traced", in->graph->file);
  return status;
}
