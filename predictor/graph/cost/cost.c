/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/graph/cost/size_bound.h"
#include "predictor/graph/cost/cost.h"
#include "predictor/graph/cost/fuse.h"
#include "predictor/graph/cost/position_tables.h"
#include "predictor/graph/cost/quantized.h"
#include "predictor/graph/shape/einsum.h"

/* Whether a tensor is a layer's weight or an embedding, or is only computed into one. */
enum { NO_LAYER, BEFORE_LAYER, IN_LAYER };

struct count {
  struct ft_graph *graph;
  struct ft_cost *cost;
  struct ft_error *err;
  uint8_t *role;     /* of each tensor: ROLE_* */
  uint8_t *in_layer; /* of each tensor: *_LAYER */
  bool *trainable;   /* of each tensor */
  bool *frozen;      /* of each tensor */
  bool *learnt;      /* of each tensor: computed of parameters */
  uint8_t *packed;   /* of each tensor; see ft_cost */
  int64_t *tables;   /* of each tensor; see ft_cost */
  ft_dim *bounds;    /* of each tensor: bound of its elements (size_bound.h) */
  int64_t halves[2]; /* elements of parameters in fp16, in bf16 */
  ft_dim kept;       /* upper bound of the elements saved by unknown operators */
  size_t layer_room, unknown_room;
};

/* A tensor is used if an output depends on it. A parameter is counted once, by its first reader. */
enum { ROLE_NONE, ROLE_USED, ROLE_PARAMETER, ROLE_COUNTED };

static int cost_exhausted(struct count *c)
{
  return ft_error_set(c->err, "%s: its layers need more than %d MiB, or memory is out",
                      c->graph->file, FT_LIMIT_GRAPH >> 20);
}

static const struct ft_tensor *first_operator_output(const struct count *c,
                                                     const struct ft_operator *op)
{
  return op->output_count && op->outputs[0] ? &c->graph->tensors[op->outputs[0]] : NULL;
}

/* ---- parameters ---- */

/* Returns how many of OP's inputs, from the first on, can be trainable. The others are sizes,
 * limits and running statistics. */
static uint32_t trainable_inputs(const struct ft_operator *op)
{
  int8_t count = op->kind ? op->kind->trainable_inputs : 0;

  if (count < 0)
    return 0;
  return count && (uint32_t)count < op->input_count ? (uint32_t)count : op->input_count;
}

/* Returns whether input I of OP can be a parameter or be computed from one. Marks quantised
 * weights; an operator that only moves elements passes the mark from its output to its input. */
static bool can_be_trainable(struct count *c, const struct ft_operator *op, uint32_t i)
{
  const struct ft_tensor *x = &c->graph->tensors[op->inputs[i]];
  enum ft_quantized what;
  unsigned each;

  if (!op->inputs[i] || i >= trainable_inputs(op))
    return false;
  if (!op->data && (ft_operator_is(op, FT_OP_Cos) || ft_operator_is(op, FT_OP_Sin)))
    return false; /* frequencies of positions: buffers */
  what = ft_quantized_input(op, i, x->element, &each);
  if (what == FT_QUANTIZED_WEIGHT && !c->packed[op->inputs[i]])
    c->packed[op->inputs[i]] = (uint8_t)each;
  else if (what == FT_QUANTIZED_NOT && op->output_count && c->packed[op->outputs[0]] &&
           x->element == first_operator_output(c, op)->element)
    c->packed[op->inputs[i]] = c->packed[op->outputs[0]];
  return what != FT_QUANTIZED_SCALE;
}

/* Sets in_layer of OP's inputs. */
static void mark_layer(struct count *c, const struct ft_operator *op)
{
  bool layer = op->kind && op->kind->work != FT_WORK_NONE, source = false;

  for (uint32_t j = 0; j < op->output_count && !op->data; j++)
    source = source || (op->outputs[j] && c->in_layer[op->outputs[j]]);
  for (uint32_t j = 0; j < op->input_count; j++) {
    uint8_t *in = &c->in_layer[op->inputs[j]];

    if ((layer && !(j == 3 && ft_operator_is(op, FT_OP_Attention))) || /* its mask is no weight */
        (j == 0 && ft_operator_is(op, FT_OP_Gather)))
      *in = IN_LAYER;
    else if (source && !*in)
      *in = BEFORE_LAYER;
  }
}

