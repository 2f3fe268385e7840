/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/graph/cost/fuse.h"
#include "predictor/graph/shape/infer.h"

struct fuse {
  struct ft_graph *graph;
  const struct ft_block *block;
  struct ft_fusion *fusions;
  uint32_t *uses, *user; /* of each tensor: number of readers; index of one */
  ft_dim batch;          /* first dimension of the network's first input */
};

/* Returns the operator of the block whose first output is TENSOR, if it is ID; else NULL. */
static const struct ft_operator *producer_if(const struct fuse *f, uint32_t tensor,
                                             enum ft_operator_id id)
{
  const struct ft_operator *op = ft_block_producer(f->block, &f->graph->tensors[tensor]);

  return tensor && op && op->output_count && op->outputs[0] == tensor && ft_operator_is(op, id)
             ? op
             : NULL;
}

static bool is_weight_tensor(const struct fuse *f, uint32_t tensor)
{
  return tensor && !f->graph->tensors[tensor].data;
}

/* Returns the operand of OP that is not ONE. */
static uint32_t other_operand(const struct ft_operator *op, uint32_t one)
{
  return ft_input_of(op, 0) == one ? ft_input_of(op, 1) : ft_input_of(op, 0);
}

/* Returns the operand of OP that is data, if the other one is a constant; else 0. */
static uint32_t data_operand(const struct fuse *f, const struct ft_operator *op)
{
  uint32_t a = ft_input_of(op, 0), b = ft_input_of(op, 1);

  if (is_weight_tensor(f, a) == is_weight_tensor(f, b))
    return 0;
  return is_weight_tensor(f, b) ? a : b;
}

static void mark_inside(struct fuse *f, const struct ft_operator *op)
{
  f->fusions[op - f->block->operators].kind = FT_FUSED_INSIDE;
}

/* Marks OP as the last operator of a kernel of KIND with input TENSOR and GROUPS (ft_fusion). */
static void mark_last(struct fuse *f, const struct ft_operator *op, uint8_t kind, uint32_t tensor,
                      int64_t groups)
{
  f->fusions[op - f->block->operators] =
      (struct ft_fusion){ .kind = kind, .input = tensor, .groups = groups };
}

/* SiLU and hard swish, ending in OP: x * sigmoid(x), or of the hard sigmoid. */
static bool fuse_gate(struct fuse *f, const struct ft_operator *op)
{
  for (uint32_t i = 0; i < 2; i++) {
    const struct ft_operator *s = producer_if(f, ft_input_of(op, i), FT_OP_Sigmoid);

    s = s ? s : producer_if(f, ft_input_of(op, i), FT_OP_HardSigmoid);
    if (!s || ft_input_of(s, 0) != ft_input_of(op, !i) || f->uses[ft_input_of(op, i)] != 1)
      continue;
    mark_inside(f, s);
    mark_last(f, op, FT_FUSED_ACTIVATION, ft_input_of(s, 0), 0);
    return true;
  }
  return false;
}

/* GELU: x * (1 + erf(x / sqrt 2)) in OP, with a factor 1/2 before or after. */
static bool fuse_gelu(struct fuse *f, const struct ft_operator *op)
{
  for (uint32_t i = 0; i < 2; i++) {
    const struct ft_operator *one = producer_if(f, ft_input_of(op, i), FT_OP_Add), *erf, *scale,
                             *half, *end = op;
    uint32_t x;

    erf = one ? producer_if(f, data_operand(f, one), FT_OP_Erf) : NULL;
    scale = erf ? producer_if(f, ft_input_of(erf, 0), FT_OP_Div) : NULL;
    scale = scale ? scale : erf ? producer_if(f, ft_input_of(erf, 0), FT_OP_Mul) : NULL;
    x = scale ? data_operand(f, scale) : 0;
    if (!x)
      continue;
    half = producer_if(f, ft_input_of(op, !i), FT_OP_Mul);
    if (ft_input_of(op, !i) == x && f->uses[op->outputs[0]] == 1) {
      end = &f->block->operators[f->user[op->outputs[0]]];
      if (!ft_operator_is(end, FT_OP_Mul) || data_operand(f, end) != op->outputs[0])
        continue;
      mark_inside(f, op);
    } else if (half && data_operand(f, half) == x) {
      mark_inside(f, half);
    } else {
      continue;
    }
    mark_inside(f, one);
    mark_inside(f, erf);
    mark_inside(f, scale);
    mark_last(f, end, FT_FUSED_ACTIVATION, x, 0);
    return true;
  }
  return false;
}

