/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PaddlePaddle 3's programs (paddle/fluid/pir/serialize_deserialize): JSON in which operators name
 * their operands by number. Each becomes what a ProgramDesc would say (paddle_json_table.h), so
 * that paddle_run.c follows both. Constants that only set an attribute there become attributes.
 */
#include "config.h"

#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/core/text.h"
#include "predictor/graph/json.h"
#include "predictor/graph/names.h"
#include "predictor/graph/paddle.h"
#include "predictor/graph/paddle_json_table.h"

enum { REGIONS = 16, TENSOR = 7 };

/* What a number stands for. */
struct value {
  const char *name;           /* of its variable; NULL: a list, or a constant not yet made */
  const char **list;          /* of a vector: its members' names */
  size_t count;               /* of the list */
  struct ft_pd_attribute set; /* of a constant: as an attribute */
  const json_t *made;         /* of a constant: the operator that gives it */
};

struct reader {
  struct ft_build *build;
  struct ft_pd_program *program;
  size_t block; /* at hand */
  struct ft_names values;
  const json_t *op;
  size_t at; /* operators so far */
  int depth;
};

static int fail(struct reader *r, const char *what)
{
  return ft_error_set(r->build->err, "%s: operator %zu, %.60s: %s", r->build->graph->file, r->at,
                      ft_graph_json_text(r->op, "#"), what);
}

static const char *same(struct reader *r, const char *text)
{
  return ft_build_same(r->build, text, strlen(text));
}

/* ---- values ---- */

/* "%12" */
static const char *number_of(struct reader *r, json_int_t id)
{
  char text[32];

  (void)snprintf(text, sizeof text, "%%%lld", (long long)id);
  return same(r, text);
}

static struct value *find(struct reader *r, json_int_t id)
{
  const char *number = number_of(r, id);

  return number ? ft_names_get(&r->values, number) : NULL;
}

/* The value that ID stands for from now on, called NAME. */
static struct value *define(struct reader *r, json_int_t id, const char *name)
{
  struct value *v = ft_build_take(r->build, sizeof *v);
  const char *number = number_of(r, id);

  if (!v || !number)
    return NULL;
  v->name = name;
  if (ft_names_put(&r->values, number, v) == 0)
    return v;
  (void)fail(r, "too many values");
  return NULL;
}

static json_int_t id_of(const json_t *operand)
{
  return json_integer_value(json_object_get(operand, "%"));
}

/* ---- types ---- */

/* What follows the dialect in "0.t_f32", "1.conv2d". */
static const char *without_dialect(const char *name)
{
  const char *dot = strchr(name, '.');

  return dot ? dot + 1 : name;
}

static unsigned element_of(const char *type)
{
  static const struct {
    const char *name;
    uint8_t element;
  } types[] = { { "f32", 1 },  { "ui8", 2 },  { "i8", 3 },    { "i16", 5 },
                { "i32", 6 },  { "i64", 7 },  { "bool", 9 },  { "f16", 10 },
                { "f64", 11 }, { "c64", 14 }, { "c128", 15 }, { "bf16", 16 } };

  type = without_dialect(type);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strncmp(type, "t_", 2) == 0 && strcmp(type + 2, types[i].name) == 0)
      return types[i].element;
  return FT_ELEMENT_UNKNOWN;
}

/* "float32" as VarType.Type. */
static int64_t legacy_type(const char *name)
{
  static const struct {
    const char *name;
    int64_t type;
  } types[] = { { "bool", 0 },    { "int16", 1 },    { "int32", 2 },   { "int64", 3 },
                { "float16", 4 }, { "float32", 5 },  { "float64", 6 }, { "uint8", 20 },
                { "int8", 21 },   { "bfloat16", 22 } };

  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(name, types[i].name) == 0)
      return types[i].type;
  return 5;
}

