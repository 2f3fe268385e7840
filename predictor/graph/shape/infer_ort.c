/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shape rules and multiply-accumulates of ONNX Runtime's own operators (onnxruntime,
 * docs/ContribOperators.md): products with quantised weights, attention with a projection or a KV
 * cache, fused layers.
 */
#include "config.h"

#include <string.h>

#include "predictor/graph/shape/infer.h"

static ft_dim last_dimension(const struct ft_tensor *x)
{
  return x && x->rank > 0 ? x->dims[x->rank - 1] : FT_DIM_UNKNOWN;
}

/* ---- element-wise ---- */

/* A scale and a zero point follow each quantised input. */
int ft_infer_ort_broadcast(struct ft_infer *in)
{
  bool where = ft_operator_is(in->op, FT_OP_QLinearWhere);
  const struct ft_tensor *operands[] = { ft_input(in, where ? 1 : 0), ft_input(in, where ? 4 : 3),
                                         where ? ft_input(in, 0) : NULL };
  int count = where ? 3 : 2;

  for (int i = 0; i < count; i++)
    if (!operands[i] || operands[i]->rank < 0)
      return 0;
  ft_output(in, 0)->element = operands[0]->element;
  return ft_broadcast_shape(in, ft_output(in, 0), operands, count);
}

/* Inputs: output scale and zero point, then (tensor, scale, zero point) for each tensor. */
int ft_infer_ort_concat(struct ft_infer *in)
{
  const struct ft_tensor *first = ft_input(in, 2), *x;
  struct ft_tensor *y = ft_output(in, 0);
  ft_dim sum = ft_dim_of(0);
  int axis;

  if (!first || first->rank < 0)
    return 0;
  y->element = first->element;
  axis = ft_axis(in, ft_integer(in->op, "axis", 0), first->rank);
  if (axis < 0 || ft_like(in, y, first) < 0)
    return -1;
  for (unsigned i = 2; i < in->op->input_count; i += 3) {
    x = ft_input(in, i);
    sum = x && x->rank == first->rank ? ft_dim_plus(sum, x->dims[axis]) : FT_DIM_UNKNOWN;
  }
  y->dims[axis] = sum;
  return 0;
}

/* Without attribute axes the shape is unknown: input 1 is the scale here, not the axes. */
int ft_infer_ort_reduce(struct ft_infer *in)
{
  return ft_attribute(in->op, "axes") ? ft_infer_reduce(in) : 0;
}

/* Gated activation: the last dimension is halved. */
int ft_infer_ort_halves(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  if (!ft_dim_known(last_dimension(x)))
    return 0;
  if (ft_like(in, y, x) < 0)
    return -1;
  y->dims[y->rank - 1] = ft_dim_divide(last_dimension(x), 2);
  return 0;
}

/* Skip connection and normalisation. Outputs 1 and 2 of layer norms are mean and inverse deviation,
 * the others have the input's shape. */
int ft_infer_ort_skip(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);

  for (unsigned i = 0; i < in->op->output_count; i++) {
    struct ft_tensor *y = ft_output(in, i);

    if (ft_like(in, y, x) < 0)
      return -1;
    if ((i == 1 || i == 2) && y->rank > 0 && !ft_operator_is(in->op, FT_OP_SkipGroupNorm))
      y->dims[y->rank - 1] = ft_dim_of(1);
  }
  return 0;
}

/* ReorderInput to blocks of channels, ReorderOutput back to CHANNELS; channels_last: from and to
 * (batch, spatial, channels). */
int ft_infer_ort_reorder(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  bool out = ft_operator_is(in->op, FT_OP_ReorderOutput),
       after = ft_integer(in->op, "channels_last", 0) != 0;
  int64_t channels;
  struct ft_tensor *y = ft_output(in, 0);

  if (!x || x->rank < 3)
    return 0;
  if (ft_like(in, y, x) < 0)
    return -1;
  if (after && !out) {
    y->dims[1] = last_dimension(x);
    memcpy(y->dims + 2, x->dims + 1, (size_t)(x->rank - 2) * sizeof *y->dims);
  } else if (after) {
    memcpy(y->dims + 1, x->dims + 2, (size_t)(x->rank - 2) * sizeof *y->dims);
  }
  channels = ft_integer(in->op, "channels", ft_dim_or(x->dims[1], -1));
  return out ? ft_set_dims(in, y, after ? y->rank - 1 : 1, &channels, 1) : 0;
}

/* ---- products ---- */

