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

enum { REGIONS = 16 }; /* limit of nested regions, against hostile files */
enum { TENSOR = 7 };   /* VarType.DENSE_TENSOR (framework.proto) */

/* ---- operands ---- */

static int convert_operator(struct ft_pir *r, const json_t *op);
static int convert_all(struct ft_pir *r, const json_t *ops);

/* The name of V's variable; NULL on error. If V is a constant, converts its operator first. */
static const char *name_value(struct ft_pir *r, struct ft_pir_value *v)
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
  name = name_value(r, v);
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

/* ---- weights, inputs, constants, lists ---- */

/* "p": a weight, with its flags (persistable, stop_gradient, trainable) in OA. */
static int convert_parameter(struct ft_pir *r, const json_t *op)
{
  const json_t *output = json_object_get(op, "O"), *flags = json_object_get(op, "OA");
  const char *name = json_string_value(json_array_get(json_object_get(op, "A"), 3));
  struct ft_pd_block *b = &r->program->blocks[0];
  struct ft_pd_variable *list =
      ft_build_grow(r->build, b->variables, &b->variable_room, b->variable_count, sizeof *list);

  name = ft_pir_intern(r, name ? name : "");
  if (!list || !name || !ft_pir_define(r, ft_pir_id(output), name))
    return -1;
  b->variables = list;
  list += b->variable_count++;
  *list = (struct ft_pd_variable){ .name = name, .kind = TENSOR };
  list->persistable = json_integer_value(json_array_get(flags, 0)) != 0;
  list->declared.kept = json_integer_value(json_array_get(flags, 2)) == 0;
  return ft_pir_declare(r, json_object_get(output, "TT"), &list->declared);
}

/* "data": an input. */
static int convert_input(struct ft_pir *r, const json_t *op)
{
  const json_t *output = json_array_get(json_object_get(op, "O"), 0);
  struct ft_pd_block *b = &r->program->blocks[0];
  struct ft_pd_variable *list =
      ft_build_grow(r->build, b->variables, &b->variable_room, b->variable_count, sizeof *list);
  struct ft_pd_operator *feed = ft_pir_add_operator(r, "feed");
  struct ft_pd_attribute name;

  if (!list || !feed || ft_pir_attribute_of(r, op, "name", &name) < 0 ||
      !ft_pir_define(r, ft_pir_id(output), name.text))
    return -1;
  b->variables = list;
  list += b->variable_count++;
  *list = (struct ft_pd_variable){ .name = name.text, .kind = TENSOR };
  return ft_pir_declare(r, json_object_get(output, "TT"), &list->declared) < 0 ||
                 ft_pir_add_output(r, feed, "Out", ft_pir_name_list(r, name.text), 1) < 0
             ? -1
             : 0;
}

/* "full", "full_int_array": converted when an operator reads the tensor. */
static int convert_constant(struct ft_pir *r, const json_t *op)
{
  struct ft_pir_value *v =
      ft_pir_define(r, ft_pir_id(json_array_get(json_object_get(op, "O"), 0)), NULL);

  if (!v || ft_pir_attribute_of(r, op, "value", &v->set) < 0)
    return -1;
  v->set.name = "value";
  if (!v->set.integers) { /* a single number is also a list of one */
    int64_t *list = ft_build_keep(r->build, &v->set.integer, sizeof *list);
    double *reals = ft_build_keep(r->build, &v->set.real, sizeof *reals);

    if (!list || !reals)
      return -1;
    v->set.integers = list;
    v->set.reals = reals;
    v->set.count = 1;
  } else if (v->set.count == 1) {
    v->set.integer = v->set.integers[0];
    v->set.real = v->set.reals[0];
  }
  v->made = op;
  v->block = r->block;
  return 0;
}

