/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces a TensorFlow graph from its outputs back: each node after its inputs, functions
 * inlined, loops unrolled while their condition is known. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/tensorflow/tensorflow_run.h"

enum { CALL_DEPTH = 64 }; /* limit of nested function calls, against hostile files */

/* ---- nodes ---- */

static int record_decomposed_norm(struct ft_tf_run *r, struct ft_tf_scope *s, struct ft_tf_call *c,
                                  const char *const in[5])
{
  struct ft_operand values[5];
  uint32_t tensors[5];
  bool own;

  for (int i = 0; i < 5; i++) {
    values[i] = in[i][0] ? ft_tf_value(s, in[i]) : ft_value_none();
    tensors[i] = ft_value_as_tensor(&r->live, &values[i]);
    if (!tensors[i] && in[i][0])
      return -1;
  }
  own =
      !tensors[3] ||
      ft_tracer_of(&r->live, tensors[3])->data; /* mean and variance are computed from the input */
  ft_tracer_op(&r->live, own ? "LayerNormalization" : "BatchNormalization");
  for (int i = 0; i < (own ? 3 : 5); i++)
    ft_tracer_in(&r->live, tensors[i]);
  if (own)
    ft_tracer_int(&r->live, "axis", -1);
  tensors[0] = ft_tracer_end(&r->live, 1);
  return tensors[0] ? ft_tf_give(c, ft_value_tensor(tensors[0])) : -1;
}

/* A variable, or a resource handle of one. */
static int give_variable(struct ft_tf_run *r, struct ft_tf_call *c)
{
  const struct ft_tf_attribute *shape = ft_tf_attribute(c->node, "shape");
  struct ft_operand v = { .type = FT_VALUE_WEIGHT };
  const char *names[3] = { c->node->name, ft_tf_text(c->node, "shared_name", ""),
                           ft_tf_text(c->node, "debug_name", "") };

  if (!shape || !shape->shape || shape->shape->rank < 0)
    return ft_tf_give(c, ft_value_unknown(FT_VALUE_OPAQUE));
  v.weight = ft_tracer_take(&r->live, sizeof *v.weight);
  if (!v.weight)
    return -1;
  v.weight->name = c->node->name;
  v.weight->declared = *shape->shape;
  v.weight->declared.element = (uint8_t)ft_tf_element(ft_tf_integer(c->node, "dtype", 1));
  for (int i = 0; i < 3; i++)
    v.weight->declared.kept =
        v.weight->declared.kept ||
        (names[i][0] && ft_symbol_table_get(&r->program->untrainable, names[i])) ||
        strstr(names[i], "moving_mean") || strstr(names[i], "moving_variance");
  for (int i = 0; i < v.weight->declared.rank; i++)
    if (!ft_dim_known(v.weight->declared.dims[i]))
      return ft_tf_give(c, ft_value_unknown(FT_VALUE_OPAQUE));
  return ft_tf_give(c, v);
}

static int declare_placeholder(struct ft_tf_run *r, struct ft_tf_call *c)
{
  const struct ft_tf_attribute *shape = ft_tf_attribute(c->node, "shape");
  struct ft_declared *d = ft_tracer_take(&r->live, sizeof *d);
  uint32_t tensor;

  if (!d)
    return -1;
  if (shape && shape->shape)
    *d = *shape->shape;
  else
    d->rank = -1;
  if (d->rank == 0) { /* exporters write a scalar for an unknown shape or a learning phase */
    const struct ft_tf_attribute *given = ft_tf_attribute(c->node, "_output_shapes");

    d->rank = given && given->shape ? given->shape->rank : d->rank;
    d->dims = given && given->shape ? given->shape->dims : d->dims;
  }
  d->element = (uint8_t)ft_tf_element(ft_tf_integer(c->node, "dtype", 1));
  d->at = c->node->at;
  tensor = ft_tracer_input(&r->live, c->node->name, d);
  return tensor ? ft_tf_give(c, ft_value_tensor(tensor)) : -1;
}

/* Records a constant. A floating-point tensor is a weight of a frozen graph; sizes and scalars are
 * not trainable. */