/* Marks the tensors that BLOCK's outputs depend on, except as a running mean or variance. Those are
 * stored with the weights and not trained, nor is a tensor that is computed from them only. */
static void mark_used(struct count *c, const struct ft_block *block)
{
  for (uint32_t i = 0; i < block->output_count; i++)
    c->role[block->outputs[i]] = ROLE_USED;
  for (uint32_t i = block->operator_count; i-- > 0;) {
    const struct ft_operator *op = &block->operators[i];
    bool used = false;

    mark_layer(c, op);
    for (uint32_t j = 0; j < op->output_count; j++)
      used = used || (op->outputs[j] && c->role[op->outputs[j]] == ROLE_USED);
    for (uint32_t j = 0; used && j < op->input_count; j++)
      if (can_be_trainable(c, op, j))
        c->role[op->inputs[j]] = ROLE_USED;
    for (uint32_t j = 0; used && j < op->capture_count; j++)
      c->role[op->captures[j]] = ROLE_USED;
    for (uint32_t j = 0; used && j < op->attribute_count; j++)
      if (op->attributes[j].type == FT_ATTRIBUTE_BLOCK)
        mark_used(c, op->attributes[j].block);
  }
}

/* Returns the number of weights in TENSOR, whose elements may hold several quantised ones. */
static int64_t weights_in(const struct count *c, uint32_t tensor)
{
  if (c->tables[tensor])
    return c->tables[tensor];
  return ft_known_times(ft_dim_or(ft_tensor_elements(&c->graph->tensors[tensor]), 0),
                        c->packed[tensor] ? c->packed[tensor] : 1);
}

/* Counts TENSOR as a parameter, FROZEN by the file or trained. Integers and quantised weights are
 * parameters that are not trainable. */
static void add_parameter(struct count *c, uint32_t tensor, bool frozen)
{
  const struct ft_tensor *t = &c->graph->tensors[tensor];

  c->role[tensor] = ROLE_PARAMETER;
  c->cost->parameters = ft_known_plus(c->cost->parameters, weights_in(c, tensor));
  if (!ft_element_is_real(t->element) || c->packed[tensor])
    return;
  if (t->element == FT_ELEMENT_FLOAT16 || t->element == FT_ELEMENT_BFLOAT16) {
    int64_t *half = &c->halves[t->element == FT_ELEMENT_BFLOAT16];

    *half = ft_known_plus(*half, weights_in(c, tensor));
  }
  c->frozen[tensor] = frozen;
  c->trainable[tensor] = !frozen;
  if (!frozen)
    c->cost->parameter_bytes =
        ft_known_plus(c->cost->parameter_bytes, ft_parameter_bytes(c->graph, c->cost, tensor));
}

/* A file in which no parameter is trained was written for inference: all of them can be. */
static void thaw_all(struct count *c)
{
  for (uint32_t t = 0; t < c->graph->tensor_count; t++)
    if (c->frozen[t]) {
      c->cost->thawed = true;
      c->frozen[t] = false;
      c->trainable[t] = true;
      c->cost->parameter_bytes =
          ft_known_plus(c->cost->parameter_bytes, ft_parameter_bytes(c->graph, c->cost, t));
    }
}

/* Returns whether the parameter TENSOR may be a buffer, or computed of fewer parameters: ONNX has
 * constants only, and the file says so or no layer reads this one. */
static bool is_doubtful(const struct count *c, uint32_t tensor)
{
  const struct ft_tensor *t = &c->graph->tensors[tensor];
  const struct ft_declared *d = t->constant;

  if (!c->graph->format || strcmp(c->graph->format, "onnx") != 0)
    return false;
  if (d->mixed)
    return c->in_layer[tensor] != IN_LAYER;
  return (!d->learnt || d->folded) && t->rank > 1 && !c->in_layer[tensor];
}