/* "combine": a list; a member is converted when an operator reads it. */
static int convert_list(struct ft_pir *r, const json_t *op)
{
  const json_t *operands = json_object_get(op, "I"), *operand;
  struct ft_pir_value *v = ft_pir_define(r, ft_pir_id(json_array_get(json_object_get(op, "O"), 0)),
                                         NULL),
                      *one;
  size_t count = json_array_size(operands), i;

  if (!v)
    return -1;
  v->list = ft_build_take(r->build, (count + 1) * sizeof *v->list);
  if (!v->list)
    return -1;
  json_array_foreach (operands, i, operand) {
    one = ft_pir_value(r, ft_pir_id(operand));
    v->list[i] = one ? name_value(r, one) : NULL;
    if (!v->list[i])
      return r->build->err->text[0] ? -1 : ft_pir_fail(r, "a member that no operator defines");
  }
  v->count = count;
  return 0;
}

/* "split" and "slice" of builtin: all members of a list, or the member at attribute index. */
static int convert_split(struct ft_pir *r, const json_t *op)
{
  struct ft_pir_value *v = ft_pir_value(r, ft_pir_id(json_array_get(json_object_get(op, "I"), 0)));
  const json_t *outputs = json_object_get(op, "O"), *output;
  struct ft_pd_attribute index;
  size_t i;

  if (ft_pir_attribute_of(r, op, "index", &index) < 0)
    return -1;
  json_array_foreach (outputs, i, output) {
    size_t which = i + (index.integer > 0 ? (size_t)index.integer : 0);

    if (!v || !v->list || which >= v->count)
      return ft_pir_fail(r, "a member that the list does not have");
    if (!ft_pir_define(r, ft_pir_id(output), v->list[which]))
      return -1;
  }
  return 0;
}

/* ---- regions ---- */

/* Converts region WHICH of OP into a new block. Returns the block's index, -1 on error.
 * ARGS: the values of the block's arguments; YIELDS is set to the operands that it returns. */
static int add_region(struct ft_pir *r, const json_t *op, size_t which, const json_t *args,
                      size_t first, const json_t **yields)
{
  const json_t *region = json_array_get(json_object_get(op, "regions"), which);
  const json_t *block = json_array_get(json_object_get(region, "blocks"), 0), *arg, *last;
  const json_t *ops = json_object_get(block, "ops");
  struct ft_pd_program *p = r->program;
  struct ft_pd_block *list = ft_build_grow(r->build, p->blocks, &p->room, p->count, sizeof *list);
  size_t outer = r->block, number = p->count, i;

  if (!list)
    return -1;
  p->blocks = list;
  list[p->count++] = (struct ft_pd_block){ 0 };
  json_array_foreach (json_object_get(block, "args"), i, arg) {
    struct ft_pir_value *from = ft_pir_value(r, ft_pir_id(json_array_get(args, first + i)));
    json_int_t id = json_integer_value(json_object_get(arg, "#"));

    if (!from || !ft_pir_define(r, id, name_value(r, from)))
      return r->build->err->text[0] ? -1 : ft_pir_fail(r, "an argument that no operator defines");
  }
  if (++r->depth > REGIONS)
    return ft_pir_fail(r, "regions nested too deep");
  r->block = number;
  if (convert_all(r, ops) < 0)
    return -1;
  last = json_array_get(ops, json_array_size(ops) ? json_array_size(ops) - 1 : 0);
  *yields = strcmp(ft_pir_without_dialect(ft_graph_json_text(last, "#")), "yield") == 0
                ? json_object_get(last, "I")
                : NULL;
  r->block = outer;
  r->depth--;
  return (int)number;
}

/* Binds OP's results to the operands from FIRST on that its region returns. The results become slot
 * Out of MADE, OP's replacement. */
static int end_region(struct ft_pir *r, const json_t *op, struct ft_pd_operator *made,
                      const json_t *yields, size_t first)
{
  const json_t *outputs = json_object_get(op, "O"), *output;
  const char **names = ft_build_take(r->build, json_array_size(outputs) * sizeof *names);
  size_t i;

  if (!names || ft_pir_add_output(r, made, "Out", names, json_array_size(outputs)) < 0)
    return -1;
  json_array_foreach (outputs, i, output) {
    struct ft_pir_value *v = ft_pir_value(r, ft_pir_id(json_array_get(yields, first + i)));

    names[i] = v ? name_value(r, v) : ft_pir_number(r, ft_pir_id(output));
    if (!names[i] || !ft_pir_define(r, ft_pir_id(output), names[i]))
      return r->build->err->text[0] ? -1 : ft_pir_fail(r, "a region that returns a list");
  }
  return 0;
}

