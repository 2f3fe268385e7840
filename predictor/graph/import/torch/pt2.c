/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and traces programs of torch.export. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/graph/aten/aten.h"
#include "predictor/graph/import/json.h"
#include "predictor/graph/import/torch/pt2.h"
#include "predictor/graph/ir/symbol_table.h"

enum { DEPTH = 16 }; /* limit of nested graphs and arguments */

struct trace {
  struct ft_tracer live;
  struct ft_symbol_table names;
  const json_t *tensors; /* metadata of each tensor: sizes, element type */
  int depth, nested;
};

uint64_t ft_pt2_find(const struct ft_archive *archive)
{
  for (uint64_t i = 0; i < archive->count; i++) {
    const char *name = ft_archive_name(archive, i), *models = strstr(name, "models/");
    size_t length = strlen(name);

    if (strstr(name, "serialized_exported_program.json") ||
        (models && (models == name || models[-1] == '/') && length > 5 &&
         strcmp(name + length - 5, ".json") == 0))
      return i;
  }
  return archive->count;
}

/* ---- tensor metadata ---- */

/* Element type of the file's dtype number: c10's ScalarType + 1, with bfloat16 at a number of
 * its own. */
static unsigned element_by_dtype(const json_t *dtype)
{
  json_int_t type = json_integer_value(dtype);

  return type == 13 ? 16 : type > 0 && type <= 12 ? ft_aten_element(type - 1) : FT_ELEMENT_UNKNOWN;
}

/* Returns the name in "Symbol('s77', ...)"; NULL for any other expression. */
static const char *symbol_name(struct trace *f, const json_t *expression)
{
  const char *text = ft_graph_json_text(expression, "expr_str"), *end;

  if (strncmp(text, "Symbol('", 8) == 0) {
    end = strchr(text + 8, '\'');
    return end ? ft_tracer_text(&f->live, text + 8, (size_t)(end - text - 8)) : NULL;
  }
  return text[0] == 's' && !strpbrk(text, " *+/(") ? text : NULL;
}

static int declare_tensor(struct trace *f, const char *name, struct ft_declared *d)
{
  const json_t *meta = json_object_get(f->tensors, name), *sizes = json_object_get(meta, "sizes");
  size_t rank = json_array_size(sizes);

  *d = (struct ft_declared){ .rank = -1 };
  if (!json_is_array(sizes))
    return 0;
  if (rank > FT_GRAPH_RANK)
    return ft_tracer_fail(&f->live, "\"%.80s\" has more than %d dimensions", name, FT_GRAPH_RANK);
  d->dims = ft_tracer_take(&f->live, (rank + 1) * sizeof *d->dims);
  d->symbols = ft_tracer_take(&f->live, (rank + 1) * sizeof *d->symbols);
  if (!d->dims || !d->symbols)
    return -1;
  d->rank = (int)rank;
  d->element = (uint8_t)element_by_dtype(json_object_get(meta, "dtype"));
  for (size_t i = 0; i < rank; i++) {
    const json_t *size = json_array_get(sizes, i), *whole = json_object_get(size, "as_int");

    d->dims[i] = ft_dim_of(json_is_integer(whole) ? json_integer_value(whole) : -1);
    if (!json_is_integer(whole))
      d->symbols[i] = symbol_name(f, json_object_get(size, "as_expr"));
    else if (ft_dim_or(d->dims[i], -1) < 0 || ft_dim_or(d->dims[i], 0) > FT_GRAPH_DIMENSION)
      return ft_tracer_fail(&f->live, "\"%.80s\" has a dimension of %lld: expected 0 to 2^40", name,
                            (long long)json_integer_value(whole));
  }
  d->elements = ft_dim_or(ft_dim_product(d->dims, d->rank), -1);
  if (d->elements > FT_GRAPH_ELEMENTS)
    return ft_tracer_fail(&f->live, "\"%.80s\" has more than 2^50 elements", name);
  return 0;
}

/* ---- names ---- */

static int bind_pt2_value(struct trace *f, const char *name, struct ft_operand value)
{
  struct ft_operand *kept = ft_tracer_take(&f->live, sizeof *kept);

  if (!kept)
    return -1;
  *kept = value;
  return ft_symbol_table_put(&f->names, name, kept) < 0
             ? ft_tracer_fail(&f->live, "too many names, or too many hash collisions")
             : 0;
}

static int look_up_name(struct trace *f, const char *name, struct ft_operand *value)
{
  const struct ft_operand *known = ft_symbol_table_get(&f->names, name);

  if (!known)
    return ft_tracer_fail(&f->live, "no node defines \"%.100s\"", name);
  *value = *known;
  return 0;
}

