/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Storage of tensors, before the pass: owners, views, strides, element widths, liveness. */
#include "config.h"

#include "predictor/graph/shape/einsum.h"
#include "predictor/graph/shape/infer.h"
#include "predictor/graph/shape/operators.h"
#include "predictor/graph/training/schedule_plan.h"
#include "predictor/graph/training/decomposed.h"

bool ft_plan_selects(const struct ft_plan *p, const struct ft_operator *op)
{
  return ft_operator_is(op, FT_OP_Gather) && op->input_count > 1 &&
         ft_plan_tensor(p, op->inputs[1])->rank == 0 && !ft_plan_tensor(p, op->inputs[1])->data;
}

/* Exporters write the padding of an average pooling as an operator, never that of a max pooling. */
bool ft_plan_pads_pool(const struct ft_plan *p, const struct ft_operator *op)
{
  const struct ft_operator *user = p->users[op->outputs[0]];

  return ft_operator_is(op, FT_OP_Pad) && p->uses[op->outputs[0]] == 1 && user &&
         ft_operator_is(user, FT_OP_AveragePool);
}

struct ft_strides ft_plan_strides(const struct ft_plan *p, uint32_t t)
{
  struct ft_strides strides = { { 0 } };

  if (p->storages[t].strides)
    return *p->storages[t].strides;
  if (ft_plan_tensor(p, t)->rank > 0)
    ft_strides_dense(ft_plan_tensor(p, t), &strides);
  return strides;
}

/* Stores STRIDES of T; dense strides as NULL. */
static void set_strides(struct ft_plan *p, uint32_t t, const struct ft_strides *strides)
{
  struct ft_strides *own, dense = { { 0 } };
  size_t size = sizeof *strides->step *
                (size_t)(ft_plan_tensor(p, t)->rank > 0 ? ft_plan_tensor(p, t)->rank : 0);

  if (ft_plan_tensor(p, t)->rank <= 0)
    return;
  ft_strides_dense(ft_plan_tensor(p, t), &dense);
  if (memcmp(&dense, strides, size) == 0)
    return;
  own = ft_arena_take(&p->graph->results, sizeof *own);
  if (!own)
    p->failed = true;
  else
    memcpy(own, strides, size);
  p->storages[t].strides = own;
}

/* Returns whether OP returns its input itself: a cast to the same type, dropout of nothing, or in
 * inference. */
static bool returns_input(const struct ft_plan *p, const struct ft_operator *op)
{
  if (ft_operator_is(op, FT_OP_Dropout))
    return op->idle || (!p->options->training && op->output_count == 1);
  return ft_operator_is(op, FT_OP_Cast) &&
         ft_plan_tensor(p, op->inputs[0])->element == ft_plan_tensor(p, op->outputs[0])->element;
}

/* Returns whether OP casts its input, of real numbers, to another width. */
static bool changes_width(const struct ft_plan *p, const struct ft_operator *op)
{
  return ft_plan_real(p, op->inputs[0]) && ft_plan_real(p, op->outputs[0]) &&
         p->storages[op->inputs[0]].width != p->storages[op->outputs[0]].width;
}

/* Returns whether OP's outputs are views of its first input, and sets STRIDES to theirs. */
static bool find_view(const struct ft_plan *p, const struct ft_operator *op,
                      struct ft_strides *strides)
{
  const struct ft_tensor *x = ft_plan_tensor(p, op->inputs[0]),
                         *y = ft_plan_tensor(p, op->outputs[0]);
  struct ft_strides from;

  if (!op->kind || x->rank < 0 || y->rank < 0 || changes_width(p, op) ||
      (!ft_operator_is_view(op) && !ft_plan_selects(p, op) && !returns_input(p, op)))
    return false;
  from = ft_plan_strides(p, op->inputs[0]);
  if (returns_input(p, op)) {
    *strides = from;
    return true;
  }
  if (op->kind->view == FT_VIEW_RESHAPED)
    return ft_strides_reshape(x, &from, y->dims, y->rank, strides);
  return ft_strides_view(p->graph, op, &from, strides);
}

