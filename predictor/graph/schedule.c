/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/graph/backward.h"
#include "predictor/graph/fuse.h"
#include "predictor/graph/infer.h"
#include "predictor/graph/kinds.h"
#include "predictor/graph/schedule.h"
#include "predictor/graph/strides.h"

/* A tensor's memory, or that of which it is a view. */
struct place {
  uint32_t owner;  /* the tensor whose memory it is */
  uint32_t last;   /* operator + 1 that reads that memory last in the forward pass (of the owner) */
  uint32_t buffer; /* + 1; 0: none now (of the owner) */
  uint32_t gradient;                /* buffer + 1 of this tensor's gradient */
  const struct ft_strides *strides; /* NULL: dense */
  bool scattered;                   /* a view that a reshape has to copy */
  bool held;                        /* by the forward pass (of the owner) */
  bool fixed;                       /* parameters, inputs: there all the time (of the owner) */
  bool wanted;                      /* its gradient is */
};

struct plan {
  struct ft_graph *graph;
  const struct ft_block *block;
  const struct ft_cost *cost;
  const struct ft_schedule_options *options;
  struct ft_schedule *out;
  struct ft_error *err;
  struct ft_fusion *fusions;
  struct place *places;
  uint32_t *uses; /* of each tensor: how many, and one of them */
  const struct ft_operator **users;
  uint32_t *references; /* of each buffer */
  int64_t *sizes;       /* of each buffer */
  struct kept {
    uint32_t buffer, next;
  } * kept;        /* what operators keep, in lists */
  uint32_t *keeps; /* of each operator: its first + 1 */
  size_t event_room, reference_room, size_room, kept_room, kept_count;
  int64_t live;
  bool failed;
};

/* ---- buffers ---- */

static void emit(struct plan *p, uint8_t kind, uint32_t buffer, int64_t bytes)
{
  struct ft_event *events = ft_arena_grow(&p->graph->results, p->out->events, &p->event_room,
                                          p->out->count, sizeof *events);

  if (!events) {
    p->failed = true;
    return;
  }
  p->out->events = events;
  events[p->out->count++] = (struct ft_event){ bytes, buffer, kind };
}

/* A buffer of BYTES with one reference, + 1; 0 for none. */
static uint32_t take(struct plan *p, int64_t bytes)
{
  uint32_t buffer = p->out->buffers, *references;
  int64_t *sizes;

  if (bytes <= 0)
    return 0;
  references = ft_arena_grow(&p->graph->results, p->references, &p->reference_room, buffer,
                             sizeof *references);
  if (references)
    p->references = references;
  sizes = ft_arena_grow(&p->graph->results, p->sizes, &p->size_room, buffer, sizeof *sizes);
  if (sizes)
    p->sizes = sizes;
  if (!references || !sizes) {
    p->failed = true;
    return 0;
  }
  references[buffer] = 1;
  sizes[buffer] = bytes;
  p->out->buffers++;
  p->live = ft_plus(p->live, bytes);
  if (p->live > p->out->peak_bytes)
    p->out->peak_bytes = p->live;
  emit(p, FT_EVENT_TAKE, buffer, bytes);
  return buffer + 1;
}

static uint32_t hold(struct plan *p, uint32_t buffer)
{
  if (buffer)
    p->references[buffer - 1]++;
  return buffer;
}

static void drop(struct plan *p, uint32_t buffer)
{
  if (!buffer || --p->references[buffer - 1])
    return;
  p->live -= p->sizes[buffer - 1];
  emit(p, FT_EVENT_GIVE, buffer - 1, 0);
}

static void keep(struct plan *p, uint32_t op, uint32_t buffer)
{
  struct kept *kept;

  if (!buffer)
    return;
  kept = ft_arena_grow(&p->graph->results, p->kept, &p->kept_room, p->kept_count, sizeof *kept);
  if (!kept) {
    p->failed = true;
    return;
  }
  p->kept = kept;
  kept[p->kept_count++] = (struct kept){ buffer, p->keeps[op] };
  p->keeps[op] = (uint32_t)p->kept_count;
}

/* ---- tensors ---- */

static const struct ft_tensor *tensor(const struct plan *p, uint32_t t)
{
  return &p->graph->tensors[t];
}

