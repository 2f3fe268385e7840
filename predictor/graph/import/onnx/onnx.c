/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads an ONNX ModelProto: graphs, operators, attributes, value types. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/core/text.h"
#include "predictor/graph/import/onnx/onnx.h"
#include "predictor/graph/import/onnx/onnx_function.h"
#include "predictor/graph/import/onnx/onnx_metadata.h"
#include "predictor/graph/import/onnx/onnx_tensor.h"
#include "predictor/graph/import/onnx/onnx_ties.h"

/* Names in a repeated field. */
struct name_list {
  uint32_t *names;
  size_t count, room;
};

static int take_name(struct ft_onnx *o, const struct ft_proto_field *f, uint32_t *name)
{
  if (ft_onnx_string(o, f) < 0)
    return -1;
  *name = ft_build_name(o->build, o->text, (size_t)f->value);
  return *name == UINT32_MAX ? -1 : 0;
}

static int append_name(struct ft_onnx *o, const struct ft_proto_field *f, struct name_list *list)
{
  uint32_t *names = ft_build_grow(o->build, list->names, &list->room, list->count, sizeof *names);

  if (!names)
    return -1;
  list->names = names;
  if (take_name(o, f, &names[list->count]) < 0)
    return -1;
  list->count++;
  return 0;
}

static int take_text(struct ft_onnx *o, const struct ft_proto_field *f, const char **text)
{
  uint32_t name;

  if (take_name(o, f, &name) < 0)
    return -1;
  *text = ft_build_text(o->build, name);
  return 0;
}

/* ---- shapes ---- */

static int read_onnx_dimension(struct ft_onnx *o, uint64_t end, ft_dim *dim, const char **symbol)
{
  struct ft_proto_field f = { 0 };
  int more;

  *dim = FT_DIM_UNKNOWN;
  while ((more = ft_proto_next(&o->proto, end, &f)) > 0) {
    if (f.number == 1 && f.wire == FT_PROTO_VARINT) {
      if ((int64_t)f.value > FT_GRAPH_DIMENSION)
        return ft_proto_fail(&o->proto, f.at, "a dimension of %lld: expected at most 2^40",
                             (long long)f.value);
      /* exporters write 0 or less for an unknown size */
      *dim = (int64_t)f.value > 0 ? ft_dim_of((int64_t)f.value) : FT_DIM_UNKNOWN;
    } else if (f.number == 2 && f.wire == FT_PROTO_BYTES && take_text(o, &f, symbol) < 0) {
      return -1;
    }
  }
  return more;
}

static int read_shape(struct ft_onnx *o, uint64_t end, struct ft_declared *d)
{
  ft_dim dims[FT_GRAPH_RANK];
  const char *symbols[FT_GRAPH_RANK] = { 0 };
  struct ft_proto_field f = { 0 };
  int more, rank = 0;

  while ((more = ft_proto_next(&o->proto, end, &f)) > 0) {
    if (f.number != 1 || f.wire != FT_PROTO_BYTES)
      continue;
    if (rank == FT_GRAPH_RANK)
      return ft_proto_fail(&o->proto, f.at, "a shape of more than %d dimensions", FT_GRAPH_RANK);
    if (read_onnx_dimension(o, f.end, &dims[rank], &symbols[rank]) < 0)
      return -1;
    rank++;
  }
  if (more < 0)
    return -1;
  d->dims = ft_build_take(o->build, (size_t)(rank + 1) * sizeof *dims);
  d->symbols = ft_build_take(o->build, (size_t)(rank + 1) * sizeof *symbols);
  if (!d->dims || !d->symbols)
    return -1;
  memcpy(d->dims, dims, (size_t)rank * sizeof *dims);
  memcpy(d->symbols, symbols, (size_t)rank * sizeof *symbols);
  d->rank = rank;
  return 0;
}

