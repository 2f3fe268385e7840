/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds an operator's forward pass to the schedule: outputs, casts, workspace, saved tensors. */
#include "config.h"

#include "predictor/graph/shape/einsum.h"
#include "predictor/graph/shape/infer.h"
#include "predictor/graph/shape/operators.h"
#include "predictor/graph/training/schedule_plan.h"

/* Returns whether OP reads T as a 16-bit copy: cast by autocast, or by the model's code in a 16-bit
 * network. */
static bool is_cast(const struct ft_plan *p, const struct ft_operator *op, uint32_t t)
{
  bool wide = p->storages[t].width == 4 && t != op->outputs[0];

  if (!op->kind || p->options->precision < FT_PRECISION_AMP ||
      ft_operator_has(op, FT_OPERATOR_AUTOCAST_32))
    return false;
  if (p->options->precision > FT_PRECISION_AMP)
    return op->kind->weight && wide && p->storages[op->outputs[0]].width == 2;
  return (op->kind->weight ||
          (ft_operator_is(op, FT_OP_Attention) && !ft_plan_decomposes_attention(p, op) &&
           !ft_plan_operand(p, op, t))) &&
         (p->cost->trainable[t] || wide);
}

/* Saves tensor T of the graph for the backward pass of OP, unless T is live during the whole pass
 * or OP saves a cast copy of T instead. */
static void save_graph_tensor(struct ft_plan *p, uint32_t op, uint32_t t)
{
  struct ft_storage *storage = ft_plan_owner(p, t);

  /* the cast copy is saved instead */
  if (!t || storage->fixed || !storage->buffer || is_cast(p, &p->block->operators[op], t) ||
      ft_plan_widened(p, op) == t)
    return;
  ft_plan_save(p, op, ft_plan_retain(p, storage->buffer));
}

static bool wants_gradient(const struct ft_plan *p, uint32_t t)
{
  return p->storages[t].wanted;
}

/* Returns what OP, whose output needs a gradient, saves (FT_SAVES_*). */
static unsigned saved_by(const struct ft_plan *p, const struct ft_operator *op)
{
  return ft_autograd_saves(op, wants_gradient(p, ft_input_of(op, 0)),
                           wants_gradient(p, ft_input_of(op, 1)));
}

/* Allocates BYTES that operator I computes for its backward pass, and saves them. */
static void save_new_buffer(struct ft_plan *p, uint32_t i, int64_t bytes)
{
  ft_plan_save(p, i, ft_plan_allocate(p, bytes));
}

/* Saves what operator I computes for its backward pass and is no tensor of the graph, by SAVES
 * (FT_SAVES_*). */
static void save_extras(struct ft_plan *p, uint32_t i, unsigned saves)
{
  const struct ft_operator *op = &p->block->operators[i];
  const struct ft_tensor *y = ft_plan_tensor(p, op->outputs[0]);
  int64_t sizes[FT_AUTOGRAD_EXTRAS];
  unsigned count = ft_autograd_extras(op, y, saves, p->options->batch, sizes);

  if (ft_dim_is(ft_tensor_elements(y), 0))
    return;
  for (unsigned k = 0; k < count; k++)
    save_new_buffer(p, i, sizes[k]);
}

int64_t ft_plan_broadcast(const struct ft_plan *p, const struct ft_operator *op, uint32_t t)
{
  const struct ft_tensor *x = ft_plan_tensor(p, t), *y = ft_plan_tensor(p, op->outputs[0]);
  int64_t own, wide;

  if (!ft_operator_is(op, FT_OP_MatMul) || x->rank < 3 || y->rank < 4 ||
      ft_plan_tensor(p, op->inputs[op->inputs[0] == t])->rank < 3)
    return 0;
  own = ft_dim_or(ft_dim_product(x->dims, x->rank - 2), 0);
  wide = ft_dim_or(ft_dim_product(y->dims, y->rank - 2), 0);
  return own > 0 && wide > own ? ft_known_times(ft_plan_bytes(p, t), wide / own) : 0;
}

/*
 * Returns the buffer of the copy that a matrix product makes of operand T; 0: none. The product
 * reshapes operands of more than three dimensions to three, or to two if the other operand is a
 * matrix. Operands whose strides do not allow this view are copied, and the copy is saved
 * (aten/src/ATen/native/LinearAlgebra.cpp, matmul).
 */
