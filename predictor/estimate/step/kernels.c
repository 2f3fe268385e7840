/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/estimate/step/kernels.h"
#include "predictor/graph/cost/fuse.h"
#include "predictor/graph/shape/infer.h"
#include "predictor/graph/training/restore_norms.h"

struct listing {
  struct ft_graph *graph;
  const struct ft_gpu_run *run;
  const struct ft_analysis *analysis;
  struct ft_kernels *kernels;
  size_t room;
  double samples; /* factor of what depends on data: the file fixes a batch of 1 */
  double width;   /* bytes of an activation */
  bool failed;
};

const char *ft_kernel_class_name(enum ft_kernel_class class)
{
  static const char *const names[FT_KERNEL_CLASSES] = {
    [FT_KERNEL_PRODUCT] = "product",
    [FT_KERNEL_BATCHED] = "batched product",
    [FT_KERNEL_POINTWISE] = "pointwise convolution",
    [FT_KERNEL_CONVOLUTION] = "convolution",
    [FT_KERNEL_GROUPED] = "grouped convolution",
    [FT_KERNEL_DEPTHWISE] = "depthwise convolution",
    [FT_KERNEL_ATTENTION] = "attention",
    [FT_KERNEL_ELEMENTWISE] = "elementwise",
    [FT_KERNEL_BATCH_NORM] = "batch normalisation",
    [FT_KERNEL_NORM] = "normalisation",
    [FT_KERNEL_SOFTMAX] = "softmax",
    [FT_KERNEL_REDUCTION] = "reduction",
    [FT_KERNEL_COPY] = "copy",
    [FT_KERNEL_OPTIMIZER] = "optimizer",
    [FT_KERNEL_OTHER] = "other",
  };

  return names[class];
}

/* ---- sizes ---- */

/* Returns the elements of TENSOR for the whole batch; 0 if unknown. */
static double batch_elements(const struct listing *l, uint32_t tensor)
{
  const struct ft_tensor *t = &l->graph->tensors[tensor];

  return tensor ? (t->data ? l->samples : 1) * (double)ft_dim_or(ft_tensor_elements(t), 0) : 0;
}

static double result_elements(const struct listing *l, const struct ft_operator *op)
{
  double sum = 0;

  for (uint32_t i = 0; i < op->output_count; i++)
    sum += batch_elements(l, op->outputs[i]);
  return sum;
}

/* Returns the elements of OP's inputs; of the fused kernel's inputs, if FUSION is one. */
static double input_elements(const struct listing *l, const struct ft_operator *op,
                             const struct ft_fusion *fusion)
{
  double sum = 0;

  if (fusion->kind == FT_FUSED_ATTENTION)
    return batch_elements(l, fusion->input) + batch_elements(l, fusion->keys) +
           batch_elements(l, fusion->values);
  if (fusion->kind != FT_FUSED_NOT && fusion->input)
    return batch_elements(l, fusion->input);
  for (uint32_t i = 0; i < op->input_count; i++)
    sum += batch_elements(l, op->inputs[i]);
  return sum;
}

/* Returns dimension I of TENSOR, counted from the last one if negative; 0 if unknown. */
static double dimension_of(const struct ft_tensor *t, int i)
{
  i = i < 0 ? t->rank + i : i;
  return t->rank >= 0 && i >= 0 && i < t->rank ? (double)ft_dim_or(t->dims[i], 0) : 0;
}

/* ---- list ---- */

static void append_kernel(struct listing *l, struct ft_kernel kernel)
{
  struct ft_kernel *list = l->kernels->list;

  kernel.starts = kernel.starts > 0 ? kernel.starts : 1;
  list = ft_arena_grow(&l->graph->results, list, &l->room, l->kernels->count, sizeof *list);
  l->failed = l->failed || !list;
  if (!list)
    return;
  l->kernels->list = list;
  list[l->kernels->count++] = kernel;
}