/* TypeProto; sequences, maps and optionals are not tracked. */
static int read_type(struct ft_onnx *o, uint64_t end, struct ft_declared *d)
{
  struct ft_proto_field f = { 0 }, t;
  int more, within;

  while ((more = ft_proto_next(&o->proto, end, &f)) > 0) {
    if (f.number != 1 || f.wire != FT_PROTO_BYTES)
      continue;
    t = (struct ft_proto_field){ 0 };
    while ((within = ft_proto_next(&o->proto, f.end, &t)) > 0) {
      if (t.number == 1 && t.wire == FT_PROTO_VARINT)
        d->element = t.value <= FT_ELEMENT_LAST ? (uint8_t)t.value : FT_ELEMENT_UNKNOWN;
      else if (t.number == 2 && t.wire == FT_PROTO_BYTES && read_shape(o, t.end, d) < 0)
        return -1;
    }
    if (within < 0)
      return -1;
  }
  return more;
}

static int read_value_info(struct ft_onnx *o, uint64_t end, struct ft_named *named)
{
  struct ft_declared *d = ft_build_take(o->build, sizeof *d);
  struct ft_proto_field f = { 0 };
  int more;

  if (!d)
    return -1;
  d->rank = -1;
  d->at = o->proto.at;
  *named = (struct ft_named){ .declared = d };
  while ((more = ft_proto_next(&o->proto, end, &f)) > 0) {
    if (f.number == 1 && f.wire == FT_PROTO_BYTES && take_name(o, &f, &named->name) < 0)
      return -1;
    if (f.number == 2 && f.wire == FT_PROTO_BYTES && read_type(o, f.end, d) < 0)
      return -1;
    if (f.number == 4 && f.wire == FT_PROTO_BYTES &&
        ft_onnx_value_metadata(o, f.end, named->name) < 0)
      return -1;
  }
  return more;
}

/* ---- operators ---- */

static int read_onnx_graph(struct ft_onnx *o, uint64_t end, struct ft_block *block);

static int read_subgraph(struct ft_onnx *o, uint64_t end, struct ft_attribute *a)
{
  int status;

  if (o->depth == FT_GRAPH_DEPTH)
    return ft_proto_fail(&o->proto, o->proto.at, "graphs nested more than %d deep", FT_GRAPH_DEPTH);
  a->block = ft_build_take(o->build, sizeof *a->block);
  if (!a->block)
    return -1;
  o->depth++;
  status = read_onnx_graph(o, end, a->block);
  o->depth--;
  return status;
}

/* AttributeProto.AttributeType, if the field that it names is present or empty. */
static enum ft_attribute_type attribute_type(uint64_t type)
{
  static const uint8_t types[] = {
    FT_ATTRIBUTE_NONE,   FT_ATTRIBUTE_REAL,     FT_ATTRIBUTE_INTEGER,
    FT_ATTRIBUTE_STRING, FT_ATTRIBUTE_NONE,     FT_ATTRIBUTE_NONE,
    FT_ATTRIBUTE_REALS,  FT_ATTRIBUTE_INTEGERS, FT_ATTRIBUTE_STRINGS
  };

  return type < sizeof types ? types[type] : FT_ATTRIBUTE_NONE;
}