/*
 * Counts each constant of BLOCK as a parameter if an output depends on it, otherwise as a buffer.
 */
static void mark_constants(struct count *c, const struct ft_block *block)
{
  for (uint32_t i = 0; i < block->constant_count; i++) {
    const struct ft_declared *d = c->graph->tensors[block->constants[i]].constant;
    uint32_t t = block->constants[i];

    if (c->role[t] == ROLE_USED && (ft_element_is_real(d->element) || c->packed[t]) && !d->kept &&
        (c->in_layer[t] || !ft_is_unnamed_mask(&c->graph->tensors[t]))) {
      if (c->in_layer[t] != IN_LAYER)
        c->tables[t] = ft_position_parameters(&c->graph->tensors[t], c->in_layer[t] != NO_LAYER);
      if (c->tables[t])
        c->cost->written_out = ft_known_plus(c->cost->written_out, d->elements - c->tables[t]);
      add_parameter(c, t, d->frozen);
      if (is_doubtful(c, t))
        c->cost->doubtful = ft_known_plus(c->cost->doubtful, weights_in(c, t));
    } else {
      c->cost->buffers = ft_known_plus(c->cost->buffers, d->elements);
    }
  }
}

/*
 * Returns whether OP copies a parameter. PyTorch's exporter writes parameters of equal values once,
 * and an Identity for each of the others: weights and biases of normalisations that are not trained
 * yet. Equal matrices belong to a shared module and are one parameter.
 */
static bool is_parameter_copy(const struct count *c, const struct ft_operator *op)
{
  uint8_t role = op->input_count ? c->role[op->inputs[0]] : ROLE_NONE;

  return ft_operator_is(op, FT_OP_Identity) && op->output_count && !op->data &&
         c->graph->tensors[op->outputs[0]].rank == 1 &&
         (role == ROLE_PARAMETER || role == ROLE_COUNTED) && c->role[op->outputs[0]] == ROLE_USED;
}

/* Returns the elements of OP's parameters that no earlier operator has counted. */
static int64_t parameters_of(struct count *c, const struct ft_operator *op)
{
  int64_t sum = 0;

  for (uint32_t i = 0; i < op->input_count; i++) {
    uint8_t *role = &c->role[op->inputs[i]];

    if (*role != ROLE_PARAMETER)
      continue;
    sum = ft_known_plus(sum, weights_in(c, op->inputs[i]));
    *role = ROLE_COUNTED;
  }
  return sum;
}

/*
 * ---- multiply-accumulates ----
 * Normalisation and pooling count as in fvcore (fvcore/nn/jit_handles.py, norm_flop_counter,
 * batchnorm_flop_jit), as most published totals do: 2 per element with stored statistics, 5
 * with statistics of the data, 1 per pooled element.
 */

/* Returns the elements of one filter of W. */
static ft_dim filter_elements(const struct ft_tensor *w)
{
  return w->rank > 1 ? ft_dim_product(w->dims + 1, w->rank - 1) : ft_dim_of(1);
}

static ft_dim recurrent_macs(const struct ft_tensor *x, const struct ft_tensor *w,
                             const struct ft_tensor *r)
{
  if (!w || !r || x->rank != 3 || w->rank != 3 || r->rank != 3)
    return FT_DIM_UNKNOWN;
  /* w: [directions, gates * hidden, input]; r: [directions, gates * hidden, hidden] */
  return ft_dim_times(ft_dim_times(x->dims[0], x->dims[1]),
                      ft_dim_plus(ft_dim_product(w->dims, 3), ft_dim_product(r->dims, 3)));
}

static ft_dim attention_macs(const struct ft_tensor *q, const struct ft_tensor *k,
                             const struct ft_tensor *v, const struct ft_tensor *past,
                             const struct ft_tensor *y)
{
  int last = q->rank - 1;
  ft_dim before = past && past->rank == 4 ? past->dims[2] : ft_dim_of(0);

  if (!k || !v || y->rank != q->rank || k->rank != q->rank || q->rank < 3)
    return FT_DIM_UNKNOWN;
  return ft_dim_times(
      ft_dim_times(ft_dim_product(q->dims, last), ft_dim_plus(k->dims[last - 1], before)),
      ft_dim_plus(q->dims[last], y->dims[last]));
}

