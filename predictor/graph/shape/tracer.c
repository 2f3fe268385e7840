/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the graph of a traced program: tensors, operators, subgraphs. */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/graph/shape/tracer.h"

enum { PENDING_WRITES = 16 }; /* nested pending writes into parts; deeper ones are ignored */

/* ---- memory ---- */

static int tracer_exhausted(struct ft_tracer *l)
{
  l->failed = true;
  return ft_error_set(l->in->err, "%s: its graph needs more than %d MiB, or memory is out",
                      l->graph->file, FT_LIMIT_GRAPH >> 20);
}

int ft_tracer_fail(struct ft_tracer *l, const char *format, ...)
{
  char text[512];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return ft_error_set(l->in->err, "%s: %s%sbyte %llu: %s", l->graph->file,
                      l->in->part ? l->in->part : "", l->in->part ? ": " : "",
                      (unsigned long long)l->at, text);
}

void *ft_tracer_take(struct ft_tracer *l, size_t size)
{
  void *taken = ft_arena_take(&l->graph->results, size ? size : 1);

  if (!taken)
    (void)tracer_exhausted(l);
  return taken;
}

char *ft_tracer_text(struct ft_tracer *l, const char *text, size_t length)
{
  char *kept = ft_tracer_take(l, length + 1);

  if (kept && length)
    memcpy(kept, text, length);
  return kept;
}

const char *ft_tracer_format(struct ft_tracer *l, const char *format, ...)
{
  char text[FT_GRAPH_NAME];
  const char *kept;
  va_list args;

  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  kept = ft_tracer_text(l, text, strlen(text));
  return kept ? kept : "";
}

void *ft_tracer_grow(struct ft_tracer *l, void *data, size_t *room, size_t count, size_t size)
{
  void *grown = ft_arena_grow(&l->graph->results, data, room, count, size);

  if (!grown)
    (void)tracer_exhausted(l);
  return grown;
}

/* ---- tensors ---- */

/* Adds a tensor of unknown shape to the current block. */
static uint32_t add_tensor(struct ft_tracer *l, const char *name)
{
  struct ft_graph *g = l->graph;
  struct ft_tensor *tensors =
      ft_tracer_grow(l, g->tensors, &l->tensor_room, g->tensor_count, sizeof *tensors);

  if (!tensors)
    return g->tensor_count ? 0 : UINT32_MAX;
  g->tensors = tensors;
  tensors[g->tensor_count] = (struct ft_tensor){ .name = name, .rank = -1, .block = l->serial };
  return g->tensor_count++;
}

int ft_tracer_begin(struct ft_tracer *l, struct ft_infer *in)
{
  struct ft_graph *g = in->graph;

  *l = (struct ft_tracer){ .in = in, .graph = g, .block = &g->block, .scope = "" };
  l->serial = l->serials = 1;
  g->block = (struct ft_block){ 0 };
  in->err->text[0] = '\0';
  g->tensors = NULL;
  g->tensor_count = g->operator_count = g->logits = g->kv_cache_count = 0;
  g->kv_cache = NULL;
  if (add_tensor(l, "") == UINT32_MAX)
    return -1;
  g->tensors[0].block = 0;
  return l->failed ? -1 : 0;
}

static int add_index(struct ft_tracer *l, uint32_t **list, size_t *room, uint32_t *count,
                     uint32_t tensor)
{
  uint32_t *grown = ft_tracer_grow(l, *list, room, *count, sizeof *grown);

  if (!grown)
    return -1;
  *list = grown;
  grown[(*count)++] = tensor;
  return 0;
}

uint32_t ft_tracer_input(struct ft_tracer *l, const char *name, const struct ft_declared *declared)
{
  uint32_t tensor = add_tensor(l, name);

  if (!tensor || add_index(l, &l->graph->block.inputs, &l->input_room, &l->graph->block.input_count,
                           tensor) < 0)
    return 0;
  ft_tracer_of(l, tensor)->declared = declared;
  return tensor;
}

/* Follows the replacements to the last, with path halving. */
uint32_t ft_tracer_now(struct ft_tracer *l, uint32_t tensor)
{
  while (tensor < l->replacement_count && l->replacement[tensor]) {
    uint32_t next = l->replacement[tensor];

    if (next < l->replacement_count && l->replacement[next])
      l->replacement[tensor] = next = l->replacement[next];
    tensor = next;
  }
  return tensor;
}