/* Returns the only reader of OP's output, if it is ID with a constant operand, and marks OP as
 * inside; else OP. */
static const struct ft_operator *follow_affine(struct fuse *f, const struct ft_operator *op,
                                               enum ft_operator_id id)
{
  const struct ft_operator *next;

  if (f->uses[op->outputs[0]] != 1)
    return op;
  next = &f->block->operators[f->user[op->outputs[0]]];
  if (!ft_operator_is(next, id) || !is_weight_tensor(f, other_operand(next, op->outputs[0])))
    return op;
  mark_inside(f, op);
  return next;
}

/* Layer normalisation: (x - mean) / sqrt(mean of its square + epsilon) in OP, then perhaps a weight
 * and a bias. */
static void fuse_layer_norm(struct fuse *f, const struct ft_operator *op)
{
  const struct ft_operator *sub = producer_if(f, ft_input_of(op, 0), FT_OP_Sub), *root, *add, *mean,
                           *square, *first;

  root = producer_if(f, ft_input_of(op, 1), FT_OP_Sqrt);
  add = root ? producer_if(f, ft_input_of(root, 0), FT_OP_Add) : NULL;
  mean = add ? producer_if(f, data_operand(f, add), FT_OP_ReduceMean) : NULL;
  square = mean ? producer_if(f, ft_input_of(mean, 0), FT_OP_Pow) : NULL;
  square = square ? square : mean ? producer_if(f, ft_input_of(mean, 0), FT_OP_Mul) : NULL;
  first = sub ? producer_if(f, ft_input_of(sub, 1), FT_OP_ReduceMean) : NULL;
  if (!square || !first || ft_input_of(first, 0) != ft_input_of(sub, 0) ||
      ft_input_of(square, 0) != sub->outputs[0])
    return;
  mark_inside(f, sub);
  mark_inside(f, root);
  mark_inside(f, add);
  mark_inside(f, mean);
  mark_inside(f, square);
  mark_inside(f, first);
  op = follow_affine(f, op, FT_OP_Mul);
  op = follow_affine(f, op, FT_OP_Add);
  mark_last(f, op, FT_FUSED_NORM, ft_input_of(sub, 0),
            ft_dim_or(ft_tensor_elements(&f->graph->tensors[mean->outputs[0]]), 0));
}

/* torch.var, as exporters decompose it: the mean of (x - mean) * (x - mean). Its kernel saves only
 * x. */
static bool fuse_variance(struct fuse *f, const struct ft_operator *op)
{
  const struct ft_operator *square = producer_if(f, ft_input_of(op, 0), FT_OP_Mul), *sub, *mean;

  sub = square && ft_input_of(square, 0) == ft_input_of(square, 1)
            ? producer_if(f, ft_input_of(square, 0), FT_OP_Sub)
            : NULL;
  mean = sub ? producer_if(f, ft_input_of(sub, 1), FT_OP_ReduceMean) : NULL;
  if (!mean || ft_input_of(mean, 0) != ft_input_of(sub, 0) || f->uses[sub->outputs[0]] != 2 ||
      f->uses[square->outputs[0]] != 1)
    return false;
  mark_inside(f, sub);
  mark_inside(f, square);
  if (f->uses[mean->outputs[0]] == 1)
    mark_inside(f, mean);
  mark_last(f, op, FT_FUSED_NORM, ft_input_of(sub, 0), 0);
  return true;
}

/*
 * Group normalisation: reshape to groups, instance normalisation OP, reshape back, weight and bias.
 */
static void fuse_group_norm(struct fuse *f, const struct ft_operator *op)
{
  const struct ft_operator *to = producer_if(f, ft_input_of(op, 0), FT_OP_Reshape), *back, *end;
  const struct ft_tensor *x = &f->graph->tensors[ft_input_of(op, 0)];

  if (!to || f->uses[op->outputs[0]] != 1)
    return;
  back = &f->block->operators[f->user[op->outputs[0]]];
  if (!ft_operator_is(back, FT_OP_Reshape) || f->uses[back->outputs[0]] != 1)
    return;
  end = follow_affine(f, back, FT_OP_Mul);
  end = follow_affine(f, end, FT_OP_Add);
  if (end == back)
    return;
  mark_inside(f, op);
  mark_last(f, end, FT_FUSED_NORM, ft_input_of(to, 0),
            x->rank > 1 ? ft_dim_or(ft_dim_times(x->dims[0], x->dims[1]), 0) : 0);
}