/* MACs of linear attention. Each token updates a state of (key size) x (value size) per KV head;
 * the delta rule also reads it. Each query head reads it once. */
static ft_dim linear_attention_macs(const struct ft_operator *op, const struct ft_tensor *q,
                                    const struct ft_tensor *k, const struct ft_tensor *v)
{
  const struct ft_attribute *rule = ft_attribute(op, "update_rule");
  int64_t heads = ft_integer(op, "q_num_heads", 0), kv = ft_integer(op, "kv_num_heads", 0);
  ft_dim each;
  bool delta = !rule || !rule->string || strstr(rule->string, "delta");

  if (!k || !v || q->rank != 3 || k->rank != 3 || v->rank != 3 || kv < 1)
    return FT_DIM_UNKNOWN;
  each = ft_dim_times(ft_dim_divide(k->dims[2], kv), ft_dim_divide(v->dims[2], kv));
  return ft_dim_times(ft_dim_times(ft_dim_product(q->dims, 2), each),
                      ft_dim_plus(ft_dim_of(ft_known_times(delta ? 2 : 1, kv)), ft_dim_of(heads)));
}

static ft_dim einsum_macs(const struct count *c, const struct ft_operator *op)
{
  struct ft_infer in = { .graph = c->graph, .op = (struct ft_operator *)op };
  struct ft_einsum e;

  return ft_einsum_read(&in, &e) < 0 ? FT_DIM_UNKNOWN : ft_einsum_products(&e);
}

/* Returns whether OP is computed of parameters and constants alone, and in each pass: biases of
 * positions, standardised weights. Sets learnt of its outputs. */
static bool is_computed(struct count *c, const struct ft_operator *op)
{
  bool learnt = false;

  for (uint32_t j = 0; j < op->input_count; j++)
    learnt = learnt || c->learnt[op->inputs[j]] || c->role[op->inputs[j]] >= ROLE_PARAMETER;
  for (uint32_t j = 0; j < op->output_count; j++)
    c->learnt[op->outputs[j]] = learnt;
  return learnt && !op->data;
}

/* Returns OP's multiply-accumulates by its descriptor; unknown if a shape is. */
static ft_dim macs_of(const struct count *c, const struct ft_operator *op)
{
  const struct ft_tensor *x = ft_input_tensor(c->graph, op, 0), *y = first_operator_output(c, op),
                         *w;
  uint8_t work = op->kind ? op->kind->work : FT_WORK_NONE;
  int inner;

  if (work == FT_WORK_NONE)
    return ft_dim_of(0);
  if (work == FT_WORK_ORT)
    return ft_ort_macs(c->graph, op);
  w = ft_input_tensor(c->graph, op, op->kind->weight);
  if (!x || !y || !w || x->rank < 0 || w->rank < 0)
    return FT_DIM_UNKNOWN;
  switch (work) {
  case FT_WORK_CONV:
    return ft_dim_times(ft_tensor_elements(y), filter_elements(w));
  case FT_WORK_TRANSPOSED:
    return ft_dim_times(ft_tensor_elements(x), filter_elements(w));
  case FT_WORK_PRODUCT:
    inner = ft_integer(op, "transA", 0) && x->rank > 1 ? x->rank - 2 : x->rank - 1;
    return x->rank ? ft_dim_times(ft_tensor_elements(y), x->dims[inner]) : FT_DIM_UNKNOWN;
  case FT_WORK_GEMM:
    return x->rank == 2
               ? ft_dim_times(ft_tensor_elements(y), x->dims[ft_integer(op, "transA", 0) == 0])
               : FT_DIM_UNKNOWN;
  case FT_WORK_EINSUM:
    return einsum_macs(c, op);
  case FT_WORK_RECURRENT:
    return recurrent_macs(x, w, ft_input_tensor(c->graph, op, 2));
  case FT_WORK_ATTENTION:
    return attention_macs(x, ft_input_tensor(c->graph, op, 1), ft_input_tensor(c->graph, op, 2),
                          ft_input_tensor(c->graph, op, 4), y);
  case FT_WORK_STATES:
    return linear_attention_macs(op, x, ft_input_tensor(c->graph, op, 1),
                                 ft_input_tensor(c->graph, op, 2));
  case FT_WORK_NORM: /* the statistics of standardised weights are computed in each pass */
    return ft_dim_times(ft_tensor_elements(x), ft_dim_of(op->data ? 2 : 5));
  case FT_WORK_STATISTICS:
    return ft_dim_times(ft_tensor_elements(x), ft_dim_of(5));
  default: /* FT_WORK_POOL */
    return ft_tensor_elements(x);
  }
}