void ft_tracer_replace(struct ft_tracer *l, uint32_t x, uint32_t y)
{
  uint32_t now = ft_tracer_now(l, x);

  if (!x || now >= y || ft_tracer_of(l, x)->block != l->serial)
    return;
  while (l->replacement_count <= now)
    if (add_index(l, &l->replacement, &l->replacement_room, &l->replacement_count, 0) < 0)
      return;
  l->replacement[now] = y;
  if (now != x)
    l->replacement[x] = y;
}

/* ---- writes into a part of a tensor, recorded when an operator next reads the tensor ---- */

/* Records the pending writes to TENSOR, which nothing replaces, as operators. Returns the tensor
 * with the writes applied; TENSOR if none is pending. */
static uint32_t flush_writes(struct ft_tracer *l, uint32_t tensor)
{
  uint32_t part = tensor < l->part_count ? l->part[tensor] : 0, whole;
  struct ft_tracer aside; /* the operator being composed, restored below */

  if (!part || l->part_depth == PENDING_WRITES)
    return tensor;
  aside = *l;
  l->part_depth++;
  l->part[tensor] = 0;
  l->ins = NULL;
  l->in_room = 0;
  ft_tracer_op(l, "ScatterND");
  ft_tracer_in(l, tensor);
  ft_tracer_in(l, part);
  whole = ft_tracer_end(l, 1);
  l->part_depth--;
  l->ins = aside.ins;
  l->in_room = aside.in_room;
  l->in_count = aside.in_count;
  l->type = aside.type;
  l->domain = aside.domain;
  l->attribute_count = aside.attribute_count;
  memcpy(l->attributes, aside.attributes, sizeof l->attributes);
  if (!whole) {
    l->failed = true;
    return tensor;
  }
  if (ft_tracer_of(l, tensor)->block == l->serial)
    ft_tracer_replace(l, tensor, whole);
  else
    l->part[tensor] = part; /* the write is local to this subgraph */
  return whole;
}

void ft_tracer_scatter(struct ft_tracer *l, uint32_t x, uint32_t part)
{
  uint32_t now = ft_tracer_now(l, x);

  if (ft_tracer_of(l, now)->block != l->serial)
    return;
  if (now < l->part_count && l->part[now] && ft_tracer_now(l, l->part[now]) == part)
    return; /* PART replaced the tensor of the pending write */
  now = ft_tracer_now(l, flush_writes(l, now));
  while (l->part_count <= now)
    if (add_index(l, &l->part, &l->part_room, &l->part_count, 0) < 0)
      return;
  l->part[now] = part;
}

int ft_tracer_output(struct ft_tracer *l, uint32_t tensor)
{
  return add_index(l, &l->block->outputs, &l->output_room, &l->block->output_count,
                   flush_writes(l, ft_tracer_now(l, tensor)));
}

int ft_tracer_add_kv_cache(struct ft_tracer *l, uint32_t tensor)
{
  return add_index(l, &l->graph->kv_cache, &l->kv_cache_room, &l->graph->kv_cache_count,
                   flush_writes(l, ft_tracer_now(l, tensor)));
}

int ft_tracer_loose_ends(struct ft_tracer *l)
{
  const struct ft_block *block = l->block;
  uint32_t count = block->operator_count; /* a pending write of an output may add an operator */
  bool *read = l->lost ? ft_tracer_take(l, l->graph->tensor_count * sizeof *read) : NULL;

  if (!read)
    return l->lost ? -1 : 0;
  for (uint32_t i = 0; i < count; i++) {
    const struct ft_operator *op = &block->operators[i];

    for (uint32_t j = 0; j < op->input_count; j++)
      read[op->inputs[j]] = true;
    for (uint32_t j = 0; j < op->capture_count; j++)
      read[op->captures[j]] = true;
  }
  for (uint32_t i = 0; i < block->output_count; i++)
    read[block->outputs[i]] = true;
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t j = 0; j < block->operators[i].output_count; j++) {
      uint32_t tensor = block->operators[i].outputs[j];

      if (tensor && !read[tensor] && ft_tracer_output(l, tensor) < 0)
        return -1;
    }
  return 0;
}

