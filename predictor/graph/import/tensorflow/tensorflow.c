/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a GraphDef or SavedModel: nodes, functions, the signature, saved variables. */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/tensorflow/tensorflow_tensor.h"

static int append_string(struct ft_tf_reader *r, const struct ft_proto_field *f, const char ***list,
                         size_t *room, size_t *count)
{
  const char **grown = ft_build_grow(r->build, *list, room, *count, sizeof *grown);

  if (!grown)
    return -1;
  *list = grown;
  grown[*count] = ft_build_field(r->build, &r->proto, f);
  return grown[(*count)++] ? 0 : -1;
}

/* Reads the key (field 1) of a map entry up to its value (field 2). Returns 1; 0 if there is no
 * value; -1 on error. */
static int read_map_entry(struct ft_tf_reader *r, uint64_t end, const char **key,
                          struct ft_proto_field *value)
{
  struct ft_proto_field f = { 0 };
  int more;

  *key = "";
  *value = (struct ft_proto_field){ 0 };
  while ((more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.number == 1 && f.wire == FT_PROTO_BYTES) {
      *key = ft_build_field(r->build, &r->proto, &f);
      if (!*key)
        return -1;
    } else if (f.number == 2 && f.wire == FT_PROTO_BYTES) {
      *value = f;
      return 1; /* keys come first */
    }
  }
  return more;
}

/* ---- nodes ---- */

static int copy_integers(struct ft_tf_reader *r, struct ft_tf_attribute *a, size_t count)
{
  int64_t *kept;

  if (count > FT_GRAPH_VALUES)
    return 0;
  kept = ft_build_take(r->build, (count + 1) * sizeof *kept);
  if (!kept)
    return -1;
  memcpy(kept, r->integers, count * sizeof *kept);
  a->integers = kept;
  a->count = count;
  return 0;
}

static int read_list_value(struct ft_tf_reader *r, uint64_t end, struct ft_tf_attribute *a)
{
  struct ft_proto_field f = { 0 };
  size_t count = 0;
  int more;

  while ((more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.number == 3 && ft_proto_integers(&r->proto, &f, r->integers, FT_GRAPH_VALUES, &count) < 0)
      return -1;
    if (f.number == 7 && f.wire == FT_PROTO_BYTES && !a->shape) {
      a->shape = ft_build_take(r->build, sizeof *a->shape);
      if (!a->shape || ft_tf_read_shape(r, f.end, a->shape) < 0)
        return -1;
    }
  }
  return more < 0 ? -1 : copy_integers(r, a, count);
}

static int read_function_name(struct ft_tf_reader *r, uint64_t end, struct ft_tf_attribute *a)
{
  struct ft_proto_field f = { 0 };
  int more;

  while ((more = ft_proto_next(&r->proto, end, &f)) > 0)
    if (f.number == 1 && f.wire == FT_PROTO_BYTES) {
      a->text = ft_build_field(r->build, &r->proto, &f);
      if (!a->text)
        return -1;
    }
  return more;
}

/* Reads an AttrValue up to END into A. */
static int read_attribute_value(struct ft_tf_reader *r, uint64_t end, struct ft_tf_attribute *a)
{
  struct ft_proto_field f = { 0 };
  int more, status = 0;

  while (status == 0 && (more = ft_proto_next(&r->proto, end, &f)) > 0) {
    bool bytes = f.wire == FT_PROTO_BYTES;

    if (f.number == 1 && bytes)
      status = read_list_value(r, f.end, a);
    else if (f.number == 2 && bytes)
      status = (a->text = ft_build_field(r->build, &r->proto, &f)) ? 0 : -1;
    else if ((f.number == 3 || f.number == 5 || f.number == 6) && f.wire == FT_PROTO_VARINT)
      a->integer = (int64_t)f.value;
    else if (f.number == 7 && bytes) {
      a->shape = ft_build_take(r->build, sizeof *a->shape);
      status = a->shape ? ft_tf_read_shape(r, f.end, a->shape) : -1;
    } else if (f.number == 8 && bytes)
      status = ft_tf_read_tensor(r, f.end, &a->tensor);
    else if (f.number == 10 && bytes)
      status = read_function_name(r, f.end, a);
  }
  return status < 0 || more < 0 ? -1 : 0;
}