/* Returns the product of queries and keys from which SCORES are scaled or shifted; NULL: none.
 * Appends the operators in between to BETWEEN, at most 4. */
static const struct ft_operator *find_scores(struct fuse *f, uint32_t scores,
                                             const struct ft_operator **between, int *count)
{
  for (int i = 0; i < 4; i++) {
    const struct ft_operator *product = producer_if(f, scores, FT_OP_MatMul), *op;
    uint32_t next = 0;

    if (f->uses[scores] != 1)
      return NULL;
    if (product)
      return product;
    op = producer_if(f, scores, FT_OP_Mul);
    op = op ? op : producer_if(f, scores, FT_OP_Div);
    next = op ? data_operand(f, op) : 0;
    op = op ? op : producer_if(f, scores, FT_OP_Add);
    next = op && !next ? data_operand(f, op) : next;
    if (!next)
      return NULL;
    between[(*count)++] = op;
    scores = next;
  }
  return NULL;
}

/* Returns whether OP adds a bias to a matrix product, as exporters write linear layers on more than
 * two dimensions. */
static bool adds_bias(const struct fuse *f, const struct ft_operator *op)
{
  uint32_t x = data_operand(f, op), b = x ? other_operand(op, x) : 0;

  return x && producer_if(f, x, FT_OP_MatMul) && f->uses[x] == 1 && f->graph->tensors[b].rank == 1;
}

/* Returns the tensor that TENSOR is the transpose of, if TENSOR has one reader; else 0. */
static uint32_t transposed_of(struct fuse *f, uint32_t tensor)
{
  const struct ft_operator *transpose = producer_if(f, tensor, FT_OP_Transpose);

  return transpose && f->uses[tensor] == 1 ? ft_input_of(transpose, 0) : 0;
}

/* Returns the operand of attention that TENSOR is scaled and transposed from, and marks these
 * operators as inside. */
static uint32_t attention_operand(struct fuse *f, uint32_t tensor)
{
  const struct ft_operator *scale = producer_if(f, tensor, FT_OP_Mul);

  if (scale && data_operand(f, scale) && f->uses[tensor] == 1) {
    mark_inside(f, scale);
    tensor = data_operand(f, scale);
  }
  if (transposed_of(f, tensor)) {
    mark_inside(f, producer_if(f, tensor, FT_OP_Transpose));
    tensor = transposed_of(f, tensor);
  }
  return tensor;
}

/* Attention: softmax(q k' + bias) v, or v softmax(...)'. */
struct attention {
  const struct ft_operator *softmax, *product; /* product: of queries and keys */
  const struct ft_operator *between[4];        /* scale and shift the scores */
  int count;
  bool transposed; /* the probabilities are the second operand */
  uint32_t probabilities, values;
};

/* Fills A with the attention whose last product is OP. Returns false if there is none. PyTorch's
 * kernels take four dimensions: batch, heads, rows, columns. */
static bool find_attention(struct fuse *f, const struct ft_operator *op, struct attention *a)
{
  uint32_t first = ft_input_of(op, 0), second = ft_input_of(op, 1);

  *a = (struct attention){ .probabilities = first, .values = second };
  a->softmax = producer_if(f, first, FT_OP_Softmax);
  if (!a->softmax && transposed_of(f, second) &&
      producer_if(f, transposed_of(f, second), FT_OP_Softmax)) {
    a->transposed = true;
    a->probabilities = transposed_of(f, second);
    a->values = first;
    a->softmax = producer_if(f, a->probabilities, FT_OP_Softmax);
  }
  if (!a->softmax || f->uses[a->probabilities] != 1 ||
      f->graph->tensors[op->outputs[0]].rank != 4 || is_weight_tensor(f, a->values))
    return false;
  a->product = find_scores(f, ft_input_of(a->softmax, 0), a->between, &a->count);
  return a->product && !is_weight_tensor(f, ft_input_of(a->product, 0)) &&
         !is_weight_tensor(f, ft_input_of(a->product, 1));
}