/* ---- layers ---- */

static ft_dim activations_of(const struct count *c, const struct ft_operator *op)
{
  ft_dim sum = ft_dim_of(0);

  /* computed in place */
  if (ft_operator_is_view(op) || ft_operator_has(op, FT_OPERATOR_IN_PLACE))
    return sum;
  for (uint32_t i = 0; i < op->output_count; i++)
    if (op->outputs[i])
      sum = ft_dim_plus(sum, ft_tensor_elements(&c->graph->tensors[op->outputs[i]]));
  return sum;
}

/* Sets the upper bounds of LAYER, from those of size_bound.h. If OP or its sizes are
 * unknown, each output element needs each parameter once, as in a fully connected layer. */
static void bound_layer(const struct count *c, struct ft_layer *layer)
{
  const struct ft_operator *op = layer->op;
  ft_dim results =
      ft_dim_times(ft_size_bound_result(c->graph, op, c->bounds), ft_dim_of(op->output_count));

  if (ft_size_bound_holds_network(op)) {
    layer->activations_at_most = layer->macs_at_most = FT_DIM_UNKNOWN;
    return;
  }
  layer->activations_at_most = ft_dim_known(layer->activations) ? layer->activations : results;
  layer->macs_at_most = layer->macs;
  if (!op->kind || !ft_dim_known(layer->macs))
    layer->macs_at_most =
        ft_dim_times(ft_dim_is(layer->activations, 0) ? results : layer->activations_at_most,
                     layer->parameters ? ft_dim_of(layer->parameters)
                                       : ft_size_bound_products(c->graph, op, c->bounds));
}

/* Counts OP, an unknown operator, by its type. */
static int note_unknown(struct count *c, const struct ft_operator *op)
{
  struct ft_unknown *list = c->cost->unknowns;

  c->cost->unknown++;
  for (size_t i = 0; i < c->cost->unknown_count; i++)
    if (strcmp(list[i].type, op->type) == 0 && strcmp(list[i].domain, op->domain) == 0) {
      list[i].count++;
      return 0;
    }
  if (c->cost->unknown_count == FT_COST_UNKNOWNS)
    return 0;
  list = ft_arena_grow(&c->graph->results, list, &c->unknown_room, c->cost->unknown_count,
                       sizeof *list);
  if (!list)
    return cost_exhausted(c);
  c->cost->unknowns = list;
  list[c->cost->unknown_count++] = (struct ft_unknown){ op->domain, op->type, 1 };
  return 0;
}

/* Sums of one block, by which branches are compared. */
struct sums {
  int64_t macs, activations;
  ft_dim macs_at_most, activations_at_most;
};

static int count_block(struct count *c, const struct ft_block *block, int depth, struct sums *sums);

/* Sets MAXIMUM to VALUE if MAXIMUM is smaller or unknown. */
static void raise_maximum(ft_dim *maximum, int64_t value)
{
  if (value > ft_dim_or(*maximum, -1))
    *maximum = ft_dim_of(value);
}

/* Adds OP's subgraphs to LAYER: the costlier of two branches; a loop's body times its trip count.
 * There is no upper bound if one branch has none or the trip count is unknown. */
static int count_subgraphs(struct count *c, const struct ft_operator *op, int depth,
                           struct ft_layer *layer)
{
  ft_dim trips = ft_dim_of(op->trip_count);