static int64_t bytes_of(const struct plan *p, uint32_t t)
{
  int64_t elements;

  if (!ft_element_is_real(tensor(p, t)->element)) {
    elements = ft_tensor_bytes(tensor(p, t));
  } else {
    elements = ft_tensor_elements(tensor(p, t));
    elements = ft_times(elements, p->cost->learnt[t] ? p->options->parameter_bytes_per_element
                                                     : p->options->activation_bytes_per_element);
  }
  return elements > 0 ? ft_times(elements, tensor(p, t)->data ? p->options->batch : 1) : 0;
}

static struct place *owner(const struct plan *p, uint32_t t)
{
  return &p->places[p->places[t].owner];
}

static bool is(const struct ft_operator *op, const char *type)
{
  return strcmp(op->type, type) == 0;
}

static uint32_t input(const struct ft_operator *op, uint32_t i)
{
  return i < op->input_count ? op->inputs[i] : 0;
}

/* Whether OP does something in a training step: it works on what is fed or what is learnt. */
static bool runs(const struct plan *p, const struct ft_operator *op)
{
  bool wanted = false;

  for (uint32_t i = 0; i < op->output_count; i++) {
    if (op->outputs[i] && p->cost->learnt[op->outputs[i]])
      return false; /* a parameter that the exporter wrote as another's copy */
    wanted = wanted || p->places[op->outputs[i]].wanted;
  }
  return op->data || wanted;
}

/* One element along an axis, as unbind and indexing with a number take it. */
static bool selects(const struct plan *p, const struct ft_operator *op)
{
  return is(op, "Gather") && op->input_count > 1 && tensor(p, op->inputs[1])->rank == 0 &&
         !tensor(p, op->inputs[1])->data;
}

/* Padding that pooling does itself. */
static bool pads_pool(const struct plan *p, const struct ft_operator *op)
{
  const struct ft_operator *user = p->users[op->outputs[0]];

  return is(op, "Pad") && p->uses[op->outputs[0]] == 1 && user &&
         (is(user, "AveragePool") || is(user, "MaxPool"));
}

/* How T lies; dense unless it is a view of another order. */
static struct ft_strides strides_of(const struct plan *p, uint32_t t)
{
  struct ft_strides strides = { { 0 } };

  if (p->places[t].strides)
    return *p->places[t].strides;
  if (tensor(p, t)->rank > 0)
    ft_strides_dense(tensor(p, t), &strides);
  return strides;
}

static void lies(struct plan *p, uint32_t t, const struct ft_strides *strides)
{
  struct ft_strides *own, dense = { { 0 } };
  size_t size = sizeof *strides->step * (size_t)(tensor(p, t)->rank > 0 ? tensor(p, t)->rank : 0);

  if (tensor(p, t)->rank <= 0)
    return;
  ft_strides_dense(tensor(p, t), &dense);
  if (memcmp(&dense, strides, size) == 0)
    return;
  own = ft_arena_take(&p->graph->results, sizeof *own);
  if (!own)
    p->failed = true;
  else
    memcpy(own, strides, size);
  p->places[t].strides = own;
}

/* Whether OP's results are views of its first input, and then how they lie. */
static bool is_view(const struct plan *p, const struct ft_operator *op, struct ft_strides *strides)
{
  const struct ft_tensor *x = tensor(p, op->inputs[0]), *y = tensor(p, op->outputs[0]);
  struct ft_strides from;

  if (!op->kind || (!op->kind->view && !selects(p, op)) || x->rank < 0 || y->rank < 0)
    return false;
  from = strides_of(p, op->inputs[0]);
  if (is(op, "Reshape") || is(op, "Flatten"))
    return ft_strides_reshape(x, &from, y->dims, y->rank, strides);
  return ft_strides_view(p->graph, op, &from, strides);
}

static const struct ft_operator *producer(const struct plan *p, uint32_t t)
{
  uint32_t from = tensor(p, t)->producer;

  return from && from <= p->block->operator_count ? &p->block->operators[from - 1] : NULL;
}