static int read_onnx_attribute(struct ft_onnx *o, uint64_t end, struct ft_attribute *a)
{
  struct ft_proto_field f = { 0 };
  size_t integers = 0, reals = 0, strings = 0;
  int more, status = 0;

  *a = (struct ft_attribute){ .name = "", .string = "" };
  while (status == 0 && (more = ft_proto_next(&o->proto, end, &f)) > 0) {
    bool bytes = f.wire == FT_PROTO_BYTES;

    if (f.number == 1 && bytes)
      status = take_text(o, &f, &a->name);
    else if (f.number == 2 && f.wire == FT_PROTO_FIXED32)
      status = ft_proto_reals(&o->proto, &f, FT_PROTO_FIXED32, &a->real, 1, &(size_t){ 0 });
    else if (f.number == 3 && f.wire == FT_PROTO_VARINT)
      a->integer = (int64_t)f.value;
    else if (f.number == 4 && bytes && f.value <= FT_GRAPH_NAME)
      status = take_text(o, &f, &a->string);
    else if (f.number == 5 && bytes) {
      a->type = FT_ATTRIBUTE_TENSOR;
      status = ft_onnx_tensor(o, f.end, &a->tensor, NULL);
    } else if (f.number == 6 && bytes) {
      if (a->block)
        return ft_proto_fail(&o->proto, f.at, "expected one graph in an attribute");
      a->type = FT_ATTRIBUTE_BLOCK;
      status = read_subgraph(o, f.end, a);
    } else if (f.number == 7)
      status = ft_proto_reals(&o->proto, &f, FT_PROTO_FIXED32, o->reals, FT_GRAPH_VALUES, &reals);
    else if (f.number == 8)
      status = ft_proto_integers(&o->proto, &f, o->integers, FT_GRAPH_VALUES, &integers);
    else if (f.number == 9 && bytes)
      strings++;
    else if (f.number == 20 && f.wire == FT_PROTO_VARINT && a->type == FT_ATTRIBUTE_NONE)
      a->type = attribute_type(f.value);
    else if (f.number == 21 && bytes)
      status = take_text(o, &f, &a->reference);
  }
  if (status < 0 || more < 0)
    return -1;
  if (integers && integers <= FT_GRAPH_VALUES) {
    a->type = FT_ATTRIBUTE_INTEGERS;
    a->integers = ft_build_keep(o->build, o->integers, integers * sizeof *o->integers);
    a->count = integers;
    return a->integers ? 0 : -1;
  }
  if (reals && reals <= FT_GRAPH_VALUES) {
    a->type = FT_ATTRIBUTE_REALS;
    a->reals = ft_build_keep(o->build, o->reals, reals * sizeof *o->reals);
    a->count = reals;
    return a->reals ? 0 : -1;
  }
  if (strings && (a->type == FT_ATTRIBUTE_NONE || a->type == FT_ATTRIBUTE_STRINGS)) {
    a->type = FT_ATTRIBUTE_STRINGS;
    a->count = strings;
  }
  return 0;
}

static int append_attribute(struct ft_onnx *o, uint64_t end, struct ft_operator *op, size_t *room)
{
  struct ft_attribute *attributes =
      ft_build_grow(o->build, op->attributes, room, op->attribute_count, sizeof *attributes);

  if (!attributes)
    return -1;
  op->attributes = attributes;
  return read_onnx_attribute(o, end, &attributes[op->attribute_count++]);
}

/*
 * Whether BIAS, of a convolution, is a name that exporters give to the bias of a folded
 * normalisation: "conv1.weight_bias" (PyTorch's torch.export), "onnx::Conv_498" (its TorchScript),
 * "498" (before PyTorch 1.12), "ConvBnFusion_BN_B_..." (ONNX Runtime). Others keep the module's.
 */
static bool is_folded_bias(const char *bias)
{
  return ft_string_ends(bias, ".weight_bias") || strncmp(bias, "onnx::Conv", 10) == 0 ||
         strncmp(bias, "ConvBnFusion_BN_B_", 18) == 0 ||
         (bias[0] && strspn(bias, "0123456789") == strlen(bias));
}

static int read_onnx_node(struct ft_onnx *o, const struct ft_proto_field *node,
                          struct ft_operator *op)
{
  struct name_list inputs = { 0 }, outputs = { 0 };
  struct ft_proto_field f = { 0 };
  struct ft_onnx_origin origin = { 0 };
  size_t attributes = 0;
  int more, status = 0;

  *op =
      (struct ft_operator){ .name = "", .type = "", .domain = "", .at = node->at, .trip_count = 1 };
  while (status == 0 && (more = ft_proto_next(&o->proto, node->end, &f)) > 0) {
    if (f.wire != FT_PROTO_BYTES)
      continue;
    if (f.number == 1)
      status = append_name(o, &f, &inputs);
    else if (f.number == 2)
      status = append_name(o, &f, &outputs);
    else if (f.number == 3)
      status = take_text(o, &f, &op->name);
    else if (f.number == 4)
      status = take_text(o, &f, &op->type);
    else if (f.number == 5)
      status = append_attribute(o, f.end, op, &attributes);
    else if (f.number == 7)
      status = take_text(o, &f, &op->domain);
    else if (f.number == 9)
      status = ft_onnx_node_metadata(o, f.end, &origin);
  }
  if (status < 0 || more < 0)
    return -1;
  if (!op->type[0])
    return ft_proto_fail(&o->proto, node->at, "an operator without a type: not an ONNX model");
  if (strcmp(op->domain, "ai.onnx") == 0)
    op->domain = "";
  op->inputs = inputs.names;
  op->outputs = outputs.names;
  op->input_count = (uint32_t)inputs.count;
  op->output_count = (uint32_t)outputs.count;
  if (strcmp(op->type, "Conv") == 0 || strcmp(op->type, "ConvTranspose") == 0)
    op->folded_norm =
        origin.folded_norm ||
        (op->input_count > 2 && is_folded_bias(ft_build_text(o->build, op->inputs[2])));
  ft_onnx_set_origin(op, &origin);
  return 0;
}

