/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/graph/cost/fuse.h"
#include "predictor/graph/shape/infer.h"
#include "predictor/graph/training/autograd_rules.h"
#include "predictor/graph/training/memory.h"
#include "predictor/graph/training/decomposed.h"

/* A tensor's storage. */
struct storage {
  uint32_t owner; /* the tensor itself, or the tensor of which it is a view */
  uint32_t until; /* owner: index + 1 of the last operator that reads it */
  int64_t bytes;  /* owner: size */
  bool scattered; /* not contiguous: a reshape has to copy it */
  bool saved;     /* owner: saved for the backward pass */
};

struct liveness {
  struct ft_graph *graph;
  struct ft_memory *memory;
  struct ft_error *err;
  struct storage *storages;
  bool *wanted; /* of each tensor: the backward pass computes its gradient */
  size_t room;
};

static int64_t bytes_of(struct liveness *f, uint32_t tensor)
{
  ft_dim bytes = ft_tensor_bytes(&f->graph->tensors[tensor]);

  if (!ft_dim_known(bytes))
    f->memory->complete = false;
  return ft_dim_or(bytes, 0);
}

/* ---- storage owners ---- */

/* Returns whether OP's outputs are views of its first input, by PyTorch's rules. */
static bool is_memory_view(const struct liveness *f, const struct ft_operator *op)
{
  if (ft_operator_is(op, FT_OP_Dropout) && op->input_count && op->data)
    return true; /* inference: no change; training: the output replaces the input */
  if (!ft_operator_is_view(op) || !op->input_count || !op->data)
    return false;
  if (!f->graph->tensors[op->inputs[0]].data)
    return false;
  return !f->storages[op->inputs[0]].scattered || op->kind->view != FT_VIEW_RESHAPED;
}

/* Returns whether the outputs of OP, a view, are not contiguous. */
static bool is_scattered_view(const struct ft_operator *op)
{
  return op->kind && (op->kind->view == FT_VIEW_PERMUTED || op->kind->view == FT_VIEW_PART ||
                      op->kind->view == FT_VIEW_EXPANDED);
}

/* Sets the storage of OP's outputs; INSIDE a fused kernel they need no memory. */
static void place_outputs(struct liveness *f, const struct ft_operator *op, bool inside)
{
  bool view = is_memory_view(f, op);

  for (uint32_t i = 0; i < op->output_count; i++) {
    struct storage *p = &f->storages[op->outputs[i]];

    if (!op->outputs[i])
      continue;
    if (view) {
      p->owner = f->storages[op->inputs[0]].owner;
      p->scattered = f->storages[op->inputs[0]].scattered || is_scattered_view(op);
    } else {
      p->owner = op->outputs[i];
      p->bytes = inside || !op->data ? 0 : bytes_of(f, op->outputs[i]);
    }
  }
}

static void extend_lifetime(struct liveness *f, uint32_t tensor, uint32_t when)
{
  struct storage *p = &f->storages[f->storages[tensor].owner];

  if (p->until < when)
    p->until = when;
}

/* ---- saved tensors ---- */

/* Marks TENSOR's storage as saved. Returns its bytes; 0 if it was saved before or is a constant. */
static int64_t save_tensor(struct liveness *f, uint32_t tensor)
{
  struct storage *p = &f->storages[f->storages[tensor].owner];

  if (!tensor || !f->graph->tensors[tensor].data || p->saved)
    return 0;
  p->saved = true;
  return p->bytes;
}

/* Returns the bytes that OP saves besides its inputs and outputs, by SAVES (FT_SAVES_*). */
static int64_t extra_saved_bytes(const struct liveness *f, const struct ft_operator *op,
                                 unsigned saves)
{
  const struct ft_tensor *y = &f->graph->tensors[op->output_count ? op->outputs[0] : 0];
  int64_t sizes[FT_AUTOGRAD_EXTRAS], bytes = 0;
  unsigned count = ft_autograd_extras(op, y, saves, 1, sizes);

  for (unsigned k = 0; k < count; k++)
    bytes = ft_known_plus(bytes, sizes[k]);
  return bytes;
}