/* Sets ROWS and COLUMNS to X's last two dimensions, exchanged if SWAPPED; a vector is a row. */
static void matrix_dimensions(const struct ft_tensor *x, bool swapped, ft_dim *rows,
                              ft_dim *columns)
{
  *rows = x->rank > 1 ? x->dims[x->rank - (swapped ? 1 : 2)] : ft_dim_of(1);
  *columns = x->dims[x->rank - (swapped && x->rank > 1 ? 2 : 1)];
}

/* MatMul with transA and transB; with transBatchA or transBatchB the shape is unknown. */
int ft_infer_ort_product(struct ft_infer *in)
{
  bool trans_a = ft_integer(in->op, "transA", 0) != 0,
       trans_b = ft_integer(in->op, "transB", 0) != 0;
  const struct ft_tensor *a = ft_input(in, 0), *b = ft_input(in, 1);
  ft_dim rows, inner, depth, columns;

  if (ft_operator_is(in->op, FT_OP_MatMulIntegerToFloat))
    ft_output(in, 0)->element = ft_input(in, 2) ? ft_input(in, 2)->element : FT_ELEMENT_FLOAT;
  if (!a || !b || a->rank < 1 || b->rank < 2 || ft_integer(in->op, "transBatchA", 0) ||
      ft_integer(in->op, "transBatchB", 0))
    return 0;
  matrix_dimensions(a, trans_a, &rows, &inner);
  matrix_dimensions(b, trans_b, &depth, &columns);
  if (ft_dim_differ(inner, depth))
    return ft_contradiction(in, "%lld columns times %lld rows", ft_dim_shown(inner),
                            ft_dim_shown(depth));
  return ft_matmul_shape(in, a, b, rows, columns);
}

/* A product with weights of a few bits each, packed: K input features, N output features. */
int ft_infer_ort_packed(struct ft_infer *in)
{
  int64_t k = ft_integer(in->op, "K", -1), n = ft_integer(in->op, "N", -1), sizes[2];
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  if (ft_operator_is(in->op, FT_OP_MatMulFpQ4) && ft_list(in, NULL, 2, sizes, 2) == 2) {
    k = sizes[0];
    n = sizes[1];
  } else if (ft_operator_is(in->op, FT_OP_MatMulBnb4) && !ft_integer(in->op, "transB", 1)) {
    return 0;
  }
  if (!x || x->rank < 1 || k < 1 || n < 1 || n > FT_GRAPH_DIMENSION)
    return 0;
  if (ft_dim_differ(last_dimension(x), ft_dim_of(k)))
    return ft_contradiction(in, "%lld features, but weights for %lld",
                            ft_dim_shown(last_dimension(x)), (long long)k);
  if (ft_like(in, y, x) < 0)
    return -1;
  y->dims[y->rank - 1] = ft_dim_of(n);
  return 0;
}

int ft_infer_ort_gemm(struct ft_infer *in)
{
  const struct ft_tensor *a = ft_input(in, 0), *b = ft_input(in, 3), *zero = ft_input(in, 8);

  ft_output(in, 0)->element = zero ? zero->element : FT_ELEMENT_FLOAT;
  return a && b && a->rank == 2 && b->rank == 2 ? ft_infer_product(in, a, b) : 0;
}

/* Gather from a table quantised in blocks. */
int ft_infer_ort_gather(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *which = ft_input(in, 1), *scale = ft_input(in, 2);
  int64_t bits = ft_integer(in->op, "bits", 4);
  struct ft_tensor *y = ft_output(in, 0);
  int axis, at = 0;

  if (!x || !which || x->rank < 1 || which->rank < 0)
    return 0;
  y->element = scale ? scale->element : FT_ELEMENT_FLOAT;
  axis = ft_axis(in, ft_integer(in->op, "gather_axis", 0), x->rank);
  if (axis < 0 || !ft_shape(in, y, x->rank + which->rank - 1))
    return -1;
  for (int i = 0; i < x->rank; i++) {
    if (i != axis)
      y->dims[at++] = x->dims[i];
    for (int j = 0; i == axis && j < which->rank; j++)
      y->dims[at++] = which->dims[j];
  }
  if (axis != x->rank - 1 && ft_element_bits(x->element) == 8 && bits > 0 && bits < 8)
    y->dims[y->rank - 1] = ft_dim_times(last_dimension(x), ft_dim_of(8 / bits));
  return 0;
}