static int give_const_node(struct ft_tf_run *r, struct ft_tf_call *c)
{
  const struct ft_tf_attribute *a = ft_tf_attribute(c->node, "value");
  struct ft_tf_node *node = (struct ft_tf_node *)c->node; /* all iterations of a loop share it */
  bool known = node->expansion == r->program->expansion;
  struct ft_operand v = { .type = FT_VALUE_WEIGHT };

  if (!a || !a->tensor)
    return ft_tf_fail(r, c->node, "expected a value");
  if (a->tensor->rank > 0 && ft_element_is_real(a->tensor->element)) {
    if (node->expansion != r->program->expansion) {
      node->weight = ft_tracer_take(&r->live, sizeof *node->weight);
      if (!node->weight)
        return -1;
      node->weight->name = node->name;
      node->weight->declared = *a->tensor;
      node->expansion = r->program->expansion;
    }
    v.weight = node->weight;
    return ft_tf_give(c, v);
  }
  if (!known || !node->tensor || ft_tracer_of(&r->live, node->tensor)->block != r->live.serial)
    node->tensor = ft_tracer_constant(&r->live, a->tensor->element, a->tensor->rank,
                                      a->tensor->dims, a->tensor->values);
  node->expansion = r->program->expansion;
  return node->tensor ? ft_tf_give(c, ft_value_tensor(node->tensor)) : -1;
}

static bool begins_with(const char *text, const char *with)
{
  return strncmp(text, with, strlen(with)) == 0;
}

static bool calls_function(const struct ft_tf_run *r, const char *op)
{
  static const char *const some[] = { "PartitionedCall",
                                      "StatefulPartitionedCall",
                                      "While",
                                      "StatelessWhile",
                                      "If",
                                      "StatelessIf",
                                      NULL };

  return ft_string_listed(some, op) || ft_symbol_table_get(&r->program->by_name, op);
}

/* A buffer for the inputs of N. Nodes that call no function share one. */
static struct ft_operand *input_buffer(struct ft_tf_run *r, const struct ft_tf_node *n)
{
  size_t count = n->input_count + 1;

  if (calls_function(r, n->op))
    return ft_tracer_take(&r->live, count * sizeof *r->inputs);
  if (count > r->input_room) {
    r->inputs = ft_tracer_take(&r->live, 2 * count * sizeof *r->inputs);
    r->input_room = r->inputs ? 2 * count : 0;
  }
  return r->inputs;
}

static int run_node(struct ft_tf_run *r, struct ft_tf_scope *s, struct ft_tf_call *c)
{
  const char *op = c->node->op, *in[5];
  struct ft_operand *args;
  size_t count = 0;

  if (strcmp(op, "Const") == 0)
    return give_const_node(r, c);
  if (strcmp(op, "Placeholder") == 0) {
    size_t i = FT_ROWS_FIND(s->function->arguments, s->argument_count, c->node->name);

    return ft_tf_give(c,
                      i < s->argument_count ? s->arguments[i] : ft_value_unknown(FT_VALUE_OPAQUE));
  }
  if (strcmp(op, "VarHandleOp") == 0 || begins_with(op, "Variable"))
    return give_variable(r, c);
  if (strcmp(op, "Exit") == 0)
    return ft_tf_exit(r, s, c);
  if (ft_tf_is_normalisation(s, c->node, in))
    return record_decomposed_norm(r, s, c, in);
  args = input_buffer(r, c->node);
  if (!args)
    return -1;
  for (size_t i = 0; i < c->node->input_count; i++)
    if (c->node->inputs[i][0] != '^')
      args[count++] = ft_tf_value(s, c->node->inputs[i]);
  c->in = args;
  c->in_count = count;
  if (strcmp(op, "PartitionedCall") == 0 || strcmp(op, "StatefulPartitionedCall") == 0)
    return ft_tf_run_function(r, c, "f", args, count);
  if (strcmp(op, "While") == 0 || strcmp(op, "StatelessWhile") == 0)
    return ft_tf_loop(r, c);
  if (strcmp(op, "If") == 0 || strcmp(op, "StatelessIf") == 0)
    return ft_tf_if(r, c);
  if (ft_symbol_table_get(&r->program->by_name, op)) { /* a function called by its own name */
    const struct ft_tf_function *fn = ft_symbol_table_get(&r->program->by_name, op);

    return ft_tf_trace_function(r, fn, fn->results, fn->results ? fn->output_count : 0, args, count,
                                c);
  }
  return ft_tensorflow_node(c);
}

