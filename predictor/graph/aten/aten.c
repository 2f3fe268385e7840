/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dispatcher of ATen's operators: from a name to the function that records it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/graph/aten/aten.h"

/* ATen's name, the function that records it, the ONNX-like operator type */
static const struct entry {
  const char *name;
  int (*run)(struct ft_call *c);
  const char *type;
} table[] = {
#include "predictor/graph/aten/aten_table.h"
};

static int compare_name(const void *key, const void *entry)
{
  return strcmp(key, ((const struct entry *)entry)->name);
}

/* Entry of NAME, or of the function whose in-place variant ("add_") NAME is; NULL: none. */
static const struct entry *find_operator(const char *name)
{
  const struct entry *e =
      bsearch(name, table, sizeof table / sizeof *table, sizeof *table, compare_name);
  size_t length = strlen(name);
  char base[64];

  if (e || length < 2 || length > sizeof base || name[length - 1] != '_')
    return e;
  memcpy(base, name, length - 1);
  base[length - 1] = '\0';
  return bsearch(base, table, sizeof table / sizeof *table, sizeof *table, compare_name);
}

static bool holds_tensor(const struct ft_operand *v, int depth)
{
  if (ft_value_is_tensor(v))
    return true;
  if (!ft_value_is_list(v) || depth == 0)
    return false;
  for (size_t i = 0; i < v->list->count; i++)
    if (holds_tensor(&v->list->items[i], depth - 1))
      return true;
  return false;
}

static bool is_in_place(const char *name)
{
  size_t length = strlen(name);

  return length > 2 && name[length - 1] == '_' && name[length - 2] != '_';
}

static int run_call(struct ft_call *c)
{
  const struct entry *e = find_operator(c->name);
  bool tensors = false;
  int status;

  c->result = ft_value_none();
  for (size_t i = 0; i < c->count && !tensors; i++)
    tensors = holds_tensor(&c->args[i], 3);
  status = tensors ? 1 : ft_aten_scalar(c);
  if (status <= 0)
    return status;
  if (tensors) /* Size queries and list changes also take tensors. */
    status = ft_aten_scalar(c);
  if (status <= 0)
    return status;
  c->type = e ? e->type : c->name;
  status = e ? e->run(c) : ft_aten_unknown(c);
  if (status == FT_ATEN_REPLACED)
    return run_call(c);
  if (status < 0 && !c->l->in->err->text[0])
    return ft_tracer_fail(c->l, "%s: its arguments contradict each other", c->name);
  if (status == 0 && is_in_place(c->name) && c->count && c->args[0].type == FT_VALUE_TENSOR &&
      c->result.type == FT_VALUE_TENSOR && c->result.tensor != c->args[0].tensor)
    ft_aten_replace(c->l, c->args[0].tensor, c->result.tensor);
  return c->l->failed ? -1 : status;
}

int ft_aten(struct ft_call *c)
{
  int status = run_call(c);

  if (status == 0 && c->result.type == FT_VALUE_OPAQUE && !c->result.string)
    c->result.string = ft_tracer_text(c->l, c->name, strlen(c->name));
  return status;
}

const char *ft_aten_type_of(const char *name)
{
  const struct entry *e = find_operator(name);

  return e ? e->type : "";
}

const char *ft_aten_operator_at(size_t i, const char **type)
{
  if (i >= sizeof table / sizeof *table)
    return NULL;
  *type = table[i].type;
  return table[i].name;
}