static void set_constant(struct ft_tensor *t, const struct ft_declared *d)
{
  t->constant = d;
  t->dims = d->dims;
  t->rank = d->rank;
  t->values = d->values;
  t->element = d->element;
}

/* Weights belong to the outermost block, whichever block reads them first. */
uint32_t ft_tracer_weight(struct ft_tracer *l, struct ft_weight *weight)
{
  struct ft_block *block = &l->graph->block;

  if (weight->tensor)
    return weight->tensor;
  weight->tensor = add_tensor(l, weight->name);
  if (!weight->tensor || add_index(l, &block->constants, &l->constant_room, &block->constant_count,
                                   weight->tensor) < 0)
    return 0;
  set_constant(ft_tracer_of(l, weight->tensor), &weight->declared);
  ft_tracer_of(l, weight->tensor)->block = 1;
  return weight->tensor;
}

static struct ft_attribute *add_attribute(struct ft_tracer *l, const char *name,
                                          enum ft_attribute_type type)
{
  static struct ft_attribute spare;
  struct ft_attribute *a =
      l->attribute_count < FT_TRACER_ATTRIBUTES ? &l->attributes[l->attribute_count++] : &spare;

  *a = (struct ft_attribute){ .name = name, .type = type, .string = "" };
  return a;
}

uint32_t ft_tracer_constant(struct ft_tracer *l, unsigned element, int rank, const ft_dim *dims,
                            const double *values)
{
  struct ft_declared *d = ft_tracer_take(l, sizeof *d);

  if (!d || rank > FT_GRAPH_RANK)
    return 0;
  *d = (struct ft_declared){ .rank = rank, .element = (uint8_t)element };
  d->dims = ft_tracer_take(l, (size_t)(rank + 1) * sizeof *dims);
  if (!d->dims)
    return 0;
  for (int i = 0; i < rank; i++)
    d->dims[i] = dims[i];
  d->elements = ft_dim_or(ft_dim_product(dims, rank), -1);
  if (values && d->elements >= 0 && d->elements <= FT_GRAPH_VALUES) {
    double *kept = ft_tracer_take(l, (size_t)(d->elements + 1) * sizeof *kept);

    if (!kept)
      return 0;
    memcpy(kept, values, (size_t)d->elements * sizeof *kept);
    d->values = kept;
  }
  ft_tracer_op(l, "Constant");
  add_attribute(l, "value", FT_ATTRIBUTE_TENSOR)->tensor = d;
  return ft_tracer_end(l, 1);
}

uint32_t ft_tracer_number(struct ft_tracer *l, unsigned element, double value)
{
  return ft_tracer_constant(l, element, 0, NULL, &value);
}

uint32_t ft_tracer_list(struct ft_tracer *l, const int64_t *values, size_t count)
{
  double numbers[FT_GRAPH_VALUES];
  ft_dim dim = ft_dim_of((int64_t)count);

  for (size_t i = 0; i < count && i < FT_GRAPH_VALUES; i++)
    numbers[i] = (double)values[i];
  return ft_tracer_constant(l, FT_ELEMENT_INT64, 1, &dim,
                            count <= FT_GRAPH_VALUES ? numbers : NULL);
}

uint32_t ft_tracer_sizes(struct ft_tracer *l, const ft_dim *dims, int rank)
{
  double numbers[FT_GRAPH_RANK];
  ft_dim count = ft_dim_of(rank);

  for (int i = 0; i < rank; i++)
    numbers[i] = ft_dim_known(dims[i]) ? (double)ft_dim_or(dims[i], 0) : (double)NAN;
  return ft_tracer_constant(l, FT_ELEMENT_INT64, 1, &count, numbers);
}

/* ---- operators ---- */

void ft_tracer_unknown(struct ft_tracer *l, const char *domain, const char *type)
{
  l->type = type;
  l->domain = domain;
  l->in_count = l->attribute_count = 0;
  l->hints = (struct ft_operator_hints){ 0 };
  l->hinted = false;
}

void ft_tracer_op(struct ft_tracer *l, const char *type)
{
  ft_tracer_unknown(l, "", type);
}

void ft_tracer_in(struct ft_tracer *l, uint32_t tensor)
{
  (void)add_index(l, &l->ins, &l->in_room, &l->in_count, ft_tracer_now(l, tensor));
}