/* Returns the operator that produces OP's first input; NULL: none. */
static const struct ft_operator *first_producer(const struct ft_plan *p,
                                                const struct ft_operator *op)
{
  return ft_block_producer(p->block, ft_plan_tensor(p, ft_input_of(op, 0)));
}

/* Returns whether OP's output has the size of its first input, which is then not broadcast. */
static bool keeps_first_size(const struct ft_plan *p, const struct ft_operator *op)
{
  ft_dim first = ft_tensor_elements(ft_plan_tensor(p, op->inputs[0]));
  ft_dim result = ft_tensor_elements(ft_plan_tensor(p, op->outputs[0]));

  return ft_dim_known(first) ? ft_dim_equal(first, result) : !ft_dim_known(result);
}

/* Returns whether OP adds a bias or a residual in place of its first operand. */
static bool adds_in_place(const struct ft_plan *p, const struct ft_operator *op)
{
  const struct ft_operator *from = first_producer(p, op);

  if (!ft_operator_is(op, FT_OP_Add) || !from || p->uses[op->inputs[0]] != 1 ||
      !keeps_first_size(p, op))
    return false;
  return ft_operator_is(from, FT_OP_BatchNormalization) ||
         (ft_operator_is(from, FT_OP_MatMul) && p->cost->trainable[ft_input_of(op, 1)]);
}

bool ft_plan_in_place(const struct ft_plan *p, const struct ft_operator *op)
{
  const struct ft_operator *from = first_producer(p, op);

  if (adds_in_place(p, op))
    return true;
  if (p->options->out_of_place)
    return false;
  return ft_autograd_rule_of(op).in_place && from && p->uses[op->inputs[0]] == 1 &&
         (ft_operator_is(op, FT_OP_Relu) || ft_operator_is(from, FT_OP_BatchNormalization) ||
          ft_operator_is(from, FT_OP_Conv)) &&
         !p->storages[op->inputs[0]].strides &&
         !(ft_autograd_rule_of(from).saves & FT_SAVES_RESULT) && keeps_first_size(p, op);
}

/* Records that operator index WHEN - 1 reads T; UINT32_MAX: live until the end. */
static void mark_read(struct ft_plan *p, uint32_t t, uint32_t when)
{
  if (ft_plan_owner(p, t)->last < when)
    ft_plan_owner(p, t)->last = when;
}

static void count_uses(struct ft_plan *p)
{
  for (uint32_t i = 0; i < p->block->operator_count; i++) {
    const struct ft_operator *op = &p->block->operators[i];

    for (uint32_t j = 0; j < op->input_count; j++) {
      p->uses[op->inputs[j]]++;
      p->users[op->inputs[j]] = op;
    }
    for (uint32_t j = 0; j < op->capture_count; j++)
      p->uses[op->captures[j]]++;
  }
  for (uint32_t i = 0; i < p->block->output_count; i++)
    p->uses[p->block->outputs[i]]++;
}

/* Sets the storage owner and the strides of OP's outputs: a view or in place shares the first
 * input's storage. */