/* Sum of token, position and segment embeddings: (batch, length) to (batch, length, size). */
int ft_infer_ort_embed(struct ft_infer *in)
{
  const struct ft_tensor *ids = ft_input(in, 0), *words = ft_input(in, 2), *scale = ft_input(in, 8);
  bool quantized = ft_operator_is(in->op, FT_OP_QEmbedLayerNormalization);

  if (!ids || !words || ids->rank != 2 || words->rank != 2)
    return 0;
  for (unsigned i = 0; i < in->op->output_count; i++) {
    struct ft_tensor *y = ft_output(in, i);

    y->element = i == 1 ? FT_ELEMENT_INT32 : quantized && scale ? scale->element : words->element;
    if (!ft_shape(in, y, i == 1 ? 1 : 3))
      return -1;
    y->dims[0] = ids->dims[0];
    if (i == 1)
      continue;
    y->dims[1] = ids->dims[1];
    y->dims[2] = words->dims[1];
  }
  return 0;
}

/* ---- attention ---- */

/* Sizes of an attention operator. */
struct attention {
  ft_dim batch;
  ft_dim length;     /* new tokens per sequence */
  ft_dim attended;   /* past and new tokens per sequence */
  int64_t heads;     /* query heads; -1: unknown */
  int64_t kv_heads;  /* key-value heads; -1: unknown */
  ft_dim keys;       /* features of a query, all heads */
  ft_dim values;     /* features of a result, all heads */
  ft_dim projection; /* multiply-accumulates of the fused projection */
};

/* Returns the number of tokens in the KV cache PAST: dimension AXIS, unknown if the rank is not
 * RANK; 0 if PAST is NULL. */
static ft_dim past_tokens(const struct ft_tensor *past, int rank, int axis)
{
  return !past ? ft_dim_of(0) : past->rank == rank ? past->dims[axis] : FT_DIM_UNKNOWN;
}

/* Reads Attention and QAttention, which project their input: (batch, length, features) by weights
 * (features, queries + keys + values). */
static void read_projected(const struct ft_graph *g, const struct ft_operator *op,
                           struct attention *a)
{
  const struct ft_tensor *x = ft_input_tensor(g, op, 0), *w = ft_input_tensor(g, op, 1);
  const struct ft_tensor *past =
      ft_input_tensor(g, op, ft_operator_is(op, FT_OP_QAttention) ? 8 : 4);
  const struct ft_attribute *sizes = ft_attribute(op, "qkv_hidden_sizes");

  if (!x || !w || x->rank != 3 || w->rank != 2)
    return;
  a->batch = x->dims[0];
  a->length = x->dims[1];
  a->attended = ft_dim_plus(a->length, past_tokens(past, 5, 3));
  a->heads = a->kv_heads = ft_integer(op, "num_heads", -1);
  a->keys = a->values = ft_dim_divide(w->dims[1], 3);
  if (sizes && sizes->integers && sizes->count == 3) {
    a->keys = ft_dim_of(sizes->integers[0]);
    a->values = ft_dim_of(sizes->integers[2]);
  }
  a->projection =
      ft_dim_times(ft_dim_times(a->batch, a->length), ft_dim_times(w->dims[0], w->dims[1]));
}

/* Reads attention without a projection: queries, keys and values, separate or packed, and a KV
 * cache. */
static void read_unprojected(const struct ft_graph *g, const struct ft_operator *op,
                             struct attention *a)
{
  bool grouped = ft_operator_is(op, FT_OP_GroupQueryAttention);
  const struct ft_tensor *q = ft_input_tensor(g, op, 0), *k = ft_input_tensor(g, op, 1),
                         *v = ft_input_tensor(g, op, 2);
  const struct ft_tensor *past = ft_input_tensor(g, op, grouped ? 3 : 6);
  ft_dim heads, per_head;

  a->heads = ft_integer(op, "num_heads", -1);
  a->kv_heads = ft_integer(op, "kv_num_heads", a->heads);
  if (!q || q->rank < 3 || a->heads < 1 || a->kv_heads < 1)
    return;
  a->batch = q->dims[0];
  a->length = a->attended = q->dims[1];
  heads = ft_dim_of(a->heads);
  if (q->rank == 5) {
    a->keys = a->values = ft_dim_times(q->dims[2], q->dims[4]);
  } else if (!k) {
    per_head = ft_dim_divide(q->dims[2], ft_known_plus(a->heads, ft_known_times(2, a->kv_heads)));
    a->keys = a->values = ft_dim_times(per_head, heads);
  } else {
    a->keys = a->values = q->dims[2];
    a->attended = k->rank == 4                   ? k->dims[2]
                  : k->rank == 3 || k->rank == 5 ? k->dims[1]
                                                 : FT_DIM_UNKNOWN;
    if (v && v->rank == 4)
      a->values = ft_dim_times(v->dims[1], v->dims[3]);
    else if (v && v->rank == 3 && ft_dim_known(v->dims[2]))
      a->values = ft_dim_times(ft_dim_divide(v->dims[2], a->kv_heads), heads);
  }
  a->attended = ft_dim_plus(a->attended, past_tokens(past, 4, 2));
}