int ft_tf_run_nodes(struct ft_tf_run *r, struct ft_tf_scope *s, const size_t *order, size_t count)
{
  struct ft_tracer *l = &r->live;

  for (size_t i = 0; i < count; i++) {
    struct ft_tf_call c = { .l = l, .node = &s->function->nodes[order[i]] };

    if (s->counts[order[i]])
      continue;
    l->at = c.node->at;
    l->scope = c.node->name;
    if (++r->steps > FT_TF_NODES)
      return ft_tracer_fail(l, "more than %d nodes, loops unrolled", FT_TF_NODES);
    c.out = ft_tracer_take(l, sizeof *c.out); /* most nodes have one result */
    c.out_room = c.out != NULL;
    if (!c.out || run_node(r, s, &c) < 0)
      return l->in->err->text[0] ? -1 : ft_tf_fail(r, c.node, "cannot be traced");
    s->values[order[i]] = c.out;
    s->counts[order[i]] = c.out_count;
  }
  return 0;
}

/* The nodes that OUTPUTS depend on, in trace order. A function's order is cached, since loops call
 * the function repeatedly. */
static const size_t *order_nodes(struct ft_tf_run *r, struct ft_tf_scope *s,
                                 const char *const *outputs, size_t output_count, size_t *count)
{
  struct ft_tf_function *fn = (struct ft_tf_function *)s->function;
  struct ft_tracer *l = &r->live;
  size_t n = fn->node_count + 1, *order;
  struct ft_tf_visit *stack;
  uint8_t *seen;

  *count = fn->ordered;
  if (fn->order && outputs == fn->results)
    return fn->order;
  seen = ft_tracer_take(l, n);
  stack = ft_tracer_take(l, n * sizeof *stack);
  order = ft_arena_take(outputs == fn->results ? &l->graph->arena : &l->graph->results,
                        n * sizeof *order);
  if (!seen || !stack || !order)
    return NULL;
  *count = 0;
  for (size_t i = 0; i < output_count; i++)
    if (outputs[i] && ft_tf_order(r, s, outputs[i], seen, stack, order, count) < 0)
      return NULL;
  if (outputs == fn->results) {
    fn->order = order;
    fn->ordered = *count;
  }
  return order;
}

int ft_tf_trace_function(struct ft_tf_run *r, const struct ft_tf_function *fn,
                         const char *const *outputs, size_t output_count,
                         const struct ft_operand *args, size_t arg_count, struct ft_tf_call *into)
{
  struct ft_tf_scope s = { .function = fn, .arguments = args, .argument_count = arg_count };
  struct ft_tracer *l = &r->live;
  size_t n = fn->node_count + 1, count;
  const size_t *order = order_nodes(r, &s, outputs, output_count, &count);

  s.values = ft_tracer_take(l, n * sizeof *s.values);
  s.counts = ft_tracer_take(l, n * sizeof *s.counts);
  if (!order || !s.values || !s.counts)
    return -1;
  if (++r->depth > CALL_DEPTH)
    return ft_tracer_fail(l, "functions nested more than %d deep", CALL_DEPTH);
  if (ft_tf_run_nodes(r, &s, order, count) < 0)
    return -1;
  r->depth--;
  for (size_t i = 0; i < output_count; i++)
    if (ft_tf_give(into, outputs[i] ? ft_tf_value(&s, outputs[i])
                                    : ft_value_unknown(FT_VALUE_OPAQUE)) < 0)
      return -1;
  return 0;
}

/* ---- the graph ---- */

/* Results that no node reads: the outputs of a frozen graph. */
static const char **unread_results(struct ft_tf_run *r, size_t *count)
{
  static const char *const none[] = { "NoOp",   "Const",     "Assert",      "Placeholder",
                                      "SaveV2", "RestoreV2", "VarHandleOp", NULL };
  const struct ft_tf_function *g = &r->program->graph;
  const char **ends = ft_tracer_take(&r->live, (g->node_count + 1) * sizeof *ends);
  uint8_t *used = ft_tracer_take(&r->live, g->node_count + 1);
  struct ft_tf_scope s = { .function = g };
  uint32_t which;

  if (!ends || !used)
    return NULL;
  for (size_t i = 0; i < g->node_count; i++)
    for (size_t j = 0; j < g->nodes[i].input_count; j++) {
      const struct ft_tf_node *n = ft_tf_source(&s, g->nodes[i].inputs[j], &which);

      if (n)
        used[n - g->nodes] = 1;
    }
  for (size_t i = 0; i < g->node_count; i++) {
    if (!used[i] && !ft_string_listed(none, g->nodes[i].op))
      ends[(*count)++] = g->nodes[i].name;
  }
  return ends;
}