/* Sets the class and the dimensions of KERNEL, a convolution of LAYER with the weight W. */
static void size_convolution(const struct listing *l, const struct ft_layer *layer,
                             const struct ft_tensor *w, struct ft_kernel *kernel)
{
  const struct ft_operator *op = layer->op;
  bool transposed = op->kind->work == FT_WORK_TRANSPOSED;
  double groups = (double)ft_integer(op, "group", 1), filter = 1, results;
  double out = transposed ? dimension_of(w, 1) * groups : dimension_of(w, 0);

  for (int i = 1; i < w->rank; i++)
    filter *= dimension_of(w, i);
  if (transposed)
    filter = filter / fmax(1, dimension_of(w, 1)) * dimension_of(w, 0) / groups;
  results = out > 0 ? batch_elements(l, ft_input_of(op, 0)) : 0;
  results =
      transposed ? results / fmax(1, dimension_of(w, 0)) : result_elements(l, op) / fmax(1, out);
  kernel->batch = groups;
  kernel->m = results;
  kernel->n = out / groups;
  kernel->k = results > 0 && out > 0 ? kernel->macs / (results * out) : filter;
  kernel->class = groups > 1 && kernel->n <= 1                       ? FT_KERNEL_DEPTHWISE
                  : groups > 1                                       ? FT_KERNEL_GROUPED
                  : kernel->k <= dimension_of(w, transposed ? 0 : 1) ? FT_KERNEL_POINTWISE
                                                                     : FT_KERNEL_CONVOLUTION;
}

/* Sets the dimensions of KERNEL, a matrix product. */
static void size_product(const struct listing *l, const struct ft_operator *op,
                         struct ft_kernel *kernel)
{
  const struct ft_tensor *w = ft_input_tensor(l->graph, op, 1);
  const struct ft_tensor *y = &l->graph->tensors[op->outputs[0]];
  double results = result_elements(l, op);

  kernel->n = dimension_of(y, -1);
  kernel->k = results > 0 ? kernel->macs / results : 0;
  kernel->class = w && w->data && w->rank > 2 ? FT_KERNEL_BATCHED : FT_KERNEL_PRODUCT;
  kernel->m =
      kernel->class == FT_KERNEL_BATCHED ? dimension_of(y, -2) : results / fmax(1, kernel->n);
  kernel->batch = results / fmax(1, kernel->m * kernel->n);
}

/* Returns the class of OP without products. */
static enum ft_kernel_class class_of(const struct ft_operator *op, const struct ft_fusion *fusion)
{
  static const enum ft_operator_id copies[] = { FT_OP_Concat, FT_OP_Pad,   FT_OP_Gather,
                                                FT_OP_Resize, FT_OP_Slice, FT_OP_Expand,
                                                FT_OP_Cast };

  if (!op->kind)
    return FT_KERNEL_OTHER;
  if (fusion->kind == FT_FUSED_NORM)
    return FT_KERNEL_NORM;
  if (op->kind->work == FT_WORK_NORM)
    return FT_KERNEL_BATCH_NORM;
  if (op->kind->work == FT_WORK_STATISTICS)
    return FT_KERNEL_NORM;
  if (ft_operator_is(op, FT_OP_Softmax) || ft_operator_is(op, FT_OP_LogSoftmax))
    return FT_KERNEL_SOFTMAX;
  if (op->kind->work == FT_WORK_POOL || strncmp(op->kind->type, "Reduce", 6) == 0)
    return FT_KERNEL_REDUCTION;
  for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
    if (ft_operator_is(op, copies[i]))
      return FT_KERNEL_COPY;
  return FT_KERNEL_ELEMENTWISE;
}

/* Appends the conversion of WEIGHTS elements to 16 bits, which autocast repeats in each step. */
static void append_cast(struct listing *l, const struct ft_operator *op, double elements,
                        double bytes)
{
  if (l->kernels->precision == FT_PRECISION_AMP && elements > 0)
    append_kernel(
        l, (struct ft_kernel){ .op = op, .class = FT_KERNEL_COPY, .bytes = bytes * elements });
}