/* ---- graphs ---- */

static int append_onnx_operator(struct ft_onnx *o, const struct ft_proto_field *f,
                                struct ft_draft *draft)
{
  struct ft_operator *ops = ft_build_grow(o->build, draft->operators, &draft->operator_room,
                                          draft->operator_count, sizeof *ops);

  if (!ops)
    return -1;
  draft->operators = ops;
  return read_onnx_node(o, f, &ops[draft->operator_count++]);
}

/* Appends an entry to LIST; NULL if memory is exhausted. */
static struct ft_named *append_named(struct ft_onnx *o, struct ft_named **list, size_t *room,
                                     size_t *count)
{
  struct ft_named *grown = ft_arena_grow(&o->build->arena, *list, room, *count, sizeof *grown);

  if (!grown) {
    (void)ft_build_exhausted(o->build);
    return NULL;
  }
  *list = grown;
  grown[*count] = (struct ft_named){ 0 };
  return &grown[(*count)++];
}

static int read_constant(struct ft_onnx *o, uint64_t end, struct ft_draft *draft)
{
  const struct ft_declared *declared = NULL;
  struct ft_named *added =
      append_named(o, &draft->constants, &draft->constant_room, &draft->constant_count);

  if (!added || ft_onnx_tensor(o, end, &declared, &added->name) < 0)
    return -1;
  added->declared = o->tensor;
  return ft_onnx_note_matrix(o, added->name);
}

static int read_sparse(struct ft_onnx *o, uint64_t end, struct ft_draft *draft)
{
  struct ft_proto_field f = { 0 };
  int more;

  /* its values are trainable; indices and dense size are not counted */
  while ((more = ft_proto_next(&o->proto, end, &f)) > 0)
    if (f.number == 1 && f.wire == FT_PROTO_BYTES && read_constant(o, f.end, draft) < 0)
      return -1;
  return more;
}

static int read_info(struct ft_onnx *o, uint64_t end, struct ft_named **list, size_t *room,
                     size_t *count)
{
  struct ft_named *added = append_named(o, list, room, count);

  return added ? read_value_info(o, end, added) : -1;
}

static int read_onnx_graph(struct ft_onnx *o, uint64_t end, struct ft_block *block)
{
  struct ft_proto_field f = { 0 };
  struct ft_draft d = { 0 };
  struct ft_named *info;
  int more, status = 0;

  while (status == 0 && (more = ft_proto_next(&o->proto, end, &f)) > 0) {
    if (f.wire != FT_PROTO_BYTES)
      continue;
    if (f.number == 1)
      status = append_onnx_operator(o, &f, &d);
    else if (f.number == 5)
      status = read_constant(o, f.end, &d);
    else if (f.number == 11)
      status = read_info(o, f.end, &d.inputs, &d.input_room, &d.input_count);
    else if (f.number == 12) {
      status = read_info(o, f.end, &d.outputs, &d.output_room, &d.output_count);
      info = status == 0 ? append_named(o, &d.infos, &d.info_room, &d.info_count) : NULL;
      if (!info)
        return -1;
      *info = d.outputs[d.output_count - 1];
    } else if (f.number == 13)
      status = read_info(o, f.end, &d.infos, &d.info_room, &d.info_count);
    else if (f.number == 15)
      status = read_sparse(o, f.end, &d);
    else if (f.number == 16 && !o->depth)
      status = ft_onnx_graph_metadata(o, f.end);
  }
  if (status < 0 || more < 0 ||
      (!o->depth && (ft_onnx_mark_sources(o, &d) < 0 || ft_onnx_tie_matrices(o, &d) < 0)))
    return -1;
  return ft_build_block(o->build, block, &d);
}

