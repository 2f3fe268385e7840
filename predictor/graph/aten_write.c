/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators of ATen that write into a tensor: a part of it, or what somebody else holds too. */
#include "config.h"

#include <string.h>

#include "predictor/graph/aten.h"

/* The tensor that X is a view of, as far as the block at hand tells. */
static uint32_t base_of(const struct ft_live *l, uint32_t x)
{
  for (;;) {
    const struct ft_tensor *t = ft_live_of(l, x);
    const struct ft_operator *op;

    if (!t->producer || t->block != l->serial)
      return x;
    op = &l->block->operators[t->producer - 1];
    if (!op->kind || !(op->kind->view || strcmp(op->type, "Gather") == 0) || !op->input_count ||
        !op->inputs[0])
      return x;
    x = op->inputs[0];
  }
}

/* Argument I and all that stands in it, as inputs; whether one of them is the network's data. */
static int add_sources(struct ft_call *c, const struct ft_operand *v, int depth, bool *data)
{
  if (ft_value_is_tensor(v)) {
    uint32_t tensor = ft_value_as_tensor(c->l, v);

    if (!tensor)
      return -1;
    ft_live_in(c->l, tensor);
    *data = *data || ft_live_of(c->l, tensor)->data || ft_live_of(c->l, tensor)->constant;
  }
  if ((v->type == FT_VALUE_LIST || v->type == FT_VALUE_TUPLE) && depth)
    for (size_t i = 0; i < v->list->count; i++)
      if (add_sources(c, &v->list->items[i], depth - 1, data) < 0)
        return -1;
  return 0;
}

/*
 * index_put(x, indices, values), scatter(x, dim, index, src), copy(x, src) and those alike: X with
 * the others in it. Of numbers that are followed X stays as it is.
 */
int ft_aten_write(struct ft_call *c)
{
  bool copy = strncmp(c->name, "copy", 4) == 0, in_place = c->name[strlen(c->name) - 1] == '_';
  uint32_t x = ft_arg_tensor(c, 0), into = x;
  bool data;

  if (!x)
    return -1;
  if (copy && in_place)
    into = base_of(c->l, x); /* x[...] = ... */
  data = ft_live_of(c->l, into)->data;
  ft_live_op(c->l, "ScatterND");
  ft_live_in(c->l, into);
  for (size_t i = 1; i < c->count; i++)
    if (add_sources(c, &c->args[i], 2, &data) < 0)
      return -1;
  if (!data)
    return ft_aten_same(c);
  into = ft_live_end(c->l, 1);
  if (!into)
    return -1;
  if (copy && in_place) {
    ft_live_instead(c->l, base_of(c->l, x), into);
    return ft_aten_same(c);
  }
  return ft_give(c, into);
}