/* Appends the two gradients of FORWARD, a product or convolution with WEIGHTS elements. */
static void append_product_gradients(struct listing *l, const struct ft_kernel *forward,
                                     double weights)
{
  struct ft_kernel kernel = *forward;

  kernel.pass = FT_PASS_INPUT_GRADIENT;
  kernel.n = forward->k;
  kernel.k = forward->n;
  append_kernel(l, kernel);
  if (!(weights > 0) && forward->class != FT_KERNEL_BATCHED)
    return;
  kernel.pass = FT_PASS_WEIGHT_GRADIENT;
  kernel.m = forward->k;
  kernel.n = forward->n;
  kernel.k = forward->m;
  append_kernel(l, kernel);
}

/* Appends the elementwise kernel of OP with BYTES, and for training that of its gradient. */
static void append_move(struct listing *l, const struct ft_operator *op, enum ft_kernel_class class,
                        double bytes)
{
  struct ft_kernel kernel = { .op = op, .class = class, .bytes = bytes };

  append_kernel(l, kernel);
  kernel.pass = FT_PASS_INPUT_GRADIENT;
  if (l->run->training)
    append_kernel(l, kernel);
}

/*
 * Appends the kernels of attention in separate operators, of KERNEL's multiply-accumulates: scores,
 * their scaling and mask, softmax, product with the values.
 */
static void append_plain_attention(struct listing *l, const struct ft_operator *op,
                                   const struct ft_kernel *kernel)
{
  const struct ft_tensor *q = ft_input_tensor(l->graph, op, 0);
  const struct ft_tensor *k = ft_input_tensor(l->graph, op, 1);
  double heads = q->rank == 4 ? dimension_of(q, 1) : (double)ft_integer(op, "q_num_heads", 1);
  double size = dimension_of(q, -1) / (q->rank == 4 ? 1 : fmax(1, heads));
  double rows = batch_elements(l, ft_input_of(op, 0)) / fmax(1, size);
  double keys = dimension_of(k, -2), scores = rows * keys;
  struct ft_kernel product = { .op = op,
                               .class = FT_KERNEL_BATCHED,
                               .macs = kernel->macs / 2,
                               .batch = rows / fmax(1, dimension_of(q, -2)),
                               .m = dimension_of(q, -2),
                               .n = keys,
                               .k = size,
                               .bytes = l->width * (2 * rows * size + scores) };

  append_kernel(l, product);
  if (l->run->training)
    append_product_gradients(l, &product, 0);
  append_move(l, op, FT_KERNEL_ELEMENTWISE, 2 * l->width * scores);
  append_move(l, op, FT_KERNEL_ELEMENTWISE, 2 * l->width * scores);
  append_move(l, op, FT_KERNEL_SOFTMAX, 2 * l->width * scores);
  product.n = size;
  product.k = keys;
  append_kernel(l, product);
  if (l->run->training)
    append_product_gradients(l, &product, 0);
}