/* {"#": "0.t_dtensor", "D": [{"#": "0.t_f32"}, [-1, 3], ...]} */
static int declare(struct reader *r, const json_t *type, struct ft_declared *d)
{
  const json_t *parts = json_object_get(type, "D"), *sizes = json_array_get(parts, 1), *size;
  int64_t dims[FT_GRAPH_RANK];
  size_t i;

  d->rank = -1;
  if (strcmp(without_dialect(ft_graph_json_text(type, "#")), "t_dtensor") != 0 ||
      !json_is_array(sizes))
    return 0;
  if (json_array_size(sizes) > FT_GRAPH_RANK)
    return fail(r, "a shape of more dimensions than a tensor has");
  json_array_foreach(sizes, i, size) dims[i] =
      json_is_integer(size) ? json_integer_value(size) : -1;
  d->element = (uint8_t)element_of(ft_graph_json_text(json_array_get(parts, 0), "#"));
  return ft_build_shape(r->build, r->at, dims, (int)json_array_size(sizes), d);
}

/* ---- operators ---- */

static struct ft_pd_block *block_of(struct reader *r)
{
  return &r->program->blocks[r->block];
}

static struct ft_pd_operator *add_operator(struct reader *r, const char *type)
{
  struct ft_pd_block *b = block_of(r);
  struct ft_pd_operator *list =
      ft_build_grow(r->build, b->operators, &b->operator_room, b->operator_count, sizeof *list);

  if (!list)
    return NULL;
  b->operators = list;
  list += b->operator_count++;
  *list = (struct ft_pd_operator){ .type = type, .at = r->at };
  return list;
}

static int add_slot(struct reader *r, struct ft_pd_slot **slots, size_t *room, size_t *count,
                    const char *name, const char **variables, size_t variable_count)
{
  struct ft_pd_slot *list = ft_build_grow(r->build, *slots, room, *count, sizeof *list);

  if (!list)
    return -1;
  *slots = list;
  list[(*count)++] =
      (struct ft_pd_slot){ .name = name, .variables = variables, .count = variable_count };
  return 0;
}

static int add_input(struct reader *r, struct ft_pd_operator *op, const char *name,
                     const char **variables, size_t count)
{
  return add_slot(r, &op->inputs, &op->input_room, &op->input_count, name, variables, count);
}

static int add_output(struct reader *r, struct ft_pd_operator *op, const char *name,
                      const char **variables, size_t count)
{
  return add_slot(r, &op->outputs, &op->output_room, &op->output_count, name, variables, count);
}

static const char **one(struct reader *r, const char *name)
{
  const char **list = name ? ft_build_take(r->build, sizeof *list) : NULL;

  if (list)
    *list = name;
  return list;
}

static int add_attribute(struct reader *r, struct ft_pd_operator *op, const char *name,
                         const struct ft_pd_attribute *what)
{
  struct ft_pd_attribute *list = ft_build_grow(r->build, op->attributes, &op->attribute_room,
                                               op->attribute_count, sizeof *list);

  if (!list)
    return -1;
  op->attributes = list;
  list[op->attribute_count] = *what;
  list[op->attribute_count].name = name;
  list[op->attribute_count++].text = what->text ? what->text : "";
  return 0;
}

/* ---- attributes ---- */

static int list_attribute(struct reader *r, const json_t *list, struct ft_pd_attribute *a)
{
  size_t count = json_array_size(list), i;
  const json_t *item;
  int64_t *integers;
  double *reals;

  if (count > FT_GRAPH_VALUES)
    return 0;
  integers = ft_build_take(r->build, (count + 1) * sizeof *integers);
  reals = ft_build_take(r->build, (count + 1) * sizeof *reals);
  if (!integers || !reals)
    return -1;
  json_array_foreach(list, i, item)
  {
    const json_t *inner = json_is_object(item) ? json_object_get(item, "D") : item;

    reals[i] = json_is_true(inner) ? 1 : json_number_value(inner);
    integers[i] = json_is_integer(inner) ? json_integer_value(inner) : ft_whole(reals[i]);
  }
  a->integers = integers;
  a->reals = reals;
  a->count = count;
  return 0;
}