void ft_tracer_int(struct ft_tracer *l, const char *name, int64_t value)
{
  add_attribute(l, name, FT_ATTRIBUTE_INTEGER)->integer = value;
}

void ft_tracer_ints(struct ft_tracer *l, const char *name, const int64_t *values, size_t count)
{
  struct ft_attribute *a = add_attribute(l, name, FT_ATTRIBUTE_INTEGERS);
  int64_t *kept = ft_tracer_take(l, (count + 1) * sizeof *kept);

  if (!kept)
    return;
  memcpy(kept, values, count * sizeof *kept);
  a->integers = kept;
  a->count = count;
}

void ft_tracer_string(struct ft_tracer *l, const char *name, const char *value)
{
  add_attribute(l, name, FT_ATTRIBUTE_STRING)->string = value;
}

struct ft_operator_hints *ft_tracer_hints(struct ft_tracer *l)
{
  l->hinted = true;
  return &l->hints;
}

static struct ft_operator *append_traced_operator(struct ft_tracer *l, uint32_t outputs)
{
  struct ft_block *b = l->block;
  struct ft_operator op = { .name = l->scope, .type = l->type, .domain = l->domain, .at = l->at };
  struct ft_operator_hints *hints;
  struct ft_operator *ops;

  for (uint32_t i = 0; i < l->in_count; i++)
    l->ins[i] = flush_writes(l, ft_tracer_now(l, l->ins[i]));
  ops = ft_tracer_grow(l, b->operators, &l->operator_room, b->operator_count, sizeof *ops);
  if (!ops)
    return NULL;
  b->operators = ops;
  if (l->graph->operator_count >= FT_TRACER_OPERATORS) {
    (void)ft_tracer_fail(l, "more than %d operators: a network has fewer", FT_TRACER_OPERATORS);
    return NULL;
  }
  op.trip_count = 1;
  op.kind = ft_operator_find_made(l->domain, l->type);
  op.inputs = ft_tracer_take(l, (l->in_count + 1) * sizeof *op.inputs);
  op.outputs = ft_tracer_take(l, (outputs + 1) * sizeof *op.outputs);
  op.attributes = ft_tracer_take(l, (l->attribute_count + 1) * sizeof *op.attributes);
  hints = l->hinted ? ft_tracer_take(l, sizeof *hints) : NULL;
  if (!op.inputs || !op.outputs || !op.attributes || l->failed)
    return NULL;
  if (hints)
    *hints = l->hints;
  op.hints = hints;
  if (l->in_count)
    memcpy(op.inputs, l->ins, l->in_count * sizeof *op.inputs);
  memcpy(op.attributes, l->attributes, l->attribute_count * sizeof *op.attributes);
  op.input_count = l->in_count;
  op.attribute_count = l->attribute_count;
  op.output_count = outputs;
  for (uint32_t i = 0; i < outputs; i++) {
    op.outputs[i] = add_tensor(l, l->scope);
    if (!op.outputs[i])
      return NULL;
    ft_tracer_of(l, op.outputs[i])->producer = b->operator_count + 1;
  }
  l->graph->operator_count++;
  ops[b->operator_count] = op;
  return &ops[b->operator_count++];
}

uint32_t ft_tracer_end(struct ft_tracer *l, uint32_t outputs)
{
  struct ft_operator *op = append_traced_operator(l, outputs);

  if (!op || ft_infer_operator(l->in, op) < 0)
    return 0;
  return op->outputs[0];
}

bool ft_tracer_reshape_weight(struct ft_tracer *l, struct ft_weight *w, const ft_dim *dims,
                              int rank)
{
  ft_dim others = ft_dim_of(1), *kept;
  int open = -1; /* index of the dimension to infer */
  int64_t count;

  if (w->tensor || rank < 1 || rank > FT_GRAPH_RANK)
    return false;
  for (int i = 0; i < rank; i++)
    if (!ft_dim_known(dims[i]) && open < 0)
      open = i;
    else
      others = ft_dim_times(others, dims[i]);
  count = ft_dim_or(others, 0);
  if (count < 1 || (open < 0 ? count != w->declared.elements : w->declared.elements % count != 0))
    return false;
  kept = ft_tracer_take(l, (size_t)rank * sizeof *kept);
  if (!kept)
    return false;
  memcpy(kept, dims, (size_t)rank * sizeof *kept);
  if (open >= 0)
    kept[open] = ft_dim_of(w->declared.elements / count);
  w->declared.dims = kept;
  w->declared.rank = rank;
  return true;
}