/* ---- arguments (schema.py: Argument, a union) ---- */

static int read_argument(struct trace *f, const json_t *arg, struct ft_operand *value);

/* Sets *VALUE to the number ITEM. Returns false if it is none. The schema has those that JSON lacks
 * as texts (torch/_export/serde/serialize.py). */
static bool read_real(const json_t *item, struct ft_operand *value)
{
  const char *text = json_is_string(item) ? json_string_value(item) : "";

  if (json_is_number(item))
    *value = ft_value_real(json_number_value(item));
  else if (strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0)
    *value = ft_value_real(text[0] == '-' ? -(double)INFINITY : (double)INFINITY);
  else if (strcmp(text, "NaN") == 0)
    *value = ft_value_unknown(FT_VALUE_REAL);
  else
    return false;
  return true;
}

/* {"as_name": "s0"}, {"as_int": 3} */
static int read_symbolic(struct trace *f, const json_t *arg, struct ft_operand *value)
{
  const json_t *whole = json_object_get(arg, "as_int"), *truth = json_object_get(arg, "as_bool");

  if (json_is_integer(whole))
    *value = ft_value_int(json_integer_value(whole));
  else if (json_is_boolean(truth))
    *value = ft_value_bool(json_is_true(truth));
  else if (!read_real(json_object_get(arg, "as_float"), value))
    return look_up_name(f, ft_graph_json_text(arg, "as_name"), value);
  return 0;
}

/* An element of a list: a number, {"name": x}, {"as_tensor": ...}, a symbolic size. */
static int read_list_member(struct trace *f, const json_t *item, struct ft_operand *value)
{
  if (json_is_integer(item))
    *value = ft_value_int(json_integer_value(item));
  else if (json_is_boolean(item))
    *value = ft_value_bool(json_is_true(item));
  else if (json_is_number(item))
    *value = ft_value_real(json_number_value(item));
  else if (json_is_string(item))
    *value = ft_value_string(json_string_value(item));
  else if (json_object_get(item, "name"))
    return look_up_name(f, ft_graph_json_text(item, "name"), value);
  else if (json_object_get(item, "as_name") || json_object_get(item, "as_int"))
    return read_symbolic(f, item, value);
  else
    return read_argument(f, item, value);
  return 0;
}

static int read_argument(struct trace *f, const json_t *arg, struct ft_operand *value)
{
  const char *kind = json_object_iter_key(json_object_iter((json_t *)arg));
  const json_t *what = kind ? json_object_get(arg, kind) : NULL, *item;
  struct ft_operand one;
  size_t i;

  *value = ft_value_none();
  if (!kind || strcmp(kind, "as_none") == 0)
    return 0;
  if (++f->depth > DEPTH)
    return ft_tracer_fail(&f->live, "arguments nested too deep");
  if (strcmp(kind, "as_scalar_type") == 0) {
    json_int_t type = json_integer_value(what);

    *value = ft_value_int(type == 13 ? 15 : type - 1);
  } else if (strcmp(kind, "as_device") == 0) {
    *value = ft_value_string("cpu");
  } else if (strcmp(kind, "as_layout") == 0 || strcmp(kind, "as_memory_format") == 0) {
    *value = ft_value_unknown(FT_VALUE_OPAQUE);
  } else if (json_is_array(what)) {
    *value = ft_value_list(&f->live, FT_VALUE_LIST, NULL, 0);
    json_array_foreach (what, i, item)
      if (read_list_member(f, item, &one) < 0 || value->type != FT_VALUE_LIST ||
          ft_value_append(&f->live, value->list, one) < 0)
        return -1;
  } else if (strncmp(kind, "as_sym", 6) == 0) {
    if (read_symbolic(f, what, value) < 0)
      return -1;
  } else if ((strcmp(kind, "as_float") != 0 || !read_real(what, value)) &&
             read_list_member(f, what, value) < 0) {
    return -1;
  }
  f->depth--;
  return 0;
}

/* ---- nodes ---- */

/* Returns the name of the result OUTPUT; NULL: it has none. */
static const char *result_name(const json_t *output)
{
  static const char *const kinds[] = { "as_tensor", "as_sym_int", "as_sym_bool", "as_sym_float" };

  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const json_t *o = json_object_get(output, kinds[i]);

    if (o)
      return json_string_value(json_object_get(o, i ? "as_name" : "name"));
  }
  return NULL;
}