static uint32_t copy_of_operand(struct ft_plan *p, const struct ft_operator *op, uint32_t t)
{
  const struct ft_tensor *x = ft_plan_tensor(p, t), *y = ft_plan_tensor(p, op->outputs[0]);
  const struct ft_tensor *other = ft_plan_tensor(p, op->inputs[op->inputs[0] == t]);
  int64_t broadcast = ft_plan_broadcast(p, op, t);
  ft_dim dims[3];
  struct ft_strides from, strides;
  int kept = other->rank == 2 ? 1 : 2;

  if (x->rank < 3 || (kept == 2 && y->rank < 4) || other->rank < 2)
    return 0;
  if (broadcast)
    return ft_plan_allocate(p, broadcast);
  dims[0] = ft_dim_product(x->dims, x->rank - kept);
  for (int i = 0; i < kept; i++)
    dims[i + 1] = x->dims[x->rank - kept + i];
  from = ft_plan_strides(p, t);
  if (ft_strides_reshape(x, &from, dims, kept + 1, &strides))
    return 0;
  return ft_plan_allocate(p, ft_plan_bytes(p, t));
}

/* The same of operand J of an einsum, which is computed as PRODUCT. */
static uint32_t copy_of_term(struct ft_plan *p, const struct ft_operator *op,
                             const struct ft_einsum_product *product, unsigned j)
{
  const struct ft_tensor *x = ft_plan_tensor(p, op->inputs[j]);
  struct ft_strides own = ft_plan_strides(p, op->inputs[j]), from, strides;
  ft_dim dims[FT_GRAPH_RANK];
  struct ft_tensor permuted = { .rank = x->rank, .dims = dims };

  for (int i = 0; i < x->rank; i++) {
    dims[i] = x->dims[product->order[j][i]];
    from.step[i] = own.step[product->order[j][i]];
  }
  if (ft_strides_reshape(&permuted, &from, product->joined[j], 3, &strides))
    return 0;
  return ft_plan_allocate(p, ft_plan_bytes(p, op->inputs[j]));
}

/* Saves operand J of a product, or COPY, its copy, if the other operand needs a gradient. */
static void save_factor(struct ft_plan *p, uint32_t i, unsigned j, uint32_t copy)
{
  const struct ft_operator *op = &p->block->operators[i];

  if (!wants_gradient(p, op->inputs[!j]))
    ft_plan_release(p, copy);
  else if (copy)
    ft_plan_save(p, i, copy);
  else
    save_graph_tensor(p, i, op->inputs[j]);
}

/* Saves all activations of the subgraphs of operator I, in all iterations: an upper bound, as
 * subgraphs are not simulated. */
static void save_inside(struct ft_plan *p, uint32_t i)
{
  int64_t width = p->options->precision > FT_PRECISION_AMP ? 2 : 4;

  save_new_buffer(p, i, ft_known_times(ft_known_times(width, p->inside[i]), p->options->batch));
}

/* Saves operand J of attention, or the copy that attention makes of it. */
static void save_operand(struct ft_plan *p, uint32_t i, uint32_t j)
{
  const struct ft_operator *op = &p->block->operators[i];
  int64_t copied = ft_plan_operand(p, op, ft_input_of(op, j));

  if (copied)
    save_new_buffer(p, i, copied);
  else
    save_graph_tensor(p, i, ft_input_of(op, j));
}