  for (uint32_t i = 0; i < op->attribute_count; i++) {
    struct sums s = { 0 };

    if (op->attributes[i].type != FT_ATTRIBUTE_BLOCK)
      continue;
    if (count_block(c, op->attributes[i].block, depth + 1, &s) < 0)
      return -1;
    s.macs = ft_known_times(s.macs, ft_dim_or(trips, 1));
    s.activations = ft_known_times(s.activations, ft_dim_or(trips, 1));
    raise_maximum(&layer->macs, s.macs);
    raise_maximum(&layer->activations, s.activations);
    layer->macs_at_most = ft_dim_max(layer->macs_at_most, ft_dim_times(s.macs_at_most, trips));
    layer->activations_at_most =
        ft_dim_max(layer->activations_at_most, ft_dim_times(s.activations_at_most, trips));
    if (s.activations > layer->inside)
      layer->inside = s.activations;
  }
  return 0;
}

/* Returns the MACs of a decomposed layer normalisation, counted at the division by its deviation.
 * Other divisions in a fused kernel have a constant divisor (GELU). */
static ft_dim decomposed_norm_macs(const struct count *c, const struct ft_operator *op,
                                   const struct ft_fusion *fusion)
{
  const struct ft_tensor *divisor = ft_input_tensor(c->graph, op, 1);
  bool within = fusion->kind == FT_FUSED_INSIDE || fusion->kind == FT_FUSED_NORM;

  return within && ft_operator_is(op, FT_OP_Div) && divisor && divisor->data
             ? ft_dim_times(ft_tensor_elements(first_operator_output(c, op)), ft_dim_of(5))
             : ft_dim_of(0);
}

/* Appends OP's layer, if it is one (cost.h), and adds it to SUMS. */
static int count_operator(struct count *c, const struct ft_operator *op,
                          const struct ft_fusion *fusion, int depth, struct sums *sums)
{
  struct ft_layer layer = { .op = op, .depth = depth }, *layers;
  bool computed;

  ft_size_bound_results(c->graph, op, c->bounds);
  if (!op->kind && note_unknown(c, op) < 0)
    return -1;
  if (is_parameter_copy(c, op)) {
    add_parameter(c, op->outputs[0], c->frozen[op->inputs[0]]);
    return 0;
  }
  layer.parameters = parameters_of(c, op);
  computed = is_computed(c, op) && op->kind && op->kind->work != FT_WORK_NONE;
  if (!op->data && op->kind && !layer.parameters && !computed)
    return 0;
  if (op->kind && !op->resolved)
    c->cost->unresolved++;
  layer.macs = op->data || computed ? macs_of(c, op) : ft_dim_of(0);
  if (ft_dim_is(layer.macs, 0))
    layer.macs = decomposed_norm_macs(c, op, fusion);
  /* tensors inside a fused kernel are not stored */
  if (op->data && fusion->kind != FT_FUSED_INSIDE && !fusion->bias)
    layer.activations = activations_of(c, op);
  bound_layer(c, &layer);
  if (!op->kind)
    c->kept = ft_dim_plus(c->kept, layer.activations_at_most);
  if (count_subgraphs(c, op, depth, &layer) < 0)
    return -1;
  if (depth == 0 && op->trip_count != 1 && layer.inside > 0) {
    c->cost->inside = ft_known_plus(c->cost->inside, layer.inside);
    c->cost->unbounded_loops += op->trip_count < 0;
  }
  layers = ft_arena_grow(&c->graph->results, c->cost->layers, &c->layer_room, c->cost->layer_count,
                         sizeof *layers);
  if (!layers)
    return cost_exhausted(c);
  c->cost->layers = layers;
  layers[c->cost->layer_count++] = layer;
  sums->macs = ft_known_plus(sums->macs, ft_dim_or(layer.macs, 0));
  sums->activations = ft_known_plus(sums->activations, ft_dim_or(layer.activations, 0));
  sums->macs_at_most = ft_dim_plus(sums->macs_at_most, layer.macs_at_most);
  sums->activations_at_most = ft_dim_plus(sums->activations_at_most, layer.activations_at_most);
  return 0;
}

