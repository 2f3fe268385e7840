/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/graph/shape/infer.h"
#include "predictor/graph/training/restore_norms.h"

/* Tensors that a restored normalisation adds: its input, scale, mean and variance, and an offset
 * unless the convolution has a bias, into which the offset was folded. */
enum { INPUT, SCALE, OFFSET, MEAN, VARIANCE, ADDED };

struct restore {
  struct ft_graph *graph;
  struct ft_block *block; /* with the normalisations */
};

/* Returns the number of channels that OP, a convolution, computes; unknown if its weight is. */
static ft_dim output_channels(const struct ft_graph *g, const struct ft_operator *op)
{
  bool transposed = ft_operator_is(op, FT_OP_ConvTranspose);
  const struct ft_tensor *weight = &g->tensors[ft_input_of(op, 1)];
  const struct ft_declared *d = weight->constant ? weight->constant : weight->declared;

  if (!d || d->rank < 2)
    return FT_DIM_UNKNOWN;
  return transposed ? ft_dim_times(d->dims[1], ft_dim_of(ft_integer(op, "group", 1))) : d->dims[0];
}

static bool is_restorable(const struct ft_graph *g, const struct ft_operator *op)
{
  int64_t channels;

  return op->folded_norm && op->output_count && op->outputs[0] &&
         ft_dim_get(output_channels(g, op), &channels);
}

/* Appends a tensor of OP's block. */
static uint32_t append_block_tensor(struct restore *r, const struct ft_operator *op,
                                    const char *name)
{
  struct ft_graph *g = r->graph;

  g->tensors[g->tensor_count] =
      (struct ft_tensor){ .name = name, .rank = -1, .block = g->tensors[op->outputs[0]].block };
  return g->tensor_count++;
}

/* Appends a constant with one element for each channel. BUFFER: it is not trained. Returns 0 if
 * memory is exhausted. */
static uint32_t add_vector(struct restore *r, const struct ft_operator *op, const char *name,
                           bool buffer)
{
  struct ft_graph *g = r->graph;
  const struct ft_tensor *weight = &g->tensors[ft_input_of(op, 1)];
  struct ft_declared *d = ft_arena_take(&g->arena, sizeof *d);
  uint32_t tensor;

  if (!d || !(d->dims = ft_arena_take(&g->arena, sizeof *d->dims)))
    return 0;
  d->rank = 1;
  d->dims[0] = output_channels(g, op);
  d->elements = ft_dim_or(d->dims[0], 0);
  d->element = (weight->constant ? weight->constant : weight->declared)->element;
  d->kept = buffer;
  d->at = op->at;
  tensor = append_block_tensor(r, op, name);
  g->tensors[tensor].constant = d;
  r->block->constants[r->block->constant_count++] = tensor;
  return tensor;
}

/* Appends the convolution OP and its normalisation. Returns 0; -1 if memory is exhausted. */
static int append_restored(struct restore *r, const struct ft_operator *op)
{
  struct ft_arena *arena = &r->graph->arena;
  struct ft_operator *conv = &r->block->operators[r->block->operator_count], *norm = conv + 1;
  uint32_t *inputs = ft_arena_take(arena, ADDED * sizeof *inputs);
  uint32_t *output = ft_arena_take(arena, sizeof *output);
  uint32_t bias = ft_input_of(op, 2);

  if (!inputs || !output)
    return -1;
  *conv = *op;
  conv->input_count = op->input_count < 2 ? op->input_count : 2;
  conv->outputs = output;
  conv->output_count = 1;
  inputs[INPUT] = output[0] = append_block_tensor(r, op, "");
  inputs[SCALE] = add_vector(r, op, "", false);
  inputs[OFFSET] = bias ? bias : add_vector(r, op, "", false);
  inputs[MEAN] = add_vector(r, op, "", true);
  inputs[VARIANCE] = add_vector(r, op, "", true);
  *norm = (struct ft_operator){ .name = op->name,
                                .type = "BatchNormalization",
                                .domain = "",
                                .kind = ft_operator_find("", "BatchNormalization"),
                                .inputs = inputs,
                                .input_count = ADDED,
                                .outputs = op->outputs,
                                .output_count = 1,
                                .at = op->at,
                                .trip_count = 1 };
  r->block->operator_count += 2;
  return inputs[SCALE] && inputs[OFFSET] && inputs[MEAN] && inputs[VARIANCE] ? 0 : -1;
}

/* Makes room for COUNT normalisations in R's block, which gets no operators yet. Returns 0 or -1.
 */
static int reserve_restored(struct restore *r, uint32_t count)
{
  struct ft_graph *g = r->graph;
  struct ft_arena *arena = &g->arena;
  struct ft_block *block;
  struct ft_tensor *tensors =
      ft_arena_take(arena, ((size_t)g->tensor_count + ADDED * count) * sizeof *tensors);

  r->block = block = ft_arena_take(arena, sizeof *block);
  if (!tensors || !block)
    return -1;
  *block = g->block;
  block->constants =
      ft_arena_take(arena, ((size_t)block->constant_count + ADDED * count) * sizeof(uint32_t));
  block->operators =
      ft_arena_take(arena, ((size_t)block->operator_count + count) * sizeof *block->operators);
  if (!block->constants || !block->operators)
    return -1;
  memcpy(tensors, g->tensors, g->tensor_count * sizeof *tensors);
  if (block->constant_count)
    memcpy(block->constants, g->block.constants, block->constant_count * sizeof(uint32_t));
  g->tensors = tensors;
  block->operator_count = 0;
  return 0;
}

/* Makes graph->other_block, with COUNT normalisations. Returns 0; -1 if memory is exhausted. */
static int make_restored(struct ft_graph *graph, uint32_t count)
{
  struct restore r = { .graph = graph };

  if (reserve_restored(&r, count) < 0)
    return -1;
  for (uint32_t i = 0; i < graph->block.operator_count; i++) {
    const struct ft_operator *op = &graph->block.operators[i];

    if (!is_restorable(graph, op))
      r.block->operators[r.block->operator_count++] = *op;
    else if (append_restored(&r, op) < 0)
      return -1;
  }
  graph->other_block = r.block;
  return 0;
}

int ft_graph_restore_norms(struct ft_graph *graph, bool restore, struct ft_error *err)
{
  struct ft_block *block = &graph->block, other;
  uint32_t folded = 0;

  if (restore == (graph->restored_norms > 0))
    return 0;
  for (uint32_t i = 0; i < block->operator_count && !graph->other_block; i++)
    folded += is_restorable(graph, &block->operators[i]);
  if (!graph->other_block && !folded)
    return 0;
  if (!graph->other_block && make_restored(graph, folded) < 0)
    return ft_error_set(err, "%s: its graph needs more than %d MiB, or out of memory", graph->file,
                        FT_LIMIT_GRAPH >> 20);
  other = *graph->other_block;
  *graph->other_block = *block;
  graph->operator_count += other.operator_count - block->operator_count;
  graph->restored_norms += other.operator_count - block->operator_count;
  *block = other;
  for (uint32_t i = 0; i < block->operator_count; i++)
    for (uint32_t j = 0; j < block->operators[i].output_count; j++)
      if (block->operators[i].outputs[j])
        graph->tensors[block->operators[i].outputs[j]].producer = i + 1;
  return 0;
}
