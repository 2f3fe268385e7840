/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators of PaddlePaddle 3 without a ProgramDesc operator: weights, inputs, constants, lists,
 * regions. */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/paddle/paddle_json.h"

enum { REGIONS = 16 }; /* limit of nested regions, against hostile files */
enum { TENSOR = 7 };   /* VarType.DENSE_TENSOR (framework.proto) */

/* ---- weights, inputs, constants, lists ---- */

int ft_pir_parameter(struct ft_pir *r, const json_t *op)
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

int ft_pir_input(struct ft_pir *r, const json_t *op)
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

int ft_pir_constant(struct ft_pir *r, const json_t *op)
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

int ft_pir_combine(struct ft_pir *r, const json_t *op)
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
    v->list[i] = one ? ft_pir_name(r, one) : NULL;
    if (!v->list[i])
      return r->build->err->text[0] ? -1 : ft_pir_fail(r, "a member that no operator defines");
  }
  v->count = count;
  return 0;
}

int ft_pir_split(struct ft_pir *r, const json_t *op)
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

    if (!from || !ft_pir_define(r, id, ft_pir_name(r, from)))
      return r->build->err->text[0] ? -1 : ft_pir_fail(r, "an argument that no operator defines");
  }
  if (++r->depth > REGIONS)
    return ft_pir_fail(r, "regions nested too deep");
  r->block = number;
  if (ft_pir_convert_all(r, ops) < 0)
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

    names[i] = v ? ft_pir_name(r, v) : ft_pir_number(r, ft_pir_id(output));
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
    names[i] = v ? ft_pir_name(r, v) : NULL;
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

int ft_pir_control(struct ft_pir *r, const json_t *op, bool loop)
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