/* Binds the name in OUTPUT to VALUE, or several names to the members of a list. */
static int bind_output(struct trace *f, const json_t *output, struct ft_operand value)
{
  const json_t *list = json_object_get(output, "as_tensors"), *item;
  const char *name = result_name(output);
  size_t i;

  if (name)
    return bind_pt2_value(f, name, value);
  list = list ? list : json_object_get(output, "as_optional_tensors");
  json_array_foreach (list, i, item) {
    const json_t *inner = json_object_get(item, "as_tensor");
    bool part = ft_value_is_list(&value) && i < value.list->count;

    if (bind_pt2_value(f, ft_graph_json_text(inner ? inner : item, "name"),
                       part ? value.list->items[i] : ft_value_unknown(FT_VALUE_OPAQUE)) < 0)
      return -1;
  }
  return 0;
}

static int bind_outputs(struct trace *f, const json_t *outputs, struct ft_operand value)
{
  size_t count = json_array_size(outputs), i;
  const json_t *output;

  if (count == 1)
    return bind_output(f, json_array_get(outputs, 0), value);
  json_array_foreach (outputs, i, output) {
    bool part = ft_value_is_list(&value) && i < value.list->count;

    if (bind_output(f, output, part ? value.list->items[i] : ft_value_unknown(FT_VALUE_OPAQUE)) < 0)
      return -1;
  }
  return 0;
}

/* Returns the number of tensors that OUTPUTS name, at least 1. */
static size_t result_count(const json_t *outputs)
{
  size_t count = json_array_size(outputs);

  if (count == 1)
    count = json_array_size(json_object_get(json_array_get(outputs, 0), "as_tensors"));
  return count > 1 ? count : 1;
}

/* Returns the operator of TARGET: "conv2d" for "torch.ops.aten.conv2d.default"; with its namespace
 * if that is not aten. */
static const char *operator_of_target(struct trace *f, const char *target)
{
  const char *name = target, *dot;

  if (strncmp(target, "torch.ops.aten.", 15) == 0)
    name = target + 15;
  else if (strncmp(target, "torch.ops.torchvision.", 22) == 0)
    name = target + 22;
  else if (strncmp(target, "_operator.", 10) == 0)
    return target + 10;
  else if (strncmp(target, "torch.ops.", 10) == 0)
    return target + 10;
  else if (strncmp(target, "torch.sym_", 10) == 0)
    return target + 6;
  dot = strchr(name, '.');
  return dot ? ft_tracer_text(&f->live, name, (size_t)(dot - name)) : name;
}

/* Returns the module in which NODE was traced: the last entry of its nn_module_stack, such as
 * "L__self__tr,tr,torch.nn.modules...". */
static const char *module_scope(struct trace *f, const json_t *node)
{
  const char *stack = ft_graph_json_text(json_object_get(node, "metadata"), "nn_module_stack");
  const char *last = strrchr(stack, ';'), *comma = strchr(last ? last : stack, ',');
  const char *end = comma ? strchr(comma + 1, ',') : NULL;

  return end ? ft_tracer_text(&f->live, comma + 1, (size_t)(end - comma - 1)) : "";
}

static int trace_graph(struct trace *f, const json_t *graph, struct ft_operand *result);

/* Traces a subgraph in an argument of a node, with OPERANDS as its inputs. */
static int trace_subgraph(struct trace *f, const json_t *arg, const json_t *inputs, size_t first,
                          struct ft_operand *result)
{
  const json_t *graph = json_object_get(json_object_get(arg, "as_graph"), "graph"), *input, *list;
  const json_t *outer = f->tensors;
  struct ft_operand value;
  int status;
  size_t i;

  list = json_object_get(json_object_get(json_array_get(inputs, first), "arg"), "as_tensors");
  json_array_foreach (json_object_get(graph, "inputs"), i, input) {
    const char *name = result_name(input);
    const json_t *operand = json_object_get(json_array_get(inputs, first + i), "arg");

    if (!name)
      continue;
    if (list ? look_up_name(f, ft_graph_json_text(json_array_get(list, i), "name"), &value) < 0
             : read_argument(f, operand, &value) < 0)
      return -1;
    if (bind_pt2_value(f, name, value) < 0)
      return -1;
  }
  f->tensors = json_object_get(graph, "tensor_values");
  status = trace_graph(f, graph, result);
  f->tensors = outer;
  return status;
}

