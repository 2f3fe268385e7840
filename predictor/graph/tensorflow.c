/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/graph/protobuf.h"
#include "predictor/graph/tensorflow.h"

struct reader {
  struct ft_build *build;
  struct ft_tf_program *program;
  struct ft_proto proto;
  int64_t integers[FT_GRAPH_VALUES];
  double reals[FT_GRAPH_VALUES];
};

static int add_text(struct reader *r, const struct ft_proto_field *f, const char ***list,
                    size_t *room, size_t *count)
{
  const char **grown = ft_build_grow(r->build, *list, room, *count, sizeof *grown);

  if (!grown)
    return -1;
  *list = grown;
  grown[*count] = ft_build_field(r->build, &r->proto, f);
  return grown[(*count)++] ? 0 : -1;
}

/* ---- shapes and tensors ---- */

unsigned ft_tf_element(int64_t type)
{
  static const uint8_t elements[] = { 0, 1, 11, 6, 2, 5, 3, 8, 14, 7, 9, 3, 2, 6, 16, 3, 2, 4,
                                      15, 10, 0, 0, 12, 13 };

  type = type > 100 ? type - 100 : type; /* references to such */
  return type > 0 && type < (int64_t)sizeof elements ? elements[type] : FT_ELEMENT_UNKNOWN;
}

/* A key of a map and its value: entries are messages of two fields. */
static int entry(struct reader *r, uint64_t end, const char **key, struct ft_proto_field *value)
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

static int dimension(struct reader *r, uint64_t end, int64_t *dim)
{
  struct ft_proto_field f = { 0 };
  int more;

  *dim = 0;
  while ((more = ft_proto_next(&r->proto, end, &f)) > 0)
    if (f.number == 1 && f.wire == FT_PROTO_VARINT)
      *dim = (int64_t)f.value;
  return more;
}

/* TensorShapeProto; without dimensions a scalar, unless it says that its rank is not known. */
static int shape(struct reader *r, uint64_t end, struct ft_declared *d)
{
  struct ft_proto_field f = { 0 };
  int64_t dims[FT_GRAPH_RANK];
  bool unknown = false;
  int more, rank = 0;

  while ((more = ft_proto_next(&r->proto, end, &f)) > 0) {
    unknown = unknown || (f.number == 3 && f.value);
    if (f.number != 2 || f.wire != FT_PROTO_BYTES)
      continue;
    if (rank == FT_GRAPH_RANK)
      return ft_proto_fail(&r->proto, f.at, "a shape of more than %d dimensions", FT_GRAPH_RANK);
    if (dimension(r, f.end, &dims[rank++]) < 0)
      return -1;
  }
  if (more < 0 || ft_build_shape(r->build, f.at, dims, rank, d) < 0)
    return -1;
  if (unknown)
    d->rank = -1;
  return 0;
}

/* Whole numbers in the machine's order, as tensor_content has them. */
static int content(struct reader *r, const struct ft_proto_field *f, const struct ft_declared *d,
                   size_t *count)
{
  unsigned bytes = ft_element_bits(d->element) / 8;
  uint8_t raw[8];

  if (!bytes || bytes > 8 || (ft_element_is_real(d->element) && d->elements > 64) ||
      d->elements > FT_GRAPH_VALUES || f->value < (uint64_t)d->elements * bytes)
    return 0;
  for (int64_t i = 0; i < d->elements; i++) {
    uint64_t bits = 0;
    float single;

    if (ft_proto_copy(&r->proto, f->end - f->value + (uint64_t)i * bytes, raw, bytes) < 0)
      return -1;
    for (unsigned j = bytes; j-- > 0;)
      bits = bits << 8 | raw[j];
    if (d->element == FT_ELEMENT_FLOAT) {
      uint32_t low = (uint32_t)bits;

      memcpy(&single, &low, sizeof single);
      r->reals[i] = (double)single;
    } else if (d->element == 11) {
      memcpy(&r->reals[i], &bits, sizeof r->reals[i]);
    } else {
      r->reals[i] = bytes == 4 ? (double)(int32_t)bits : (double)(int64_t)bits;
    }
  }
  *count = (size_t)d->elements;
  return 0;
}

