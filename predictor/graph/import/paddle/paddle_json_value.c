/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values, types and attributes in a program of PaddlePaddle 3. */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/paddle/paddle_json.h"

int ft_pir_fail(struct ft_pir *r, const char *what)
{
  return ft_error_set(r->build->err, "%s: operator %zu, %.60s: %s", r->build->graph->file, r->at,
                      ft_graph_json_text(r->op, "#"), what);
}

const char *ft_pir_intern(struct ft_pir *r, const char *text)
{
  return ft_build_same(r->build, text, strlen(text));
}

/* ---- values ---- */

const char *ft_pir_number(struct ft_pir *r, json_int_t id)
{
  char text[32];

  (void)snprintf(text, sizeof text, "%%%lld", (long long)id);
  return ft_pir_intern(r, text);
}

struct ft_pir_value *ft_pir_value(struct ft_pir *r, json_int_t id)
{
  const char *number = ft_pir_number(r, id);

  return number ? ft_symbol_table_get(&r->values, number) : NULL;
}

struct ft_pir_value *ft_pir_define(struct ft_pir *r, json_int_t id, const char *name)
{
  struct ft_pir_value *v = ft_build_take(r->build, sizeof *v);
  const char *number = ft_pir_number(r, id);

  if (!v || !number)
    return NULL;
  v->name = name;
  if (ft_symbol_table_put(&r->values, number, v) == 0)
    return v;
  (void)ft_pir_fail(r, "too many values");
  return NULL;
}

json_int_t ft_pir_id(const json_t *operand)
{
  return json_integer_value(json_object_get(operand, "%"));
}

/* ---- types ---- */

const char *ft_pir_without_dialect(const char *name)
{
  const char *dot = strchr(name, '.');

  return dot ? dot + 1 : name;
}

static unsigned element_by_name(const char *type)
{
  static const struct {
    const char *name;
    uint8_t element;
  } types[] = { { "f32", 1 },  { "ui8", 2 },  { "i8", 3 },    { "i16", 5 },
                { "i32", 6 },  { "i64", 7 },  { "bool", 9 },  { "f16", 10 },
                { "f64", 11 }, { "c64", 14 }, { "c128", 15 }, { "bf16", 16 } };
  size_t i = sizeof types / sizeof *types;

  type = ft_pir_without_dialect(type);
  if (strncmp(type, "t_", 2) == 0)
    i = FT_TABLE_FIND(types, type + 2);
  return i < sizeof types / sizeof *types ? types[i].element : FT_ELEMENT_UNKNOWN;
}

/* VarType.Type of "float32" and others. */
static int64_t legacy_type(const char *name)
{
  static const struct {
    const char *name;
    int64_t type;
  } types[] = { { "bool", 0 },    { "int16", 1 },    { "int32", 2 },   { "int64", 3 },
                { "float16", 4 }, { "float32", 5 },  { "float64", 6 }, { "uint8", 20 },
                { "int8", 21 },   { "bfloat16", 22 } };
  size_t i = FT_TABLE_FIND(types, name);

  return i < sizeof types / sizeof *types ? types[i].type : 5;
}

int ft_pir_declare(struct ft_pir *r, const json_t *type, struct ft_declared *d)
{
  const json_t *parts = json_object_get(type, "D"), *sizes = json_array_get(parts, 1), *size;
  int64_t dims[FT_GRAPH_RANK];
  size_t i;

  d->rank = -1;
  if (strcmp(ft_pir_without_dialect(ft_graph_json_text(type, "#")), "t_dtensor") != 0 ||
      !json_is_array(sizes))
    return 0;
  if (json_array_size(sizes) > FT_GRAPH_RANK)
    return ft_pir_fail(r, "a shape of more dimensions than a tensor has");
  json_array_foreach (sizes, i, size)
    dims[i] = json_is_integer(size) ? json_integer_value(size) : -1;
  d->element = (uint8_t)element_by_name(ft_graph_json_text(json_array_get(parts, 0), "#"));
  return ft_build_shape(r->build, r->at, dims, (int)json_array_size(sizes), d);
}

/* ---- attributes ---- */

static int read_list_attribute(struct ft_pir *r, const json_t *list, struct ft_pd_attribute *a)
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
  json_array_foreach (list, i, item) {
    const json_t *inner = json_is_object(item) ? json_object_get(item, "D") : item;

    reals[i] = json_is_true(inner) ? 1 : json_number_value(inner);
    integers[i] = json_is_integer(inner) ? json_integer_value(inner) : ft_whole(reals[i]);
  }
  a->integers = integers;
  a->reals = reals;
  a->count = count;
  return 0;
}

int ft_pir_read_attribute(struct ft_pir *r, const json_t *what, struct ft_pd_attribute *a)
{
  const json_t *data = json_object_get(what, "D");
  const char *kind = ft_pir_without_dialect(ft_graph_json_text(what, "#"));

  *a = (struct ft_pd_attribute){ .text = "" };
  if (json_is_array(data))
    return strcmp(kind, "a_place") == 0 ? 0 : read_list_attribute(r, data, a);
  if (json_is_string(data)) {
    a->text = ft_pir_intern(r, json_string_value(data));
    a->integer = strcmp(kind, "a_dtype") == 0 ? legacy_type(json_string_value(data)) : 0;
    return a->text ? 0 : -1;
  }
  a->real = json_is_true(data) ? 1 : json_number_value(data);
  a->integer = json_is_integer(data) ? json_integer_value(data) : ft_whole(a->real);
  return 0;
}

int ft_pir_attribute_of(struct ft_pir *r, const json_t *op, const char *name,
                        struct ft_pd_attribute *a)
{
  const json_t *list = json_object_get(op, "A"), *item;
  size_t i;

  *a = (struct ft_pd_attribute){ .text = "" };
  json_array_foreach (list, i, item)
    if (strcmp(ft_graph_json_text(item, "N"), name) == 0)
      return ft_pir_read_attribute(r, json_object_get(item, "AT"), a);
  return 0;
}

static int add_slot(struct ft_pir *r, struct ft_pd_slot **slots, size_t *room, size_t *count,
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

const char **ft_pir_name_list(struct ft_pir *r, const char *name)
{
  const char **list = name ? ft_build_take(r->build, sizeof *list) : NULL;

  if (list)
    *list = name;
  return list;
}

struct ft_pd_operator *ft_pir_add_operator(struct ft_pir *r, const char *type)
{
  struct ft_pd_block *b = &r->program->blocks[r->block];
  struct ft_pd_operator *list =
      ft_build_grow(r->build, b->operators, &b->operator_room, b->operator_count, sizeof *list);

  if (!list)
    return NULL;
  b->operators = list;
  list += b->operator_count++;
  *list = (struct ft_pd_operator){ .type = type, .at = r->at };
  return list;
}

int ft_pir_add_input(struct ft_pir *r, struct ft_pd_operator *op, const char *name,
                     const char **variables, size_t count)
{
  return add_slot(r, &op->inputs, &op->input_room, &op->input_count, name, variables, count);
}

int ft_pir_add_output(struct ft_pir *r, struct ft_pd_operator *op, const char *name,
                      const char **variables, size_t count)
{
  return add_slot(r, &op->outputs, &op->output_room, &op->output_count, name, variables, count);
}

int ft_pir_add_attribute(struct ft_pir *r, struct ft_pd_operator *op, const char *name,
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