/* Returns the bytes of attention probabilities that OP reads: a softmax's output, the first operand
 * of a matrix product. 0: none. */
static int64_t probabilities_bytes(const struct liveness *f, const struct ft_block *block,
                                   const struct ft_operator *op)
{
  uint32_t first = ft_input_of(op, 0);
  const struct ft_operator *from = ft_block_producer(block, &f->graph->tensors[first]);

  if (!from || !ft_operator_is(op, FT_OP_MatMul) || !ft_operator_is(from, FT_OP_Softmax))
    return 0;
  return f->storages[f->storages[first].owner].bytes;
}

/* Returns the bytes that OP saves for its backward pass and no earlier operator has saved. */
static int64_t newly_saved_bytes(struct liveness *f, const struct ft_operator *op,
                                 const struct ft_fusion *fusion)
{
  const struct ft_tensor *tensors = f->graph->tensors;
  unsigned saves =
      ft_autograd_saves(op, f->wanted[ft_input_of(op, 0)], f->wanted[ft_input_of(op, 1)]);
  uint32_t first = ft_input_of(op, 0), second = ft_input_of(op, 1);
  struct ft_decomposed decomposed;
  int64_t bytes = 0;

  if (!op->data || fusion->kind == FT_FUSED_INSIDE || !op->output_count ||
      !f->wanted[op->outputs[0]])
    return 0;
  if (fusion->kind == FT_FUSED_ACTIVATION)
    return save_tensor(f, fusion->input);
  if (fusion->kind == FT_FUSED_NORM)
    return save_tensor(f, fusion->input) + 4 * fusion->statistics * fusion->groups;
  if (ft_decomposed_of(op, FT_DECOMPOSED_32, &decomposed)) {
    if (!f->wanted[second])
      ft_decomposed_freeze(op, &decomposed);
    bytes = ft_known_times(4 * (decomposed.narrow + decomposed.wide),
                           ft_dim_or(ft_tensor_elements(&tensors[op->outputs[0]]), 0));
    return ft_known_plus(bytes, decomposed.input ? save_tensor(f, first) : 0);
  }
  bytes = extra_saved_bytes(f, op, saves);
  if (saves & FT_SAVES_FIRST)
    bytes += save_tensor(f, first);
  if (saves & FT_SAVES_SECOND)
    bytes += save_tensor(f, second);
  if (saves & FT_SAVES_THIRD && op->input_count > 2)
    bytes += save_tensor(f, op->inputs[2]);
  if (saves & FT_SAVES_RESULT)
    bytes += save_tensor(f, op->outputs[0]);
  return bytes;
}

/* ---- liveness ---- */

static int memory_exhausted(struct liveness *f)
{
  return ft_error_set(f->err, "%s: its tensors need more than %d MiB, or memory is out",
                      f->graph->file, FT_LIMIT_GRAPH >> 20);
}

static int add_layer(struct liveness *f, int64_t live, int64_t saved)
{
  struct ft_memory *m = f->memory;
  struct ft_memory_layer *layers =
      ft_arena_grow(&f->graph->results, m->layers, &f->room, m->layer_count, sizeof *layers);

  if (!layers)
    return memory_exhausted(f);
  m->layers = layers;
  layers[m->layer_count++] = (struct ft_memory_layer){ live, saved };
  return 0;
}

static int walk_block(struct liveness *f, const struct ft_block *block, int depth, int64_t *peak);

/* Sets LARGEST to the largest peak of OP's subgraphs, in bytes. */
static int walk_subgraphs(struct liveness *f, const struct ft_operator *op, int depth,
                          int64_t *largest)
{
  *largest = 0;
  for (uint32_t i = 0; i < op->attribute_count; i++) {
    int64_t peak = 0;

    if (op->attributes[i].type != FT_ATTRIBUTE_BLOCK)
      continue;
    if (walk_block(f, op->attributes[i].block, depth + 1, &peak) < 0)
      return -1;
    *largest = peak > *largest ? peak : *largest;
  }
  return 0;
}

