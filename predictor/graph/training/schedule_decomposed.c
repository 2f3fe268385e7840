/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of decomposed operators in the forward pass: attention that runs as several operations,
 * and the forms of decomposed.h. Also tensors that a fused attention kernel saves. */
#include "config.h"

#include "predictor/graph/shape/infer.h"
#include "predictor/graph/training/schedule_plan.h"
#include "predictor/graph/training/decomposed.h"

static const struct ft_operator_hints *hints_of(const struct ft_operator *op)
{
  static const struct ft_operator_hints none;

  return op->hints ? op->hints : &none;
}

/* ---- attention ---- */

/* Returns the number of attention scores of OP for the whole batch; 0 if OP is no attention. */
static int64_t score_elements(const struct ft_plan *p, const struct ft_operator *op)
{
  const struct ft_tensor *q = ft_plan_tensor(p, ft_input_of(op, 0));
  const struct ft_tensor *k = ft_plan_tensor(p, ft_input_of(op, 1));
  const struct ft_tensor *past = ft_plan_tensor(p, ft_input_of(op, 4));
  ft_dim rows, columns;

  if (!ft_operator_is(op, FT_OP_Attention) || q->rank < 3 || k->rank < 3)
    return 0;
  rows = ft_dim_product(q->dims, q->rank - 1);
  if (q->rank == 3) /* the last dimension has all heads */
    rows = ft_dim_times(rows, ft_dim_of(ft_integer(op, "q_num_heads", 1)));
  columns = k->dims[k->rank - 2];
  if (ft_input_of(op, 4) && past->rank == 4)
    columns = ft_dim_plus(columns, past->dims[2]);
  return ft_known_times(ft_dim_or(ft_dim_times(rows, columns), 0), q->data ? p->options->batch : 1);
}

/* Returns the number of query heads per KV head; 1: unknown or equal. */
static int64_t queries_per_key(const struct ft_plan *p, const struct ft_operator *op)
{
  const struct ft_tensor *q = ft_plan_tensor(p, ft_input_of(op, 0));
  const struct ft_tensor *k = ft_plan_tensor(p, ft_input_of(op, 1));

  int64_t queries = q->rank == 4 ? ft_dim_or(q->dims[1], 0) : 0;
  int64_t keys = k->rank == 4 ? ft_dim_or(k->dims[1], 0) : 0;

  return keys > 0 && queries > keys ? queries / keys : 1;
}

/* Returns whether OP has a mask tensor. Its kernel needs keys and values repeated for each query
 * head (transformers' sdpa_attention.py, use_gqa_in_sdpa). */
static bool is_masked(const struct ft_operator *op)
{
  return hints_of(op)->masked;
}

/* Grouped-query attention has a fused kernel in 16 bits only (scaled_dot_product_attention,
 * enable_gqa: "works only for Flash_attention and math kernel"). */
bool ft_plan_decomposes_attention(const struct ft_plan *p, const struct ft_operator *op)
{
  return ft_operator_is(op, FT_OP_Attention) &&
         (!p->options->fused_attention || hints_of(op)->plain ||
          (p->options->precision < FT_PRECISION_AMP && queries_per_key(p, op) > 1 &&
           !is_masked(op)));
}

/* Returns whether OP requests a kernel that does not exist in 16 bits: PyTorch then runs separate
 * operations in fp32 (_scaled_dot_product_attention_math). */
static bool runs_in_32_bits(const struct ft_plan *p, const struct ft_operator *op)
{
  return p->options->fused_attention && p->options->precision > FT_PRECISION_AMP &&
         hints_of(op)->math;
}

int64_t ft_plan_scores(const struct ft_plan *p, const struct ft_operator *op)
{
  if (!ft_plan_decomposes_attention(p, op))
    return 0;
  return ft_known_times(score_elements(p, op),
                        runs_in_32_bits(p, op) ? 4 : p->storages[op->outputs[0]].width);
}