/* Declares the placeholders that the outputs depend on before any node is traced, because
 * ft_infer_inputs sets the sizes of all inputs together. */
static int declare_placeholders(struct ft_tf_run *r, struct ft_tf_scope *s,
                                const char *const *outputs, size_t count)
{
  const struct ft_tf_function *g = s->function;
  size_t n = g->node_count + 1, needed = 0;
  uint8_t *seen = ft_tracer_take(&r->live, n);
  struct ft_tf_visit *stack = ft_tracer_take(&r->live, n * sizeof *stack);
  size_t *order = ft_tracer_take(&r->live, n * sizeof *order);

  if (!seen || !stack || !order)
    return -1;
  for (size_t i = 0; i < count; i++)
    if (ft_tf_order(r, s, outputs[i], seen, stack, order, &needed) < 0)
      return -1;
  for (size_t i = 0; i < g->node_count; i++) {
    struct ft_tf_call c = { .l = &r->live, .node = &g->nodes[i] };

    if (seen[i] != 2 || strcmp(g->nodes[i].op, "Placeholder") != 0)
      continue;
    if (declare_placeholder(r, &c) < 0)
      return -1;
    s->values[i] = c.out;
    s->counts[i] = c.out_count;
  }
  return ft_infer_inputs(r->live.in);
}

/* Placeholders become arguments of the graph, which is then traced like a function. */
static int trace_tensorflow_graph(struct ft_tf_run *r)
{
  struct ft_tf_function graph = r->program->graph;
  const char *const *outputs = r->program->outputs;
  struct ft_tf_call results = { .l = &r->live };
  size_t count = r->program->output_count, n = graph.node_count + 1;
  struct ft_tf_scope s = { .function = &graph };
  struct ft_operand *args;
  const char **names;
  size_t given = 0;

  if (!count)
    outputs = unread_results(r, &count);
  s.values = ft_tracer_take(&r->live, n * sizeof *s.values);
  s.counts = ft_tracer_take(&r->live, n * sizeof *s.counts);
  args = ft_tracer_take(&r->live, n * sizeof *args);
  names = ft_tracer_take(&r->live, n * sizeof *names);
  if (!outputs || !s.values || !s.counts || !args || !names ||
      declare_placeholders(r, &s, outputs, count) < 0)
    return -1;
  for (size_t i = 0; i < graph.node_count; i++)
    if (s.counts[i]) {
      if (ft_tracer_of(&r->live, s.values[i][0].tensor)->rank < 0)
        return ft_error_set(r->live.in->err,
                            "%s: the file has no size for its input \"%.100s\": set it "
                            "with %s",
                            r->live.graph->file, graph.nodes[i].name,
                            ft_graph_input_option(r->live.in->sizes));
      names[given] = graph.nodes[i].name;
      args[given++] = s.values[i][0];
    }
  graph.arguments = names;
  graph.argument_count = given;
  if (ft_tf_trace_function(r, &graph, outputs, count, args, given, &results) < 0)
    return -1;
  for (size_t i = 0; i < results.out_count; i++)
    if (results.out[i].type == FT_VALUE_TENSOR &&
        ft_tracer_output(&r->live, results.out[i].tensor) < 0)
      return -1;
  return 0;
}

int ft_tensorflow_run(struct ft_infer *in)
{
  struct ft_tf_run *r = calloc(1, sizeof *r);
  int status = -1;

  if (!r)
    return ft_error_set(in->err, "%s: out of memory", in->graph->file);
  r->program = in->graph->program;
  r->program->expansion++;
  if (ft_tracer_begin(&r->live, in) == 0)
    status = trace_tensorflow_graph(r);
  if (status == 0 && r->live.failed)
    status = -1;
  if (status < 0 && !in->err->text[0])
    (void)ft_error_set(in->err, "%s: its graph cannot be traced", in->graph->file);
  free(r);
  return status;
}