static int read_node_attribute(struct ft_tf_reader *r, uint64_t end, struct ft_tf_node *n)
{
  struct ft_tf_attribute *list =
      ft_build_grow(r->build, n->attributes, &n->attribute_room, n->attribute_count, sizeof *list);
  struct ft_proto_field value;
  int more;

  if (!list)
    return -1;
  n->attributes = list;
  list += n->attribute_count++;
  *list = (struct ft_tf_attribute){ .key = "", .text = "" };
  more = read_map_entry(r, end, &list->key, &value);
  if (more <= 0)
    return more;
  return read_attribute_value(r, value.end, list);
}

/* Reads a NodeDef. */
static int read_graph_node(struct ft_tf_reader *r, const struct ft_proto_field *field,
                           struct ft_tf_function *into)
{
  struct ft_tf_node *list = ft_build_grow(r->build, into->nodes, &into->node_room, into->node_count,
                                          sizeof *list),
                    *n;
  struct ft_proto_field f = { 0 };
  int more, status = 0;

  if (!list)
    return -1;
  into->nodes = list;
  n = &list[into->node_count];
  *n = (struct ft_tf_node){ .name = "", .op = "", .at = field->at };
  while (status == 0 && (more = ft_proto_next(&r->proto, field->end, &f)) > 0) {
    if (f.wire != FT_PROTO_BYTES)
      continue;
    if (f.number == 1)
      status = (n->name = ft_build_field(r->build, &r->proto, &f)) ? 0 : -1;
    else if (f.number == 2)
      status = (n->op = ft_build_field(r->build, &r->proto, &f)) ? 0 : -1;
    else if (f.number == 3)
      status = append_string(r, &f, &n->inputs, &n->input_room, &n->input_count);
    else if (f.number == 5)
      status = read_node_attribute(r, f.end, n);
  }
  if (status < 0 || more < 0)
    return -1;
  if (!n->name[0] || !n->op[0])
    return ft_proto_fail(&r->proto, field->at,
                         "a node without a name or operator: expected a "
                         "TensorFlow graph");
  into->node_count++;
  return 0;
}

/* ---- functions ---- */

/* Reads an ArgDef up to END and appends its name to LIST. */
static int read_argument_name(struct ft_tf_reader *r, uint64_t end, const char ***list,
                              size_t *room, size_t *count)
{
  struct ft_proto_field f = { 0 };
  int more;

  while ((more = ft_proto_next(&r->proto, end, &f)) > 0)
    if (f.number == 1 && f.wire == FT_PROTO_BYTES && append_string(r, &f, list, room, count) < 0)
      return -1;
  return more;
}

/* Reads an OpDef up to END: names of FN, its arguments and outputs. */
static int read_signature(struct ft_tf_reader *r, uint64_t end, struct ft_tf_function *fn)
{
  struct ft_proto_field f = { 0 };
  int more, status = 0;

  while (status == 0 && (more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.wire != FT_PROTO_BYTES)
      continue;
    if (f.number == 1)
      status = (fn->name = ft_build_field(r->build, &r->proto, &f)) ? 0 : -1;
    else if (f.number == 2)
      status =
          read_argument_name(r, f.end, &fn->arguments, &fn->argument_room, &fn->argument_count);
    else if (f.number == 3)
      status = read_argument_name(r, f.end, &fn->outputs, &fn->output_room, &fn->output_count);
  }
  return status < 0 || more < 0 ? -1 : 0;
}

static int read_result(struct ft_tf_reader *r, uint64_t end, struct ft_tf_function *fn)
{
  struct ft_proto_field value;
  const char *key, *what;
  int more = read_map_entry(r, end, &key, &value);

  if (more <= 0)
    return more;
  if (!fn->results) {
    fn->results = ft_build_take(r->build, (fn->output_count + 1) * sizeof *fn->results);
    if (!fn->results)
      return -1;
  }
  what = ft_build_field(r->build, &r->proto, &value);
  for (size_t i = 0; what && i < fn->output_count; i++)
    if (strcmp(fn->outputs[i], key) == 0)
      fn->results[i] = what;
  return what ? 0 : -1;
}