/* {"#": "0.a_i32", "D": 1} */
static int read_attribute(struct reader *r, const json_t *what, struct ft_pd_attribute *a)
{
  const json_t *data = json_object_get(what, "D");
  const char *kind = without_dialect(ft_graph_json_text(what, "#"));

  *a = (struct ft_pd_attribute){ .text = "" };
  if (json_is_array(data))
    return strcmp(kind, "a_place") == 0 ? 0 : list_attribute(r, data, a);
  if (json_is_string(data)) {
    a->text = same(r, json_string_value(data));
    a->integer = strcmp(kind, "a_dtype") == 0 ? legacy_type(json_string_value(data)) : 0;
    return a->text ? 0 : -1;
  }
  a->real = json_is_true(data) ? 1 : json_number_value(data);
  a->integer = json_is_integer(data) ? json_integer_value(data) : ft_whole(a->real);
  return 0;
}

/* Attribute NAME of OP, where it is; A is zeros where it is not. */
static int attribute_of(struct reader *r, const json_t *op, const char *name,
                        struct ft_pd_attribute *a)
{
  const json_t *list = json_object_get(op, "A"), *item;
  size_t i;

  *a = (struct ft_pd_attribute){ .text = "" };
  json_array_foreach(list, i, item) if (strcmp(ft_graph_json_text(item, "N"), name) ==
                                        0) return read_attribute(r, json_object_get(item, "AT"), a);
  return 0;
}

/* ---- operands ---- */

static int convert(struct reader *r, const json_t *op);

/* The name of V's variable, of a constant once its operator stands there; NULL with the error. */
static const char *name_of(struct reader *r, struct value *v)
{
  const json_t *made = v->made;

  if (v->name || !made)
    return v->name;
  v->made = NULL;
  return convert(r, made) < 0 ? NULL : v->name;
}

/* The variables of the operand ID, one or many, into *LIST; how many, -1 with the error. */
static int variables_of(struct reader *r, json_int_t id, const char ***list)
{
  struct value *v = find(r, id);
  const char *name;

  if (!v)
    return id ? fail(r, "an operand that nothing gives") : 0;
  if (v->list) {
    *list = v->list;
    return (int)v->count;
  }
  name = name_of(r, v);
  *list = name ? one(r, name) : NULL;
  return *list ? 1 : -1;
}

/*
 * Operand ID in the place SPEC of the table: "X" a slot; "=axis" an attribute where it is constant,
 * with "/Slot/List" behind it else a slot for a tensor and one for a list of them.
 */
static int add_operand(struct reader *r, struct ft_pd_operator *op, struct ft_text spec,
                       json_int_t id)
{
  struct value *v = find(r, id);
  struct ft_text name;
  const char *slot, **variables = NULL;
  bool set = ft_text_skip(&spec, "=");
  int count;

  (void)ft_text_until(&spec, '/', &name);
  slot = ft_build_same(r->build, name.at, ft_text_left(&name));
  if (!slot)
    return -1;
  if (set && v && v->set.name)
    return add_attribute(r, op, slot, &v->set);
  if (set) {
    if (!ft_text_until(&spec, '/', &name))
      return 0;
    if (v && v->list && ft_text_left(&spec))
      (void)ft_text_until(&spec, '/', &name);
    slot = ft_build_same(r->build, name.at, ft_text_left(&name));
  }
  count = slot ? variables_of(r, id, &variables) : -1;
  return count <= 0 ? count : add_input(r, op, slot, variables, (size_t)count);
}