/* Saves a new buffer of ELEMENTS of WIDTH bytes for operator I. */
static void keep_elements(struct ft_plan *p, uint32_t i, int64_t elements, int64_t width)
{
  ft_plan_save(p, i, ft_plan_allocate(p, ft_known_times(elements, width)));
}

/*
 * The softmax saves the probabilities, in fp32 under autocast or where the code casts the scores.
 * Dropout saves a mask of one byte each. The product with the values saves its operand, if a cast
 * or dropout made it another tensor.
 */
void ft_plan_decomposed_attention(struct ft_plan *p, uint32_t i, bool saves)
{
  const struct ft_operator *op = &p->block->operators[i];
  int64_t elements = ft_plan_decomposes_attention(p, op) ? score_elements(p, op) : 0;
  int64_t width = runs_in_32_bits(p, op) ? 4 : p->storages[op->outputs[0]].width;
  bool dropout = p->options->training && hints_of(op)->dropout;
  bool wide = width < 4 && (p->options->precision == FT_PRECISION_AMP || hints_of(op)->upcast);
  uint32_t copies[4] = { 0, 0, 0, 0 }, scores, probabilities;

  if (!elements)
    return;
  for (uint32_t j = 0; !saves && j < 3; j++)
    copies[j] = ft_plan_allocate(p, ft_plan_operand(p, op, ft_input_of(op, j)));
  if (!saves && p->options->fused_attention && !hints_of(op)->plain) /* the scaled keys */
    copies[3] = ft_plan_allocate(p, ft_plan_operand(p, op, ft_input_of(op, 1)));
  scores = ft_plan_allocate(p, ft_known_times(elements, width));
  if (saves && p->storages[op->outputs[0]].wanted && hints_of(op)->softcap)
    /* tanh's result, or its sum with an fp32 mask, which autocast does not narrow */
    keep_elements(p, i, elements,
                  hints_of(op)->softcap > 1 && p->options->precision == FT_PRECISION_AMP ? 4
                                                                                         : width);
  probabilities = ft_plan_allocate(p, ft_known_times(elements, wide ? 4 : width));
  ft_plan_release(p, scores);
  if (!saves || !p->storages[op->outputs[0]].wanted) {
    ft_plan_release(p, probabilities);
    for (int j = 0; j < 4; j++)
      ft_plan_release(p, copies[j]);
    return;
  }
  ft_plan_save(p, i, probabilities);
  if (dropout)
    keep_elements(p, i, elements, 1);
  if (dropout || wide)
    keep_elements(p, i, elements, width);
}

/* ---- operands of attention ---- */

/*
 * Returns how many times keys or values T are repeated in memory: once per query head of a KV head.
 * repeat_kv expands a single KV head as a view, until a cast or a product of several samples copies
 * it.
 */
static int64_t kv_repetitions(const struct ft_plan *p, const struct ft_operator *op, uint32_t t)
{
  const struct ft_tensor *k = ft_plan_tensor(p, t);
  bool plain = !p->options->fused_attention || hints_of(op)->plain;
  bool cast = p->options->precision == FT_PRECISION_AMP && p->storages[t].width == 4;

  if (k->rank != 4 || !ft_dim_is(k->dims[1], 1))
    return queries_per_key(p, op);
  if (plain ? ft_known_times(ft_dim_or(k->dims[0], 0), k->data ? p->options->batch : 1) < 2
            : is_masked(op) && !cast)
    return 1;
  return queries_per_key(p, op);
}

/* Reasons for a copy: keys and values are repeated for each query head; a part of a larger tensor
 * has no view of three dimensions; some code computes the scores in fp32. */
int64_t ft_plan_operand(const struct ft_plan *p, const struct ft_operator *op, uint32_t t)
{
  const struct ft_storage *storage = &p->storages[t];
  int64_t bytes = ft_plan_bytes(p, t), times = 1, width = storage->width;

  if ((!ft_plan_decomposes_attention(p, op) &&
       (!is_masked(op) || !ft_operator_is(op, FT_OP_Attention) || t == ft_input_of(op, 0) ||
        kv_repetitions(p, op, t) < 2)) ||
      !width)
    return 0;
  if (p->options->precision == FT_PRECISION_AMP)
    width = 2; /* the operands of autocast's products */
  else if (runs_in_32_bits(p, op))
    width = 4;
  else if (t != ft_input_of(op, 2) && hints_of(op)->upcast > 1)
    width = 4;
  if (t != ft_input_of(op, 0))
    times = kv_repetitions(p, op, t);
  if (times < 2 && width == storage->width && ft_plan_bytes(p, storage->owner) <= bytes)
    return 0;
  return ft_known_times(bytes / storage->width, times * width);
}