/* TensorProto: its header, and its numbers where they are few. */
static int tensor(struct reader *r, uint64_t end, struct ft_declared **kept)
{
  struct ft_declared *d = ft_build_take(r->build, sizeof *d);
  struct ft_proto_field f = { 0 };
  size_t count = 0, integers = 0;
  bool written = false;
  int more, status = 0;
  double *values;

  if (!d)
    return -1;
  d->at = r->proto.at;
  while (status == 0 && (more = ft_proto_next(&r->proto, end, &f)) > 0) {
    written = written || f.number > 3;
    if (f.number == 1 && f.wire == FT_PROTO_VARINT)
      d->element = (uint8_t)ft_tf_element((int64_t)f.value);
    else if (f.number == 2 && f.wire == FT_PROTO_BYTES)
      status = shape(r, f.end, d);
    else if (f.number == 4 && f.wire == FT_PROTO_BYTES && d->dims)
      status = content(r, &f, d, &count);
    else if (f.number == 5)
      status = ft_proto_reals(&r->proto, &f, FT_PROTO_FIXED32, r->reals, FT_GRAPH_VALUES, &count);
    else if (f.number == 6)
      status = ft_proto_reals(&r->proto, &f, FT_PROTO_FIXED64, r->reals, FT_GRAPH_VALUES, &count);
    else if (f.number == 7 || f.number == 10 || f.number == 11)
      status = ft_proto_integers(&r->proto, &f, r->integers, FT_GRAPH_VALUES, &integers);
  }
  if (status < 0 || more < 0)
    return -1;
  if (!d->dims) {
    d->dims = ft_build_take(r->build, sizeof *d->dims);
    d->elements = 1;
  }
  for (size_t i = 0; i < integers && integers <= FT_GRAPH_VALUES; i++)
    r->reals[i] = (double)r->integers[i];
  count = integers ? integers : count;
  if (!written) /* zeros are left out */
    r->reals[count++] = 0;
  *kept = d;
  if (!d->dims || !count || count > FT_GRAPH_VALUES || d->elements > FT_GRAPH_VALUES)
    return d->dims ? 0 : -1;
  values = ft_build_take(r->build, (size_t)(d->elements + 1) * sizeof *values);
  if (!values)
    return -1;
  for (int64_t i = 0; i < d->elements; i++) /* the last one stands for the rest */
    values[i] = r->reals[(size_t)i < count ? (size_t)i : count - 1];
  d->values = values;
  return 0;
}

/* ---- nodes ---- */

static int keep_integers(struct reader *r, struct ft_tf_attribute *a, size_t count)
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

static int list_value(struct reader *r, uint64_t end, struct ft_tf_attribute *a)
{
  struct ft_proto_field f = { 0 };
  size_t count = 0;
  int more;

  while ((more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.number == 3 &&
        ft_proto_integers(&r->proto, &f, r->integers, FT_GRAPH_VALUES, &count) < 0)
      return -1;
    if (f.number == 7 && f.wire == FT_PROTO_BYTES && !a->shape) {
      a->shape = ft_build_take(r->build, sizeof *a->shape);
      if (!a->shape || shape(r, f.end, a->shape) < 0)
        return -1;
    }
  }
  return more < 0 ? -1 : keep_integers(r, a, count);
}

static int function_name(struct reader *r, uint64_t end, struct ft_tf_attribute *a)
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

/* AttrValue */
static int attribute_value(struct reader *r, uint64_t end, struct ft_tf_attribute *a)
{
  struct ft_proto_field f = { 0 };
  int more, status = 0;

  while (status == 0 && (more = ft_proto_next(&r->proto, end, &f)) > 0) {
    bool bytes = f.wire == FT_PROTO_BYTES;

    if (f.number == 1 && bytes)
      status = list_value(r, f.end, a);
    else if (f.number == 2 && bytes)
      status = (a->text = ft_build_field(r->build, &r->proto, &f)) ? 0 : -1;
    else if ((f.number == 3 || f.number == 5 || f.number == 6) && f.wire == FT_PROTO_VARINT)
      a->integer = (int64_t)f.value;
    else if (f.number == 7 && bytes) {
      a->shape = ft_build_take(r->build, sizeof *a->shape);
      status = a->shape ? shape(r, f.end, a->shape) : -1;
    } else if (f.number == 8 && bytes)
      status = tensor(r, f.end, &a->tensor);
    else if (f.number == 10 && bytes)
      status = function_name(r, f.end, a);
  }
  return status < 0 || more < 0 ? -1 : 0;
}

