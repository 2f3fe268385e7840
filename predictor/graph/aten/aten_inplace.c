/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators of ATen that write into a tensor, or into the tensor that it is a view of. */
#include "config.h"

#include <string.h>

#include "predictor/graph/aten/aten.h"
#include "predictor/graph/shape/strides.h"

enum { VIEWS = 32 }; /* tracked depth of nested views */

/* The operator of the current subgraph whose result X is a view of its first input; NULL: none. */
static const struct ft_operator *view_operator(const struct ft_tracer *l, uint32_t x)
{
  const struct ft_tensor *t = ft_tracer_of(l, x);
  const struct ft_operator *op;

  if (!t->producer || t->block != l->serial)
    return NULL;
  op = &l->block->operators[t->producer - 1];
  if (!op->kind || !op->input_count || !op->inputs[0])
    return NULL;
  /* an index of rank 0 selects a tracked number; other indices copy */
  if (strcmp(op->type, "Gather") == 0 && op->input_count > 1)
    return ft_tracer_of(l, op->inputs[1])->rank == 0 ? op : NULL;
  return ft_operator_is_view(op) ? op : NULL;
}

/* Whether OP, a reshape, must copy its input of STRIDES. STRIDES becomes those of its result. */
static bool reshape_copies(const struct ft_tracer *l, const struct ft_operator *op,
                           struct ft_strides *strides)
{
  const struct ft_tensor *x = ft_tracer_of(l, op->inputs[0]), *y = ft_tracer_of(l, op->outputs[0]);
  struct ft_strides from = *strides;
  bool reshapes = strcmp(op->type, "Reshape") == 0 || strcmp(op->type, "Flatten") == 0;

  if (!ft_dim_or(ft_tensor_elements(x), 0) || !ft_dim_or(ft_tensor_elements(y), 0))
    return false;
  if (reshapes && ft_strides_reshape(x, &from, y->dims, y->rank, strides))
    return false;
  if (!reshapes && ft_strides_view(l->graph, op, &from, strides))
    return false;
  ft_strides_dense(y, strides);
  return reshapes;
}

/* Returns the tensor of the current subgraph whose storage X is a view of. */
static uint32_t base_of(const struct ft_tracer *l, uint32_t x)
{
  const struct ft_operator *views[VIEWS];
  struct ft_strides strides = { { 0 } };
  uint32_t base = x;
  int count = 0;

  while (count < VIEWS && (views[count] = view_operator(l, base)))
    base = views[count++]->inputs[0];
  if (ft_tracer_of(l, base)->rank >= 0)
    ft_strides_dense(ft_tracer_of(l, base), &strides);
  while (count-- > 0)
    if (reshape_copies(l, views[count], &strides))
      base = count ? views[count - 1]->inputs[0] : x;
  return base;
}

void ft_aten_replace(struct ft_tracer *l, uint32_t x, uint32_t y)
{
  uint32_t base = base_of(l, x);

  ft_tracer_replace(l, x, y);
  if (base == x || view_operator(l, y)) /* x.unsqueeze_(0) writes nothing */
    return;
  if (ft_tracer_of(l, y)->data ||
      !ft_tracer_of(l, base)->values) /* tracked values stay as they are */
    ft_tracer_scatter(l, base, y);
}

/* Adds V and all tensors in it as inputs; sets DATA if one of them depends on the network's
 * input. */
static int add_sources(struct ft_call *c, const struct ft_operand *v, int depth, bool *data)
{
  if (ft_value_is_tensor(v)) {
    uint32_t tensor = ft_value_as_tensor(c->l, v);

    if (!tensor)
      return -1;
    ft_tracer_in(c->l, tensor);
    *data = *data || ft_tracer_of(c->l, tensor)->data || ft_tracer_of(c->l, tensor)->constant;
  }
  if (ft_value_is_list(v) && depth)
    for (size_t i = 0; i < v->list->count; i++)
      if (add_sources(c, &v->list->items[i], depth - 1, data) < 0)
        return -1;
  return 0;
}

/* Whether INTO was just written with SOURCE: Python's x[i] += y copies a view onto itself. */
static bool was_written_with(struct ft_tracer *l, uint32_t into, const struct ft_operand *source)
{
  const struct ft_tensor *t = ft_tracer_of(l, into);
  const struct ft_operator *op;

  if (source->type != FT_VALUE_TENSOR || !t->producer || t->block != l->serial)
    return false;
  op = &l->block->operators[t->producer - 1];
  return strcmp(op->type, "ScatterND") == 0 && op->input_count == 2 &&
         op->inputs[1] == ft_tracer_now(l, source->tensor);
}

/* index_put(x, indices, values), scatter(x, dim, index, src), copy(x, src) and others: x with
 * the other tensors written into it. Tracked values stay as they are. */
int ft_aten_scatter(struct ft_call *c)
{
  bool copy = strncmp(c->name, "copy", 4) == 0, in_place = c->name[strlen(c->name) - 1] == '_';
  uint32_t x = ft_arg_tensor(c, 0), into = x;
  bool data;

  if (!x)
    return -1;
  if (copy && in_place)
    into = base_of(c->l, x); /* x[...] = ... */
  if (into != x && was_written_with(c->l, into, ft_arg(c, 1, "src")))
    return ft_aten_same(c);
  data = ft_tracer_of(c->l, into)->data;
  ft_tracer_op(c->l, "ScatterND");
  ft_tracer_in(c->l, into);
  for (size_t i = 1; i < c->count; i++)
    if (add_sources(c, &c->args[i], 2, &data) < 0)
      return -1;
  if (!data)
    return ft_aten_same(c);
  into = ft_tracer_end(c->l, 1);
  if (!into)
    return -1;
  if (copy && in_place) {
    ft_tracer_replace(c->l, base_of(c->l, x), into);
    return ft_aten_same(c);
  }
  return ft_give(c, into);
}
