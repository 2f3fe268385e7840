/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strides of views. */
#include "config.h"

#include <string.h>

#include "predictor/graph/shape/infer.h"
#include "predictor/graph/shape/strides.h"

void ft_strides_dense(const struct ft_tensor *tensor, struct ft_strides *strides)
{
  ft_dim step = ft_dim_of(1);

  for (int i = tensor->rank - 1; i >= 0; i--) {
    strides->step[i] = ft_dim_or(step, -1);
    step = ft_dim_times(step, tensor->dims[i]);
  }
}

void ft_strides_like(const struct ft_tensor *tensor, const struct ft_strides *from,
                     struct ft_strides *strides)
{
  int order[FT_GRAPH_RANK];
  ft_dim step = ft_dim_of(1);

  for (int i = 0; i < tensor->rank; i++) {
    int at = i;

    for (; at > 0 && from->step[order[at - 1]] < from->step[i]; at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  for (int i = tensor->rank - 1; i >= 0; i--) {
    strides->step[order[i]] = ft_dim_or(step, -1);
    step = ft_dim_times(step, tensor->dims[order[i]]);
  }
}

bool ft_strides_reshape(const struct ft_tensor *tensor, const struct ft_strides *from,
                        const ft_dim *dims, int rank, struct ft_strides *strides)
{
  int at = rank - 1, last = tensor->rank - 1;
  int64_t elements = 1;
  ft_dim step;

  if (ft_dim_or(ft_tensor_elements(tensor), 0) <= 0)
    return false;
  step = ft_dim_of(last >= 0 ? from->step[last] : 1);
  for (int i = last; i >= 0; i--) { /* merge dimensions that are contiguous in memory */
    ft_dim filled = ft_dim_of(1);

    elements = ft_known_times(elements, ft_dim_or(tensor->dims[i], 1));
    if (i > 0 && (ft_dim_is(tensor->dims[i - 1], 1) ||
                  ft_dim_is(ft_dim_times(ft_dim_of(elements), step), from->step[i - 1])))
      continue;
    while (at >= 0 && (ft_dim_or(filled, elements) < elements || ft_dim_is(dims[at], 1))) {
      strides->step[at] = ft_dim_or(ft_dim_times(filled, step), -1);
      filled = ft_dim_times(filled, dims[at]);
      at--;
    }
    if (!ft_dim_is(filled, elements))
      return false;
    if (i > 0) {
      step = ft_dim_of(from->step[i - 1]);
      elements = 1;
    }
  }
  for (; at >= 0; at--)
    strides->step[at] = 1;
  return true;
}

/* Whether A and B are equal, or both unknown: a view keeps its input's dimensions. */
static bool same_dim(ft_dim a, ft_dim b)
{
  return ft_dim_known(a) == ft_dim_known(b) && !ft_dim_differ(a, b);
}

/* Sets the strides of Y, which is X with dimensions of 1 added or removed. */
static bool same_but_ones(const struct ft_tensor *x, const struct ft_strides *from,
                          const struct ft_tensor *y, struct ft_strides *strides)
{
  int at = 0;

  for (int i = 0; i < y->rank; i++) {
    while (at < x->rank && ft_dim_is(x->dims[at], 1) && !ft_dim_is(y->dims[i], 1))
      at++;
    if (at < x->rank && same_dim(x->dims[at], y->dims[i]))
      strides->step[i] = from->step[at++];
    else if (ft_dim_is(y->dims[i], 1))
      strides->step[i] = 1;
    else
      return false;
  }
  return true;
}

static bool permute_strides(const struct ft_operator *op, const struct ft_tensor *x,
                            const struct ft_strides *from, struct ft_strides *strides)
{
  const struct ft_attribute *perm = ft_attribute(op, "perm");

  for (int i = 0; i < x->rank; i++) {
    int64_t k = perm && perm->type == FT_ATTRIBUTE_INTEGERS && (int)perm->count == x->rank
                    ? perm->integers[i]
                    : x->rank - 1 - i;

    if (k < 0 || k >= x->rank)
      return false;
    strides->step[i] = from->step[k];
  }
  return true;
}

/* Strides of one element along an axis: the axis is dropped. */
static bool select_strides(const struct ft_operator *op, const struct ft_tensor *x,
                           const struct ft_strides *from, struct ft_strides *strides)
{
  int64_t axis = ft_integer(op, "axis", 0);
  int at = 0;

  axis += axis < 0 ? x->rank : 0;
  for (int i = 0; i < x->rank; i++)
    if (i != axis)
      strides->step[at++] = from->step[i];
  return true;
}

bool ft_strides_view(const struct ft_graph *graph, const struct ft_operator *op,
                     const struct ft_strides *from, struct ft_strides *strides)
{
  const struct ft_tensor *x = &graph->tensors[op->inputs[0]], *y = &graph->tensors[op->outputs[0]];

  if (x->rank < 0 || y->rank < 0)
    return false;
  switch (op->kind ? op->kind->view : FT_VIEW_NONE) {
  case FT_VIEW_PERMUTED:
    return permute_strides(op, x, from, strides);
  case FT_VIEW_ELEMENT:
    return select_strides(op, x, from, strides);
  case FT_VIEW_ONES:
    return same_but_ones(x, from, y, strides);
  case FT_VIEW_EXPANDED:
    for (int i = 0; i < y->rank; i++) {
      int k = i - (y->rank - x->rank);

      strides->step[i] = k >= 0 && same_dim(x->dims[k], y->dims[i]) ? from->step[k] : 0;
    }
    return true;
  case FT_VIEW_PART: /* a slice step above 1 is rare and ignored */
  case FT_VIEW_SAME:
    *strides = *from;
    return true;
  default:
    return false;
  }
}
