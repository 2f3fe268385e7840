/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs of PaddlePaddle 3 (paddle/fluid/pir/serialize_deserialize): JSON in which operators
 * number their operands. Each operator becomes its ProgramDesc equivalent (paddle_json_table.h),
 * so that paddle_run.c traces both formats. Constants that only set an attribute there become
 * attributes.
 */
#include "config.h"

#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/core/text.h"
#include "predictor/graph/import/paddle/paddle_json.h"
#include "predictor/graph/import/paddle/paddle_json_table.h"

/* ---- operands ---- */

static int convert_operator(struct ft_pir *r, const json_t *op);

const char *ft_pir_name(struct ft_pir *r, struct ft_pir_value *v)
{
  const json_t *made = v->made;
  size_t block = r->block;
  int status;

  if (v->name || !made)
    return v->name;
  v->made = NULL;
  r->block = v->block; /* the block that defines it, which all its users can access */
  status = convert_operator(r, made);
  r->block = block;
  return status < 0 ? NULL : v->name;
}

/* Sets LIST to the variables of operand ID. Returns their number, at least 1; -1 on error. */
static int operand_variables(struct ft_pir *r, json_int_t id, const char ***list)
{
  struct ft_pir_value *v = ft_pir_value(r, id);
  const char *name;

  if (!v)
    return id ? ft_pir_fail(r, "an operand that no operator defines") : 0;
  if (v->list) {
    *list = v->list;
    return (int)v->count;
  }
  name = ft_pir_name(r, v);
  *list = name ? ft_pir_name_list(r, name) : NULL;
  return *list ? 1 : -1;
}

/* Adds operand ID as SPEC says: "X" is a slot; "=axis" an attribute if the operand is constant;
 * "/Slot/List" after it, the slot for a tensor and the one for a list of tensors. */
static int add_operand(struct ft_pir *r, struct ft_pd_operator *op, struct ft_text spec,
                       json_int_t id)
{
  struct ft_pir_value *v = ft_pir_value(r, id);
  struct ft_text name;
  const char *slot, **variables = NULL;
  bool set = ft_text_skip(&spec, "=");
  int count;

  (void)ft_text_until(&spec, '/', &name);
  slot = ft_build_same(r->build, name.at, ft_text_left(&name));
  if (!slot)
    return -1;
  if (set && v && v->set.name)
    return ft_pir_add_attribute(r, op, slot, &v->set);
  if (set) {
    if (!ft_text_until(&spec, '/', &name))
      return 0;
    if (v && v->list && ft_text_left(&spec))
      (void)ft_text_until(&spec, '/', &name);
    slot = ft_build_same(r->build, name.at, ft_text_left(&name));
  }
  count = slot ? operand_variables(r, id, &variables) : -1;
  return count <= 0 ? count : ft_pir_add_input(r, op, slot, variables, (size_t)count);
}

/* Adds a result of type TYPE as one or more variables. */
static int add_result(struct ft_pir *r, struct ft_pd_operator *op, const char *slot,
                      const json_t *output)
{
  const json_t *type = json_object_get(output, "TT");
  bool many = strcmp(ft_pir_without_dialect(ft_graph_json_text(type, "#")), "t_vec") == 0;
  struct ft_pir_value *known = ft_pir_value(r, ft_pir_id(output)), *v;
  const char *name = ft_pir_number(r, ft_pir_id(output));
  size_t count = many ? json_array_size(json_object_get(type, "D")) : 1;

  v = known && !known->name && !known->list ? known : ft_pir_define(r, ft_pir_id(output), NULL);
  if (!v || !name || count > FT_GRAPH_VALUES)
    return v && name ? ft_pir_fail(r, "too many results") : -1;
  if (!many) {
    v->name = name;
    return ft_pir_add_output(r, op, slot, ft_pir_name_list(r, name), 1);
  }
  v->list = ft_build_take(r->build, (count + 1) * sizeof *v->list);
  for (size_t i = 0; v->list && i < count; i++) {
    char text[64];

    (void)snprintf(text, sizeof text, "%.40s.%zu", name, i);
    v->list[i] = ft_pir_intern(r, text);
    if (!v->list[i])
      return -1;
  }
  v->count = count;
  return v->list ? ft_pir_add_output(r, op, slot, v->list, count) : -1;
}

/* ---- dispatch ---- */

/* Adds the attributes of OP under their ProgramDesc names. */
static int add_attributes(struct ft_pir *r, const struct ft_pir_operator *known,
                          struct ft_pd_operator *made, const json_t *op)
{
  const json_t *list = json_object_get(op, "A"), *item;
  size_t i;

