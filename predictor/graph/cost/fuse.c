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
  bool whole_only;       /* other attention than struct attention's `whole` is no kernel */
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
  f->fusions[op - f->block->operators] = (struct ft_fusion){
    .kind = kind, .input = tensor, .groups = groups, .statistics = kind == FT_FUSED_NORM ? 2 : 0
  };
}

/* Returns the operand of OP, a sum or product, that is data, if the other one is a constant and
 * OP is ID and the only reader of its result is one operator; else 0. */
static uint32_t affine_input(const struct fuse *f, uint32_t tensor, enum ft_operator_id id)
{
  const struct ft_operator *op = producer_if(f, tensor, id);

  return op && f->uses[tensor] == 1 ? data_operand(f, op) : 0;
}

enum { ACTIVATION = 12 }; /* operators of the longest decomposition of an activation, and more */

struct activation {
  const struct ft_operator *inside[ACTIVATION];
  int count;
  bool gated,
      scaled; /* the input has been multiplied; so has a constant, if the function has one */
  uint32_t input;
};

/* Adds the producer of TENSOR to the operators inside A. */
static void add_inside(const struct fuse *f, struct activation *a, uint32_t tensor)
{
  a->inside[a->count++] = ft_block_producer(f->block, &f->graph->tensors[tensor]);
}

/* tanh's approximation of GELU: TENSOR is c (x + d x^3). Returns x and adds what computes TENSOR to
 * A; 0: it is another expression. */
static uint32_t cubic_input(const struct fuse *f, struct activation *a, uint32_t tensor)
{
  uint32_t sum = affine_input(f, tensor, FT_OP_Mul);
  const struct ft_operator *add = producer_if(f, sum, FT_OP_Add), *square;

  for (uint32_t i = 0; add && f->uses[sum] == 1 && i < 2; i++) {
    uint32_t x = ft_input_of(add, i), scaled = ft_input_of(add, !i);
    uint32_t cube = affine_input(f, scaled, FT_OP_Mul);
    const struct ft_operator *power = producer_if(f, cube, FT_OP_Mul);

    square = power ? producer_if(f, other_operand(power, x), FT_OP_Mul) : NULL;
    if (!cube || f->uses[cube] != 1 ||
        (affine_input(f, cube, FT_OP_Pow) != x &&
         (!square || other_operand(square, x) != x || f->uses[square->outputs[0]] != 1)))
      continue;
    add_inside(f, a, tensor);
    add_inside(f, a, sum);
    add_inside(f, a, scaled);
    add_inside(f, a, cube);
    if (square)
      add_inside(f, a, square->outputs[0]);
    return x;
  }
  return 0;
}

/* Returns whether NEXT, which reads T, is a further step of activation A around the function CORE:
 * it adds a constant, or multiplies by one, by the input, or by the input times a constant. */
static bool extends_activation(const struct fuse *f, struct activation *a,
                               const struct ft_operator *core, const struct ft_operator *next,
                               uint32_t t)
{
  uint32_t other = other_operand(next, t);

  if (ft_operator_is(next, FT_OP_Add))
    return is_weight_tensor(f, other) && !a->gated;
  if (!ft_operator_is(next, FT_OP_Mul))
    return false;
  if (!a->gated && other == a->input) {
    a->gated = true;
  } else if (!a->scaled && is_weight_tensor(f, other)) {
    a->scaled = true;
  } else if (!a->gated && !a->scaled && ft_operator_is(core, FT_OP_Erf) &&
             affine_input(f, other, FT_OP_Mul) == a->input) {
    a->gated = a->scaled = true;
    add_inside(f, a, other);
  } else {
    return false;
  }
  return true;
}

/*
 * Activation functions as exporters decompose them, around CORE: SiLU and hard swish, x sigmoid(x),
 * and GELU, x (1 + erf(x / sqrt 2)) or with tanh, with the factor 1/2 anywhere. Code that writes
 * GELU's approximation by hand begins with x / 2: PyTorch runs its operators one by one.
 */
