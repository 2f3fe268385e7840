/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of a pass: parameters, segments of checkpointing, forward pass, loss, backward pass. */
#include "config.h"

#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/graph/shape/infer.h"
#include "predictor/graph/training/schedule_plan.h"

/* Allocates all parameters (of sharded ones this GPU's share), accumulated gradients and constants,
 * and sums their bytes. */
static void plan_parameters(struct ft_plan *p)
{
  unsigned gpus = ft_plan_shards(p) ? p->options->gpus : 1;

  for (uint32_t t = 1; t < p->graph->tensor_count; t++) {
    const struct ft_tensor *x = ft_plan_tensor(p, t);

    if (!p->cost->trainable[t] &&
        !(x->constant && (ft_element_is_real(x->element) || p->cost->packed[t]) && x->rank > 0))
      continue;
    if (p->cost->trainable[t]) {
      p->out->trainable_tensors[p->out->trainable_count] = x;
      p->out->trainable_sizes[p->out->trainable_count++] = ft_plan_bytes(p, t);
      p->out->trainable_bytes = ft_known_plus(p->out->trainable_bytes, ft_plan_bytes(p, t));
      if (ft_plan_bytes(p, t) > p->out->trainable_max)
        p->out->trainable_max = ft_plan_bytes(p, t);
    }
    if (p->cost->packed[t])
      p->out->packed_bytes = ft_known_plus(p->out->packed_bytes, ft_plan_bytes(p, t));
    if (!p->cost->trainable[t]) {
      (void)ft_plan_allocate(p, ft_plan_bytes(p, t));
      if (p->cost->frozen[t])
        p->out->frozen_bytes = ft_known_plus(p->out->frozen_bytes, ft_plan_bytes(p, t));
      continue;
    }
    (void)ft_plan_allocate(p, ft_share(ft_plan_bytes(p, t), gpus));
    if (p->options->keep_gradients && p->options->training && !ft_plan_views(p))
      (void)ft_plan_allocate(p, ft_share(ft_plan_bytes(p, t), gpus));
  }
  ft_plan_buckets(p);
  p->out->parameters = p->out->count;
}

/* ---- checkpointing (torch.utils.checkpoint) ---- */

/* Returns the index of SEGMENT's first operator. */
static uint32_t segment_start(const struct ft_plan *p, uint32_t segment)
{
  return p->cuts[segment];
}

/* For each operator I, and the end: CROSSING[I], bytes produced before I and read at I or later;
 * PRODUCED[I], all bytes produced before I. */
static void measure_crossings(const struct ft_plan *p, int64_t *crossing, int64_t *produced)
{
  uint32_t count = p->block->operator_count;
  int64_t most = INT64_MAX / 4 / p->graph->tensor_count; /* limit per tensor: no sum overflows */

  for (uint32_t t = 1; t < p->graph->tensor_count; t++) {
    const struct ft_storage *storage = &p->storages[t];
    uint32_t from = ft_plan_tensor(p, t)->producer;
    uint32_t last = storage->last < count ? storage->last : count;
    int64_t bytes = ft_plan_bytes(p, t);

    if (ft_plan_tensor(p, t)->block != 1 /* the outermost */ || storage->owner != t ||
        storage->fixed || !from || from > count || p->fusions[from - 1].kind == FT_FUSED_INSIDE)
      continue;
    bytes = bytes < most ? bytes : most;
    produced[from] += bytes;
    if (from < last) {
      crossing[from] += bytes;
      crossing[last] -= bytes;
    }
  }
  for (uint32_t i = 1; i <= count; i++) {
    crossing[i] += crossing[i - 1];
    produced[i] += produced[i - 1];
  }
}

static int64_t absolute_difference(int64_t a, int64_t b)
{
  return a > b ? a - b : b - a;
}

/*
 * Cuts segments of about equal activation bytes where the fewest bytes cross: between the blocks of
 * a network, as users of checkpointing do.
 */
static void cut_segments(struct ft_plan *p)
{
  uint32_t count = p->block->operator_count, at = 0;
  int64_t *crossing = ft_arena_take(&p->graph->results, (count + 1) * sizeof *crossing);
  int64_t *produced = ft_arena_take(&p->graph->results, (count + 1) * sizeof *produced);

  p->cuts = ft_arena_take(&p->graph->results, (p->segments + 1) * sizeof *p->cuts);
  if (!crossing || !produced || !p->cuts) {
    p->failed = true;
    return;
  }
  measure_crossings(p, crossing, produced);
  for (uint32_t k = 1; k < p->segments; k++) {
    int64_t part = produced[count] / p->segments, target = part * k;
    uint32_t best;

    while (at < count && produced[at] < target - part / 2)
      at++;
    best = at;
    for (; at < count && produced[at] < target + part / 2; at++)
      if (crossing[at] < crossing[best] ||
          (crossing[at] == crossing[best] &&
           absolute_difference(produced[at], target) < absolute_difference(produced[best], target)))
        best = at;
    p->cuts[k] = best;
  }
  p->cuts[p->segments] = count;
}