/* Saves what the backward pass of operator I reads, if its output needs a gradient. */
static void save_for_backward(struct ft_plan *p, uint32_t i)
{
  const struct ft_operator *op = &p->block->operators[i];
  const struct ft_fusion *fusion = &p->fusions[i];
  unsigned saves = saved_by(p, op);
  struct ft_einsum_product product;
  bool input;

  if (!p->storages[op->outputs[0]].wanted)
    return;
  save_inside(p, i);
  if (fusion->kind == FT_FUSED_ACTIVATION || fusion->kind == FT_FUSED_NORM) {
    save_graph_tensor(p, i, fusion->input);
    for (unsigned k = 0; k < fusion->statistics; k++)
      save_new_buffer(p, i, ft_known_times(4 * p->options->batch, fusion->groups));
    return;
  }
  if (fusion->kind == FT_FUSED_ATTENTION) {
    save_graph_tensor(p, i, fusion->input);
    save_graph_tensor(p, i, fusion->keys);
    save_graph_tensor(p, i, fusion->values);
    save_graph_tensor(p, i, op->outputs[0]);
    save_new_buffer(p, i, ft_known_times(4 * p->options->batch, fusion->groups));
    return;
  }
  if (ft_operator_is(op, FT_OP_MatMul) && op->input_count == 2) {
    for (uint32_t j = 0; j < 2; j++)
      save_factor(p, i, j,
                  p->storages[op->inputs[j]].fixed ? 0 : copy_of_operand(p, op, op->inputs[j]));
    return;
  }
  if (ft_operator_is(op, FT_OP_Einsum) && ft_einsum_product(p->graph, op, &product)) {
    for (uint32_t j = 0; j < 2; j++)
      save_factor(p, i, j, copy_of_term(p, op, &product, j));
    return;
  }
  if (ft_autograd_rule_of(op).in_place && !ft_operator_is(op, FT_OP_Relu) &&
      !ft_plan_in_place(p, op))
    saves = FT_SAVES_FIRST;
  if (ft_plan_decomposes_attention(p, op))
    saves &= ~(unsigned)FT_SAVES_RESULT; /* only the fused kernel's backward pass reads it */
  if (ft_plan_save_decomposed(p, i, &input)) {
    if (input)
      save_graph_tensor(p, i, ft_input_of(op, 0));
    return;
  }
  save_extras(p, i, saves);
  if (saves & FT_SAVES_FIRST)
    save_operand(p, i, 0);
  if (saves & FT_SAVES_SECOND)
    save_operand(p, i, 1);
  if (saves & FT_SAVES_THIRD)
    save_operand(p, i, 2);
  if (saves & FT_SAVES_RESULT)
    save_graph_tensor(p, i, op->outputs[0]);
}

static int64_t part_of_bytes(double part, int64_t bytes)
{
  double product = part * (double)bytes;

  return product > 0 && product < (double)FT_GRAPH_ELEMENTS ? (int64_t)product : 0;
}

/* Returns whether T's channels are a multiple of 4, as tensor cores need them in fp32. */
static bool has_aligned_channels(const struct ft_plan *p, uint32_t t)
{
  const struct ft_tensor *x = ft_plan_tensor(p, t);

  return x->rank < 2 || ft_dim_or(x->dims[1], 1) % 4 == 0;
}

/* Returns whether a spatial convolution has copied_channels (ft_schedule_options). Copies to
 * channels-last are then worth their time in every direction. */
static bool copies_all(const struct ft_plan *p, const struct ft_tensor *kernel, int64_t group)
{
  int64_t channels = p->options->copied_channels;

  return channels && group == 1 && kernel->rank == 4 && ft_dim_or(kernel->dims[0], 0) >= channels &&
         ft_dim_or(kernel->dims[1], 0) >= channels && ft_dim_or(kernel->dims[2], 0) > 1;
}

static double workspace_part(const struct ft_workspace *w, const struct ft_tensor *kernel,
                             int64_t group)
{
  if (group > 1)
    return w->grouped;
  for (int i = 2; i < kernel->rank; i++)
    if (ft_dim_or(kernel->dims[i], 0) > 1)
      return w->spatial;
  return w->pointwise;
}

/* Returns the workspace of a convolution in bytes. PyTorch's kernel of depthwise convolutions needs
 * none. */
static int64_t workspace_bytes(const struct ft_plan *p, const struct ft_operator *op, int direction)
{
  const struct ft_workspace *w = &p->options->workspace[direction];
  const struct ft_tensor *kernel = ft_plan_tensor(p, ft_input_of(op, 1));
  int64_t group, both;
  double part;

  if (!ft_operator_is(op, FT_OP_Conv) && !ft_operator_is(op, FT_OP_ConvTranspose))
    return 0;
  group = ft_integer(op, "group", 1);
  if (kernel->rank > 1 && ft_dim_is(kernel->dims[1], 1) && group > 1)
    return 0;
  if (copies_all(p, kernel, group)) {
    part = 1;
  } else {
    part = workspace_part(w, kernel, group);
    if (!has_aligned_channels(p, ft_input_of(op, 0)) || !has_aligned_channels(p, op->outputs[0]))
      part += w->odd;
  }
  both = ft_known_plus(ft_plan_bytes(p, ft_input_of(op, 0)), ft_plan_bytes(p, op->outputs[0]));
  return ft_known_plus(part_of_bytes(part, both),
                       part_of_bytes(w->weight, ft_plan_bytes(p, ft_input_of(op, 1))));
}