/* Appends the kernels of LAYER, which has multiply-accumulates. */
static void append_product(struct listing *l, const struct ft_layer *layer,
                           const struct ft_fusion *fusion)
{
  const struct ft_operator *op = layer->op;
  uint8_t work = op->kind->work;
  const struct ft_tensor *w = ft_input_tensor(l->graph, op, op->kind->weight);
  double inputs = input_elements(l, op, fusion), weights = 0;
  struct ft_kernel kernel = { .op = op,
                              .class = FT_KERNEL_OTHER,
                              .macs = (double)ft_dim_or(layer->macs, 0) };

  if (!(kernel.macs > 0)) {
    l->kernels->incomplete = true;
    return;
  }
  if (w && !w->data)
    weights = (double)ft_dim_or(ft_tensor_elements(w), 0);
  kernel.bytes = l->width * (inputs + result_elements(l, op));
  if (fusion->kind == FT_FUSED_ATTENTION) {
    kernel.class = FT_KERNEL_ATTENTION;
    kernel.macs *= 2; /* scores and their product with the values */
  } else if (work == FT_WORK_ATTENTION) {
    kernel.class = FT_KERNEL_ATTENTION;
  } else if ((work == FT_WORK_CONV || work == FT_WORK_TRANSPOSED) && w) {
    size_convolution(l, layer, w, &kernel);
  } else if (work == FT_WORK_PRODUCT || work == FT_WORK_GEMM || work == FT_WORK_EINSUM) {
    size_product(l, op, &kernel);
  }
  if (work == FT_WORK_ATTENTION && l->run->plain_attention) {
    append_plain_attention(l, op, &kernel);
    return;
  }
  append_cast(l, op, weights, 6);
  append_kernel(l, kernel);
  if (!l->run->training)
    return;
  if (kernel.n > 0) {
    append_product_gradients(l, &kernel, weights);
  } else {
    kernel.pass = FT_PASS_INPUT_GRADIENT;
    kernel.macs *= kernel.class == FT_KERNEL_ATTENTION ? 2.5 : 2; /* Dao 2023; both gradients */
    kernel.bytes *= 2;
    append_kernel(l, kernel);
  }
}

/* Returns the number of kernels of OP, which a library may compute in several operators. Source:
 * transformers 5.23, activations.py and the families' normalisations. */
static unsigned decomposed_kernels(const struct ft_operator *op)
{
  static const struct {
    const char *name;
    unsigned kernels;
  } forms[] = { { "gelu_new", 8 }, { "gelu_fast", 9 }, { "quick_gelu", 3 }, { "relu2", 2 },
                { "llama", 6 },    { "gemma", 7 },     { "t5", 5 },         { "cohere", 8 },
                { "l2", 4 },       { "rotary", 5 } };
  const char *name = op->hints ? op->hints->decomposed : NULL;
  size_t i = FT_TABLE_FIND(forms, name ? name : "");

  return i < sizeof forms / sizeof *forms ? forms[i].kernels : 1;
}

/* Appends the kernels of LAYER without products, and those of its gradient. */
static void append_moves(struct listing *l, const struct ft_layer *layer,
                         const struct ft_fusion *fusion)
{
  const struct ft_operator *op = layer->op;
  double inputs = input_elements(l, op, fusion), results = result_elements(l, op);
  bool wide = l->kernels->precision == FT_PRECISION_AMP &&
              (ft_operator_has(op, FT_OPERATOR_AUTOCAST_32) || fusion->kind == FT_FUSED_NORM ||
               (op->kind && op->kind->work == FT_WORK_STATISTICS));
  struct ft_kernel kernel = { .op = op, .class = class_of(op, fusion) };

  if (kernel.class == FT_KERNEL_COPY && inputs > results) /* reads only what it copies */
    inputs = results;
  for (unsigned i = 1; i < decomposed_kernels(op); i++)
    append_move(l, op, FT_KERNEL_ELEMENTWISE, 2 * l->width * results);
  kernel.bytes = l->width * inputs + (wide ? 4 : l->width) * results;
  append_kernel(l, kernel);
  if (wide)
    append_cast(l, op, results, 6);
  if (!l->run->training || !op->kind || op->kind->gradient == FT_GRADIENT_STOPS)
    return;
  kernel.pass = FT_PASS_INPUT_GRADIENT;
  kernel.bytes = l->width * (inputs + (op->kind->saves ? 2 : 1) * results);
  append_kernel(l, kernel);
}

/* Returns whether OP reshapes a transposed tensor: the elements must be copied first. */
static bool is_copied_reshape(const struct listing *l, const struct ft_operator *op)
{
  const struct ft_tensor *x = ft_input_tensor(l->graph, op, 0);
  const struct ft_operator *before = x && op->kind && op->kind->view == FT_VIEW_RESHAPED
                                         ? ft_block_producer(&l->graph->block, x)
                                         : NULL;

  return before && before->kind && before->kind->view == FT_VIEW_PERMUTED;
}