/* torch.ops.higher_order.cond(predicate, true graph, false graph, operands): records both. */
static int trace_conditional(struct trace *f, const json_t *inputs, struct ft_operand *result)
{
  struct ft_operand predicate, given;
  struct ft_side sides[2];

  if (read_argument(f, json_object_get(json_array_get(inputs, 0), "arg"), &predicate) < 0)
    return -1;
  for (unsigned i = 0; i < 2; i++) {
    struct ft_tracer_frame frame;

    if (ft_tracer_open(&f->live, &frame) < 0 ||
        trace_subgraph(f, json_object_get(json_array_get(inputs, 1 + i), "arg"), inputs, 3,
                       &given) < 0)
      return -1;
    ft_tracer_close(&f->live, &frame);
    sides[i] = (struct ft_side){ .block = frame.block,
                                 .values = given.list->items,
                                 .count = given.list->count };
  }
  *result = ft_value_branch(&f->live, &predicate, sides);
  return result->type == FT_VALUE_TUPLE ? 0 : -1;
}

/* Traces an operator whose arguments are graphs. Returns 0 or -1; 1 if TARGET is another operator.
 */
static int trace_higher_order(struct trace *f, const char *target, const json_t *inputs,
                              const json_t *outputs)
{
  struct ft_operand result = ft_value_none();
  const json_t *input;
  size_t i;

  if (strncmp(target, "torch.ops.higher_order.", 23) != 0)
    return 1;
  if (strcmp(target + 23, "cond") == 0)
    return trace_conditional(f, inputs, &result) < 0 ? -1 : bind_outputs(f, outputs, result);
  json_array_foreach (inputs, i, input) {
    const json_t *arg = json_object_get(input, "arg");

    if (!json_object_get(arg, "as_graph"))
      continue;
    if (trace_subgraph(f, arg, inputs, i + 1, &result) < 0)
      return -1;
    if (json_array_size(outputs) == 1 && result.type == FT_VALUE_TUPLE && result.list->count == 1 &&
        result_name(json_array_get(outputs, 0)))
      result = result.list->items[0];
    return bind_outputs(f, outputs, result);
  }
  return 1;
}

static int trace_node(struct trace *f, const json_t *node)
{
  const json_t *inputs = json_object_get(node, "inputs"), *outputs, *input;
  const char *target = ft_graph_json_text(node, "target"), **keys;
  size_t count = json_array_size(inputs), i;
  struct ft_call call = { .l = &f->live, .count = count };
  struct ft_operand *args;
  int status;

  outputs = json_object_get(node, "outputs");
  f->live.scope = module_scope(f, node);
  status = trace_higher_order(f, target, inputs, outputs);
  if (status <= 0)
    return status;
  args = ft_tracer_take(&f->live, (count + 1) * sizeof *args);
  keys = ft_tracer_take(&f->live, (count + 1) * sizeof *keys);
  if (!args || !keys)
    return -1;
  json_array_foreach (inputs, i, input) {
    f->depth = 0;
    if (read_argument(f, json_object_get(input, "arg"), &args[i]) < 0)
      return -1;
    if (json_integer_value(json_object_get(input, "kind")) == 2) /* older files have no kind */
      keys[i] = ft_graph_json_text(input, "name");
  }
  call.args = args;
  call.keys = keys;
  call.name = operator_of_target(f, target);
  call.outputs = (unsigned)result_count(outputs);
  if (!call.name || ft_aten(&call) < 0)
    return f->live.in->err->text[0] ? -1
                                    : ft_tracer_fail(&f->live, "%.100s cannot be traced", target);
  return bind_outputs(f, outputs, call.result);
}

static int trace_graph(struct trace *f, const json_t *graph, struct ft_operand *result)
{
  const json_t *nodes = json_object_get(graph, "nodes"), *node, *output;
  int status = 0;
  size_t i;

  if (f->nested >= DEPTH)
    return ft_tracer_fail(&f->live, "graphs nested more than %d deep", DEPTH);
  f->nested++;
  json_array_foreach (nodes, i, node) {
    f->live.at = i;
    status = trace_node(f, node);
    if (status < 0)
      break;
  }
  f->nested--;
  if (status < 0)
    return -1;
  *result = ft_value_list(&f->live, FT_VALUE_TUPLE, NULL, 0);
  json_array_foreach (json_object_get(graph, "outputs"), i, output) {
    struct ft_operand value;

    f->depth = 0;
    if (read_argument(f, output, &value) < 0 || result->type != FT_VALUE_TUPLE ||
        ft_value_append(&f->live, result->list, value) < 0)
      return -1;
  }
  return 0;
}

/* ---- the program ---- */

