/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a PaddlePaddle ProgramDesc: blocks of variables and operators. */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/paddle/paddle.h"
#include "predictor/graph/import/protobuf.h"

struct reader {
  struct ft_build *build;
  struct ft_pd_program *program;
  struct ft_proto proto;
  int64_t integers[FT_GRAPH_VALUES];
  double reals[FT_GRAPH_VALUES];
};

/* ---- variables ---- */

/* Reads a TensorDesc up to END into D. */
static int read_tensor_desc(struct reader *r, uint64_t end, struct ft_declared *d)
{
  struct ft_proto_field f = { 0 };
  size_t rank = 0;
  int more;

  while ((more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.number == 1 && f.wire == FT_PROTO_VARINT)
      d->element = (uint8_t)ft_pd_element((int64_t)f.value);
    else if (f.number == 2 &&
             ft_proto_integers(&r->proto, &f, r->integers, FT_GRAPH_RANK, &rank) < 0)
      return -1;
  }
  if (more < 0)
    return -1;
  if (rank > FT_GRAPH_RANK)
    return ft_proto_fail(&r->proto, end, "a shape of more than %d dimensions", FT_GRAPH_RANK);
  return ft_build_shape(r->build, end, r->integers, (int)rank, d);
}

/* Reads a VarType up to END into V; field 3, a dense tensor, has a TensorDesc in field 1. */
static int read_var_type(struct reader *r, uint64_t end, struct ft_pd_variable *v)
{
  struct ft_proto_field f = { 0 }, t;
  int more, inner;

  while ((more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.number == 1 && f.wire == FT_PROTO_VARINT)
      v->kind = (int64_t)f.value;
    if (f.number != 3 || f.wire != FT_PROTO_BYTES)
      continue;
    t = (struct ft_proto_field){ 0 };
    while ((inner = ft_proto_next(&r->proto, f.end, &t)) > 0)
      if (t.number == 1 && t.wire == FT_PROTO_BYTES && read_tensor_desc(r, t.end, &v->declared) < 0)
        return -1;
    if (inner < 0)
      return -1;
  }
  return more;
}

static int read_pd_variable(struct reader *r, const struct ft_proto_field *field,
                            struct ft_pd_block *b)
{
  struct ft_pd_variable *list =
      ft_build_grow(r->build, b->variables, &b->variable_room, b->variable_count, sizeof *list);
  struct ft_proto_field f = { 0 };
  struct ft_pd_variable *v;
  int more, status = 0;

  if (!list)
    return -1;
  b->variables = list;
  v = &list[b->variable_count++];
  *v = (struct ft_pd_variable){ .name = "", .declared = { .rank = -1, .at = field->at } };
  while (status == 0 && (more = ft_proto_next(&r->proto, field->end, &f)) > 0) {
    if (f.number == 1 && f.wire == FT_PROTO_BYTES)
      status = (v->name = ft_build_field(r->build, &r->proto, &f)) ? 0 : -1;
    else if (f.number == 2 && f.wire == FT_PROTO_BYTES)
      status = read_var_type(r, f.end, v);
    else if (f.number == 3 && f.wire == FT_PROTO_VARINT)
      v->persistable = f.value != 0;
  }
  return status < 0 || more < 0 ? -1 : 0;
}

/* ---- operators ---- */

/* Reads an OpDesc.Var, a slot and the names of its variables, and appends it to SLOTS. */
static int read_slot(struct reader *r, uint64_t end, struct ft_pd_slot **slots, size_t *room,
                     size_t *count)
{
  struct ft_pd_slot *list = ft_build_grow(r->build, *slots, room, *count, sizeof *list), *s;
  struct ft_proto_field f = { 0 };
  int more;

  if (!list)
    return -1;
  *slots = list;
  s = &list[(*count)++];
  *s = (struct ft_pd_slot){ .name = "" };
  while ((more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.wire != FT_PROTO_BYTES)
      continue;
    if (f.number == 1) {
      s->name = ft_build_field(r->build, &r->proto, &f);
      if (!s->name)
        return -1;
    } else if (f.number == 2) {
      const char **names = ft_build_grow(r->build, s->variables, &s->room, s->count, sizeof *names);

      if (!names)
        return -1;
      s->variables = names;
      names[s->count] = ft_build_field(r->build, &r->proto, &f);
      if (!names[s->count++])
        return -1;
    }
  }
  return more;
}

