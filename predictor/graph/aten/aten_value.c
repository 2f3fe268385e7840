/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of a traced program. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/aten/aten.h"

struct ft_operand ft_value_none(void)
{
  return (struct ft_operand){ .type = FT_VALUE_NONE };
}

struct ft_operand ft_value_bool(bool value)
{
  return (struct ft_operand){ .type = FT_VALUE_BOOL, .known = true, .integer = value };
}

struct ft_operand ft_value_int(int64_t value)
{
  return (struct ft_operand){ .type = FT_VALUE_INT, .known = true, .integer = value };
}

struct ft_operand ft_value_dim(ft_dim dim)
{
  return ft_dim_known(dim) ? ft_value_int(ft_dim_or(dim, 0)) : ft_value_unknown(FT_VALUE_INT);
}

struct ft_operand ft_value_real(double value)
{
  return (struct ft_operand){ .type = FT_VALUE_REAL, .known = !isnan(value), .real = value };
}

struct ft_operand ft_value_string(const char *text)
{
  return (struct ft_operand){ .type = FT_VALUE_STRING, .known = true, .string = text };
}

struct ft_operand ft_value_tensor(uint32_t tensor)
{
  return (struct ft_operand){ .type = FT_VALUE_TENSOR, .tensor = tensor };
}

struct ft_operand ft_value_unknown(uint8_t type)
{
  return (struct ft_operand){ .type = type };
}

struct ft_operand ft_value_list(struct ft_tracer *l, uint8_t type, const struct ft_operand *items,
                                size_t count)
{
  struct ft_operand v = { .type = type, .known = true };

  v.list = ft_tracer_take(l, sizeof *v.list);
  if (!v.list || ft_list_created(l, v.list) < 0)
    return ft_value_none();
  for (size_t i = 0; i < count; i++)
    if (ft_value_append(l, v.list, items[i]) < 0)
      return ft_value_none();
  return v;
}

int ft_value_append(struct ft_tracer *l, struct ft_values *list, struct ft_operand item)
{
  struct ft_operand *items;

  if (ft_list_before_change(l, list) < 0)
    return -1;
  items = ft_tracer_grow(l, list->items, &list->room, list->count, sizeof *items);
  if (!items)
    return -1;
  list->items = items;
  items[list->count++] = item;
  return 0;
}

struct ft_operand *ft_object_field(const struct ft_object *object, const char *name)
{
  size_t i = FT_ROWS_FIND(object->fields, object->count, name);

  return i < object->count ? &object->fields[i].value : NULL;
}

int ft_object_set(struct ft_tracer *l, struct ft_object *object, const char *name,
                  struct ft_operand value)
{
  struct ft_operand *old = ft_object_field(object, name);
  struct ft_field *fields;

  if (old) {
    *old = value;
    return 0;
  }
  fields = ft_tracer_grow(l, object->fields, &object->room, object->count, sizeof *fields);
  if (!fields)
    return -1;
  object->fields = fields;
  fields[object->count++] = (struct ft_field){ name, value };
  return 0;
}

bool ft_value_is_tensor(const struct ft_operand *value)
{
  return value->type == FT_VALUE_TENSOR || value->type == FT_VALUE_WEIGHT;
}

bool ft_value_is_number(const struct ft_operand *value)
{
  return value->type == FT_VALUE_INT || value->type == FT_VALUE_REAL ||
         value->type == FT_VALUE_BOOL;
}

double ft_value_number(const struct ft_operand *value)
{
  if (!value->known || !ft_value_is_number(value))
    return (double)NAN;
  return value->type == FT_VALUE_REAL ? value->real : (double)value->integer;
}

int ft_value_equal(const struct ft_operand *a, const struct ft_operand *b, int depth, int *left)
{
  int all = 1;

  if (ft_value_is_number(a) && ft_value_is_number(b))
    return a->known && b->known ? ft_value_number(a) == ft_value_number(b) : -1;
  if (a->type == FT_VALUE_STRING && b->type == FT_VALUE_STRING)
    return a->known && b->known ? strcmp(a->string, b->string) == 0 : -1;
  if (a->type == FT_VALUE_OPAQUE || b->type == FT_VALUE_OPAQUE)
    return -1;
  if (ft_value_is_list(a) && a->type == b->type) {
    if (a->list->count != b->list->count)
      return 0;
    for (size_t i = 0; i < a->list->count && all; i++) {
      int one = -1;

      if (*left <= 0)
        return -1;
      --*left;
      if (depth)
        one = ft_value_equal(&a->list->items[i], &b->list->items[i], depth - 1, left);

      all = one == 0 ? 0 : one < 0 ? -1 : all;
    }
    return all;
  }
  if (a->type == FT_VALUE_NONE || b->type == FT_VALUE_NONE)
    return a->type == b->type;
  return a->type == b->type ? -1 : 0;
}