/* A bias or a residual sum that is added where its first operand lies. */
static bool adds_in_place(const struct plan *p, const struct ft_operator *op)
{
  const struct ft_operator *from = producer(p, input(op, 0));

  if (!is(op, "Add") || !from || p->uses[op->inputs[0]] != 1)
    return false;
  return is(from, "BatchNormalization") || (is(from, "MatMul") && p->cost->learnt[input(op, 1)]);
}

static bool in_place(const struct plan *p, const struct ft_operator *op)
{
  const struct ft_operator *from = producer(p, input(op, 0));

  if (adds_in_place(p, op))
    return true;
  return ft_backward_of(op).in_place && from && p->uses[op->inputs[0]] == 1 &&
         (is(op, "Relu") || is(from, "BatchNormalization") || is(from, "Conv")) &&
         !p->places[op->inputs[0]].strides && !(ft_backward_of(from).saves & FT_SAVES_RESULT) &&
         ft_tensor_elements(tensor(p, op->inputs[0])) ==
             ft_tensor_elements(tensor(p, op->outputs[0]));
}

static void reads(struct plan *p, uint32_t t, uint32_t when)
{
  if (owner(p, t)->last < when)
    owner(p, t)->last = when;
}

static void count_uses(struct plan *p)
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

/* Where OP's results lie. */
static void place(struct plan *p, const struct ft_operator *op, const struct ft_fusion *fusion)
{
  struct ft_strides strides = { { 0 } }, from;
  const struct ft_tensor *y = tensor(p, op->output_count ? op->outputs[0] : 0);
  bool view;

  if (!op->output_count || !op->input_count || y->rank < 0)
    return;
  if (fusion->kind == FT_FUSED_ATTENTION && y->rank == 4) { /* heads side by side */
    int64_t heads = y->dims[1], rows = y->dims[2], size = y->dims[3];

    strides = (struct ft_strides){ { ft_times(rows, ft_times(heads, size)), size,
                                     ft_times(heads, size), 1 } };
    lies(p, op->outputs[0], &strides);
    return;
  }
  if (fusion->kind != FT_FUSED_NOT || !op->inputs[0])
    return;
  view = is_view(p, op, &strides);
  if (view || in_place(p, op) || pads_pool(p, op)) {
    for (uint32_t j = 0; j < op->output_count; j++) {
      p->places[op->outputs[j]].owner = p->places[op->inputs[0]].owner;
      if (view)
        lies(p, op->outputs[j], &strides);
    }
  } else if (p->places[op->inputs[0]].strides && tensor(p, op->inputs[0])->rank == y->rank &&
             ft_tensor_elements(tensor(p, op->inputs[0])) == ft_tensor_elements(y) &&
             ft_backward_of(op).gradient != FT_GRADIENT_STOPS && op->kind &&
             op->kind->work == FT_WORK_NONE && !is(op, "Softmax") && !is(op, "Concat") &&
             !op->kind->view) {
    from = strides_of(p, op->inputs[0]);
    ft_strides_like(y, &from, &strides);
    lies(p, op->outputs[0], &strides);
  }
}

/* Who owns what, whose gradient is wanted, and when memory is read last. */
static void settle(struct plan *p)
{
  for (uint32_t t = 0; t < p->graph->tensor_count; t++) {
    p->places[t].owner = t;
    p->places[t].wanted = p->cost->learnt[t];
    p->places[t].fixed = tensor(p, t)->constant || p->cost->learnt[t];
  }
  for (uint32_t i = 0; i < p->block->input_count; i++)
    p->places[p->block->inputs[i]].fixed = true;
  for (uint32_t i = 0; i < p->block->operator_count; i++) {
    const struct ft_operator *op = &p->block->operators[i];
    bool wanted = false;

    for (uint32_t j = 0; j < op->input_count; j++)
      wanted = wanted || (op->inputs[j] && p->places[op->inputs[j]].wanted);
    if (ft_backward_of(op).gradient == FT_GRADIENT_STOPS)
      wanted = false;
    for (uint32_t j = 0; j < op->output_count; j++)
      if (op->outputs[j] && ft_element_is_real(tensor(p, op->outputs[j])->element))
        p->places[op->outputs[j]].wanted = p->places[op->outputs[j]].wanted || wanted;
  }
  for (uint32_t i = 0; i < p->block->operator_count; i++) {
    const struct ft_operator *op = &p->block->operators[i];
    const struct ft_fusion *fusion = &p->fusions[i];

    if (!runs(p, op))
      continue;
    place(p, op, fusion);
    for (uint32_t j = 0; j < op->input_count; j++)
      reads(p, op->inputs[j], i + 1);
    for (uint32_t j = 0; j < op->capture_count; j++)
      reads(p, op->captures[j], i + 1);
    reads(p, fusion->input, i + 1);
    reads(p, fusion->keys, i + 1);
    reads(p, fusion->values, i + 1);
  }
  for (uint32_t i = 0; i < p->block->output_count; i++)
    reads(p, p->block->outputs[i], UINT32_MAX);
}