/* Sets the storage and the last reader of each tensor of BLOCK. */
static void assign_storages(struct liveness *f, const struct ft_block *block,
                            const struct ft_fusion *fusions)
{
  for (uint32_t i = 0; i < block->input_count; i++) {
    f->storages[block->inputs[i]].owner = block->inputs[i];
    f->storages[block->inputs[i]].bytes = bytes_of(f, block->inputs[i]);
  }
  for (uint32_t i = 0; i < block->operator_count; i++) {
    const struct ft_operator *op = &block->operators[i];

    place_outputs(f, op, fusions[i].kind == FT_FUSED_INSIDE);
    for (uint32_t j = 0; j < op->input_count; j++)
      extend_lifetime(f, op->inputs[j], i + 1);
    for (uint32_t j = 0; j < op->capture_count; j++)
      extend_lifetime(f, op->captures[j], i + 1);
    if (fusions[i].input)
      extend_lifetime(f, fusions[i].input, i + 1);
  }
  for (uint32_t i = 0; i < block->output_count; i++)
    extend_lifetime(f, block->outputs[i], UINT32_MAX);
  for (uint32_t i = 0; block == &f->graph->block && i < f->graph->kv_cache_count; i++)
    extend_lifetime(f, f->graph->kv_cache[i], UINT32_MAX);
}

/* Returns the LIVE bytes without tensors whose last reader is OP, and outputs without a reader. */
static int64_t release_unread(const struct liveness *f, const struct ft_operator *op,
                              uint32_t input, uint32_t when, int64_t live)
{
  for (uint32_t j = 0; j < op->input_count + op->capture_count + op->output_count + 1; j++) {
    uint32_t k = j < op->input_count                       ? op->inputs[j]
                 : j < op->input_count + op->capture_count ? op->captures[j - op->input_count]
                 : j < op->input_count + op->capture_count + op->output_count
                     ? op->outputs[j - op->input_count - op->capture_count]
                     : input;
    struct storage *p = &f->storages[f->storages[k].owner];

    if (p->bytes && p->until <= when) {
      live = live > p->bytes ? live - p->bytes : 0; /* live may have saturated */
      p->bytes = 0;
    }
  }
  return live;
}

/* Marks the tensors of BLOCK that need a gradient. At DEPTH above 0 the block's inputs do. */
static void mark_wanted(struct liveness *f, const struct ft_block *block, int depth)
{
  for (uint32_t i = 0; depth && i < block->input_count; i++)
    f->wanted[block->inputs[i]] = f->graph->tensors[block->inputs[i]].data;
  for (uint32_t i = 0; i < block->operator_count; i++) {
    const struct ft_operator *op = &block->operators[i];
    bool wanted = false;

    for (uint32_t j = 0; j < op->input_count + op->capture_count; j++)
      wanted = wanted ||
               f->wanted[j < op->input_count ? op->inputs[j] : op->captures[j - op->input_count]];
    if (ft_autograd_rule_of(op).gradient == FT_GRADIENT_STOPS)
      continue;
    for (uint32_t j = 0; j < op->output_count; j++) {
      uint8_t element = f->graph->tensors[op->outputs[j]].element;

      if (op->outputs[j] && (element == FT_ELEMENT_UNKNOWN || ft_element_is_real(element)))
        f->wanted[op->outputs[j]] = f->wanted[op->outputs[j]] || wanted;
    }
  }
}

/*
 * Walks through BLOCK in the file's order of operators. Sets PEAK to the largest sum of live
 * activations in bytes, and adds the saved bytes to the result. Layers are recorded at DEPTH 0
 * only.
 */