static void fuse_activation(struct fuse *f, const struct ft_operator *core)
{
  struct activation a = { .scaled = !ft_operator_is(core, FT_OP_Erf) &&
                                    !ft_operator_is(core, FT_OP_Tanh) };
  uint32_t from = ft_input_of(core, 0), t = core->outputs[0];
  const struct ft_operator *end = core;

  if (ft_operator_is(core, FT_OP_Tanh)) {
    a.input = cubic_input(f, &a, from);
  } else if (ft_operator_is(core, FT_OP_Erf)) {
    a.input = affine_input(f, from, FT_OP_Div);
    a.input = a.input ? a.input : affine_input(f, from, FT_OP_Mul);
    add_inside(f, &a, from);
  } else {
    a.input = from;
  }
  while (a.input && f->uses[t] == 1 && a.count < ACTIVATION - 1 && !(a.gated && a.scaled)) {
    const struct ft_operator *next = &f->block->operators[f->user[t]];

    if (!extends_activation(f, &a, core, next, t))
      return;
    a.inside[a.count++] = end;
    end = next;
    t = next->outputs[0];
  }
  if (!a.gated || !a.scaled)
    return;
  while (a.count > 0)
    mark_inside(f, a.inside[--a.count]);
  mark_last(f, end, FT_FUSED_ACTIVATION, a.input, 0);
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

/* Returns OP's only reader if it is ID; else NULL. */
static const struct ft_operator *only_reader(const struct fuse *f, const struct ft_operator *op,
                                             enum ft_operator_id id)
{
  const struct ft_operator *next = &f->block->operators[f->user[op->outputs[0]]];

  return f->uses[op->outputs[0]] == 1 && ft_operator_is(next, id) ? next : NULL;
}

/*
 * rms_norm, which PyTorch's exporter splits below operator set 23: x times OP, 1 / sqrt(mean of x's
 * square + epsilon), then perhaps a weight, all of it between casts if x has 16 bits. Code that
 * writes this by hand, operator by operator, is not fused.
 */
static void fuse_rms_norm(struct fuse *f, const struct ft_operator *op)
{
  const struct ft_operator *root = producer_if(f, ft_input_of(op, 0), FT_OP_Sqrt), *add, *mean,
                           *square, *end, *cast;
  uint32_t x;

  add = root ? producer_if(f, ft_input_of(root, 0), FT_OP_Add) : NULL;
  mean = add && add->composite ? producer_if(f, data_operand(f, add), FT_OP_ReduceMean) : NULL;
  square = mean ? producer_if(f, ft_input_of(mean, 0), FT_OP_Pow) : NULL;
  end = only_reader(f, op, FT_OP_Mul);
  x = square ? ft_input_of(square, 0) : 0;
  if (!x || !end || other_operand(end, op->outputs[0]) != x)
    return;
  mark_inside(f, square);
  mark_inside(f, mean);
  mark_inside(f, add);
  mark_inside(f, root);
  mark_inside(f, op);
  end = follow_affine(f, end, FT_OP_Mul);
  cast = producer_if(f, x, FT_OP_Cast);
  if (cast && f->uses[x] == 2 && only_reader(f, end, FT_OP_Cast)) {
    mark_inside(f, cast);
    mark_inside(f, end);
    end = only_reader(f, end, FT_OP_Cast);
    x = ft_input_of(cast, 0);
  }
  mark_last(f, end, FT_FUSED_NORM, x,
            ft_dim_or(ft_tensor_elements(&f->graph->tensors[mean->outputs[0]]), 0));
  f->fusions[end - f->block->operators].statistics = 1;
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
    if (!next) {
      op = producer_if(f, scores, FT_OP_Add);
      next = op ? data_operand(f, op) : 0;
    }
    for (uint32_t j = 0; op && !next && j < 2; j++) /* a mask that depends on an input */
      if (producer_if(f, ft_input_of(op, j), FT_OP_MatMul) ||
          affine_input(f, ft_input_of(op, j), FT_OP_Mul) ||
          affine_input(f, ft_input_of(op, j), FT_OP_Div))
        next = ft_input_of(op, j);
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

/* Returns the tensor that TENSOR is the transpose of by way of fewer dimensions, as exporters write
 * it: Reshape, Transpose, Reshape, each with one reader; else 0. */
static uint32_t reshaped_transpose_of(struct fuse *f, uint32_t tensor)
{
  const struct ft_operator *back = producer_if(f, tensor, FT_OP_Reshape), *to;
  uint32_t inner = back && f->uses[tensor] == 1 ? transposed_of(f, ft_input_of(back, 0)) : 0;

  to = inner && f->uses[inner] == 1 ? producer_if(f, inner, FT_OP_Reshape) : NULL;
  if (!to)
    return 0;
  mark_inside(f, back);
  mark_inside(f, producer_if(f, ft_input_of(back, 0), FT_OP_Transpose));
  if (producer_if(f, ft_input_of(to, 0), FT_OP_Expand))
    return inner; /* repeated key heads, of which the network makes a tensor */
  mark_inside(f, to);
  return ft_input_of(to, 0);
}

/* Returns the tensor that TENSOR is a multiple of, if TENSOR has one reader; else 0. */
static uint32_t scaled_operand(const struct fuse *f, uint32_t tensor)
{
  const struct ft_operator *scale = producer_if(f, tensor, FT_OP_Mul);

  return scale && f->uses[tensor] == 1 ? data_operand(f, scale) : 0;
}

/* Returns the operand of attention that TENSOR is scaled and transposed from, and marks these
 * operators as inside. */
static uint32_t attention_operand(struct fuse *f, uint32_t tensor)
{
  uint32_t scaled = scaled_operand(f, tensor), reshaped;

  if (scaled) {
    mark_inside(f, producer_if(f, tensor, FT_OP_Mul));
    tensor = scaled;
  }
  if (transposed_of(f, tensor)) {
    mark_inside(f, producer_if(f, tensor, FT_OP_Transpose));
    tensor = transposed_of(f, tensor);
  }
  reshaped = reshaped_transpose_of(f, tensor);
  return reshaped ? reshaped : tensor;
}

/* Attention: softmax(q k' + bias) v, or v softmax(...)'. */
struct attention {
  const struct ft_operator *softmax, *product; /* product: of queries and keys */
  const struct ft_operator *fill,
      *test; /* Where and IsNaN for rows that a mask leaves empty, or NULL */
  const struct ft_operator *between[4]; /* scale and shift the scores */
  int count;
  bool transposed; /* the probabilities are the second operand */
  bool whole;      /* scaled_dot_product_attention: marked, or queries and keys are scaled */
  uint32_t probabilities, values;
};

/* Exporters write scaled_dot_product_attention with a mask as Where(IsNaN(p), 0, p). */
static void skip_filled_rows(const struct fuse *f, struct attention *a)
{
  const struct ft_operator *fill = producer_if(f, a->probabilities, FT_OP_Where), *test;

  test = fill ? producer_if(f, ft_input_of(fill, 0), FT_OP_IsNaN) : NULL;
  if (!test || ft_input_of(test, 0) != ft_input_of(fill, 2) || f->uses[a->probabilities] != 1)
    return;
  a->fill = fill;
  a->test = test;
  a->probabilities = ft_input_of(fill, 2);
}

/* Fills A with the attention whose last product is OP. Returns false if there is none. PyTorch's
 * kernels take four dimensions: batch, heads, rows, columns. */
static bool find_attention(struct fuse *f, const struct ft_operator *op, struct attention *a)
{
  uint32_t first = ft_input_of(op, 0), second = ft_input_of(op, 1);

  *a = (struct attention){ .probabilities = first, .values = second };
  skip_filled_rows(f, a);
  a->softmax = producer_if(f, a->probabilities, FT_OP_Softmax);
  if (!a->softmax && transposed_of(f, second) &&
      producer_if(f, transposed_of(f, second), FT_OP_Softmax)) {
    a->transposed = true;
    a->probabilities = transposed_of(f, second);
    a->values = first;
    a->softmax = producer_if(f, a->probabilities, FT_OP_Softmax);
  }
  if (!a->softmax || f->uses[a->probabilities] != (a->fill ? 2 : 1) ||
      f->graph->tensors[op->outputs[0]].rank != 4 || is_weight_tensor(f, a->values))
    return false;
  a->product = find_scores(f, ft_input_of(a->softmax, 0), a->between, &a->count);
  if (!a->product || is_weight_tensor(f, ft_input_of(a->product, 0)) ||
      is_weight_tensor(f, ft_input_of(a->product, 1)))
    return false;
  a->whole = op->composite || (scaled_operand(f, ft_input_of(a->product, 0)) &&
                               scaled_operand(f, ft_input_of(a->product, 1)));
  return true;
}

/* Returns whether attention is within windows or patches, which take the place of the batch. Most
 * code of such networks decomposes attention, also where one window covers the whole input. Files
 * of unknown exporters do not state it otherwise. */
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

  if (!find_attention(f, op, &a) || (f->whole_only && !a.whole))
    return;
  mark_inside(f, a.softmax);
  mark_inside(f, a.product);
  while (a.count > 0)
    mark_inside(f, a.between[--a.count]);
  if (a.fill) {
    mark_inside(f, a.fill);
    mark_inside(f, a.test);
  }
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
  f.whole_only = fuse_attention && (graph->marks_attention || has_windowed_attention(&f));
  for (uint32_t i = 0; i < block->operator_count; i++) {
    const struct ft_operator *op = &block->operators[i];

    if (!op->output_count || fusions[i].kind != FT_FUSED_NOT)
      continue;
    if (ft_operator_is(op, FT_OP_ReduceMean)) /* also of weights that are standardised */
      (void)fuse_variance(&f, op);
    if (!op->data)
      continue;
    fusions[i].bias = ft_operator_is(op, FT_OP_Add) && adds_bias(&f, op);
    if (ft_operator_is(op, FT_OP_Sigmoid) || ft_operator_is(op, FT_OP_HardSigmoid) ||
        ft_operator_is(op, FT_OP_Erf) || ft_operator_is(op, FT_OP_Tanh))
      fuse_activation(&f, op);
    else if (ft_operator_is(op, FT_OP_Div))
      fuse_layer_norm(&f, op);
    else if (ft_operator_is(op, FT_OP_Reciprocal))
      fuse_rms_norm(&f, op);
    else if (ft_operator_is(op, FT_OP_InstanceNormalization))
      fuse_group_norm(&f, op);
    else if (fuse_attention && ft_operator_is(op, FT_OP_MatMul))
      fuse_one_attention(&f, op);
  }
  return 0;
}