static int bind_weight(struct trace *f, const char *name, const char *called, bool learnt)
{
  struct ft_operand value = { .type = FT_VALUE_WEIGHT };

  value.weight = ft_tracer_take(&f->live, sizeof *value.weight);
  if (!value.weight || declare_tensor(f, name, &value.weight->declared) < 0)
    return -1;
  if (value.weight->declared.rank < 0 || value.weight->declared.elements < 0)
    return ft_tracer_fail(&f->live, "the size of \"%.100s\" is unknown", name);
  value.weight->name = called;
  value.weight->declared.kept = !learnt;
  value.weight->declared.frozen =
      learnt && json_is_false(json_object_get(json_object_get(f->tensors, name), "requires_grad"));
  return bind_pt2_value(f, name, value);
}

/* InputSpec of schema.py */
static int bind_input(struct trace *f, const json_t *spec)
{
  static const struct {
    const char *kind, *called;
    bool learnt;
  } weights[] = { { "parameter", "parameter_name", true },
                  { "buffer", "buffer_name", false },
                  { "tensor_constant", "tensor_constant_name", false } };
  const json_t *arg, *whole;
  struct ft_declared *d;
  const char *name;
  uint32_t tensor;

  for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
    const json_t *w = json_object_get(spec, weights[i].kind);

    if (w)
      return bind_weight(f, ft_graph_json_text(json_object_get(w, "arg"), "name"),
                         ft_graph_json_text(w, weights[i].called), weights[i].learnt);
  }
  arg = json_object_get(json_object_get(spec, "user_input"), "arg");
  name = result_name(arg);
  whole = json_object_get(json_object_get(arg, "as_sym_int"), "as_name");
  if (!name)
    return 0;
  if (whole)
    return bind_pt2_value(f, name, ft_value_unknown(FT_VALUE_INT));
  d = ft_tracer_take(&f->live, sizeof *d);
  if (!d || declare_tensor(f, name, d) < 0)
    return -1;
  tensor = ft_tracer_input(&f->live, name, d);
  return tensor ? bind_pt2_value(f, name, ft_value_tensor(tensor)) : -1;
}

static int add_outputs(struct trace *f, const struct ft_operand *result)
{
  for (size_t i = 0; i < result->list->count; i++)
    if (result->list->items[i].type == FT_VALUE_TENSOR &&
        ft_tracer_output(&f->live, result->list->items[i].tensor) < 0)
      return -1;
  return 0;
}

static int trace_program(struct ft_infer *in)
{
  const json_t *module = json_object_get(in->graph->program, "graph_module"), *spec;
  const json_t *graph = json_object_get(module, "graph");
  struct ft_operand result;
  struct trace f = { .depth = 0 };
  size_t i;

  if (ft_tracer_begin(&f.live, in) < 0)
    return -1;
  in->part = "node";
  f.names.arena = &in->graph->results;
  f.tensors = json_object_get(graph, "tensor_values");
  json_array_foreach (json_object_get(json_object_get(module, "signature"), "input_specs"), i, spec)
    if (bind_input(&f, spec) < 0)
      return -1;
  if (ft_infer_inputs(in) < 0 || trace_graph(&f, graph, &result) < 0 ||
      add_outputs(&f, &result) < 0 || ft_tracer_loose_ends(&f.live) < 0)
    return -1;
  in->part = NULL;
  return f.live.failed ? -1 : 0;
}

static void release_program(void *program)
{
  json_decref(program);
}

int ft_pt2_parse(struct ft_build *build, const char *member, const char *text, size_t length)
{
  struct ft_graph *g = build->graph;
  char where[128];
  json_t *root;

  (void)snprintf(where, sizeof where, "member %.100s: ", member);
  root = ft_graph_json_parse(build, where, text, length);
  if (!root)
    return -1;
  g->program = root;
  g->release = release_program;
  if (!json_is_array(json_object_get(
          json_object_get(json_object_get(root, "graph_module"), "graph"), "nodes")))
    return ft_error_set(build->err,
                        "%s: member %.100s: byte 0: expected an exported program with a graph",
                        g->file, member);
  g->format = "torch.export";
  g->states_trained = true;
  g->producer = "pytorch";
  g->expand = trace_program;
  return 0;
}

int ft_pt2_read(struct ft_build *build, struct ft_archive *archive, uint64_t member)
{
  size_t length;
  const char *text = ft_archive_read(archive, member, &build->arena, &length);

  return text ? ft_pt2_parse(build, ft_archive_name(archive, member), text, length) : -1;
}