/* Reads a FunctionDef up to END; the signature precedes the nodes. */
static int read_function_def(struct ft_tf_reader *r, uint64_t end, struct ft_tf_function *fn)
{
  struct ft_proto_field f = { 0 };
  int more, status = 0;

  *fn = (struct ft_tf_function){ .name = "" };
  while (status == 0 && (more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.wire != FT_PROTO_BYTES)
      continue;
    if (f.number == 1)
      status = read_signature(r, f.end, fn);
    else if (f.number == 3)
      status = read_graph_node(r, &f, fn);
    else if (f.number == 4)
      status = read_result(r, f.end, fn);
  }
  return status < 0 || more < 0 ? -1 : 0;
}

static int read_library(struct ft_tf_reader *r, uint64_t end)
{
  struct ft_tf_program *p = r->program;
  struct ft_proto_field f = { 0 };
  int more;

  while ((more = ft_proto_next(&r->proto, end, &f)) > 0) {
    struct ft_tf_function *list;

    if (f.number != 1 || f.wire != FT_PROTO_BYTES)
      continue;
    list =
        ft_build_grow(r->build, p->functions, &p->function_room, p->function_count, sizeof *list);
    if (!list)
      return -1;
    p->functions = list;
    if (read_function_def(r, f.end, &list[p->function_count++]) < 0)
      return -1;
  }
  return more;
}

static int read_graph_def(struct ft_tf_reader *r, uint64_t end)
{
  struct ft_proto_field f = { 0 };
  int more, status = 0;

  while (status == 0 && (more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.number == 1 && f.wire == FT_PROTO_BYTES)
      status = read_graph_node(r, &f, &r->program->graph);
    else if (f.number == 2 && f.wire == FT_PROTO_BYTES)
      status = read_library(r, f.end);
  }
  return status < 0 || more < 0 ? -1 : 0;
}

/* ---- saved models ---- */

/* Reads an entry of SignatureDef.outputs up to END and appends the name in its TensorInfo, such as
 * "node:0", to the program's outputs. Returns 0; -1 on error and fills the reader's ERR. */
static int read_output_info(struct ft_tf_reader *r, uint64_t end)
{
  struct ft_tf_program *p = r->program;
  struct ft_proto_field value, f = { 0 };
  const char *key;
  int more = read_map_entry(r, end, &key, &value);

  if (more <= 0)
    return more;
  while ((more = ft_proto_next(&r->proto, value.end, &f)) > 0)
    if (f.number == 1 && f.wire == FT_PROTO_BYTES &&
        append_string(r, &f, &p->outputs, &p->output_room, &p->output_count) < 0)
      return -1;
  return more;
}

/* Reads the signature serving_default, else the first that has outputs. */
static int read_signature_def(struct ft_tf_reader *r, uint64_t end)
{
  struct ft_proto_field value, f = { 0 };
  const char *key;
  bool wanted;
  int more = read_map_entry(r, end, &key, &value);

  if (more <= 0)
    return more;
  wanted = strcmp(key, "serving_default") == 0;
  if (key[0] == '_' || r->program->default_signature || (r->program->output_count && !wanted))
    return 0;
  r->program->output_count = 0;
  r->program->default_signature = wanted;
  while ((more = ft_proto_next(&r->proto, value.end, &f)) > 0)
    if (f.number == 2 && f.wire == FT_PROTO_BYTES && read_output_info(r, f.end) < 0)
      return -1;
  return more;
}