static void place_results(struct ft_plan *p, const struct ft_operator *op,
                          const struct ft_fusion *fusion)
{
  struct ft_strides strides = { { 0 } }, from;
  const struct ft_tensor *y = ft_plan_tensor(p, op->output_count ? op->outputs[0] : 0);
  struct ft_einsum_product product;
  bool view;

  if (!op->output_count || !op->input_count || y->rank < 0)
    return;
  if (y->rank == 4 && ft_operator_is(op, FT_OP_Attention) &&
      p->options->precision >= FT_PRECISION_AMP &&
      !ft_plan_decomposes_attention(p, op)) { /* the queries' strides (flash_api.cpp, empty_like) */
    from = ft_plan_strides(p, op->inputs[0]);
    ft_strides_like(y, &from, &strides);
    set_strides(p, op->outputs[0], &strides);
    return;
  }
  if (y->rank == 4 &&
      (fusion->kind == FT_FUSED_ATTENTION ||
       (ft_operator_is(op, FT_OP_Attention) && !ft_plan_decomposes_attention(p, op)))) {
    /* the heads of a token are adjacent */
    int64_t size = ft_dim_or(y->dims[3], 0);
    int64_t row = ft_known_times(ft_dim_or(y->dims[1], 0), size);

    strides =
        (struct ft_strides){ { ft_known_times(ft_dim_or(y->dims[2], 0), row), size, row, 1 } };
    set_strides(p, op->outputs[0], &strides);
    return;
  }
  if (fusion->kind != FT_FUSED_NOT || !op->inputs[0])
    return;
  if (ft_operator_is(op, FT_OP_Einsum) && ft_einsum_product(p->graph, op, &product)) {
    set_strides(p, op->outputs[0], &product.result);
    return;
  }
  view = find_view(p, op, &strides);
  if (view || ft_plan_in_place(p, op) || ft_plan_pads_pool(p, op)) {
    for (uint32_t j = 0; j < op->output_count; j++) {
      p->storages[op->outputs[j]].owner = p->storages[op->inputs[0]].owner;
      if (view)
        set_strides(p, op->outputs[j], &strides);
    }
  } else if (p->storages[op->inputs[0]].strides &&
             ft_plan_tensor(p, op->inputs[0])->rank == y->rank && keeps_first_size(p, op) &&
             ft_autograd_rule_of(op).gradient != FT_GRADIENT_STOPS && op->kind &&
             op->kind->work == FT_WORK_NONE && !ft_operator_is(op, FT_OP_Softmax) &&
             !ft_operator_is(op, FT_OP_Concat) && !ft_operator_is_view(op)) {
    from = ft_plan_strides(p, op->inputs[0]);
    ft_strides_like(y, &from, &strides);
    set_strides(p, op->outputs[0], &strides);
  }
}

/* Returns whether autocast runs OP in fp32 (torch.amp, "CUDA Ops that can autocast to float32"). */
static bool autocasts_to_fp32(const struct ft_operator *op, const struct ft_fusion *fusion)
{
  return fusion->kind == FT_FUSED_NORM ||
         (fusion->kind == FT_FUSED_NOT && ft_operator_has(op, FT_OPERATOR_AUTOCAST_32));
}

uint32_t ft_plan_widened(const struct ft_plan *p, uint32_t i)
{
  const struct ft_operator *op = &p->block->operators[i];
  uint32_t t = p->fusions[i].input ? p->fusions[i].input : ft_input_of(op, 0);
  struct ft_decomposed decomposed;

  if (ft_decomposed_of(op, FT_DECOMPOSED_CAST, &decomposed))
    return 0; /* the decomposed form includes the cast */
  return p->options->precision == FT_PRECISION_AMP && autocasts_to_fp32(op, &p->fusions[i]) &&
                 p->storages[t].width == 2 && ft_plan_real(p, t)
             ? t
             : 0;
}

static bool is_wide(const struct ft_tensor *t)
{
  return t->constant && t->constant->wide;
}

/* Returns whether a file of 16-bit weights computes T in 32 bits: its code casts to fp32 itself, as
 * most normalisations of language models do. */
static bool computes_in_32_bits(const struct ft_plan *p, uint32_t t)
{
  return p->graph->computed && ft_plan_tensor(p, t)->element == FT_ELEMENT_FLOAT;
}

/* Returns the bytes of an element of OP's outputs. Under autocast: 2 for matrix products, 4 for
 * operators that autocast runs in fp32, otherwise those of the widest input. */