/* Saves T for SEGMENT if an earlier segment produced T. */
static void pin_segment_input(struct ft_plan *p, uint32_t segment, uint32_t t)
{
  uint32_t owner = p->storages[t].owner, from = ft_plan_tensor(p, owner)->producer;

  if (owner && from && from <= segment_start(p, segment) && p->storages[owner].held)
    ft_plan_save(p, p->block->operator_count + segment,
                 ft_plan_retain(p, p->storages[owner].buffer));
}

/* Saves the inputs of SEGMENT for its backward pass. */
static void pin_inputs(struct ft_plan *p, uint32_t segment)
{
  for (uint32_t i = segment_start(p, segment); i < segment_start(p, segment + 1); i++) {
    const struct ft_operator *op = &p->block->operators[i];

    for (uint32_t j = 0; j < op->input_count; j++)
      pin_segment_input(p, segment, op->inputs[j]);
    pin_segment_input(p, segment, p->fusions[i].input);
    pin_segment_input(p, segment, p->fusions[i].keys);
    pin_segment_input(p, segment, p->fusions[i].values);
  }
}

/* Adds the forward pass of SEGMENT. SAVE: saves tensors; AGAIN: recomputes it for the backward
 * pass. */
static void replay_forward(struct ft_plan *p, uint32_t segment, bool save, bool again)
{
  for (uint32_t i = segment_start(p, segment); i < segment_start(p, segment + 1); i++) {
    ft_plan_fsdp_enter(p, i, again);
    ft_plan_forward(p, i, save);
    if (!again)
      ft_plan_fsdp_leave(p, i);
  }
}

static void release_held_tensor(struct ft_plan *p, uint32_t t)
{
  if (!p->storages[t].held)
    return;
  p->storages[t].held = false;
  ft_plan_release(p, p->storages[t].buffer);
}

/* Recomputes SEGMENT with saved tensors, except the last one, and adds its backward pass. */
static void replay_backward(struct ft_plan *p, uint32_t segment)
{
  uint32_t first = segment_start(p, segment), end = segment_start(p, segment + 1);

  if (segment + 1 < p->segments) {
    replay_forward(p, segment, true, true);
    for (uint32_t i = first; i < end; i++)
      for (uint32_t j = 0; j < p->block->operators[i].output_count; j++)
        release_held_tensor(p, p->block->operators[i].outputs[j]);
  }
  for (uint32_t i = end; i-- > first;) {
    ft_plan_fsdp_return(p, i);
    ft_plan_backward(p, i);
    ft_plan_fsdp_reduce(p, i);
  }
  ft_plan_release_saved(p, p->block->operator_count + segment);
}

/* ---- the whole pass ---- */

/* Frees the tensors that live until the end of the forward pass, and allocates the outputs'
 * gradients. */
static void finish_forward(struct ft_plan *p)
{
  for (uint32_t i = 0; i < p->block->output_count; i++) {
    uint32_t t = p->block->outputs[i];

    if (p->options->training && p->storages[t].wanted)
      p->storages[t].gradient = ft_plan_allocate(p, ft_plan_bytes(p, t));
    release_held_tensor(p, p->storages[t].owner);
  }
  for (uint32_t i = 0; i < p->graph->kv_cache_count; i++)
    release_held_tensor(p, p->storages[p->graph->kv_cache[i]].owner);
  for (uint32_t t = 1; t < p->graph->tensor_count; t++)
    if (p->storages[t].referenced)
      release_held_tensor(p, t);
}

/*
 * Cross entropy of the logits (aten/src/ATen/native/LossNLL.cpp) saves the log-probabilities. Its
 * backward pass has the gradients of both of its steps at once. Returns the saved buffer.
 */
static uint32_t plan_loss(struct ft_plan *p)
{
  uint32_t t = p->graph->logits, wide, saved;
  bool casts = t && p->storages[t].width < 4 &&
               (p->graph->logits_wide || p->options->precision == FT_PRECISION_AMP);
  int64_t bytes = t ? ft_known_times(ft_plan_bytes(p, t), casts ? 2 : 1) : 0;

  if (!p->options->training || !t)
    return 0;
  wide = ft_plan_allocate(p, casts ? bytes : 0);
  saved = ft_plan_allocate(p, bytes);
  ft_plan_release(p, wide);
  if (casts && !p->graph->logits_wide) /* autocast's cast saves its input */
    ft_plan_save(p, p->graph->tensors[t].producer - 1, ft_plan_allocate(p, ft_plan_bytes(p, t)));
  return saved;
}