static int read_operator_attribute(struct reader *r, uint64_t end, struct ft_pd_operator *op)
{
  struct ft_pd_attribute *list = ft_build_grow(r->build, op->attributes, &op->attribute_room,
                                               op->attribute_count, sizeof *list);
  struct ft_proto_field f = { 0 };
  size_t integers = 0, reals = 0;
  struct ft_pd_attribute *a;
  int more, status = 0;

  if (!list)
    return -1;
  op->attributes = list;
  a = &list[op->attribute_count++];
  *a = (struct ft_pd_attribute){ .name = "", .text = "" };
  while (status == 0 && (more = ft_proto_next(&r->proto, end, &f)) > 0) {
    bool bytes = f.wire == FT_PROTO_BYTES;

    if (f.number == 1 && bytes)
      status = (a->name = ft_build_field(r->build, &r->proto, &f)) ? 0 : -1;
    else if ((f.number == 3 || f.number == 10 || f.number == 12 || f.number == 13) && !bytes)
      a->integer = f.number == 3 ? (int64_t)(int32_t)f.value : (int64_t)f.value;
    else if (f.number == 4 && f.wire == FT_PROTO_FIXED32)
      status = ft_proto_reals(&r->proto, &f, FT_PROTO_FIXED32, &a->real, 1, &(size_t){ 0 });
    else if (f.number == 5 && bytes)
      status = (a->text = ft_build_field(r->build, &r->proto, &f)) ? 0 : -1;
    else if (f.number == 6 || f.number == 15)
      status = ft_proto_integers(&r->proto, &f, r->integers, FT_GRAPH_VALUES, &integers);
    else if (f.number == 7)
      status = ft_proto_reals(&r->proto, &f, FT_PROTO_FIXED32, r->reals, FT_GRAPH_VALUES, &reals);
  }
  if (status < 0 || more < 0)
    return -1;
  if (integers && integers <= FT_GRAPH_VALUES) {
    a->integers = ft_build_keep(r->build, r->integers, integers * sizeof *a->integers);
    a->count = integers;
    return a->integers ? 0 : -1;
  }
  if (reals && reals <= FT_GRAPH_VALUES) {
    a->reals = ft_build_keep(r->build, r->reals, reals * sizeof *a->reals);
    a->count = reals;
    return a->reals ? 0 : -1;
  }
  return 0;
}

static int read_operator(struct reader *r, const struct ft_proto_field *field,
                         struct ft_pd_block *b)
{
  struct ft_pd_operator *list =
      ft_build_grow(r->build, b->operators, &b->operator_room, b->operator_count, sizeof *list);
  struct ft_proto_field f = { 0 };
  struct ft_pd_operator *op;
  int more, status = 0;

  if (!list)
    return -1;
  b->operators = list;
  op = &list[b->operator_count++];
  *op = (struct ft_pd_operator){ .type = "", .at = field->at };
  while (status == 0 && (more = ft_proto_next(&r->proto, field->end, &f)) > 0) {
    if (f.wire != FT_PROTO_BYTES)
      continue;
    if (f.number == 1)
      status = read_slot(r, f.end, &op->inputs, &op->input_room, &op->input_count);
    else if (f.number == 2)
      status = read_slot(r, f.end, &op->outputs, &op->output_room, &op->output_count);
    else if (f.number == 3)
      status = (op->type = ft_build_field(r->build, &r->proto, &f)) ? 0 : -1;
    else if (f.number == 4)
      status = read_operator_attribute(r, f.end, op);
  }
  if (status < 0 || more < 0)
    return -1;
  return op->type[0] ? 0
                     : ft_proto_fail(&r->proto, field->at,
                                     "an operator without a type: expected a "
                                     "PaddlePaddle program");
}

static int read_program_block(struct reader *r, uint64_t end)
{
  struct ft_pd_program *p = r->program;
  struct ft_pd_block *list = ft_build_grow(r->build, p->blocks, &p->room, p->count, sizeof *list),
                     *b;
  struct ft_proto_field f = { 0 };
  int more, status = 0;

  if (!list)
    return -1;
  p->blocks = list;
  b = &list[p->count++];
  *b = (struct ft_pd_block){ 0 };
  while (status == 0 && (more = ft_proto_next(&r->proto, end, &f)) > 0) {
    if (f.number == 3 && f.wire == FT_PROTO_BYTES)
      status = read_pd_variable(r, &f, b);
    else if (f.number == 4 && f.wire == FT_PROTO_BYTES)
      status = read_operator(r, &f, b);
  }
  return status < 0 || more < 0 ? -1 : 0;
}

void ft_paddle_keep(struct ft_build *build, struct ft_pd_program *program)
{
  build->graph->format = "paddle";
  build->graph->producer = "paddlepaddle";
  build->graph->program = program;
  build->graph->expand = ft_paddle_run;
}

int ft_paddle_read(struct ft_build *build, int fd)
{
  struct reader *r = ft_arena_take(&build->arena, sizeof *r);
  struct ft_pd_program *p = ft_arena_take(&build->graph->arena, sizeof *p);
  struct ft_proto_field f = { 0 };
  int more;

  if (!r || !p)
    return ft_build_exhausted(build);
  r->build = build;
  r->program = p;
  if (ft_proto_init(&r->proto, fd, build->graph->file, build->err) < 0)
    return -1;
  while ((more = ft_proto_next(&r->proto, r->proto.size, &f)) > 0)
    if (f.number == 1 && f.wire == FT_PROTO_BYTES && read_program_block(r, f.end) < 0)
      return -1;
  if (more < 0)
    return -1;
  if (!p->count || !p->blocks[0].operator_count)
    return ft_error_set(build->err,
                        "%s: byte 0: expected a PaddlePaddle program, found no "
                        "operator in it",
                        build->graph->file);
  ft_paddle_keep(build, p);
  return 0;
}