/* ---- forward ---- */

static void save(struct plan *p, uint32_t op, uint32_t t)
{
  struct place *place = owner(p, t);

  if (!t || place->fixed || !place->buffer)
    return;
  keep(p, op, hold(p, place->buffer));
}

static bool learnt(const struct plan *p, uint32_t t)
{
  return p->places[t].wanted;
}

/* What an operator makes for its backward pass beside tensors of the graph. */
static void save_extras(struct plan *p, uint32_t i, unsigned saves)
{
  const struct ft_operator *op = &p->block->operators[i];
  const struct ft_tensor *y = tensor(p, op->outputs[0]);
  int64_t elements = ft_times(ft_tensor_elements(y), p->options->batch);

  if (elements <= 0)
    return;
  if (saves & FT_SAVES_INDICES)
    keep(p, i, take(p, ft_times(8, elements)));
  if (saves & FT_SAVES_MASK)
    keep(p, i, take(p, elements));
  if (saves & FT_SAVES_GATES) /* LSTM 4 gates and a cell, GRU 3 and 1, RNN 1 */
    keep(p, i,
         take(p, ft_times(4 * (op->type[0] == 'L'   ? 5
                               : op->type[0] == 'G' ? 4
                                                    : 1),
                          elements)));
  if (saves & FT_SAVES_STATISTICS && y->rank > 1) {
    int64_t groups = is(op, "BatchNormalization") ? y->dims[1]
                     : is(op, "LayerNormalization")
                         ? elements / (y->dims[y->rank - 1] ? y->dims[y->rank - 1] : 1)
                         : ft_times(y->dims[0], y->dims[1]);

    keep(p, i, take(p, ft_times(4, groups)));
    keep(p, i, take(p, ft_times(4, groups)));
  }
}

/*
 * What a matrix product makes of operand T before it multiplies: more than three dimensions become
 * three (two where the other is a matrix that is learnt), and where they do not lie so that is a
 * copy, which is then kept in the operand's place (aten/src/ATen/native/LinearAlgebra.cpp, matmul).
 */
static uint32_t copy_of(struct plan *p, const struct ft_operator *op, uint32_t t)
{
  const struct ft_tensor *x = tensor(p, t), *y = tensor(p, op->outputs[0]);
  const struct ft_tensor *other = tensor(p, op->inputs[op->inputs[0] == t]);
  struct ft_strides from, strides;
  int64_t dims[3] = { 1, 1, 1 }, wide = 1;
  int kept = other->rank == 2 ? 1 : 2;

  if (x->rank < 3 || (kept == 2 && y->rank < 4) || other->rank < 2)
    return 0;
  for (int i = 0; i < x->rank - kept; i++)
    dims[0] = ft_times(dims[0], x->dims[i]);
  for (int i = 0; i < y->rank - kept; i++)
    wide = ft_times(wide, y->dims[i]);
  for (int i = 0; i < kept; i++)
    dims[i + 1] = x->dims[x->rank - kept + i];
  from = strides_of(p, t);
  if (kept == 2 && dims[0] > 0 && wide > dims[0]) /* broadcast: written out */
    return take(p, ft_times(bytes_of(p, t), wide / dims[0]));
  if (ft_strides_reshape(x, &from, dims, kept + 1, &strides))
    return 0;
  return take(p, bytes_of(p, t));
}