static struct attention read_attention(const struct ft_graph *g, const struct ft_operator *op)
{
  const ft_dim unknown = FT_DIM_UNKNOWN;
  struct attention a = { unknown, unknown, unknown, -1, -1, unknown, unknown, ft_dim_of(0) };

  if (ft_operator_is(op, FT_OP_Attention) || ft_operator_is(op, FT_OP_QAttention))
    read_projected(g, op, &a);
  else
    read_unprojected(g, op, &a);
  return a;
}

/* Outputs: (batch, length, features), then the KV cache: keys and values, each (batch, heads,
 * tokens, head size), or one tensor of both. */
int ft_infer_ort_attention(struct ft_infer *in)
{
  const struct attention a = read_attention(in->graph, in->op);
  bool joined = ft_operator_is(in->op, FT_OP_Attention) || ft_operator_is(in->op, FT_OP_QAttention);
  const struct ft_tensor *x = ft_input(in, 0);

  if (!x || a.heads < 1 || !ft_dim_known(a.values))
    return 0;
  for (unsigned i = 0; i < in->op->output_count && i < 3; i++) {
    struct ft_tensor *y = ft_output(in, i);
    ft_dim *dims = ft_shape(in, y, i == 0 ? 3 : joined ? 5 : 4);

    if (!dims)
      return -1;
    y->element = ft_element_is_real(x->element) ? x->element : FT_ELEMENT_FLOAT;
    if (i == 0) {
      dims[0] = a.batch;
      dims[1] = a.length;
      dims[2] = a.values;
      continue;
    }
    if (joined)
      *dims++ = ft_dim_of(2);
    dims[0] = a.batch;
    dims[1] = ft_dim_of(a.kv_heads);
    dims[2] = a.attended;
    dims[3] = ft_dim_divide(i == 1 ? a.keys : a.values, a.heads);
  }
  return 0;
}

/* ---- multiply-accumulates ---- */

/* Returns the multiply-accumulates of a mixture of experts: each token passes through K experts of
 * two or three matrices. QMoE packs 8 / expert_weight_bits weights into a byte. */
static ft_dim expert_macs(const struct ft_graph *g, const struct ft_operator *op)
{
  bool packed = ft_operator_is(op, FT_OP_QMoE);
  int64_t bits = packed ? ft_integer(op, "expert_weight_bits", 4) : 8;
  int64_t features = ft_dim_or(last_dimension(ft_input_tensor(g, op, 0)), 0);
  ft_dim sum = ft_dim_of(0), tokens;

  if (features < 1 || bits < 1 || bits > 8)
    return FT_DIM_UNKNOWN;
  for (uint32_t i = 2; i <= (packed ? 8 : 6); i += packed ? 3 : 2) {
    const struct ft_tensor *w = ft_input_tensor(g, op, i);

    if (w && (w->rank != 3 || ft_dim_or(w->dims[0], 0) < 1))
      return FT_DIM_UNKNOWN;
    if (w)
      sum =
          ft_dim_plus(sum, ft_dim_times(ft_dim_times(w->dims[1], w->dims[2]), ft_dim_of(8 / bits)));
  }
  tokens = ft_dim_divide(ft_tensor_elements(ft_input_tensor(g, op, 0)), features);
  return ft_dim_times(ft_dim_times(tokens, ft_dim_of(ft_integer(op, "k", 1))), sum);
}

ft_dim ft_ort_macs(const struct ft_graph *graph, const struct ft_operator *op)
{
  struct attention a;

  if (ft_operator_is(op, FT_OP_MoE) || ft_operator_is(op, FT_OP_QMoE))
    return expert_macs(graph, op);
  a = read_attention(graph, op);
  return ft_dim_plus(a.projection,
                     ft_dim_times(ft_dim_times(ft_dim_times(a.batch, a.length), a.attended),
                                  ft_dim_plus(a.keys, a.values)));
}