/* Reads a SavedVariable up to END; a variable that is not trainable is entered in UNTRAINABLE. */
static int read_saved_variable(struct ft_tf_reader *r, uint64_t end)
{
  struct ft_proto_field f = { 0 };
  bool learnt = false;
  const char *name = "";
  int more;

  while ((more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.number == 3 && f.wire == FT_PROTO_VARINT)
      learnt = f.value != 0;
    else if (f.number == 6 && f.wire == FT_PROTO_BYTES) {
      name = ft_build_field(r->build, &r->proto, &f);
      if (!name)
        return -1;
    }
  }
  if (more < 0)
    return -1;
  return !learnt && name[0] && ft_symbol_table_put(&r->program->untrainable, name, r->program) < 0
             ? ft_build_exhausted(r->build)
             : 0;
}

/* Reads the variables of a SavedObjectGraph up to END. */
static int read_object_graph(struct ft_tf_reader *r, uint64_t end)
{
  struct ft_proto_field f = { 0 }, o;
  int more, inner;

  while ((more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.number != 1 || f.wire != FT_PROTO_BYTES)
      continue;
    o = (struct ft_proto_field){ 0 };
    while ((inner = ft_proto_next(&r->proto, f.end, &o)) > 0)
      if (o.number == 7 && o.wire == FT_PROTO_BYTES && read_saved_variable(r, o.end) < 0)
        return -1;
    if (inner < 0)
      return -1;
  }
  return more;
}

static int read_meta_graph(struct ft_tf_reader *r, uint64_t end)
{
  struct ft_proto_field f = { 0 };
  int more, status = 0;

  while (status == 0 && (more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.wire != FT_PROTO_BYTES)
      continue;
    if (f.number == 2)
      status = read_graph_def(r, f.end);
    else if (f.number == 5)
      status = read_signature_def(r, f.end);
    else if (f.number == 7)
      status = read_object_graph(r, f.end);
  }
  return status < 0 || more < 0 ? -1 : 0;
}

static int index_nodes(struct ft_tf_reader *r, struct ft_tf_function *fn)
{
  fn->by_name.arena = &r->build->graph->arena;
  for (size_t i = 0; i < fn->node_count; i++) {
    if (ft_symbol_table_get(&fn->by_name, fn->nodes[i].name))
      return ft_proto_fail(&r->proto, fn->nodes[i].at, "a second node named \"%.100s\"",
                           fn->nodes[i].name);
    if (ft_symbol_table_put(&fn->by_name, fn->nodes[i].name, &fn->nodes[i]) < 0)
      return ft_build_exhausted(r->build);
  }
  return ft_tf_link_all(r->build, fn);
}

int ft_tensorflow_read(struct ft_build *build, int fd, bool saved_model)
{
  struct ft_tf_reader *r = ft_arena_take(&build->arena, sizeof *r);
  struct ft_tf_program *p = ft_arena_take(&build->graph->arena, sizeof *p);
  struct ft_proto_field f = { 0 };
  bool found = false;
  int more = 0;

  if (!r || !p)
    return ft_build_exhausted(build);
  r->build = build;
  r->program = p;
  p->by_name.arena = p->untrainable.arena = &build->graph->arena;
  if (ft_proto_init(&r->proto, fd, build->graph->file, build->err) < 0)
    return -1;
  if (!saved_model && read_graph_def(r, r->proto.size) < 0)
    return -1;
  while (saved_model && !found && (more = ft_proto_next(&r->proto, r->proto.size, &f)) > 0)
    if (f.number == 2 && f.wire == FT_PROTO_BYTES) {
      found = true; /* further MetaGraphs are for other devices */
      if (read_meta_graph(r, f.end) < 0)
        return -1;
    }
  if (more < 0 || index_nodes(r, &p->graph) < 0)
    return -1;
  for (size_t i = 0; i < p->function_count; i++)
    if (index_nodes(r, &p->functions[i]) < 0)
      return -1;
    else if (ft_symbol_table_put(&p->by_name, p->functions[i].name, &p->functions[i]) < 0)
      return ft_build_exhausted(build);
  if (!p->graph.node_count)
    return ft_error_set(build->err, "%s: byte 0: expected a TensorFlow graph, found no node in it",
                        build->graph->file);
  build->graph->format = saved_model ? "tensorflow saved model" : "tensorflow graph";
  build->graph->producer = "tensorflow";
  build->graph->program = p;
  build->graph->expand = ft_tensorflow_run;
  return 0;
}