  json_array_foreach (list, i, item) {
    const char *name = ft_graph_json_text(item, "N");
    struct ft_text renamed = ft_text_from(known ? known->attributes : ""), one_name, old;
    struct ft_pd_attribute a;

    if (strcmp(name, "struct_name") == 0)
      continue;
    name = ft_pir_intern(r, name);
    if (!name || ft_pir_read_attribute(r, json_object_get(item, "AT"), &a) < 0)
      return -1;
    while (ft_text_until(&renamed, ',', &one_name))
      if (ft_text_until(&one_name, '=', &old) && ft_text_equals(old, name)) {
        name = ft_build_same(r->build, one_name.at, ft_text_left(&one_name));
        break;
      }
    if (!name || ft_pir_add_attribute(r, made, name, &a) < 0)
      return -1;
  }
  return 0;
}

/* Converts an operator by the table, or under its own name with inputs X and outputs Out. */
static int convert_operator(struct ft_pir *r, const json_t *op)
{
  const char *name = ft_pir_without_dialect(ft_graph_json_text(op, "#"));
  const struct ft_pir_operator *known = ft_pir_find(name);
  struct ft_text in = ft_text_from(known ? known->in : "X"), out, place;
  const json_t *operands = json_object_get(op, "I"), *outputs = json_object_get(op, "O"), *item;
  struct ft_pd_operator made = { .type = ft_pir_intern(r, known ? known->type : name),
                                 .at = r->at },
                        *kept;
  size_t i;

  out = ft_text_from(known ? known->out : "Out");
  if (!made.type || add_attributes(r, known, &made, op) < 0)
    return -1;
  json_array_foreach (operands, i, item) {
    if (!ft_text_until(&in, ',', &place)) {
      if (known)
        break;
      place = ft_text_from("X"); /* all operands of an unknown operator are inputs */
    }
    if (add_operand(r, &made, place, ft_pir_id(item)) < 0)
      return -1;
  }
  json_array_foreach (outputs, i, item) {
    const char *slot;

    if (!ft_text_until(&out, ',', &place))
      place = ft_text_from(known ? "Other" : "Out");
    slot = ft_build_same(r->build, place.at, ft_text_left(&place));
    if (!slot || add_result(r, &made, slot, item) < 0)
      return -1;
  }
  kept = ft_pir_add_operator(r, made.type);
  if (!kept)
    return -1;
  *kept = made;
  return 0;
}

static int convert_one(struct ft_pir *r, const json_t *op)
{
  const char *whole = ft_graph_json_text(op, "#"), *name = ft_pir_without_dialect(whole);
  bool built_in = strncmp(whole, "0.", 2) == 0;

  if (strcmp(whole, "p") == 0)
    return ft_pir_parameter(r, op);
  if (strcmp(name, "data") == 0)
    return ft_pir_input(r, op);
  if (strcmp(name, "full") == 0 || strcmp(name, "full_int_array") == 0)
    return ft_pir_constant(r, op);
  if (built_in && strcmp(name, "combine") == 0)
    return ft_pir_combine(r, op);
  if (built_in && (strcmp(name, "split") == 0 || strcmp(name, "slice") == 0))
    return ft_pir_split(r, op);
  if (strcmp(name, "yield") == 0)
    return 0;
  if ((strcmp(name, "if") == 0 || strcmp(name, "while") == 0) && json_object_get(op, "regions"))
    return ft_pir_control(r, op, name[0] == 'w');
  return name[0] ? convert_operator(r, op) : ft_pir_fail(r, "an operator without a name");
}

int ft_pir_convert_all(struct ft_pir *r, const json_t *ops)
{
  const json_t *op;
  size_t i;

  json_array_foreach (ops, i, op) {
    r->op = op;
    r->at++;
    if (convert_one(r, op) < 0)
      return r->build->err->text[0] ? -1 : ft_pir_fail(r, "unsupported");
  }
  return 0;
}

bool ft_paddle_is_json(const char *head, size_t length)
{
  return memmem(head, length, "\"magic\"", 7) && memmem(head, length, "\"pir\"", 5);
}

int ft_paddle_read_json(struct ft_build *build, int fd)
{
  json_t *root = ft_graph_json_read(build, fd, FT_LIMIT_ARCHIVE);
  struct ft_pir r = { .build = build };
  const json_t *region, *ops;
  int status = -1;

  if (!root)
    return -1;
  region = json_array_get(json_object_get(json_object_get(root, "program"), "regions"), 0);
  ops = json_object_get(json_array_get(json_object_get(region, "blocks"), 0), "ops");
  r.values.arena = &build->arena;
  r.program = ft_build_take(build, sizeof *r.program);
  if (!r.program)
    goto out;
  r.program->blocks = ft_build_grow(build, NULL, &r.program->room, 0, sizeof *r.program->blocks);
  if (!r.program->blocks)
    goto out;
  r.program->count = 1;
  if (ft_pir_convert_all(&r, ops) < 0)
    goto out;
  if (!r.program->blocks[0].operator_count) {
    (void)ft_error_set(build->err,
                       "%s: byte 0: expected a PaddlePaddle program, found no operator in it",
                       build->graph->file);
    goto out;
  }
  ft_paddle_keep(build, r.program);
  status = 0;
out:
  json_decref(root);
  return status;
}