static int add_attribute(struct reader *r, uint64_t end, struct ft_tf_node *n)
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
  more = entry(r, end, &list->key, &value);
  if (more <= 0)
    return more;
  return attribute_value(r, value.end, list);
}

/* NodeDef */
static int add_node(struct reader *r, const struct ft_proto_field *field,
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
      status = add_text(r, &f, &n->inputs, &n->input_room, &n->input_count);
    else if (f.number == 5)
      status = add_attribute(r, f.end, n);
  }
  if (status < 0 || more < 0)
    return -1;
  if (!n->name[0] || !n->op[0])
    return ft_proto_fail(&r->proto, field->at, "a node without a name or operator: expected a "
                                               "TensorFlow graph");
  into->node_count++;
  return 0;
}

/* ---- functions ---- */

/* ArgDef: its name */
static int argument(struct reader *r, uint64_t end, const char ***list, size_t *room,
                    size_t *count)
{
  struct ft_proto_field f = { 0 };
  int more;

  while ((more = ft_proto_next(&r->proto, end, &f)) > 0)
    if (f.number == 1 && f.wire == FT_PROTO_BYTES && add_text(r, &f, list, room, count) < 0)
      return -1;
  return more;
}

/* OpDef */
static int signature(struct reader *r, uint64_t end, struct ft_tf_function *fn)
{
  struct ft_proto_field f = { 0 };
  int more, status = 0;

  while (status == 0 && (more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.wire != FT_PROTO_BYTES)
      continue;
    if (f.number == 1)
      status = (fn->name = ft_build_field(r->build, &r->proto, &f)) ? 0 : -1;
    else if (f.number == 2)
      status = argument(r, f.end, &fn->arguments, &fn->argument_room, &fn->argument_count);
    else if (f.number == 3)
      status = argument(r, f.end, &fn->outputs, &fn->output_room, &fn->output_count);
  }
  return status < 0 || more < 0 ? -1 : 0;
}

static int result(struct reader *r, uint64_t end, struct ft_tf_function *fn)
{
  struct ft_proto_field value;
  const char *key, *what;
  int more = entry(r, end, &key, &value);

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

/* FunctionDef; its signature comes first. */
static int function(struct reader *r, uint64_t end, struct ft_tf_function *fn)
{
  struct ft_proto_field f = { 0 };
  int more, status = 0;

  *fn = (struct ft_tf_function){ .name = "" };
  while (status == 0 && (more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.wire != FT_PROTO_BYTES)
      continue;
    if (f.number == 1)
      status = signature(r, f.end, fn);
    else if (f.number == 3)
      status = add_node(r, &f, fn);
    else if (f.number == 4)
      status = result(r, f.end, fn);
  }
  return status < 0 || more < 0 ? -1 : 0;
}

static int library(struct reader *r, uint64_t end)
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
    if (function(r, f.end, &list[p->function_count++]) < 0)
      return -1;
  }
  return more;
}

static int graph_def(struct reader *r, uint64_t end)
{
  struct ft_proto_field f = { 0 };
  int more, status = 0;

  while (status == 0 && (more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.number == 1 && f.wire == FT_PROTO_BYTES)
      status = add_node(r, &f, &r->program->graph);
    else if (f.number == 2 && f.wire == FT_PROTO_BYTES)
      status = library(r, f.end);
  }
  return status < 0 || more < 0 ? -1 : 0;
}

/* ---- saved models ---- */

/* TensorInfo: its name */
static int output_info(struct reader *r, uint64_t end)
{
  struct ft_tf_program *p = r->program;
  struct ft_proto_field value, f = { 0 };
  const char *key;
  int more = entry(r, end, &key, &value);

  if (more <= 0)
    return more;
  while ((more = ft_proto_next(&r->proto, value.end, &f)) > 0)
    if (f.number == 1 && f.wire == FT_PROTO_BYTES &&
        add_text(r, &f, &p->outputs, &p->output_room, &p->output_count) < 0)
      return -1;
  return more;
}