/* Adds the backward pass of the loss, and releases SAVED, the buffer that plan_loss saved. */
static void plan_loss_backward(struct ft_plan *p, uint32_t saved)
{
  uint32_t step = ft_plan_allocate(p, saved ? p->sizes[saved - 1] : 0),
           gradient = ft_plan_allocate(p, saved ? p->sizes[saved - 1] : 0);

  ft_plan_release(p, step);
  ft_plan_release(p, saved);
  ft_plan_release(p, gradient); /* finish_forward allocates the logits' gradient */
}

/* Adds the forward pass, the loss, the backward pass and the release of the gradients. */
static void plan_pass(struct ft_plan *p)
{
  uint32_t loss;

  int64_t before = p->live;

  for (uint32_t i = 0; i < p->block->input_count; i++)
    p->out->input_bytes = ft_known_plus(p->out->input_bytes, ft_plan_bytes(p, p->block->inputs[i]));
  for (uint32_t k = 0; k < p->segments; k++) {
    if (k + 1 < p->segments)
      pin_inputs(p, k);
    replay_forward(p, k, (p->options->training || p->options->saves) && k + 1 == p->segments,
                   false);
  }
  loss = plan_loss(p);
  p->out->saved_bytes = p->live - before - p->gathered_bytes;
  p->out->forward = p->out->count;
  plan_loss_backward(p, loss);
  finish_forward(p);
  for (uint32_t k = p->options->training ? p->segments : 0; k-- > 0;)
    replay_backward(p, k);
  for (uint32_t i = 0; i < p->block->operator_count; i++)
    ft_plan_release_saved(p, i);
  ft_plan_fsdp_end(p);
  p->out->backward = p->out->count;
  ft_plan_fsdp_free_shares(p);
  for (uint32_t t = 1; t < p->graph->tensor_count; t++)
    ft_plan_release(p, p->storages[t].gradient);
}

/* Returns whether GRAPH's format has an operator for scaled_dot_product_attention: products around
 * a softmax are then the network's own, which PyTorch runs one by one. */
static bool shows_fused_attention(const struct ft_graph *graph)
{
  return strcmp(graph->format, "torch.export") == 0 || strcmp(graph->format, "torchscript") == 0;
}

int ft_schedule_make(struct ft_graph *graph, const struct ft_cost *cost,
                     const struct ft_schedule_options *options, struct ft_schedule *schedule,
                     struct ft_error *err)
{
  struct ft_plan p = {
    .graph = graph, .block = &graph->block, .cost = cost, .options = options, .out = schedule
  };
  size_t operators;

  *schedule = (struct ft_schedule){ 0 };
  p.segments = options->training && options->segments > 1 ? options->segments : 1;
  if (p.segments > graph->block.operator_count)
    p.segments = graph->block.operator_count ? graph->block.operator_count : 1;
  operators = (size_t)graph->block.operator_count + p.segments + 1;
  p.fusions = ft_arena_take(&graph->results, operators * sizeof *p.fusions);
  p.storages = ft_arena_take(&graph->results, graph->tensor_count * sizeof *p.storages);
  p.uses = ft_arena_take(&graph->results, graph->tensor_count * sizeof *p.uses);
  p.users = ft_arena_take(&graph->results, graph->tensor_count * sizeof *p.users);
  p.inside = ft_arena_take(&graph->results, operators * sizeof *p.inside);
  p.saved_first = ft_arena_take(&graph->results, operators * sizeof *p.saved_first);
  schedule->trainable_sizes =
      ft_arena_take(&graph->results, graph->tensor_count * sizeof *schedule->trainable_sizes);
  schedule->trainable_tensors =
      ft_arena_take(&graph->results, graph->tensor_count * sizeof *schedule->trainable_tensors);
  if (!p.fusions || !p.storages || !p.uses || !p.users || !p.saved_first || !p.inside ||
      !schedule->trainable_sizes || !schedule->trainable_tensors ||
      ft_fuse(graph, p.block, options->fused_attention && !shows_fused_attention(graph),
              p.fusions) < 0)
    p.failed = true;
  if (!p.failed) {
    for (size_t i = 0; i < cost->layer_count; i++)
      if (cost->layers[i].depth == 0)
        p.inside[cost->layers[i].op - p.block->operators] = cost->layers[i].inside;
    ft_plan_settle(&p);
    ft_plan_mark_references(&p);
    cut_segments(&p);
  }
  if (!p.failed) {
    ft_plan_fsdp_units(&p);
    plan_parameters(&p);
    if (!p.failed)
      plan_pass(&p);
  }
  if (p.failed)
    return ft_error_set(err, "%s: one pass of it needs more than %d MiB to follow", graph->file,
                        FT_LIMIT_GRAPH >> 20);
  return 0;
}