static int read_operator_set(struct ft_onnx *o, uint64_t end)
{
  struct ft_proto_field f = { 0 };
  const char *domain = "";
  uint64_t version = 0;
  int more;

  while ((more = ft_proto_next(&o->proto, end, &f)) > 0) {
    if (f.number == 1 && f.wire == FT_PROTO_BYTES && take_text(o, &f, &domain) < 0)
      return -1;
    if (f.number == 2 && f.wire == FT_PROTO_VARINT)
      version = f.value;
  }
  if (!domain[0] || strcmp(domain, "ai.onnx") == 0)
    o->build->graph->version = version < 1 << 30 ? (int64_t)version : 0;
  return more;
}

/* FunctionProto */
static int read_onnx_function(struct ft_onnx *o, uint64_t end, struct ft_onnx_function *fn)
{
  struct ft_arena *arena = &o->build->graph->arena;
  struct name_list inputs = { 0 }, outputs = { 0 };
  struct ft_proto_field f = { 0 };
  struct ft_operator holder = { 0 };
  int more, status = 0;

  *fn = (struct ft_onnx_function){ .name = "", .domain = "" };
  while (status == 0 && (more = ft_proto_next(&o->proto, end, &f)) > 0) {
    if (f.wire != FT_PROTO_BYTES)
      continue;
    if (f.number == 1)
      status = take_text(o, &f, &fn->name);
    else if (f.number == 10)
      status = take_text(o, &f, &fn->domain);
    else if (f.number == 4)
      status = append_name(o, &f, &inputs);
    else if (f.number == 5)
      status = append_name(o, &f, &outputs);
    else if (f.number == 11)
      status = append_attribute(o, f.end, &holder, &fn->attribute_room);
    else if (f.number == 7) {
      struct ft_operator *ops =
          ft_arena_grow(arena, fn->operators, &fn->operator_room, fn->operator_count, sizeof *ops);

      if (!ops)
        return ft_build_exhausted(o->build);
      fn->operators = ops;
      status = read_onnx_node(o, &f, &ops[fn->operator_count++]);
    }
  }
  fn->inputs = inputs.names;
  fn->input_count = inputs.count;
  fn->outputs = outputs.names;
  fn->output_count = outputs.count;
  fn->attributes = holder.attributes;
  fn->attribute_count = holder.attribute_count;
  return status < 0 || more < 0 ? -1 : 0;
}

int ft_onnx_read(struct ft_build *build, int fd, int dirfd)
{
  struct ft_onnx_function *functions = NULL;
  size_t function_count = 0, function_room = 0;
  struct ft_onnx *o = ft_arena_take(&build->arena, sizeof *o);
  struct ft_graph *g = build->graph;
  struct ft_proto_field f = { 0 };
  const char *producer_version = "";
  bool found = false;
  int more, status = 0;

  if (!o)
    return ft_build_exhausted(build);
  o->build = build;
  o->dirfd = dirfd;
  if (ft_proto_init(&o->proto, fd, g->file, build->err) < 0)
    return -1;
  g->format = "onnx";
  g->producer = "";
  while (status == 0 && (more = ft_proto_next(&o->proto, o->proto.size, &f)) > 0) {
    if (f.number == 2 && f.wire == FT_PROTO_BYTES)
      status = take_text(o, &f, &g->producer);
    else if (f.number == 3 && f.wire == FT_PROTO_BYTES)
      status = take_text(o, &f, &producer_version);
    else if (f.number == 8 && f.wire == FT_PROTO_BYTES)
      status = read_operator_set(o, f.end);
    else if (f.number == 25 && f.wire == FT_PROTO_BYTES) {
      functions = ft_arena_grow(&build->arena, functions, &function_room, function_count,
                                sizeof *functions);
      if (!functions)
        return ft_build_exhausted(build);
      status = read_onnx_function(o, f.end, &functions[function_count++]);
    } else if (f.number == 7 && f.wire == FT_PROTO_BYTES) {
      if (found)
        return ft_proto_fail(&o->proto, f.at, "a second graph: expected one");
      found = true;
      status = read_onnx_graph(o, f.end, &g->block);
    }
  }
  if (status < 0 || more < 0)
    return -1;
  if (!found || !g->block.operator_count)
    return ft_error_set(build->err, "%s: byte 0: expected an ONNX model, found no graph in it",
                        g->file);
  g->marks_attention = strcmp(g->producer, "pytorch") == 0 && producer_version[0] >= '2';
  return ft_onnx_inline(build, &g->block, functions, function_count);
}