/* The signature that is served by default, else the first that gives something. */
static int signature_def(struct reader *r, uint64_t end)
{
  struct ft_proto_field value, f = { 0 };
  const char *key;
  bool wanted;
  int more = entry(r, end, &key, &value);

  if (more <= 0)
    return more;
  wanted = strcmp(key, "serving_default") == 0;
  if (key[0] == '_' || r->program->signed_for || (r->program->output_count && !wanted))
    return 0;
  r->program->output_count = 0;
  r->program->signed_for = wanted;
  while ((more = ft_proto_next(&r->proto, value.end, &f)) > 0)
    if (f.number == 2 && f.wire == FT_PROTO_BYTES && output_info(r, f.end) < 0)
      return -1;
  return more;
}

/* SavedVariable: whether it is learnt, and its name */
static int variable(struct reader *r, uint64_t end)
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
  return !learnt && name[0] && ft_names_put(&r->program->settled, name, r->program) < 0
             ? ft_build_exhausted(r->build)
             : 0;
}

/* SavedObjectGraph: of its objects the variables */
static int objects(struct reader *r, uint64_t end)
{
  struct ft_proto_field f = { 0 }, o;
  int more, inner;

  while ((more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.number != 1 || f.wire != FT_PROTO_BYTES)
      continue;
    o = (struct ft_proto_field){ 0 };
    while ((inner = ft_proto_next(&r->proto, f.end, &o)) > 0)
      if (o.number == 7 && o.wire == FT_PROTO_BYTES && variable(r, o.end) < 0)
        return -1;
    if (inner < 0)
      return -1;
  }
  return more;
}

static int meta_graph(struct reader *r, uint64_t end)
{
  struct ft_proto_field f = { 0 };
  int more, status = 0;

  while (status == 0 && (more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.wire != FT_PROTO_BYTES)
      continue;
    if (f.number == 2)
      status = graph_def(r, f.end);
    else if (f.number == 5)
      status = signature_def(r, f.end);
    else if (f.number == 7)
      status = objects(r, f.end);
  }
  return status < 0 || more < 0 ? -1 : 0;
}

static int index_nodes(struct reader *r, struct ft_tf_function *fn)
{
  fn->by_name.arena = &r->build->graph->arena;
  for (size_t i = 0; i < fn->node_count; i++) {
    if (ft_names_get(&fn->by_name, fn->nodes[i].name))
      return ft_proto_fail(&r->proto, fn->nodes[i].at, "a second node called \"%.100s\"",
                           fn->nodes[i].name);
    if (ft_names_put(&fn->by_name, fn->nodes[i].name, &fn->nodes[i]) < 0)
      return ft_build_exhausted(r->build);
  }
  return 0;
}

int ft_tensorflow_read(struct ft_build *build, int fd, bool saved_model)
{
  struct reader *r = ft_arena_take(&build->arena, sizeof *r);
  struct ft_tf_program *p = ft_arena_take(&build->graph->arena, sizeof *p);
  struct ft_proto_field f = { 0 };
  bool found = false;
  int more = 0;

  if (!r || !p)
    return ft_build_exhausted(build);
  r->build = build;
  r->program = p;
  p->saved_model = saved_model;
  p->by_name.arena = p->settled.arena = &build->graph->arena;
  if (ft_proto_init(&r->proto, fd, build->graph->file, build->err) < 0)
    return -1;
  if (!saved_model && graph_def(r, r->proto.size) < 0)
    return -1;
  while (saved_model && !found && (more = ft_proto_next(&r->proto, r->proto.size, &f)) > 0)
    if (f.number == 2 && f.wire == FT_PROTO_BYTES) {
      found = true; /* further ones are for other devices */
      if (meta_graph(r, f.end) < 0)
        return -1;
    }
  if (more < 0 || index_nodes(r, &p->graph) < 0)
    return -1;
  for (size_t i = 0; i < p->function_count; i++)
    if (index_nodes(r, &p->functions[i]) < 0)
      return -1;
    else if (ft_names_put(&p->by_name, p->functions[i].name, &p->functions[i]) < 0)
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