static int walk_block(struct liveness *f, const struct ft_block *block, int depth, int64_t *peak)
{
  struct ft_fusion *fusions =
      ft_arena_take(&f->graph->results, (block->operator_count + 1) * sizeof *fusions);
  int64_t live = 0, inner, saved;

  if (!fusions || ft_fuse(f->graph, block, false, fusions) < 0)
    return memory_exhausted(f);
  assign_storages(f, block, fusions);
  mark_wanted(f, block, depth);
  for (uint32_t i = 0; i < block->input_count; i++)
    live = ft_known_plus(live, f->storages[block->inputs[i]].bytes);
  *peak = live;
  for (uint32_t i = 0; i < block->operator_count; i++) {
    const struct ft_operator *op = &block->operators[i];

    for (uint32_t j = 0; j < op->output_count; j++)
      if (f->storages[op->outputs[j]].owner == op->outputs[j])
        live = ft_known_plus(live, f->storages[op->outputs[j]].bytes);
    /* PyTorch multiplies pair by pair, and saves the products in between */
    if (ft_operator_is(op, FT_OP_Einsum) && op->input_count > 2)
      f->memory->complete = false;
    saved = ft_tensor_saved(&f->graph->tensors[op->output_count ? op->outputs[0] : 0],
                            newly_saved_bytes(f, op, &fusions[i]));
    f->memory->saved_bytes = ft_known_plus(f->memory->saved_bytes, saved);
    f->memory->attention_bytes =
        ft_known_plus(f->memory->attention_bytes, probabilities_bytes(f, block, op));
    if (walk_subgraphs(f, op, depth, &inner) < 0)
      return -1;
    inner = ft_known_plus(live, inner);
    if (inner > *peak)
      *peak = inner;
    if (depth == 0 && op->data && fusions[i].kind != FT_FUSED_INSIDE &&
        add_layer(f, inner, saved) < 0)
      return -1;
    live = release_unread(f, op, fusions[i].input, i + 1, live);
  }
  return 0;
}

static int64_t constant_bytes(const struct ft_graph *g, const struct ft_block *block)
{
  int64_t bytes = 0;

  for (uint32_t i = 0; i < block->constant_count; i++)
    bytes = ft_known_plus(bytes, ft_dim_or(ft_tensor_bytes(&g->tensors[block->constants[i]]), 0));
  return bytes;
}

int ft_graph_memory(struct ft_graph *graph, const struct ft_cost *cost, struct ft_memory *memory,
                    struct ft_error *err)
{
  struct liveness f = { .graph = graph, .memory = memory, .err = err };

  *memory = (struct ft_memory){ .complete = !cost->unresolved && !cost->unknown &&
                                            !cost->unbounded_loops && !graph->doubtful_elements,
                                .loop_bytes = ft_known_times(4, cost->inside) };
  f.storages = ft_arena_take(&graph->results, graph->tensor_count * sizeof *f.storages);
  f.wanted = ft_arena_take(&graph->results, graph->tensor_count * sizeof *f.wanted);
  if (!f.storages || !f.wanted)
    return memory_exhausted(&f);
  for (uint32_t i = 0; i < graph->tensor_count; i++) {
    f.storages[i].owner = i;
    f.wanted[i] = cost->trainable[i];
  }
  if (walk_block(&f, &graph->block, 0, &memory->activation_peak_bytes) < 0)
    return -1;
  memory->saved_bytes = ft_known_plus(memory->saved_bytes, memory->loop_bytes);
  memory->weight_bytes = constant_bytes(graph, &graph->block);
  memory->parameter_bytes = cost->parameter_bytes;
  memory->gradient_bytes = memory->parameter_bytes;
  memory->inference_peak_bytes = ft_known_plus(memory->weight_bytes, memory->activation_peak_bytes);
  for (uint32_t i = 0; i < graph->tensor_count; i++)
    for (int k = 0; cost->trainable[i] && k < FT_OPTIMIZERS; k++)
      memory->optimizer_bytes[k] =
          ft_known_plus(memory->optimizer_bytes[k],
                        ft_optimizer_state_bytes((enum ft_optimizer)k, &graph->tensors[i],
                                                 ft_parameter_bytes(graph, cost, i)));
  return 0;
}