static int count_block(struct count *c, const struct ft_block *block, int depth, struct sums *sums)
{
  struct ft_fusion *fusions =
      ft_arena_take(&c->graph->results, (block->operator_count + 1) * sizeof *fusions);

  if (!fusions || ft_fuse(c->graph, block, false, fusions) < 0)
    return cost_exhausted(c);
  mark_constants(c, block);
  for (uint32_t i = 0; i < block->operator_count; i++)
    if (count_operator(c, &block->operators[i], &fusions[i], depth, sums) < 0)
      return -1;
  return 0;
}

int64_t ft_parameter_bytes(const struct ft_graph *graph, const struct ft_cost *cost,
                           uint32_t tensor)
{
  const struct ft_tensor *t = &graph->tensors[tensor];

  if (cost->tables[tensor])
    return ft_known_times(cost->tables[tensor], ft_element_bits(t->element) / 8);
  return ft_dim_or(ft_tensor_bytes(t), 0);
}

int ft_graph_cost(struct ft_graph *graph, struct ft_cost *cost, struct ft_error *err)
{
  struct count c = { .graph = graph, .cost = cost, .err = err };
  struct sums sums = { 0 };
  int64_t at_most;

  *cost = (struct ft_cost){ .operators = graph->operator_count };
  c.role = ft_arena_take(&graph->results, graph->tensor_count);
  c.trainable = ft_arena_take(&graph->results, graph->tensor_count * sizeof *c.trainable);
  c.frozen = ft_arena_take(&graph->results, graph->tensor_count * sizeof *c.frozen);
  c.packed = ft_arena_take(&graph->results, graph->tensor_count);
  c.learnt = ft_arena_take(&graph->results, graph->tensor_count * sizeof *c.learnt);
  c.tables = ft_arena_take(&graph->results, graph->tensor_count * sizeof *c.tables);
  c.in_layer = ft_arena_take(&graph->results, graph->tensor_count * sizeof *c.in_layer);
  c.bounds = ft_arena_take(&graph->results, graph->tensor_count * sizeof *c.bounds);
  if (!c.role || !c.trainable || !c.frozen || !c.packed || !c.learnt || !c.tables || !c.in_layer ||
      !c.bounds)
    return cost_exhausted(&c);
  for (uint32_t t = 0; t < graph->tensor_count; t++)
    c.bounds[t] = FT_DIM_UNKNOWN;
  cost->trainable = c.trainable;
  cost->frozen = c.frozen;
  cost->packed = c.packed;
  cost->tables = c.tables;
  mark_used(&c, &graph->block);
  for (uint32_t i = 0; i < graph->block.input_count; i++) {
    ft_dim elements = ft_tensor_elements(&graph->tensors[graph->block.inputs[i]]);

    sums.activations = ft_known_plus(sums.activations, ft_dim_or(elements, 0));
    sums.activations_at_most = ft_dim_plus(sums.activations_at_most, elements);
  }
  if (count_block(&c, &graph->block, 0, &sums) < 0)
    return -1;
  if (!cost->parameter_bytes)
    thaw_all(&c);
  graph->computed = c.halves[0] > cost->parameters / 2   ? FT_ELEMENT_FLOAT16
                    : c.halves[1] > cost->parameters / 2 ? FT_ELEMENT_BFLOAT16
                                                         : FT_ELEMENT_UNKNOWN;
  cost->macs = sums.macs;
  cost->activations = sums.activations;
  cost->macs_at_most = sums.macs_at_most;
  cost->activations_at_most = sums.activations_at_most;
  cost->open_at_most = ft_dim_get(sums.activations_at_most, &at_most)
                           ? ft_dim_plus(ft_dim_of(at_most - sums.activations), c.kept)
                           : FT_DIM_UNKNOWN;
  /* a weight has four tensors of its size in training with Adam, an activation two */
  cost->open_at_most =
      ft_dim_plus(cost->open_at_most, ft_dim_of(ft_known_times(2, graph->doubtful_elements)));
  return 0;
}