void ft_plan_work(struct ft_plan *p, const struct ft_operator *op, int direction)
{
  int64_t bytes = workspace_bytes(p, op, direction), peak = p->out->peak_no_workspace_bytes;
  uint32_t buffer;

  if (ft_operator_is(op, FT_OP_Conv))
    ft_plan_emit(p, FT_EVENT_TUNED, 0, 0);
  buffer = ft_plan_allocate(p, bytes);
  if (buffer && !p->failed)
    p->out->events[p->out->count - 1].kind = FT_EVENT_WORK;
  p->out->peak_no_workspace_bytes = peak;
  ft_plan_release(p, buffer);
}

static void release_tensor(struct ft_plan *p, uint32_t t, uint32_t when)
{
  struct ft_storage *storage = ft_plan_owner(p, t);

  if (!t || !storage->held || storage->referenced || storage->last > when)
    return;
  storage->held = false;
  ft_plan_release(p, storage->buffer);
}

/* Returns whether the backward pass of OP, which needs one, reads its input J. */
static bool reads_again(const struct ft_plan *p, const struct ft_operator *op, uint32_t j)
{
  return !ft_autograd_is_product(op) || (j < 2 && wants_gradient(p, ft_input_of(op, !j)));
}

/*
 * Allocates the casts of operator I's inputs under autocast. Matrix products save 16-bit copies,
 * those of trained weights until the end. Operators in fp32 save their copy if the backward pass
 * reads it.
 */
static void cast_inputs(struct ft_plan *p, uint32_t i)
{
  const struct ft_operator *op = &p->block->operators[i];
  uint32_t wide = ft_plan_widened(p, i), copy;

  if (wide) {
    copy = ft_plan_allocate(p, ft_known_times(2, ft_plan_bytes(p, wide)));
    if (p->storages[op->outputs[0]].wanted &&
        (p->fusions[i].kind == FT_FUSED_NORM || saved_by(p, op) & FT_SAVES_FIRST))
      ft_plan_save(p, i, copy);
    else
      ft_plan_release(p, copy);
    return;
  }

  for (uint32_t j = 0; j < op->input_count; j++)
    if (is_cast(p, op, op->inputs[j]) && !p->storages[op->inputs[j]].cast) {
      copy = ft_plan_allocate(p, ft_plan_bytes(p, op->inputs[j]) / 2);
      /* autocast caches the copy of a trained weight for later readers */
      p->storages[op->inputs[j]].cast = p->cost->trainable[op->inputs[j]] && p->segments < 2;
      if (p->storages[op->inputs[j]].cast ||
          (p->storages[op->outputs[0]].wanted && reads_again(p, op, j)))
        ft_plan_save(p, i, copy);
      else
        ft_plan_release(p, copy);
    }
}

void ft_plan_forward(struct ft_plan *p, uint32_t i, bool saves)
{
  const struct ft_operator *op = &p->block->operators[i];
  const struct ft_fusion *fusion = &p->fusions[i];

  if (!ft_plan_runs(p, op) || !op->output_count)
    return;
  if (fusion->kind != FT_FUSED_INSIDE) {
    for (uint32_t j = 0; j < op->output_count; j++) {
      uint32_t t = op->outputs[j];

      if (!t || p->storages[t].owner != t || p->storages[t].held)
        continue;
      p->storages[t].buffer = ft_plan_allocate(p, ft_plan_bytes(p, t));
      p->storages[t].held = p->storages[t].buffer != 0;
    }
    cast_inputs(p, i);
    ft_plan_work(p, op, 0);
    ft_plan_decomposed_attention(p, i, saves);
    if (saves)
      save_for_backward(p, i);
    else
      ft_plan_release_saved(p, i);
    if (p->options->offload && p->options->training)
      ft_plan_offload(p, i);
  }
  for (uint32_t j = 0; j < op->input_count; j++)
    release_tensor(p, op->inputs[j], i + 1);
  for (uint32_t j = 0; j < op->capture_count; j++)
    release_tensor(p, op->captures[j], i + 1);
  release_tensor(p, fusion->input, i + 1);
  release_tensor(p, fusion->keys, i + 1);
  release_tensor(p, fusion->values, i + 1);
  for (uint32_t j = 0; j < op->output_count; j++)
    release_tensor(p, op->outputs[j], i + 1);
}