static void save_all(struct plan *p, uint32_t i)
{
  const struct ft_operator *op = &p->block->operators[i];
  const struct ft_fusion *fusion = &p->fusions[i];
  unsigned saves = ft_backward_of(op).saves;

  if (!p->places[op->outputs[0]].wanted)
    return;
  if (fusion->kind == FT_FUSED_ACTIVATION || fusion->kind == FT_FUSED_NORM) {
    save(p, i, fusion->input);
    if (fusion->kind == FT_FUSED_NORM && fusion->groups > 0) {
      keep(p, i, take(p, ft_times(4 * p->options->batch, fusion->groups)));
      keep(p, i, take(p, ft_times(4 * p->options->batch, fusion->groups)));
    }
    return;
  }
  if (fusion->kind == FT_FUSED_ATTENTION) {
    save(p, i, fusion->input);
    save(p, i, fusion->keys);
    save(p, i, fusion->values);
    save(p, i, op->outputs[0]);
    keep(p, i, take(p, ft_times(4 * p->options->batch, fusion->groups)));
    return;
  }
  if (is(op, "MatMul") && op->input_count == 2) {
    for (uint32_t j = 0; j < 2; j++) {
      uint32_t copy = p->places[op->inputs[j]].fixed ? 0 : copy_of(p, op, op->inputs[j]);

      if (!learnt(p, op->inputs[!j]))
        drop(p, copy);
      else if (copy)
        keep(p, i, copy);
      else
        save(p, i, op->inputs[j]);
    }
    return;
  }
  if (ft_backward_of(op).in_place && !is(op, "Relu") && !in_place(p, op))
    saves = FT_SAVES_FIRST;
  save_extras(p, i, saves);
  if (saves & FT_SAVES_FIRST)
    save(p, i, input(op, 0));
  if (saves & FT_SAVES_SECOND)
    save(p, i, input(op, 1));
  if (saves & FT_SAVES_RESULT)
    save(p, i, op->outputs[0]);
  if (saves & FT_SAVES_BOTH) {
    if (learnt(p, input(op, 1)))
      save(p, i, input(op, 0));
    if (learnt(p, input(op, 0)))
      save(p, i, input(op, 1));
    if (is(op, "Div") && learnt(p, input(op, 1)))
      save(p, i, input(op, 1));
  }
}

static int64_t share(double part, int64_t bytes)
{
  double product = part * (double)bytes;

  return product > 0 && product < (double)FT_GRAPH_ELEMENTS ? (int64_t)product : 0;
}

/* Workspace of a convolution in one direction; grouped by channel PyTorch has a kernel without. */
static int64_t workspace(const struct plan *p, const struct ft_operator *op, int direction)
{
  const struct ft_workspace *w = &p->options->workspace[direction];
  const struct ft_tensor *kernel = tensor(p, input(op, 1));
  int64_t group;

  if (!is(op, "Conv") && !is(op, "ConvTranspose"))
    return 0;
  group = ft_integer(op, "group", 1);
  if (kernel->rank > 1 && kernel->dims[1] == 1 && group > 1)
    return 0;
  return ft_plus(ft_plus(share(w->input, bytes_of(p, input(op, 0))),
                         share(w->output, bytes_of(p, op->outputs[0]))),
                 share(w->weight, bytes_of(p, input(op, 1))));
}

static void work(struct plan *p, const struct ft_operator *op, int direction)
{
  int64_t bytes = workspace(p, op, direction);

  if (is(op, "Conv"))
    emit(p, FT_EVENT_TRIED, 0, 0);
  drop(p, take(p, bytes));
}

static void release(struct plan *p, uint32_t t, uint32_t when)
{
  struct place *place = owner(p, t);

  if (!t || !place->held || place->last > when)
    return;
  place->held = false;
  drop(p, place->buffer);
}