/* A result of type TYPE becomes variable, or variables, of their own. */
static int add_result(struct reader *r, struct ft_pd_operator *op, const char *slot,
                      const json_t *output)
{
  const json_t *type = json_object_get(output, "TT");
  bool many = strcmp(without_dialect(ft_graph_json_text(type, "#")), "t_vec") == 0;
  struct value *known = find(r, id_of(output)), *v;
  const char *name = number_of(r, id_of(output));
  size_t count = many ? json_array_size(json_object_get(type, "D")) : 1;

  v = known && !known->name && !known->list ? known : define(r, id_of(output), NULL);
  if (!v || !name || count > FT_GRAPH_VALUES)
    return v && name ? fail(r, "too many results") : -1;
  if (!many) {
    v->name = name;
    return add_output(r, op, slot, one(r, name), 1);
  }
  v->list = ft_build_take(r->build, (count + 1) * sizeof *v->list);
  for (size_t i = 0; v->list && i < count; i++) {
    char text[64];

    (void)snprintf(text, sizeof text, "%.40s.%zu", name, i);
    v->list[i] = same(r, text);
    if (!v->list[i])
      return -1;
  }
  v->count = count;
  return v->list ? add_output(r, op, slot, v->list, count) : -1;
}

/* ---- operators that are not followed as such ---- */

/* "p": a weight, its flags (persistable, stop_gradient, trainable) in OA. */
static int parameter(struct reader *r, const json_t *op)
{
  const json_t *output = json_object_get(op, "O"), *flags = json_object_get(op, "OA");
  const char *name = json_string_value(json_array_get(json_object_get(op, "A"), 3));
  struct ft_pd_block *b = &r->program->blocks[0];
  struct ft_pd_variable *list =
      ft_build_grow(r->build, b->variables, &b->variable_room, b->variable_count, sizeof *list);

  name = same(r, name ? name : "");
  if (!list || !name || !define(r, id_of(output), name))
    return -1;
  b->variables = list;
  list += b->variable_count++;
  *list = (struct ft_pd_variable){ .name = name, .kind = TENSOR };
  list->kept = json_integer_value(json_array_get(flags, 0)) != 0;
  list->declared.kept = json_integer_value(json_array_get(flags, 2)) == 0;
  return declare(r, json_object_get(output, "TT"), &list->declared);
}

/* "data": an input. */
static int input(struct reader *r, const json_t *op)
{
  const json_t *output = json_array_get(json_object_get(op, "O"), 0);
  struct ft_pd_block *b = &r->program->blocks[0];
  struct ft_pd_variable *list =
      ft_build_grow(r->build, b->variables, &b->variable_room, b->variable_count, sizeof *list);
  struct ft_pd_operator *feed = add_operator(r, "feed");
  struct ft_pd_attribute name;

  if (!list || !feed || attribute_of(r, op, "name", &name) < 0 ||
      !define(r, id_of(output), name.text))
    return -1;
  b->variables = list;
  list += b->variable_count++;
  *list = (struct ft_pd_variable){ .name = name.text, .kind = TENSOR };
  return declare(r, json_object_get(output, "TT"), &list->declared) < 0 ||
                 add_output(r, feed, "Out", one(r, name.text), 1) < 0
             ? -1
             : 0;
}