/* The variable names of LIST's operands. */
static const char **operand_names(struct ft_pir *r, const json_t *list)
{
  const char **names = ft_build_take(r->build, json_array_size(list) * sizeof *names);
  const json_t *operand;
  size_t i;

  json_array_foreach (list, i, operand) {
    struct ft_pir_value *v = ft_pir_value(r, ft_pir_id(operand));

    if (!names)
      return NULL;
    names[i] = v ? name_value(r, v) : NULL;
    if (!names[i]) {
      if (!r->build->err->text[0])
        (void)ft_pir_fail(r, "a region that returns a list");
      return NULL;
    }
  }
  return names;
}

/* Completes a branch with two regions: its condition, the results of each, and OP's results. */
static int end_branch(struct ft_pir *r, const json_t *op, struct ft_pd_operator *made,
                      const json_t *const yields[2])
{
  const json_t *outputs = json_object_get(op, "O"), *output;
  static const char *const slots[] = { "Then", "Else" };
  const char **names;
  size_t i;

  for (i = 0; i < 2; i++) {
    names = operand_names(r, yields[i]);
    if (!names || ft_pir_add_input(r, made, slots[i], names, json_array_size(yields[i])) < 0)
      return -1;
  }
  names = operand_names(r, json_object_get(op, "I"));
  if (!names || ft_pir_add_input(r, made, "Cond", names, 1) < 0)
    return -1;
  names = ft_build_take(r->build, json_array_size(outputs) * sizeof *names);
  if (!names || ft_pir_add_output(r, made, "Out", names, json_array_size(outputs)) < 0)
    return -1;
  json_array_foreach (outputs, i, output) {
    names[i] = ft_pir_number(r, ft_pir_id(output));
    if (!names[i] || !ft_pir_define(r, ft_pir_id(output), names[i]))
      return -1;
  }
  return 0;
}

/* "if": both regions; "while": its body. */
static int convert_regions(struct ft_pir *r, const json_t *op, bool loop)
{
  const json_t *operands = json_object_get(op, "I"), *yields[2] = { NULL, NULL };
  struct ft_pd_operator made = { .type = loop ? "while" : "conditional_block", .at = r->at }, *kept;
  bool two = !loop && json_array_size(json_object_get(op, "regions")) > 1;
  static const char *const blocks[] = { "sub_block", "else_block" };

  for (size_t i = 0; i < 1u + two; i++) {
    int number = add_region(r, op, i, operands, 1, &yields[i]);
    struct ft_pd_attribute which = { .integer = number };

    if (number < 0 || ft_pir_add_attribute(r, &made, blocks[i], &which) < 0)
      return -1;
  }
  if (two ? end_branch(r, op, &made, yields) < 0 : end_region(r, op, &made, yields[0], loop) < 0)
    return -1;
  kept = ft_pir_add_operator(r, made.type);
  if (!kept)
    return -1;
  *kept = made;
  return 0;
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
    return convert_parameter(r, op);
  if (strcmp(name, "data") == 0)
    return convert_input(r, op);
  if (strcmp(name, "full") == 0 || strcmp(name, "full_int_array") == 0)
    return convert_constant(r, op);
  if (built_in && strcmp(name, "combine") == 0)
    return convert_list(r, op);
  if (built_in && (strcmp(name, "split") == 0 || strcmp(name, "slice") == 0))
    return convert_split(r, op);
  if (strcmp(name, "yield") == 0)
    return 0;
  if ((strcmp(name, "if") == 0 || strcmp(name, "while") == 0) && json_object_get(op, "regions"))
    return convert_regions(r, op, name[0] == 'w');
  return name[0] ? convert_operator(r, op) : ft_pir_fail(r, "an operator without a name");
}

/* Converts the JSON array OPS into the current block. Returns 0 or -1. */
static int convert_all(struct ft_pir *r, const json_t *ops)
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
  if (convert_all(&r, ops) < 0)
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