static void forward(struct plan *p, uint32_t i)
{
  const struct ft_operator *op = &p->block->operators[i];
  const struct ft_fusion *fusion = &p->fusions[i];

  if (!runs(p, op) || !op->output_count)
    return;
  if (fusion->kind != FT_FUSED_INSIDE) {
    for (uint32_t j = 0; j < op->output_count; j++) {
      uint32_t t = op->outputs[j];

      if (!t || p->places[t].owner != t || p->places[t].held)
        continue;
      p->places[t].buffer = take(p, bytes_of(p, t));
      p->places[t].held = p->places[t].buffer != 0;
    }
    work(p, op, 0);
    save_all(p, i);
  }
  for (uint32_t j = 0; j < op->input_count; j++)
    release(p, op->inputs[j], i + 1);
  for (uint32_t j = 0; j < op->capture_count; j++)
    release(p, op->captures[j], i + 1);
  release(p, fusion->input, i + 1);
  release(p, fusion->keys, i + 1);
  release(p, fusion->values, i + 1);
  for (uint32_t j = 0; j < op->output_count; j++)
    release(p, op->outputs[j], i + 1);
}

/* ---- backward ---- */

/* Add BUFFER (a reference is taken over) to the gradient of T. */
static void accumulate(struct plan *p, uint32_t t, uint32_t buffer)
{
  uint32_t *gradient = &p->places[t].gradient, sum;

  if (!*gradient) {
    *gradient = buffer;
    return;
  }
  if (buffer && p->references[*gradient - 1] > 1) {
    sum = take(p, p->sizes[*gradient - 1]);
    drop(p, *gradient);
    *gradient = sum;
  }
  drop(p, buffer);
}

static void give(struct plan *p, uint32_t t, uint32_t gradient, uint8_t how)
{
  if (!t || !p->places[t].wanted)
    return;
  if (how == FT_GRADIENT_PASSES && gradient)
    accumulate(p, t, hold(p, gradient));
  else
    accumulate(p, t, take(p, bytes_of(p, t)));
}

static void give_conv(struct plan *p, const struct ft_operator *op)
{
  if (input(op, 2))
    give(p, input(op, 2), 0, FT_GRADIENT_NEW);
  if (p->places[input(op, 0)].wanted) {
    uint32_t gradient = take(p, bytes_of(p, input(op, 0)));

    work(p, op, 1);
    accumulate(p, input(op, 0), gradient);
  }
  if (p->places[input(op, 1)].wanted) {
    uint32_t gradient = take(p, bytes_of(p, input(op, 1)));

    work(p, op, 2);
    accumulate(p, input(op, 1), gradient);
  }
}

static void give_inputs(struct plan *p, uint32_t i, uint32_t gradient)
{
  const struct ft_operator *op = &p->block->operators[i];
  const struct ft_fusion *fusion = &p->fusions[i];
  struct ft_backward rule = ft_backward_of(op);
  int64_t result = bytes_of(p, op->outputs[0]);

  if (fusion->kind == FT_FUSED_ATTENTION) {
    uint32_t delta = take(p, ft_times(4 * p->options->batch, fusion->groups));

    give(p, fusion->input, 0, FT_GRADIENT_NEW);
    give(p, fusion->keys, 0, FT_GRADIENT_NEW);
    give(p, fusion->values, 0, FT_GRADIENT_NEW);
    drop(p, delta);
    return;
  }
  if (fusion->kind == FT_FUSED_ACTIVATION || fusion->kind == FT_FUSED_NORM) {
    give(p, fusion->input, 0, FT_GRADIENT_NEW);
    for (uint32_t j = 0; fusion->kind == FT_FUSED_NORM && j < op->input_count; j++)
      if (p->cost->learnt[op->inputs[j]])
        give(p, op->inputs[j], 0, FT_GRADIENT_NEW);
    return;
  }
  if (is(op, "Conv") || is(op, "ConvTranspose")) {
    give_conv(p, op);
    return;
  }
  for (uint32_t j = 0; j < op->input_count; j++) {
    uint32_t t = op->inputs[j], full = 0;
    uint8_t how = pads_pool(p, op) ? FT_GRADIENT_PASSES : rule.gradient;

    if (!t || !p->places[t].wanted)
      continue;
    if (how == FT_GRADIENT_PASSES && op->output_count == 1 && !is(op, "Concat") && !is(op, "Pad") &&
        bytes_of(p, t) != result)
      how = FT_GRADIENT_NEW; /* a sum over what was broadcast */
    if (how == FT_GRADIENT_NEW && is(op, "Mul") && bytes_of(p, t) < result)
      full = take(p, result); /* the product before its sum */
    if (is(op, "Gather") && p->places[t].gradient && selects(p, op))
      continue; /* unbind: one stack of them all */
    give(p, t, gradient, how);
    drop(p, full);
  }
}