bool ft_tracer_add_bias(struct ft_tracer *l, uint32_t x, struct ft_weight *bias, ft_dim channels)
{
  const struct ft_tensor *t = ft_tracer_of(l, x);
  struct ft_operator *op = ft_block_producer(l->block, t);
  uint32_t *in, w;

  if (bias->tensor || !op || t->block != l->serial || !ft_dim_is(channels, bias->declared.elements))
    return false;
  if (!ft_operator_has(op, FT_OPERATOR_TAKES_BIAS) || op->input_count != 2)
    return false;
  in = ft_tracer_take(l, 3 * sizeof *in);
  w = in ? ft_tracer_weight(l, bias) : 0;
  if (!w)
    return false;
  memcpy(in, op->inputs, 2 * sizeof *in);
  in[2] = w;
  op->inputs = in;
  op->input_count = 3;
  return true;
}

/* ---- blocks ---- */

int ft_tracer_open(struct ft_tracer *l, struct ft_tracer_frame *frame)
{
  *frame = (struct ft_tracer_frame){ .outer = l->block,
                                     .serial = l->serial,
                                     .operator_room = l->operator_room,
                                     .output_room = l->output_room };
  frame->block = ft_tracer_take(l, sizeof *frame->block);
  if (!frame->block)
    return -1;
  if (l->outer == FT_GRAPH_DEPTH)
    return ft_tracer_fail(l, "branches within each other more than %d deep", FT_GRAPH_DEPTH);
  l->outer++;
  l->block = frame->block;
  l->serial = ++l->serials;
  l->operator_room = l->output_room = 0;
  return 0;
}

void ft_tracer_close(struct ft_tracer *l, const struct ft_tracer_frame *frame)
{
  l->outer--;
  l->block = frame->outer;
  l->serial = frame->serial;
  l->operator_room = frame->operator_room;
  l->output_room = frame->output_room;
}

/* Collects BLOCK's captures: tensors it reads whose serial is at most the current one. */
static int add_captures(struct ft_tracer *l, struct ft_operator *op, const struct ft_block *block,
                        size_t *room)
{
  for (uint32_t i = 0; i < block->operator_count + 1; i++) {
    const struct ft_operator *o = i < block->operator_count ? &block->operators[i] : NULL;
    uint32_t count = o ? o->input_count + o->capture_count : block->output_count;

    for (uint32_t j = 0; j < count; j++) {
      uint32_t tensor = !o                   ? block->outputs[j]
                        : j < o->input_count ? o->inputs[j]
                                             : o->captures[j - o->input_count];

      if (tensor && ft_tracer_of(l, tensor)->block <= l->serial &&
          add_index(l, &op->captures, room, &op->capture_count, tensor) < 0)
        return -1;
    }
  }
  return 0;
}

uint32_t ft_tracer_blocks(struct ft_tracer *l, const char *type, uint32_t condition,
                          struct ft_block *const *blocks, const char *const *names, unsigned count,
                          uint32_t outputs, int64_t trip_count)
{
  struct ft_operator *op;
  size_t room = 0;

  ft_tracer_op(l, type);
  ft_tracer_in(l, condition);
  for (unsigned i = 0; i < count; i++)
    add_attribute(l, names[i], FT_ATTRIBUTE_BLOCK)->block = blocks[i];
  op = append_traced_operator(l, outputs);
  if (!op)
    return 0;
  op->trip_count = trip_count;
  op->resolved = true;
  for (unsigned i = 0; i < count; i++)
    if (add_captures(l, op, blocks[i], &room) < 0)
      return 0;
  op->data = ft_tracer_of(l, condition)->data;
  for (uint32_t i = 0; i < op->capture_count; i++)
    op->data = op->data || ft_tracer_of(l, op->captures[i])->data;
  for (uint32_t i = 0; i < outputs; i++)
    ft_tracer_of(l, op->outputs[i])->data = op->data;
  return outputs ? op->outputs[0] : l->graph->tensor_count;
}
