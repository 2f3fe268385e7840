/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Access to the attributes, inputs and results of one operator. */
#include "config.h"

#include "predictor/core/text.h"
#include "predictor/graph/import/paddle/paddle_run.h"

unsigned ft_pd_element(int64_t type)
{
  static const uint8_t elements[] = { 9, 5, 6, 7, 10, 1, 11, 0, 0, 0,  0,  0, 0,
                                      0, 0, 0, 0, 0,  0, 7,  2, 3, 16, 14, 15 };

  return type >= 0 && type < (int64_t)sizeof elements ? elements[type] : FT_ELEMENT_UNKNOWN;
}

const struct ft_pd_attribute *ft_pd_attribute(const struct ft_pd_run *r, const char *name)
{
  return FT_ROWS_ROW(r->op->attributes, r->op->attribute_count, name);
}

int64_t ft_pd_integer(const struct ft_pd_run *r, const char *name, int64_t otherwise)
{
  const struct ft_pd_attribute *a = ft_pd_attribute(r, name);

  return a ? a->integer : otherwise;
}

const struct ft_pd_slot *ft_pd_slot(const struct ft_pd_slot *slots, size_t count, const char *name)
{
  return FT_ROWS_ROW(slots, count, name);
}

int ft_pd_bind(struct ft_pd_run *r, const char *name, struct ft_operand value)
{
  struct ft_operand *kept = ft_tracer_take(&r->live, sizeof *kept);

  if (!kept)
    return -1;
  *kept = value;
  return ft_symbol_table_put(&r->names, name, kept) < 0
             ? ft_tracer_fail(&r->live, "too many names, or too many hash collisions")
             : 0;
}

struct ft_operand ft_pd_value(struct ft_pd_run *r, const char *name)
{
  const struct ft_operand *known = ft_symbol_table_get(&r->names, name);

  return known ? *known : ft_value_unknown(FT_VALUE_OPAQUE);
}

struct ft_operand ft_pd_input_at(struct ft_pd_run *r, const char *name, size_t i)
{
  const struct ft_pd_slot *s = ft_pd_slot(r->op->inputs, r->op->input_count, name);

  return s && i < s->count ? ft_pd_value(r, s->variables[i]) : ft_value_none();
}

struct ft_operand ft_pd_input(struct ft_pd_run *r, const char *name)
{
  return ft_pd_input_at(r, name, 0);
}

struct ft_operand ft_pd_input_list(struct ft_pd_run *r, const char *name)
{
  const struct ft_pd_slot *s = ft_pd_slot(r->op->inputs, r->op->input_count, name);
  struct ft_operand list = ft_value_list(&r->live, FT_VALUE_LIST, NULL, 0);

  for (size_t i = 0; s && list.type == FT_VALUE_LIST && i < s->count; i++)
    (void)ft_value_append(&r->live, list.list, ft_pd_value(r, s->variables[i]));
  return list;
}

struct ft_operand ft_pd_integers(struct ft_pd_run *r, const char *name)
{
  const struct ft_pd_attribute *a = ft_pd_attribute(r, name);
  struct ft_operand list = ft_value_list(&r->live, FT_VALUE_LIST, NULL, 0);

  for (size_t i = 0; a && a->integers && list.type == FT_VALUE_LIST && i < a->count; i++)
    (void)ft_value_append(&r->live, list.list, ft_value_int(a->integers[i]));
  return list;
}

struct ft_operand ft_pd_sizes(struct ft_pd_run *r, const char *tensors, const char *tensor,
                              const char *name)
{
  struct ft_operand list = ft_pd_input_list(r, tensors), one = ft_pd_input(r, tensor);

  if (list.type == FT_VALUE_LIST && list.list->count)
    return list;
  return one.type == FT_VALUE_TENSOR ? one : ft_pd_integers(r, name);
}

int ft_pd_give_at(struct ft_pd_run *r, const char *name, size_t i, struct ft_operand value)
{
  const struct ft_pd_slot *s = ft_pd_slot(r->op->outputs, r->op->output_count, name);

  return s && i < s->count ? ft_pd_bind(r, s->variables[i], value) : 0;
}

int ft_pd_give(struct ft_pd_run *r, struct ft_operand value)
{
  static const char *const names[] = { "Out", "Output", "Y", NULL };

  for (size_t i = 0; names[i]; i++)
    if (ft_pd_slot(r->op->outputs, r->op->output_count, names[i]))
      return ft_pd_give_at(r, names[i], 0, value);
  return 0;
}

int ft_pd_give_list(struct ft_pd_run *r, const char *name, const struct ft_operand *value)
{
  bool listed = ft_value_is_list(value);

  for (size_t i = 0; listed && i < value->list->count; i++)
    if (ft_pd_give_at(r, name, i, value->list->items[i]) < 0)
      return -1;
  return listed ? 0 : ft_pd_give_at(r, name, 0, *value);
}

int ft_pd_call(struct ft_pd_run *r, const char *name, const struct ft_operand *args, size_t count,
               struct ft_operand *result)
{
  struct ft_call c = { .l = &r->live, .name = name, .args = args, .count = count };

  if (ft_aten(&c) < 0)
    return r->live.in->err->text[0] ? -1
                                    : ft_tracer_fail(&r->live, "%s cannot be traced", r->op->type);
  *result = c.result;
  return 0;
}

int ft_pd_call_and_give(struct ft_pd_run *r, const char *name, const struct ft_operand *args,
                        size_t count)
{
  struct ft_operand result;

  return ft_pd_call(r, name, args, count, &result) < 0 ? -1 : ft_pd_give(r, result);
}