static void backward(struct plan *p, uint32_t i)
{
  const struct ft_operator *op = &p->block->operators[i];
  uint32_t gradient = 0;

  if (!runs(p, op) || !op->output_count)
    return;
  for (uint32_t j = 0; j < op->output_count && !gradient; j++)
    gradient = op->outputs[j] ? p->places[op->outputs[j]].gradient : 0;
  if (gradient && p->fusions[i].kind != FT_FUSED_INSIDE)
    give_inputs(p, i, gradient);
  for (uint32_t k = p->keeps[i]; k; k = p->kept[k - 1].next)
    drop(p, p->kept[k - 1].buffer);
  p->keeps[i] = 0;
  for (uint32_t j = 0; j < op->output_count; j++) {
    uint32_t t = op->outputs[j];

    if (!t || p->cost->learnt[t])
      continue;
    drop(p, p->places[t].gradient);
    p->places[t].gradient = 0;
  }
}

/* ---- the whole step ---- */

static void parameters(struct plan *p)
{
  for (uint32_t t = 1; t < p->graph->tensor_count; t++) {
    const struct ft_tensor *x = tensor(p, t);

    if (!p->cost->learnt[t] && !(x->constant && ft_element_is_real(x->element) && x->rank > 0))
      continue;
    if (p->cost->learnt[t]) {
      p->out->learnt_sizes[p->out->tensors_learnt++] = bytes_of(p, t);
      p->out->learnt_bytes = ft_plus(p->out->learnt_bytes, bytes_of(p, t));
    }
    (void)take(p, bytes_of(p, t));
  }
  p->out->parameters = p->out->count;
}

static void step(struct plan *p)
{
  int64_t before = p->live;

  for (uint32_t i = 0; i < p->block->operator_count; i++)
    forward(p, i);
  p->out->saved_bytes = p->live - before;
  p->out->forward = p->out->count;
  for (uint32_t i = 0; i < p->block->output_count; i++) {
    uint32_t t = p->block->outputs[i];

    if (p->places[t].wanted)
      p->places[t].gradient = take(p, bytes_of(p, t));
    if (owner(p, t)->held) {
      owner(p, t)->held = false;
      drop(p, owner(p, t)->buffer);
    }
  }
  for (uint32_t i = p->block->operator_count; i-- > 0;)
    backward(p, i);
  p->out->backward = p->out->count;
  for (uint32_t t = 1; t < p->graph->tensor_count; t++)
    drop(p, p->places[t].gradient);
}

int ft_schedule_training(struct ft_graph *graph, const struct ft_cost *cost,
                         const struct ft_schedule_options *options, struct ft_schedule *schedule,
                         struct ft_error *err)
{
  struct plan p = { .graph = graph,
                    .block = &graph->block,
                    .cost = cost,
                    .options = options,
                    .out = schedule,
                    .err = err };
  size_t operators = graph->block.operator_count + 1;

  *schedule = (struct ft_schedule){ 0 };
  p.fusions = ft_arena_take(&graph->results, operators * sizeof *p.fusions);
  p.places = ft_arena_take(&graph->results, graph->tensor_count * sizeof *p.places);
  p.uses = ft_arena_take(&graph->results, graph->tensor_count * sizeof *p.uses);
  p.users = ft_arena_take(&graph->results, graph->tensor_count * sizeof *p.users);
  p.keeps = ft_arena_take(&graph->results, operators * sizeof *p.keeps);
  schedule->learnt_sizes =
      ft_arena_take(&graph->results, graph->tensor_count * sizeof *schedule->learnt_sizes);
  if (!p.fusions || !p.places || !p.uses || !p.users || !p.keeps || !schedule->learnt_sizes ||
      ft_fuse(graph, p.block, options->fused_attention, p.fusions) < 0)
    p.failed = true;
  if (!p.failed) {
    count_uses(&p);
    settle(&p);
    parameters(&p);
    step(&p);
  }
  if (p.failed)
    return ft_error_set(err, "%s: a training step of it needs more than %d MiB to follow",
                        graph->file, FT_LIMIT_GRAPH >> 20);
  return 0;
}