/* "full", "full_int_array": made where a tensor of it is asked for. */
static int constant(struct reader *r, const json_t *op)
{
  struct value *v = define(r, id_of(json_array_get(json_object_get(op, "O"), 0)), NULL);

  if (!v || attribute_of(r, op, "value", &v->set) < 0)
    return -1;
  v->set.name = "value";
  if (!v->set.integers) { /* one number is a list of one too, where such is asked for */
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
  return 0;
}

/* "combine": a list; its members are made if anybody asks for them. */
static int combine(struct reader *r, const json_t *op)
{
  const json_t *operands = json_object_get(op, "I"), *operand;
  struct value *v = define(r, id_of(json_array_get(json_object_get(op, "O"), 0)), NULL), *one;
  size_t count = json_array_size(operands), i;

  if (!v)
    return -1;
  v->list = ft_build_take(r->build, (count + 1) * sizeof *v->list);
  if (!v->list)
    return -1;
  json_array_foreach(operands, i, operand)
  {
    one = find(r, id_of(operand));
    v->list[i] = one ? name_of(r, one) : NULL;
    if (!v->list[i])
      return r->build->err->text[0] ? -1 : fail(r, "a member that nothing gives");
  }
  v->count = count;
  return 0;
}

/* "split" and "slice" of builtin: a list's members, all or that of attribute index. */
static int take_apart(struct reader *r, const json_t *op)
{
  struct value *v = find(r, id_of(json_array_get(json_object_get(op, "I"), 0)));
  const json_t *outputs = json_object_get(op, "O"), *output;
  struct ft_pd_attribute index;
  size_t i;

  if (attribute_of(r, op, "index", &index) < 0)
    return -1;
  json_array_foreach(outputs, i, output)
  {
    size_t which = i + (index.integer > 0 ? (size_t)index.integer : 0);

    if (!v || !v->list || which >= v->count)
      return fail(r, "a member that the list does not have");
    if (!define(r, id_of(output), v->list[which]))
      return -1;
  }
  return 0;
}

/* ---- regions ---- */

static int convert_all(struct reader *r, const json_t *ops);

/* Operators of OP's region WHICH into a block of their own; its number, -1 with the error. ARGS are
 * what the block's arguments stand for, YIELDS the operands that it ends with. */
static int add_region(struct reader *r, const json_t *op, size_t which, const json_t *args,
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
  json_array_foreach(json_object_get(block, "args"), i, arg)
  {
    struct value *from = find(r, id_of(json_array_get(args, first + i)));
    json_int_t id = json_integer_value(json_object_get(arg, "#"));

    if (!from || !define(r, id, name_of(r, from)))
      return r->build->err->text[0] ? -1 : fail(r, "an argument that nothing gives");
  }
  if (++r->depth > REGIONS)
    return fail(r, "regions within each other too deep");
  r->block = number;
  if (convert_all(r, ops) < 0)
    return -1;
  last = json_array_get(ops, json_array_size(ops) ? json_array_size(ops) - 1 : 0);
  *yields = strcmp(without_dialect(ft_graph_json_text(last, "#")), "yield") == 0
                ? json_object_get(last, "I")
                : NULL;
  r->block = outer;
  r->depth--;
  return (int)number;
}

/* OP's results are called as what its region ends with, from the operand FIRST on: of MADE, which
 * stands for it, the slot Out. */
static int end_region(struct reader *r, const json_t *op, struct ft_pd_operator *made,
                      const json_t *yields, size_t first)
{
  const json_t *outputs = json_object_get(op, "O"), *output;
  const char **names = ft_build_take(r->build, json_array_size(outputs) * sizeof *names);
  size_t i;

  if (!names || add_output(r, made, "Out", names, json_array_size(outputs)) < 0)
    return -1;
  json_array_foreach(outputs, i, output)
  {
    struct value *v = find(r, id_of(json_array_get(yields, first + i)));

    names[i] = v ? name_of(r, v) : number_of(r, id_of(output));
    if (!names[i] || !define(r, id_of(output), names[i]))
      return r->build->err->text[0] ? -1 : fail(r, "a list as what a region ends with");
  }
  return 0;
}

/* "if": its first region is followed, as if the condition held; "while": its body once. */
static int control(struct reader *r, const json_t *op, bool loop)
{
  const json_t *operands = json_object_get(op, "I"), *yields = NULL;
  int number = add_region(r, op, 0, operands, 1, &yields);
  struct ft_pd_operator made = { .type = loop ? "while" : "conditional_block", .at = r->at }, *kept;
  struct ft_pd_attribute which = { .integer = number };

  if (number < 0 || add_attribute(r, &made, "sub_block", &which) < 0 ||
      end_region(r, op, &made, yields, loop) < 0)
    return -1;
  kept = add_operator(r, made.type);
  if (!kept)
    return -1;
  *kept = made;
  return 0;
}

/* ---- all of them ---- */

/* The attributes of OP, by the names that they have in the other format. */
static int add_attributes(struct reader *r, const struct ft_pir_operator *known,
                          struct ft_pd_operator *made, const json_t *op)
{
  const json_t *list = json_object_get(op, "A"), *item;
  size_t i;

  json_array_foreach(list, i, item)
  {
    const char *name = ft_graph_json_text(item, "N");
    struct ft_text renamed = ft_text_from(known ? known->attributes : ""), one_name, old;
    struct ft_pd_attribute a;

    if (strcmp(name, "struct_name") == 0)
      continue;
    name = same(r, name);
    if (!name || read_attribute(r, json_object_get(item, "AT"), &a) < 0)
      return -1;
    while (ft_text_until(&renamed, ',', &one_name))
      if (ft_text_until(&one_name, '=', &old) && ft_text_equals(old, name)) {
        name = ft_build_same(r->build, one_name.at, ft_text_left(&one_name));
        break;
      }
    if (!name || add_attribute(r, made, name, &a) < 0)
      return -1;
  }
  return 0;
}

/* An operator that the table knows, or by its own name: X in, Out out. */
static int convert(struct reader *r, const json_t *op)
{
  const char *name = without_dialect(ft_graph_json_text(op, "#"));
  const struct ft_pir_operator *known = ft_pir_find(name);
  struct ft_text in = ft_text_from(known ? known->in : "X"), out, place;
  const json_t *operands = json_object_get(op, "I"), *outputs = json_object_get(op, "O"), *item;
  struct ft_pd_operator made = { .type = same(r, known ? known->type : name), .at = r->at }, *kept;
  size_t i;

  out = ft_text_from(known ? known->out : "Out");
  if (!made.type || add_attributes(r, known, &made, op) < 0)
    return -1;
  json_array_foreach(operands, i, item)
  {
    if (!ft_text_until(&in, ',', &place)) {
      if (known)
        break;
      place = ft_text_from("X"); /* of what is not known all operands are kept */
    }
    if (add_operand(r, &made, place, id_of(item)) < 0)
      return -1;
  }
  json_array_foreach(outputs, i, item)
  {
    const char *slot;

    if (!ft_text_until(&out, ',', &place))
      place = ft_text_from(known ? "Other" : "Out");
    slot = ft_build_same(r->build, place.at, ft_text_left(&place));
    if (!slot || add_result(r, &made, slot, item) < 0)
      return -1;
  }
  kept = add_operator(r, made.type);
  if (!kept)
    return -1;
  *kept = made;
  return 0;
}

static int convert_any(struct reader *r, const json_t *op)
{
  const char *whole = ft_graph_json_text(op, "#"), *name = without_dialect(whole);
  bool built_in = strncmp(whole, "0.", 2) == 0;

  if (strcmp(whole, "p") == 0)
    return parameter(r, op);
  if (strcmp(name, "data") == 0)
    return input(r, op);
  if (strcmp(name, "full") == 0 || strcmp(name, "full_int_array") == 0)
    return constant(r, op);
  if (built_in && strcmp(name, "combine") == 0)
    return combine(r, op);
  if (built_in && (strcmp(name, "split") == 0 || strcmp(name, "slice") == 0))
    return take_apart(r, op);
  if (strcmp(name, "yield") == 0)
    return 0;
  if ((strcmp(name, "if") == 0 || strcmp(name, "while") == 0) && json_object_get(op, "regions"))
    return control(r, op, name[0] == 'w');
  return name[0] ? convert(r, op) : fail(r, "an operator without a name");
}

static int convert_all(struct reader *r, const json_t *ops)
{
  const json_t *op;
  size_t i;

  json_array_foreach(ops, i, op)
  {
    r->op = op;
    r->at++;
    if (convert_any(r, op) < 0)
      return r->build->err->text[0] ? -1 : fail(r, "cannot be understood");
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
  struct reader r = { .build = build };
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
