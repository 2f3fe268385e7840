/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds an operator's backward pass to the schedule: the gradients of its inputs. */
#include "config.h"

#include "predictor/graph/shape/infer.h"
#include "predictor/graph/training/schedule_plan.h"

/* Adds BUFFER to the gradient of T, and takes over the caller's reference. */
static void add_gradient(struct ft_plan *p, uint32_t t, uint32_t buffer)
{
  uint32_t *gradient = &p->storages[t].gradient, sum;

  if (p->cost->trainable[t] &&
      (ft_plan_views(p) || (p->options->keep_gradients && !ft_plan_shards(p)))) {
    ft_plan_release(p, buffer); /* accumulated into the existing gradient */
    return;
  }
  if (!*gradient) {
    *gradient = buffer;
    return;
  }
  if (buffer && p->references[*gradient - 1] > 1) {
    /* shared with another gradient: the sum is not in place */
    sum = ft_plan_allocate(p, ft_plan_bytes(p, t));
    ft_plan_release(p, *gradient);
    *gradient = sum;
  }
  ft_plan_release(p, buffer);
}

/* Adds a gradient to T's, if T needs one: GRADIENT itself if HOW is FT_GRADIENT_PASSES, otherwise a
 * new buffer. */
static void propagate_gradient(struct ft_plan *p, uint32_t t, uint32_t gradient, uint8_t how)
{
  if (!t || !p->storages[t].wanted)
    return;
  if (how == FT_GRADIENT_PASSES && gradient)
    add_gradient(p, t, ft_plan_retain(p, gradient));
  else
    add_gradient(p, t, ft_plan_allocate(p, ft_plan_bytes(p, t)));
}

/* Adds the gradients of convolution OP's bias, input and weight, with their workspaces. */
static void propagate_conv_gradients(struct ft_plan *p, const struct ft_operator *op)
{
  if (ft_input_of(op, 2))
    propagate_gradient(p, ft_input_of(op, 2), 0, FT_GRADIENT_NEW);
  if (p->storages[ft_input_of(op, 0)].wanted) {
    uint32_t gradient = ft_plan_allocate(p, ft_plan_bytes(p, ft_input_of(op, 0)));

    ft_plan_work(p, op, 1);
    add_gradient(p, ft_input_of(op, 0), gradient);
  }
  if (p->storages[ft_input_of(op, 1)].wanted) {
    uint32_t gradient = ft_plan_allocate(p, ft_plan_bytes(p, ft_input_of(op, 1)));

    ft_plan_work(p, op, 2);
    add_gradient(p, ft_input_of(op, 1), gradient);
  }
}

/* Adds the gradients of operator I's inputs. GRADIENT: buffer of its output's gradient. */
static void propagate_gradients(struct ft_plan *p, uint32_t i, uint32_t gradient)
{
  const struct ft_operator *op = &p->block->operators[i];
  const struct ft_fusion *fusion = &p->fusions[i];
  struct ft_autograd_rule rule = ft_autograd_rule_of(op);
  int64_t result = ft_plan_bytes(p, op->outputs[0]);
  uint32_t decomposed[2]; /* gradients of attention's probabilities and scores */

  if (fusion->kind == FT_FUSED_ATTENTION) {
    uint32_t delta = ft_plan_allocate(p, ft_known_times(4 * p->options->batch, fusion->groups));

    propagate_gradient(p, fusion->input, 0, FT_GRADIENT_NEW);
    propagate_gradient(p, fusion->keys, 0, FT_GRADIENT_NEW);
    propagate_gradient(p, fusion->values, 0, FT_GRADIENT_NEW);
    ft_plan_release(p, delta);
    return;
  }
  if (fusion->kind == FT_FUSED_ACTIVATION || fusion->kind == FT_FUSED_NORM) {
    propagate_gradient(p, fusion->input, 0, FT_GRADIENT_NEW);
    for (uint32_t j = 0; fusion->kind == FT_FUSED_NORM && j < op->input_count; j++)
      if (p->cost->trainable[op->inputs[j]])
        propagate_gradient(p, op->inputs[j], 0, FT_GRADIENT_NEW);
    return;
  }
  if (ft_operator_is(op, FT_OP_Conv) || ft_operator_is(op, FT_OP_ConvTranspose)) {
    propagate_conv_gradients(p, op);
    return;
  }
  for (int k = 0; k < 2; k++)
    decomposed[k] = ft_plan_allocate(p, ft_plan_scores(p, op));
  for (uint32_t j = 0; j < op->input_count; j++) {
    uint32_t t = op->inputs[j], full = 0;
    uint8_t how = ft_plan_pads_pool(p, op) ? FT_GRADIENT_PASSES : rule.gradient;

    if (!t || !p->storages[t].wanted)
      continue;
    if (how == FT_GRADIENT_PASSES && op->output_count == 1 && !ft_operator_is(op, FT_OP_Concat) &&
        !ft_operator_is(op, FT_OP_Pad) && ft_plan_bytes(p, t) != result)
      how = FT_GRADIENT_NEW; /* reduced over the broadcast dimensions */
    if (how == FT_GRADIENT_NEW && ft_operator_is(op, FT_OP_Mul) && ft_plan_bytes(p, t) < result)
      full = ft_plan_allocate(p, result); /* the product before the reduction */
    else
      full = ft_plan_allocate(p, ft_plan_broadcast(p, op, t)); /* the same for a matrix product */
    if (ft_operator_is(op, FT_OP_Gather) && p->storages[t].gradient && ft_plan_selects(p, op))
      continue; /* unbind: one stack for all outputs */
    propagate_gradient(p, t, gradient, how);
    ft_plan_release(p, full);
  }
  for (int k = 0; k < 2; k++)
    ft_plan_release(p, decomposed[k]);
}

void ft_plan_backward(struct ft_plan *p, uint32_t i)
{
  const struct ft_operator *op = &p->block->operators[i];
  uint32_t gradient = 0;

  if (!ft_plan_runs(p, op) || !op->output_count)
    return;
  if (p->options->offload)
    ft_plan_reload(p, i);
  for (uint32_t j = 0; j < op->output_count && !gradient; j++)
    gradient = op->outputs[j] ? p->storages[op->outputs[j]].gradient : 0;
  if (gradient && p->fusions[i].kind != FT_FUSED_INSIDE)
    propagate_gradients(p, i, gradient);
  ft_plan_release_saved(p, i);
  for (uint32_t j = 0; j < op->output_count; j++) {
    uint32_t t = op->outputs[j];

    if (!t || p->cost->trainable[t])
      continue;
    ft_plan_release(p, p->storages[t].gradient);
    p->storages[t].gradient = 0;
  }
}