int ft_value_truth(const struct ft_tracer *l, const struct ft_operand *value)
{
  const struct ft_tensor *t;

  switch (value->type) {
  case FT_VALUE_NONE:
    return 0;
  case FT_VALUE_BOOL:
  case FT_VALUE_INT:
    return value->known ? value->integer != 0 : -1;
  case FT_VALUE_REAL:
    return value->known ? value->real != 0 : -1;
  case FT_VALUE_STRING:
    return value->known ? value->string[0] != '\0' : -1;
  case FT_VALUE_LIST:
  case FT_VALUE_TUPLE:
  case FT_VALUE_DICT:
    return value->list->count > 0;
  case FT_VALUE_TENSOR:
    t = ft_tracer_of(l, value->tensor);
    return t->values && ft_dim_is(ft_tensor_elements(t), 1) && !isnan(t->values[0])
               ? t->values[0] != 0
               : -1;
  default:
    return -1;
  }
}

uint32_t ft_value_as_tensor(struct ft_tracer *l, const struct ft_operand *value)
{
  switch (value->type) {
  case FT_VALUE_TENSOR:
    return value->tensor;
  case FT_VALUE_WEIGHT:
    return ft_tracer_weight(l, value->weight);
  case FT_VALUE_BOOL:
    return ft_tracer_number(l, FT_ELEMENT_BOOL, ft_value_number(value));
  case FT_VALUE_INT:
    return ft_tracer_number(l, FT_ELEMENT_INT64, ft_value_number(value));
  case FT_VALUE_REAL:
    /* a Python number takes the tensor's own type */
    return ft_tracer_number(l, FT_ELEMENT_FLOAT, ft_value_number(value));
  case FT_VALUE_NONE:
    return 0;
  case FT_VALUE_OPAQUE: /* an untracked value: a tensor of unknown shape */
    l->lost = true;
    ft_tracer_unknown(l, value->string ? "aten" : "", value->string ? value->string : "Unknown");
    return ft_tracer_end(l, 1);
  default:
    (void)ft_tracer_fail(l, "expected a tensor, found a %s",
                         value->type == FT_VALUE_STRING  ? "text"
                         : value->type == FT_VALUE_NAME  ? value->string
                         : value->type == FT_VALUE_LIST  ? "list"
                         : value->type == FT_VALUE_TUPLE ? "tuple"
                                                         : "module");
    return 0;
  }
}

/* ---- branches ---- */

/* The tensors among a side's values become its subgraph's outputs. */
static int set_side_outputs(struct ft_tracer *l, const struct ft_side *side)
{
  struct ft_block *block = side->block;

  block->outputs = ft_tracer_take(l, (side->count + 1) * sizeof *block->outputs);
  if (!block->outputs)
    return -1;
  for (size_t i = 0; i < side->count; i++)
    if (side->values[i].type == FT_VALUE_TENSOR)
      block->outputs[block->output_count++] = side->values[i].tensor;
  return 0;
}

struct ft_operand ft_value_branch(struct ft_tracer *l, const struct ft_operand *condition,
                                  const struct ft_side sides[2])
{
  static const char *const names[] = { "then_branch", "else_branch" };
  struct ft_block *const blocks[2] = { sides[0].block, sides[1].block };
  struct ft_operand list = ft_value_list(l, FT_VALUE_TUPLE, sides[0].values, sides[0].count);
  uint32_t result;

  if (list.type != FT_VALUE_TUPLE || set_side_outputs(l, &sides[0]) < 0 ||
      set_side_outputs(l, &sides[1]) < 0)
    return ft_value_none();
  result = ft_tracer_blocks(l, "If", condition->type == FT_VALUE_TENSOR ? condition->tensor : 0,
                            blocks, names, 2, blocks[0]->output_count, 1);
  if (!result)
    return ft_value_none();
  for (size_t i = 0; i < list.list->count; i++) {
    struct ft_operand *v = &list.list->items[i];

    if (v->type != FT_VALUE_TENSOR)
      continue;
    if (ft_like(l->in, ft_tracer_of(l, result), ft_tracer_of(l, v->tensor)) < 0)
      return ft_value_none();
    *v = ft_value_tensor(result++);
  }
  return list;
}

bool ft_value_is_list(const struct ft_operand *value)
{
  return value->type == FT_VALUE_LIST || value->type == FT_VALUE_TUPLE;
}