static uint8_t width_of(const struct ft_plan *p, const struct ft_operator *op,
                        const struct ft_fusion *fusion)
{
  uint8_t width = 2;
  bool promotes = op->kind && op->kind->work == FT_WORK_NONE; /* fp32 parameters widen the result */

  if (ft_decomposed_floats(op))
    return 4;
  if (ft_decomposed_narrows(op) && p->options->precision == FT_PRECISION_AMP)
    return 2;
  if (ft_decomposed_widens(op) && p->options->precision == FT_PRECISION_AMP)
    return 4;
  if (p->options->precision < FT_PRECISION_AMP)
    return 4;
  for (uint32_t i = 0; i < op->input_count; i++)
    if (p->options->precision > FT_PRECISION_AMP && is_wide(ft_plan_tensor(p, op->inputs[i])))
      return 4;
  if (p->options->precision > FT_PRECISION_AMP)
    return op->output_count && computes_in_32_bits(p, op->outputs[0]) ? 4 : 2;
  if (autocasts_to_fp32(op, fusion))
    return 4;
  if (op->kind && op->kind->weight)
    return 2;
  if (fusion->kind == FT_FUSED_ATTENTION || ft_operator_is(op, FT_OP_Attention))
    return 2;
  if (fusion->kind == FT_FUSED_ACTIVATION)
    return p->storages[fusion->input].width;
  for (uint32_t i = 0; i < op->input_count; i++)
    if ((ft_plan_tensor(p, op->inputs[i])->data ||
         (promotes && (p->storages[op->inputs[i]].wanted || p->cost->frozen[op->inputs[i]]))) &&
        p->storages[op->inputs[i]].width > width)
      width = p->storages[op->inputs[i]].width;
  return width;
}

/* Sets each tensor's storage owner, width, strides and last reader, and whether it needs a
 * gradient. */
void ft_plan_settle(struct ft_plan *p)
{
  count_uses(p);
  for (uint32_t t = 0; t < p->graph->tensor_count; t++) {
    p->storages[t].owner = t;
    p->storages[t].wanted = p->cost->trainable[t];
    p->storages[t].width =
        p->options->precision > FT_PRECISION_AMP && !is_wide(ft_plan_tensor(p, t)) ? 2 : 4;
    p->storages[t].fixed = ft_plan_tensor(p, t)->constant || p->cost->trainable[t];
  }
  for (uint32_t i = 0; i < p->block->input_count; i++)
    p->storages[p->block->inputs[i]].fixed = true;
  for (uint32_t i = 0; i < p->block->operator_count; i++) {
    const struct ft_operator *op = &p->block->operators[i];
    bool wanted = false;

    for (uint32_t j = 0; j < op->input_count; j++)
      wanted = wanted || (op->inputs[j] && p->storages[op->inputs[j]].wanted);
    if (ft_autograd_rule_of(op).gradient == FT_GRADIENT_STOPS)
      wanted = false;
    for (uint32_t j = 0; j < op->output_count; j++)
      if (op->outputs[j] && ft_plan_real(p, op->outputs[j]))
        p->storages[op->outputs[j]].wanted = p->storages[op->outputs[j]].wanted || wanted;
  }
  for (uint32_t i = 0; i < p->block->operator_count; i++) {
    const struct ft_operator *op = &p->block->operators[i];
    const struct ft_fusion *fusion = &p->fusions[i];

    if (!ft_plan_runs(p, op))
      continue;
    for (uint32_t j = 0; j < op->output_count; j++)
      p->storages[op->outputs[j]].width = width_of(p, op, fusion);
    place_results(p, op, fusion);
    for (uint32_t j = 0; j < op->input_count; j++)
      mark_read(p, op->inputs[j], i + 1);
    for (uint32_t j = 0; j < op->capture_count; j++)
      mark_read(p, op->captures[j], i + 1);
    mark_read(p, fusion->input, i + 1);
    mark_read(p, fusion->keys, i + 1);
    mark_read(p, fusion->values, i + 1);
  }
  for (uint32_t i = 0; i < p->block->output_count; i++)
    mark_read(p, p->block->outputs[i], UINT32_MAX);
  for (uint32_t i = 0; i < p->graph->kv_cache_count; i++)
    mark_read(p, p->graph->kv_cache[i], UINT32_MAX);
}