/* Appends the kernels of LAYER, an operator of the outermost block. */
static void append_layer(struct listing *l, const struct ft_layer *layer,
                         const struct ft_fusion *fusion)
{
  const struct ft_operator *op = layer->op;
  double results = result_elements(l, op);

  if (!op->data || fusion->bias || fusion->kind == FT_FUSED_INSIDE)
    return;
  l->kernels->operators++;
  if (is_copied_reshape(l, op))
    append_move(l, op, FT_KERNEL_COPY, 2 * l->width * results);
  if (ft_operator_is_view(op) || (ft_operator_is(op, FT_OP_Dropout) && !l->run->training))
    return;
  if (op->trip_count != 1 || !op->kind || !op->resolved) {
    l->kernels->incomplete = l->kernels->incomplete || !op->kind || !op->resolved;
    append_kernel(
        l, (struct ft_kernel){ .op = op,
                               .class = FT_KERNEL_OTHER,
                               .starts = op->trip_count > 1 ? (double)op->trip_count : 1,
                               .macs = (double)ft_dim_or(layer->macs, 0),
                               .bytes = 2 * l->width * (double)ft_dim_or(layer->activations, 0) });
    return;
  }
  if (!(results > 0))
    return;
  if (fusion->kind == FT_FUSED_ATTENTION ||
      (op->kind->work > FT_WORK_NONE && op->kind->work < FT_WORK_NORM))
    append_product(l, layer, fusion);
  else
    append_moves(l, layer, fusion);
}

/* Appends the optimiser's step: it reads parameters, gradients and states, and writes all but the
 * gradients. */
static void append_optimizer(struct listing *l)
{
  const struct ft_memory *m = &l->analysis->memory;
  const struct ft_optimizer_traits *traits = ft_optimizer_traits(l->run->optimizer);
  double parameters =
      (double)m->parameter_bytes * (l->kernels->precision > FT_PRECISION_AMP ? 0.5 : 1);

  if (parameters > 0)
    append_kernel(l, (struct ft_kernel){ .class = FT_KERNEL_OPTIMIZER,
                                         .pass = FT_PASS_OPTIMIZER,
                                         .bytes = (3 + 2 * traits->states) * parameters });
}

int ft_kernels_list(struct ft_graph *graph, const struct ft_gpu_run *run,
                    struct ft_kernels *kernels, struct ft_error *err)
{
  struct ft_analysis analysis;
  struct ft_fusion *fusions;
  struct listing l = { .graph = graph, .run = run, .analysis = &analysis, .kernels = kernels };

  *kernels = (struct ft_kernels){ .list = NULL };
  if (ft_graph_restore_norms(graph, run->training, err) < 0 ||
      ft_graph_analyse(graph, &run->sizes, &analysis, err) < 0)
    return -1;
  kernels->precision = ft_gpu_precision(graph, run);
  kernels->parameter_bytes = (double)analysis.cost.parameter_bytes;
  l.width = kernels->precision >= FT_PRECISION_AMP ? 2 : 4;
  l.samples = analysis.scaled ? (double)run->sizes.batch : 1;
  fusions = ft_arena_take(&graph->results, (graph->block.operator_count + 1) * sizeof *fusions);
  if (!fusions || ft_fuse(graph, &graph->block, !run->plain_attention, fusions) < 0)
    return ft_error_set(err, "%s: out of memory", graph->file);
  for (size_t i = 0; i < analysis.cost.layer_count; i++) {
    const struct ft_layer *layer = &analysis.cost.layers[i];

    if (layer->depth == 0)
      append_layer(&l, layer, &fusions[layer->op - graph->block.operators]);
  }
  if (run->training)
    append_optimizer(&l);
  return l.failed ? ft_error_set(err, "%s: out of memory", graph->file) : 0;
}