/* Returns whether attention is within windows or patches, which take the place of the batch. Most
 * code of such networks decomposes attention, also where one window covers the whole input. */
static bool has_windowed_attention(struct fuse *f)
{
  struct attention a;

  for (uint32_t i = 0; i < f->block->operator_count; i++) {
    const struct ft_operator *op = &f->block->operators[i];

    if (op->data && op->output_count && ft_operator_is(op, FT_OP_MatMul) &&
        find_attention(f, op, &a) &&
        !ft_dim_equal(f->graph->tensors[op->outputs[0]].dims[0], f->batch))
      return true;
  }
  return false;
}

/* Marks the operators of the attention that ends in OP, if there is one. */
static void fuse_one_attention(struct fuse *f, const struct ft_operator *op)
{
  struct ft_fusion *fusion = &f->fusions[op - f->block->operators];
  const struct ft_tensor *p;
  struct attention a;
  uint32_t q, k;

  if (!find_attention(f, op, &a))
    return;
  mark_inside(f, a.softmax);
  mark_inside(f, a.product);
  while (a.count > 0)
    mark_inside(f, a.between[--a.count]);
  if (a.transposed)
    mark_inside(f, producer_if(f, ft_input_of(op, 1), FT_OP_Transpose));
  q = attention_operand(f, ft_input_of(a.product, 0));
  k = attention_operand(f, ft_input_of(a.product, 1));
  mark_last(f, op, FT_FUSED_ATTENTION, q, 0);
  fusion->keys = k;
  fusion->values = attention_operand(f, a.values);
  p = &f->graph->tensors[a.probabilities];
  if (p->rank > 0)
    fusion->groups =
        ft_dim_or(ft_dim_divide(ft_tensor_elements(p), ft_dim_or(p->dims[p->rank - 1], 0)), 0);
}

/* Returns the first dimension of the network's first input; 0: none. */
static ft_dim input_batch(const struct ft_graph *graph, const struct ft_block *block)
{
  const struct ft_tensor *x = &graph->tensors[block->input_count ? block->inputs[0] : 0];

  return x->rank > 0 ? x->dims[0] : ft_dim_of(0);
}

int ft_fuse(struct ft_graph *graph, const struct ft_block *block, bool fuse_attention,
            struct ft_fusion *fusions)
{
  struct fuse f = {
    .graph = graph, .block = block, .fusions = fusions, .batch = input_batch(graph, block)
  };

  f.uses = ft_arena_take(&graph->results, graph->tensor_count * sizeof *f.uses);
  f.user = ft_arena_take(&graph->results, graph->tensor_count * sizeof *f.user);
  if (!f.uses || !f.user)
    return -1;
  for (uint32_t i = 0; i < block->operator_count; i++) {
    const struct ft_operator *op = &block->operators[i];

    for (uint32_t j = 0; j < op->input_count + op->capture_count; j++) {
      uint32_t t = j < op->input_count ? op->inputs[j] : op->captures[j - op->input_count];

      f.uses[t]++;
      f.user[t] = i;
    }
  }
  for (uint32_t i = 0; i < block->output_count; i++)
    f.uses[block->outputs[i]] += 2; /* outputs are stored, never inside a kernel */
  fuse_attention = fuse_attention && !has_windowed_attention(&f);
  for (uint32_t i = 0; i < block->operator_count; i++) {
    const struct ft_operator *op = &block->operators[i];

    if (!op->data || !op->output_count || fusions[i].kind != FT_FUSED_NOT)
      continue;
    fusions[i].bias = ft_operator_is(op, FT_OP_Add) && adds_bias(&f, op);
    if (ft_operator_is(op, FT_OP_Mul))
      (void)(fuse_gate(&f, op) || fuse_gelu(&f, op));
    else if (ft_operator_is(op, FT_OP_Div))
      fuse_layer_norm(&f, op);
    else if (ft_operator_is(op, FT_OP_ReduceMean))
      (void)fuse_variance(&f, op);
    else if (ft_operator_is(op, FT_OP_InstanceNormalization))
      fuse_group_norm(&f, op);
    else if (fuse_attention && ft_operator_is(op, FT_OP_MatMul))
      fuse_one_attention(&f, op);
  }
  return 0;
}