/* Returns whether T's rows have a multiple of 8 elements, as the kernel requires of a bias. */
static bool has_aligned_rows(const struct ft_tensor *t)
{
  return t->rank > 0 && ft_dim_or(t->dims[t->rank - 1], 1) % 8 == 0;
}

/* Saves what a fused kernel computes besides its output: the log-sum-exp of each head and row in
 * fp32, the expanded mask, the bias of the scores if that needs a gradient. */
static void keep_fused_attention(struct ft_plan *p, uint32_t i)
{
  const struct ft_operator *op = &p->block->operators[i];
  const struct ft_tensor *y = ft_plan_tensor(p, op->outputs[0]);
  uint32_t bias = ft_input_of(op, 3);
  int64_t elements = ft_dim_or(ft_tensor_elements(y), 0);
  int64_t heads = y->rank > 1 ? ft_dim_or(y->dims[1], 0) : 0;

  if (elements && y->rank > 0)
    keep_elements(
        p, i, ft_known_times(elements / ft_dim_or(y->dims[y->rank - 1], 1), p->options->batch), 4);
  if (is_masked(op) && heads)
    keep_elements(p, i, score_elements(p, op) / heads, p->storages[op->outputs[0]].width);
  /* a parameter whose rows are aligned is read in place (sdp_utils, pad_bias) */
  if (bias && p->storages[bias].wanted &&
      (!p->storages[p->storages[bias].owner].fixed || !has_aligned_rows(ft_plan_tensor(p, bias))))
    keep_elements(p, i, ft_dim_or(ft_tensor_elements(ft_plan_tensor(p, bias)), 0),
                  p->storages[op->outputs[0]].width);
}

/* ---- decomposed operators ---- */

bool ft_plan_save_decomposed(struct ft_plan *p, uint32_t i, bool *input)
{
  const struct ft_operator *op = &p->block->operators[i];
  const struct ft_tensor *y = ft_plan_tensor(p, op->outputs[0]);
  int64_t elements = ft_known_times(ft_dim_or(ft_tensor_elements(y), 0), p->options->batch);
  uint8_t width = p->storages[ft_input_of(op, 0)].width;
  struct ft_decomposed decomposed;

  *input = false;
  if (ft_operator_is(op, FT_OP_Attention) && !ft_plan_decomposes_attention(p, op))
    keep_fused_attention(p, i);
  if (!elements || y->rank < 1 ||
      !ft_decomposed_of(op,
                        width == 4                                  ? FT_DECOMPOSED_32
                        : p->options->precision == FT_PRECISION_AMP ? FT_DECOMPOSED_CAST
                                                                    : FT_DECOMPOSED_16,
                        &decomposed))
    return false;
  if (!p->storages[ft_input_of(op, 1)].wanted)
    ft_decomposed_freeze(op, &decomposed);
  if (ft_decomposed_narrows(op) && p->options->precision == FT_PRECISION_AMP && width == 4) {
    keep_elements(p, i, elements, 2); /* the operator's own cast */
    decomposed.input = false;
  }
  for (int k = 0; k < decomposed.narrow; k++)
    keep_elements(p, i, elements, width);
  for (int k = 0; k < decomposed.wide; k++)
    keep_elements(p, i, elements, 4);
  if (ft_operator_is(op, FT_OP_RMSNormalization) || ft_operator_is(op, FT_OP_LayerNormalization))
    keep_elements(p, i, elements / ft_dim_or(y->dims[y->rank - 1], 1), 4);
  *input = decomposed.input;
  return true;
}
